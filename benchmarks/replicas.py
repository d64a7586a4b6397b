# SPDX-License-Identifier: Apache-2.0
"""Speed of many replicas: ns/day of all together, by how many a device runs at the same time.

    python benchmarks/replicas.py --system dhfr --replicas 16 --devices cuda:0 --together 1,2,4

Temperatures lie so close that about half of the swaps are accepted.  The gain is over replicas one
after the other; `alone` is a simulation without exchange.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from provenance import provenance

import quiltmd
from quiltmd import LangevinMiddle, ReplicaExchange, Simulation
from quiltmd.exchange.states import geometric
from quiltmd.inputs.standard_systems import system_files
from quiltmd.running.config import REPARTITIONED_HYDROGEN_MASS

TIMESTEP = 0.004  # ps
WARM_UP = 2  # iterations


def ns_per_day(steps: float, seconds: float) -> float:
    return round(steps * TIMESTEP * 1e-3 * 86400 / seconds, 1)


def start(name: str, device: str) -> tuple[quiltmd.System, quiltmd.State]:
    """A standard system, relaxed."""
    system, state = quiltmd.load(
        *system_files(name), constraints="h-bonds", hydrogen_mass=REPARTITIONED_HYDROGEN_MASS
    )
    simulation = Simulation(system, state, device=device)
    simulation.minimize(max_iterations=50)
    return system, simulation.state()


def alone(system: quiltmd.System, state: quiltmd.State, device: str, steps: int) -> float:
    """ns/day of one simulation."""
    integrator = LangevinMiddle(timestep=TIMESTEP, seed=1)
    simulation = Simulation(system, state, integrator=integrator, device=device)
    simulation.draw_velocities(300, 1)
    simulation.run(steps)
    begin = time.perf_counter()
    simulation.run(steps)
    simulation.energies()
    return ns_per_day(steps, time.perf_counter() - begin)


def replicas(
    system: quiltmd.System, state: quiltmd.State, chosen: argparse.Namespace, together: int
) -> dict[str, Any]:
    """ns/day of all replicas, and how many swaps were accepted."""
    width = 1 + 1.2 / (system.degrees_of_freedom / 2) ** 0.5
    ladder = geometric(300.0, 300.0 * width ** (chosen.replicas - 1), chosen.replicas)
    exchange = ReplicaExchange(
        system,
        state,
        quiltmd.temperature_states(ladder),
        every=chosen.every,
        seed=1,
        integrator=LangevinMiddle(timestep=TIMESTEP),
        devices=chosen.devices.split(";"),
        together=together,
    )
    exchange.draw_velocities()
    exchange.run(WARM_UP)
    before = exchange.walkers.copy()
    moved = 0
    begin = time.perf_counter()
    for _ in range(chosen.iterations):
        exchange.run(1)
        moved += int((exchange.walkers != before).sum())
        before = exchange.walkers.copy()
    seconds = time.perf_counter() - begin
    steps = chosen.iterations * chosen.every * chosen.replicas
    return {
        "together": together,
        "ns_per_day": ns_per_day(steps, seconds),
        "swapped": round(moved / chosen.iterations / chosen.replicas, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed of many replicas.")
    parser.add_argument("--system", default="dhfr")
    parser.add_argument("--replicas", type=int, default=16)
    parser.add_argument("--devices", default="cuda:0", help="separated by ;")
    parser.add_argument("--together", default="1,2,4")
    parser.add_argument("--every", type=int, default=250)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    device = chosen.devices.split(";")[0]
    system, state = start(chosen.system, device)
    single = alone(system, state, device, chosen.every * 8)
    print(f"{system.atoms} atoms, alone: {single} ns/day")
    rows = []
    for together in map(int, chosen.together.split(",")):
        rows.append(replicas(system, state, chosen, together))
        rows[-1]["gain"] = round(rows[-1]["ns_per_day"] / rows[0]["ns_per_day"], 3)
        print(rows[-1])
    if chosen.out:
        settings = {key: str(value) for key, value in vars(chosen).items()}
        result = {"provenance": provenance(), **settings, "atoms": system.atoms, "alone": single}
        chosen.out.write_text(json.dumps({**result, "replicas": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
