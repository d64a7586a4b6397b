# SPDX-License-Identifier: Apache-2.0
"""Trajectories in DCD, the format of CHARMM and NAMD: fixed-size frames of single precision.

Fixed sizes are why DCD and not the four times smaller XTC: a frame's place follows from its number,
so a restart cuts the file at the checkpoint's frame without reading it, and a kill in the middle of
a write leaves at worst a partial frame at the end, which readers ignore and a restart removes.

Layout (records between 32-bit length marks, little-endian): a header of 84 bytes "CORD" and 20
integers, titles, the number of atoms; then per frame the unit cell (six doubles: a, gamma, b, beta,
alpha, c; angstrom and degrees) and x, y, z in angstrom.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..description.box import lengths_angles
from ..errors import QuiltError
from .files import write_all

_AKMA_TIME = 0.04888821  # ps: the time unit of CHARMM, which DCD headers use
_ANGSTROM = 10.0  # per nm
_TITLE = b"Created by quiltmd".ljust(80)
_HEADER = struct.Struct("<i4s9if10ii")
_TITLES = struct.Struct(f"<2i{len(_TITLE)}si")
_ATOMS = struct.Struct("<3i")
_START = _HEADER.size + _TITLES.size + _ATOMS.size
_FRAMES_AT = 8
_LAST_STEP_AT = 20


class DcdWriter:
    """Appends frames to a DCD file; the file on disk is valid after every frame.

    Parameters
    ----------
    path:
        The file; made anew unless `keep` says otherwise.
    atoms:
        Number of atoms of every frame.
    every:
        Steps between frames; the first frame is of step `every`.
    timestep:
        ps.
    keep:
        None starts a new file; a number opens an existing file and cuts it after that many frames.

    Raises QuiltError where an existing file holds fewer frames or other atoms.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        atoms: int,
        every: int,
        timestep: float,
        keep: int | None = None,
    ) -> None:
        self.path = Path(path)
        self.frames = keep or 0
        self._atoms = atoms
        self._every = every
        self._frame_size = 56 + 3 * (4 * atoms + 8)
        self._file: BinaryIO = open(self.path, "wb" if keep is None else "r+b", buffering=0)
        if keep is None:
            write_all(self._file, _header(atoms, every, timestep))
        else:
            self._cut(keep)

    def write(self, positions: NDArray[np.float64], box: NDArray[np.float64]) -> None:
        """Appends one frame: positions (N, 3) and box (3, 3), nm."""
        lengths, angles = lengths_angles(box)
        a, b, c = lengths * _ANGSTROM
        alpha, beta, gamma = angles
        cell = struct.pack("<i6di", 48, a, gamma, b, beta, alpha, c, 48)
        mark = struct.pack("<i", 4 * self._atoms)
        columns = np.ascontiguousarray(positions.T * _ANGSTROM, dtype="<f4")
        parts = [cell, *(mark + column.tobytes() + mark for column in columns)]
        self._file.seek(_START + self.frames * self._frame_size)
        write_all(self._file, b"".join(parts))
        self.frames += 1
        self._write_counts()

    def sync(self) -> None:
        """Returns when all frames are on the disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _cut(self, keep: int) -> None:
        size = os.fstat(self._file.fileno()).st_size
        head = self._file.read(_START)
        if len(head) < _START or head[4:8] != b"CORD":
            raise QuiltError(f"{self.path}: not a trajectory that this run wrote")
        if _ATOMS.unpack_from(head, _START - _ATOMS.size)[1] != self._atoms:
            raise QuiltError(f"{self.path}: the trajectory has another number of atoms")
        found = (size - _START) // self._frame_size
        if found < keep:
            raise QuiltError(
                f"{self.path}: has {found} frames where the checkpoint expects {keep}; frames were "
                "lost, so the run cannot be carried on"
            )
        self._file.truncate(_START + keep * self._frame_size)
        self._write_counts()

    def _write_counts(self) -> None:
        self._file.seek(_FRAMES_AT)
        write_all(self._file, struct.pack("<i", self.frames))
        self._file.seek(_LAST_STEP_AT)
        write_all(self._file, struct.pack("<i", _int32(self.frames * self._every)))


def _header(atoms: int, every: int, timestep: float) -> bytes:
    step = _int32(every)
    control = [0, step, step, 0, 0, 0, 0, 0, 0]  # frames, first step, stride, last step
    delta = timestep / _AKMA_TIME
    flags = [1, 0, 0, 0, 0, 0, 0, 0, 0, 24]  # with unit cell; as CHARMM version 24
    head = _HEADER.pack(84, b"CORD", *control, delta, *flags, 84)
    size = 4 + len(_TITLE)
    return head + _TITLES.pack(size, 1, _TITLE, size) + _ATOMS.pack(4, atoms, 4)


def _int32(value: int) -> int:
    """DCD's integers have 32 bits; larger step numbers stay at the largest."""
    return min(value, 2**31 - 1)


class MoleculeWrapper:
    """Puts molecules into the cell by their centres, without breaking them.

    Parameters
    ----------
    molecules:
        (N,) molecule of each atom, numbered from 0.
    """

    def __init__(self, molecules: NDArray[np.integer]) -> None:
        self._molecules = molecules
        self._sizes = np.bincount(molecules)[:, None]

    def wrap(self, positions: NDArray[np.float64], box: NDArray[np.float64]) -> NDArray[np.float64]:
        """Positions (N, 3) nm with the centre of each molecule inside the cell."""
        sums = np.stack(
            [np.bincount(self._molecules, weights=positions[:, axis]) for axis in range(3)], axis=1
        )
        cells = np.floor(sums / self._sizes @ np.linalg.inv(box))
        wrapped: NDArray[np.float64] = positions - (cells @ box)[self._molecules]
        return wrapped
