import asyncio
import itertools
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import gemenv
from gemenv.bench import score_scale
from gemenv.bench.reference import (
    Reference,
    ScoreScale,
    read_scales,
    scores_path,
    stored_scales,
    write_scales,
)
from gemenv.bench.score_scale import Measurement, main, measure_scale
from gemenv.bench.statistics import Estimate
from gemenv.errors import ArgumentError, CorruptFileError, NoReferenceError
from tests.bench.solvable import Solvable
from tests.rollout.toys import Counter, failing


def reference(mean_return: float) -> Reference:
    return Reference(mean_return=mean_return, success_rate=1.0, mean_turns=1.0, num_episodes=9)


SCALE = ScoreScale(random=reference(0.0), oracle=reference(0.5))


def measured(make_env: Any, seeds: range = range(10), **options: Any) -> Measurement:
    return asyncio.run(measure_scale(make_env, seeds, **options))


def test_a_scale_says_what_each_reference_reaches():
    measurement = measured(partial(gemenv.make, "game:GuessTheNumber"), range(200))
    assert measurement.failures == []
    references = measurement.scale.references
    assert list(references) == ["random", "constant", "expert", "oracle"]
    assert references["oracle"] == Reference(
        mean_return=1.0, success_rate=1.0, mean_turns=1.0, num_episodes=200
    )
    assert references["expert"].success_rate == 1.0
    assert 0.25 < references["random"].success_rate < 0.45
    assert references["constant"].success_rate < 0.15


def test_references_that_an_environment_lacks_are_left_out():
    assert list(measured(Counter).scale.references) == ["random", "constant"]
    assert list(measured(Solvable).scale.references) == ["random", "constant", "oracle"]


def test_an_oracle_that_does_not_win_is_named_with_its_seeds():
    measurement = measured(partial(Solvable, unsolved=(3, 7)))
    assert measurement.failures == ["oracle: did not win on seeds 3, 7"]


@pytest.mark.parametrize("seed", [0, 4])
def test_an_episode_that_fails_is_named_with_its_seeds(seed: int):
    measurement = measured(partial(Solvable, broken=(seed,)))
    (failure,) = measurement.failures
    assert failure == f"oracle: policy_error (ValueError: no way out) on seeds {seed}"
    assert measurement.scale.references["oracle"].num_episodes == 9


def test_an_oracle_that_is_missing_on_some_seeds_only_has_failed():
    error = NoReferenceError(problem="None here.", expected="one", got=0, fix="write one")
    (failure,) = measured(partial(Solvable, broken=(0, 1), error=error)).failures
    assert failure.startswith("oracle: policy_error (NoReferenceError: None here.")
    assert failure.endswith(" on seeds 0, 1")


def test_of_many_seeds_the_first_ten_are_named():
    (failure,) = measured(partial(Solvable, unsolved=tuple(range(13))), range(20)).failures
    assert failure == "oracle: did not win on seeds 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 3 more"


def test_a_reset_that_fails_is_a_failure_of_every_reference():
    measurement = measured(partial(Counter, fail=failing(ValueError("no board"), at=0)), range(2))
    assert measurement.scale == ScoreScale()
    assert [failure.split(" ", 1) for failure in measurement.failures] == [
        [f"{name}:", "env_error (ValueError: no board) on seeds 0, 1"]
        for name in ("random", "constant", "expert", "oracle")
    ]


