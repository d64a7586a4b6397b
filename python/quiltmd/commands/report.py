# SPDX-License-Identifier: Apache-2.0
"""`quiltmd report`: a run on one page, to look at, to keep, and to send to others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..outputs.files import replace_file
from ..running.folder import Folder
from .exchange_page import make_exchange_report
from .run_page import make_report
from .stages_page import make_stages_report


def report(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File to write. [default: report.html in the folder]"),
    ] = None,
) -> None:
    """Write one HTML page about a run: energies, speed, settings.

    The page also shows temperature, pressure and RMSD.  For a run with stages it shows all stages;
    for the folder of one stage, that stage.  For a replica exchange it shows states, swaps and
    round trips.  The page is one file that loads nothing from the network.
    """
    place = Folder(folder.absolute())
    path = place.report if out is None else out
    replace_file(path, _make(place).encode(errors="xmlcharrefreplace"))
    print(path)


def _make(place: Folder) -> str:
    """The page of what is in a folder."""
    settings = place.settings()
    if "exchange" in settings:
        return make_exchange_report(place)
    return make_stages_report(place) if "stage" in settings else make_report(place)
