# SPDX-License-Identifier: Apache-2.0
"""The formats of trajectories by the suffix of a file's name.

A new format is a module with a `Format` and a row here; one whose files do not grow at their end
alone brings a writer of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import QuiltError
from .dcd import DcdFormat
from .files import Mark
from .h5md import H5mdFile, require_h5py
from .netcdf import NetcdfFormat
from .trajectory import Format, Layout, TrajectoryFile, TrajectoryWriter
from .xtc import XtcFormat

Opener = Callable[[Path, Layout, int | None, Mark | None], TrajectoryWriter]


@dataclass(frozen=True)
class _Kind:
    """A format: its name, what frames may have besides positions, how a file of it is opened."""

    name: str
    has: frozenset[str]
    require: Callable[[], Any]
    open: Opener


def _appended(form: type[Format]) -> _Kind:
    def opened(path: Path, layout: Layout, after: int | None, mark: Mark | None) -> TrajectoryFile:
        return TrajectoryFile(path, form(layout), after, mark)

    return _Kind(form.name, form.has, form.require, opened)


_FORMATS: dict[str, _Kind] = {
    ".dcd": _appended(DcdFormat),
    ".xtc": _appended(XtcFormat),
    ".nc": _appended(NetcdfFormat),
    ".h5md": _Kind("H5MD", frozenset({"velocities", "forces"}), require_h5py, H5mdFile),
}
SUFFIXES = tuple(_FORMATS)


def check_contents(name: str, velocities: bool, forces: bool, precision: float | None) -> None:
    """QuiltError where a file of this name cannot be written, or not with what is asked for."""
    form = _format_of(name)
    form.require()
    asked = {"velocities": velocities, "forces": forces}
    missing = [word for word, wanted in asked.items() if wanted and word not in form.has]
    if missing:
        able = [suffix for suffix, one in _FORMATS.items() if one.has.issuperset(missing)]
        raise QuiltError(
            f"{name}: {form.name} has no {' and '.join(missing)}: choose one of {', '.join(able)}"
        )
    if precision is not None and form.name != XtcFormat.name:
        raise QuiltError(f"{name}: {form.name} has single precision; only .xtc takes a precision")


def open_trajectory(
    path: str | os.PathLike[str],
    layout: Layout,
    after: int | None = None,
    mark: Mark | None = None,
) -> TrajectoryWriter:
    """A trajectory in the format that its suffix says; `after` and `mark` as `TrajectoryFile`."""
    name = Path(path).name
    check_contents(name, layout.velocities, layout.forces, layout.precision)
    return _format_of(name).open(Path(path), layout, after, mark)


def _format_of(name: str) -> _Kind:
    suffix = Path(name).suffix.lower()
    if suffix not in _FORMATS:
        known = ", ".join(_FORMATS)
        raise QuiltError(f"{name}: the suffix of a trajectory names its format: {known}")
    return _FORMATS[suffix]
