# SPDX-License-Identifier: Apache-2.0
"""Ensembles at constant pressure: volumes and energies at two pressures and two temperatures.

Rigid water (1,000 molecules) and a protein in water (DHFR, 23,558 atoms), both with 2 fs, each with
stochastic cell rescaling and with the Monte Carlo barostat, at a pressure and a temperature, at a
higher pressure, and at a higher temperature.  physical_validation compares pairs of runs: the ratio
of two distributions must be that of the Boltzmann factors, of volumes at two pressures and of
enthalpies at two temperatures (P. T. Merz and M. R. Shirts, PLoS ONE 13, e0202764, 2018).  It says
how many standard errors the slope is away; likewise mean and width of the kinetic energies.  The
differences are such that distributions lie about a standard deviation apart.

A finite time step changes the mean kinetic energy by some hundredths of a per cent, which shows in
runs of this length.  A barostat may not add to that, so kinetic energies are compared with a run at
constant volume: they are divided by the ratio there of the mean and its expectation.

    python benchmarks/ensembles.py FOLDER [--device cuda] [--systems water,protein]
        [--lengthen 1] [--json benchmarks/results/ensembles.json]

FOLDER has or gets the cached protein, as for the other benchmarks.  The twelve runs of 400 ps and
the two of 1,600 take three and a half minutes on an H200.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import benchmark_systems
import numpy as np
from numpy.typing import NDArray
from provenance import provenance

import quiltmd
from quiltmd.description.settings import BOLTZMANN

TEMPERATURE, PRESSURE = 300.0, 1.0  # K, bar
FRICTION = 2.0  # 1/ps
EVERY = 100  # steps from one record to the next
PROPOSALS = 20  # steps between those of the Monte Carlo barostat
EQUILIBRATE = 50.0  # ps, of each run
CONSTANT_VOLUME = 4  # times as long is the run at constant volume
LIMIT = 4.0  # standard errors

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """A system and how it is run."""

    system: quiltmd.System
    state: quiltmd.State
    timestep: float  # ps
    picoseconds: float  # of each run
    warmer: float  # K, at which the third run is
    squeezed: float  # bar, at which the second run is
    nonbonded: quiltmd.Nonbonded | None = None


@dataclass(frozen=True)
class Run:
    """Volumes (nm^3) and energies (kJ/mol) at one condition."""

    system: quiltmd.System
    temperature: float
    pressure: float
    timestep: float
    degrees_of_freedom: float
    volume: Array
    potential: Array
    kinetic: Array


def water() -> Case:
    return Case(*benchmark_systems.water(3.1), 0.002, 400.0, TEMPERATURE + 6, PRESSURE + 170)


def protein_of(system: quiltmd.System, state: quiltmd.State) -> Case:
    return Case(system, state, 0.002, 400.0, TEMPERATURE + 2, PRESSURE + 60)


def barostat(kind: str, pressure: float) -> quiltmd.Barostat:
    if kind == "rescaling":
        return quiltmd.CellRescaling(pressure, 1.0, seed=2)
    return quiltmd.MonteCarloBarostat(pressure, seed=2, every=PROPOSALS)


BAROSTATS = ("rescaling", "monte-carlo")


class Series:
    """Volume, potential and kinetic energy every so many steps."""

    needs = ("energies",)

    def __init__(self, every: int) -> None:
        self.every = every
        self.rows: list[tuple[float, float, float]] = []

    def report(self, frame: quiltmd.Readout, /) -> None:
        assert frame.box is not None
        energies = frame.energies()
        volume = float(np.linalg.det(frame.box))
        self.rows.append((volume, energies["potential"], energies["kinetic"]))


def sample(
    case: Case,
    start: quiltmd.State,
    bath: quiltmd.Barostat | None,
    temperature: float,
    pressure: float,
    device: Any,
) -> Run:
    """A run from `start`, less its beginning; without a barostat, at constant volume."""
    simulation = quiltmd.Simulation(
        case.system,
        start,
        case.nonbonded,
        quiltmd.LangevinMiddle(temperature, FRICTION, case.timestep, seed=1),
        barostat=bath,
        device=device,
    )
    simulation.run(round(EQUILIBRATE / case.timestep))
    series = Series(EVERY)
    simulation.run(round(case.picoseconds / case.timestep), [series])
    columns = np.array(series.rows).T
    degrees = simulation.degrees_of_freedom
    return Run(case.system, temperature, pressure, case.timestep, degrees, *columns)


def kinetic_ratio(case: Case, start: quiltmd.State, device: Any) -> float:
    """Mean kinetic energy at constant volume, as a share of what the temperature demands."""
    longer = replace(case, picoseconds=CONSTANT_VOLUME * case.picoseconds)
    run = sample(longer, start, None, TEMPERATURE, PRESSURE, device)
    expected = 0.5 * run.degrees_of_freedom * BOLTZMANN * TEMPERATURE
    return float(run.kinetic.mean() / expected)


def warmed(case: Case, device: Any) -> quiltmd.State:
    """Relaxed, at temperature and pressure."""
    langevin = quiltmd.LangevinMiddle(TEMPERATURE, FRICTION, case.timestep, seed=1)
    bath = barostat("rescaling", PRESSURE)
    simulation = quiltmd.Simulation(
        case.system, case.state, case.nonbonded, langevin, barostat=bath, device=device
    )
    simulation.minimize(200.0)
    simulation.draw_velocities(TEMPERATURE, 1)
    simulation.run(round(EQUILIBRATE / case.timestep))
    state = simulation.state()
    return quiltmd.State(state.positions, state.velocities, state.box)


def runs(
    case: Case, kind: str, start: quiltmd.State, ratio: float, device: Any
) -> tuple[Run, Run, Run]:
    """At temperature and pressure, at the higher pressure, and at the higher temperature.

    Their kinetic energies are divided by `ratio`.
    """
    conditions = (
        (TEMPERATURE, PRESSURE),
        (TEMPERATURE, case.squeezed),
        (case.warmer, PRESSURE),
    )
    found = (
        sample(case, start, barostat(kind, pressure), temperature, pressure, device)
        for temperature, pressure in conditions
    )
    first, second, third = (replace(run, kinetic=run.kinetic / ratio) for run in found)
    return first, second, third


def deviations(first: Run, squeezed: Run, warmer: Run) -> dict[str, Any]:
    """In standard errors, by physical_validation; means beside them."""
    import physical_validation as pv

    np.random.seed(1)  # physical_validation draws its bootstrap from numpy's global state
    base, dense, warm = (validation_data(pv, run) for run in (first, squeezed, warmer))
    check = {"total_energy": False, "verbosity": 0}
    kinetic = [
        [float(x) for x in pv.kinetic_energy.distribution(data, strict=False, verbosity=0)]
        for data in (base, dense, warm)
    ]
    return {
        "pressures_sigma": [float(x) for x in pv.ensemble.check(base, dense, **check)],
        "temperatures_sigma": [float(x) for x in pv.ensemble.check(base, warm, **check)],
        "kinetic_mean_and_width_sigma": kinetic,
        "volume_nm3": [float(run.volume.mean()) for run in (first, squeezed, warmer)],
        "volume_deviation_nm3": [float(run.volume.std()) for run in (first, squeezed, warmer)],
    }


def largest(found: dict[str, Any]) -> float:
    """The largest of all deviations, in standard errors."""
    return max(float(np.abs(found[name]).max()) for name in found if name.endswith("_sigma"))


def validation_data(pv: Any, run: Run) -> Any:
    atoms, constraints = run.system.atoms, len(run.system.constraints)
    return pv.data.SimulationData(
        units=pv.data.UnitData.units("GROMACS"),
        dt=run.timestep * EVERY,
        system=pv.data.SystemData(
            natoms=atoms,
            nconstraints=constraints,
            ndof_reduction_tra=3 * atoms - constraints - run.degrees_of_freedom,
            ndof_reduction_rot=0,
        ),
        ensemble=pv.data.EnsembleData(
            "NPT", natoms=atoms, pressure=run.pressure, temperature=run.temperature
        ),
        observables=pv.data.ObservableData(
            volume=run.volume,
            potential_energy=run.potential,
            kinetic_energy=run.kinetic,
            total_energy=run.potential + run.kinetic,
        ),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path, help="of the cached protein")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--systems", default="water,protein")
    parser.add_argument("--lengthen", type=float, default=1.0, help="all runs, by this factor")
    parser.add_argument("--json", type=Path, default=None)
    choice = parser.parse_args()
    results: dict[str, Any] = {**provenance()}
    for name in choice.systems.split(","):
        case = water() if name == "water" else protein_of(*benchmark_systems.dhfr(choice.folder))
        longer = replace(case, picoseconds=choice.lengthen * case.picoseconds)
        began = time.monotonic()
        start = warmed(longer, choice.device)
        ratio = kinetic_ratio(longer, start, choice.device)
        results[f"{name}, kinetic energy at constant volume"] = ratio
        print(f"{name}: kinetic energy at constant volume {100 * (ratio - 1):+.3f} %")
        for kind in BAROSTATS:
            found = deviations(*runs(longer, kind, start, ratio, choice.device))
            results[f"{name}, {kind}"] = found
            seconds = time.monotonic() - began
            print(f"{name}, {kind}: at most {largest(found):.2f} of {LIMIT:g} ({seconds:.0f} s)")
            print(f"  {json.dumps(found)}", flush=True)
    if choice.json:
        choice.json.parent.mkdir(parents=True, exist_ok=True)
        choice.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
