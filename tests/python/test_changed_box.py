# SPDX-License-Identifier: Apache-2.0
"""A box that changes while a simulation goes on: atoms, forces, patches, and runs that go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boxes import random_box, relative_rms, through_file, water_box

from quiltmd import LangevinMiddle, Nonbonded, QuiltError, Simulation, State, reference

PME = Nonbonded(cutoff=0.6, pme_bandwidth=10.0, pme_grid=(24, 24, 24), pme_order=5)
THERMOSTAT = LangevinMiddle(300.0, 5.0, timestep=0.002, seed=5, remove_com_every=10)


def simulation(ranks: int = 1, state: State | None = None) -> Simulation:
    system, start = water_box((8, 8, 8))
    made = Simulation(system, state or start, PME, THERMOSTAT, ranks=ranks, threads=1)
    if state is None:
        made.minimize(500.0, 20)
        made.draw_velocities(300.0, 1)
    return made


def longer(state: State, by: float) -> Any:
    """The box with its edge along x so many times as long."""
    return state.box * np.array([[by], [1.0], [1.0]])


def same(a: State, b: State) -> bool:
    return (
        np.array_equal(a.positions, b.positions)
        and np.array_equal(a.velocities, b.velocities)
        and np.array_equal(a.box, b.box)
        and a.patches == b.patches
    )


@pytest.fixture(scope="module")
def start() -> State:
    made = simulation()
    made.run(15)
    return made.state()


# Along x the box is 2.49 nm: two patches; three from 2.65 on, for a box that had two before from
# 2.73 on.
WIDER, WIDE = 1.13, 1.085


def stages(made: Simulation, state: State) -> list[State]:
    """States at changes of the box that the rule for patches tells apart, with runs in between."""
    found = []
    for by in (WIDE, WIDER, WIDE, 1.0):
        made.set_conditions(box=longer(state, by))
        found.append(made.state())
        made.run(13)
    return [*found, made.state()]


@pytest.fixture(scope="module")
def changed(start: State) -> list[State]:
    return stages(simulation(state=start), start)


def test_patches_change_with_room_to_spare(start: State, changed: list[State]) -> None:
    assert start.patches == (2, 2, 2)
    patches = [state.patches for state in changed]
    assert patches == [(2, 2, 2), (3, 2, 2), (3, 2, 2), (2, 2, 2), (2, 2, 2)]
    fresh = State(changed[0].positions, changed[0].velocities, changed[0].box)
    assert simulation(state=fresh).state().patches == (3, 2, 2)


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_do_not_matter(start: State, changed: list[State], ranks: int) -> None:
    again = stages(simulation(ranks, start), start)
    assert all(same(a, b) for a, b in zip(again, changed, strict=True))


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_a_run_goes_on_from_a_checkpoint(
    start: State, changed: list[State], ranks: int, tmp_path: Path
) -> None:
    for stage, by in ((0, WIDER), (2, 1.0)):
        made = simulation(ranks, through_file(changed[stage], tmp_path))
        made.run(7)
        made = simulation(ranks, through_file(made.state(), tmp_path))
        made.run(6)
        made.set_conditions(box=longer(start, by))
        assert same(made.state(), changed[stage + 1])


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_state_with_another_box_is_as_in_a_new_simulation(
    start: State, changed: list[State], ranks: int
) -> None:
    made = simulation(ranks, start)
    made.run(5)
    for state in (changed[1], changed[3], changed[0]):
        made.set_state(state)
        made.run(13)
        again = simulation(ranks, state)
        again.run(13)
        assert same(made.state(), again.state())
        assert made.energies() == again.energies()


def test_groups_keep_shape_and_place(start: State) -> None:
    made = simulation(state=start)
    box = start.box.copy()
    box[1, 0], box[2, 0], box[2, 1] = 0.3, -0.2, 0.25
    box *= 1.02
    made.set_conditions(box=box)
    masses = np.array([15.999, 1.008, 1.008]) / 18.015

    def centres(state: State) -> Any:
        return np.einsum("a,wad->wd", masses, state.positions.reshape(-1, 3, 3))

    after = made.state()
    expected = centres(start) @ np.linalg.inv(start.box) @ box
    assert np.abs(centres(after) - expected).max() < 1e-12
    moved = (after.positions - start.positions).reshape(-1, 3, 3)
    assert np.ptp(moved, axis=1).max() < 1e-12
    stopped = after.velocities - start.velocities  # the drift that was due to be removed
    assert np.ptp(stopped, axis=0).max() < 1e-13
    assert np.array_equal(after.box, box)
    assert np.array_equal(made.box, box)


def test_there_and_back(start: State) -> None:
    made = simulation(state=start)
    energy = made.energies()["potential"]
    made.set_conditions(box=1.05 * start.box)
    assert abs(made.energies()["potential"] / energy - 1) > 0.01
    made.set_conditions(box=start.box)
    assert np.abs(made.state().positions - start.positions).max() < 1e-13
    assert made.energies()["potential"] == pytest.approx(energy, rel=1e-6)
    made.set_conditions(box=start.box)  # no change: not a bit moves
    assert np.array_equal(made.state().box, start.box)


@pytest.mark.parametrize("by", [0.97, 1.2])
def test_energies_are_those_of_the_box(start: State, by: float) -> None:
    made = simulation(state=start)
    box = by * random_box(np.random.default_rng(3), 2.486, 0.1)
    made.set_conditions(box=box)
    state = made.state()
    assert np.array_equal(state.box, box)
    energies, forces = reference(made.system, state, PME)
    found = made.energies()
    for name in ("lj", "coulomb", "pme", "dispersion", "potential"):
        assert found[name] == pytest.approx(energies[name], rel=1e-5), name
    assert relative_rms(made.forces(), forces) < 1e-5


def test_a_box_that_does_not_suit_changes_nothing(start: State) -> None:
    made = simulation(state=start)
    for box, what in ((0.4 * start.box, "too small"), (-start.box, "positive diagonal")):
        with pytest.raises(QuiltError, match=what):
            made.set_conditions(temperature=250.0, box=box)
    assert made.integrator == THERMOSTAT
    assert same(made.state(), start)
    again = simulation(state=start)
    for one in (made, again):
        one.run(12)
    assert same(made.state(), again.state())


@pytest.mark.parametrize("patches", [(2, 2), (2, 2, 0), (2, 2, -1), (2, 2, 1.5)])
def test_patches_that_make_no_sense_are_refused(start: State, patches: Any) -> None:
    with pytest.raises(QuiltError, match="patches"):
        State(start.positions, start.velocities, start.box, patches=patches)


def test_patches_that_do_not_suit_the_box_are_replaced(start: State) -> None:
    for patches in ((9, 9, 9), (1, 1, 1)):
        state = State(start.positions, start.velocities, start.box, patches=patches)
        assert simulation(state=state).state().patches == (2, 2, 2)
