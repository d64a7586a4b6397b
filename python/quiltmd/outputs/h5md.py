# SPDX-License-Identifier: Apache-2.0
"""H5MD: positions, velocities and forces in double precision, box, step and time.

An HDF5 file usually keeps its index between its data, so a kill can leave one that does not open.
Here all that HDF5 needs is a head of fixed size, and frames follow it, one after the other, as rows
of one dataset, `/parameters/frames`.  What H5MD asks for are virtual datasets: columns of these
rows.  h5py writes the head for a number of frames, into a sparse file of which nothing else is
kept, so a file grows as those of other formats do.

Source: de Buyl, Colberg and Hoefling, Comput. Phys. Commun. 185, 1546 (2014); H5MD 1.1.
"""

from __future__ import annotations

import math
import struct
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import QuiltError
from ..version import package_version
from .files import GrowingFile
from .trajectory import FixedSizeFormat, Layout, Snapshot, foreign, other_atoms

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_METADATA = 8192  # bytes, of which all datasets and groups take half
_ROWS = b"parameters/frames"
_WORD = 8  # bytes; all numbers of a row are doubles, which hold steps up to 2^53
_BEFORE = struct.Struct("<3d")  # step, time, words of a row
_EDGES = 9
_LAST_STEP = 2**53
_UNITS = {"position": "nm", "velocity": "nm ps-1", "force": "kJ mol-1 nm-1"}