def test_a_budget_that_is_used_up_ends_after_a_batch(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(score_scale, "_BATCH", 5)
    assert measured(Counter, range(40), budget_s=0.0).scale.references["random"].num_episodes == 5


def test_batches_change_no_choice(monkeypatch: pytest.MonkeyPatch):
    make_env = partial(gemenv.make, "game:GuessTheNumber")
    whole = measured(make_env, range(60))
    monkeypatch.setattr(score_scale, "_BATCH", 7)
    assert measured(make_env, range(60)) == whole


def test_scales_are_read_back_as_written_whatever_their_order(tmp_path: Path):
    path = tmp_path / "scores.json"
    texts: set[str] = set()
    for ids in itertools.permutations(["a:C-v0", "a:B-v0-hard", "a:B-v0-easy"]):
        write_scales(path, dict.fromkeys(ids, SCALE))
        texts.add(path.read_text())
    assert read_scales(path) == {"a:B-v0-easy": SCALE, "a:B-v0-hard": SCALE, "a:C-v0": SCALE}
    (text,) = texts
    assert [line[:10] for line in text.splitlines()] == [
        "{", '"a:B-v0-ea', '"a:B-v0-ha', '"a:C-v0": ', "}",
    ]  # fmt: skip
    assert [file.name for file in tmp_path.iterdir()] == ["scores.json"]


def test_no_file_holds_no_scales_and_a_corrupt_one_is_named(tmp_path: Path):
    assert read_scales(tmp_path / "scores.json") == {}
    (tmp_path / "scores.json").write_text('{"a:B-v0": {"random": 3}}')
    with pytest.raises(CorruptFileError, match=r"scores\.json does not hold score scales"):
        read_scales(tmp_path / "scores.json")


def test_an_interval_is_put_on_the_scale_end_by_end():
    assert SCALE.normalise(Estimate(0.25, 0.0, 0.5)) == Estimate(0.5, 0.0, 1.0)


def test_what_is_stored_is_registered_and_the_oracle_always_won():
    known = {str(spec.id) for spec in gemenv.list_envs("game")}
    assert set(stored_scales("game")) <= known
    for scale in stored_scales("game").values():
        assert scale.oracle is not None
        assert scale.oracle.success_rate == 1.0
        assert scale.random is not None
        assert scale.random.mean_return < scale.oracle.mean_return


def test_an_unknown_family_is_refused():
    with pytest.raises(ArgumentError, match="no family 'gmae'"):
        scores_path("gmae")


@pytest.fixture
def scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "scores.json"
    monkeypatch.setattr(score_scale, "scores_path", lambda family: path)
    return path


EASY, HARD = "game:GuessTheNumber-v0-easy", "game:GuessTheNumber-v0-hard"


def test_the_command_measures_what_is_missing_only(scores: Path, capsys: pytest.CaptureFixture):
    write_scales(scores, {EASY: SCALE})
    assert main(["game", "--ids", EASY, HARD, "--episodes", "3"]) == 0
    scales = read_scales(scores)
    assert scales[EASY] == SCALE
    assert scales[HARD].references["oracle"].num_episodes == 3
    assert capsys.readouterr().out.startswith(f"{HARD} random ")


def test_the_command_measures_again_when_told_to(scores: Path):
    write_scales(scores, {EASY: SCALE})
    assert main(["game", "--ids", EASY, "--episodes", "3", "--again"]) == 0
    assert read_scales(scores)[EASY] != SCALE


def test_what_failed_is_listed_and_not_stored(
    scores: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    measurement = Measurement(SCALE, ["oracle: did not win on seeds 3, 7"])
    monkeypatch.setattr(score_scale, "_measure_each", lambda ids, *_: [(EASY, measurement)])
    assert main(["game", "--ids", EASY]) == 1
    assert capsys.readouterr().err == f"{EASY} oracle: did not win on seeds 3, 7\n"
    assert not scores.exists()


@pytest.mark.parametrize(
    "argv", [["gmae"], ["game", "--ids", "game:Gues"], ["game", "--ids", "mine:Game-v0"]]
)
def test_bad_input_is_told_in_four_lines(argv: list[str], capsys: pytest.CaptureFixture):
    assert main(argv) == 2
    assert len(capsys.readouterr().err.splitlines()) == 4


def test_no_episodes_are_refused():
    with pytest.raises(SystemExit) as stop:
        main(["game", "--episodes", "0"])
    assert stop.value.code == 2
