import pytest

from gemenv.errors import ContractError
from gemenv.rollout.trajectory import Outcome, Segment, Span, Trajectory, Turn


def turn(reward: float, **info: object) -> Turn:
    return Turn(messages=[], action="", reward=reward, info=info)


def test_the_mask_marks_exactly_what_was_sampled():
    segment = Segment(
        token_ids=[1, 2, 3, 4, 5], logprobs=[0.0] * 5, spans=[Span(0, 1, 3), Span(1, 4, 5)]
    )
    assert segment.sampled_mask == [False, True, True, False, True]


def test_sampled_tokens_are_counted_over_all_segments():
    segments = [
        Segment(token_ids=[1, 2], logprobs=[0, 0], spans=[Span(0, 1, 2)]),
        Segment(token_ids=[1, 2, 3], logprobs=[0, 0, 0], spans=[Span(1, 0, 3)]),
    ]
    assert Trajectory(env_id="a:B-v0", segments=segments).num_sampled_tokens == 4


def test_a_return_is_the_exact_sum_of_rewards():
    turns = [turn(0.1) for _ in range(10)]
    assert Trajectory(env_id="a:B-v0", turns=turns, outcome="completed").episode_return == 1.0


@pytest.mark.parametrize("outcome", ["completed", "truncated"])
def test_episodes_that_ended_as_episodes_have_a_return(outcome: Outcome):
    assert Trajectory(env_id="a:B-v0", outcome=outcome).has_return


@pytest.mark.parametrize(
    "outcome", ["policy_error", "env_error", "grader_error", "timeout", "cancelled"]
)
def test_episodes_that_ended_in_an_error_have_none(outcome: Outcome):
    trajectory = Trajectory(env_id="a:B-v0", turns=[turn(1.0)], outcome=outcome)
    assert not trajectory.has_return
    with pytest.raises(ContractError, match=outcome):
        _ = trajectory.episode_return


def test_success_is_what_the_last_turn_said():
    assert Trajectory(env_id="a:B-v0", turns=[turn(0), turn(1, success=True)]).success
    assert not Trajectory(env_id="a:B-v0", turns=[turn(1, success=True), turn(0)]).success
    assert not Trajectory(env_id="a:B-v0").success
