# SPDX-License-Identifier: Apache-2.0
"""Crystals of LAMMPS' lattice command: sc, bcc, fcc and diamond, along the axes.

Source: https://docs.lammps.org/lattice.html.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .script import Command

F64 = npt.NDArray[np.float64]

_FCC = [[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]]
_CELLS = {
    "sc": np.zeros((1, 3)),
    "bcc": np.array([[0, 0, 0], [0.5, 0.5, 0.5]]),
    "fcc": np.array(_FCC),
    "diamond": np.concatenate([np.array(_FCC), np.array(_FCC) + 0.25]),
}
SLIGHTLY = 1e-6  # of the constant: how far rounding takes a point
_MOST = 10**8


def read_lattice(command: Command, *, in_density: bool) -> tuple[float, F64]:
    """The constant, and the places of atoms in a cell in units of it.

    In units lj a reduced density stands in place of the constant.
    """
    if len(command.words) != 2 or command.words[0] not in _CELLS:
        raise command.error(f"only {', '.join(_CELLS)} and a constant, without options")
    cell, value = _CELLS[command.words[0]], command.number(1)
    if value <= 0:
        raise command.error("the constant must be positive")
    return float((len(cell) / value) ** (1 / 3)) if in_density else value, cell


def lattice_points(constant: float, cell: F64, low: F64, high: F64) -> F64:
    """All points (n, 3) from `low` on and below `high`."""
    first, last = np.floor(low / constant - 1), np.ceil(high / constant + 1)
    counts = (last - first).astype(int)
    if np.prod(counts.astype(float)) * len(cell) > _MOST:
        raise MemoryError("more than 100 million points of a lattice")
    cells = np.indices(tuple(counts)).reshape(3, -1).T + first
    points: F64 = (cells[:, None] + cell).reshape(-1, 3)
    slightly = SLIGHTLY * np.ones(3)
    inside = (points >= low / constant - slightly) & (points < high / constant - slightly)
    return points[inside.all(axis=1)] * constant
