# SPDX-License-Identifier: Apache-2.0
"""Excluded pairs at any distance: what the reciprocal sum holds of them is taken back, within the
cutoff by the pair kernels, beyond it by terms."""

from __future__ import annotations

from typing import Any

import numpy as np
import openmm
import pytest
from boxes import COULOMB, Array, engine, lj_table, random_rotations, relative_rms
from openmm_reference import energy_and_forces

import quiltmd

CUTOFF, EDGE = 0.9, 3.3
SETTINGS = quiltmd.Nonbonded(cutoff=CUTOFF, pme_alpha=3.0, pme_grid=(36, 36, 36), pme_order=5)
ORIGIN = np.array([3.1, 0.2, 1.7])  # so that molecules lie across the faces of the cell


def molecule() -> tuple[Any, Any]:
    """A chain of 1.5 nm with all of its pairs excluded, two excluded pairs that nothing holds
    together, and other atoms, in a box of 3.3 nm."""
    rng = np.random.default_rng(3)
    chain = ORIGIN + np.stack([0.12 * np.arange(13), 0.05 * (np.arange(13) % 2), np.zeros(13)], 1)
    sites = 0.3 * np.indices((10, 10, 10)).reshape(3, -1).T + rng.uniform(-0.05, 0.05, (1000, 3))
    away = chain[:, None] - sites[None]
    away -= EDGE * np.round(away / EDGE)
    sites = sites[np.linalg.norm(away, axis=2).min(0) > 0.25][:400]
    positions = np.concatenate([chain, sites])
    charges = rng.uniform(-0.8, 0.8, len(positions))
    charges[2] = 0  # excluded pairs without charge are no terms
    charges -= np.where(charges != 0, charges.sum() / np.count_nonzero(charges), 0)
    inside = np.stack(np.triu_indices(13, 1), 1)
    exclusions = np.concatenate([inside, [[20, 330], [21, 400]], inside[:4]])  # some named twice
    bonds = np.stack([np.arange(12), np.arange(1, 13)], 1)
    a, b = lj_table(np.array([0.25]), np.array([0.3]))
    system = quiltmd.System.of(
        np.full(len(positions), 16.0),
        charges,
        np.zeros(len(positions), np.int32),
        a,
        b,
        bonds=bonds,
        bond_parameters=np.tile([0.13, 2e5], (12, 1)),
        exclusions=exclusions,
    )
    return system, quiltmd.State.start(system, positions, np.eye(3) * EDGE)


def openmm_reference(system: Any, state: Any) -> tuple[float, Array]:
    """Energy and forces of OpenMM's Reference platform."""
    theirs = openmm.System()
    theirs.setDefaultPeriodicBoxVectors(*state.box)
    pairs = openmm.NonbondedForce()
    pairs.setNonbondedMethod(openmm.NonbondedForce.PME)
    pairs.setCutoffDistance(CUTOFF)
    pairs.setPMEParameters(3.0, 36, 36, 36)
    pairs.setExceptionsUsePeriodicBoundaryConditions(True)
    for charge in system.charges:
        theirs.addParticle(16.0)
        pairs.addParticle(charge, 0.25, 0.3)
    for i, j in {(int(i), int(j)) for i, j in system.exclusions}:
        pairs.addException(i, j, 0, 1, 0)
    bonds = openmm.HarmonicBondForce()
    bonds.setUsesPeriodicBoundaryConditions(True)
    for (i, j), (length, k) in zip(system.bonds, system.bond_parameters, strict=True):
        bonds.addBond(int(i), int(j), length, k)
    theirs.addForce(pairs)
    theirs.addForce(bonds)
    return energy_and_forces(theirs, state.positions)


@pytest.mark.parametrize(("ranks", "patch_reach"), [(1, 1), (3, 1), (2, 2)])
def test_a_molecule_longer_than_the_cutoff(ranks: int, patch_reach: int) -> None:
    system, state = molecule()
    energy, forces = openmm_reference(system, state)
    core = engine(system, state, SETTINGS, ranks=ranks, patch_reach=patch_reach)
    assert relative_rms(core.forces(), forces) < 3e-6
    exact, _ = quiltmd.reference(system, state, SETTINGS)
    found = core.energies()
    error = 3e-6 * max(map(abs, exact.values()))  # terms of both signs, larger than their sum
    # The mesh has what is left of the energy of each charge with itself, in single precision: to a
    # unit of its last place.
    alone = 138.935 * 3.0 / np.sqrt(np.pi) * float((system.charges**2).sum())
    errors = {"pme": error + 1.2e-7 * alone, "potential": error + 1.2e-7 * alone}
    assert found["potential"] == pytest.approx(energy, abs=errors["potential"])
    for name, value in exact.items():
        assert found[name] == pytest.approx(value, abs=errors.get(name, error))


def two_ions(separation: Array, excluded: bool = True) -> tuple[Any, Any]:
    system = quiltmd.System.of(
        np.full(2, 16.0),
        [1.0, -1.0],
        np.zeros(2, np.int32),
        *lj_table(np.array([0.25]), np.array([0.0])),
        exclusions=[[0, 1]] if excluded else [],
    )
    positions = np.stack([ORIGIN, ORIGIN + separation])
    return system, quiltmd.State.start(system, positions, np.eye(3) * EDGE)


@pytest.mark.parametrize(
    "distance", [1e-5, 0.03, 0.034, 0.3, 0.89999995, 0.9, 0.90000005, 1.2, 1.6, 1.64999]
)
def test_any_distance(distance: float) -> None:
    """At the cutoff as elsewhere: not once too often, not once too few."""
    rng = np.random.default_rng(5)
    for rotation in random_rotations(rng, 4):
        direction = rotation[0] if distance < 1.2 else np.array([1.0, 0, 0])
        system, state = two_ions(distance * direction)
        core = engine(system, state, SETTINGS)
        energies, forces = quiltmd.reference(system, state, SETTINGS)
        found = core.energies()["potential"]
        assert found == pytest.approx(energies["potential"], abs=2e-3)  # of some 500
        np.testing.assert_allclose(core.forces(), forces, atol=5e-4 * COULOMB / EDGE**2)


def test_energy_is_conserved_across_the_cutoff() -> None:
    """Two excluded ions fly past each other and out of the cutoff, feeling their images only."""
    system, state = two_ions(np.array([0.05, 0.02, 0.0]))
    start = quiltmd.State(
        state.positions, np.array([[-0.6, 0.1, 0.0], [0.6, -0.1, 0.2]]), state.box
    )
    simulation = quiltmd.Simulation(
        system,
        start,
        quiltmd.Nonbonded(cutoff=CUTOFF, pme_alpha=3.0, pme_grid=(64, 64, 64)),
        quiltmd.VelocityVerlet(0.002, remove_com_every=0),
        device="cpu",
    )
    total = []
    for _ in range(19):  # after that they are farther apart than half of the box
        energies = simulation.energies()
        total.append(energies["kinetic"] + energies["potential"])
        simulation.run(25)
    ends = simulation.state().positions
    assert np.linalg.norm(ends[1] - ends[0]) > 1.15
    assert np.ptp(total) < 0.05
