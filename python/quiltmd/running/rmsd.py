# SPDX-License-Identifier: Apache-2.0
"""RMSD of the solute from its first frame, after fitting.

Of the heavy atoms of the largest molecule that is neither water nor an ion; of a protein its
backbone alone.  Fitted by Kabsch, Acta Cryst. A 32, 922 (1976).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..description.selection import select
from ..description.system import System
from ..errors import QuiltError
from ..inputs.frames import read_frames
from .output_sections import TrajectorySection

_FRAMES = 2000  # at most, evenly taken, so that a report is made in seconds


@dataclass(frozen=True)
class Deviation:
    """RMSD (nm) over time (ps), of atoms that `of` names."""

    of: str
    times: NDArray[np.float64]
    values: NDArray[np.float64]


def solute_rmsd(
    system: System, folder: Path, trajectories: dict[str, TrajectorySection], steps: int
) -> Deviation:
    """RMSD of the solute, from the trajectory with the most frames of it.

    QuiltError, with the reason, where there is none.
    """
    atoms, of = _atoms(system)
    for section in sorted(trajectories.values(), key=lambda section: section.every):
        written = select(system, section.select)
        path = folder / section.file
        if path.exists() and np.isin(atoms, written).all():
            frames = max(1, steps // section.every)
            found = read_frames(path, len(written), every=-(-frames // _FRAMES))
            places = np.searchsorted(written, atoms)
            pairs = [(frame.time, frame.positions[places]) for frame in found]
            first = pairs[0][1]
            values = [rmsd(positions, first) for _, positions in pairs]
            return Deviation(of, np.array([time for time, _ in pairs]), np.array(values))
    raise QuiltError("no trajectory has a frame with the solute")


def rmsd(positions: NDArray[np.float64], reference: NDArray[np.float64]) -> float:
    """Root-mean-square deviation of (n, 3) positions from a reference, after the best fit."""
    a, b = positions - positions.mean(axis=0), reference - reference.mean(axis=0)
    u, singular, v = np.linalg.svd(a.T @ b)
    if np.linalg.det(u) * np.linalg.det(v) < 0:  # a rotation, not a reflection
        singular[-1] = -singular[-1]
    squared = (a**2).sum() + (b**2).sum() - 2 * singular.sum()
    return float(np.sqrt(max(squared, 0.0) / len(a)))


def _atoms(system: System) -> tuple[NDArray[np.int64], str]:
    solute = select(system, "solute")
    molecules = system.molecules[solute]
    largest = solute[molecules == np.bincount(molecules).argmax()]
    for words, name in (("backbone", "backbone atoms"), ("heavy", "heavy atoms"), ("all", "atoms")):
        try:
            atoms = np.intersect1d(largest, select(system, words))
        except QuiltError:
            continue
        if len(atoms) >= 4:
            return atoms, f"{len(atoms)} {name} of the largest molecule"
    raise QuiltError("the solute has fewer than four atoms")
