import asyncio
from collections.abc import Callable
from functools import partial

import pytest

import gemenv
from gemenv.errors import UnknownKeywordError
from gemenv.rollout.collect import collect, group_starts
from gemenv.rollout.policies.named import named_policy
from gemenv.rollout.record import encode
from tests.rollout.toys import Counter, SlowPolicy, failing, says


class Workshop:
    """Makes environments and remembers them."""

    def __init__(self, make: Callable[[], Counter] = Counter) -> None:
        self.make = make
        self.made: list[Counter] = []

    def __call__(self) -> Counter:
        self.made.append(self.make())
        return self.made[-1]


def test_episodes_come_back_in_the_order_of_their_starts():
    ended: list[int] = []
    policy = SlowPolicy(lambda seed: (5 - seed) / 200)  # the last one ends first
    episodes = asyncio.run(
        collect(Counter, policy, group_starts(range(5)), on_episode=lambda e: ended.append(e.seed))
    )
    assert ended == [4, 3, 2, 1, 0]
    assert [episode.seed for episode in episodes] == [0, 1, 2, 3, 4]


def test_a_group_shares_its_initial_state_and_not_its_choices():
    starts = group_starts([3, 8], 4, policy_seed=1)
    episodes = asyncio.run(
        collect(
            partial(gemenv.make, "game:GuessTheNumber", high=999), named_policy("random"), starts
        )
    )
    hidden = {
        (episode.group, episode.seed): gemenv.make("game:GuessTheNumber", high=999)
        for episode in episodes
    }
    assert sorted(hidden) == [(0, 3), (1, 8)]
    for (group, seed), env in hidden.items():
        env.reset(seed=seed)
        members = [episode for episode in episodes if episode.group == group]
        first_actions = {episode.turns[0].action for episode in members}
        assert len(first_actions) > 1
        for episode in members:  # the very same hidden number answers all of them
            twin = env.fork()[0]
            assert [twin.step(turn.action).reward for turn in episode.turns] == [
                turn.reward for turn in episode.turns
            ]


def test_starts_are_numbered_and_their_seeds_reproducible():
    starts = group_starts([5, 6], 2, policy_seed=3)
    assert [start.group for start in starts] == [0, 0, 1, 1]
    assert len({start.policy_seed for start in starts}) == 4
    assert starts == group_starts([5, 6], 2, policy_seed=3)
    assert starts != group_starts([5, 6], 2, policy_seed=4)


@pytest.mark.parametrize("max_concurrent", [1, 3])
def test_at_most_so_many_episodes_run_at_once_and_share_as_many_environments(max_concurrent: int):
    workshop, policy = Workshop(), SlowPolicy()
    asyncio.run(collect(workshop, policy, group_starts(range(12)), max_concurrent=max_concurrent))
    assert policy.most_waiting == max_concurrent
    assert len(workshop.made) == max_concurrent


def test_how_many_run_at_once_changes_no_byte():
    def lines(max_concurrent: int) -> list[bytes]:
        episodes = asyncio.run(
            collect(
                partial(gemenv.make, "game:GuessTheNumber"),
                named_policy("random"),
                group_starts(range(20), 2),
                max_concurrent=max_concurrent,
            )
        )
        for episode in episodes:
            for turn in episode.turns:
                turn.policy_s = turn.env_s = 0.0
        return [encode(episode) for episode in episodes]

    assert lines(1) == lines(7) == lines(256)


def test_every_environment_is_closed_at_the_end():
    workshop = Workshop()
    asyncio.run(collect(workshop, SlowPolicy(), group_starts(range(4))))
    assert [env.is_closed for env in workshop.made] == [True] * 4


def test_an_environment_that_failed_is_closed_and_not_used_again():
    workshop = Workshop(partial(Counter, fail=failing(ValueError("broken"), at=2)))
    episodes = asyncio.run(collect(workshop, says(), group_starts(range(3)), max_concurrent=1))
    assert [episode.outcome for episode in episodes] == ["env_error"] * 3
    assert [env.is_closed for env in workshop.made] == [True] * 3


def test_a_cancelled_collection_closes_its_environments():
    workshop = Workshop()

    async def cancel() -> None:
        job = asyncio.create_task(
            collect(workshop, SlowPolicy(lambda seed: 60.0), group_starts(range(3)))
        )
        await asyncio.sleep(0.01)
        job.cancel()
        await job

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancel())
    assert [env.is_closed for env in workshop.made] == [True] * 3


def test_an_environment_that_cannot_be_closed_costs_a_warning_and_no_episode():
    class Stuck(Counter):
        def close(self) -> None:
            raise OSError("still busy")

    with pytest.warns(RuntimeWarning, match="still busy"):
        episodes = asyncio.run(collect(Stuck, says(), group_starts(range(2))))
    assert [episode.outcome for episode in episodes] == ["completed"] * 2


def test_a_wrong_keyword_is_raised_as_it_is():
    with pytest.raises(UnknownKeywordError, match="'hihg'"):
        asyncio.run(
            collect(partial(gemenv.make, "game:GuessTheNumber", hihg=3), says(), group_starts([0]))
        )


def test_no_starts_make_no_environment():
    workshop = Workshop()
    assert asyncio.run(collect(workshop, says(), [])) == []
    assert workshop.made == []


def test_one_failure_leaves_the_others_alone():
    def fail(turn: int) -> None:
        if turn == 2 and next(turns) == 3:
            raise ValueError("unlucky")

    turns = iter(range(100))
    episodes = asyncio.run(
        collect(partial(Counter, fail=fail), says(), group_starts(range(8)), max_concurrent=1)
    )
    assert [episode.outcome for episode in episodes].count("env_error") == 1
    assert [episode.outcome for episode in episodes].count("completed") == 7
