# SPDX-License-Identifier: Apache-2.0
"""Steps with the fast multipole method beside steps with PME.

    python benchmarks/long_range.py [--device cuda] [--tiles 1x1x1,2x2x1] [--steps 2000]
        [--rounds 5] [--orders 5,6] [--tolerance 5e-4] [--profile]

DHFR in water, repeated, steps of 4 fs.  The methods take turns within one process; the least of the
rounds is reported, in us a step.  --profile adds the time of each kind of kernel in a step.
"""

from __future__ import annotations

import argparse
from typing import Any

from quiltmd.commands.bench import parse_tile
from quiltmd.description.integrators import LangevinMiddle
from quiltmd.description.nonbonded import Nonbonded
from quiltmd.inputs import load
from quiltmd.inputs.standard_systems import system_files
from quiltmd.running.benchmark import time_steps, warm_up_steps
from quiltmd.running.profiling import run_profiled
from quiltmd.running.simulation import Simulation

Tile = tuple[int, int, int]


def simulation_of(tile: Tile, nonbonded: Nonbonded, **where: Any) -> Simulation:
    """The standard system with velocities, ready to be timed."""
    system, state = load(*system_files("dhfr"), constraints="h-bonds", hydrogen_mass=3.0)
    simulation = Simulation(
        system.tile(*tile),
        state.tile(*tile),
        nonbonded,
        LangevinMiddle(300.0, 1.0, 0.004, seed=0),
        **where,
    )
    simulation.draw_velocities(300.0)
    simulation.run(warm_up_steps(simulation))
    return simulation


def measure(
    tile: Tile, methods: dict[str, Nonbonded], options: argparse.Namespace, **where: Any
) -> None:
    """Prints a row for each method."""
    running = {name: simulation_of(tile, settings, **where) for name, settings in methods.items()}
    least = dict.fromkeys(running, float("inf"))
    for _ in range(options.rounds):
        for name, simulation in running.items():
            seconds = time_steps(simulation, options.steps)
            least[name] = min(least[name], 1e6 * seconds / options.steps)
    for name, simulation in running.items():
        grid = " x ".join(
            map(str, simulation.nonbonded.resolve(simulation.state().box)["pme_grid"])
        )
        ratio = least[name] / least["pme"]
        atoms = len(simulation.system.charges)
        print(f"| {atoms:,} | {name} | {grid} | {least[name]:,.1f} | {ratio:.3f} |", flush=True)
        if options.profile:
            rows = run_profiled(simulation, 20 * options.steps).rows()
            print("; ".join(f"{row.name} {row.us_per_step:.1f}" for row in rows), flush=True)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--tiles", default="1x1x1")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--orders", default="5,6")
    parser.add_argument("--tolerance", type=float, default=5e-4)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    methods = {"pme": Nonbonded(pme_tolerance=options.tolerance)}
    for order in map(int, options.orders.split(",")):
        methods[f"fmm of order {order}"] = Nonbonded(
            method="fmm",
            fmm_tolerance=options.tolerance,
            fmm_order=order,  # type: ignore[arg-type]
        )
    print("| atoms | method | grid | us a step | of PME's |\n| --- | --- | --- | --- | --- |")
    for tile in options.tiles.split(","):
        measure(parse_tile(tile), methods, options, device=options.device, threads=options.threads)


if __name__ == "__main__":
    main()
