"""The environment contract: the order of calls, seeds, turns, flags, snapshots, forks."""

import pickle

import numpy as np
import pytest

import gemenv
from gemenv.core.env import Env, Info, Step
from gemenv.errors import ActionTypeError, ArgumentError, EpisodeOver, NoReferenceError, ResetNeeded


class Counter(Env):
    """Count to a number drawn at the start; "win" wins, "lose" loses, "both" breaks the rules."""

    def __init__(self, max_turns: int | None = 3) -> None:
        super().__init__(actions=gemenv.make("game:GuessTheNumber").actions, max_turns=max_turns)

    def begin(self, options):
        self.state = {"goal": int(self.np_random.integers(10**9)), "seen": []}
        return f"options {options}", Info()

    def advance(self, action):
        if action == "crash":
            raise ZeroDivisionError
        self.state["seen"].append(float(self.np_random.random()))
        info = Info()
        if action in ("win", "lose"):
            info = Info(success=action == "win", stop_reason=action)
        return Step(f"{action} {self.state['seen'][-1]}", 0.0, bool(info), action == "cut", info)


@pytest.fixture
def env() -> Counter:
    return Counter()


def _goals(env: Env, *seeds: object) -> list[int]:
    return [(env.reset(seed=seed), env.state["goal"])[1] for seed in seeds]


# The order of calls.


def test_a_step_before_reset_says_what_to_call(env) -> None:
    with pytest.raises(ResetNeeded, match=r"env\.reset\(seed="):
        env.step("go")


@pytest.mark.parametrize("last", ["win", "lose", "cut"])
def test_a_step_after_the_end_raises_until_the_next_reset(env, last) -> None:
    env.reset(seed=0)
    env.step(last)
    for _ in range(2):
        with pytest.raises(EpisodeOver):
            env.step("go")
    env.reset()
    assert env.step("go").info["turn"] == 1


@pytest.mark.parametrize("action", [None, 3, b"go", ["go"]])
def test_an_action_that_is_not_text_costs_nothing(env, action) -> None:
    env.reset(seed=0)
    with pytest.raises(ActionTypeError, match=r"\\boxed\{<number>\}"):
        env.step(action)
    assert env.turn == 0
    assert env.state["seen"] == []


def test_a_subclass_of_str_is_text(env) -> None:
    env.reset(seed=0)
    assert env.step(np.str_("go")).info["turn"] == 1


def test_a_reset_that_fails_leaves_nothing_to_step(env) -> None:
    env.reset(seed=0)
    env.begin = lambda options: 1 / 0
    with pytest.raises(ZeroDivisionError):
        env.reset(seed=1)
    with pytest.raises(ResetNeeded):
        env.step("go")


def test_options_reach_the_environment(env) -> None:
    assert env.reset(seed=0, options={"level": 2})[0] == "options {'level': 2}"
    assert env.reset(seed=0)[0] == "options {}"


# Seeds.


def test_the_same_seed_gives_the_same_episode_whatever_came_before(env) -> None:
    first, other, again = _goals(env, 7, 8, 7)
    env.step("go")
    env.reset()
    assert first == again == _goals(env, 7)[0] == _goals(Counter(), 7)[0]
    assert first != other


def test_seeds_of_numpy_and_large_ones_are_seeds(env) -> None:
    assert _goals(env, np.int64(7), np.uint8(7)) == _goals(env, 7, 7)
    small, large, huge = _goals(env, 0, 2**40, 2**100)
    assert len({small, large, huge}) == 3
    assert env.np_random_seed == 2**100


@pytest.mark.parametrize("seed", [-1, "3", 1.5, True])
def test_other_seeds_are_refused_and_the_episode_goes_on(env, seed) -> None:
    env.reset(seed=0)
    env.step("go")
    with pytest.raises(ArgumentError, match="whole number of 0 or more"):
        env.reset(seed=seed)
    assert env.step("go").info["turn"] == 2


def test_a_reset_without_a_seed_goes_on_to_the_next_episode_of_the_seed(env) -> None:
    episodes = _goals(env, 5, None, None)
    assert len(set(episodes)) == 3
    assert _goals(Counter(), 5, None, None) == episodes
    assert _goals(env, 6, None)[1] not in episodes


def test_without_any_seed_episodes_are_fresh_and_reproducible(env) -> None:
    env.reset()
    seed, goal = env.np_random_seed, env.state["goal"]
    assert _goals(Counter(), None) != [goal]
    assert _goals(Counter(), seed) == [goal]


# Turns and flags.


