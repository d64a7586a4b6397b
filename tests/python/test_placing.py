# SPDX-License-Identifier: Apache-2.0
"""Atoms that are placed keep the pair lists that serve them, and bits are those of the State."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from boxes import warm_water, water_box

import quiltmd
from quiltmd import LangevinMiddle, Nonbonded, Simulation, State, System, VelocityVerlet
from quiltmd.errors import QuiltError

SMALL = Nonbonded(cutoff=0.6, pme_alpha=4.0, pme_grid=(24, 24, 24))
INTEGRATORS: dict[str, Any] = {
    "langevin": LangevinMiddle(300, 1.0, 0.002, seed=4, remove_com_every=20),
    "verlet": VelocityVerlet(0.002, remove_com_every=20),
}
pytestmark = pytest.mark.filterwarnings("ignore:a cutoff of 0.. nm is shorter")


def simulation(system: System, state: State, integrator: Any = None, **where: Any) -> Simulation:
    given = integrator or INTEGRATORS["verlet"]
    return Simulation(system, state, SMALL, given, **{"device": "cpu", "threads": 1, **where})


@pytest.fixture(scope="module")
def water() -> tuple[System, State]:
    return warm_water((6, 6, 6), 300)


def nearby(state: State, by: float = 1e-3) -> Any:
    """Molecules of three atoms, each moved as a whole by up to this much."""
    moves = np.random.default_rng(1).uniform(-by, by, (len(state.positions) // 3, 3))
    return state.positions + np.repeat(moves, 3, axis=0)


@pytest.mark.parametrize("ranks", [1, 3])
def test_energies_and_forces_are_those_of_lists_built_anew(
    water: tuple[System, State], ranks: int
) -> None:
    system, state = water
    run = simulation(system, state, ranks=ranks)
    built = {row["name"]: row["calls"] for row in run.profile()}["layout.place"]
    for scale in (1e-3, 3e-3, 1e-2, 1e-4):
        positions = nearby(state, scale)
        run.place(positions)
        fresh = simulation(system, replace(state, positions=positions))
        assert run.energies()["potential"] == pytest.approx(fresh.energies()["potential"], rel=1e-7)
        assert np.abs(run.forces() - fresh.forces()).max() < 0.02
        assert run.state().positions.tobytes() == positions.tobytes()
        assert run.state().velocities.tobytes() == state.velocities.tobytes()
    rows = {row["name"]: row["calls"] for row in run.profile()}
    assert rows["layout.place"] == built  # no lists were built


@pytest.mark.parametrize("by", [1e-5, 1e-4, 1e-3, 1e-2])
def test_pairs_that_approach_are_found_at_any_distance(
    water: tuple[System, State], by: float
) -> None:
    """All molecules go towards one point: pairs come nearer by twice what each atom moves."""
    system, state = water
    run = simulation(system, state)
    centres = state.positions.reshape(-1, 3, 3).mean(axis=1)
    inward = centres.mean(axis=0) - centres
    moves = by * inward / np.linalg.norm(inward, axis=1, keepdims=True)
    positions = state.positions + np.repeat(moves, 3, axis=0)
    run.place(positions)
    fresh = simulation(system, replace(state, positions=positions))
    assert run.energies()["potential"] == pytest.approx(fresh.energies()["potential"], rel=5e-7)
    assert np.abs(run.forces() - fresh.forces()).max() < 0.02


@pytest.mark.parametrize("steps", [1, 4, 7, 13])
def test_lists_of_any_age_have_the_bits_of_the_state(
    water: tuple[System, State], steps: int
) -> None:
    """Lists count by their steps in a run, by how far atoms have moved in a State."""
    run = simulation(*water, INTEGRATORS["langevin"])
    run.run(steps)
    other = simulation(*water, INTEGRATORS["langevin"])
    other.set_state(run.state())
    assert other.energies()["potential"] == run.energies()["potential"]
    assert other.forces().tobytes() == run.forces().tobytes()


@pytest.mark.parametrize("kind", INTEGRATORS)
@pytest.mark.parametrize("steps", [0, 7, 40])
def test_runs_go_on_with_the_bits_of_the_state(
    water: tuple[System, State], kind: str, steps: int
) -> None:
    """In a simulation that has never seen the lists, on other ranks."""
    system, state = water
    run = simulation(system, state, INTEGRATORS[kind])
    run.run(steps)
    run.place(nearby(run.state()))
    placed, heat = run.state(), run.heat()
    other = simulation(system, placed, INTEGRATORS[kind], ranks=2)
    other.set_state(placed, heat)
    assert other.energies() == run.energies()
    assert other.forces().tobytes() == run.forces().tobytes()
    for each in (run, other):
        each.run(43)
    assert quiltmd.digest(other.state()) == quiltmd.digest(run.state())
    assert other.energies() == run.energies()


def test_the_same_state_again_has_its_bits(water: tuple[System, State]) -> None:
    """Set over lists that are there, and in a simulation that builds them."""
    system, state = water
    run = simulation(system, state)
    run.place(nearby(state))
    placed = run.state()
    run.place(nearby(state, 2e-3))
    run.set_state(placed)
    run.run(23)
    other = simulation(system, placed)
    other.run(23)
    assert quiltmd.digest(other.state()) == quiltmd.digest(run.state())


def test_far_from_the_lists_they_are_built_anew(water: tuple[System, State]) -> None:
    system, state = water
    run = simulation(system, state)
    positions = nearby(state, 0.1)
    run.place(positions)
    placed = run.state()
    assert placed.list_positions.tobytes() == positions.tobytes()
    fresh = simulation(system, replace(state, positions=positions))
    assert run.energies() == fresh.energies()


def test_heat_and_step_stay(water: tuple[System, State]) -> None:
    run = simulation(*water, INTEGRATORS["langevin"])
    run.run(10)
    heat = run.heat()
    run.place(nearby(run.state()))
    assert (run.step, run.heat()) == (10, heat)


@pytest.mark.filterwarnings("ignore:there is no periodic box")
def test_without_a_box() -> None:
    system, start = water_box((3, 3, 3))
    state = State(start.positions, start.velocities, None)
    plain = Nonbonded(method="cutoff", cutoff=0.5)
    run = Simulation(system, state, plain, device="cpu", threads=1)
    run.place(nearby(state))
    fresh = Simulation(
        system, replace(state, positions=nearby(state)), plain, device="cpu", threads=1
    )
    assert run.energies() == pytest.approx(fresh.energies(), rel=1e-5)


def test_other_than_positions_is_refused(water: tuple[System, State]) -> None:
    system, state = water
    run = simulation(system, state)
    before = run.energies()
    broken = state.positions.copy()
    broken[7, 1] = np.nan
    for wrong in (broken, state.positions[:-1], "positions", None):
        with pytest.raises(QuiltError, match="positions"):
            run.place(wrong)
    assert run.energies() == before
    run.run(3)


def test_in_workers(water: tuple[System, State]) -> None:
    system, state = water
    here, there = simulation(system, state), simulation(system, state, device="worker:cpu")
    for run in (here, there):
        run.place(nearby(state))
        run.run(5)
    assert quiltmd.digest(there.state()) == quiltmd.digest(here.state())
    assert there.heat() == here.heat()
