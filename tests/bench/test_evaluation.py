import asyncio
from typing import Any

import msgspec
import pytest

from gemenv.bench.evaluation import Evaluation, evaluate, summarise
from gemenv.bench.reference import Reference, ScoreScale
from gemenv.errors import ContractError, UnknownEnvError, UnknownKeywordError
from gemenv.rollout.policies.named import named_policy
from gemenv.rollout.policies.text_policy import FunctionPolicy
from gemenv.rollout.trajectory import Outcome, Trajectory, Turn
from tests.bench.solvable import registered


def episode(
    seed: int,
    rewards: list[float],
    *,
    outcome: Outcome = "completed",
    success: bool = False,
    errors: tuple[str | None, ...] = (),
    env_id: str = "toy:Env-v0",
) -> Trajectory:
    turns = [Turn(messages=[], action="", reward=reward, info={}) for reward in rewards]
    for turn, error in zip(turns, errors, strict=False):
        turn.info["action_error"] = error
    if turns:
        turns[-1].info["success"] = success
    error = None if outcome in ("completed", "truncated") else "ValueError: broken"
    return Trajectory(
        env_id=env_id, seed=seed, policy="toy", turns=turns, outcome=outcome, error=error
    )


def reference(mean_return: float) -> Reference:
    return Reference(mean_return=mean_return, success_rate=0, mean_turns=1, num_episodes=100)


def means(evaluation: Evaluation) -> dict[str, float | None]:
    estimates = {
        name: getattr(evaluation, name)
        for name in ("success_rate", "mean_return", "mean_turns", "format_error_rate")
    }
    return {name: e.mean if e else None for name, e in estimates.items()}


def test_averages_are_over_episodes_and_rates_over_turns():
    evaluation = summarise(
        [
            episode(0, [0.0, 0.0, 1.0], success=True, errors=("invalid", None, None)),
            episode(1, [-0.1], errors=("format",)),
        ]
    )
    assert means(evaluation) == {
        "success_rate": 0.5,
        "mean_return": 0.45,
        "mean_turns": 2.0,
        "format_error_rate": 0.25,
    }
    assert evaluation.invalid_action_rate is not None
    assert evaluation.invalid_action_rate.mean == 0.25
    assert (evaluation.num_seeds, evaluation.num_episodes) == (2, 2)


def test_an_episode_that_failed_is_counted_and_never_averaged_as_zero():
    good = [episode(seed, [1.0], success=True) for seed in range(3)]
    bad = [
        episode(3, [], outcome="policy_error"),
        episode(4, [0.5], outcome="env_error"),
        episode(5, [], outcome="timeout"),
    ]
    evaluation = summarise([*good, *bad])
    assert means(evaluation) == means(summarise(good))
    assert means(evaluation)["mean_return"] == 1.0
    assert evaluation.outcomes == {
        "completed": 3,
        "policy_error": 1,
        "env_error": 1,
        "timeout": 1,
    }
    assert evaluation.num_episodes == 6
    assert evaluation.first_failure == "seed 3: policy_error: ValueError: broken"


def test_where_every_episode_failed_there_is_no_average():
    evaluation = summarise([episode(0, [1.0], outcome="env_error")], ScoreScale())
    assert set(means(evaluation).values()) == {None}
    assert evaluation.normalised_score is None


def test_an_episode_without_a_turn_counts_as_an_episode():
    overflowed = episode(0, [], outcome="truncated")
    evaluation = summarise([overflowed, episode(1, [1.0], success=True)])
    assert means(evaluation)["mean_return"] == 0.5
    assert means(evaluation)["mean_turns"] == 0.5


@pytest.mark.parametrize(
    ("mean_return", "score"), [(0.2, 0.0), (0.6, 0.5), (1.0, 1.0), (0.0, -0.25)]
)
def test_a_score_is_0_for_random_and_1_for_the_oracle(mean_return: float, score: float):
    scale = ScoreScale(random=reference(0.2), oracle=reference(1.0))
    evaluation = summarise([episode(0, [mean_return])], scale)
    assert evaluation.normalised_score is not None
    assert evaluation.normalised_score.mean == pytest.approx(score)


