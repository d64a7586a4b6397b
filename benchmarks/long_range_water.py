# SPDX-License-Identifier: Apache-2.0
"""What water does with the fast multipole method and with PME: drift, density, surface tension.

    python benchmarks/long_range_water.py [--device cuda] [--what drift,density,tension]
        [--picoseconds 1000] [--methods pme,fmm]

A thousand TIP3P waters, made liquid once; both methods start from there, with a cutoff of 0.9 nm
and 2 fs.  drift: of the total energy at constant energy, with the potential shifted at the cutoff
(the fit of drift.py).  density: at 300 K and 1.01325 bar by cell rescaling, the correction for the
Lennard-Jones tail included.  tension: at 300 K, of a slab in a box three times as long; half of
Lz (Pzz - (Pxx + Pyy)/2), without a correction.  The first tenth of a run at constant temperature is
left out, and errors are standard errors from the means of ten blocks.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import benchmark_systems
import numpy as np
from drift import fit
from numpy.typing import NDArray

import quiltmd

TIMESTEP = 0.002  # ps
MELT_STEPS = 20000
ENERGY_EVERY, SAMPLE_EVERY = 50, 25  # steps
BAR_NM = 0.1  # mN/m
METHODS: dict[str, quiltmd.Nonbonded] = {
    "pme": quiltmd.Nonbonded(coulomb_cutoff=0.9),
    "fmm": quiltmd.Nonbonded(method="fmm"),
}
Pair = benchmark_systems.Pair


def melted(device: str) -> Pair:
    """A thousand waters, equilibrated with PME."""
    system, state = benchmark_systems.build("water3000", benchmark_systems.Path())
    thermostat = quiltmd.LangevinMiddle(300.0, 5.0, TIMESTEP, seed=1)
    simulation = quiltmd.Simulation(system, state, METHODS["pme"], thermostat, device=device)
    simulation.minimize(200.0)
    simulation.draw_velocities(300.0, 1)
    simulation.run(MELT_STEPS)
    return system, at_start(simulation.state())


def at_start(state: quiltmd.State) -> quiltmd.State:
    """Without step number and random numbers."""
    return quiltmd.State(state.positions, state.velocities, state.box)


def sampled(
    simulation: quiltmd.Simulation,
    steps: int,
    every: int,
    value: Callable[[quiltmd.Simulation], float],
) -> NDArray[np.float64]:
    values = []
    for _ in range(steps // every):
        simulation.run(every)
        values.append(value(simulation))
    return np.array(values)


def mean_of(values: NDArray[np.float64]) -> str:
    """Of the last nine tenths."""
    blocks = [block.mean() for block in np.array_split(values[len(values) // 10 :], 10)]
    return f"{np.mean(blocks):.3f} +- {np.std(blocks, ddof=1) / np.sqrt(len(blocks)):.3f}"


def drift(pair: Pair, settings: quiltmd.Nonbonded, steps: int, device: str) -> str:
    simulation = quiltmd.Simulation(
        *pair,
        replace(settings, potential_shift=True),
        quiltmd.VelocityVerlet(TIMESTEP, remove_com_every=0),
        device=device,
    )
    simulation.run(5000)
    energies = sampled(simulation, steps, ENERGY_EVERY, lambda s: s.energies()["total"])
    times = TIMESTEP * ENERGY_EVERY * np.arange(len(energies))
    slope, error = (1000 * x / pair[0].atoms for x in fit(times, energies))
    return f"drift {slope:.2e} +- {error:.1e} kJ/mol/ns per atom"


def density(pair: Pair, settings: quiltmd.Nonbonded, steps: int, device: str) -> str:
    simulation = quiltmd.Simulation(
        *pair,
        replace(settings, dispersion_correction=True),
        quiltmd.LangevinMiddle(300.0, 1.0, TIMESTEP, seed=2),
        barostat=quiltmd.CellRescaling(1.01325, 0.5, seed=3),
        device=device,
    )
    values = sampled(simulation, steps, 4 * SAMPLE_EVERY, lambda s: s.density())
    return f"density {mean_of(values)} kg/m^3"


def tension(pair: Pair, settings: quiltmd.Nonbonded, steps: int, device: str) -> str:
    system, state = pair
    box = np.array(state.box) * [1, 1, 3]
    simulation = quiltmd.Simulation(
        system,
        replace(state, box=box),
        settings,
        quiltmd.LangevinMiddle(300.0, 1.0, TIMESTEP, seed=2),
        device=device,
    )

    def of_pressure(s: quiltmd.Simulation) -> float:
        p = np.diag(s.pressure_tensor())
        return float(BAR_NM * box[2, 2] / 2 * (p[2] - (p[0] + p[1]) / 2))

    return f"surface tension {mean_of(sampled(simulation, steps, SAMPLE_EVERY, of_pressure))} mN/m"


WHAT: dict[str, Callable[..., str]] = {"drift": drift, "density": density, "tension": tension}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else None)
    add: Any = parser.add_argument
    add("--device", default="auto")
    add("--what", default=",".join(WHAT))
    add("--methods", default=",".join(METHODS))
    add("--picoseconds", type=float, default=1000.0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    pair = melted(options.device)
    for what in options.what.split(","):
        for method in options.methods.split(","):
            steps = round(options.picoseconds / TIMESTEP)
            found = WHAT[what](pair, METHODS[method], steps, options.device)
            print(f"{method}: {found}, {options.picoseconds:g} ps", flush=True)


if __name__ == "__main__":
    main()
