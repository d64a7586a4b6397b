# SPDX-License-Identifier: Apache-2.0
"""Molecules bonded to their own periodic images: which barostats serve them, and what is said."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import openmm
import pytest
from boxes import Array

import quiltmd
from quiltmd import CellRescaling, LangevinMiddle, MonteCarloBarostat, Nonbonded, Simulation, State

_SPACING = 0.5
_SIDES = np.array([4, 4, 4])
_CHOSEN = Nonbonded(cutoff=0.9, method="cutoff", potential_shift=True)
# Axes along which atoms are bonded to the next, across the boundary as well.
NETWORKS = {"chains": (0,), "sheets": (0, 1), "a crystal": (0, 1, 2)}


def network(axes: tuple[int, ...]) -> tuple[Any, State]:
    """Atoms of a cubic lattice, each bonded to its neighbours along some axes."""
    sites = np.indices(_SIDES).reshape(3, -1).T
    bonds: list[Array] = []
    for axis in axes:
        step = np.eye(3, dtype=int)[axis]
        others = np.ravel_multi_index(tuple(((sites + step) % _SIDES).T), tuple(_SIDES))
        bonds.append(np.stack([np.arange(len(sites)), others], axis=1))
    pairs = np.sort(np.concatenate(bonds), axis=1)
    n = len(sites)
    system = quiltmd.System.of(
        np.full(n, 12.0),
        sigma=0.3,
        epsilon=0.3,
        bonds=pairs,
        bond_parameters=np.tile([_SPACING, 2e4], (len(pairs), 1)),
        exclusions=pairs,
    )
    places = sites * _SPACING + np.random.default_rng(2).normal(0, 0.005, (n, 3))
    return system, State.start(system, places, np.diag(_SIDES * _SPACING))


def made(axes: tuple[int, ...], barostat: Any) -> Simulation:
    system, state = network(axes)
    bath = LangevinMiddle(300.0, 5.0, timestep=0.001, seed=1)
    return Simulation(system, state, _CHOSEN, bath, barostat=barostat, device="cpu")


@pytest.mark.parametrize("axes", NETWORKS.values(), ids=NETWORKS)
def test_the_monte_carlo_barostat_refuses_them_and_names_the_way_out(axes: tuple[int, ...]) -> None:
    words = r"bonded to its own periodic image.*atom \d+.*cell-rescaling"
    with pytest.raises(quiltmd.QuiltError, match=words) as refused:
        made(axes, MonteCarloBarostat(1.0, seed=1))
    assert "State.start" not in str(refused.value)


@pytest.mark.parametrize("axes", NETWORKS.values(), ids=NETWORKS)
def test_cell_rescaling_serves_them(axes: tuple[int, ...]) -> None:
    """Its virial is the slope of the energy, with the bonds across the boundary."""
    simulation = made(axes, CellRescaling(1.0, every=5, seed=1))
    simulation.draw_velocities(300.0, 1)
    before = np.linalg.det(simulation.box)
    simulation.run(50)
    assert np.linalg.det(simulation.box) != before
    system, state = simulation.system, simulation.state()

    def energy(scale: float) -> float:
        there = State(state.positions * scale, state.velocities, state.box * scale)
        return float(quiltmd.reference(system, there, _CHOSEN)[0]["potential"])

    slope = (energy(1 - 1e-6) - energy(1 + 1e-6)) / 2e-6
    assert np.trace(simulation.virial()) == pytest.approx(slope, rel=1e-4)


def test_molecules_that_are_only_cut_are_told_how_to_become_whole() -> None:
    system, state = network((0,))
    keep = np.all(np.abs(np.diff(state.positions[system.bonds], axis=1)[:, 0]) < 1.0, axis=1)
    pairs = np.asarray(system.bonds)[keep]
    chains = quiltmd.System.of(
        system.masses,
        system.charges,
        system.lj_types,
        system.lj_a,
        system.lj_b,
        bonds=pairs,
        bond_parameters=np.tile([_SPACING, 2e4], (len(pairs), 1)),
        exclusions=pairs,
    )
    moved = state.positions + np.array([0.9, 0, 0])
    cut = State(moved - np.floor(moved / 2.0) * 2.0, state.velocities, state.box)
    barostat = MonteCarloBarostat(1.0, seed=1)
    with pytest.raises(quiltmd.QuiltError, match=r"State\.start makes them whole"):
        Simulation(chains, cut, _CHOSEN, barostat=barostat, device="cpu")
    whole = State.start(chains, cut.positions, cut.box)
    Simulation(chains, whole, _CHOSEN, barostat=barostat, device="cpu")


def polymer(beads: int, box: Array, closed: bool) -> tuple[quiltmd.System, State]:
    """A chain along x with bonds, angles and torsions; closed: bonded to its own image."""
    first = np.arange(beads)

    def rows(atoms: int) -> Array:
        chosen = (first[:, None] + np.arange(atoms)) % beads
        return chosen if closed else chosen[: beads - atoms + 1]

    spacing = box[0, 0] / beads
    given = {"bond": [spacing, 1e3], "angle": [2.0, 50.0], "torsion": [3.0, 0.5, 5.0]}
    terms = {
        name: (rows(atoms), np.tile(given[name], (len(rows(atoms)), 1)))
        for atoms, name in enumerate(given, start=2)
    }
    system = quiltmd.System.of(np.full(beads, 12.0), sigma=0.3, epsilon=0.3, terms=terms)
    places = np.zeros((beads, 3))
    places[:, 0] = spacing * first
    places += np.random.default_rng(beads).normal(0, 0.02, places.shape)
    return system, State.start(system, places, box)


_SMALL = Nonbonded(cutoff=0.6, method="cutoff", potential_shift=True, dispersion_correction=False)


def energy_of_openmm(system: quiltmd.System, state: State) -> float:
    """Of bonds, angles and torsions, by the Reference platform."""
    made = openmm.System()
    made.setDefaultPeriodicBoxVectors(*(openmm.Vec3(*row) for row in state.box))
    for mass in system.masses:
        made.addParticle(mass)
    kinds = {
        "bond": (openmm.HarmonicBondForce(), "addBond"),
        "angle": (openmm.HarmonicAngleForce(), "addAngle"),
        "torsion": (openmm.PeriodicTorsionForce(), "addTorsion"),
    }
    for name, (force, add) in kinds.items():
        force.setUsesPeriodicBoundaryConditions(True)
        terms = system.terms[name]
        for atoms, values in zip(terms.atoms.tolist(), terms.parameters.tolist(), strict=True):
            numbers = [int(values[0]), *values[1:]] if name == "torsion" else values
            getattr(force, add)(*atoms, *numbers)
        made.addForce(force)
    context = openmm.Context(
        made, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference")
    )
    context.setPositions(state.positions)
    return float(context.getState(getEnergy=True).getPotentialEnergy()._value)


@pytest.mark.parametrize("beads", [4, 5, 9])
@pytest.mark.parametrize("width", [1.21, 1.6])
def test_polymers_through_the_boundary_of_a_small_box(width: float, beads: int) -> None:
    """Three bonds of them reach over more than half the box."""
    box = np.array([[1.0, 0, 0], [0.3, 1.1, 0], [-0.2, 0.3, 1.2]])
    box *= width * np.linalg.norm(np.linalg.inv(box), axis=0).max()  # between its closest faces
    system, state = polymer(beads, box, closed=True)
    energies, forces = quiltmd.reference(system, state, _SMALL)
    bonded = sum(energies[name] for name in ("bond", "angle", "torsion"))
    assert bonded == pytest.approx(energy_of_openmm(system, state), rel=1e-9)
    for ranks in (1, 3):
        simulation = Simulation(system, state, _SMALL, device="cpu", ranks=ranks, threads=1)
        assert simulation.energies()["potential"] == pytest.approx(energies["potential"], rel=1e-5)
        assert np.abs(simulation.forces() - forces).max() < 1e-5 * np.abs(forces).max()


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("closed", [False, True])
def test_terms_that_are_wider_than_patches_are_named(closed: bool, ranks: int) -> None:
    system, state = polymer(8, np.diag([3.2, 3.3, 3.4]), closed)
    short = replace(_SMALL, cutoff=0.3)  # patches of few atoms are twice as wide as it asks for
    words = (
        r"a torsion of atom \d+ \(A\d.*, atom \d.*, atom \d.*, atom \d.* is 1\.[1-3]\d nm wide, "
        r"too wide for patches of 0\.\d+ nm.*longer cutoff"
    )
    with pytest.raises(quiltmd.SimulationError, match=words):
        Simulation(system, state, short, device="cpu", ranks=ranks, threads=1).energies()
    wider = replace(_SMALL, cutoff=1.3)
    simulation = Simulation(system, state, wider, device="cpu", ranks=ranks, threads=1)
    expected = quiltmd.reference(system, state, wider)[0]
    assert simulation.energies()["torsion"] == pytest.approx(expected["torsion"], rel=1e-5)


_ENDS: dict[str, dict[str, Any]] = {
    "cut off": {"potential_shift": False},
    "corrected": {"potential_shift": False, "dispersion_correction": True},
    "shifted": {"potential_shift": True},
    "switched": {"switching": "potential", "switch_distance": 0.8},
}


@pytest.mark.parametrize("barostat", [MonteCarloBarostat, CellRescaling, None])
@pytest.mark.parametrize("ends", _ENDS)
def test_a_plain_cutoff_at_constant_pressure_is_warned_about(ends: str, barostat: Any) -> None:
    system, state = network((0,))
    whole = quiltmd.System.of(
        system.masses, system.charges, system.lj_types, system.lj_a, system.lj_b
    )
    chosen = {"dispersion_correction": False} | _ENDS[ends]
    nonbonded = Nonbonded(cutoff=0.9, method="cutoff", **chosen)
    acts = None if barostat is None else barostat(1.0, seed=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Simulation(whole, state, nonbonded, barostat=acts, device="cpu")
    found = [str(one.message) for one in caught if "without a tail correction" in str(one.message)]
    assert len(found) == (ends == "cut off" and barostat is not None)
