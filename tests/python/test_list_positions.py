# SPDX-License-Identifier: Apache-2.0
"""What a State says of pair lists and virtual sites holds as far as a run can have left it so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boxes import through_file, warm_water, water_box
from model_waters import model_water

import quiltmd
from quiltmd import (
    LangevinMiddle,
    Nonbonded,
    Simulation,
    State,
    System,
    VelocityVerlet,
)

SMALL = Nonbonded(cutoff=0.6, pme_alpha=4.0, pme_grid=(24, 24, 24))
INTEGRATORS: dict[str, Any] = {
    "langevin": LangevinMiddle(300, 1.0, 0.002, seed=4, remove_com_every=20),
    "verlet": VelocityVerlet(0.002, remove_com_every=20),
}
# What has nothing to do with the positions, or as good as nothing.
FALSE: dict[str, Any] = {
    "reversed": lambda state, noise: state.positions[::-1].copy(),
    "zero": lambda state, noise: 0 * state.positions,
    "noise": lambda state, noise: state.positions + 0.3 * noise,
    "one atom": lambda state, noise: _moved(state.positions, 5, 0.2),
    "another image": lambda state, noise: _moved(state.positions, 7, state.box[0, 0]),
    "all shifted": lambda state, noise: state.positions + np.array([0.0, 0.0, 0.3]),
}

pytestmark = pytest.mark.filterwarnings("ignore:a cutoff of 0.6 nm is shorter")


def _moved(positions: Any, atom: int, by: float) -> Any:
    moved = positions.copy()
    moved[atom, 0] += by
    return moved


def simulation(system: System, state: State, integrator: Any = None, ranks: int = 1) -> Simulation:
    given = integrator or INTEGRATORS["verlet"]
    return Simulation(system, state, SMALL, given, device="cpu", ranks=ranks, threads=1)


@pytest.fixture(scope="module")
def water() -> tuple[System, State]:
    return warm_water((6, 6, 6), 300)


@pytest.fixture(scope="module", params=INTEGRATORS)
def integrator(request: Any) -> Any:
    return INTEGRATORS[request.param]


@pytest.fixture(scope="module")
def run_states(integrator: Any, water: tuple[System, State]) -> list[State]:
    """As runs leave them: just after lists were built, and at any age of them."""
    run = simulation(*water, integrator)
    states = []
    for _ in range(24):
        states.append(run.state())
        run.run(1)
    return states


@pytest.mark.parametrize("kind", FALSE)
@pytest.mark.parametrize("step", [0, 1, 7, 19])
def test_lists_of_other_positions_change_no_energy(
    water: tuple[System, State], run_states: list[State], kind: str, step: int, tmp_path: Path
) -> None:
    """From Python, and from a checkpoint."""
    system, state = water[0], run_states[step]
    noise = np.random.default_rng(1).normal(size=state.positions.shape)
    crafted = replace(state, list_positions=FALSE[kind](state, noise))
    right = simulation(system, State(state.positions, state.velocities, state.box))
    for given in (crafted, through_file(crafted, tmp_path)):
        run = simulation(system, given)
        assert run.energies()["potential"] == pytest.approx(right.energies()["potential"], rel=1e-6)
        assert np.abs(run.forces() - right.forces()).max() < 0.5


@pytest.mark.parametrize("list_step", [0, 3, 15, 2**40])
def test_lists_of_another_step_change_no_energy(
    water: tuple[System, State], run_states: list[State], list_step: int
) -> None:
    state = run_states[19]
    right = simulation(water[0], replace(state, list_positions=None)).energies()["potential"]
    noise = np.random.default_rng(1).normal(size=state.positions.shape)
    other = replace(state, list_step=list_step, list_positions=state.positions + 0.3 * noise)
    found = simulation(water[0], other).energies()["potential"]
    assert found == pytest.approx(right, rel=1e-6)


@pytest.mark.parametrize("ranks", [1, 3])
def test_atoms_moved_by_hand_may_keep_the_lists_of_before(
    water: tuple[System, State], ranks: int
) -> None:
    """As `replace(state, positions=...)` leaves them."""
    system, state = water
    listed = simulation(system, state).state()
    shifted = replace(listed, positions=listed.positions + np.array([0.4, 0.0, 0.0]))
    found = simulation(system, shifted, ranks=ranks)
    assert found.energies()["potential"] == pytest.approx(
        simulation(system, listed).energies()["potential"], rel=1e-5
    )
    found.run(60)
    assert abs(found.energies()["conserved"]) < 1e6


def test_states_of_runs_go_on_with_the_same_bits(
    water: tuple[System, State], run_states: list[State], integrator: Any, tmp_path: Path
) -> None:
    """Whatever the age of their lists, at the end of an epoch too."""
    run = simulation(*water, integrator)
    run.run(60)
    for step in (1, 2, 15, 19, 20, 21):
        other = simulation(water[0], through_file(run_states[step], tmp_path), integrator)
        other.run(60 - step)
        assert quiltmd.digest(other.state()) == quiltmd.digest(run.state())


def test_virtual_sites_out_of_place_are_placed(tmp_path: Path) -> None:
    """A State of a run whose sites are elsewhere has the energy of one whose sites are right."""
    made, start = model_water("tip4pew", (5, 5, 5))
    system = System.from_openmm(made)
    run = simulation(system, start)
    run.minimize(500, 20)
    run.run(7)
    state = run.state()
    right = run.energies()["potential"]
    moved = state.positions.copy()
    moved[system.sites[:, 0]] += 0.02
    found = simulation(system, through_file(replace(state, positions=moved), tmp_path))
    assert found.energies()["potential"] == pytest.approx(right, rel=1e-6)
    exact = simulation(system, through_file(state, tmp_path))
    assert quiltmd.digest(exact.state()) == quiltmd.digest(state)


def test_without_a_box() -> None:
    system, start = water_box((3, 3, 3))
    state = State(start.positions, start.velocities, None)
    plain = Nonbonded(method="cutoff", cutoff=0.5)

    def energy(given: State) -> float:
        run = Simulation(system, given, plain, device="cpu", threads=1)
        return run.energies()["potential"]

    for kind in ("reversed", "zero", "noise"):
        noise = np.random.default_rng(1).normal(size=state.positions.shape)
        crafted = replace(state, list_positions=FALSE[kind](state, noise))
        assert energy(crafted) == pytest.approx(energy(state), rel=1e-6)
