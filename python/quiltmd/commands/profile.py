# SPDX-License-Identifier: Apache-2.0
"""`quiltmd profile`: where the time of a run goes, from a stretch after its last checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..outputs.files import writing
from ..running.folder import Folder
from ..running.profile_run import profile_run
from .options import Settings, with_settings


@with_settings(
    "run.ranks",
    "run.threads",
    "run.device",
    "run.balance",
    "run.transport",
    "run.mesh",
    otherwise="that of the run",
)
def profile(
    settings: Settings,
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    steps: Annotated[
        int | None, typer.Option(min=1, help="Steps to profile. [default: ten pair-list lifetimes]")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder for the results. [default: the folder of the run]"
        ),
    ] = None,
) -> None:
    """Profile steps after the last checkpoint of a run.

    The run is not changed.  Writes timeline.html, a page that loads nothing from the network
    (timeline of all ranks, waits, balance, messages, critical path), timeline.json for
    ui.perfetto.dev, and profile.csv.
    """
    place = Folder(folder.absolute())
    target = place
    if out is not None:
        target = Folder(out.absolute())
        with writing(target.path):
            target.path.mkdir(parents=True, exist_ok=True)
    found = profile_run(place, settings, steps)
    found.show()
    found.write(target, place.path.name)
    print(target.timeline_page)
