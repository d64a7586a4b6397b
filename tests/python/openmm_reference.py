# SPDX-License-Identifier: Apache-2.0
"""What OpenMM's Reference platform, in double precision, finds for a System."""

from __future__ import annotations

from typing import Any

import numpy as np
import openmm
from numpy.typing import NDArray
from openmm import unit


def energy_and_forces(system: Any, positions: Any) -> tuple[float, NDArray[np.float64]]:
    """Potential energy, kJ/mol, and (atoms, 3) forces, kJ/mol/nm, of an OpenMM System."""
    platform = openmm.Platform.getPlatformByName("Reference")
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), platform)
    context.setPositions(positions)
    state = context.getState(getEnergy=True, getForces=True)
    units = unit.md_unit_system
    forces = state.getForces(asNumpy=True).value_in_unit_system(units)
    return float(state.getPotentialEnergy().value_in_unit_system(units)), np.asarray(forces)
