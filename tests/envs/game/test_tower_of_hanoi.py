"""TowerofHanoi: which moves are allowed, what is paid, and the shortest way from anywhere."""

import itertools
import random
from collections.abc import Callable

import pytest

from gemenv.core.env import Env
from gemenv.envs.game.tower_of_hanoi import MoveDisk, State, TowerofHanoi
from gemenv.errors import ArgumentError

_HARD = {"num_disks": 5, "max_turns": 35}
_VARIANTS = {"easy": {}, "hard": _HARD, "random": {**_HARD, "is_random": True}}
every_variant = pytest.mark.parametrize("keywords", _VARIANTS.values(), ids=_VARIANTS)


def _play_out(env: Env, seed: int, policy: Callable[[], str]) -> tuple[float, bool]:
    env.reset(seed=seed)
    total = 0.0
    while True:
        step = env.step(policy())
        total += step.reward
        if step.terminated or step.truncated:
            return total, step.info.get("success", False)


def _game_with(pegs: str, goal: str = "C") -> TowerofHanoi:
    env = TowerofHanoi(num_disks=len(pegs), max_turns=300)
    env.reset(seed=0)
    env.state = State(pegs, goal)
    return env


def _moves_to_win(env: TowerofHanoi) -> int:
    for turn in itertools.count(1):
        if env.step(env.oracle_action()).terminated:
            return turn
    raise AssertionError


def _distances(num_disks: int) -> dict[str, int]:
    """Count the moves from each position to all disks on C, breadth first."""
    queue = ["C" * num_disks]
    found = {queue[0]: 0}
    for pegs in queue:
        for source, target in itertools.permutations("ABC", 2):
            disk = pegs.find(source)
            if disk >= 0 and target not in pegs[:disk]:
                after = pegs[:disk] + target + pegs[disk + 1 :]
                if after not in found:
                    found[after] = found[pegs] + 1
                    queue.append(after)
    return found


def test_a_move_takes_the_top_disk_to_another_peg() -> None:
    step = _game_with("AAA").step(r"\boxed{A C}")
    assert step.observation == "Disk 1 is now on peg C.\nA: 3 2\nB:\nC: 1"
    assert (step.reward, step.terminated, step.info["action_error"]) == (0.0, False, None)


@pytest.mark.parametrize(
    ("move", "reason"),
    [
        ("A A", "A disk must go to another peg."),
        ("C A", "Peg C is empty."),
        ("A B", "Disk 2 is larger than disk 1."),
    ],
)
def test_a_move_against_the_law_is_invalid_and_changes_nothing(move: str, reason: str) -> None:
    env = _game_with("BAA")
    step = env.step(rf"\boxed{{{move}}}")
    assert step.info["action_error"] == "invalid"
    assert str(step.observation).startswith(reason)
    assert env.state.pegs == "BAA"


@pytest.mark.parametrize("text", [r"\boxed{A D}", r"\boxed{A}", r"\boxed{AC}", "A C", ""])
def test_what_names_no_two_pegs_is_a_format_error(text: str) -> None:
    assert _game_with("AAA").step(text).info["action_error"] == "format"


def test_pegs_may_be_written_small() -> None:
    assert _game_with("AAA").step(r"\boxed{a  b}").info["action_error"] is None


def test_the_last_disk_wins() -> None:
    step = _game_with("ACC").step(r"\boxed{A C}")
    assert (step.reward, step.terminated) == (1.0, True)
    assert step.info["stop_reason"] == "success"


def test_only_the_largest_disks_in_place_are_paid_and_only_once() -> None:
    env = _game_with("BBA")
    rewards = [env.step(rf"\boxed{{{move}}}").reward for move in ("A C", "C A", "A C", "B C")]
    assert rewards == pytest.approx([0.5 / 3, 0, 0, 0])


def test_a_small_tower_on_the_goal_is_not_paid() -> None:
    env = _game_with("AAA")
    assert [env.step(rf"\boxed{{{move}}}").reward for move in ("A C", "A B", "C B")] == [0, 0, 0]


@pytest.mark.parametrize("num_disks", [3, 4, 5])
def test_the_oracle_takes_the_shortest_way_from_any_position(num_disks: int) -> None:
    distances = _distances(num_disks)
    assert len(distances) == 3**num_disks
    for pegs, distance in distances.items():
        if distance:
            assert _moves_to_win(_game_with(pegs)) == distance


@every_variant
def test_oracle_and_expert_win_within_the_limit(keywords: dict[str, int]) -> None:
    env = TowerofHanoi(**keywords)
    for seed in range(50):
        assert _play_out(env, seed, env.oracle_action) == (pytest.approx(1.0), True)
        assert _play_out(env, seed, env.expert_action) == (pytest.approx(1.0), True)


@pytest.mark.parametrize("pegs", ["AAA", "BAC", "CBA", "ABBA", "BBBBBBBB"])
def test_the_legal_moves_are_those_that_can_be_played(pegs: str) -> None:
    legal = set(_game_with(pegs).legal())
    for source, target in itertools.product("ABC", repeat=2):
        step = _game_with(pegs).step(rf"\boxed{{{source} {target}}}")
        assert (step.info["action_error"] is None) == (MoveDisk(source, target) in legal)


def test_random_towers_differ_in_disks_start_and_goal() -> None:
    env = TowerofHanoi(**_VARIANTS["random"])
    dealt = set[tuple[str, str]]()
    for seed in range(1000):
        prompt, _ = env.reset(seed=seed)
        state = env.state
        dealt.add((state.pegs, state.goal))
        assert state.pegs[-1] != state.goal
        assert env.turn_limit() == 2 ** len(state.pegs) + 3
        assert f"to peg {state.goal} in at most {env.turn_limit()} moves" in str(prompt)
    assert {len(pegs) for pegs, _ in dealt} == {3, 4, 5}
    assert len(dealt) > 350


def test_the_prompt_tells_the_disks_the_goal_the_limit_and_the_notation() -> None:
    prompt = str(TowerofHanoi().reset(seed=0)[0])
    assert "disks 1 (smallest) to 3 (largest)" in prompt
    assert "to peg C in at most 10 moves" in prompt
    assert r"\boxed{A C}" in prompt
    assert prompt.endswith("A: 3 2 1\nB:\nC:")


@pytest.mark.parametrize("keywords", [{"num_disks": 2}, {"num_disks": 9}, {"max_turns": 6}])
def test_towers_that_cannot_be_moved_are_refused(keywords: dict[str, int]) -> None:
    with pytest.raises(ArgumentError, match="cannot be moved"):
        TowerofHanoi(**keywords)


@every_variant
def test_neither_chance_nor_repetition_is_paid(keywords: dict[str, int]) -> None:
    env = TowerofHanoi(**keywords)
    rng = random.Random(0)
    chance = [
        _play_out(env, seed, lambda: rng.choice(list(env.legal_actions())))[0]
        for seed in range(100)
    ]
    assert sum(chance) / 100 < 0.06
    for source, target in itertools.permutations("ABC", 2):
        returns = [
            _play_out(env, s, lambda a=rf"\boxed{{{source} {target}}}": a)[0] for s in range(100)
        ]
        assert sum(returns) / 100 < 0.02
