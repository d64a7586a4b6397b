# SPDX-License-Identifier: Apache-2.0
"""A run goes on on another device because somebody wants it to: `quiltmd migrate`.

The wish is a file in the folder of the run, which the run looks for between two pieces.  A signal
could not say where to, and a socket would need a name that both know.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from ..engine.execution import Execution
from ..errors import QuiltError
from ..outputs.files import read_file, replace_file, writing
from .progress import say, warn
from .simulation import Simulation

_NAME = "migrate-to"


class Wish:
    """That the run in a folder goes on elsewhere; one from an earlier run is dropped."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _NAME
        with suppress(FileNotFoundError):
            self._path.unlink()

    def is_there(self) -> bool:
        """Whether somebody wants it."""
        return self._path.exists()

    def fulfil(self, simulation: Simulation) -> None:
        """Has the simulation go on where it is wanted, or tells why not."""
        if not self.is_there():
            return
        device = read_file(self._path).decode("utf-8", "replace").strip()
        self._path.unlink()
        before = simulation.device
        try:
            simulation.migrate(device)
        except QuiltError as error:
            warn(f"step {simulation.step}: the run stays on {before}: {error}")
        else:
            say(f"step {simulation.step}: migrated from {before} to {simulation.device}")


def ask_to_migrate(folder: Path, device: str) -> None:
    """Leaves the wish; QuiltError where no run goes on in that folder."""
    Execution(device)
    if not folder.is_dir() or not _is_in_use(folder):
        raise QuiltError(
            f"{folder}: no run goes on there; 'quiltmd run --resume {folder} --device {device}' "
            "carries one on that has stopped"
        )
    with writing(folder / _NAME):
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
