# SPDX-License-Identifier: Apache-2.0
"""Frames of trajectories of formats that MDAnalysis reads, an optional dependency.

One frame may be the coordinates that a simulation starts from.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from ..errors import InputError, QuiltError
from .formats import CoordinateFormat, Coordinates, Expected
from .frames_process import receive, receive_count


@dataclass(frozen=True)
class TrajectoryFrame:
    """A frame: time, ps; positions (N, 3), nm; box (3, 3), nm, and velocities (N, 3), nm/ps.

    Box and velocities are None where the file has none.
    """

    time: float
    positions: npt.NDArray[np.float64]
    box: npt.NDArray[np.float64] | None
    velocities: npt.NDArray[np.float64] | None = None


def read_frames(
    path: str | os.PathLike[str], atoms: int, every: int = 1, *, box: bool = True
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
    box:
        Whether boxes are read; without, frames have none.

    Raises
    ------
    InputError
        Where the file cannot be read, or has another number of atoms.
    QuiltError
        Where MDAnalysis is not installed.
    """
    file = os.fspath(path)
    with _reading(file, str(atoms), str(every), str(int(box))) as stream:
        for frame in receive(stream, atoms):
            yield TrajectoryFrame(*frame)


@contextmanager
def _reading(file: str, *asked: str) -> Iterator[IO[bytes]]:
    """What a process sends that reads the file; see frames_process."""
    if find_spec("MDAnalysis") is None:
        raise QuiltError(
            "reading trajectories needs MDAnalysis: pip install 'quiltmd[trajectories]'"
        )
    if not Path(file).exists():
        raise InputError("no such file", file=file)
    process = subprocess.Popen(
        [sys.executable, "-m", "quiltmd.inputs.frames_process", file, *asked],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        yield process.stdout
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


# The first four bytes of XTC (two versions) and TRR; in DCD a word goes before its name.
_XDR = tuple(number.to_bytes(4, "big") for number in (1995, 2023, 1993))


def _is_trajectory(head: bytes) -> bool:
    is_h5md = head.startswith(b"\x89HDF") and b"h5md" in head
    return is_h5md or head.startswith(_XDR) or head[4:8] == b"CORD"


def _read(path: str, expected: Expected) -> Coordinates:
    number = expected.frame
    if number < 0:
        number += _count(path)
    frames = read_frames(path, expected.atoms, box=expected.box)
    found = next(islice(frames, max(number, 0), None), None)
    if number < 0 or found is None:
        message = f"frame {expected.frame} is asked for, but there are {_count(path)}"
        raise InputError(message, file=path)
    if found.velocities is not None and not np.isfinite(found.velocities).all():
        atom = int(np.argmin(np.isfinite(found.velocities).all(axis=1)))
        raise InputError("velocities are not finite numbers", file=path, atom=atom)
    return Coordinates(found.positions, found.velocities, found.box)


def _count(path: str) -> int:
    with _reading(path, "count") as stream:
        return receive_count(stream)


TRAJECTORY = CoordinateFormat("XTC, TRR, DCD or H5MD trajectory", _is_trajectory, _read, _count)
