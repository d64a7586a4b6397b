# SPDX-License-Identifier: Apache-2.0
"""Frames of trajectories of formats that MDAnalysis reads, an optional dependency.

One frame may be the coordinates that a simulation starts from.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..errors import InputError, QuiltError
from ..reading.formats import CoordinateFormat, Coordinates, Expected
from ..starting import Starting
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
        Interval of frames, from the first on.
    box:
        Whether boxes are read; without, frames have none.

    Raises
    ------
    InputError
        If the file cannot be read, or has another number of atoms.
    QuiltError
        If MDAnalysis is not installed.
    """
    file = os.fspath(path)
    with Starting() as starting:
        reader = _start_reader(file, (str(atoms), str(every), str(int(box))), starting)
        assert reader.stdout is not None
        try:
            for frame in receive(reader.stdout, atoms):
                yield TrajectoryFrame(*frame)
        except EOFError:
            raise _damage(file, reader) from None


def _start_reader(file: str, asked: Sequence[str], starting: Starting) -> subprocess.Popen[bytes]:
    """A process that reads the file, and ends with `starting`; see frames_process."""
    if not Path(file).exists():
        raise InputError("no such file", file=file)
    if find_spec("MDAnalysis") is None:
        raise QuiltError(
            "reading trajectories needs MDAnalysis: pip install 'quiltmd[trajectories]'"
        )
    return starting.start(partial(_reader, file, asked), _end)


def _reader(file: str, asked: Sequence[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "quiltmd.inputs.frames_process", file, *asked],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _end(reader: subprocess.Popen[bytes]) -> None:
    reader.kill()
    reader.communicate()


def _damage(file: str, reader: subprocess.Popen[bytes]) -> InputError:
    """Message of a reader that ended early."""
    how = _how_ended(reader.wait())
    return InputError(f"the reader of this format {how}: the file is damaged", file=file)


def _how_ended(code: int) -> str:
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
    with Starting() as starting:
        reader = _start_reader(path, ["count"], starting)
        assert reader.stdout is not None
        try:
            return receive_count(reader.stdout)
        except EOFError:
            raise _damage(path, reader) from None


TRAJECTORY = CoordinateFormat("XTC, TRR, DCD or H5MD trajectory", _is_trajectory, _read, _count)
