# SPDX-License-Identifier: Apache-2.0
"""Atoms at the same point: an error that names them where a force would have no direction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from boxes import engine, lj_table

from quiltmd import Nonbonded, QuiltError, Simulation, SimulationError, State, System
from quiltmd.description.sites import Site, site_fields

BOX = np.array([[3.0, 0, 0], [0.7, 3.0, 0], [-0.4, 0.9, 3.0]])
PLACES = np.array([[0.1, 0.2, 0.3], [1.0, 1.2, 1.9], [2.0, 0.4, 1.5], [0.1, 0.2, 0.3]])  # 0 and 3
OTHER = [[0, 1]]


def make(charges: Any = (0.4, -0.4, 0.4, -0.4), epsilon: float = 0.5, **terms: Any) -> Any:
    table = lj_table(np.array([0.3]), np.array([epsilon]))
    return System.of(np.full(4, 20.0), np.array(charges), np.zeros(4, int), *table, **terms)


def simulation(
    system: Any, apart: Any = (0, 0, 0), box: Any = BOX, method: Any = "pme"
) -> Simulation:
    places = PLACES.copy()
    places[3] += apart
    state = State(places, np.zeros((4, 3)), box, step=7)
    settings = Nonbonded(method=method) if box is None else Nonbonded(cutoff=0.9, method=method)
    return Simulation(system, state, settings, device="cpu")


pytestmark = pytest.mark.filterwarnings("ignore::quiltmd.QuiltWarning")


@pytest.mark.parametrize(
    "apart", [(0, 0, 0), (3e-7, 0, -4e-7), 2 * BOX[0] - BOX[1] + BOX[2], -BOX[2] + [0, 0, 1e-8]]
)
@pytest.mark.parametrize("method", ["pme", "cutoff"])
def test_two_atoms_at_a_point_are_named(apart: Any, method: Any) -> None:
    with pytest.raises(SimulationError, match=r"atom 1 \(A0 .*atom 4 \(A3 .*same point") as caught:
        simulation(make(), apart, method=method)
    assert caught.value.step == 7


def test_without_a_box() -> None:
    with pytest.raises(SimulationError, match=r"atom 1 .*atom 4 .*same point"):
        simulation(make(), box=None, method="no-cutoff")
    assert np.isfinite(simulation(make(), BOX[0], None, "no-cutoff").forces()).all()


@pytest.mark.parametrize("at", np.linspace(0, 1, 11))
def test_wherever_the_point_is(at: float) -> None:
    """At faces of the cell and of the cubes by which atoms are sorted, too."""
    shift = at * BOX.sum(axis=0) - PLACES[0]
    for image in (0 * BOX[0], BOX[0], -BOX[1], BOX[2]):
        places = PLACES + shift
        places[3] += image + 2e-7 * np.array([1, -1, 1])
        state = State(places, np.zeros((4, 3)), BOX)
        with pytest.raises(SimulationError, match=r"atom 1 .*atom 4 .*same point"):
            Simulation(make(), state, Nonbonded(cutoff=0.9), device="cpu")


def test_a_state_set_later_is_searched_and_the_one_before_stays() -> None:
    running = simulation(make(), (0.3, 0, 0))
    before = running.state()
    same = State(PLACES, np.zeros((4, 3)), BOX)
    with pytest.raises(SimulationError, match="same point"):
        running.set_state(same)
    assert (running.state().positions == before.positions).all()
    running.run(2)


def test_atoms_a_little_apart_can_be_minimised() -> None:
    running = simulation(make(), (1e-5, 0, 0))
    with pytest.raises(QuiltError, match=r"atom [14] .*overlaps"):
        running.forces()
    outcome = running.minimize(100.0, 500)
    assert outcome["converged"], outcome
    assert np.linalg.norm(running.positions()[3] - running.positions()[0]) > 0.2


PAIR = [[0, 3]]
EXCLUDED: dict[str, Any] = {"exclusions": PAIR}
FINE = {
    "excluded": make(**EXCLUDED),
    "nothing to interact by": make((0, 0.4, -0.4, 0.4), 0.0),
    "a bond of length 0": make(**EXCLUDED, bonds=PAIR, bond_parameters=[[0.0, 4e5]]),
}
REFUSED = {
    "charges alone": make(epsilon=0.0),
    "Lennard-Jones alone": make((0, 0, 0, 0)),
    "a bond joins": make(**EXCLUDED, bonds=PAIR, bond_parameters=[[0.1, 2e5]]),
    "a 1-4 pair joins": make(**EXCLUDED, pairs14=PAIR, pair14_parameters=[[0.1, 0.3, 0.2]]),
    "a constraint holds": make(**EXCLUDED, constraints=PAIR, constraint_lengths=[0.1]),
}


@pytest.mark.parametrize("system", FINE.values(), ids=FINE)
def test_where_nothing_acts_between_them_all_is_well(system: Any) -> None:
    running = simulation(system)
    assert np.isfinite(running.forces()).all()
    running.run(5)


@pytest.mark.parametrize("why", REFUSED)
def test_where_something_acts_it_is_named(why: str) -> None:
    words = why if "alone" not in why else "not excluded"
    with pytest.raises(SimulationError, match=f"atom 1 .*atom 4 .*{words}"):
        simulation(REFUSED[why])


@pytest.mark.parametrize("name", ["positions", "velocities", "list_positions"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -1e300])
def test_an_engine_refuses_numbers_that_are_none(name: str, value: float) -> None:
    places = PLACES + np.arange(4)[:, None] * [0.1, 0, 0]
    core = engine(make(), State(places, np.zeros((4, 3)), BOX), Nonbonded(cutoff=0.9))
    wrong = core.state()
    wrong[name] = wrong[name].copy()
    wrong[name][2, 1] = value
    with pytest.raises(QuiltError, match="of atom 3 is not a number or too large"):
        core.set_state(**wrong)
    core.run(2)


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("name", ["positions", "velocities", "list_positions"])
@pytest.mark.parametrize("count", [0, 3, 5, 500])
def test_an_engine_refuses_states_of_other_sizes(ranks: int, name: str, count: int) -> None:
    places = PLACES + np.arange(4)[:, None] * [0.1, 0, 0]
    state = State(places, np.zeros((4, 3)), BOX)
    core = engine(make(), state, Nonbonded(cutoff=0.9), ranks=ranks)
    wrong = core.state() | {name: np.ones((count, 3))}
    if name == "list_positions" and count == 0:
        core.set_state(**wrong)  # none: lists are built from the positions
        return
    with pytest.raises(QuiltError, match="atoms"):
        core.set_state(**wrong)
    core.run(2)


def test_a_site_whose_parents_lie_in_a_line_is_named() -> None:
    """Its frame has no direction there; the core crashed."""
    site = Site(3, (0, 1, 2), (1, 0, 0), (-1, 1, 0), (-1, 0, 1), (0.02, 0.01, 0.03))
    table = lj_table(np.array([0.3]), np.array([0.5]))
    system = System.of(
        *([16.0, 16.0, 16.0, 0.0], [0.3, -0.6, 0.0, 0.3], np.zeros(4, int), *table),
        exclusions=[[i, j] for j in range(4) for i in range(j)],
        bonds=[[0, 1], [1, 2]],
        bond_parameters=[[0.1, 2e5]] * 2,
        **site_fields([site]),
    )

    def at(bent: float) -> State:
        places = np.array([[0.5, 0.5, 0.5], [0.6, 0.5, 0.5], [0.7, 0.5 + bent, 0.5], [0, 0, 0]])
        return State(places, np.zeros((4, 3)), np.eye(3) * 3)

    settings = Nonbonded(cutoff=0.9)
    running = Simulation(system, at(0.02), settings, device="cpu")
    running.run(5)
    message = r"virtual site atom 4 \(A3 .*has no defined position.*a line"
    with pytest.raises(SimulationError, match=message):
        running.set_state(at(0.0))
    running.run(5)
    with pytest.raises(SimulationError, match=message):
        Simulation(system, at(0.0), settings, device="cpu")
