"""The report of a run: one HTML page that needs nothing else."""

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib import resources
from typing import Any

from gemenv.core.message import text_of
from gemenv.rollout.episode import conversation_of
from gemenv.rollout.trajectory import Trajectory
from gemenv.train.chart import Series, line_chart
from gemenv.train.config import TrainConfig
from gemenv.train.config_file import config_to_toml
from gemenv.train.evaluation import Scores
from gemenv.train.run_folder import RunFolder

_NUM_SAMPLES = 4
_MAX_CHARS = 2000  # of one message; a page that nobody can scroll helps nobody

Lines = Sequence[Mapping[str, Any]]


def write_report(folder: RunFolder, config: TrainConfig, table: Sequence[Scores]) -> None:
    """Write `report.html`: scores, curves, sample episodes and the configuration.

    Args:
        folder: of the run; its logs are read.
        config: of the run.
        table: the scores to show: the model before and after, then the references.
    """
    folder.write_text("report.html", _page(config, table, folder.metrics(), folder.evaluations()))


def _page(
    config: TrainConfig, table: Sequence[Scores], lines: Lines, episodes: Sequence[Trajectory]
) -> str:
    title = f"{config.env.id}: {_algorithm_name(config)}, seed {config.run.seed}"
    style = resources.files("gemenv.train").joinpath("report.css").read_text(encoding="utf-8")
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{style}</style></head><body><main>",
            f"<h1>{escape(config.env.id)}</h1><p class='note'>{escape(title)}</p>",
            _score_table(table),
            '<section class="charts">',
            *_charts(lines, table[2:]),
            "</section>",
            _samples(episodes),
            "<h2>Configuration</h2>",
            f"<pre>{escape(config_to_toml(config))}</pre>",
            "</main></body></html>",
        ]
    )


def _algorithm_name(config: TrainConfig) -> str:
    algorithm = config.rl.algorithm
    return algorithm if isinstance(algorithm, str) else "a composed algorithm"


def _score_table(table: Sequence[Scores]) -> str:
    rows = "".join(
        f"<tr><th>{escape(s.policy)}</th><td>{_number(s.success, '.1%')}</td>"
        f"<td>{_number(s.mean_return, '.3f')}</td><td>{_number(s.turns, '.2f')}</td>"
        f"<td>{s.episodes}</td><td>{s.errors}</td></tr>"
        for s in table
    )
    names = ("policy", "success", "return", "turns", "episodes", "errors")
    head = "".join(f"<th>{name}</th>" for name in names)
    caption = "<caption>On held-out seeds. Errors are in no mean.</caption>"
    return f"<table>{caption}<tr>{head}</tr>{rows}</table>"


def _charts(lines: Lines, references: Sequence[Scores]) -> list[str]:
    rl = [line for line in lines if line["phase"] == "rl"]
    sft = [line for line in lines if line["phase"] == "sft"]
    last = max((line["step"] for line in rl), default=0)

    def compared(measure: Callable[[Scores], float]) -> list[Series]:
        return [
            Series(name=s.policy, points=[(0, measure(s)), (last, measure(s))], kind="reference")
            for s in references
        ]

    charts = [
        ("Success", [*_both(rl, "success"), *compared(lambda s: s.success)]),
        ("Turns used", [*_both(rl, "turns"), *compared(lambda s: s.turns)]),
        ("Entropy, nats per token", [_series(rl, "entropy", "entropy")]),
        (
            "Divergence, nats per token",
            [_series(rl, "approx_kl", "of an update"), _series(rl, "ref_kl_k3", "from reference")],
        ),
    ]
    drawn = [_figure(name, line_chart(series, x_name="iteration")) for name, series in charts]
    if sft:
        loss = line_chart([_series(sft, "loss", "loss")], x_name="step of the warm start")
        drawn.insert(0, _figure("Warm start", loss))
    return drawn


def _both(lines: Lines, name: str) -> list[Series]:
    return [
        _series(lines, f"rollout/{name}", "training"),
        _series(lines, f"eval/{name}", "held-out", "marked"),
    ]


def _series(lines: Lines, key: str, name: str, kind: str = "line") -> Series:
    points = [(line["step"], line[key]) for line in lines if line.get(key) is not None]
    return Series(name=name, points=points, kind=kind)


def _figure(name: str, drawing: str) -> str:
    return f"<figure><figcaption>{escape(name)}</figcaption>{drawing}</figure>"


def _samples(episodes: Sequence[Trajectory]) -> str:
    played = [episode for episode in episodes if episode.turns]
    if not played:
        return ""
    versions = [episode.turns[0].version for episode in played]
    columns: list[str] = []
    for name, version in (("Before", min(versions)), ("After", max(versions))):
        chosen = [e for e, v in zip(played, versions, strict=True) if v == version][:_NUM_SAMPLES]
        columns.append(f"<div><h3>{name}</h3>{''.join(map(_episode, chosen))}</div>")
    return f"<h2>Episodes</h2><section class='samples'>{''.join(columns)}</section>"


def _episode(episode: Trajectory) -> str:
    messages = "".join(
        f'<p class="{message["role"]}"><b>{message["role"]}</b> {escape(_shown(message))}</p>'
        for message in conversation_of(episode)
    )
    verdict = "solved" if episode.success else "not solved"
    head = f"Seed {episode.seed}: {verdict} in {len(episode.turns)} turns"
    return f'<article class="{verdict.replace(" ", "-")}"><h4>{head}</h4>{messages}</article>'


def _shown(message: Mapping[str, Any]) -> str:
    text = text_of(message["content"])
    return text if len(text) <= _MAX_CHARS else text[:_MAX_CHARS] + " ..."


def _number(value: float, form: str) -> str:
    return "–" if math.isnan(value) else format(value, form)  # noqa: RUF001  a dash: no value
