# SPDX-License-Identifier: Apache-2.0
"""Trajectories in DCD, the format of CHARMM and NAMD: fixed-size frames of single precision.

Fixed sizes are why DCD and not the four times smaller XTC: a frame's place follows from its number,
so a restart cuts the file at the checkpoint's frame without reading it, and a kill in the middle of
a write leaves at worst a partial frame at the end, which readers ignore and a restart removes.  The
header comes with the first frame, whose step it names; no program opens a file without frames.

Layout (records between 32-bit length marks, little-endian): a header of 84 bytes "CORD" and 20
integers, titles, the number of atoms; then per frame the unit cell (six doubles: a, gamma, b, beta,
alpha, c; angstrom and degrees) and x, y, z in angstrom.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..description.box import lengths_angles
from ..errors import QuiltError
from .files import GrowingFile, Mark, read_file

_AKMA_TIME = 0.04888821  # ps: the time unit of CHARMM, which DCD headers use
_ANGSTROM = 10.0  # per nm
_TITLE = b"Created by quiltmd".ljust(80)
_HEADER = struct.Struct("<i4s9if10ii")
_TITLES = struct.Struct(f"<2i{len(_TITLE)}si")
_ATOMS = struct.Struct("<3i")
_START = _HEADER.size + _TITLES.size + _ATOMS.size
_COUNTS = struct.Struct("<4i")  # frames, step of the first, stride, step of the last
_COUNTS_AT = 8
_INT32_MAX = 2**31 - 1


class DcdWriter:
    """Appends frames to a DCD file; the file on disk is valid after every frame.

    Parameters
    ----------
    path:
        The file; made anew unless `keep` says otherwise, and removed on closing if no frame came.
    atoms:
        Number of atoms of every frame.
    every:
        Steps between frames.
    timestep:
        ps.
    keep:
        None starts a new file; a number opens an existing file and cuts it after that many frames.
    tail:
        Checksum that the end of what is kept must have, as `mark` gives it.
    first:
        Step of the first frame of a new file; by default `every`.

    Raises QuiltError where an existing file holds fewer frames or is of another run.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        atoms: int,
        every: int,
        timestep: float,
        keep: int | None = None,
        tail: str | None = None,
        first: int | None = None,
    ) -> None:
        self.path = Path(path)
        self.frames = keep or 0
        self.first = every if first is None else first
        self._atoms, self._every, self._timestep = atoms, every, timestep
        self._frame_size = dcd_frame_size(atoms)
        self._file = GrowingFile(self.path, new=not self.frames, head=_START)
        if self.frames:
            try:
                self._cut(tail)
            except BaseException:
                self._file.close()
                raise

    def write(self, positions: NDArray[np.float64], box: NDArray[np.float64]) -> None:
        """Appends one frame: positions (N, 3) and box (3, 3), nm."""
        lengths, angles = lengths_angles(box)
        a, b, c = lengths * _ANGSTROM
        alpha, beta, gamma = angles
        cell = struct.pack("<i6di", 48, a, gamma, b, beta, alpha, c, 48)
        mark = struct.pack("<i", 4 * self._atoms)
        columns = np.ascontiguousarray(positions.T * _ANGSTROM, dtype="<f4")
        parts = [cell, *(mark + column.tobytes() + mark for column in columns)]
        if self.frames == 0:
            parts.insert(0, self._header(frames=1))
        self._file.append(b"".join(parts))
        self.frames += 1
        if self.frames > 1:
            self._file.overwrite(_COUNTS_AT, self._counts(self.frames))

    def sync(self) -> None:
        """Returns when all frames are on the disk."""
        self._file.sync()

    def mark(self) -> Mark:
        """How far the file is now."""
        return self._file.mark()

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _cut(self, tail: str | None) -> None:
        head = self._file.read(0, _START)
        if len(head) < _START or head[4:8] != b"CORD":
            raise QuiltError(f"{self.path}: not a trajectory that this run wrote")
        if _ATOMS.unpack_from(head, _START - _ATOMS.size)[1] != self._atoms:
            raise QuiltError(f"{self.path}: the trajectory has another number of atoms")
        _, self.first, stride, _ = _COUNTS.unpack_from(head, _COUNTS_AT)
        if stride != _int32(self._every):
            raise QuiltError(
                f"{self.path}: has frames every {stride} steps, not every {self._every}; the "
                "interval of a trajectory cannot change"
            )
        found = (self._file.size() - _START) // self._frame_size
        if found < self.frames:
            raise QuiltError(
                f"{self.path}: has {found} frames where the checkpoint expects {self.frames}; "
                "frames were lost, so the run cannot be carried on; put the complete file back"
            )
        self._file.carry_on(_START + self.frames * self._frame_size, tail)
        self._file.overwrite(_COUNTS_AT, self._counts(self.frames))

    def _counts(self, frames: int) -> bytes:
        """What the header says of frames and steps; none of its integers has more than 32 bits."""
        last = self.first + (frames - 1) * self._every
        return _COUNTS.pack(frames, *map(_int32, (self.first, self._every, last)))

    def _header(self, frames: int) -> bytes:
        delta = self._timestep / _AKMA_TIME
        flags = [1, 0, 0, 0, 0, 0, 0, 0, 0, 24]  # with unit cell; as CHARMM version 24
        counts = _COUNTS.unpack(self._counts(frames))
        head = _HEADER.pack(84, b"CORD", *counts, 0, 0, 0, 0, 0, delta, *flags, 84)
        size = 4 + len(_TITLE)
        atoms = _ATOMS.pack(4, self._atoms, 4)
        return head + _TITLES.pack(size, 1, _TITLE, size) + atoms


def dcd_frame_size(atoms: int) -> int:
    """Bytes of a frame."""
    return 56 + 3 * (4 * atoms + 8)


def dcd_frames(length: int, atoms: int) -> int:
    """Frames in a file of that many bytes."""
    return max(0, length - _START) // dcd_frame_size(atoms)


def dcd_first_step(path: str | os.PathLike[str]) -> int | None:
    """The step of the first frame; None where there is no DCD file, or that step is too large."""
    try:
        head = read_file(path, _START)
    except FileNotFoundError:
        return None
    if len(head) < _START or head[4:8] != b"CORD":
        return None
    first: int = _COUNTS.unpack_from(head, _COUNTS_AT)[1]
    return first if first < _INT32_MAX else None


def _int32(value: int) -> int:
    """DCD's integers have 32 bits; larger step numbers stay at the largest."""
    return min(value, _INT32_MAX)


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
