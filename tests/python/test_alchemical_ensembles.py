# SPDX-License-Identifier: Apache-2.0
"""Alchemical atoms with every integrator, thermostat and barostat: the same bits on any ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from alchemical_systems import LENGTH, settings, solute_in_water

import quiltmd
from quiltmd.description.barostats import BAROSTATS
from quiltmd.description.decoupling import at_lambdas
from quiltmd.description.integrators import INTEGRATORS
from quiltmd.description.thermostats import THERMOSTATS

pytestmark = [
    pytest.mark.filterwarnings("ignore:a cutoff of 0.7 nm"),
    pytest.mark.filterwarnings("ignore:the Berendsen"),
]
LANGEVIN = quiltmd.LangevinMiddle(timestep=0.001, seed=3)
VERLET = quiltmd.VelocityVerlet(timestep=0.001)
RESCALING = quiltmd.VelocityRescaling(300.0, time_constant=0.1, seed=5)
ENSEMBLES: dict[str, dict[str, Any]] = {
    "langevin": {"integrator": LANGEVIN},
    "verlet": {"integrator": VERLET},
    "respa": {"integrator": quiltmd.LangevinMiddle(timestep=0.001, seed=3, long_range_every=2)},
    "andersen": {"integrator": VERLET, "thermostat": quiltmd.AndersenThermostat(300.0, seed=2)},
    "berendsen": {"integrator": VERLET, "thermostat": quiltmd.BerendsenThermostat(300.0, 0.1)},
    "nose-hoover": {"integrator": VERLET, "thermostat": quiltmd.NoseHooverChain(300.0)},
    "rescaling": {"integrator": VERLET, "thermostat": RESCALING},
    "cell rescaling": {
        "integrator": VERLET,
        "thermostat": RESCALING,
        "barostat": quiltmd.CellRescaling(2000.0, time_constant=0.5, seed=7, every=4),
    },
    "berendsen box": {
        "integrator": LANGEVIN,
        "barostat": quiltmd.BerendsenBarostat(2000.0, time_constant=0.5, every=4),
    },
    "monte carlo": {
        "integrator": LANGEVIN,
        "barostat": quiltmd.MonteCarloBarostat(2000.0, seed=7, every=4),
    },
}


@pytest.fixture(scope="module")
def calm() -> Any:
    """A solute at a lambda in between, without large forces."""
    plain, state = solute_in_water(7)
    system = at_lambdas(quiltmd.decouple(plain, range(LENGTH)), 0.37, 0.0)
    run = quiltmd.Simulation(system, state, settings(state), device="cpu", ranks=1, threads=1)
    run.minimize(1000.0, 20)
    run.draw_velocities(300, 1)
    return system, run.state()


def test_all_kinds_are_among_these_ensembles() -> None:
    for part, kinds in (
        ("integrator", INTEGRATORS),
        ("thermostat", THERMOSTATS),
        ("barostat", BAROSTATS),
    ):
        used = {one[part].kind for one in ENSEMBLES.values() if part in one}
        assert used == set(kinds), part


@pytest.mark.parametrize("ensemble", ENSEMBLES)
def test_bits_do_not_depend_on_ranks(calm: Any, ensemble: str) -> None:
    """Across a change of lambda."""
    system, start = calm
    seen = []
    for ranks in (1, 3):
        run = quiltmd.Simulation(
            system,
            start,
            settings(start),
            **ENSEMBLES[ensemble],
            device="cpu",
            ranks=ranks,
            threads=1,
        )
        run.run(9)
        run.set_conditions(lambda_coulomb=1.0, lambda_vdw=0.37)
        run.run(9)
        assert run._engine.force_sum() == (0, 0, 0)
        energies = np.concatenate([run.state_energies(), run.dhdl()])
        assert np.isfinite(energies).all()
        seen.append((quiltmd.digest(run.state()), energies.tobytes()))
    assert seen[0] == seen[1]
    assert np.abs(run.positions() - start.positions).max() > 1e-4
