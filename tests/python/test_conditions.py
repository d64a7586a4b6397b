# SPDX-License-Identifier: Apache-2.0
"""Conditions changed while a simulation goes on: as if it had been made so, on any ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from boxes import water_box

from quiltmd import LangevinMiddle, QuiltError, Simulation, VelocityRescaling, VelocityVerlet

START = LangevinMiddle(280.0, 1.0, seed=5, remove_com_every=10)
COLDER = LangevinMiddle(120.0, 20.0, seed=5, remove_com_every=10)


def simulation(integrator: Any, ranks: int = 1, state: Any = None) -> Simulation:
    system, start = water_box((8, 8, 8))
    made = Simulation(system, state or start, integrator=integrator, ranks=ranks, threads=1)
    if state is None:
        made.minimize(500.0, 30)
        made.draw_velocities(280.0, 1)
    return made


def same(a: Any, b: Any) -> bool:
    return np.array_equal(a.positions, b.positions) and np.array_equal(a.velocities, b.velocities)


@pytest.fixture(scope="module")
def changed() -> tuple[Any, Any]:
    """The states at a change in the middle of an epoch, and 60 steps later."""
    made = simulation(START)
    made.run(35)
    made.set_conditions(temperature=120.0, friction=20.0)
    assert made.integrator == COLDER
    middle = made.state()
    made.run(60)
    return middle, made.state()


def test_it_is_as_if_it_had_been_made_so(changed: tuple[Any, Any]) -> None:
    again = simulation(COLDER, state=changed[0])
    again.run(60)
    assert same(again.state(), changed[1])
    unchanged = simulation(START, state=changed[0])
    unchanged.run(60)
    assert not same(unchanged.state(), changed[1])


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_do_not_matter(changed: tuple[Any, Any], ranks: int) -> None:
    made = simulation(START, ranks)
    made.run(35)
    made.set_conditions(temperature=120.0, friction=20.0)
    made.run(60)
    assert same(made.state(), changed[1])


def test_momentum_is_that_of_new_velocities() -> None:
    ends = []
    for ranks in (1, 2):
        made = simulation(START, ranks)
        made.run(35)
        made.draw_velocities(250.0, 2)
        made.set_conditions(temperature=120.0)
        ends.append(made.state())
    assert same(*ends)


def test_thermostats_follow() -> None:
    system, start = water_box((8, 8, 8))
    warm = VelocityRescaling(280.0, 0.05, seed=3, every=2)
    made = Simulation(system, start, integrator=VelocityVerlet(), thermostat=warm, threads=1)
    made.minimize(500.0, 30)
    made.draw_velocities(280.0, 1)
    made.run(35)
    made.set_conditions(temperature=100.0)
    assert made.thermostat == VelocityRescaling(100.0, 0.05, seed=3, every=2)
    middle = made.state()
    made.run(60)
    again = Simulation(
        system, middle, integrator=VelocityVerlet(), thermostat=made.thermostat, threads=1
    )
    again.run(60)
    assert same(again.state(), made.state())
    with pytest.raises(QuiltError, match="VelocityRescaling has no friction"):
        made.set_conditions(friction=1.0)


def test_what_cannot_change_is_refused() -> None:
    made = simulation(VelocityVerlet())
    with pytest.raises(QuiltError, match="VelocityVerlet has no temperature"):
        made.set_conditions(temperature=300.0)
    made = simulation(START)
    with pytest.raises(QuiltError, match="greater than or equal to 0"):
        made.set_conditions(friction=-1.0)
    assert made.integrator == START
