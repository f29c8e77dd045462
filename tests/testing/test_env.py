"""The conformance suite passes what is sound, and finds each broken promise by its own check."""

import functools
import unittest
from unittest import SkipTest

import pytest

import gemenv
from gemenv import ActionForm, action_set, json_call, tag
from gemenv.envs.game.guess_the_number import Guess
from gemenv.errors import ArgumentError, ConformanceError, NoReferenceError
from gemenv.testing import CHECKS, check_env
from gemenv.testing.fuzz import check_fuzz
from gemenv.wrappers import History, Record, TurnLimit
from tests.testing.broken_envs import BROKEN, CrashesOnNul, ListsASet, OracleMisses, Sound

_BY_NAME = {check.__name__: check for check in CHECKS}
_FEW = 10  # strange actions, where the fuzz check is not what is tested


def _outcome(check, make, **options) -> ConformanceError | None:
    try:
        check(make, 0, **options)
    except ConformanceError as error:
        return error
    except SkipTest:
        pass
    return None


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("seed", [0, 7])
def test_a_sound_environment_passes_each_check(check, seed) -> None:
    check(Sound, seed)


@pytest.mark.parametrize("env", BROKEN, ids=lambda env: env.__name__)
def test_exactly_the_right_checks_find_what_is_broken(env) -> None:
    guilty = BROKEN[env]
    found = {}
    for name, check in _BY_NAME.items():
        if name == "check_processes" and name not in guilty:
            continue  # it takes a second; the others do not
        few = {"num_actions": _FEW} if name == "check_fuzz" and name not in guilty else {}
        found[name] = _outcome(check, env, **few)
    assert {name for name, error in found.items() if error} == guilty
    for name in guilty:
        error = found[name]
        assert error.problem.startswith(f"{name} failed for <{env.__name__} (unregistered)> with ")
        assert "seed 0" in error.problem
        assert error.fix
        assert error.expected


class WritesJson(Sound):
    """Its actions are tool calls."""

    def __init__(self) -> None:
        super().__init__()
        self.actions = action_set(ActionForm(Guess, json_call(), number=range(1, 31)))


class WritesTags(Sound):
    """Its actions stand between tags."""

    def __init__(self) -> None:
        super().__init__()
        self.actions = action_set(ActionForm(Guess, tag("guess"), number=range(1, 31)))


@pytest.mark.parametrize("env", [WritesJson, WritesTags])
def test_every_notation_can_keep_the_promises(env) -> None:
    assert check_env(env).num_kept == len(CHECKS)


def test_every_check_can_fail() -> None:
    assert set().union(*BROKEN.values()) == set(_BY_NAME)


def test_the_first_broken_promise_is_raised() -> None:
    with pytest.raises(ConformanceError, match=r"check_oracle failed .* with seed 3"):
        check_env(OracleMisses, seeds=[3], num_fuzz=_FEW)


def test_an_error_of_the_environment_is_chained_and_its_action_shown() -> None:
    with pytest.raises(ConformanceError, match=r"made step fail: KeyError") as caught:
        check_fuzz(CrashesOnNul, 0)
    assert isinstance(caught.value.__cause__, KeyError)
    assert r"\x00" in caught.value.problem


def test_the_report_lists_every_check_with_its_duration() -> None:
    report = check_env("game:GuessTheNumber-v0-hard", num_fuzz=_FEW)
    assert report.env == "<GuessTheNumber game:GuessTheNumber-v0-hard>"
    assert [result.name for result in report.results] == list(_BY_NAME)
    assert all(result.duration_s > 0 for result in report.results)
    assert report.num_kept == len(CHECKS)
    table = str(report).splitlines()
    assert table[0].startswith(f"{report.env}: {len(CHECKS)} checks kept in ")
    assert table[1].split() == ["check_reset_first", table[1].split()[1], "s", "kept"]


class NoReferences(Sound):
    """It declares neither oracle nor expert nor legal actions, and cannot be frozen."""

    def _none(self):
        raise NoReferenceError(problem="None.", expected="one", got=None, fix="declare it")

    oracle = expert = legal = snapshot = _none


def test_what_does_not_apply_is_skipped_with_its_reason() -> None:
    report = check_env(NoReferences, num_fuzz=_FEW)
    skipped = {result.name: result.skipped for result in report.results if result.skipped}
    assert skipped == {
        "check_snapshot": "no snapshot declared",
        "check_pickle": "no snapshot declared",
        "check_fork": "no snapshot declared",
        "check_oracle": "no oracle declared",
        "check_expert": "no expert declared",
        "check_legal": "no list of legal actions declared",
    }
    assert "check_oracle" in str(report)
    assert "skipped: no oracle declared" in str(report)


