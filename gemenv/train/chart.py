"""Line charts as SVG, to stand inside an HTML page; colours come from the page's style sheet."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT = 440, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 84, 14, 34
_NUM_TICKS = 4


@dataclass(frozen=True, kw_only=True)
class Series:
    """A line of a chart."""

    name: str
    """Shown at its end."""
    points: Sequence[tuple[float, float]]
    """(x, y), in the order of x; those that are not finite are left out."""
    kind: str = "line"
    """A class of the style sheet: "line", "marked" (with dots) or "reference" (dashed)."""


def line_chart(series: Sequence[Series], *, x_name: str, y_from_zero: bool = True) -> str:
    """Draw lines over a common axis.

    Args:
        series: at least one; those without finite points are left out.
        x_name: what the axis below means.
        y_from_zero: whether the axis on the left starts at 0.

    Returns:
        An `<svg>` element; a note instead where there is nothing to draw.

    Example:
        >>> line_chart([Series(name="loss", points=[])], x_name="step")
        '<p class="note">nothing to draw</p>'
    """
    lines = [(s, [p for p in s.points if all(map(math.isfinite, p))]) for s in series]
    lines = [(s, points) for s, points in lines if points]
    if not lines:
        return '<p class="note">nothing to draw</p>'
    xs = [x for _, points in lines for x, _ in points]
    ys = [y for _, points in lines for _, y in points] + ([0.0] if y_from_zero else [])
    frame = _Frame(_ticks(min(xs), max(xs)), _ticks(min(ys), max(ys)), min(xs), max(xs))
    body = [frame.axes(x_name)]
    for index, (line, points) in enumerate(lines):
        body.append(frame.line(line, points, index))
    body += frame.labels([(line.name, points[-1][1]) for line, points in lines])
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"'
    return f'<svg class="chart" {size}>{"".join(body)}</svg>'


class _Frame:
    """Where values stand on the page."""

    def __init__(
        self, x_ticks: list[float], y_ticks: list[float], x_low: float, x_high: float
    ) -> None:
        self.x_ticks = [tick for tick in x_ticks if x_low <= tick <= x_high]
        self.y_ticks = y_ticks
        self.x_low, self.x_span = x_low, (x_high - x_low) or 1.0
        self.y_low, self.y_span = y_ticks[0], (y_ticks[-1] - y_ticks[0]) or 1.0

    def x(self, value: float) -> float:
        return _LEFT + (value - self.x_low) / self.x_span * (_WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        return _HEIGHT - _BOTTOM - (value - self.y_low) / self.y_span * (_HEIGHT - _TOP - _BOTTOM)

    def axes(self, x_name: str) -> str:
        parts: list[str] = []
        for tick in self.y_ticks:
            y = self.y(tick)
            parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" ')
            parts.append(f'y1="{y:.1f}" y2="{y:.1f}"/>')
            parts.append(_text(_LEFT - 6, y + 3.5, f"{tick:g}", "end"))
        below = _HEIGHT - _BOTTOM + 15
        parts += [_text(self.x(tick), below, f"{tick:g}", "middle") for tick in self.x_ticks]
        parts.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 4, x_name, "middle"))
        return "".join(parts)

    def line(self, line: Series, points: Sequence[tuple[float, float]], index: int) -> str:
        places = [(self.x(x), self.y(y)) for x, y in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        drawn = f'<polyline class="{line.kind} color{index}" points="{path}"/>'
        if line.kind == "marked":
            dots = (
                f'<circle class="color{index}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in places
            )
            drawn += "".join(dots)
        return drawn

    def labels(self, ends: Sequence[tuple[str, float]]) -> list[str]:
        """Write each name beside its line's end, moved apart where they would overlap."""
        parts: list[str] = []
        floor = -math.inf
        order = sorted(range(len(ends)), key=lambda i: self.y(ends[i][1]))
        for index in order:
            name, value = ends[index]
            y = max(self.y(value) + 3.5, floor + 13)
            floor = y
            parts.append(_text(_WIDTH - _RIGHT + 6, y, name, "start", f"color{index}"))
        return parts


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers that enclose a range, the first at most `low`."""
    span = (high - low) or abs(high) or 1.0
    raw = span / _NUM_TICKS
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(m * magnitude for m in (1, 2, 2.5, 5, 10) if m * magnitude >= raw)
    first, last = math.floor(low / step), math.ceil(high / step - 1e-9)
    return [round(i * step, 12) for i in range(first, max(last, first + 1) + 1)]


def _text(x: float, y: float, text: str, anchor: str, kind: str = "label") -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
    )
