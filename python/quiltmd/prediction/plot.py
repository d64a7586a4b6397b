# SPDX-License-Identifier: Apache-2.0
"""Predicted scaling, strong or weak, as a figure: speed, and what a step consists of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import QuiltError
from .predict import Prediction

# Colours of Okabe and Ito, which people with any colour vision can distinguish; and hatches.
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999")
_HATCHES = ("", "//", "\\\\", "..", "xx", "--", "++", "oo")


def plot_scaling(path: Path, found: list[Prediction], machine: str) -> None:
    """Writes the figure; QuiltError without matplotlib, or for a suffix that it does not know.

    Where systems grow with the number of ranks, the ideal is the same speed for all.
    """
    try:
        import matplotlib
    except ImportError:
        raise QuiltError("a plot needs matplotlib: pip install 'quiltmd[plot]'") from None
    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    known = figure.canvas.get_supported_filetypes()
    if path.suffix[1:].lower() not in known:
        raise QuiltError(f"{path}: the name of a figure must end in .{', .'.join(sorted(known))}")
    speed, parts = figure.subplots(1, 2)
    _draw_speed(speed, found)
    _draw_parts(parts, found)
    atoms = {one.atoms for one in found}
    system = f"{found[0].atoms:,} atoms"
    if len(atoms) > 1:
        system = f"{found[0].atoms // found[0].ranks:,} atoms for each rank"
    figure.suptitle(f"{system} on {machine}")
    figure.savefig(path)


def _draw_speed(speed: Any, found: list[Prediction]) -> None:
    ranks, first = [one.ranks for one in found], found[0]
    speed.plot(
        ranks, [one.ns_per_day for one in found], "o-", label="predicted, with its efficiency"
    )
    ideal = [
        first.ns_per_day * (one.ranks / first.ranks) / (one.atoms / first.atoms) for one in found
    ]
    speed.plot(ranks, ideal, "--", color="#999999", label="ideal")
    speed.set(xlabel="ranks", ylabel="ns/day", xscale="log", yscale="log")
    speed.set_xticks(ranks, list(map(str, ranks)))
    speed.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    speed.margins(0.12)
    for one in found:
        place = (one.ranks, one.ns_per_day)
        style = {"textcoords": "offset points", "ha": "center"}
        speed.annotate(f"{one.efficiency:.0%}", place, (0, -16), **style)
    speed.legend(frameon=False)


def _draw_parts(parts: Any, found: list[Prediction]) -> None:
    ranks = [one.ranks for one in found]
    names = list(dict.fromkeys(name for one in found for name in one.parts))
    bottom = [0.0] * len(found)
    for number, name in enumerate(names):
        shares = [one.parts.get(name, 0.0) / one.us_per_step for one in found]
        again, colour = divmod(number, len(_COLOURS))
        parts.bar(
            [str(count) for count in ranks],
            shares,
            bottom=bottom,
            label=name,
            color=_COLOURS[colour],
            hatch=_HATCHES[(colour + again) % len(_HATCHES)],
            edgecolor="white",
        )
        bottom = [low + share for low, share in zip(bottom, shares, strict=True)]
    parts.set(xlabel="ranks", ylabel="share of the critical path")
    parts.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
