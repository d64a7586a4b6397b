# SPDX-License-Identifier: Apache-2.0
"""Forces that a viewer sends during a run, as an external force."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..description.checks import real_number, whole_number
from ..description.external_force import ExternalForce, atoms_of
from ..description.system import System
from ..errors import QuiltError

F64 = NDArray[np.float64]


class ViewerForce(ExternalForce):
    """Forces on atoms that a viewer sends through an `ImdServer`.

    New forces act from the next multiple of `every` steps on, and stay until the viewer sends
    others or disconnects.  Their energy is -F (x - x0), where x0 are the positions at that step.  A
    run is reproducible only if the viewer sends the same forces at the same steps.

    Parameters
    ----------
    atoms:
        Atoms that can be pulled: as of `ExternalForce`.
    every:
        Steps between changes of the forces, at least 4.
    largest:
        Largest force on an atom, kJ/mol/nm; a larger one is scaled down.
    """

    name = "viewer"
    outside = True

    def __init__(
        self, atoms: str | Sequence[int] | None = None, every: int = 20, largest: float = 5000.0
    ) -> None:
        self.atoms, self.update_every = atoms, whole_number("every", every)
        self.largest = real_number("largest", largest, "kJ/mol/nm")
        if not self.largest > 0:
            raise QuiltError(f"largest must be positive, and is {largest!r}")
        self._next: F64 | None = None
        self.set_state(b"")

    def offer(self, system: System, atoms: NDArray[np.int64], forces: F64) -> NDArray[np.int64]:
        """Forces (n, 3), kJ/mol/nm, on these atoms of a system, and none on others.

        They act from the next update on.  Returns the atoms that this force does not have.
        """
        own = atoms_of(self, system)
        place = np.full(system.atoms, -1)
        place[own] = np.arange(len(own))
        has = place[atoms] >= 0
        found = np.zeros((len(own), 3))
        lengths = np.linalg.norm(forces, axis=1, keepdims=True)
        scaled = forces * np.minimum(1.0, self.largest / np.maximum(lengths, 1e-30))
        found[place[atoms[has]]] = scaled[has]
        self._next = found
        return atoms[~has]

    def compute(self, step: int, positions: F64, box: F64 | None) -> tuple[Any, ...]:
        """Energy and forces since the last update."""
        if not len(self._forces):
            return 0.0, np.zeros_like(positions)
        return -float((self._forces * (positions - self._origin)).sum()), self._forces.copy()

    def update(self, step: int, positions: F64, box: F64 | None) -> None:
        """Takes the forces that were sent since the last update."""
        following, self._next = self._next, None
        if following is not None:
            self._forces, self._origin = following, positions.copy()

    def state(self) -> bytes:
        """Forces and the positions at which they began."""
        return np.concatenate([self._forces, self._origin]).tobytes()

    def set_state(self, state: bytes) -> None:
        """Restores them; b"": no forces."""
        numbers = np.frombuffer(state).reshape(2, -1, 3)
        self._forces, self._origin = numbers[0].copy(), numbers[1].copy()
