# SPDX-License-Identifier: Apache-2.0
"""Trajectories as files that survive a crash and are carried on by a resumed run.

A format says how a frame becomes bytes, what comes before the first frame, and where frames end in
a file that is there already.  All else is the same for every format and happens here: a file grows
by whole frames, so that a kill in the middle of a write leaves at worst a partial frame at the end,
which readers ignore and a resume removes, and its length and a checksum of its end are its place in
a checkpoint.  Libraries encode what is not simple, but none of them writes to the file: they do not
say when their bytes reach the disk, and most can only begin files.
"""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import FormatLimitError, QuiltError, QuiltWarning
from .files import GrowingFile, Mark

_F64 = NDArray[np.float64]
INT32_MAX = 2**31 - 1


@dataclass(frozen=True)
class Snapshot:
    """Data of one step, for the atoms of the file.

    Attributes
    ----------
    step, time:
        Since the start; ps.
    box:
        (3, 3) nm, or None.
    positions, velocities, forces:
        (n, 3) nm, nm/ps, kJ/mol/nm; None where the file has none.
    """

    step: int
    time: float
    box: _F64 | None
    positions: _F64
    velocities: _F64 | None = None
    forces: _F64 | None = None


@dataclass(frozen=True)
class Layout:
    """Common properties of all frames of a file.

    Attributes
    ----------
    atoms:
        Number of atoms.
    every:
        Steps between frames.
    timestep:
        ps.
    velocities, forces:
        Whether frames have them.
    precision:
        Resolution of positions, nm; None: what is usual for the format.
    """

    atoms: int
    every: int
    timestep: float
    velocities: bool = False
    forces: bool = False
    precision: float | None = None


class TrajectoryWriter(Protocol):
    """A file of frames, open for writing."""

    frames: int

    def write(self, snapshot: Snapshot) -> None:
        """Appends a frame."""

    def sync(self) -> None:
        """Returns when all frames are on the disk."""

    def mark(self) -> Mark:
        """Length and checksum of the file now; call `sync` first."""

    def close(self) -> None:
        """Closes the file; one without frames is removed."""


class Format(ABC):
    """Encoder of the frames of one file.

    Attributes
    ----------
    name:
        For messages.
    has:
        Optional contents besides positions.
    head:
        Bytes at the start that change as frames are added; checksums leave them out.
    """

    name: ClassVar[str]
    has: ClassVar[frozenset[str]] = frozenset()
    head: int = 0

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._told_of_times = False

    @classmethod
    def require(cls) -> None:
        """QuiltError, with what to install, where a library that the format needs is missing."""
        return None

    @abstractmethod
    def begin(self, first: Snapshot) -> bytes:
        """The header, which precedes the first frame."""

    @abstractmethod
    def encode(self, snapshot: Snapshot) -> bytes:
        """A frame."""

    @abstractmethod
    def recognise(self, file: GrowingFile) -> None:
        """Raises QuiltError unless a run of this layout wrote the file."""

    @abstractmethod
    def frames(self, file: GrowingFile) -> Iterator[tuple[int, int]]:
        """Step and end, in bytes, of each complete frame in a recognised file."""

    def frames_in(self, length: int) -> int:
        """Frames in the first bytes of a recognised file; where it need not be known, 1."""
        return int(length > 0)

    def count(self, frames: int) -> tuple[int, bytes] | None:
        """Place of the number of frames in the header, and the bytes of this number."""
        return None

    @property
    def interval(self) -> float:
        """Time between frames, ps."""
        return self.layout.every * self.layout.timestep

    def warn_of_times(self, time: float) -> None:
        """QuiltWarning, once, where single precision does not tell the times of frames apart."""
        if not self._told_of_times and not single_precision_tells(time, self.interval):
            self._told_of_times = True
            message = (
                f"{self.name} has times in single precision, which from {time:.6g} ps on does not "
                f"tell frames apart that are {self.interval:g} ps from each other: choose .dcd or "
                ".h5md"
            )
            warnings.warn(QuiltWarning(message), stacklevel=3)


