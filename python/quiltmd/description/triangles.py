# SPDX-License-Identifier: Apache-2.0
"""Triangles of constraints, whose sides no three points may have."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import numpy.typing as npt

I32 = npt.NDArray[np.int32]
F64 = npt.NDArray[np.float64]


def open_triangle(constraints: I32, lengths: F64) -> tuple[int, int, int] | None:
    """Three constraints between three atoms, of which one is longer than the others together.

    Parameters
    ----------
    constraints:
        (C, 2) pairs of atoms, each once.
    lengths:
        (C,) nm, above 0.

    Returns
    -------
    Rows of the constraints, the longest first; None where there are no such three.
    """
    long = np.flatnonzero(lengths > 2 * lengths.min(initial=np.inf))  # none in most systems
    sides: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for row in np.flatnonzero(np.isin(constraints, constraints[long]).any(axis=1)).tolist():
        first, second = constraints[row].tolist()
        sides[first][second] = sides[second][first] = row
    for row in long.tolist():
        first, second = (sides[atom] for atom in constraints[row].tolist())
        for third in first.keys() & second.keys():
            if lengths[row] > lengths[first[third]] + lengths[second[third]]:
                return row, first[third], second[third]
    return None
