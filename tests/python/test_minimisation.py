# SPDX-License-Identifier: Apache-2.0
"""Minimisation: how deep it gets, constraints, any number of ranks, bad starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import benchmark_systems
import numpy as np
import pytest
from boxes import constraint_error, lj_table, water_box

import quiltmd
from quiltmd import LangevinMiddle, Nonbonded, Simulation, State

PME = Nonbonded(cutoff=0.8, pme_alpha=3.9, pme_grid=(27, 27, 27), pme_order=5)


@pytest.fixture(scope="module")
def peptide(alanine: tuple[Path, Path]) -> Any:
    return quiltmd.load(*alanine)


def make(loaded: Any, nonbonded: Nonbonded = PME, **more: Any) -> Simulation:
    settings = {"device": "cpu", "threads": 1, **more}
    return Simulation(*loaded, nonbonded, LangevinMiddle(seed=1), **settings)


@pytest.fixture(scope="module")
def lowered(peptide: Any) -> tuple[dict[str, Any], State]:
    simulation = make(peptide)
    found = simulation.minimize(10.0, 80)
    return found, simulation.state()


def test_a_minimum_is_approached(peptide: Any, lowered: tuple[dict[str, Any], State]) -> None:
    """Steepest descent takes some 400 evaluations to get there."""
    found, state = lowered
    assert found["potential"] < -31000
    assert constraint_error(peptide[0], state.positions) < 1e-5
    assert make((peptide[0], state)).energies()["potential"] == pytest.approx(
        found["potential"], abs=0.1
    )


def test_no_place_is_left_behind(peptide: Any) -> None:
    """Stiff bonds settle as well as the water around them: the largest force counts.

    That of a single start changes with the last bits of forces.
    """
    system, state = peptide
    largest = []
    for seed in (1, 2, 3):
        noise = np.random.default_rng(seed).normal(0, 0.02, state.positions.shape)
        simulation = make((system, State.start(system, state.positions + noise, state.box)))
        found = simulation.minimize(10.0, 200)
        assert found["potential"] < -35500
        largest.append(found["largest_force"])
    assert np.median(largest) < 200


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_do_not_matter(
    peptide: Any, lowered: tuple[dict[str, Any], State], ranks: int
) -> None:
    simulation = make(peptide, ranks=ranks)
    assert simulation.minimize(10.0, 80) == lowered[0]
    assert quiltmd.digest(simulation.state()) == quiltmd.digest(lowered[1])


def test_waters_stay_whole() -> None:
    """From a lattice of waters turned at random, some turn farther than constraints can follow."""
    system, state = benchmark_systems.water(3.1)
    simulation = make((system, state), Nonbonded())
    assert simulation.minimize(200.0, 200)["converged"]
    assert constraint_error(system, simulation.state().positions) < 1e-5


@pytest.mark.parametrize(("stretch", "noise"), [(1.03, 0.0), (1.0, 0.02)])
def test_constraints_need_not_hold_at_the_start(peptide: Any, stretch: float, noise: float) -> None:
    """Longer bonds have lower energies than any that constraints allow; noise turns others over."""
    system, state = peptide
    positions = state.positions + np.random.default_rng(1).normal(0, noise, state.positions.shape)
    heavy, light = system.constraints[np.ptp(system.masses[system.constraints], axis=1) > 0].T
    positions[light] = positions[heavy] + stretch * (positions[light] - positions[heavy])
    simulation = make((system, State.start(system, positions, state.box)))
    assert simulation.minimize(10.0, 80)["potential"] < -31000
    assert constraint_error(system, simulation.state().positions) < 1e-5


def test_two_atoms_find_the_distance_of_their_minimum() -> None:
    """From an overlap, where the force is a million times that of any other start."""
    sigma, epsilon = 0.3, 1.0
    table = lj_table(np.array([sigma]), np.array([epsilon]))
    system = quiltmd.System.of(np.full(2, 20.0), np.zeros(2), np.zeros(2, int), *table)
    state = State.start(system, np.array([[1.0, 1.0, 1.0], [1.12, 1.0, 1.0]]), 3 * np.eye(3))
    cutoff = Nonbonded(cutoff=1.0, method="cutoff", dispersion_correction=False)
    simulation = make((system, state), cutoff)
    found = simulation.minimize(0.01, 200)
    assert found["converged"]
    positions = simulation.state().positions
    distance = np.linalg.norm(positions[1] - positions[0])
    assert distance == pytest.approx(2 ** (1 / 6) * sigma, abs=1e-5)
    assert found["potential"] == pytest.approx(-epsilon, abs=1e-4)


def test_it_stops_when_asked() -> None:
    simulation = make(water_box((7, 7, 7)), Nonbonded(cutoff=0.8, pme_tolerance=1e-3))
    seen: list[tuple[int, float, float]] = []
    found = simulation.minimize(0.0, 50, lambda *now: seen.append(now) or len(seen) > 7)
    assert found["iterations"] == 7
    assert [now[0] for now in seen] == list(range(8))
    energies = [now[1] for now in seen]
    assert energies == sorted(energies, reverse=True)
