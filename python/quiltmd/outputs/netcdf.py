# SPDX-License-Identifier: Apache-2.0
"""NetCDF by Amber's conventions: positions, velocities and forces in single precision, and box.

Of NetCDF's formats the convention takes version 3: a header, then one record of fixed size for each
frame, big-endian.  SciPy writes the header and the first frame, as it can only write whole files;
further frames are appended, and the header's number of records with them.

Source of the convention: ambermd.org/netcdf/nctraj.xhtml, version 1.0, revision C.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator

import numpy as np
import scipy

from ..description.box import lengths_angles
from ..errors import QuiltError
from .files import GrowingFile
from .trajectory import (
    FixedSizeFormat,
    Layout,
    Snapshot,
    foreign,
    other_atoms,
    refuse_beyond,
    single_precision_tells,
)

_ANGSTROM = 10.0  # per nm
_KCAL = 4.184  # kJ
AMBER_VELOCITY = 20.455  # angstrom/ps per internal unit of Amber
_RECORDS_AT = 4  # the number of records, behind "CDF" and the version
LARGEST = 2**31 - 1  # number of records, and bytes of a variable
_MOST_ATOMS = LARGEST // 12  # their coordinates are a variable
_Columns = list[tuple[str, "np.ndarray[tuple[int, ...], np.dtype[np.generic]]"]]

# Variable -> dimensions after the frame, type, unit.
_VARIABLES: dict[str, tuple[tuple[str, ...], str, str]] = {
    "time": ((), ">f4", "picosecond"),
    "coordinates": (("atom", "spatial"), ">f4", "angstrom"),
    "velocities": (("atom", "spatial"), ">f4", "angstrom/picosecond"),
    "forces": (("atom", "spatial"), ">f4", "kilocalorie/mole/angstrom"),
    "cell_lengths": (("cell_spatial",), ">f8", "angstrom"),
    "cell_angles": (("cell_angular",), ">f8", "degree"),
}


class NetcdfFormat(FixedSizeFormat):
    """Positions, cell and time; velocities and forces where asked for."""

    name = "NetCDF"
    has = frozenset({"velocities", "forces"})

    def __init__(self, layout: Layout) -> None:
        super().__init__(layout)
        words = "NetCDF by Amber's conventions has room for {limit} atoms, not for {found}"
        refuse_beyond(_MOST_ATOMS, layout.atoms, words)
        zeros = np.zeros((layout.atoms, 3))
        some = Snapshot(
            0,
            0.0,
            np.eye(3),
            zeros,
            zeros if layout.velocities else None,
            zeros if layout.forces else None,
        )
        self.size = len(self.encode(some))
        self._header = self._whole_file(some)[: -self.size]
        self.head = len(self._header)
        self.first = layout.every
        self._tells_steps = True

    def begin(self, first: Snapshot) -> bytes:
        """The header, of a file with one frame."""
        self.first = first.step
        return self._header

    def encode(self, snapshot: Snapshot) -> bytes:
        """A record: the frame's values in the order of the variables."""
        self.warn_of_times(snapshot.time)
        return b"".join(values.tobytes() for _, values in self._values(snapshot))

    def recognise(self, file: GrowingFile) -> None:
        """Compares the header, but for the number of records, with that of this run."""
        found, mine = file.read(0, self.head), self._header
        if found[:4] != mine[:4]:
            raise foreign(file)
        behind = _RECORDS_AT + 4
        if found[behind:] != mine[behind:]:
            raise other_atoms(file) if len(found) == self.head else foreign(file)
        time = file.read(self.head, 4)
        if len(time) == 4:  # in single precision, but steps are multiples of `every`
            first = struct.unpack(">f", time)[0]
            self.first = round(first / self.interval) * self.layout.every
            self._tells_steps = single_precision_tells(first, self.interval)

    def frames(self, file: GrowingFile) -> Iterator[tuple[int, int]]:
        """Steps and ends of frames; QuiltError if times do not tell the steps."""
        if not self._tells_steps:
            raise QuiltError(
                f"{file.path}: times in single precision do not tell of which steps the frames "
                "are: without the mark of a checkpoint the run cannot be continued"
            )
        return super().frames(file)

    def count(self, frames: int) -> tuple[int, bytes]:
        """The number of records."""
        refuse_beyond(LARGEST, frames, "NetCDF has room for {limit} frames, not for {found}")
        return _RECORDS_AT, struct.pack(">I", frames)

    def _values(self, snapshot: Snapshot) -> _Columns:
        lengths, angles = lengths_angles(snapshot.box)
        values = {
            "time": np.asarray(snapshot.time),
            "coordinates": snapshot.positions * _ANGSTROM,
            "cell_lengths": lengths * _ANGSTROM,
            "cell_angles": angles,
        }
        if snapshot.velocities is not None:
            values["velocities"] = snapshot.velocities * (_ANGSTROM / AMBER_VELOCITY)
        if snapshot.forces is not None:
            values["forces"] = snapshot.forces / (_KCAL * _ANGSTROM)
        return [
            (name, values[name].astype(_VARIABLES[name][1]))
            for name in _VARIABLES
            if name in values
        ]

    def _whole_file(self, snapshot: Snapshot) -> bytes:
        """A file of one frame."""
        data = io.BytesIO()
        with scipy.io.netcdf_file(data, "w", version=2) as file:
            file.Conventions, file.ConventionVersion = "AMBER", "1.0"
            file.program, file.programVersion = "quiltmd", "1"
            file.createDimension("frame", None)
            for name, size in (
                ("spatial", 3),
                ("atom", self.layout.atoms),
                ("cell_spatial", 3),
                ("cell_angular", 3),
                ("label", 5),
            ):
                file.createDimension(name, size)
            _labels(file)
            for name, values in self._values(snapshot):
                dimensions, kind, units = _VARIABLES[name]
                variable = file.createVariable(name, kind, ("frame", *dimensions))
                variable.units = units
                if name == "velocities":
                    variable.scale_factor = AMBER_VELOCITY
                variable[0] = values
            file.flush()
            return data.getvalue()


def _labels(file: scipy.io.netcdf_file) -> None:
    """Labels of the axes that the convention requires."""
    file.createVariable("spatial", "c", ("spatial",))[:] = list("xyz")
    file.createVariable("cell_spatial", "c", ("cell_spatial",))[:] = list("abc")
    angular = file.createVariable("cell_angular", "c", ("cell_angular", "label"))
    for row, label in enumerate(("alpha", "beta ", "gamma")):
        angular[row] = list(label)
