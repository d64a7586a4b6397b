# SPDX-License-Identifier: Apache-2.0
"""`quiltmd migrate`: moves a running simulation to another device, without a stop."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..running.migration import ask_to_migrate
from ..running.progress import say


def migrate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a running simulation.")],
    to: Annotated[
        str,
        typer.Option(metavar="DEVICE", help="Device to move to, named as for quiltmd run."),
    ],
) -> None:
    """Move a running simulation to another device.

    The simulation moves within about a second and reports it on its own terminal; if the device
    cannot be used, the simulation stays where it is.  On a device of the same kind the results are
    bitwise the same.  To move a replica exchange, stop it and resume it with other --devices.
    """
    ask_to_migrate(run, to)
    say(f"{run}: asked to move to {to}")
