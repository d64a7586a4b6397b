# SPDX-License-Identifier: Apache-2.0
"""Water droplets in vacuum: the fast multipole method, and all pairs by quiltmd and by OpenMM.

    python benchmarks/droplet.py [--atoms 25000,100000] [--methods fmm,openmm] [--device cuda]
        [--threads 1] [--platform CUDA] [--seconds 5] [--errors]
        [--profile]

Water within a sphere, without a periodic box; Langevin-middle at 300 K and 1/ps, 2 fs, rigid water.
`fmm`: the fast multipole method with a cutoff of 0.9 nm for Lennard-Jones interactions;
`no-cutoff`: all pairs; `openmm`: all pairs in OpenMM (NoCutoff), in mixed precision on CUDA.  Times
are means over whole blocks of steps, after a minimisation and a warm-up; memory is the largest that
the process has used so far.  --errors compares forces of `fmm`, without Lennard-Jones interactions,
with sums over all pairs.
"""

from __future__ import annotations

import argparse
import resource
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import benchmark_systems
import numpy as np
from implicit_solvent import ITERATIONS, MINIMISED_TO, TIMESTEP, seconds_of_a_step

import quiltmd
from quiltmd.openmm.write import to_openmm
from quiltmd.running.profiling import run_profiled

THERMOSTAT = quiltmd.LangevinMiddle(300.0, 1.0, TIMESTEP, seed=1)
WARM_UP_STEPS, PROFILED_STEPS = 300, 400
FMM, ALL_PAIRS = quiltmd.Nonbonded(method="fmm"), quiltmd.Nonbonded(method="no-cutoff")


def droplet(atoms: int) -> benchmark_systems.Pair:
    """The waters of a lattice that are closest to its middle."""
    waters = atoms // 3
    edge = 0.3105 * np.ceil((6 / np.pi * waters) ** (1 / 3))
    cube = benchmark_systems.water(float(edge))[1].positions.reshape(-1, 3, 3)
    distances = np.linalg.norm(cube[:, 0] - cube[:, 0].mean(axis=0), axis=1)
    chosen = cube[np.sort(np.argsort(distances, kind="stable")[:waters])]
    system = benchmark_systems.tip3p(waters)
    return system, quiltmd.State.start(system, chosen.reshape(-1, 3), None)


def warm(pair: benchmark_systems.Pair, options: argparse.Namespace) -> quiltmd.Simulation:
    """The droplet as a liquid."""
    where = {"device": options.device, "threads": options.threads}
    simulation = quiltmd.Simulation(*pair, FMM, THERMOSTAT, **where)
    simulation.minimize(MINIMISED_TO, ITERATIONS)
    simulation.draw_velocities(300.0, seed=1)
    simulation.run(WARM_UP_STEPS)
    return simulation


def time_quiltmd(
    system: quiltmd.System, start: quiltmd.State, method: str, options: argparse.Namespace
) -> float:
    simulation = quiltmd.Simulation(
        system,
        start,
        FMM if method == "fmm" else ALL_PAIRS,
        THERMOSTAT,
        device=options.device,
        threads=options.threads,
    )
    seconds = seconds_of_a_step(simulation.run, options.seconds)
    if options.profile:
        rows = run_profiled(simulation, PROFILED_STEPS).rows()
        print("; ".join(f"{row.name} {row.us_per_step:.1f}" for row in rows), flush=True)
    return seconds


def time_openmm(
    system: quiltmd.System, start: quiltmd.State, method: str, options: argparse.Namespace
) -> float:
    import openmm

    integrator = openmm.LangevinMiddleIntegrator(300.0, 1.0, TIMESTEP)
    platform = openmm.Platform.getPlatformByName(options.platform)
    settings = {"Precision": "mixed"} if options.platform == "CUDA" else {}
    context = openmm.Context(to_openmm(system, ALL_PAIRS), integrator, platform, settings)
    context.setPositions(start.positions)
    context.setVelocities(start.velocities)

    def run(steps: int) -> None:
        integrator.step(steps)
        context.getState(getVelocities=True)  # waits for the GPU

    return seconds_of_a_step(run, options.seconds)


def error_of_forces(
    system: quiltmd.System, start: quiltmd.State, options: argparse.Namespace
) -> float:
    """Relative to their root mean square, which for water is 1,030 kJ/mol/nm."""
    none = np.zeros_like(system.lj_a)
    charges = replace(system, lj_a=none, lj_b=none)
    found, exact = (
        quiltmd.Simulation(charges, start, settings, THERMOSTAT, device=options.device).forces()
        for settings in (FMM, ALL_PAIRS)
    )
    return float(np.sqrt(((found - exact) ** 2).sum() / (exact**2).sum()))


PROGRAMS: dict[str, Callable[..., float]] = {
    "fmm": time_quiltmd,
    "no-cutoff": time_quiltmd,
    "openmm": time_openmm,
}


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else None)
    add: Any = parser.add_argument
    add("--atoms", default="25000,100000")
    add("--methods", default="fmm,openmm")
    add("--device", default="cuda", help="of quiltmd")
    add("--threads", type=int)
    add("--platform", default="CUDA", help="of OpenMM")
    add("--seconds", type=float, default=5.0, help="timed at least so long, each")
    add("--errors", action="store_true")
    add("--profile", action="store_true", help="times of kernels of quiltmd, us a step")
    return parser.parse_args()


def main() -> None:
    options = parse_options()
    warnings.simplefilter("ignore")  # of velocities and of the missing box
    for atoms in map(int, options.atoms.split(",")):
        system, state = droplet(atoms)
        simulation = warm((system, state), options)
        start = simulation.state()
        if options.errors:
            error = error_of_forces(system, start, options)
            print(f"{system.atoms:,} atoms: error of forces {error:.2e}", flush=True)
        for method in options.methods.split(","):
            seconds = PROGRAMS[method](system, start, method, options)
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"| {system.atoms:,} | {method} | {1e6 * seconds:,.1f} us a step | "
                f"{86.4 * TIMESTEP / seconds:,.1f} ns/day | {memory:,.0f} MiB |",
                flush=True,
            )


if __name__ == "__main__":
    main()
