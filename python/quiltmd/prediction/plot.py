# SPDX-License-Identifier: Apache-2.0
"""Predicted scaling as a figure: speed, and what a step consists of."""

from __future__ import annotations

from pathlib import Path

from ..errors import QuiltError
from .predict import Prediction

# Of Okabe and Ito, which people with any colour vision tell apart; hatches besides.
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999")
_HATCHES = ("", "//", "\\\\", "..", "xx", "--", "++", "oo")


def plot_scaling(path: Path, found: list[Prediction], title: str) -> None:
    """Writes the figure; QuiltError without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        raise QuiltError("a plot needs matplotlib: pip install 'quiltmd[plot]'") from None
    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    speed, parts = figure.subplots(1, 2)
    ranks = [one.ranks for one in found]
    first = found[0]
    speed.plot(ranks, [one.ns_per_day for one in found], "o-", label="predicted")
    ideal = [first.ns_per_day * count / first.ranks for count in ranks]
    speed.plot(ranks, ideal, "--", color="#999999", label="ideal")
    speed.set(xlabel="ranks", ylabel="ns/day", xscale="log", yscale="log")
    for one in found:
        place = (one.ranks, one.ns_per_day)
        speed.annotate(f"{one.efficiency:.0%}", place, (0, 6), textcoords="offset points")
    speed.legend(frameon=False)
    names = list(dict.fromkeys(name for one in found for name in one.parts))
    bottom = [0.0] * len(found)
    for number, name in enumerate(names):
        shares = [one.parts.get(name, 0.0) / one.us_per_step for one in found]
        style = number % len(_COLOURS)
        parts.bar(
            [str(count) for count in ranks],
            shares,
            bottom=bottom,
            label=name,
            color=_COLOURS[style],
            hatch=_HATCHES[style],
            edgecolor="white",
        )
        bottom = [low + share for low, share in zip(bottom, shares, strict=True)]
    parts.set(xlabel="ranks", ylabel="share of the critical path")
    parts.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
    figure.suptitle(title)
    figure.savefig(path)