def test_the_turn_limit_truncates(env) -> None:
    env.reset(seed=0)
    steps = [env.step("go") for _ in range(3)]
    assert [step.truncated for step in steps] == [False, False, True]
    assert [step.info["turn"] for step in steps] == [1, 2, 3]
    assert steps[-1].terminated is False
    assert steps[-1].info["stop_reason"] == "turn_limit"
    assert steps[-1].info["success"] is False


@pytest.mark.parametrize(("last", "success"), [("win", True), ("lose", False)])
def test_an_end_on_the_last_turn_terminates_and_does_not_truncate(env, last, success) -> None:
    env.reset(seed=0)
    env.step("go")
    env.step("go")
    step = env.step(last)
    assert (step.terminated, step.truncated) == (True, False)
    assert step.info == {"success": success, "stop_reason": last, "turn": 3}


@pytest.mark.parametrize("turns_before", [0, 2])
def test_an_environment_may_truncate_for_its_own_reason(env, turns_before) -> None:
    env.reset(seed=0)
    for _ in range(turns_before):
        env.step("go")
    step = env.step("cut")
    assert (step.terminated, step.truncated) == (False, True)
    assert "stop_reason" not in step.info


def test_without_a_limit_nothing_truncates() -> None:
    env = Counter(max_turns=None)
    env.reset(seed=0)
    assert not any(env.step("go").truncated for _ in range(500))


def test_a_limit_may_depend_on_the_episode(env) -> None:
    env.turn_limit = lambda: 1 + env.state["goal"] % 2
    for seed in range(4):
        env.reset(seed=seed)
        limit = 1 + env.state["goal"] % 2
        assert [env.step("go").truncated for _ in range(limit)] == [False] * (limit - 1) + [True]


# Snapshots, forks, copies.


def test_a_snapshot_brings_back_state_turn_and_generator(env) -> None:
    env.reset(seed=3)
    env.step("go")
    snapshot = env.snapshot()
    rest = [env.step("go"), env.step("go")]
    for _ in range(2):
        env.restore(snapshot)
        assert [env.step("go"), env.step("go")] == rest
    assert env.snapshot() != snapshot


def test_a_snapshot_of_a_finished_episode_is_finished(env) -> None:
    env.reset(seed=3)
    env.step("win")
    snapshot = env.snapshot()
    env.reset(seed=4)
    env.restore(snapshot)
    with pytest.raises(EpisodeOver):
        env.step("go")
    assert env.np_random_seed == 3


def test_a_restored_environment_goes_on_to_the_same_next_episode(env) -> None:
    env.reset(seed=3)
    snapshot = env.snapshot()
    env.reset()
    goal = env.state["goal"]
    env.restore(snapshot)
    assert _goals(env, None) == [goal]


def test_forks_go_on_alike_and_apart(env) -> None:
    env.reset(seed=3)
    env.step("go")
    twins = env.fork(3)
    assert len(twins) == 3
    steps = [twin.step("go") for twin in twins]
    assert steps == [steps[0]] * 3
    assert (env.turn, env.state["seen"][1:]) == (1, [])
    assert env.step("go") == steps[0]
    assert all(type(twin) is Counter and twin is not env for twin in twins)


def test_a_fork_samples_from_a_space_of_its_own(env) -> None:
    env.reset(seed=0)
    env.action_space.seed(5)
    (twin,) = env.fork()
    expected = [env.action_space.sample() for _ in range(8)]
    env.action_space.seed(5)
    twin.action_space.seed(6)
    twin.action_space.sample()
    assert [env.action_space.sample() for _ in range(8)] == expected


def test_an_environment_pickles_in_mid_episode(env) -> None:
    env.reset(seed=3)
    env.step("go")
    twin = pickle.loads(pickle.dumps(env))
    assert twin.step("go") == env.step("go")


def test_a_step_that_crashes_does_not_end_the_episode(env) -> None:
    env.reset(seed=0)
    with pytest.raises(ZeroDivisionError):
        env.step("crash")
    assert env.step("go").info["turn"] == 2


# What may be missing.


@pytest.mark.parametrize("ask", ["oracle_action", "expert_action", "legal_actions"])
def test_an_undeclared_reference_says_so(env, ask) -> None:
    env.reset(seed=0)
    with pytest.raises(NoReferenceError, match=r"<Counter \(unregistered\)> has no"):
        getattr(env, ask)()


def test_close_can_be_called_at_any_time(env) -> None:
    env.close()
    env.reset(seed=0)
    env.close()
    env.close()


def test_the_spaces_are_the_same_object_at_each_look(env) -> None:
    assert env.action_space is env.action_space
    assert env.observation_space == env.observation_space
    assert Counter().action_space is not env.action_space
