# SPDX-License-Identifier: Apache-2.0
"""Molecules put back into the cell for output, or followed out of it.

The engine keeps them unwrapped: on the images to which they have moved, which are images of the
present box.  As a barostat changes the box, an image that is k boxes away moves k times as far as
the box changes, which is no motion of the molecule.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .readout import Readout


class Centres:
    """Centres of molecules, each atom counting alike.

    Attributes
    ----------
    sizes:
        (M,) atoms of each molecule.
    """

    def __init__(self, molecules: NDArray[np.integer]) -> None:
        self._molecules = molecules
        self.sizes = np.bincount(molecules)

    def __call__(self, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Wrapped positions (M, 3), nm, from positions (N, 3), nm."""
        sums = [np.bincount(self._molecules, weights=column) for column in positions.T]
        centres: NDArray[np.float64] = np.stack(sums, axis=1) / self.sizes[:, None]
        return centres


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
        self._centres = Centres(molecules)
        self._central = None if centre is None else np.unique(molecules[centre])

    def wrap(
        self, positions: NDArray[np.float64], box: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """Positions (N, 3) nm with the centre of each molecule inside the cell, if there is one."""
        if box is None:
            return positions
        centres = self._centres(positions) @ np.linalg.inv(box)
        origin = self._origin(centres)
        shifts = np.floor(centres - origin) + origin
        wrapped: NDArray[np.float64] = positions - (shifts @ box)[self._molecules]
        return wrapped

    def _origin(self, centres: NDArray[np.float64]) -> NDArray[np.float64]:
        """Origin of the cell, in fractions of the box."""
        if self._central is None:
            return np.zeros(3)
        # Molecules of a complex may have drifted into different cells: the first one's images.
        chosen = centres[self._central]
        chosen = chosen - np.round(chosen - chosen[0])
        middle: NDArray[np.float64] = np.average(
            chosen, axis=0, weights=self._centres.sizes[self._central]
        )
        return middle - 0.5


class MoleculeUnwrapper:
    """Follows molecules from frame to frame, also if a barostat changes the box.

    A molecule moves from one frame to the next as its image in the cell around the origin does, or
    that image's nearest image in the next frame (von Buelow, Bullerjahn and Hummer, J. Chem. Phys.
    153, 021101 (2020); Bullerjahn et al., J. Chem. Theory Comput. 19, 3406 (2023), the scheme that
    preserves the toroidal view).  So frames begin with the positions of the engine, and differ from
    them by what the images moved with the box.

    Parameters
    ----------
    molecules:
        (N,) molecule of each atom, numbered from 0.
    carried:
        `carried` of the unwrapper that made the frames before; None: there are none.
    """

    def __init__(
        self, molecules: NDArray[np.integer], carried: NDArray[np.float64] | None = None
    ) -> None:
        self._molecules = molecules
        self._centres = Centres(molecules)
        count = len(self._centres.sizes)
        self._carried = np.zeros((2 * count + 3, 3)) if carried is None else np.array(carried)
        # For each molecule the displacement of its image with the box, nm, and its cell in the last
        # frame; the box of that frame, zero before the first.
        self._with_box = self._carried[:count]
        self._cells, self._box = self._carried[count:-3], self._carried[-3:]

    @property
    def carried(self) -> NDArray[np.float64]:
        """Data besides positions and box on which the next frame depends."""
        return self._carried.copy()

    def unwrap(
        self, positions: NDArray[np.float64], box: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """Positions (N, 3) of the next frame, nm, from those of the engine."""
        if box is None:
            return positions
        if self._box.any():
            self._with_box += self._cells @ (box - self._box)
        self._cells[:] = np.floor(self._centres(positions) @ np.linalg.inv(box) + 0.5)
        self._box[:] = box
        moved: NDArray[np.float64] = positions - self._with_box[self._molecules]
        return moved


def wrapped(simulation: Readout) -> NDArray[np.float64]:
    """A simulation's positions, nm, molecules whole, their centres in the cell."""
    return MoleculeWrapper(simulation.system.molecules).wrap(simulation.positions(), simulation.box)
