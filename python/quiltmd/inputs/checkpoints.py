# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of this program as coordinates: positions, velocities and box of a State.

The folder of a run stands for its last checkpoint.
"""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import InputError
from ..outputs.checkpoint import MAGIC, read_checkpoint
from ..reading.fixed_width import read_bytes
from ..reading.formats import CoordinateFormat, Coordinates, Expected

_NAME = "checkpoint.qmd"


def find_state(path: str | os.PathLike[str]) -> Path:
    """The file of coordinates that a path stands for: of the folder of a run its checkpoint.

    Raises
    ------
    InputError
        If a folder has none; of a run with stages it names the last one that has.  Where there
        is no such file, but the folder of a run in its place, as for GROMACS' `-c em.gro` after a
        run of em.mdp: it names that.
    """
    folder = Path(path)
    if not folder.is_dir():
        if not folder.exists() and (run := _run_in_place_of(folder)) is not None:
            raise InputError(
                f"no such file, but {run} is the folder of a run: give that for its last positions "
                "and velocities",
                file=path,
            )
        return folder
    if (folder / _NAME).exists():
        return folder / _NAME
    stages = sorted(file.parent for file in folder.glob(f"*/{_NAME}"))
    hint = f"; give the folder of a stage, such as {stages[-1]}" if stages else ""
    raise InputError(f"is a directory without the {_NAME} of a run{hint}", file=path)


def _run_in_place_of(file: Path) -> Path | None:
    """The folder of a run whose last structure a file would be, by its name."""
    stem = file.name.split(".")[0]
    named = (file.parent, file.with_name(f"{stem}-quilt"), file.with_name(stem))
    return next((folder for folder in named if (folder / _NAME).exists()), None)


def is_checkpoint(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a checkpoint, by how it begins."""
    return read_bytes(path, limit=len(MAGIC)) == MAGIC


def _read(file: str, expected: Expected) -> Coordinates:
    state = read_checkpoint(file).state
    return Coordinates(state.positions, state.velocities, state.box if expected.box else None)


CHECKPOINT = CoordinateFormat("checkpoint of quiltmd", lambda head: head.startswith(MAGIC), _read)