class TrajectoryFile:
    """Appends frames to a file of some format; the file on disk is valid after every frame.

    Parameters
    ----------
    path:
        The file; removed on closing if no frame came.
    form:
        Its format.
    after:
        None starts a new file; a step goes on with an existing one, frames after that step removed.
    mark:
        Mark of the file in the checkpoint at that step; a file that has become
        shorter or has another end is refused.

    Raises
    ------
    QuiltError
        If an existing file lacks frames or belongs to another run.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        form: Format,
        after: int | None = None,
        mark: Mark | None = None,
    ) -> None:
        self.path = Path(path)
        self.frames = 0
        self._form = form
        missing = mark.length == 0 if mark is not None else (after or 0) < form.layout.every
        new = after is None or missing
        self._file = GrowingFile(self.path, new, form.head)
        try:
            if not new and after is not None:
                self._go_on(after, mark)
        except BaseException:
            self._file.close()
            raise

    def write(self, snapshot: Snapshot) -> None:
        """Appends a frame."""
        begin = self._form.begin(snapshot) if self.frames == 0 else b""
        self._file.append(begin + self._form.encode(snapshot))
        self.frames += 1
        if self.frames > 1:
            self._count()

    def sync(self) -> None:
        """Returns when all frames are on the disk; QuiltError if the file was removed."""
        self._file.sync()

    def mark(self) -> Mark:
        """Length and checksum of the file now."""
        return self._file.mark()

    def close(self) -> None:
        """Closes the file; one without frames is removed."""
        self._file.close()

    def _go_on(self, after: int, mark: Mark | None) -> None:
        self._form.recognise(self._file)
        if mark is None:
            self._file.carry_on(self._end_of(after))
        else:
            self._file.carry_on(mark.length, mark.tail)
        self.frames = self._form.frames_in(self._file.length)
        if self.frames:
            self._count()

    def _end_of(self, step: int) -> int:
        """End of the last frame up to `step`; QuiltError if it is missing."""
        every = self._form.layout.every
        last, end, first = None, 0, None
        for found, place in self._form.frames(self._file):
            first = found if first is None else first
            if found > step:
                break
            last, end = found, place
        expected = step - step % every
        if last != expected and expected >= (every if first is None else first):
            raise QuiltError(
                f"{self.path}: the frame of step {expected} is missing; frames were lost, so the "
                "run cannot be continued; put the complete file back"
            )
        return end

    def _count(self) -> None:
        change = self._form.count(self.frames)
        if change is not None:
            self._file.overwrite(*change)


class FixedSizeFormat(Format):
    """A format with a head, and then frames that all have the same number of bytes.

    Attributes
    ----------
    size:
        Bytes of a frame.
    first:
        Step of the first frame, once it is known.
    """

    size: int
    first: int

    def frames(self, file: GrowingFile) -> Iterator[tuple[int, int]]:
        """Steps and ends of frames; a file's places follow from their numbers alone."""
        for number in range(max(0, file.size() - self.head) // self.size):
            yield self.first + number * self.layout.every, self.length(number + 1)

    def frames_in(self, length: int) -> int:
        """Frames in the first bytes of a file."""
        return max(0, length - self.head) // self.size

    def length(self, frames: int) -> int:
        """Bytes of a file with this number of frames."""
        return self.head + frames * self.size if frames else 0


def foreign(file: GrowingFile) -> QuiltError:
    """The error for a file of another kind."""
    return QuiltError(f"{file.path}: not a trajectory that this run wrote")


def other_atoms(file: GrowingFile) -> QuiltError:
    """The error for a file of other atoms."""
    return QuiltError(f"{file.path}: the trajectory has another number of atoms")


def refuse_beyond(limit: int, found: int, words: str, instead: str = ".h5md") -> None:
    """FormatLimitError where a file has no room for a number.

    `words` say what has how much room, with {limit} and {found} in place of the numbers.
    """
    if found > limit:
        told = words.format(limit=f"{limit:,}", found=f"{found:,}")
        raise FormatLimitError(f"{told}: choose another format ({instead})")


def single_precision_tells(time: float, interval: float) -> bool:
    """Whether single precision tells times so far from each other apart."""
    return bool(np.spacing(np.float32(time)) <= 0.5 * interval)
