# SPDX-License-Identifier: Apache-2.0
"""Andersen's thermostat: how often atoms collide, with what velocities, and what that leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from boxes import BOLTZMANN, constraint_error, engine, state_of, warm_water
from scipy import stats
from test_config import changed

import quiltmd
from quiltmd import (
    AndersenThermostat,
    BathGroup,
    Nonbonded,
    QuiltError,
    Simulation,
    State,
    VelocityVerlet,
)
from quiltmd.running.config import build_config


@dataclass(frozen=True)
class Bathed:
    """What `engine` takes for an integrator with a thermostat."""

    integrator: VelocityVerlet
    thermostat: AndersenThermostat


PLAIN = Nonbonded(method="cutoff", cutoff=0.9)
FREE = VelocityVerlet(0.002, remove_com_every=0)


def gas(**thermostat: Any) -> Simulation:
    """1728 atoms that do not interact, at rest, half of them of 40 amu and half of 20."""
    places = np.indices((12, 12, 12)).reshape(3, -1).T * 0.5
    system = quiltmd.System.of(np.tile([40.0, 20.0], 864))
    start = State(places, np.zeros_like(places), np.eye(3) * 6)
    bath = AndersenThermostat(seed=1, **thermostat)
    return Simulation(system, start, PLAIN, FREE, thermostat=bath, device="cpu", threads=1)


def scaled_squares(simulation: Simulation, kelvin: float) -> np.ndarray:
    """m v^2 / kT of each component: of one degree of freedom."""
    velocities = simulation.state().velocities
    squares = simulation.system.masses[:, None] * velocities**2
    return np.asarray(squares / (BOLTZMANN * kelvin))


@pytest.mark.parametrize("every", [1, 10])
def test_atoms_collide_at_random_times(every: int) -> None:
    """Those at rest have not collided: a fraction exp(-t / tau), however often it acts."""
    simulation = gas(time_constant=0.1, every=every)
    for step in (20, 50):
        simulation.run(step - simulation.step)
        at_rest = (simulation.state().velocities == 0).all(axis=1).sum()
        left = stats.binom(1728, np.exp(-step * 0.002 / 0.1))
        assert 0.001 < left.cdf(at_rest) < 0.999


def test_collisions_have_the_distribution_of_maxwell_and_boltzmann() -> None:
    """All atoms have collided; heat is what they were given."""
    simulation = gas(temperature=250, time_constant=0.002)
    simulation.run(20)
    squares = scaled_squares(simulation, 250)
    moving = squares[(squares > 0).all(axis=1)]
    assert len(moving) > 1700
    assert stats.kstest(moving[:, 0], stats.chi2(1).cdf).pvalue > 1e-3
    assert stats.kstest(moving.sum(axis=1), stats.chi2(3).cdf).pvalue > 1e-3
    energies = simulation.energies()
    assert energies["heat"] == pytest.approx(energies["kinetic"], rel=1e-9)


def test_baths_of_groups_and_conditions() -> None:
    """Each group has its temperature and time constant, and another when conditions change."""
    groups = (
        BathGroup("index 1-864", 100, time_constant=0.002),
        BathGroup("index 865-1728", 400, time_constant=1e4),
    )
    simulation = gas(groups=groups)
    simulation.run(10)
    cold = scaled_squares(simulation, 100)[:864]
    assert stats.kstest(cold.sum(axis=1), stats.chi2(3).cdf).pvalue > 1e-3
    assert (simulation.state().velocities[864:] == 0).all()
    simulation.set_conditions(temperature=(300, 400))
    simulation.run(10)
    assert stats.kstest(scaled_squares(simulation, 300)[:864, 0], "chi2", (1,)).pvalue > 1e-3


def test_rigid_water_is_canonical() -> None:
    """Kinetic energies of single molecules, of six degrees of freedom, heated from 200 to 350 K."""
    water = warm_water((7, 7, 7), 200)
    bath = AndersenThermostat(350, time_constant=0.01, seed=2, every=5)
    simulation = Simulation(*water, None, VelocityVerlet(), thermostat=bath, device="cpu")
    before = simulation.energies()
    simulation.run(100)
    after = simulation.energies()
    assert after["heat"] > 500
    assert after["conserved"] == pytest.approx(before["conserved"], abs=15)
    assert constraint_error(water[0], simulation.state().positions) < 1e-6
    of_molecules = scaled_squares(simulation, 350).reshape(343, 9).sum(axis=1)
    assert stats.kstest(of_molecules, stats.chi2(6).cdf).pvalue > 1e-3


def test_temperature_counts_the_motion_of_the_centre_of_mass() -> None:
    """Of two free atoms whose centre of mass is brought to rest every 20 steps."""
    system = quiltmd.System.of([40.0, 20.0])
    start = State(np.array([[0.5, 0.5, 0.5], [1.5, 1.5, 1.5]]), np.zeros((2, 3)), np.eye(3) * 3)
    bath = AndersenThermostat(300, time_constant=0.05, seed=1, every=2)
    verlet = VelocityVerlet(0.002, remove_com_every=20)
    simulation = Simulation(system, start, PLAIN, verlet, thermostat=bath, device="cpu", threads=1)
    simulation.run(1008)
    found = []
    for _ in range(1500):
        simulation.run(20)
        found.append(simulation.temperature())
    freedom = simulation.degrees_of_freedom
    assert freedom == pytest.approx(6 - 3 * np.exp(-2 * 8 * 0.002 / 0.05))
    error = 300 * np.sqrt(2 / freedom / len(found) * 4)  # samples are 0.8 time constants apart
    assert np.mean(found) == pytest.approx(300, abs=5 * error)


def test_ranks_do_not_matter() -> None:
    """Nor do lists of which the atoms leave the buffer."""
    water = warm_water((7, 7, 7), 300)
    bath = AndersenThermostat(300, time_constant=0.02, seed=2, every=3)
    short = Nonbonded(cutoff=0.6, pme_alpha=4.0, pme_grid=(24, 24, 24))
    states = []
    for ranks in (1, 3):
        core = engine(*water, short, Bathed(VelocityVerlet(), bath), ranks=ranks)
        core.run(60)
        states.append(state_of(core).velocities)
    assert (states[0] == states[1]).all()


def test_what_it_does_not_have_is_refused() -> None:
    with pytest.raises(QuiltError, match="friction is not a known setting"):
        AndersenThermostat(friction=1)  # type: ignore[call-arg]
    with pytest.raises(QuiltError, match="takes a time_constant, not a friction"):
        AndersenThermostat(groups=(BathGroup("all", friction=1),))
    settings = changed("thermostat", kind="andersen", time_constant=0.5)
    assert build_config(settings).make_thermostat().strengths() == (0.5,)
    settings["thermostat"]["chain_length"] = 3
    with pytest.raises(QuiltError, match="leave out chain_length"):
        build_config(settings)
