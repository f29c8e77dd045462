"""Spaces of text: everything may be tried, samples are well formed."""

import gymnasium
import pytest
from gymnasium.vector.utils import batch_space

import gemenv
from gemenv.core.space import ActionSpace, ObservationSpace


@pytest.fixture
def actions() -> ActionSpace:
    return gemenv.make("game:GuessTheNumber").action_space


def test_every_text_is_an_action_and_nothing_else_is(actions) -> None:
    assert "" in actions
    assert "any text \0 \udc80" in actions
    assert 7 not in actions
    assert b"text" not in actions


def test_samples_are_typed_actions_and_follow_the_seed(actions) -> None:
    actions.seed(3)
    drawn = [actions.sample() for _ in range(30)]
    assert {actions.actions.parse(text).number for text in drawn} <= set(range(1, 11))
    assert len(set(drawn)) > 3
    actions.seed(3)
    assert [actions.sample() for _ in range(30)] == drawn


def test_text_and_content_parts_are_observations() -> None:
    space = ObservationSpace(seed=0)
    assert space.sample() in space
    assert [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}] in space
    assert [] in space
    for wrong in (None, 7, ("text",), [{"text": "no type"}], ["text"]):
        assert wrong not in space


def test_spaces_are_equal_where_environments_are_alike(actions) -> None:
    assert actions == gemenv.make("game:GuessTheNumber").action_space
    assert actions != gemenv.make("game:GuessTheNumber", high=11).action_space
    assert hash(actions) == hash(gemenv.make("game:GuessTheNumber").action_space)
    assert ObservationSpace() == ObservationSpace(seed=4)
    assert ObservationSpace() != actions


def test_spaces_can_be_batched_as_gymnasium_does(actions) -> None:
    for space in (actions, ObservationSpace()):
        assert isinstance(space, gymnasium.Space)
        assert not space.is_np_flattenable
        assert len(batch_space(space, 2).sample()) == 2
