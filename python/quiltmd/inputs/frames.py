# SPDX-License-Identifier: Apache-2.0
"""Frames of a trajectory of any format that MDAnalysis reads, an optional dependency."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..description.box import box_from_lengths_angles, reduce_box
from ..errors import InputError, QuiltError


@dataclass(frozen=True)
class TrajectoryFrame:
    """A frame: time, ps; positions (N, 3), nm; box (3, 3), nm, or None where the file has none."""

    time: float
    positions: npt.NDArray[np.float64]
    box: npt.NDArray[np.float64] | None


def read_frames(
    path: str | os.PathLike[str], atoms: int, every: int = 1
) -> Iterator[TrajectoryFrame]:
    """The frames of a trajectory (DCD, XTC, TRR, NetCDF, H5MD and others), one after the other.

    Parameters
    ----------
    path:
        The file; its suffix names the format.
    atoms:
        Number of atoms that it must have.
    every:
        Takes each so many-th frame, from the first on.

    Raises
    ------
    InputError
        Where the file cannot be read, or has another number of atoms.
    QuiltError
        Where MDAnalysis is not installed.
    """
    try:
        from MDAnalysis.coordinates.core import get_reader_for
        from MDAnalysis.lib.formats import libmdaxdr
    except ImportError:
        raise QuiltError(
            "reading trajectories needs MDAnalysis: pip install 'quiltmd[trajectories]'"
        ) from None
    file = os.fspath(path)
    if not Path(path).exists():
        raise InputError("no such file", file=file)
    # The readers of XTC and TRR would leave an index beside the file; those beneath them do not.
    plain = {".xtc": libmdaxdr.XTCFile, ".trr": libmdaxdr.TRRFile}.get(Path(file).suffix.lower())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about changes to come in MDAnalysis
        try:
            if plain is None:
                with get_reader_for(file)(file, n_atoms=atoms) as reader:
                    frames = (
                        (frame.time, frame.positions / 10.0, _box(frame.dimensions))
                        for frame in reader[::every]
                    )
                    yield from _checked(file, frames, atoms)
            else:
                with plain(file) as reader:
                    frames = (
                        (frame.time, frame.x, reduce_box(frame.box))
                        for number, frame in enumerate(reader)
                        if number % every == 0
                    )
                    yield from _checked(file, frames, atoms)
        except (OSError, ValueError, TypeError, EOFError, RuntimeError) as error:
            raise InputError(f"not a trajectory of {atoms} atoms ({error})", file=file) from None


def _checked(file: str, frames: Iterable[Any], atoms: int) -> Iterator[TrajectoryFrame]:
    for time, positions, box in frames:
        if len(positions) != atoms:
            raise InputError(f"{len(positions)} atoms instead of {atoms}", file=file)
        yield TrajectoryFrame(float(time), np.array(positions, dtype=np.float64), box)


def _box(dimensions: npt.NDArray[np.float32] | None) -> npt.NDArray[np.float64] | None:
    if dimensions is None or not np.any(dimensions[:3]):
        return None
    return box_from_lengths_angles(dimensions[:3] / 10.0, dimensions[3:])
