# SPDX-License-Identifier: Apache-2.0
"""Moves a running simulation to another device on request: `quiltmd migrate`.

The request is a file in the folder of the run, which the run looks for between two pieces.  A
signal could not say where to, and a socket would need a name that both know.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from ..engine.execution import Execution
from ..engine.places import device_in_words
from ..errors import QuiltError
from ..outputs.files import read_file, replace_file
from .folder import Folder
from .progress import say, warn
from .simulation import Simulation

_NAME = "migrate-to"


class MigrationRequest:
    """A request to move the run in a folder to another device; an older one is deleted first."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _NAME
        with suppress(FileNotFoundError):
            self._path.unlink()

    def is_pending(self) -> bool:
        """Whether there is one."""
        return self._path.exists()

    def carry_out(self, simulation: Simulation) -> None:
        """Moves the simulation if that is requested, or tells why it stays."""
        if not self.is_pending():
            return
        device = read_file(self._path).decode("utf-8", "replace").strip()
        self._path.unlink()
        before = device_in_words(simulation.device)
        try:
            simulation.migrate(device)
        except QuiltError as error:
            warn(f"step {simulation.step}: the run stays on {before}: {error}")
        else:
            after = device_in_words(simulation.device)
            say(f"step {simulation.step}: migrated from {before} to {after}")


def ask_to_migrate(folder: Path, device: str) -> None:
    """Leaves a request; QuiltError if no single run is going on in that folder."""
    Execution(device)
    if not folder.is_dir() or not _is_in_use(folder):
        raise QuiltError(
            f"{folder}: nothing is running there; a run that has stopped is continued by "
            f"'quiltmd run --resume {folder} --device {device}'"
        )
    Folder(folder).settings_of_run()
    replace_file(folder / _NAME, f"{device}\n".encode())


def _is_in_use(folder: Path) -> bool:
    """Whether a run has locked its folder."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False
