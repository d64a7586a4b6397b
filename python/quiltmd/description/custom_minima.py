# SPDX-License-Identifier: Apache-2.0
"""The lengths at which energies of custom bonds are least, and the force constants there.

An expression may be anything, so its minimum is looked for on a grid, and then by parabolas.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .custom_forces import CustomBond
from .expression_values import evaluate
from .expressions import Expression

F64 = npt.NDArray[np.float64]
_GRID = np.linspace(0.005, 1.0, 200)  # nm
_WIDTHS = (1e-3, 1e-4, 1e-5)  # nm, of successive parabolas
_AT_ONCE = 1000  # bonds


def minima(bonds: CustomBond) -> tuple[F64, F64]:
    """(n,) Lengths, nm, and force constants, kJ/mol/nm^2; nan for an energy without a minimum.

    Minima beyond 1 nm are not looked for.
    """
    rows = np.column_stack([np.zeros(len(bonds)), *bonds.by_term.values()])
    different, which = np.unique(rows, axis=0, return_inverse=True)
    parts = np.array_split(different, len(different) // _AT_ONCE + 1)
    found = np.concatenate([_minima_of(bonds, part) for part in parts])[which.reshape(-1)]
    return found[:, 0], found[:, 1]


def _minima_of(bonds: CustomBond, rows: F64) -> F64:
    """(n, 2) For rows of parameters behind a first column."""
    root = Expression(bonds.energy).root
    columns = {name: rows[:, k + 1, None] for k, name in enumerate(bonds.by_term)}

    def energies(r: F64) -> F64:
        values = evaluate([root], {**bonds.shared, **columns, "r": r}, bonds.functions)[0]
        return np.broadcast_to(values, (len(rows), r.shape[1])).astype(np.float64)

    with np.errstate(all="ignore"):
        on_grid = energies(_GRID[None, :])
        least = np.where(np.isfinite(on_grid), on_grid, np.inf).argmin(axis=1)
        length = _GRID[least]
        stiffness = np.full(len(rows), np.nan)
        for width in _WIDTHS:
            around = energies(length[:, None] + width * np.array([-1.0, 0.0, 1.0])).T
            bend = around[2] - 2 * around[1] + around[0]
            step = np.clip(-0.5 * (around[2] - around[0]) / bend, -10, 10)
            stiffness = bend / width**2
            length = length + width * np.where(bend > 0, step, np.nan)
    inside = (least > 0) & (least < len(_GRID) - 1)
    return np.where(inside[:, None], np.column_stack([length, stiffness]), np.nan)
