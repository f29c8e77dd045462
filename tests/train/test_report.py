import math
import xml.etree.ElementTree as ET
from pathlib import Path

from gemenv import Message
from gemenv.train.chart import Series, line_chart
from gemenv.train.evaluation import Scores
from gemenv.train.report import write_report
from gemenv.train.run_folder import RunFolder
from tests.train.toys import episode, small_config


def test_a_report_shows_scores_curves_episodes_and_configuration(tmp_path: Path):
    config = small_config(tmp_path / "run")
    folder = RunFolder(config)
    folder.begin()
    folder.log({"phase": "sft", "step": 1, "loss": 2.0})
    folder.log({"phase": "rl", "step": 0, "eval/success": 0.25, "eval/turns": 3.5})
    folder.log({"phase": "rl", "step": 1, "rollout/success": 0.5, "entropy": None})
    first, last = episode([0.0]), episode([1.0])
    first.turns[0].messages = [Message(role="user", content="<script>alert(1)</script>")]
    last.turns[0].version = 1
    last.turns[0].action = "the winning move"
    folder.keep_evaluation([first, last])
    table = [
        Scores(policy=name, episodes=9, errors=1, success=success, mean_return=0.5, turns=2.0)
        for name, success in (("before", 0.25), ("after", 1.0), ("oracle", math.nan))
    ]
    write_report(folder, config, table)
    page = (tmp_path / "run/report.html").read_text()
    assert "25.0%" in page
    assert "100.0%" in page
    assert "&lt;script&gt;alert(1)" in page
    assert "<script" not in page
    assert "://" not in page.replace("http://www.w3.org", "")  # nothing is fetched
    before, after = page.split("<h3>After</h3>")
    assert "the winning move" in after
    assert "alert(1)" in before
    assert "algorithm = &quot;reinforce_rebn&quot;" in page
    assert page.count("<svg") == 3  # warm start, success, turns: entropy has no numbers
    assert page.count("nothing to draw") == 2


def test_a_chart_is_well_formed_and_holds_every_point_inside_its_frame():
    points = [(0.0, 0.0), (5.0, math.nan), (10.0, 1.0)]
    svg = ET.fromstring(line_chart([Series(name="a<b", points=points)], x_name="step"))
    line = svg.find("polyline")
    assert line is not None
    places = [tuple(map(float, p.split(","))) for p in line.attrib["points"].split()]
    assert len(places) == 2
    (left, bottom), (right, top) = places
    assert 0 < left < right < 440
    assert 0 < top < bottom < 250
    assert "a<b" in [text.text for text in svg.iter("text")]


def test_names_that_would_overlap_are_moved_apart():
    series = [Series(name=name, points=[(0, 1.0), (1, 1.0)]) for name in "xyz"]
    svg = ET.fromstring(line_chart(series, x_name="step"))
    heights = [float(t.attrib["y"]) for t in svg.iter("text") if t.text in ("x", "y", "z")]
    gaps = [b - a for a, b in zip(sorted(heights), sorted(heights)[1:], strict=False)]
    assert min(gaps) >= 13
