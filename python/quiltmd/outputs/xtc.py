# SPDX-License-Identifier: Apache-2.0
"""XTC, GROMACS's compressed format: positions rounded to 0.001 nm, or to what is asked for.

MDAnalysis encodes frames (mdtraj's and chemfiles' writers have a fixed precision), each into a file
in memory from where its bytes are appended: its writer can only begin files.  A frame's size varies
with its content, so that a file that no mark tells of is read frame by frame, heads only.

Layout of a frame (XDR, big-endian): 1995 (2023 beyond 2^28 atoms), atoms, step, time, box, atoms;
then positions as they are for up to 9 atoms, else precision, bounds and the compressed bytes.

Of a step the format has the lower 32 bits, which GROMACS and we write; the time is what readers go
by, and which of the steps with these bits it was.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import QuiltError
from .files import GrowingFile
from .trajectory import (
    Format,
    Layout,
    Snapshot,
    foreign,
    other_atoms,
    refuse_beyond,
)

_HEAD = struct.Struct(">3if9fi")  # magic, atoms, step, time, box, atoms
_PACKED = struct.Struct(">f7i")  # precision, bounds, and the size of the smallest integers
_MAGIC = {1995: struct.Struct(">i"), 2023: struct.Struct(">q")}  # the type of a number of bytes
_PLAIN = 9  # atoms up to which positions are not compressed
_PRECISION = 0.001  # nm
_MOST_ATOMS = 298_261_617  # beyond, GROMACS has another version of the format
_STEPS = 2**32  # as many have numbers of their own


class XtcFormat(Format):
    """Positions, box, step and time."""

    name = "XTC"

    def __init__(self, layout: Layout) -> None:
        super().__init__(layout)
        refuse_beyond(_MOST_ATOMS, layout.atoms, "XTC has room for {limit} atoms, not for {found}")
        self._writer = _encoder()
        self._scale = 1.0 / (layout.precision or _PRECISION)

    @classmethod
    def require(cls) -> None:
        """QuiltError if MDAnalysis is missing."""
        _encoder()

    def begin(self, first: Snapshot) -> bytes:
        """Nothing: a file is frames alone."""
        return b""

    def encode(self, snapshot: Snapshot) -> bytes:
        """A frame."""
        self.warn_of_times(snapshot.time)
        handle = os.memfd_create("xtc", os.MFD_CLOEXEC)
        try:
            path = f"/proc/self/fd/{handle}"
            with self._writer(path, "w") as file:
                file.write(
                    snapshot.positions.astype(np.float32),
                    np.zeros((3, 3), np.float32)
                    if snapshot.box is None
                    else snapshot.box.astype(np.float32),
                    _nearest(snapshot.step, 0),
                    snapshot.time,
                    self._scale,
                )
            return os.pread(handle, os.fstat(handle).st_size, 0)
        except OSError as error:
            raise QuiltError(
                f"the positions of step {snapshot.step} do not fit into XTC at a precision of "
                f"{1 / self._scale:g} nm ({error})"
            ) from None
        finally:
            os.close(handle)

    def recognise(self, file: GrowingFile) -> None:
        """Looks at the first frame."""
        head = file.read(0, _HEAD.size)
        if len(head) < _HEAD.size or _HEAD.unpack(head)[0] not in _MAGIC:
            raise foreign(file)
        if _HEAD.unpack(head)[1] != self.layout.atoms:
            raise other_atoms(file)

    def frames(self, file: GrowingFile) -> Iterator[tuple[int, int]]:
        """Steps and ends of frames, found from head to head."""
        place, size, step = 0, file.size(), None
        while (found := self._frame(file, place)) is not None and found[2] <= size:
            bits, time, place = found
            expected = time / self.layout.timestep if step is None else step + self.layout.every
            step = _nearest(bits, round(expected))
            yield step, place

    def _frame(self, file: GrowingFile, place: int) -> tuple[int, float, int] | None:
        """Step, time and end of a frame; None if its header is incomplete."""
        head = file.read(place, _HEAD.size)
        if len(head) < _HEAD.size:
            return None
        magic, atoms, step, time, *_ = _HEAD.unpack(head)
        if magic not in _MAGIC or atoms != self.layout.atoms:
            return None
        body = place + _HEAD.size
        if atoms <= _PLAIN:
            return step, time, body + 12 * atoms
        count = _MAGIC[magic]
        data = file.read(body + _PACKED.size, count.size)
        if len(data) < count.size:
            return None
        packed = count.unpack(data)[0]
        return step, time, body + _PACKED.size + count.size + packed + -packed % 4


def _nearest(step: int, near: int) -> int:
    """The number with the lower 32 bits of a step that is nearest to another number."""
    half = _STEPS // 2
    return near + (step - near + half) % _STEPS - half


def _encoder() -> Any:
    try:
        from MDAnalysis.lib.formats.libmdaxdr import XTCFile
    except ImportError:
        raise QuiltError(
            "XTC files need MDAnalysis: pip install 'quiltmd[trajectories]', or choose another "
            "format (.dcd, .nc)"
        ) from None
    return XTCFile
