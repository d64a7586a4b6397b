# SPDX-License-Identifier: Apache-2.0
"""`quiltmd report`: a run on one page, to look at, to keep, and to send to others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..outputs.files import replace_file
from ..running.folder import Folder
from ..running.stages import has_stages
from .run_page import make_report
from .stages_page import make_stages_report


def report(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="[default: report.html in the folder]")
    ] = None,
) -> None:
    """A run as one HTML page: energies, temperature, pressure, RMSD, speed, settings.

    Of a run with stages, all of them one after another; the folder of a stage has a report of its
    own.  The page stands alone: nothing is fetched when it is opened.
    """
    place = Folder(folder.absolute())
    path = place.report if out is None else out
    make = make_stages_report if has_stages(place.path) else make_report
    replace_file(path, make(place).encode(errors="xmlcharrefreplace"))
    print(path)
