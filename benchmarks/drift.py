# SPDX-License-Identifier: Apache-2.0
"""Energy drift of DHFR or ApoA1 at constant energy: velocity Verlet with constraints.

Settings are those of the benchmarks' own inputs.  DHFR: cutoff 0.8 nm, splines of order 4 on a grid
of 64 x 64 x 64, and an Ewald coefficient (3.9467 1/nm) that leaves 1e-5 of the Coulomb interaction
at the cutoff.  With a smaller one, the discontinuity of the forces there heats the system.  ApoA1:
cutoff 1.2 nm, CHARMM's switching function from 1.0 nm, splines of order 4 on 108 x 108 x 80, and
2.57952 1/nm, which leaves as little; its coordinates are of flexible water, so it is minimised
first.

The total energy is recorded every `--every` steps, and a straight line is fitted to it by least
squares.  Its slope per atom is the drift.

The energy that velocity Verlet conserves differs from the total energy by an amount that grows
with the energy of stiff vibrations (by some 400 kJ/mol here), which equilibrate with the rest over
nanoseconds only.  The file's velocities, those of another integrator, leave them at a wrong
temperature, so its total energy would drift although none is lost.  So a thermostat with strong
friction comes first, then `UNFITTED` ps at constant energy that the fit leaves out.

Successive energies are correlated, so the standard error comes from the residuals' means over ten
equal blocks, not from the residuals one by one: error = s / sqrt(sum (t - mean t)^2) with s the
scatter of the block means and t the middles of the blocks.

Energies are evaluated with the potential shifted to zero at the cutoff.  That changes no force, so
no bit of the trajectory either; it removes the jumps of the energy when a pair crosses the cutoff,
which would be noise in the fit.

    python benchmarks/drift.py [--topology prmtop --coordinates inpcrd] [--device cpu]
        [--picoseconds 100] [--timestep 0.002] [--long-range-every 1] [--seed 1]
        [--json benchmarks/results/drift-cpu.json]
    python benchmarks/drift.py --apoa1 FOLDER --picoseconds 1000 --long-range-every 2 --every 50
        [--device cuda] [--json benchmarks/results/drift-apoa1.json]

FOLDER holds `apoa1/`, the input of that name.

From 3 fs on, hydrogens have a mass of 3, taken from their neighbours.  Where the long-range force
acts every so many steps, energies are recorded at such steps: `--every` is rounded up to them.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import benchmark_systems
import numpy as np
from numpy.typing import NDArray
from provenance import provenance

import quiltmd
from quiltmd.engine.core import Engine, make_engine
from quiltmd.engine.where import RunHere
from quiltmd.inputs.standard_systems import system_files

HEAVY_FROM = 0.003  # ps: time steps that need hydrogen mass repartitioning
EQUILIBRATE = 40.0  # ps with a thermostat
FRICTION = 5.0  # 1/ps
UNFITTED = 20.0  # ps at constant energy that the fit leaves out
BLOCKS = 10
LISTS = ("list_life", "list_buffer", "early_rebuilds")
DHFR = quiltmd.Nonbonded(
    cutoff=0.8, pme_order=4, pme_alpha=3.9467, pme_grid=(64, 64, 64), potential_shift=True
)
APOA1 = quiltmd.Nonbonded(
    cutoff=1.2,
    pme_order=4,
    pme_alpha=2.57952,
    pme_grid=(108, 108, 80),
    potential_shift=True,
    switching="charmm",
    switch_distance=1.0,
)


class Record:
    """Total energy every `every` steps; saves the results from time to time."""

    needs = ("energies",)

    def __init__(self, every: int, settings: dict[str, Any], path: Path | None) -> None:
        self.every = every
        self.lists: dict[str, Any] = {}
        self.rows: list[tuple[float, float, float]] = []
        self._settings = settings
        self._path = path
        self._written = self._began = time.monotonic()

    def report(self, frame: quiltmd.Readout, /) -> None:
        self.rows.append((frame.time, frame.energies()["total"], frame.temperature()))
        if time.monotonic() - self._written > 30 and frame.time > 2 * UNFITTED:
            self.write()

    def note_lists(self, simulation: quiltmd.Simulation) -> None:
        described = simulation.describe()
        self.lists = {key: described[key] for key in LISTS}

    def write(self) -> dict[str, Any]:
        self._written = time.monotonic()
        times, total, temperature = np.array([row for row in self.rows if row[0] >= UNFITTED]).T
        slope, error = fit(times, total)
        per_atom = 1000 / self._settings["atoms"]  # kJ/mol/ps -> kJ/mol/ns per atom
        result = {
            **self._settings,
            "simulated_ps": float(times[-1] - times[0]),
            "drift_kj_mol_ns_atom": slope * per_atom,
            "standard_error": error * per_atom,
            "scatter_of_total_energy_kj_mol": float(
                np.std(total - np.polyval(np.polyfit(times, total, 1), times))
            ),
            "mean_temperature_k": float(temperature.mean()),
            **self.lists,
            "seconds": time.monotonic() - self._began,
            "times_ps": times.round(6).tolist(),
            "total_kj_mol": total.round(4).tolist(),
        }
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_text(json.dumps(result) + "\n")
        return result


def fit(times: NDArray[np.float64], values: NDArray[np.float64]) -> tuple[float, float]:
    """Least-squares slope, and its standard error from the means of `BLOCKS` blocks."""
    line = np.polyfit(times, values, 1)
    residuals = values - np.polyval(line, times)
    means = [float(block.mean()) for block in np.array_split(residuals, BLOCKS)]
    centres = [float(block.mean()) for block in np.array_split(times, BLOCKS)]
    scatter = np.sqrt(np.sum(np.square(means)) / (BLOCKS - 2))
    return float(line[0]), float(scatter / np.sqrt(np.sum((centres - np.mean(centres)) ** 2)))


def main() -> None:
    parser = argparse.ArgumentParser(description="Energy drift of DHFR or ApoA1.")
    parser.add_argument("--topology", type=Path, default=None, help="of DHFR")
    parser.add_argument("--coordinates", type=Path, default=None)
    parser.add_argument("--apoa1", type=Path, default=None, help="folder that holds apoa1/")
    parser.add_argument("--picoseconds", type=float, default=100.0)
    parser.add_argument("--every", type=int, default=25)
    parser.add_argument("--timestep", type=float, default=0.002, help="ps")
    parser.add_argument("--long-range-every", type=int, default=1, help="steps")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--list-life", type=int, default=0, help="steps; 0: automatic")
    parser.add_argument("--list-buffer", type=float, default=0.0, help="nm; 0: automatic")
    parser.add_argument(
        "--nonbonded",
        type=json.loads,
        default=None,
        help="""instead of the settings of Amber's and NAMD's benchmarks: those of Nonbonded as
        JSON, such as '{"cutoff": 0.9}'""",
    )
    parser.add_argument("--seed", type=int, default=1, help="of the velocities and the thermostat")
    parser.add_argument("--json", type=Path, default=None)
    choice = parser.parse_args()
    hydrogen_mass = 3.0 if choice.timestep >= HEAVY_FROM else None
    if choice.apoa1:
        system, state = benchmark_systems.apoa1(choice.apoa1, hydrogen_mass)
        name, nonbonded = "apoa1", APOA1
    else:
        topology = choice.topology or system_files("dhfr")[0]
        coordinates = choice.coordinates or system_files("dhfr")[1]
        system, state = quiltmd.load(
            topology, coordinates, constraints="h-bonds", hydrogen_mass=hydrogen_mass
        )
        name, nonbonded = topology.name, DHFR

    if choice.nonbonded is not None:
        nonbonded = quiltmd.Nonbonded(**choice.nonbonded)

    def engine(system: Any, nonbonded: Any, integrator: Any, run: RunHere) -> Engine:
        lists = replace(run, list_life=choice.list_life, list_buffer=choice.list_buffer)
        return make_engine(system, nonbonded, integrator, lists)

    def simulation_of(state: quiltmd.State, integrator: Any) -> quiltmd.Simulation:
        return quiltmd.Simulation(
            system,
            state,
            nonbonded,
            integrator,
            device=choice.device,
            threads=choice.threads,
            engine=engine,
        )

    bath = quiltmd.LangevinMiddle(300.0, FRICTION, choice.timestep, seed=choice.seed)
    warm = simulation_of(state, bath)
    if choice.apoa1:
        warm.minimize()
    warm.draw_velocities(300.0, choice.seed)
    warm.run(round(EQUILIBRATE / choice.timestep))
    warmed = warm.state()
    start = quiltmd.State(warmed.positions, warmed.velocities, warmed.box)
    integrator = quiltmd.VelocityVerlet(
        choice.timestep, remove_com_every=0, long_range_every=choice.long_range_every
    )
    simulation = simulation_of(start, integrator)
    machine = str(simulation.describe()["devices"][0]["name"])
    settings = {
        **provenance(),
        "topology": name,
        "timestep_ps": choice.timestep,
        "long_range_every": choice.long_range_every,
        "seed": choice.seed,
        "atoms": system.atoms,
        "machine": machine,
    }
    impulses = choice.long_range_every
    record = Record(-(-choice.every // impulses) * impulses, settings, choice.json)
    record.note_lists(simulation)
    simulation.run(round((UNFITTED + choice.picoseconds) / choice.timestep), [record])
    result = record.write()
    print(
        f"{result['simulated_ps']:.1f} ps: drift {result['drift_kj_mol_ns_atom']:.2e} "
        f"+- {result['standard_error']:.1e} kJ/mol/ns per atom"
    )


if __name__ == "__main__":
    main()
