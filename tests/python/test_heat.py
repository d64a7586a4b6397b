# SPDX-License-Identifier: Apache-2.0
"""Heat, and with it the conserved quantity, is the same to the last bit however a run is cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from boxes import through_file, warm_water

import quiltmd
from quiltmd import (
    BathGroup,
    CellRescaling,
    LangevinMiddle,
    MonteCarloBarostat,
    Nonbonded,
    NoseHooverChain,
    Simulation,
    State,
    System,
    VelocityRescaling,
    VelocityVerlet,
)
from quiltmd.engine.core import counted_heat

SMALL = Nonbonded(cutoff=0.6, pme_alpha=4.0, pme_grid=(24, 24, 24))
BATHS = (BathGroup("index 1-300", 300, friction=7), BathGroup("index 301-648", 300, friction=0.3))
NVE = VelocityVerlet(0.002)
DYNAMICS: dict[str, dict[str, Any]] = {
    "langevin": {"integrator": LangevinMiddle(300, 1.3, 0.002, seed=5)},
    "groups": {"integrator": LangevinMiddle(groups=BATHS, timestep=0.002, seed=5)},
    "rescaling": {"integrator": NVE, "thermostat": VelocityRescaling(300, 0.1, seed=5)},
    "chain": {"integrator": NVE, "thermostat": NoseHooverChain(300, 0.1)},
    "cell rescaling": {
        "integrator": LangevinMiddle(300, 1.3, 0.002, seed=5),
        "barostat": CellRescaling(500, 1.0, seed=6, every=20),
    },
    "monte carlo": {
        "integrator": LangevinMiddle(300, 1.3, 0.002, seed=5),
        "barostat": MonteCarloBarostat(500, seed=6, every=20),
    },
}

pytestmark = pytest.mark.filterwarnings("ignore:a cutoff of 0.6 nm is shorter")


@pytest.fixture(scope="module")
def water() -> tuple[System, State]:
    return warm_water((6, 6, 6), 300)


def simulation(made: tuple[System, State], kind: str, ranks: int = 1) -> Simulation:
    return Simulation(*made, SMALL, **DYNAMICS[kind], device="cpu", ranks=ranks, threads=1)


def readings(run: Simulation) -> tuple[str, float, float]:
    return quiltmd.digest(run.state()), run.heat(), run.energies()["conserved"]


@pytest.mark.parametrize("kind", DYNAMICS)
def test_stops_leave_no_trace(water: tuple[System, State], kind: str, tmp_path: Path) -> None:
    whole, run = simulation(water, kind), simulation(water, kind)
    done = 0
    for stop, ranks in ((13, 1), (37, 2), (83, 1), (99, 3), (120, 2)):
        run.run(stop - done)
        whole.run(stop - done)
        assert readings(run) == readings(whole)
        saved = run.checkpoint()
        run = simulation((water[0], through_file(saved.state, tmp_path)), kind, ranks)
        run.set_state(run.state(), saved.heat)
        assert readings(run) == readings(whole)
        done = stop


def test_stops_leave_no_trace_where_temperature_changes(
    water: tuple[System, State], tmp_path: Path
) -> None:
    """The mean of what constraints take from the thermostat changes with it."""
    whole = simulation(water, "langevin")
    run = simulation(water, "langevin")
    for number, kelvin in enumerate((300.0, 277.7, 299.3)):
        for one in (whole, run):
            one.set_conditions(temperature=kelvin, friction=1.0 + 0.37 * number)
            one.run(31)
        saved = run.checkpoint()
        state = through_file(saved.state, tmp_path)
        run = Simulation(water[0], state, SMALL, run.integrator, device="cpu", threads=1)
        run.set_state(state, saved.heat)
        for one in (whole, run):
            one.run(17)
        assert run.heat() == whole.heat()


@pytest.mark.parametrize("before", [0.1, -1234.567, 1e6 / 3, 3.1e7])
def test_heat_of_before_is_counted(water: tuple[System, State], before: float) -> None:
    """As a multiple of the unit, so that sums are exact: up to 3.4e7 kJ/mol."""
    run = simulation(water, "langevin")
    run.set_state(water[1], before)
    assert run.heat() == counted_heat(before) == pytest.approx(before, abs=2e-9)
    run.run(20)
    new = simulation(water, "langevin")
    new.run(20)
    assert run.heat() - counted_heat(before) == new.heat()


def test_heat_beyond_what_is_counted_is_left_as_it_is() -> None:
    for heat in (1e301, -1e8, 12.3456789):
        assert counted_heat(heat) == pytest.approx(heat, rel=1e-9)


@pytest.mark.parametrize("kind", DYNAMICS)
@pytest.mark.parametrize("ranks", [1, 2])
def test_an_engine_counts_heat_from_where_its_state_was_set(
    water: tuple[System, State], kind: str, ranks: int
) -> None:
    """So that of a simulation is known without asking the engine."""
    run = simulation(water, kind, ranks)
    run.run(45)
    counted = run._engine.read().heat()
    assert counted != 0
    run.set_state(run.state(), 3.0)
    assert run._engine.read().heat() == 0.0
    assert run.heat() == 3.0
