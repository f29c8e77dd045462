"""A wrapper is an environment: it keeps the whole contract, and asks the inner one for the rest."""

import pickle

import gymnasium
import pytest

import gemenv
from gemenv.errors import ActionTypeError, ArgumentError, EpisodeOver, ResetNeeded, SnapshotError
from gemenv.wrappers import History, Record, TurnLimit, Wrapper


class CountWords(Wrapper):
    """Tell how many words the agent has used; the count is the wrapper's own state."""

    state: int

    def reset(self, *, seed=None, options=None):
        self.state = 0
        return super().reset(seed=seed, options=options)

    def step(self, action: str):
        step = super().step(action)
        self.state += len(action.split())
        return step._replace(observation=f"{step.observation} ({self.state} words)")


@pytest.fixture
def inner() -> gemenv.Env:
    return gemenv.make("game:GuessTheNumber-v0-hard", format_error_ends=False)


@pytest.fixture
def env(inner) -> CountWords:
    return CountWords(inner)


def test_a_wrapper_is_an_environment_of_gemenv_and_a_wrapper_of_gymnasium(env, inner) -> None:
    assert isinstance(env, gemenv.Env)
    assert isinstance(env, gymnasium.Wrapper)
    assert env.unwrapped is inner
    assert History(env).unwrapped is inner


def test_an_unchanged_episode_passes_through(inner) -> None:
    env = Wrapper(inner)
    plain = gemenv.make("game:GuessTheNumber-v0-hard")
    assert env.reset(seed=5) == plain.reset(seed=5)
    for action in (r"\boxed{25}", r"\boxed{99}", plain.oracle_action()):
        assert env.step(action) == plain.step(action)


def test_what_the_wrapper_does_not_have_is_asked_of_the_inner_environment(env, inner) -> None:
    env.reset(seed=3)
    env.step("a guess")
    assert env.oracle_action() == inner.oracle_action() == rf"\boxed{{{inner.state.number}}}"
    assert env.expert_action() == inner.expert_action()
    assert list(env.legal_actions()) == list(inner.legal_actions())
    assert env.actions is inner.actions
    assert (env.max_turns, env.turn_limit(), env.turn) == (7, 7, 1)
    assert env.reward_range == (-0.1, 1.0)
    assert env.metadata is inner.metadata
    assert env.env_id == "game:GuessTheNumber-v0-hard"
    assert env.env_kwargs == {"format_error_ends": False}
    assert env.action_space is inner.action_space
    assert env.np_random is inner.np_random
    assert env.high == inner.high == 50
    inner.max_turns = 9
    assert env.max_turns == 9, "delegated, not copied"


def test_an_unknown_attribute_is_an_attribute_error(env) -> None:
    with pytest.raises(AttributeError, match="no_such_thing"):
        env.no_such_thing  # noqa: B018
    with pytest.raises(AttributeError, match="_private"):
        env._private  # noqa: B018


def test_an_id_given_to_a_wrapper_reaches_the_environment() -> None:
    spec = gemenv.EnvSpec(
        id=gemenv.spec("game:GuessTheNumber").id,
        entry_point=lambda max_turns: TurnLimit(gemenv.make("game:GuessTheNumber"), max_turns),
    )
    env = spec.make(max_turns=2)
    assert env.env_id == env.unwrapped.env_id == "game:GuessTheNumber-v0-easy"
    assert env.env_kwargs == env.unwrapped.env_kwargs == {"max_turns": 2}


def test_the_order_of_calls_is_kept(env) -> None:
    with pytest.raises(ResetNeeded):
        env.step("too early")
    env.reset(seed=0)
    with pytest.raises(ActionTypeError):
        env.step(7)
    assert env.state == 0
    assert env.step(env.oracle_action()).terminated
    with pytest.raises(EpisodeOver):
        env.step("too late")
    env.close()
    env.close()


def test_a_snapshot_holds_the_wrapper_s_state_and_the_inner_one_s(env) -> None:
    env.reset(seed=1)
    env.step("one two")
    before = pickle.loads(pickle.dumps(env.snapshot()))
    after = env.step("three")
    assert after.observation.endswith("(3 words)")
    assert after.info["turn"] == 2
    twin = gemenv.make(env.env_id, **env.env_kwargs)
    for target in (env, CountWords(twin)):
        target.restore(before)
        assert (target.state, target.turn) == (2, 1)
        assert target.oracle_action() == env.oracle_action()


def test_a_snapshot_of_other_wrappers_is_refused(env, inner) -> None:
    env.reset(seed=1)
    narrow = gemenv.make(env.env_id, **{**env.env_kwargs, "high": 9})
    for other in (inner, History(inner), CountWords(TurnLimit(inner, 3)), CountWords(narrow)):
        with pytest.raises(SnapshotError):
            other.restore(env.snapshot())
    assert env.turn == 0


def test_forks_and_pickles_are_independent_copies(env) -> None:
    env = History(env)
    env.reset(seed=1)
    env.step("one two")
    twins = [*env.fork(2), pickle.loads(pickle.dumps(env))]
    observation = env.step("three").observation
    env.step("four five six")
    for twin in twins:
        assert (twin.env.state, twin.turn, len(twin.state)) == (2, 1, 2)
        assert twin.step("three").observation == observation
    assert len({id(twin.unwrapped) for twin in (env, *twins)}) == 4


def test_only_gemenv_environments_are_wrapped() -> None:
    with pytest.raises(ArgumentError, match="wraps a gemenv environment"):
        Wrapper(gymnasium.Env())


@pytest.mark.parametrize("wrap", [History, lambda env: TurnLimit(env, 3), Record])
def test_wrappers_nest_in_any_order(wrap, env) -> None:
    outer = CountWords(wrap(env))
    outer.reset(seed=2)
    step = outer.step("one two")
    assert step.observation.endswith("(2 words)")
    assert step.info["turn"] == 1
    assert repr(outer).startswith("<CountWords<")
