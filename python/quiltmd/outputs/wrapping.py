# SPDX-License-Identifier: Apache-2.0
"""Molecules put back into the cell for output; the engine itself keeps them unwrapped."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .readout import Readout


class MoleculeWrapper:
    """Puts molecules into the cell by their centres, without breaking them.

    Parameters
    ----------
    molecules:
        (N,) molecule of each atom, numbered from 0.
    centre:
        Atoms whose molecules are kept together, their centre in the middle of the cell; None: the
        cell begins at the origin.
    """

    def __init__(
        self, molecules: NDArray[np.integer], centre: NDArray[np.integer] | None = None
    ) -> None:
        self._molecules = molecules
        self._sizes = np.bincount(molecules)[:, None]
        self._central = None if centre is None else np.unique(molecules[centre])

    def wrap(
        self, positions: NDArray[np.float64], box: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """Positions (N, 3) nm with the centre of each molecule inside the cell, if there is one."""
        if box is None:
            return positions
        sums = np.stack(
            [np.bincount(self._molecules, weights=positions[:, axis]) for axis in range(3)], axis=1
        )
        centres = sums / self._sizes @ np.linalg.inv(box)
        origin = self._origin(centres)
        shifts = np.floor(centres - origin) + origin
        wrapped: NDArray[np.float64] = positions - (shifts @ box)[self._molecules]
        return wrapped

    def _origin(self, centres: NDArray[np.float64]) -> NDArray[np.float64]:
        """Where the cell begins, in fractions of the box."""
        if self._central is None:
            return np.zeros(3)
        # Molecules of a complex may have drifted into different cells: the first one's images.
        chosen = centres[self._central]
        chosen = chosen - np.round(chosen - chosen[0])
        middle: NDArray[np.float64] = np.average(
            chosen, axis=0, weights=self._sizes[self._central, 0]
        )
        return middle - 0.5


def wrapped(simulation: Readout) -> NDArray[np.float64]:
    """A simulation's positions, nm, molecules whole, their centres in the cell."""
    return MoleculeWrapper(simulation.system.molecules).wrap(simulation.positions(), simulation.box)
