# SPDX-License-Identifier: Apache-2.0
"""The formats of trajectories by the suffix of a file's name, and those of last structures.

A new format is a module with a `Format` and a row here.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from ..errors import QuiltError
from .dcd import DcdFormat
from .files import Mark
from .h5md import H5mdFormat
from .netcdf import NetcdfFormat
from .trajectory import Format, Layout, TrajectoryFile, TrajectoryWriter
from .xtc import XtcFormat

_FORMATS: dict[str, type[Format]] = {
    ".dcd": DcdFormat,
    ".xtc": XtcFormat,
    ".nc": NetcdfFormat,
    ".h5md": H5mdFormat,
}
SUFFIXES = tuple(_FORMATS)
FinalFormat = Literal["cif", "pdb", "gro", "ncrst", "rst7", "namd"]  # of last structures
FINAL: tuple[FinalFormat, ...] = ("cif", "pdb", "ncrst")  # unless others are asked for


def check_contents(name: str, velocities: bool, forces: bool, precision: float | None) -> None:
    """QuiltError if a file of this name cannot be written, or not with what is asked for."""
    form = _format_of(name)
    form.require()
    asked = {"velocities": velocities, "forces": forces}
    missing = [word for word, wanted in asked.items() if wanted and word not in form.has]
    if missing:
        able = [suffix for suffix, one in _FORMATS.items() if one.has.issuperset(missing)]
        raise QuiltError(
            f"{name}: {form.name} has no {' and '.join(missing)}: choose one of {', '.join(able)}"
        )
    if precision is not None and form is not XtcFormat:
        raise QuiltError(f"{name}: only .xtc takes a precision")


def open_trajectory(
    path: str | os.PathLike[str],
    layout: Layout,
    after: int | None = None,
    mark: Mark | None = None,
) -> TrajectoryWriter:
    """A trajectory in the format that its suffix says; `after` and `mark` as `TrajectoryFile`."""
    name = Path(path).name
    check_contents(name, layout.velocities, layout.forces, layout.precision)
    return TrajectoryFile(path, _format_of(name)(layout), after, mark)


def _format_of(name: str) -> type[Format]:
    suffix = Path(name).suffix.lower()
    if suffix not in _FORMATS:
        known = ", ".join(_FORMATS)
        raise QuiltError(f"{name}: the suffix of a trajectory names its format: {known}")
    return _FORMATS[suffix]
