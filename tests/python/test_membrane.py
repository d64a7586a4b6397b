# SPDX-License-Identifier: Apache-2.0
"""A membrane: POPC in water from the package openmm, against OpenMM's Reference platform."""

from __future__ import annotations

import openmm
import pytest
from benchmark_systems import from_openmm, openmm_membrane
from boxes import relative_rms
from openmm import unit

import quiltmd

CUTOFF, TOLERANCE = 0.9, 1e-5
BONDED = {
    "HarmonicBondForce": "bond",
    "HarmonicAngleForce": "angle",
    "PeriodicTorsionForce": "torsion",
}


def test_terms_and_forces_agree_with_openmm() -> None:
    """Both programs with the same cutoff, alpha and grid, and splines of order 5."""
    original, pdb = openmm_membrane()
    system, state = from_openmm(original, pdb)
    alpha, grid = quiltmd.pme_parameters(state.box, CUTOFF, TOLERANCE, order=5)
    for index, force in enumerate(original.getForces()):
        force.setForceGroup(index)
        if isinstance(force, openmm.NonbondedForce):
            force.setPMEParameters(alpha, *grid)
    platform = openmm.Platform.getPlatformByName("Reference")
    context = openmm.Context(original, openmm.VerletIntegrator(0.001), platform)
    context.setPositions(pdb.positions)

    def energy(openmm_state: openmm.State) -> float:
        found = openmm_state.getPotentialEnergy()
        return float(found.value_in_unit(unit.kilojoule_per_mole))

    whole = context.getState(getEnergy=True, getForces=True)
    expected = {
        BONDED[force.getName()]: energy(context.getState(getEnergy=True, groups=1 << index))
        for index, force in enumerate(original.getForces())
        if force.getName() in BONDED
    }
    assert len(expected) == len(BONDED)
    expected |= {
        "nonbonded": energy(whole) - sum(expected.values()),
        "potential": energy(whole),
    }
    settings = quiltmd.Nonbonded(cutoff=CUTOFF, pme_order=5, pme_alpha=alpha, pme_grid=grid)
    simulation = quiltmd.Simulation(system, state, settings, device="cpu", ranks=2)
    energies = simulation.energies()
    for term, value in expected.items():
        assert energies[term] == pytest.approx(value, rel=1e-5), term
    forces = whole.getForces(asNumpy=True).value_in_unit(unit.kilojoule_per_mole / unit.nanometer)
    assert relative_rms(simulation.forces(), forces) < 2e-5
