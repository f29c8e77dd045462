"""One sound environment, and for each check copies of it that break one promise."""

import copy
import pickle
import random
import threading
from dataclasses import dataclass
from typing import Any, ClassVar

from gemenv.core.action import ActionForm, ActionSet, action_set
from gemenv.core.env import Env, Info, Step
from gemenv.core.notation import boxed
from gemenv.envs.game.guess_the_number import Guess, GuessTheNumber
from gemenv.envs.game.turn_game import Outcome


@dataclass(frozen=True)
class Name:
    """Say a name."""

    name: str


class Sound(GuessTheNumber):
    """Guess a number, while the wind blows as it likes; it keeps every promise."""

    def __init__(self) -> None:
        super().__init__(low=1, high=30, max_turns=5)

    def play(self, move: Guess) -> Outcome:
        wind = int(self.np_random.integers(1, 13))
        outcome = super().play(move)
        return outcome._replace(text=f"{outcome.text} Wind force {wind}.")

    def view(self) -> str:
        return f"It is between {self.state.low} and {self.state.high}."

    def legal(self) -> list[Guess]:
        return [Guess(number) for number in range(self.state.low, self.state.high + 1)]


# The order of calls.


class StepsBeforeReset(Sound):
    def step(self, action: str) -> Step:
        if self._phase == "new":
            self.reset()
        return super().step(action)


class StepsAfterEnd(Sound):
    def step(self, action: str) -> Step:
        if self._phase == "over":
            self.reset()
        return super().step(action)


class TakesAnyType(Sound):
    def step(self, action: Any) -> Step:
        return super().step(str(action))


class LosesATurnToAWrongType(Sound):
    def step(self, action: Any) -> Step:
        if not isinstance(action, str):
            self.state.low += 1
            self.np_random.random()
        return super().step(action)


class ClosesOnce(Sound):
    is_open = True

    def close(self) -> None:
        if not self.is_open:
            raise ValueError("closed already")
        self.is_open = False


# What each call returns.


class BothFlags(Sound):
    def step(self, action: str) -> Step:
        step = super().step(action)
        return step._replace(terminated=True) if step.truncated else step


class PaysOutsideItsRange(Sound):
    def __init__(self) -> None:
        super().__init__()
        self.reward_range = (0.0, 1.0)


class PaysNotANumber(Sound):
    def advance(self, action: str) -> Step:
        step = super().advance(action)
        return step._replace(reward=float("nan")) if self.turn == 4 else step


class _Tells(Sound):
    """The base of environments that add something to their infos."""

    def extra(self) -> dict[str, Any]:
        raise NotImplementedError

    def advance(self, action: str) -> Step:
        step = super().advance(action)
        step.info.update(self.extra())
        return step


class TellsASet(_Tells):
    def extra(self) -> dict[str, Any]:
        return {"moves": {1}}


class TellsInfinity(_Tells):
    def extra(self) -> dict[str, Any]:
        return {"distance": float("inf")}


class EndsWithoutReason(Sound):
    def step(self, action: str) -> Step:
        step = super().step(action)
        step.info.pop("stop_reason", None)
        return step


class EndsWithoutSuccess(Sound):
    def step(self, action: str) -> Step:
        step = super().step(action)
        if step.truncated:
            del step.info["success"]
        return step


class CountsReadableTurnsOnly(Sound):
    def step(self, action: str) -> Step:
        step = super().step(action)
        if step.info.get("action_error"):
            step.info["turn"] -= 1
        return step


class ShowsATuple(Sound):
    def advance(self, action: str) -> Step:
        step = super().advance(action)
        return step._replace(observation=(step.observation,))


class ShowsASurrogate(Sound):
    def rules(self) -> str:
        return super().rules() + "\udc80"


class _OneDigit(ActionSet):
    """Its regular expression has room for one digit only."""

    @property
    def pattern(self) -> str:
        return r"\\boxed\{[0-9]\}"


class GrammarDoesNotMatch(Sound):
    def __init__(self) -> None:
        super().__init__()
        self.actions = _OneDigit(self.actions.forms)


class TakesNoOptions(Sound):
    def reset(self, *, seed: int | None = None):
        return super().reset(seed=seed)


# Same inputs, same bytes.


