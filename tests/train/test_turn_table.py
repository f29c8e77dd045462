"""A table of turns that does not fit together is refused."""

from typing import Any

import numpy as np
import pytest

from gemenv.errors import ContractError
from gemenv.train.turn_table import TurnTable


def table(**changed: Any) -> TurnTable:
    """Two episodes, their turns interleaved: 7 has two turns, 3 has one."""
    columns = {
        "reward_N": [1.0, 0.0, 0.5],
        "episode_N": [7, 3, 7],
        "turn_N": [1, 0, 0],
        "group_N": [0, 1, 0],
        "is_terminated_N": [True, False, False],
        "is_truncated_N": [False, True, False],
    }
    return TurnTable(**{name: np.array(column) for name, column in (columns | changed).items()})


def test_episodes_are_found_in_order_of_play_whatever_the_order_of_rows() -> None:
    assert [turns.tolist() for turns in table().episodes] == [[1], [2, 0]]


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"reward_N": [1.0, np.nan, 0.5]}, "finite"),
        ({"turn_N": [2, 0, 0]}, "episode 7 are not 0, 1, 2"),
        ({"turn_N": [0, 0, 0]}, "episode 7 are not 0, 1, 2"),
        ({"group_N": [0, 1, 1]}, "more than one group"),
        ({"is_terminated_N": [False, False, False]}, "must end it"),
        ({"is_terminated_N": [True, True, False]}, "must end it"),
        ({"is_terminated_N": [True, False, True]}, "must end it"),
        ({"group_N": [0, 1]}, "group_N"),
        ({"value_N": [0.0]}, "value_N"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(changed: dict[str, Any], problem: str) -> None:
    with pytest.raises(ContractError, match=problem):
        table(**changed)
