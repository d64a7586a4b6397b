# SPDX-License-Identifier: Apache-2.0
"""Torsion maps (CMAP), Urey-Bradley terms and harmonic impropers against OpenMM's Reference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import openmm
import pytest
from openmm import unit

import quiltmd
from quiltmd import InputError, Nonbonded, State, System

pytestmark = pytest.mark.filterwarnings(
    "ignore:atom 1 .* are bonded and yet repel:quiltmd.QuiltWarning"
)

ATOMS, BOX = 12, 3.0
SETTINGS = Nonbonded(method="cutoff", cutoff=0.9)


def chain() -> tuple[openmm.System, np.ndarray]:
    """A zigzag without charges, its ends far enough apart; random bends."""
    rng = np.random.default_rng(3)
    system = openmm.System()
    system.setDefaultPeriodicBoxVectors(*(BOX * np.eye(3)))
    bonds, pairs = openmm.HarmonicBondForce(), openmm.NonbondedForce()
    pairs.setNonbondedMethod(openmm.NonbondedForce.PME)
    for i in range(ATOMS):
        system.addParticle(12)
        pairs.addParticle(0, 0.1, 0)
        if i:
            bonds.addBond(i - 1, i, 0.15, 1e5)
    system.addForce(bonds)
    system.addForce(pairs)
    steps = np.array([[0.12, 0.09 * (-1) ** i, 0.06 * (i % 3 - 1)] for i in range(ATOMS)])
    return system, np.cumsum(steps + rng.normal(0, 0.03, steps.shape), axis=0)


def add_force(system: openmm.System, force: Any) -> int:
    index = system.addForce(force)
    force.setForceGroup(1)
    return int(index)


def reference_of(system: openmm.System, positions: np.ndarray) -> tuple[float, np.ndarray]:
    """Energy and forces of force group 1, by OpenMM in double precision."""
    platform = openmm.Platform.getPlatformByName("Reference")
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), platform)
    context.setPositions(positions)
    state = context.getState(getEnergy=True, getForces=True, groups={1})
    force = unit.kilojoule_per_mole / unit.nanometer
    return (
        state.getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole),
        state.getForces(asNumpy=True).value_in_unit(force),
    )


def maps_of(size: int, count: int) -> openmm.CMAPTorsionForce:
    rng = np.random.default_rng(size)
    force = openmm.CMAPTorsionForce()
    for _ in range(count):
        force.addMap(size, rng.normal(0, 5, size * size).tolist())
    for i in range(ATOMS - 4):
        force.addTorsion(i % count, i, i + 1, i + 2, i + 3, i + 1, i + 2, i + 3, i + 4)
    return force


def assert_agrees(system: System, positions: np.ndarray, name: str, expected: Any) -> None:
    """Energy and forces of one kind, of the core and of its reference."""
    state = State.start(system, positions, BOX * np.eye(3), None)
    without = replace(system, bonds=[], bond_parameters=[])
    energy, forces = expected
    for found, there in (
        quiltmd.reference(without, state, SETTINGS),
        core_of(without, state),
    ):
        assert found[name] == pytest.approx(energy, rel=1e-6, abs=1e-5)
        np.testing.assert_allclose(there, forces, rtol=1e-6, atol=1e-6 * np.abs(forces).max())


def core_of(system: System, state: State) -> tuple[dict[str, float], np.ndarray]:
    simulation = quiltmd.Simulation(system, state, SETTINGS, device="cpu")
    return simulation.energies(), simulation.forces()


@pytest.mark.parametrize("size", [24, 7])
def test_maps_agree_with_openmm(size: int) -> None:
    original, positions = chain()
    add_force(original, maps_of(size, 2))
    system = System.from_openmm(original, nonbonded=SETTINGS)
    assert len(system.cmaps) == ATOMS - 4
    assert_agrees(system, positions, "cmap", reference_of(original, positions))


def test_urey_bradley_agrees_with_openmm() -> None:
    original, positions = chain()
    plain = System.from_openmm(original, nonbonded=SETTINGS)
    force = openmm.HarmonicBondForce()
    for i in range(ATOMS - 2):
        force.addBond(i, i + 2, 0.26, 9000)
    add_force(original, force)
    first = np.arange(ATOMS - 2)
    system = replace(
        plain,
        urey_bradleys=np.column_stack([first, first + 2]),
        urey_bradley_parameters=np.tile([0.26, 9000.0], (len(first), 1)),
    )
    assert_agrees(system, positions, "urey_bradley", reference_of(original, positions))


def test_impropers_agree_with_openmm() -> None:
    original, positions = chain()
    plain = System.from_openmm(original, nonbonded=SETTINGS)
    turn = "0.5*k*min(d, 2*pi-d)^2; d = abs(theta-theta0); pi = 3.141592653589793"
    force = openmm.CustomTorsionForce(turn)
    force.addPerTorsionParameter("theta0")
    force.addPerTorsionParameter("k")
    values = [[0.3 * (i % 4), 150.0] for i in range(ATOMS - 3)]
    for i, value in enumerate(values):
        force.addTorsion(i, i + 1, i + 2, i + 3, value)
    add_force(original, force)
    system = replace(
        plain,
        impropers=np.arange(ATOMS - 3)[:, None] + np.arange(4),
        improper_parameters=values,
    )
    assert_agrees(system, positions, "improper", reference_of(original, positions))


def test_energies_of_later_steps_do_not_pile_up() -> None:
    original, positions = chain()
    add_force(original, maps_of(24, 2))
    system = System.from_openmm(original, nonbonded=SETTINGS)
    state = State.start(system, positions, BOX * np.eye(3), None)
    simulation = quiltmd.Simulation(system, state, SETTINGS, device="cpu")
    for _ in range(2):
        simulation.run(3)
        expected, _ = quiltmd.reference(system, simulation.state(), SETTINGS)
        energies = simulation.energies()
        for name in ("bond", "cmap", "potential"):
            assert energies[name] == pytest.approx(expected[name], rel=1e-5, abs=1e-3), name


def test_maps_that_cannot_be_represented_are_refused() -> None:
    original, _ = chain()
    force = maps_of(24, 1)
    force.addMap(12, [0.0] * 144)
    original.addForce(force)
    with pytest.raises(InputError, match="different sizes"):
        System.from_openmm(original, nonbonded=SETTINGS)
    original, _ = chain()
    force = maps_of(24, 1)
    force.addTorsion(0, 0, 1, 2, 3, 4, 5, 6, 7)
    original.addForce(force)
    with pytest.raises(InputError, match="five atoms in a row"):
        System.from_openmm(original, nonbonded=SETTINGS)
