# SPDX-License-Identifier: Apache-2.0
"""Energies, forces and virial in double precision by plain loops, to compare with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..description.coulomb_cutoff import with_coulomb_cutoff
from ..description.nonbonded import Nonbonded
from ..description.permittivity import without_permittivity
from ..description.state import State
from ..description.system import System
from .core import load_core


def reference(
    system: System, state: State, nonbonded: Nonbonded | None = None
) -> tuple[dict[str, float], NDArray[np.float64]]:
    """Energies and forces in double precision, by plain loops: slow, for comparison.

    `reference_virial` gives the virial.  By default the settings are those of the system.

    Returns
    -------
    Energies by term, kJ/mol, named as in `Simulation.energies`; forces (N, 3), kJ/mol/nm.
    """
    result = _reference(system, state, nonbonded)
    return result["energies"], result["forces"]


def reference_virial(
    system: System, state: State, nonbonded: Nonbonded | None = None
) -> NDArray[np.float64]:
    """Virial (3, 3), kJ/mol, in double precision by plain loops: see `Simulation.virial`."""
    virial: NDArray[np.float64] = _reference(system, state, nonbonded)["virial"]
    return virial


def _reference(system: System, state: State, nonbonded: Nonbonded | None) -> dict[str, Any]:
    chosen = nonbonded or system.nonbonded or Nonbonded.default(state.box)
    system, chosen = without_permittivity(system, chosen)
    chosen = with_coulomb_cutoff(system, chosen, state.box)
    result: dict[str, Any] = load_core().reference(
        system.arrays(), chosen.resolve(state.box), state.box, state.positions
    )
    return result
