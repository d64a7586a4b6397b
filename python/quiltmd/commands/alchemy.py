# SPDX-License-Identifier: Apache-2.0
"""`quiltmd alchemy`: free energies from runs of alchemical states."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from ..outputs.files import replace_file, writing
from ..running.free_energies import LEAST_OVERLAP, FreeEnergies, free_energies
from ..running.progress import say
from ..running.work import WorkEstimates, is_switching, work_estimates
from .alchemy_page import PAGE, make_page, shown
from .sectioned_command import AsJson
from .tables import out, show_table

alchemy = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Estimate free energies from runs of alchemical states.",
)


@alchemy.callback()
def common() -> None:
    """Estimate free energies from runs of alchemical states."""


@alchemy.command()
def analyse(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN",
            help="Folders of several runs, one for each state or each nonequilibrium switching; "
            "or the folder of a replica exchange between the states, or of an expanded ensemble.",
        ),
    ],
    discard: Annotated[
        float,
        typer.Option(help="Fraction of the samples of each state to discard at the beginning."),
    ] = 0.1,
    page: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help=f"HTML page to write. [default: {PAGE} in the first RUN]"
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Estimate free energies by MBAR and thermodynamic integration.

    Needs pymbar (pip install 'quiltmd[alchemy]').  Prints the free energy of each state relative
    to the first, kJ/mol, and writes a page with the overlap of the states and the convergence.

    For runs with nonequilibrium switching, prints Bennett's acceptance ratio and Jarzynski's
    averages instead, and writes no page.
    """
    if is_switching(folders[0]):
        work = work_estimates(folders)
        print(json.dumps(work.summary())) if as_json else _show_work(work)
        return
    found = free_energies(folders, discard)
    path = folders[0] / PAGE if page is None else page
    with writing(path):
        replace_file(path, make_page(found, folders, discard).encode())
    if as_json:
        print(json.dumps(found.summary()))
    else:
        _show(found)
    say(f"a page is in {path}")


def _show_work(found: WorkEstimates) -> None:
    table = Table("estimate", "runs", "free energy, kJ/mol", "mean work, kJ/mol")
    counts = [len(found.forwards), len(found.backwards)]
    means = [f"{one.mean():.3f}" if len(one) else "" for one in (found.forwards, found.backwards)]
    rows = (
        ("BAR", f"{counts[0]} + {counts[1]}", found.bar, ""),
        ("Jarzynski, forwards", str(counts[0]), found.jarzynski_forwards, means[0]),
        ("Jarzynski, backwards", str(counts[1]), found.jarzynski_backwards, means[1]),
    )
    for name, count, value, mean in rows:
        table.add_row(name, count, "" if value is None else shown(value), mean)
    show_table(table)
    if found.overlap is not None:
        out.print(f"overlap of forward and backward work: {found.overlap:.3f}", markup=False)


def _show(found: FreeEnergies) -> None:
    table = Table("state", f"lambda: {', '.join(found.names)}", "rows", "independent")
    for column in ("integration, kJ/mol", "MBAR, kJ/mol", "overlap with next"):
        table.add_column(column)
    overlaps = [f"{one:.3f}" for one in found.neighbour_overlaps()]
    for k, lambdas in enumerate(found.lambdas):
        table.add_row(
            str(k),
            ", ".join(f"{one:g}" for one in lambdas),
            str(found.rows[k]),
            str(found.independent[k]),
            "" if found.integration is None else shown(found.integration[k]),
            shown(found.mbar[k]),
            overlaps[k] if k < len(overlaps) else "",
        )
    show_table(table)
    if found.neighbour_overlaps().min() < LEAST_OVERLAP:
        out.print(
            f"neighbours overlap by less than {LEAST_OVERLAP:g}: add states between them",
            markup=False,
        )