class BearsAGrudge(Sound):
    """An episode without a seed changes all later ones."""

    grudge = 0

    def deal(self, rng):
        self.grudge += self._index
        state = super().deal(rng)
        state.number = max(1, state.number - self.grudge)
        return state


class IgnoresTheSeed(Sound):
    def deal(self, rng):
        state = super().deal(rng)
        state.number = 7
        return state

    def play(self, move: Guess) -> Outcome:
        return GuessTheNumber.play(self, move)


class OracleDrawsChance(Sound):
    def oracle(self) -> Guess:
        self.np_random.random()
        return super().oracle()


class RemembersByTheInfoItHandedOut(Sound):
    last: Any = None
    _EPISODE = (*Sound._EPISODE, "last")

    def begin(self, options):
        self.last = None
        return super().begin(options)

    def advance(self, action: str) -> Step:
        step = super().advance(action)
        before = self.last["turn"] if self.last else 0
        self.last = step.info
        return step._replace(observation=f"{step.observation} You had {before} turns.")


class SharesAList(_Tells):
    """Whoever changes the list that an info holds changes those to come."""

    def __init__(self) -> None:
        super().__init__()
        self.directions = ["north", "south"]

    def extra(self) -> dict[str, Any]:
        return {"wind": {"from": self.directions}}


class DrawsFromRandom(Sound):
    def deal(self, rng):
        random.random()
        return super().deal(rng)


class CountsOutsideItsState(Sound):
    num_guesses = 0

    def deal(self, rng):
        self.num_guesses = 0
        return super().deal(rng)

    def play(self, move: Guess) -> Outcome:
        self.num_guesses += 1
        outcome = super().play(move)
        return outcome._replace(text=f"{self.num_guesses}. {outcome.text}")


class SnapshotsItsLiveState(Sound):
    kept: Any = None

    def snapshot(self):
        self.kept = self.state
        return super().snapshot()

    def restore(self, snapshot) -> None:
        super().restore(snapshot)
        self.state = self.kept or self.state

    def fork(self, n: int = 1):
        return [pickle.loads(pickle.dumps(self)) for _ in range(n)]


class PicklesWithoutItsTurn(Sound):
    def __getstate__(self):
        return {**vars(self), "turn": 0}


class ForksShareTheirState(Sound):
    def fork(self, n: int = 1):
        twins = super().fork(n)
        for twin in twins[1:]:
            twin.state = twins[0].state
        return twins


class SharesItsNumber(Sound):
    """Its number is the class's, not the instance's."""

    number: ClassVar[int]

    def deal(self, rng):
        state = super().deal(rng)
        SharesItsNumber.number = state.number
        return state

    def play(self, move: Guess) -> Outcome:
        self.state.number = SharesItsNumber.number
        return super().play(move)


class KnowsItsThread(Sound):
    def rules(self) -> str:
        return f"{super().rules()} {threading.current_thread() is threading.main_thread()}"


class ListsASet(Sound):
    def rules(self) -> str:
        return f"{super().rules()} {' '.join({'north', 'south', 'east', 'west', 'up', 'down'})}"


# References and cheating.


class OracleMisses(Sound):
    def oracle(self) -> Guess:
        return Guess(self.state.number % 30 + 1)


class PaysForWandering(Sound):
    def advance(self, action: str) -> Step:
        step = super().advance(action)
        return step if step.terminated else step._replace(reward=0.5)


class ExpertPeeks(Sound):
    def expert(self) -> Guess:
        return self.oracle()


class ExpertForeseesChance(Sound):
    def expert(self) -> Guess:
        wind = int(copy.deepcopy(self.np_random).integers(1, 13))
        return Guess(wind)


class ListsTheForbidden(Sound):
    def legal(self) -> list[Guess]:
        return [*super().legal(), Guess(31)]


class AnythingWins(Sound):
    def play(self, move: Guess) -> Outcome:
        return Outcome.won("Correct!")


class BelievesWords(Sound):
    def advance(self, action: str) -> Step:
        if "success" in action:
            return Step("Correct!", 1.0, True, False, Info(success=True, stop_reason="success"))
        return super().advance(action)


class TellsTheTarget(_Tells):
    def extra(self) -> dict[str, Any]:
        return {"debug": {"target": self.state.number}}


