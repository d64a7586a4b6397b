# SPDX-License-Identifier: Apache-2.0
"""Area per lipid of a POPC bilayer at constant pressure, and whether it is steady.

128 lipids in TIP3P (32,512 atoms, lipid17) from the patch in the package openmm.  Bonds to hydrogen
are constrained, hydrogens have a mass of 3, and the time step is 4 fs, which leaves areas of
membranes as they are (Balusek et al., J. Chem. Theory Comput. 15, 4673, 2019).  Cutoff 1.0 nm with
the correction for the Lennard-Jones tail, as the force field was made for.  The tolerance of PME is
1e-4: at 5e-4 the pressure along x and y is 2 bar too low (at 1e-4 0.3), that along z 0.6 (0.1).

Langevin-middle at 303 K; stochastic cell rescaling at 1 bar, x with y and z by itself, no surface
tension.  The time constant of the box is 1 ps: an area is softer than a volume (some 300 bar, not
22,000, for a relative change of one), and relaxes that much more slowly.

After a minimisation, 100 ps at constant volume (`--equilibrate`) and `--settle` nanoseconds at
constant pressure, in which the area finds its equilibrium, box and phosphorus atoms are recorded
every `--every` steps.  Area per lipid: that of the box divided by the 64 lipids of a
leaflet.  Thickness: distance along z between the mean phosphorus atoms of the two leaflets.
Printed are means over each tenth of the run (a nanosecond of ten) and over the last eight of them,
and the slope of a straight line fitted to the areas of these eight by least squares.

Areas are correlated over nanoseconds, so errors come from means of blocks: for a tenth of the run
its fifths, which are too short for all of that, for the eight tenths each of them, and for the
slope as in drift.py.

The area is printed beside the experimental one at 303 K, 0.643 nm^2 (N. Kucerka, M.-P. Nieh and J.
Katsaras, Biochim. Biophys. Acta 1808, 2761, 2011).

    python benchmarks/membrane.py --system membrane.npz [--device cuda] [--settle 2]
        [--nanoseconds 20] [--json benchmarks/results/membrane.json]

Where there is no file membrane.npz yet, it is built first, which takes the package openmm.

`--engine openmm` runs the same system with the same settings in OpenMM instead, on its CUDA
platform in mixed precision (or `--platform`), with its MonteCarloMembraneBarostat: x with y and z
by itself, no surface tension, a proposal every 25 steps.  Three nanoseconds take some four minutes
on an H200:

    python benchmarks/membrane.py --system membrane.npz --engine openmm --nanoseconds 3
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import benchmark_systems
import numpy as np
from drift import fit
from numpy.typing import NDArray
from provenance import provenance

import quiltmd
from quiltmd.description.settings import BOLTZMANN
from quiltmd.openmm.write import to_openmm
from quiltmd.outputs.readout import AMU_PER_NM3

TEMPERATURE = 303.0  # K
FRICTION = 1.0  # 1/ps
TIMESTEP = 0.004  # ps
LARGEST_FORCE = 200.0  # kJ/mol/nm, to which the patch is relaxed first
ITERATIONS = 200  # at most, of that
PARTS, UNFITTED = 10, 2  # of the run; those that come before it is judged
EXPERIMENT = 0.643  # nm^2, see above
NONBONDED = quiltmd.Nonbonded(cutoff=1.0, pme_tolerance=1e-4)
BAROSTAT = quiltmd.CellRescaling(1.0, 1.0, coupling="semi-isotropic", seed=1)
OPENMM_PROPOSALS = 25  # steps between those of its barostat: its default
COLUMNS = ("area", "z", "thickness", "temperature", "density")
UNITS = ("nm^2", "nm", "nm", "K", "kg/m^3")

Array = NDArray[np.float64]


class Record:
    """Box, thickness, temperature and density every `every` steps."""

    needs = ("positions", "energies")

    def __init__(self, every: int, system: quiltmd.System, state: quiltmd.State) -> None:
        self.every = every
        self.times: list[float] = []
        self.edges: list[list[float]] = []
        self.rows: list[tuple[float, ...]] = []
        self._leaflets = leaflets(system, state.positions)

    def report(self, frame: quiltmd.Readout, /) -> None:
        assert frame.box is not None
        edges = np.diag(frame.box)
        self.add(frame.time, edges, frame.positions(), frame.temperature(), frame.density())

    def add(
        self, time: float, edges: Array, positions: Array, temperature: float, density: float
    ) -> None:
        x, y, z = edges.tolist()
        upper, lower = (float(positions[atoms, 2].mean()) for atoms in self._leaflets)
        area = x * y / len(self._leaflets[0])
        self.times.append(time)
        self.edges.append([x, y, z])
        self.rows.append((area, z, upper - lower, temperature, density))


def leaflets(system: quiltmd.System, positions: Array) -> tuple[Any, Any]:
    """Phosphorus atoms of the upper and of the lower leaflet.

    In the upper one, they are above the middle of their lipid.
    """
    residues = system.topology.residue_of_atom
    middle = np.bincount(residues, positions[:, 2]) / np.bincount(residues)
    phosphorus = np.flatnonzero(system.topology.elements == 15)
    is_upper = positions[phosphorus, 2] > middle[residues[phosphorus]]
    upper, lower = phosphorus[is_upper], phosphorus[~is_upper]
    assert len(upper) == len(lower), "the leaflets have different numbers of lipids"
    return upper, lower


def mean_and_error(values: Array, blocks: int) -> tuple[float, float]:
    """Mean and its standard error from the means of equal blocks."""
    means = [float(block.mean()) for block in np.array_split(values, blocks)]
    return float(values.mean()), float(np.std(means, ddof=1) / np.sqrt(blocks))


def analyse(record: Record) -> dict[str, Any]:
    times, rows = np.array(record.times), np.array(record.rows)
    first = len(rows) * UNFITTED // PARTS
    judged = {
        name: mean_and_error(rows[first:, column], PARTS - UNFITTED)
        for column, name in enumerate(COLUMNS)
    }
    slope, error = fit(times[first:] / 1000, rows[first:, 0])
    ratios = np.array(record.edges)[:, 0] / np.array(record.edges)[:, 1]
    return {
        "parts": [
            {"end_ps": float(ends[-1]), "area_nm2": mean_and_error(part[:, 0], PARTS // 2)}
            | dict(zip(COLUMNS[1:], part[:, 1:].mean(axis=0).tolist(), strict=True))
            for ends, part in zip(
                np.array_split(times, PARTS), np.array_split(rows, PARTS), strict=True
            )
        ],
        "last_parts": judged,
        "area_slope_nm2_per_ns": (slope, error),
        "largest_change_of_x_over_y": float(np.abs(ratios / ratios[0] - 1).max()),
        "times_ps": times.round(6).tolist(),
        "edges_nm": np.round(record.edges, 6).tolist(),
        "thickness_nm": rows[:, 2].round(5).tolist(),
    }


def run(choice: argparse.Namespace) -> dict[str, Any]:
    system, state = benchmark_systems.membrane(choice.system)
    record = Record(choice.every, system, state)
    steps = round(1000 * choice.nanoseconds / TIMESTEP)
    by_engine = run_quiltmd if choice.engine == "quiltmd" else run_openmm
    found = by_engine(system, state, record, steps, choice)
    return {
        **provenance(),
        "engine": choice.engine,
        "atoms": system.atoms,
        "lipids": int((system.topology.elements == 15).sum()),
        "timestep_ps": TIMESTEP,
        "nanoseconds": steps * TIMESTEP / 1000,
        "equilibrated_ps": choice.equilibrate,
        "settled_ns": choice.settle,
        "ns_per_day": steps * TIMESTEP / 1000 / found["seconds"] * 86400,
        **found,
        **analyse(record),
    }


def settling_steps(choice: argparse.Namespace) -> int:
    return round(1000 * choice.settle / TIMESTEP)


def run_quiltmd(
    system: quiltmd.System,
    state: quiltmd.State,
    record: Record,
    steps: int,
    choice: argparse.Namespace,
) -> dict[str, Any]:
    thermostat = quiltmd.LangevinMiddle(TEMPERATURE, FRICTION, TIMESTEP, seed=1)
    warm = quiltmd.Simulation(system, state, NONBONDED, thermostat, device=choice.device)
    minimised = warm.minimize(LARGEST_FORCE, ITERATIONS)
    warm.draw_velocities(TEMPERATURE, 1)
    warm.run(round(choice.equilibrate / TIMESTEP))
    warmed = warm.state()
    start = quiltmd.State(warmed.positions, warmed.velocities, warmed.box)
    simulation = quiltmd.Simulation(
        system, start, NONBONDED, thermostat, barostat=BAROSTAT, device=choice.device
    )
    simulation.run(settling_steps(choice))
    began = time.monotonic()
    simulation.run(steps, [record])
    seconds = time.monotonic() - began
    described = simulation.describe()
    return {
        "machine": str(described["devices"][0]["name"]),
        "pme": {key: described[key] for key in described if key.startswith("pme")},
        "minimised": minimised,
        "seconds": seconds,
    }


def run_openmm(
    system: quiltmd.System,
    state: quiltmd.State,
    record: Record,
    steps: int,
    choice: argparse.Namespace,
) -> dict[str, Any]:
    import openmm

    membrane = openmm.MonteCarloMembraneBarostat
    barostat = membrane(
        1.0, 0.0, TEMPERATURE, membrane.XYIsotropic, membrane.ZFree, OPENMM_PROPOSALS
    )
    warm = openmm_context(system, state, choice.platform)
    warm.setPositions(state.positions)
    openmm.LocalEnergyMinimizer.minimize(warm, LARGEST_FORCE, ITERATIONS)
    warm.setVelocitiesToTemperature(TEMPERATURE, 1)
    warm.getIntegrator().step(round(choice.equilibrate / TIMESTEP))
    warmed = warm.getState(positions=True, velocities=True)
    del warm
    context = openmm_context(system, state, choice.platform, barostat)
    context.setPositions(warmed.getPositions())
    context.setVelocities(warmed.getVelocities())
    context.getIntegrator().step(settling_steps(choice))
    began = time.monotonic()
    for frame in openmm_frames(system, context, steps, choice.every):
        record.add(*frame)
    seconds = time.monotonic() - began
    name = context.getPlatform().getName()
    return {
        "machine": f"OpenMM {openmm.version.version}, {name}",
        "seconds": seconds,
    }


def openmm_context(
    system: quiltmd.System, state: quiltmd.State, platform: str, barostat: Any = None
) -> Any:
    """With the settings of quiltmd's runs, the same alpha and grid of PME among them."""
    import openmm

    made = to_openmm(system, NONBONDED, state.box)
    made.addForce(openmm.CMMotionRemover(100))
    if barostat is not None:
        made.addForce(barostat)
    return openmm.Context(
        made,
        openmm.LangevinMiddleIntegrator(TEMPERATURE, FRICTION, TIMESTEP),
        openmm.Platform.getPlatformByName(platform),
        {"Precision": "mixed"} if platform == "CUDA" else {},
    )


