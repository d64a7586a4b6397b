# SPDX-License-Identifier: Apache-2.0
"""Water at constant pressure: volumes at two pressures, by physical_validation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from boxes import water_box

from quiltmd import (
    CellRescaling,
    LangevinMiddle,
    MonteCarloBarostat,
    Nonbonded,
    Readout,
    Simulation,
    VelocityRescaling,
    VelocityVerlet,
)

SMOOTH = Nonbonded(cutoff=0.8, pme_alpha=3.9, pme_grid=(24, 24, 24), potential_shift=True)
PRESSURES = (1.0, 300.0)  # bar; volumes differ by one standard deviation
DYNAMICS: dict[str, dict[str, Any]] = {
    "langevin": {"integrator": LangevinMiddle(300, friction=5, seed=1)},
    "verlet": {
        "integrator": VelocityVerlet(),
        "thermostat": VelocityRescaling(300, time_constant=0.5, seed=1),
    },
}


class Series:
    """Volume and energies at every `every` steps."""

    needs = ("energies",)

    def __init__(self, every: int) -> None:
        self.every = every
        self.rows: list[tuple[float, float, float]] = []

    def report(self, frame: Readout, /) -> None:
        energies = frame.energies()
        volume = float(np.prod(np.diag(frame.box)))
        self.rows.append((volume, energies["potential"], energies["kinetic"]))


BAROSTATS: dict[str, dict[str, Any]] = {
    "rescaling": {"kind": CellRescaling, "time_constant": 0.2, "every": 10},
    "monte-carlo": {"kind": MonteCarloBarostat, "every": 20},
}


def sampled(pressure: float, dynamics: str, barostat: str, picoseconds: float) -> Any:
    """Columns of a run of 343 waters, after 10 ps."""
    system, state = water_box((7, 7, 7), seed=1)
    settings = dict(BAROSTATS[barostat])
    bath = settings.pop("kind")(pressure, seed=2, **settings)
    simulation = Simulation(
        system, state, SMOOTH, barostat=bath, device="cpu", **DYNAMICS[dynamics]
    )
    simulation.minimize(100.0, 60)
    simulation.draw_velocities(300, 1)
    simulation.run(5000)
    series = Series(100)
    simulation.run(round(picoseconds / 0.002), [series])
    return system, np.array(series.rows).T


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(
    ("dynamics", "barostat"),
    [("langevin", "rescaling"), ("verlet", "rescaling"), ("langevin", "monte-carlo")],
)
def test_volumes_at_two_pressures(dynamics: str, barostat: str) -> None:
    """The ratio of the distributions is exp(-(P2 - P1) V / kT), within 4 standard errors."""
    import physical_validation as pv

    runs = []
    for pressure in PRESSURES:
        system, (volume, potential, kinetic) = sampled(pressure, dynamics, barostat, 200)
        runs.append(
            pv.data.SimulationData(
                units=pv.data.UnitData.units("GROMACS"),
                system=pv.data.SystemData(
                    natoms=system.atoms,
                    nconstraints=len(system.constraints),
                    ndof_reduction_tra=3,
                    ndof_reduction_rot=0,
                ),
                ensemble=pv.data.EnsembleData(
                    "NPT", natoms=system.atoms, pressure=pressure, temperature=300.0
                ),
                observables=pv.data.ObservableData(
                    volume=volume, potential_energy=potential, kinetic_energy=kinetic
                ),
            )
        )
    np.random.seed(1)  # physical_validation draws its bootstrap from numpy's global state
    found = pv.ensemble.check(*runs, total_energy=False, verbosity=0)
    assert np.all(np.abs(found) < 4)