def test_a_check_that_does_not_apply_is_a_skipped_test_for_pytest() -> None:
    assert issubclass(SkipTest, unittest.SkipTest)
    with pytest.raises(SkipTest, match="no oracle declared"):
        _BY_NAME["check_oracle"](NoReferences, 0)


class AlwaysSeven(Sound):
    """One task only, and no chance."""

    def deal(self, rng):
        state = super().deal(gemenv.make("game:GuessTheNumber").np_random)
        state.number = 7
        return state

    def play(self, move):
        return super(Sound, self).play(move)


def test_an_environment_without_chance_need_not_vary() -> None:
    with pytest.raises(SkipTest, match="nothing is drawn at random"):
        _BY_NAME["check_seed_variety"](AlwaysSeven, 0)


def test_promises_can_be_left_out_with_a_reason() -> None:
    reasons = {"check_oracle": "it is known to miss", "check_processes": "too slow"}
    report = check_env(OracleMisses, skip=reasons, num_fuzz=_FEW)
    assert {r.name: r.skipped for r in report.results if r.skipped} == reasons
    with pytest.raises(ArgumentError, match="no such check"):
        check_env(Sound, skip={"check_luck": "none"})


def test_an_instance_is_copied_and_stays_as_it_is() -> None:
    env = gemenv.make("game:GuessTheNumber", high=30, max_turns=5)
    check_env(env, num_fuzz=_FEW, skip={"check_processes": "tested elsewhere"})
    assert env.state is None
    assert env.turn == 0


def test_each_seed_is_tried() -> None:
    seeds = []

    class Watched(Sound):
        def reset(self, *, seed=None, options=None):
            seeds.append(seed)
            return super().reset(seed=seed, options=options)

    skip = dict.fromkeys(
        ("check_processes", "check_snapshot", "check_pickle", "check_fork"), "local"
    )
    check_env(Watched, seeds=[100, 200], num_fuzz=_FEW, skip=skip)
    assert {100, 101, 200, 201} <= set(seeds)


def test_fewer_strange_actions_where_steps_wait() -> None:
    class Counted(Sound):
        num_steps = 0

        def step(self, action):
            type(self).num_steps += 1
            return super().step(action)

    class Blocking(Counted):
        metadata = {**Sound.metadata, "blocking": True}  # noqa: RUF012
        num_steps = 0

    check_fuzz(Counted, 0, num_actions=300)
    check_fuzz(Blocking, 0, num_actions=300)
    assert Counted.num_steps >= 300
    assert 30 <= Blocking.num_steps < 60


def test_every_environment_that_a_check_made_is_closed() -> None:
    is_open = []

    class Door(Sound):
        def __init__(self):
            super().__init__()
            is_open.append(self)

        def close(self):
            if self in is_open:
                is_open.remove(self)

    for name in ("check_same_seed", "check_threads", "check_info"):
        _BY_NAME[name](Door, 0)
    assert is_open == []


def test_a_class_that_other_processes_cannot_import_is_not_sent_to_them() -> None:
    class Local(Sound):
        pass

    Local.__module__ = "__main__"
    with pytest.raises(SkipTest, match="__main__"):
        _BY_NAME["check_processes"](Local, 0)


def test_string_hashes_are_found_out_in_other_processes() -> None:
    with pytest.raises(ConformanceError, match="in another process"):
        _BY_NAME["check_processes"](ListsASet, 0)


def _wrapped(*wrappers) -> gemenv.Env:
    env = gemenv.make("game:GuessTheNumber-v0-hard")
    for wrap in wrappers:
        env = wrap(env)
    return env


@pytest.mark.parametrize(
    "wrappers",
    [
        (functools.partial(TurnLimit, max_turns=6), History),
        (functools.partial(History, num_turns=2), functools.partial(TurnLimit, max_turns=3)),
        (Record,),
    ],
    ids=["History(TurnLimit)", "TurnLimit(History)", "Record"],
)
def test_wrapped_environments_keep_every_promise(wrappers) -> None:
    report = check_env(functools.partial(_wrapped, *wrappers), num_fuzz=500)
    assert report.num_kept == len(CHECKS)


def test_a_history_with_answers_shows_what_strange_actions_it_was_given() -> None:
    make = functools.partial(_wrapped, functools.partial(History, with_actions=True))
    with pytest.raises(ConformanceError, match="check_fuzz"):
        check_fuzz(make, 0)
    check_env(make, skip={"check_fuzz": "the answers are shown on purpose"})