def openmm_frames(
    system: quiltmd.System, context: Any, steps: int, every: int
) -> Iterator[tuple[float, Array, Array, float, float]]:
    """Time, edges, positions, temperature and density every so many steps."""
    degrees = 3 * system.atoms - len(system.constraints) - 3
    for step in range(every, steps + 1, every):
        context.getIntegrator().step(every)
        state = context.getState(positions=True, energy=True)
        edges = np.diag(np.array(state.getPeriodicBoxVectors(asNumpy=True)._value))
        kinetic = state.getKineticEnergy()._value
        density = system.masses.sum() / np.prod(edges) * AMU_PER_NM3
        yield (
            step * TIMESTEP,
            edges,
            np.array(state.getPositions(asNumpy=True)._value),
            2 * kinetic / (degrees * BOLTZMANN),
            float(density),
        )


def print_table(result: dict[str, Any]) -> None:
    print("end, ps  area, nm^2          z, nm   thickness, nm  temperature, K  density, kg/m^3")
    for part in result["parts"]:
        area, error = part["area_nm2"]
        print(
            f"{part['end_ps']:7.0f}  {area:.4f} +- {error:.4f}  {part['z']:8.3f}  "
            f"{part['thickness']:13.3f}  {part['temperature']:14.2f}  {part['density']:15.2f}"
        )
    print(f"last {PARTS - UNFITTED} of {PARTS} parts:")
    for (name, (mean, error)), unit in zip(result["last_parts"].items(), UNITS, strict=True):
        print(f"  {name}: {mean:.4f} +- {error:.4f} {unit}")
    slope, error = result["area_slope_nm2_per_ns"]
    print(f"  slope of the area: {slope:.5f} +- {error:.5f} nm^2/ns")
    print(f"area per lipid by experiment: {EXPERIMENT} nm^2")
    print(f"x / y changed by at most {result['largest_change_of_x_over_y']:.1e}")
    print(f"{result['ns_per_day']:.0f} ns/day on {result['machine']}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Area per lipid of a POPC bilayer.")
    parser.add_argument("--system", type=Path, required=True, help="NPZ file; built where absent")
    parser.add_argument("--engine", choices=("quiltmd", "openmm"), default="quiltmd")
    parser.add_argument("--platform", default="CUDA", help="of OpenMM")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--nanoseconds", type=float, default=10.0)
    parser.add_argument("--equilibrate", type=float, default=100.0, help="ps at constant volume")
    parser.add_argument("--settle", type=float, default=0.0, help="ns at constant pressure, before")
    parser.add_argument("--every", type=int, default=1000, help="steps")
    parser.add_argument("--json", type=Path, default=None)
    choice = parser.parse_args()
    if 1000 * choice.nanoseconds < PARTS**2 * choice.every * TIMESTEP:
        parser.error(f"a run needs {PARTS**2} records: more --nanoseconds, or a smaller --every")
    result = run(choice)
    print_table(result)
    if choice.json:
        choice.json.parent.mkdir(parents=True, exist_ok=True)
        choice.json.write_text(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
