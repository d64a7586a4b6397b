# SPDX-License-Identifier: Apache-2.0
"""Line charts as SVG, for a page that must stand alone or as a picture.

A chart shows one quantity over time, or over something else.  Long series are drawn as the range of
values within each column of pixels and the mean through it, so that a page stays small whatever the
length of a run.
Nothing depends on colour alone: a second line is dashed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

_F64 = NDArray[np.float64]

_WIDTH, _HEIGHT = 470, 210
_LEFT, _RIGHT, _TOP, _BOTTOM = 78, 12, 12, 34
_COLUMNS = 240  # into which a long series is divided
_DIGIT = 8  # at most as wide
_HEADING = 26  # above each chart of a picture

# On white; a page replaces them where the reader's screen is dark.
COLOURS = {
    "ink": "#1a1a1a",
    "soft": "#5a5a5a",
    "paper": "#fff",
    "grid": "#e3e3e3",
    "line": "#0072b2",
    "level": "#b34b00",
    "range": "#0072b240",
    "rest": "#c9c9c9",
}
STYLE = """
svg text { font: 12px system-ui, sans-serif; fill: var(--soft); }
.grid { stroke: var(--grid); } .tick { stroke: var(--soft); }
.line { fill: none; stroke: var(--line); stroke-width: 1.6; stroke-linejoin: round; }
.dot { fill: var(--line); } .range { fill: var(--range); stroke: none; }
.level { stroke: var(--level); stroke-width: 1.4; stroke-dasharray: 7 4; }
.mark { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 2 3; }
"""


@dataclass(frozen=True)
class Chart:
    """One quantity over time, or over something else.

    Attributes
    ----------
    title, unit:
        Title and unit of the quantity.
    x, y:
        Values; `x` ascends, in `x_unit`.
    x_unit:
        Unit of time; empty where there is none.
    level:
        A value to compare with, such as the temperature of the bath: a dashed line.
    marks:
        Times at which something else begins: vertical lines.
    over:
        Name of the quantity `x`.
    numbers:
        Number of values, if values are whole numbers from 0.
    """

    title: str
    unit: str
    x: _F64
    y: _F64
    x_unit: str
    level: float | None = None
    marks: tuple[float, ...] = ()
    over: str = "time"
    numbers: int | None = None

    def svg(self) -> str:
        """The chart as an element of a page."""
        label = escape(f"{self.title}, {self.unit}, over {self.over}")
        box = f"0 0 {_WIDTH} {_HEIGHT}"
        return f'<svg viewBox="{box}" role="img" aria-label="{label}">{self.drawing()}</svg>'

    def drawing(self) -> str:
        """Contents of the chart: axes, lines and their labels."""
        low, mean, high, x = _condensed(self.x, self.y)
        bottom, top = float(low.min()), float(high.max())
        if self.level is not None:
            bottom, top = min(bottom, self.level), max(top, self.level)
        if self.numbers is not None:
            bottom, top = 0.0, max(self.numbers - 1.0, 1.0)
        y_ticks, bottom, top = _ticks(bottom, top, 5, whole=self.numbers is not None)
        begin, end = float(self.x[0]), max(float(self.x[-1]), float(self.x[0]) + 1e-12)
        x_ticks = _ticks(begin, end, 6)[0] if len(self.x) > 1 else [begin]

        def across(value: _F64 | float) -> _F64:
            share = (np.asarray(value, dtype=float) - begin) / (end - begin)
            return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

        def up(value: _F64 | float) -> _F64:
            share = (np.asarray(value, dtype=float) - bottom) / (top - bottom)
            return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)

        parts = [
            *(_y_tick(float(up(tick)), _text(tick, y_ticks)) for tick in y_ticks),
            *(
                _x_tick(float(across(tick)), _text(tick, x_ticks))
                for tick in x_ticks
                if begin <= tick <= end
            ),
            f'<text class="axis" x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 3}" '
            f'text-anchor="end">{escape(_named(self.over, self.x_unit))}</text>',
        ]
        if len(self.x) > _COLUMNS:
            outline = np.concatenate([up(low), up(high)[::-1]])
            places = np.concatenate([across(x), across(x)[::-1]])
            parts.append(f'<polygon class="range" points="{_points(places, outline)}"/>')
        parts.append(f'<polyline class="line" points="{_points(across(x), up(mean))}"/>')
        if len(x) == 1:
            parts.append(
                f'<circle class="dot" cx="{float(across(x)[0]):.1f}" '
                f'cy="{float(up(mean)[0]):.1f}" r="3"/>'
            )
        if self.level is not None:
            y = float(up(self.level))
            parts.append(_line("level", (_LEFT, _WIDTH - _RIGHT), (y, y)))
        for x_mark in map(float, map(across, self.marks)):
            parts.append(_line("mark", (x_mark, x_mark), (_TOP, _HEIGHT - _BOTTOM)))
        return "".join(parts)


def _named(quantity: str, unit: str) -> str:
    return f"{quantity}, {unit}" if unit else quantity


def picture(title: str, charts: Sequence[Chart]) -> str:
    """A file of charts below each other, with a title above; any viewer of SVG shows it."""
    height = _HEADING + len(charts) * (_HEADING + _HEIGHT)
    style = re.sub(r"var\(--(\w+)\)", lambda name: COLOURS[name[1]], STYLE)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{2 * _WIDTH}" height="{2 * height}"><style>{style}</style>'
        f'<rect width="100%" height="100%" fill="{COLOURS["paper"]}"/>',
        _heading(title, 18),
    ]
    for number, chart in enumerate(charts):
        top = _HEADING + number * (_HEADING + _HEIGHT)
        text = f"{chart.title}, {chart.unit}"
        drawing = f'<g transform="translate(0 {top + _HEADING})">{chart.drawing()}</g>'
        parts.append(_heading(text, top + _HEADING - 4) + drawing)
    return "".join([*parts, "</svg>\n"])


def _heading(text: str, y: int) -> str:
    return f'<text x="{_WIDTH / 2:g}" y="{y}" text-anchor="middle">{escape(text)}</text>'


def _condensed(x: _F64, y: _F64) -> tuple[_F64, _F64, _F64, _F64]:
    """Lowest, mean and highest value in each column, and its place."""
    if len(x) <= _COLUMNS:
        return y, y, y, x
    edges = np.linspace(0, len(x), _COLUMNS + 1).astype(int)
    begins = edges[:-1]
    sizes = np.diff(edges)
    mean = np.add.reduceat(y, begins) / sizes
    places = np.add.reduceat(x, begins) / sizes
    return np.minimum.reduceat(y, begins), mean, np.maximum.reduceat(y, begins), places


def _ticks(
    low: float, high: float, about: int, whole: bool = False
) -> tuple[list[float], float, float]:
    """Round (and whole) numbers from below `low` to above `high`, and the range that they span."""
    span = high - low
    if span <= 0 or span < 1e-9 * max(abs(low), abs(high)):
        span = abs(low) * 1e-3 or 1.0
        low, high = low - span / 2, high + span / 2
    rough = max((high - low) / about, 1.0 if whole else 0.0)
    power = 10.0 ** np.floor(np.log10(rough))
    steps = (1, 2, 5, 10) if whole else (1, 2, 2.5, 5, 10)
    step = float(power * next(m for m in steps if m * power >= rough))
    first, last = np.floor(low / step), np.ceil(high / step)
    ticks = [float(step * number) for number in np.arange(first, last + 1)]
    return ticks, ticks[0], ticks[-1]


def _text(value: float, ticks: list[float]) -> str:
    """A number with the digits that tell ticks apart."""
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    digits = int(max(0, -np.floor(np.log10(step) + 1e-9)))
    if abs(step * 10**digits - round(step * 10**digits)) > 1e-6:
        digits += 1
    text = f"{value:,.{digits}f}".replace(",", "\u202f")
    return text.replace("-", "\u2212") if float(f"{value:.{digits}f}") else f"{0:.{digits}f}"


def _line(kind: str, x: tuple[float, float], y: tuple[float, float]) -> str:
    return f'<line class="{kind}" x1="{x[0]:.1f}" x2="{x[1]:.1f}" y1="{y[0]:.1f}" y2="{y[1]:.1f}"/>'


def _points(x: _F64, y: _F64) -> str:
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x.tolist(), y.tolist(), strict=True))


def _y_tick(y: float, text: str) -> str:
    return (
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text class="axis" x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{text}</text>'
    )


def _x_tick(x: float, text: str) -> str:
    base = _HEIGHT - _BOTTOM
    middle = min(x, _WIDTH - _DIGIT * len(text) / 2)  # the last one must not leave the chart
    return (
        f'<line class="tick" x1="{x:.1f}" x2="{x:.1f}" y1="{base}" y2="{base + 4}"/>'
        f'<text class="axis" x="{middle:.1f}" y="{base + 16}" text-anchor="middle">{text}</text>'
    )
