# SPDX-License-Identifier: Apache-2.0
"""Overlapping atoms, detected before a simulation starts.

Minimisation resolves close contacts, but not two atoms at one point, between which the force has no
direction: such an input is broken.  A tree search over the cell and a thin rim of images costs
about a second for a million atoms.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from ..errors import InputError
from .box import box_widths
from .state import State
from .system import System

CLOSEST = 0.02  # nm; no bond is nearly as short


def check_overlaps(system: System, state: State) -> None:
    """Raises InputError naming two atoms that are closer than 0.02 nm, images included.

    Virtual sites do not count: some lie as near to their parents, and none can be moved.  Nor do
    alchemical atoms with a soft core, or without interactions.
    """
    atoms = np.setdiff1d(np.arange(system.atoms), system.sites[:, 0])
    if system.alchemy is not None:
        atoms = np.setdiff1d(atoms, system.alchemy.soft_atoms(system))
    points = state.positions[atoms]
    if state.box is not None:
        points, of = _with_rim(points, state.box)
        atoms = atoms[of]
    pairs = scipy.spatial.cKDTree(points).query_pairs(CLOSEST, output_type="ndarray")
    if len(pairs) == 0:
        return
    i, j = pairs[0]
    distance = float(np.linalg.norm(points[i] - points[j]))
    first, second = sorted((int(atoms[i]), int(atoms[j])))
    raise InputError(
        f"overlapping atoms: {system.topology.describe(first)} and "
        f"{system.topology.describe(second)} are {distance:.4f} nm apart: check that "
        "coordinates, topology and box belong together"
    )


def _with_rim(
    positions: NDArray[np.float64], box: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Positions in the cell and images just beyond its upper faces, and of which each is."""
    fractions = (positions @ np.linalg.inv(box)) % 1.0
    of = np.arange(len(positions))
    for axis, margin in enumerate(CLOSEST / box_widths(box)):
        low = fractions[:, axis] < margin
        images = fractions[low].copy()
        images[:, axis] += 1.0
        fractions = np.concatenate([fractions, images])
        of = np.concatenate([of, of[low]])
    return fractions @ box, of