@pytest.mark.parametrize(
    "scale",
    [
        None,
        ScoreScale(),
        ScoreScale(random=reference(0.2)),
        ScoreScale(oracle=reference(1.0)),
        ScoreScale(random=reference(1.0), oracle=reference(1.0)),
    ],
)
def test_without_a_scale_there_is_no_score(scale: ScoreScale | None):
    assert summarise([episode(0, [1.0])], scale).normalised_score is None


def test_a_scale_on_which_something_failed_gives_no_score_and_says_why():
    scale = ScoreScale(random=reference(0.2), oracle=reference(1.0))
    evaluation = summarise([episode(0, [1.0])], scale, ["oracle: did not win on seeds 3"])
    assert evaluation.normalised_score is None
    assert evaluation.scale_failures == ["oracle: did not win on seeds 3"]


@pytest.mark.parametrize("broken", [(0,), (1, 2, 3, 4, 5)])
def test_an_oracle_that_raises_on_some_seeds_gives_no_score(
    broken: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
):
    env_id = registered(monkeypatch, broken=broken)
    evaluation, _ = asyncio.run(evaluate(env_id, named_policy("random"), range(6)))
    assert evaluation.outcomes == {"completed": 6}
    assert evaluation.normalised_score is None
    assert evaluation.scale_failures == [
        "oracle: policy_error (ValueError: no way out) on seeds " + ", ".join(map(str, broken))
    ]


def test_a_scale_measured_without_failure_gives_a_score(monkeypatch: pytest.MonkeyPatch):
    env_id = registered(monkeypatch)
    evaluation, _ = asyncio.run(evaluate(env_id, named_policy("oracle"), range(6)))
    assert evaluation.scale_failures == []
    assert evaluation.normalised_score is not None
    assert evaluation.normalised_score.mean == 1.0


def test_episodes_of_different_environments_are_not_mixed():
    with pytest.raises(ContractError, match="one policy on one environment"):
        summarise([episode(0, [1.0]), episode(1, [1.0], env_id="toy:Other-v0")])
    with pytest.raises(ContractError, match="at least one"):
        summarise([])


def run(policy: Any, seeds: range, **options: Any) -> tuple[Evaluation, list[Trajectory]]:
    return asyncio.run(evaluate("game:GuessTheNumber", policy, seeds, **options))


def test_an_evaluation_is_the_same_each_time_and_survives_json():
    evaluation, _ = run(named_policy("random"), range(30))
    assert evaluation == run(named_policy("random"), range(30), max_concurrent=3)[0]
    encoded = msgspec.json.encode(evaluation)
    assert msgspec.json.decode(encoded, type=Evaluation) == evaluation
    assert evaluation.env_id == "game:GuessTheNumber-v0-easy"


def test_other_policy_seeds_make_other_choices():
    first, _ = run(named_policy("random"), range(30), policy_seed=1)
    second, _ = run(named_policy("random"), range(30), policy_seed=2)
    assert first != second


def test_the_oracle_scores_1_on_the_stored_scale():
    evaluation, episodes = run(named_policy("oracle"), range(5, 15))
    assert evaluation.normalised_score is not None
    assert evaluation.normalised_score.mean == pytest.approx(1.0)
    assert [episode.seed for episode in episodes] == list(range(5, 15))


def test_an_environment_with_other_keywords_is_measured_anew():
    evaluation, _ = run(named_policy("random"), range(40), env_kwargs={"high": 200})
    assert evaluation.env_kwargs == {"high": 200}
    assert evaluation.normalised_score is not None
    assert abs(evaluation.normalised_score.mean) < 0.1  # on the stored scale it would be -0.4


def test_several_episodes_a_seed_are_one_group():
    evaluation, episodes = run(named_policy("random"), range(4), episodes_per_seed=3)
    assert (evaluation.num_seeds, evaluation.num_episodes) == (4, 12)
    assert [episode.group for episode in episodes] == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]


def test_answers_without_an_action_are_format_errors():
    evaluation, _ = run(FunctionPolicy(lambda conversation, rng: "no idea"), range(5))
    assert means(evaluation)["format_error_rate"] == 1.0


def test_an_unknown_id_or_keyword_is_raised_as_it_is():
    with pytest.raises(UnknownEnvError):
        asyncio.run(evaluate("game:Gues", named_policy("random"), range(2)))
    with pytest.raises(UnknownKeywordError):
        run(named_policy("random"), range(2), env_kwargs={"hihg": 3})