class TellsTheAnswer(_Tells):
    def extra(self) -> dict[str, Any]:
        return {"hint": f"try {self.oracle_action()} next"}


# Strange actions.


class CrashesOnNul(Sound):
    def advance(self, action: str) -> Step:
        if "\0" in action:
            raise KeyError("\0")
        return super().advance(action)


class CrashesOnForeignDigits(Sound):
    def advance(self, action: str) -> Step:
        int("".join(c for c in action if c.isdigit())[:9] or "0")
        return super().advance(action)


class ReadsSlowly(Sound):
    """Quadratic, but only up to a length at which a test can wait for it."""

    def advance(self, action: str) -> Step:
        text = action[:60_000]
        for i in range(len(text)):
            text[i:].startswith("answer")
        return super().advance(action)


class EchoesTheAction(Sound):
    def advance(self, action: str) -> Step:
        step = super().advance(action)
        return step._replace(observation=f"{action!a}? {step.observation}")


class EchoesTheMove(Sound):
    """Whatever name it is told, however long, it says again."""

    def __init__(self) -> None:
        super().__init__()
        self.actions = action_set(ActionForm(Name, boxed("name {name}"), name=("one", "two")))

    def play(self, move: Name) -> Outcome:
        return Outcome.go(f"{move.name} is not {self.state.number}.")

    def legal(self):
        return [Name("one")]

    def expert(self):
        return Name("two")

    def oracle(self):
        return Env.oracle_action(self)


class EchoesBytes(Sound):
    def advance(self, action: str) -> Step:
        step = super().advance(action)
        return step._replace(observation=f"{action[:20]}? {step.observation}")


BROKEN: dict[type[Sound], set[str]] = {
    StepsBeforeReset: {"check_reset_first"},
    StepsAfterEnd: {"check_step_after_end"},
    TakesAnyType: {"check_action_type"},
    LosesATurnToAWrongType: {"check_action_type"},
    ClosesOnce: {"check_close", "check_global_state"},  # both close what they made
    BothFlags: {"check_flags"},
    PaysOutsideItsRange: {"check_rewards"},
    PaysNotANumber: {"check_rewards", "check_oracle"},  # a return that is no number is not below
    TellsASet: {"check_info", "check_fuzz"},
    TellsInfinity: {"check_info", "check_fuzz"},
    EndsWithoutReason: {"check_info"},
    EndsWithoutSuccess: {"check_info"},
    CountsReadableTurnsOnly: {"check_turns"},
    ShowsATuple: {"check_observations", "check_fuzz", "check_gymnasium"},
    ShowsASurrogate: {"check_observations"},
    GrammarDoesNotMatch: {"check_actions"},
    TakesNoOptions: {"check_gymnasium"},
    BearsAGrudge: {"check_same_seed"},
    IgnoresTheSeed: {"check_seed_variety"},
    OracleDrawsChance: {"check_reading"},
    RemembersByTheInfoItHandedOut: {"check_reading"},
    SharesAList: {"check_reading"},
    DrawsFromRandom: {"check_global_state"},
    CountsOutsideItsState: {"check_snapshot"},
    SnapshotsItsLiveState: {"check_snapshot"},
    PicklesWithoutItsTurn: {"check_pickle"},
    ForksShareTheirState: {"check_fork"},
    SharesItsNumber: {"check_siblings", "check_threads"},
    KnowsItsThread: {"check_threads"},
    ListsASet: {"check_processes"},
    OracleMisses: {"check_oracle"},
    PaysForWandering: {"check_oracle"},
    ExpertPeeks: {"check_expert"},
    ExpertForeseesChance: {"check_expert"},
    ListsTheForbidden: {"check_legal"},
    AnythingWins: {"check_random"},
    BelievesWords: {"check_injections"},
    TellsTheTarget: {"check_secrets"},
    TellsTheAnswer: {"check_secrets"},
    CrashesOnNul: {"check_fuzz"},
    CrashesOnForeignDigits: {"check_fuzz"},
    ReadsSlowly: {"check_fuzz"},
    EchoesTheAction: {"check_fuzz"},
    EchoesTheMove: {"check_fuzz"},
    EchoesBytes: {"check_fuzz"},
}
"""What is broken, and which checks must find it: these, and no others."""
