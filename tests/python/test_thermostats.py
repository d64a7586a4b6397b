# SPDX-License-Identifier: Apache-2.0
"""Integrators and thermostats as separate objects: what goes together, and what is said else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boxes import stopped_and_not, warm_water

import quiltmd
from quiltmd import (
    BerendsenThermostat,
    LangevinMiddle,
    QuiltError,
    QuiltWarning,
    Simulation,
    VelocityRescaling,
    VelocityVerlet,
)


@pytest.fixture(scope="module")
def water() -> tuple[Any, Any]:
    """343 waters, relaxed, drawn at 200 K."""
    return warm_water((7, 7, 7), 200)


def test_langevin_takes_no_thermostat(water: tuple[Any, Any]) -> None:
    with pytest.raises(
        QuiltError, match="VelocityRescaling cannot be combined with LangevinMiddle"
    ):
        Simulation(*water, None, LangevinMiddle(), thermostat=VelocityRescaling(), device="cpu")


def test_it_acts_where_impulses_act(water: tuple[Any, Any]) -> None:
    integrator = VelocityVerlet(timestep=0.001, long_range_every=3)
    with pytest.raises(QuiltError, match="every = 10 must be a multiple of long_range_every = 3"):
        Simulation(*water, None, integrator, thermostat=VelocityRescaling(), device="cpu")


@pytest.mark.parametrize("every", [1, 5])
def test_it_heats_in_its_time_and_counts_it(water: tuple[Any, Any], every: int) -> None:
    """To 500 K in three time constants; no heat without it."""
    thermostat = VelocityRescaling(500, time_constant=0.02, seed=1, every=every)
    simulation = Simulation(*water, None, VelocityVerlet(), thermostat=thermostat, device="cpu")
    before = simulation.energies()
    simulation.run(60)
    after = simulation.energies()
    assert after["heat"] > 500
    assert after["conserved"] == pytest.approx(before["conserved"], abs=15)
    assert simulation.temperature() == pytest.approx(500, rel=0.15)
    alone = Simulation(*water, None, VelocityVerlet(), device="cpu")
    alone.run(20)
    assert alone.energies()["heat"] == pytest.approx(0, abs=1e-3)


def test_berendsen_relaxes_and_warns(water: tuple[Any, Any]) -> None:
    """Without a seed, the same on one rank and two; the heat is counted."""
    with pytest.raises(QuiltError, match="BerendsenThermostat: seed is not a known setting"):
        BerendsenThermostat(seed=1)  # type: ignore[call-arg]
    ends = []
    for ranks in (1, 2):
        thermostat = BerendsenThermostat(500, time_constant=0.02, every=2)
        with pytest.warns(QuiltWarning, match="no known ensemble"):
            simulation = Simulation(
                *water, None, VelocityVerlet(), thermostat=thermostat, device="cpu", ranks=ranks
            )
        before = simulation.energies()
        simulation.run(60)
        after = simulation.energies()
        assert after["heat"] > 500
        assert after["conserved"] == pytest.approx(before["conserved"], abs=15)
        ends.append(simulation.state())
    assert quiltmd.digest(ends[0]) == quiltmd.digest(ends[1])


def test_seeds_differ(water: tuple[Any, Any]) -> None:
    def end(seed: int) -> np.ndarray:
        thermostat = VelocityRescaling(seed=seed, every=2)
        simulation = Simulation(*water, None, VelocityVerlet(), thermostat=thermostat, device="cpu")
        simulation.run(4)
        return simulation.state().velocities

    assert (end(1) == end(1)).all()
    assert (end(1) != end(2)).any()


def test_a_run_goes_on_with_its_heat(water: tuple[Any, Any], tmp_path: Path) -> None:
    """A checkpoint between two actions, and other ranks after it."""

    def simulation(ranks: int) -> Simulation:
        thermostat = VelocityRescaling(time_constant=0.1, seed=2, every=4)
        return Simulation(
            *water, None, VelocityVerlet(), thermostat=thermostat, device="cpu", ranks=ranks
        )

    stopped_and_not(simulation, tmp_path)


def test_nonsense_is_refused() -> None:
    for wrong in ({"time_constant": 0}, {"temperature": -1}, {"every": 0}, {"friction": 1}):
        with pytest.raises(Exception, match=next(iter(wrong))):
            VelocityRescaling(**wrong)
