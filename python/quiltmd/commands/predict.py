# SPDX-License-Identifier: Apache-2.0
"""`quiltmd predict`: how fast a system would run on many ranks of a machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import typer
from rich.table import Table

from ..engine.execution import PATCH_REACH_BY_NAME, Grain, PatchReach
from ..errors import QuiltError
from ..outputs.files import writing
from ..prediction.calibrate import calibrated
from ..prediction.choices import compare
from ..prediction.machine import read_machine
from ..prediction.plan import Planner, Sharing
from ..prediction.plot import plot_scaling
from ..prediction.predict import MOST_REPLICATED, Prediction, Tile, predict, predict_weak
from ..running.config import build_config, merge
from ..running.folder import Folder
from ..running.run_inputs import load_system
from .arguments import InputFiles, with_all_inputs
from .bench import parse_tile
from .options import Settings, with_settings
from .sectioned_command import AsJson
from .tables import out, show_table

_NOTHING: dict[str, Any] = {"run": {"steps": 0}, "output": {"dir": "."}}
_MOST_RANKS = 16384


@with_settings("system", "nonbonded", "integrator")
def predict_command(
    settings: Settings,
    files: InputFiles = None,
    ranks: Annotated[
        str, typer.Option(metavar="N,...", help="Numbers of ranks; 1..1024 means 1,2,4,...,1024.")
    ] = "1..64",
    machine: Annotated[
        str,
        typer.Option(
            metavar="NAME|FILE.toml",
            help="Machine: a known name, such as h200-nvlink or cpu, or a description.",
        ),
    ] = "h200-nvlink",
    profile: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Use the task times of a profiled run of this system."),
    ] = None,
    tile: Annotated[
        str, typer.Option(metavar="NxNxN", help="Repeat the system along the box vectors.")
    ] = "1x1x1",
    patch_reach: Annotated[
        str,
        typer.Option(
            metavar="N|AXES",
            help="Number of patches that the cutoff spans: 1, 2, or 2 along the axes x or xy.",
        ),
    ] = "1",
    grain: Annotated[
        str,
        typer.Option(
            metavar="GRAIN",
            help="What ranks share: patch; pair (pairs of patches), for more ranks than patches.",
        ),
    ] = "patch",
    pme: Annotated[
        str,
        typer.Option(
            metavar="WAY",
            help="How ranks share PME: distributed, pencils or replicated; auto: the faster of "
            f"distributed and replicated, or, for more than {MOST_REPLICATED} ranks, of "
            "distributed and pencils (CPUs; on GPUs, distributed).",
        ),
    ] = "auto",
    is_placed: Annotated[
        bool,
        typer.Option(
            "--placed/--not-placed", help="Place ranks that exchange much data near each other."
        ),
    ] = True,
    weak: Annotated[
        bool, typer.Option("--weak", help="Weak scaling: repeat the system once for each rank.")
    ] = False,
    choices: Annotated[
        bool,
        typer.Option(
            "--choices",
            help="Compare ways to share PME, narrower patches, PME every second step, and "
            "--not-placed.",
        ),
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Plot speed and efficiency (PNG, SVG, PDF).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Predict the speed on many ranks, here or on another machine.

    The patches (cells of the domain decomposition), their assignment to ranks and all messages are
    those of a real run.  Task times come from the description of the machine or from a profile.
    Messages are simulated on the network of the machine.
    """
    way, reach, counts = _sharing(pme), _patch_reach(patch_reach), _counts(ranks)
    shared = _grain(grain)
    if choices and (weak or plot or way or reach != 1 or shared != "patch" or not is_placed):
        raise QuiltError(
            "--choices varies these settings itself: leave out --pme, --patch-reach, --grain, "
            "--not-placed, --weak and --plot"
        )
    planner_of = _planners(with_all_inputs(files, settings), parse_tile(tile))
    planner = planner_of(reach, shared)
    if way in ("pencils", "replicated") and not planner.has_mesh:
        raise QuiltError(f"--pme {way}: the system is run without PME")
    if way == "pencils" and planner.method == "fmm":
        raise QuiltError(
            "--pme pencils: the fast multipole method has no transforms: choose distributed or "
            "replicated"
        )
    where = read_machine(machine)
    if profile is not None:
        where = calibrated(where, Folder(profile.absolute()).timeline, planner)
    about = {**planner.about, "machine": where.name}
    if choices:
        return _print_choices(compare(planner_of, where, counts), about, as_json)
    if weak:
        copied = partial(planner_of, reach, shared, 1)
        found = predict_weak(copied, where, counts, way, is_placed)
    else:
        found = predict(planner, where, counts, way, is_placed)
    if plot is not None:
        with writing(plot):
            plot_scaling(plot, found, where.name)
    if as_json:
        print(json.dumps({**about, "predictions": [one.as_dict() for one in found]}))
    else:
        _show(found, about)