class H5mdFormat(FixedSizeFormat):
    """Positions, box, step and time; velocities and forces where asked for."""

    name = "H5MD"
    has = frozenset({"velocities", "forces"})

    def __init__(self, layout: Layout) -> None:
        super().__init__(layout)
        asked = {"position": True, "velocity": layout.velocities, "force": layout.forces}
        self._elements = [name for name, wanted in asked.items() if wanted]
        self._words = _BEFORE.size // _WORD + _EDGES + 3 * layout.atoms * len(self._elements)
        self._periodic = True
        self.size = _WORD * self._words
        self.head = 0
        self.head = len(self._made(1))
        self.first = layout.every

    @classmethod
    def require(cls) -> None:
        """QuiltError if h5py is missing."""
        _h5py()

    def begin(self, first: Snapshot) -> bytes:
        """The head of a file with one frame."""
        self.first = first.step
        self._periodic = first.box is not None
        return self._made(1)

    def encode(self, snapshot: Snapshot) -> bytes:
        """A row."""
        if snapshot.step > _LAST_STEP:
            raise QuiltError(
                f"H5MD has steps up to {_LAST_STEP:,}, as doubles hold them, not {snapshot.step:,}"
            )
        edges = np.zeros((3, 3)) if snapshot.box is None else snapshot.box
        of_atoms = (snapshot.positions, snapshot.velocities, snapshot.forces)
        arrays = [edges, *(values for values in of_atoms if values is not None)]
        numbers = np.concatenate([values.ravel() for values in arrays])
        before = _BEFORE.pack(snapshot.step, snapshot.time, self._words)
        return before + numbers.astype("<f8").tobytes()

    def recognise(self, file: GrowingFile) -> None:
        """Looks at the signature and at the first frame."""
        row = file.read(self.head, _BEFORE.size + _WORD * _EDGES)
        if file.read(0, len(_SIGNATURE)) != _SIGNATURE or len(row) < _BEFORE.size:
            raise foreign(file)
        step, _, words = _BEFORE.unpack_from(row)
        if words != self._words:
            raise other_atoms(file)
        self.first = round(step)
        self._periodic = any(row[_BEFORE.size :])

    def count(self, frames: int) -> tuple[int, bytes]:
        """The whole head: numbers of rows are in several places."""
        return 0, self._made(frames)

    def _made(self, frames: int) -> bytes:
        """The head of a file with this number of frames."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "head.h5"
            head = _Head(path, frames, self._words)
            self._describe(head)
            length = head.close()
            with path.open("rb") as made:
                found = made.read(length)
        assert self.head in (0, length), "the head of an H5MD file has another size"
        return found

    def _describe(self, head: _Head) -> None:
        head.group("h5md").attrs["version"] = np.array([1, 1], np.int32)
        head.group("h5md/author").attrs["name"] = "unknown"
        creator = head.group("h5md/creator")
        creator.attrs["name"], creator.attrs["version"] = "quiltmd", package_version()
        head.group("particles")
        particles = head.group("particles/all")
        box = head.group("particles/all/box")
        box.attrs["dimension"] = 3
        boundary = b"periodic" if self._periodic else b"none"
        box.attrs["boundary"] = np.array([boundary] * 3, dtype="S8")
        column = _BEFORE.size // _WORD
        per_atom = (self.layout.atoms, 3)
        elements = [("box/edges", (3, 3), "nm")] * self._periodic
        elements += [(name, per_atom, _UNITS[name]) for name in self._elements]
        if not self._periodic:
            column += _EDGES
        for name, shape, unit in elements:
            where = f"particles/all/{name}"
            head.group(where)
            column = head.add(f"{where}/value", shape, column, unit)
            if name == elements[0][0]:
                head.add(f"{where}/step", (), 0)
                head.add(f"{where}/time", (), 1, "ps")
                continue
            for shared in ("step", "time"):
                particles[f"{name}/{shared}"] = particles[f"{elements[0][0]}/{shared}"]


class _Head:
    """An HDF5 file of rows that have no values yet, with datasets that are columns of them.

    Nothing has a time of creation: the same settings give the same bytes.
    """

    def __init__(self, path: Path, rows: int, words: int) -> None:
        self._h5 = h5 = _h5py()
        access = h5.h5p.create(h5.h5p.FILE_ACCESS)
        access.set_libver_bounds(h5.h5f.LIBVER_V110, h5.h5f.LIBVER_V110)
        access.set_meta_block_size(_METADATA)
        made = h5.h5f.create(bytes(path), h5.h5f.ACC_TRUNC, self._settings("FILE_CREATE"), access)
        self._file = h5.File(made)
        self._shape = (rows, words)

    def group(self, name: str) -> Any:
        """A new group."""
        self._h5.h5g.create(self._file.id, name.encode(), gcpl=self._settings("GROUP_CREATE"))
        return self._file[name]

    def add(self, name: str, shape: tuple[int, ...], column: int, unit: str = "") -> int:
        """A dataset of columns, whose values have a shape; returns the next column."""
        h5 = self._h5
        count = math.prod(shape)
        space = h5.h5s.create_simple((self._shape[0], *shape))
        rows = h5.h5s.create_simple(self._shape)
        rows.select_hyperslab((0, column), (self._shape[0], count))
        settings = self._settings("DATASET_CREATE")
        settings.set_virtual(space, b".", _ROWS, rows)
        kind = h5.h5t.IEEE_F64LE if unit else h5.h5t.STD_I64LE
        h5.h5d.create(self._file.id, name.encode(), kind, space, settings)
        if unit:
            self._file[name].attrs["unit"] = unit
        return column + count

    def close(self) -> int:
        """Adds the rows, and returns where in the file they begin."""
        h5 = self._h5
        self.group("parameters")
        settings = self._settings("DATASET_CREATE")
        settings.set_layout(h5.h5d.CONTIGUOUS)
        settings.set_alloc_time(h5.h5d.ALLOC_TIME_EARLY)
        settings.set_fill_time(h5.h5d.FILL_TIME_NEVER)
        space = h5.h5s.create_simple(self._shape)
        rows = h5.h5d.create(self._file.id, _ROWS, h5.h5t.IEEE_F64LE, space, settings)
        begin = int(rows.get_offset())
        self._file.close()
        return begin

    def _settings(self, kind: str) -> Any:
        """Settings of an object that is created."""
        found = self._h5.h5p.create(getattr(self._h5.h5p, kind))
        found.set_obj_track_times(False)
        return found


def _h5py() -> Any:
    try:
        import h5py
    except ImportError:
        raise QuiltError(
            "H5MD files need h5py: pip install 'quiltmd[trajectories]', or choose another format "
            "(.dcd, .nc)"
        ) from None
    return h5py
