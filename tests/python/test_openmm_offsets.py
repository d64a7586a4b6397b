# SPDX-License-Identifier: Apache-2.0
"""Parameter offsets of NonbondedForce: energies at any values of their parameters are OpenMM's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import openmm
import pytest
from openmm_reference import energy_and_forces

import quiltmd
from quiltmd import QuiltError

RNG = np.random.default_rng(5)
POSITIONS = np.array([[x, y, z] for x in range(2) for y in range(2) for z in range(2)]) * 0.4
POSITIONS = POSITIONS + 0.05 * RNG.random((8, 3)) + 1.0
BOX = np.eye(3) * 2.5
CHARGES = np.array([0.3, -0.3, 0.4, -0.4, 0.2, -0.2, 0.1, -0.1])
SOME = {"charges": 0.3, "size": 0.4}


def nonbonded_system(defaults: Mapping[str, float], *, pme: bool = False) -> tuple[Any, Any]:
    system, force = openmm.System(), openmm.NonbondedForce()
    for charge in CHARGES:
        system.addParticle(12.0)
        force.addParticle(charge, 0.3, 0.5)
    bonds = openmm.HarmonicBondForce()
    for k in range(3):
        bonds.addBond(k, k + 1, 0.4, 100.0)
        force.addException(k, k + 1, 0.0, 0.3, 0.0)
    force.addException(0, 3, 0.02, 0.28, 0.2)
    for name, value in defaults.items():
        force.addGlobalParameter(name, value)
    system.addForce(bonds)
    system.addForce(force)
    if pme:
        system.setDefaultPeriodicBoxVectors(*BOX)
        force.setNonbondedMethod(openmm.NonbondedForce.Ewald)
        force.setEwaldErrorTolerance(1e-7)
        force.setUseDispersionCorrection(False)
    return system, force


def with_all_offsets() -> Any:
    system, force = nonbonded_system({"charges": 1.0, "size": 0.0})
    force.addParticleParameterOffset("charges", 0, 0.5, 0.0, 0.0)
    force.addParticleParameterOffset("size", 0, -0.1, 0.05, 0.3)
    force.addParticleParameterOffset("size", 5, 0.0, 0.02, -0.2)
    force.addExceptionParameterOffset("charges", 3, 0.05, 0.0, 0.0)
    force.addExceptionParameterOffset("size", 3, 0.0, 0.02, 0.1)
    force.addExceptionParameterOffset("size", 0, 0.03, 0.0, 0.1)  # of one that excludes
    return system


@pytest.mark.parametrize("values", [{}, SOME, {"size": 1.0}], ids=str)
def test_energies_and_forces_are_those_of_openmm(values: dict[str, float]) -> None:
    system = with_all_offsets()
    read = quiltmd.System.from_openmm(system, parameters=values)
    state = quiltmd.State.start(read, POSITIONS, None)
    energies, forces = quiltmd.reference(read, state)
    context = openmm.Context(
        system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference")
    )
    context.setPositions(POSITIONS)
    for name, value in values.items():
        context.setParameter(name, value)
    found = context.getState(energy=True, forces=True)
    expected = found.getPotentialEnergy()._value
    assert energies["potential"] == pytest.approx(expected, rel=1e-8)
    np.testing.assert_allclose(forces, found.getForces(asNumpy=True)._value, rtol=1e-6, atol=1e-5)


def test_values_that_nobody_chose_are_told() -> None:
    system = with_all_offsets()
    with pytest.warns(quiltmd.QuiltWarning, match="default values, charges = 1, size = 0"):
        read = quiltmd.System.from_openmm(system)
    assert read.charges[0] == pytest.approx(0.8)
    with pytest.raises(QuiltError, match="no global parameter lambda, only charges, size"):
        quiltmd.System.from_openmm(system, parameters={"lambda": 1.0})
    with pytest.raises(QuiltError, match="must be a number"):
        quiltmd.System.from_openmm(system, parameters={"size": float("nan")})


def test_charges_that_a_parameter_scales_are_alchemical_charges() -> None:
    """The states of `decouple` are those of the parameter."""
    system, force = nonbonded_system({"on": 1.0}, pme=True)
    for atom in (6, 7):
        force.setParticleParameters(atom, 0.0, 0.3, 0.5)
        force.addParticleParameterOffset("on", atom, CHARGES[atom], 0.0, 0.0)
    path = (0.0, 0.4, 1.0)
    full = quiltmd.System.from_openmm(system, parameters={"on": 1.0})
    chosen = quiltmd.decouple(full, [6, 7], path, (0, 0, 0), intramolecular="scale")
    state = quiltmd.State.start(full, POSITIONS, BOX)
    nonbonded = quiltmd.Nonbonded(cutoff=1.0, pme_grid=(64,) * 3, pme_alpha=4.0)
    found = quiltmd.Simulation(chosen, state, nonbonded, device="cpu", ranks=1).state_energies()
    expected = []
    for gone in path:
        force.setGlobalParameterDefaultValue(0, 1 - gone)
        expected.append(energy_and_forces(system, POSITIONS)[0])
    np.testing.assert_allclose(found, np.array(expected) - expected[0], atol=2e-3)
