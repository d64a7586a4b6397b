# SPDX-License-Identifier: Apache-2.0
"""Constant forces on atoms, as terms whose energy does not depend on periodic images.

The energy of a force that is the same everywhere, -F r, depends on which periodic images of atoms
are meant.  What does not is the energy of a molecule's dipole: so the forces on a molecule are kept
as opposite forces on atoms that are linked to each other, and as one force on its first atom, which
is the sum of all and zero where the molecule has no charge.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from .molecules import spanning_forest

F64 = npt.NDArray[np.float64]

_ROUNDING = 1e-10  # of the largest force: what charges that cancel leave


def force_fields(links: npt.NDArray[np.integer], forces: F64) -> dict[str, Any]:
    """The fields of `System` for constant forces on atoms.

    Parameters
    ----------
    links:
        (n, 2) pairs of atoms that hold molecules together.
    forces:
        (N, 3) kJ/mol/nm.

    Returns
    -------
    `constant_forces`, one for each molecule that is pulled as a whole, its place the middle of the
    box; `opposite_forces`; and their parameters.
    """
    order, parent = spanning_forest(len(forces), links)
    beyond = _sums_of_branches(order, parent, forces)
    strong = np.abs(beyond).max(axis=1) > _ROUNDING * np.abs(forces).max(initial=0.0)
    is_first = parent == np.arange(len(parent))
    whole, branches = np.flatnonzero(strong & is_first), np.flatnonzero(strong & ~is_first)
    middle = np.tile([0.5, 0.5, 0.5, 0.0, 0.0, 0.0], (len(whole), 1))
    return {
        "constant_forces": whole[:, None].astype(np.int32),
        "constant_force_parameters": np.column_stack([middle, beyond[whole]]),
        "opposite_forces": np.column_stack([parent[branches], branches]).astype(np.int32),
        "opposite_force_parameters": beyond[branches],
    }


def _sums_of_branches(
    order: npt.NDArray[np.intp], parent: npt.NDArray[np.intp], values: F64
) -> F64:
    """The sum of each atom's values and of those of all atoms that descend from it.

    Sums s solve s - (sums of the children) = values, a triangular system where parents come first.
    """
    atoms = len(order)
    place = np.empty(atoms, dtype=np.intp)
    place[order] = np.arange(atoms)
    child = np.flatnonzero(parent != np.arange(atoms))
    ones = np.ones(len(child))
    of_children = scipy.sparse.csc_matrix(
        (ones, (place[parent[child]], place[child])), shape=(atoms, atoms)
    )
    lower = scipy.sparse.linalg.splu(
        scipy.sparse.identity(atoms, format="csc") - of_children, permc_spec="NATURAL"
    )
    sums: F64 = lower.solve(values[order])[place]
    return sums
