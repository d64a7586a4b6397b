# SPDX-License-Identifier: Apache-2.0
"""Frames of a trajectory of any format that MDAnalysis reads, an optional dependency."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..errors import InputError, QuiltError
from .frames_process import receive


@dataclass(frozen=True)
class TrajectoryFrame:
    """A frame: time, ps; positions (N, 3), nm; box (3, 3), nm, or None where the file has none."""

    time: float
    positions: npt.NDArray[np.float64]
    box: npt.NDArray[np.float64] | None


def read_frames(
    path: str | os.PathLike[str], atoms: int, every: int = 1
) -> Iterator[TrajectoryFrame]:
    """The frames of a trajectory (DCD, XTC, TRR, NetCDF, H5MD and others), one after the other.

    Parameters
    ----------
    path:
        The file; its suffix names the format.
    atoms:
        Number of atoms that it must have.
    every:
        Takes each so many-th frame, from the first on.

    Raises
    ------
    InputError
        Where the file cannot be read, or has another number of atoms.
    QuiltError
        Where MDAnalysis is not installed.
    """
    if find_spec("MDAnalysis") is None:
        raise QuiltError(
            "reading trajectories needs MDAnalysis: pip install 'quiltmd[trajectories]'"
        )
    file = os.fspath(path)
    if not Path(path).exists():
        raise InputError("no such file", file=file)
    module = "quiltmd.inputs.frames_process"
    process = subprocess.Popen(
        [sys.executable, "-m", module, file, str(atoms), str(every)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        for frame in receive(process.stdout, atoms):
            yield TrajectoryFrame(*frame)
    except EOFError:
        how = _end(process.wait())
        raise InputError(
            f"the reader of this format {how}: the file is damaged", file=file
        ) from None
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _end(code: int) -> str:
    with suppress(ValueError):
        return f"crashed on it ({signal.Signals(-code).name})"
    return f"failed on it (exit status {code})"
