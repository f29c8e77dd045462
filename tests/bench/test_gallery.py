import subprocess
import sys
from pathlib import Path

import pytest

import gemenv
from gemenv.bench.description import describe
from gemenv.bench.gallery import gallery, main

_PAGE = Path(__file__).parents[2] / "docs" / "gallery.md"


def test_a_section_tells_all_about_a_variant():
    page = gallery([gemenv.spec("game:GuessTheNumber-v0-hard")])
    assert "## game:GuessTheNumber\n\nFind a hidden number from hints" in page
    assert "### game:GuessTheNumber-v0-hard" in page
    assert "`low=1`, `high=50`, " in page
    assert "- turn limit: 7\n" in page
    assert r"- actions: `\boxed{<number>}`" in page
    assert "```text\nGuess the hidden whole number between 1 and 50" in page
    assert "| oracle | 1.000 | 100.0% |" in page


def test_keywords_show_the_values_that_the_id_gives_them():
    keywords = describe(gemenv.spec("game:GuessTheNumber-v0-hard")).keywords
    assert (keywords["low"], keywords["high"], keywords["max_turns"]) == (1, 50, 7)
    assert (keywords["format_error_reward"], keywords["format_error_ends"]) == (-0.1, True)


def test_the_page_in_docs_is_up_to_date(tmp_path: Path):
    page = tmp_path / "gallery.md"  # written by another process, where only our ids are registered
    subprocess.run([sys.executable, "-m", "gemenv.bench.gallery", page], check=True, timeout=120)
    assert page.read_text() == _PAGE.read_text(), "run `make docs`"


@pytest.mark.parametrize("argv", [[], ["a.md", "b.md"], ["gallery.txt"]])
def test_bad_input_is_told_in_four_lines(argv: list[str], capsys: pytest.CaptureFixture):
    assert main(argv) == 2
    assert len(capsys.readouterr().err.splitlines()) == 4
