# SPDX-License-Identifier: Apache-2.0
"""Energy drift of DHFR in water at constant energy: 2 fs, constraints, velocity Verlet, no drift
removal, everything else as `quiltmd run` sets it.

The total energy is recorded every `--every` steps after an equilibration at constant temperature,
and a straight line is fitted to it by least squares.  Its slope per atom is the drift.  Successive
energies are correlated, so the standard error comes from fitting each of ten equal blocks of the
residuals' means, never from the residuals one by one: error = s / sqrt(sum (t - mean t)^2) with s
the scatter of the block means.

Energies are evaluated with the potential shifted to zero at the cutoff.  That changes no force, so
no bit of the trajectory either; it takes out the steps that the energy makes when a pair crosses the
cutoff, which are noise to the fit.

    python benchmarks/drift.py [--picoseconds 100] [--json benchmarks/results/drift-cpu.json]
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import quiltmd
from quiltmd.systems import SYSTEMS, system_files

TIMESTEP = 0.002  # ps
BLOCKS = 10


class Record:
    """Total energy every `every` steps; rewrites the results now and then."""

    def __init__(self, every: int, atoms: int, path: Path | None) -> None:
        self.every = every
        self.rows: list[tuple[float, float, float]] = []
        self._atoms = atoms
        self._path = path
        self._written = self._began = time.monotonic()

    def report(self, simulation: quiltmd.Simulation) -> None:
        energies = simulation.energies()
        self.rows.append((simulation.time, energies["total"], simulation.temperature()))
        if time.monotonic() - self._written > 30 and len(self.rows) > 4 * BLOCKS:
            self.write()

    def write(self) -> dict[str, Any]:
        self._written = time.monotonic()
        times, total, temperature = np.array(self.rows).T
        slope, error = fit(times, total)
        per_atom = 1000 / self._atoms  # kJ/mol/ps -> kJ/mol/ns per atom
        result = {
            "system": SYSTEMS["dhfr"].title,
            "timestep_ps": TIMESTEP,
            "simulated_ps": float(times[-1] - times[0]),
            "drift_kj_mol_ns_atom": slope * per_atom,
            "standard_error": error * per_atom,
            "scatter_of_total_energy_kj_mol": float(
                np.std(total - np.polyval(np.polyfit(times, total, 1), times))
            ),
            "mean_temperature_k": float(temperature.mean()),
            "machine": platform.machine(),
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


def equilibrated(threads: int | None) -> tuple[quiltmd.System, quiltmd.State]:
    """DHFR after 4 ps at 300 K from the coordinates that the files hold."""
    system, state = quiltmd.load(*system_files("dhfr"), constraints="h-bonds")
    simulation = quiltmd.Simulation(
        system,
        state,
        integrator=quiltmd.LangevinMiddle(300, friction=5, timestep=TIMESTEP, seed=1),
        device="cpu",
        threads=threads,
    )
    simulation.minimize(max_iterations=50)
    simulation.draw_velocities(300, 1)
    simulation.run(round(4 / TIMESTEP))
    final = simulation.state()
    return system, quiltmd.State(final.positions, final.velocities, final.box)


def main() -> None:
    parser = argparse.ArgumentParser(description="Energy drift of DHFR in water.")
    parser.add_argument("--picoseconds", type=float, default=100.0)
    parser.add_argument("--every", type=int, default=25)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--json", type=Path, default=None)
    choice = parser.parse_args()
    system, state = equilibrated(choice.threads)
    simulation = quiltmd.Simulation(
        system,
        state,
        quiltmd.Nonbonded(potential_shift=True),
        quiltmd.VelocityVerlet(TIMESTEP, remove_com_every=0),
        device="cpu",
        threads=choice.threads,
    )
    record = Record(choice.every, system.atoms, choice.json)
    simulation.run(round(choice.picoseconds / TIMESTEP), [record])
    result = record.write()
    print(
        f"{result['simulated_ps']:.1f} ps: drift {result['drift_kj_mol_ns_atom']:.2e} "
        f"+- {result['standard_error']:.1e} kJ/mol/ns per atom"
    )


if __name__ == "__main__":
    main()
