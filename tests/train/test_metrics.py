import math

import pytest

from gemenv.train import metrics
from gemenv.train.evaluation import scores
from gemenv.train.metrics import encode_line, read_lines, rollout_metrics
from tests.train.toys import episode


def test_episodes_are_described():
    won, lost, cut, broken = (
        episode([0.0, 1.0], group=1),
        episode([0.0], group=1, seed=1),
        episode([0.0, 0.0, 0.5], group=2, outcome="truncated"),
        episode([9.0], group=2, outcome="timeout"),
    )
    won.turns[-1].info["success"] = True
    lost.turns[0].info["action_error"] = "format"
    cut.turns[1].info["action_error"] = "invalid"
    cut.turns[2].stop_reason = "length"
    cut.truncation_reason = "turn_limit"
    won.turns[0].version = 3
    found = rollout_metrics([won, lost, cut, broken], version=3)
    tokens = [t.num_sampled_tokens for t in (won, lost, cut)]
    assert found == pytest.approx(
        {
            "rollout/success": 1 / 3,
            "rollout/return": 0.5,
            "rollout/turns": 2.0,
            "rollout/tokens": sum(tokens) / 3,
            "rollout/tokens_success": tokens[0],
            "rollout/tokens_failure": (tokens[1] + tokens[2]) / 2,
            "rollout/format_errors": 1 / 6,
            "rollout/invalid_actions": 1 / 6,
            "rollout/length_stops": 1 / 6,
            "rollout/staleness": 3,
            "rollout/outcome/completed": 2,
            "rollout/outcome/truncated": 1,
            "rollout/outcome/timeout": 1,
            "rollout/truncated/turn_limit": 1 / 3,
            "rollout/equal_groups": 0.0,
            "rollout/pass_at_k": 1.0,
        }
    )


def test_groups_that_teach_nothing_are_counted():
    equal = [episode([1.0], group=0), episode([0.5, 0.5], group=0)]
    mixed = [episode([1.0], group=1), episode([0.0], group=1)]
    found = rollout_metrics(equal + mixed, version=0)
    assert (found["rollout/equal_groups"], found["rollout/pass_at_k"]) == (0.5, 0.0)


def test_without_groups_there_is_nothing_to_compare():
    found = rollout_metrics([episode([1.0], group=0), episode([1.0], group=1)], version=0)
    assert "rollout/equal_groups" not in found


def test_a_batch_of_errors_has_no_means():
    found = rollout_metrics([episode([1.0], outcome="env_error")], version=0)
    assert math.isnan(found["rollout/success"])
    assert found["rollout/outcome/env_error"] == 1


def test_lines_are_json_even_where_a_number_is_missing():
    line = encode_line({"step": 1, "loss": float("nan"), "kl": 0.25})
    assert line == b'{"step":1,"loss":null,"kl":0.25}\n'
    assert read_lines([line]) == [{"step": 1, "loss": None, "kl": 0.25}]


def test_every_metric_of_an_episode_is_in_the_table():
    assert metrics.__doc__ is not None
    for name in rollout_metrics([episode([1.0])], version=0):
        stem = name if name.count("/") == 1 else name.rpartition("/")[0]
        assert stem in metrics.__doc__, name


def test_scores_leave_errors_out_of_the_means():
    won, broken = episode([0.0, 1.0]), episode([0.0], outcome="policy_error")
    won.turns[-1].info["success"] = True
    found = scores("model", [won, broken])
    assert (found.episodes, found.errors, found.success) == (2, 1, 1.0)
    assert (found.mean_return, found.turns) == (1.0, 2.0)
    assert math.isnan(scores("model", [broken]).success)
