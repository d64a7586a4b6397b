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
from .alchemy_page import PAGE, make_page, shown
from .options import AsJson
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
            metavar="RUN...", help="Folders of the runs of all states, or of a replica exchange."
        ),
    ],
    discard: Annotated[
        float, typer.Option(help="Fraction of the rows of each state to discard at the beginning.")
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
    """
    found = free_energies(folders, discard)
    path = folders[0] / PAGE if page is None else page
    with writing(path):
        replace_file(path, make_page(found, folders, discard).encode())
    if as_json:
        print(json.dumps(found.summary()))
    else:
        _show(found)
    say(f"a page is in {path}")


def _show(found: FreeEnergies) -> None:
    table = Table("state", "lambda", "rows", "independent", "integration", "MBAR", "overlap")
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
