# SPDX-License-Identifier: Apache-2.0
"""Pairs of atoms by the number of bonds between them.

A pair i < j is a number, i * atoms + j, so that sets of pairs are sorted arrays.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]


def adjacency(atoms: int, bonds: I32) -> scipy.sparse.csr_matrix:
    """Symmetric matrix with 1 where two atoms are bonded."""
    ends = np.concatenate([bonds, bonds[:, ::-1]])
    ones = np.ones(len(ends), dtype=np.int8)
    matrix = scipy.sparse.coo_matrix((ones, (ends[:, 0], ends[:, 1])), shape=(atoms, atoms)).tocsr()
    matrix.data[:] = 1
    return matrix


def reached(matrix: scipy.sparse.csr_matrix) -> scipy.sparse.csr_matrix:
    """Numbers of paths; only whether there is one matters, so they may not overflow."""
    matrix.data = np.ones(len(matrix.data), dtype=np.int8)
    return matrix


def pair_keys(matrix: scipy.sparse.csr_matrix) -> I64:
    """Pairs i < j of a symmetric matrix, as i * atoms + j, sorted."""
    upper = matrix.tocoo()
    above = upper.row < upper.col
    keys: I64 = upper.row[above].astype(np.int64) * matrix.shape[0] + upper.col[above]
    keys.sort()
    return keys


def pairs_of(keys: I64, atoms: int) -> I32:
    """(n, 2) the pairs that numbers stand for."""
    return np.column_stack(np.divmod(keys, atoms)).astype(np.int32)


def merged(*parts: I64) -> I64:
    """All values, sorted, each once; much faster than NumPy's sets, which hash."""
    values = np.sort(np.concatenate(parts))
    once: I64 = values[np.diff(values, prepend=-1) != 0]
    return once


def within(values: I64, others: I64) -> npt.NDArray[np.bool_]:
    """Which values are among others, which are sorted."""
    if len(others) == 0:
        return np.zeros(len(values), dtype=bool)
    found = np.minimum(np.searchsorted(others, values), len(others) - 1)
    inside: npt.NDArray[np.bool_] = others[found] == values
    return inside


def by_bonds(atoms: int, bonds: I32) -> tuple[I32, I32, I32]:
    """Pairs joined by one, two and three bonds, each pair where it has the fewest."""
    bonded = adjacency(atoms, bonds)
    two = reached(bonded @ bonded)
    first = pair_keys(bonded)
    second = pair_keys(two)
    second = second[~within(second, first)]
    third = pair_keys(reached(two @ bonded))
    third = third[~within(third, merged(first, second))]
    return pairs_of(first, atoms), pairs_of(second, atoms), pairs_of(third, atoms)
