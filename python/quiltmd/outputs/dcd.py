# SPDX-License-Identifier: Apache-2.0
"""DCD, the format of CHARMM and NAMD: fixed-size frames of positions in single precision.

The header comes with the first frame, whose step it names; no program opens a file without frames.
Times follow from the header alone, whose numbers have 32 bits.  Where steps are too large for that,
the header counts in units of as many steps as all frames are multiples of, usually the interval of
the trajectory, and its time step is that of such a unit: times are then right as before.

Layout (records between 32-bit length marks, little-endian): a header of 84 bytes "CORD" and 20
integers, titles, the number of atoms; then per frame the unit cell (six doubles: a, gamma, b, beta,
alpha, c; angstrom and degrees) and x, y, z in angstrom.
"""

from __future__ import annotations

import math
import os
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..description.box import lengths_angles
from ..description.checks import real_number
from ..errors import QuiltError
from .files import GrowingFile, Mark
from .trajectory import (
    FixedSizeFormat,
    Layout,
    Snapshot,
    TrajectoryFile,
    foreign,
    other_atoms,
    refuse_beyond,
)

_AKMA_TIME = 0.04888821  # ps: the time unit of CHARMM, which DCD headers use
_ANGSTROM = 10.0  # per nm
_TITLE = b"Created by quiltmd".ljust(80)
_HEADER = struct.Struct("<i4s9if10ii")
_TITLES = struct.Struct(f"<2i{len(_TITLE)}si")
_ATOMS = struct.Struct("<3i")
_START = _HEADER.size + _TITLES.size + _ATOMS.size
# Frames, step of the first, stride, step of the last, five zeros, time step.
_COUNTS = struct.Struct("<9if")
_COUNTS_AT = 8
_LARGEST = 2**31 - 1
_MOST_ATOMS = _LARGEST // 4  # a record of four bytes for each names its length


class DcdFormat(FixedSizeFormat):
    """Positions and cell; steps and times follow from the header."""

    name = "DCD"
    head = _START

    def __init__(self, layout: Layout) -> None:
        super().__init__(layout)
        refuse_beyond(_MOST_ATOMS, layout.atoms, "DCD has room for {limit} atoms, not for {found}")
        self.size = 56 + 3 * (4 * layout.atoms + 8)
        self.first = layout.every

    def begin(self, first: Snapshot) -> bytes:
        """The header."""
        self.first = first.step
        flags = [1, 0, 0, 0, 0, 0, 0, 0, 0, 24]  # with unit cell; as CHARMM version 24
        head = _HEADER.pack(84, b"CORD", *_COUNTS.unpack(self._counts(1)), *flags, 84)
        size = 4 + len(_TITLE)
        atoms = _ATOMS.pack(4, self.layout.atoms, 4)
        return head + _TITLES.pack(size, 1, _TITLE, size) + atoms

    def encode(self, snapshot: Snapshot) -> bytes:
        """Cell, x, y and z."""
        lengths, angles = lengths_angles(snapshot.box)
        a, b, c = lengths * _ANGSTROM
        alpha, beta, gamma = angles
        cell = struct.pack("<i6di", 48, a, gamma, b, beta, alpha, c, 48)
        mark = struct.pack("<i", 4 * self.layout.atoms)
        columns = np.ascontiguousarray(snapshot.positions.T * _ANGSTROM, dtype="<f4")
        return b"".join([cell, *(mark + column.tobytes() + mark for column in columns)])

    def recognise(self, file: GrowingFile) -> None:
        """Looks at the header, and learns the first step from it."""
        head = file.read(0, _START)
        if len(head) < _START or head[4:8] != b"CORD":
            raise foreign(file)
        if _ATOMS.unpack_from(head, _START - _ATOMS.size)[1] != self.layout.atoms:
            raise other_atoms(file)
        _, first, stride, _, *_, delta = _COUNTS.unpack_from(head, _COUNTS_AT)
        every = self.layout.every
        unit = 1
        if stride > 0 and stride != every:
            unit = max(1, round(delta * _AKMA_TIME / self.layout.timestep))
            if math.isclose(unit * stride, every, rel_tol=1e-6) and every % stride == 0:
                unit = every // stride  # single precision lacks digits of large units
        if stride * unit != every:
            raise QuiltError(
                f"{file.path}: has frames every {stride * unit} steps, not every {every}; the "
                "interval of a trajectory cannot change"
            )
        self.first = first * unit

    def count(self, frames: int) -> tuple[int, bytes]:
        """The header's numbers of frames and steps."""
        return _COUNTS_AT, self._counts(frames)

    def _counts(self, frames: int) -> bytes:
        every = self.layout.every
        steps = (self.first, every, self.first + (frames - 1) * every)
        unit = 1 if max(steps) <= _LARGEST else math.gcd(self.first, every)
        numbers = [frames, *(step // unit for step in steps)]
        refuse_beyond(_LARGEST, max(numbers), "DCD has room for numbers up to {limit}, not {found}")
        return _COUNTS.pack(*numbers, 0, 0, 0, 0, 0, unit * self.layout.timestep / _AKMA_TIME)


class DcdWriter:
    """Appends frames to a DCD file; the file on disk is valid after every frame.

    Parameters
    ----------
    path:
        The file; a new file unless `keep` is given, removed on closing if it has no frames.
    atoms:
        Number of atoms of every frame.
    every:
        Steps between frames.
    timestep:
        ps.
    keep:
        None: start a new file; a number: open an existing file and truncate it after this number of
        frames.
    tail:
        Expected checksum of the end of the kept part, from `mark`.
    first:
        Step of the first frame of a new file; by default `every`.

    Raises
    ------
    QuiltError
        If an existing file holds fewer frames or belongs to another run.
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
        self.first = every if first is None else first
        self._every, self._timestep = every, real_number("timestep", timestep, "ps")
        form = DcdFormat(Layout(atoms, every, self._timestep))
        mark = Mark(form.length(keep), tail) if keep else None
        self._file = TrajectoryFile(path, form, keep or None, mark)

    @property
    def frames(self) -> int:
        """Frames in the file."""
        return self._file.frames

    def write(self, positions: NDArray[np.float64], box: NDArray[np.float64] | None) -> None:
        """Appends one frame: positions (N, 3) and box (3, 3), nm, or none."""
        step = self.first + self.frames * self._every
        self._file.write(Snapshot(step, step * self._timestep, box, positions))

    def sync(self) -> None:
        """Returns when all frames are on the disk."""
        self._file.sync()

    def mark(self) -> Mark:
        """Length and checksum of the file now."""
        return self._file.mark()

    def close(self) -> None:
        """Closes the file."""
        self._file.close()