def _planners(settings: Settings, tile: Tile) -> Callable[..., Planner]:
    """Makes planners of a system.

    Of a reach in patches, a grain, an interval of PME, and a number of copies of the tiled box.
    """
    config = build_config(merge(_NOTHING, settings))
    system, state = load_system(config)
    config = config.following(system)
    integrator: Any = config.make_integrator()

    def planner_of(
        reach: PatchReach, grain: Grain, times_less_pme: int = 1, copies: Tile = (1, 1, 1)
    ) -> Planner:
        every = integrator.long_range_every * times_less_pme
        rarer = replace(integrator, long_range_every=every)
        nonbonded = config.nonbonded.tile(*copies)  # grids are of the tiled box
        return Planner(system, state, nonbonded, rarer, _times(tile, copies), reach, grain)

    return planner_of


def _times(counts: Tile, factors: Tile) -> Tile:
    (a, b, c), (x, y, z) = counts, factors
    return a * x, b * y, c * z


def _print_choices(
    found: dict[str, dict[int, Prediction]], about: dict[str, Any], as_json: bool
) -> None:
    """Microseconds of a step, a row for each choice."""
    if as_json:
        rows = {
            name: [one.as_dict() for one in by_ranks.values()] for name, by_ranks in found.items()
        }
        print(json.dumps({**about, "choices": rows}))
        return
    counts = next(iter(found.values()))
    fastest = {
        ranks: min(by_ranks[ranks].us_per_step for by_ranks in found.values() if ranks in by_ranks)
        for ranks in counts
    }
    table = Table()
    table.add_column("choice")
    for ranks in counts:
        table.add_column(str(ranks), justify="right")
    for name, by_ranks in found.items():
        cells = []
        for ranks in counts:
            one = by_ranks.get(ranks)
            text = f"{one.us_per_step:.1f}" if one else ""
            cells.append(
                f"[bold]{text}[/bold]" if one and one.us_per_step == fastest[ranks] else text
            )
        table.add_row(name, *cells)
    out.print(f"{about['atoms']} atoms on {about['machine']}: us/step by number of ranks")
    show_table(table)
    out.print(
        "bold: the fastest; each row differs from the first in what its name says",
        style="dim",
    )


def _counts(text: str) -> list[int]:
    """Numbers of ranks from "1,2,4" or "1..64"."""
    try:
        if ".." in text:
            first, last = map(int, text.split(".."))
            found = []
            while first <= last:
                found.append(first)
                first *= 2
        else:
            found = sorted({int(part) for part in text.split(",")})
    except ValueError:
        found = []
    if not found or found[0] < 1 or found[-1] > _MOST_RANKS:
        raise QuiltError(f"--ranks is N,N,... or N..N from 1 to {_MOST_RANKS}, not '{text}'")
    return found


def _sharing(text: str) -> Sharing | None:
    """Sharing of PME among ranks; None: the fastest."""
    if text not in ("auto", *get_args(Sharing)):
        raise QuiltError(f"--pme is auto, {', '.join(get_args(Sharing))}, not '{text}'")
    return None if text == "auto" else cast(Sharing, text)


def _patch_reach(text: str) -> PatchReach:
    if text not in PATCH_REACH_BY_NAME:
        raise QuiltError(f"--patch-reach is {', '.join(PATCH_REACH_BY_NAME)}, not '{text}'")
    return PATCH_REACH_BY_NAME[text]


def _grain(text: str) -> Grain:
    if text not in get_args(Grain):
        raise QuiltError(f"--grain is {' or '.join(get_args(Grain))}, not '{text}'")
    return cast(Grain, text)


def _show(found: list[Prediction], about: dict[str, Any]) -> None:
    table = Table()
    for heading in ("ranks", "atoms", "us/step", "ns/day", "efficiency", "messages", "MB", "hops"):
        table.add_column(heading, justify="right")
    for heading in ("communication", "memory, MiB"):
        table.add_column(heading, justify="right")
    table.add_column("limited by")
    for one in found:
        table.add_row(
            str(one.ranks),
            str(one.atoms),
            f"{one.us_per_step:.1f}",
            f"{one.ns_per_day:.4g}",
            f"{one.efficiency:.0%}",
            f"{one.messages:.1f}",
            f"{1e-6 * one.bytes:.3g}",
            f"{one.hops:.2f}",
            f"{one.communication:.0%}",
            f"{one.memory / 2**20:.0f}",
            one.limiter,
        )
    out.print(about["machine"])
    show_table(table)
    out.print(
        "messages and MB: sent per rank and step; hops: mean of all bytes; communication: share of "
        "a step",
        style="dim",
    )
