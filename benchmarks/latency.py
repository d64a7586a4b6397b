# SPDX-License-Identifier: Apache-2.0
"""What a slow network costs: steps of a simulation whose engine, or only its device, is elsewhere.

    python benchmarks/latency.py --device cuda:0 --out benchmarks/results/latency.json
    python benchmarks/latency.py --device cpu --system water --steps 2000

A server of this machine is reached through a proxy that passes on everything late, by 0 to 2 ms in
each direction.  `remote` has the engine in the worker, `forward` the device alone.  Rows are taken
in turn, `--rounds` times over, and the fastest counts; all must lead to the same State.  A delay
lasts longer than it is asked to, by the timer of the system: `slept_ms` is what it takes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from provenance import ROOT, provenance
from workers import server_here

import quiltmd
from quiltmd import LangevinMiddle, Nonbonded, Simulation, Workers
from quiltmd.inputs import load
from quiltmd.inputs.standard_systems import system_files

sys.path.insert(0, str(ROOT / "tests" / "python"))
from boxes import water_box
from proxy import Proxy

DELAYS = (0.0, 0.02, 0.1, 0.5, 2.0)  # ms, in each direction


def slept(delay: float) -> float:
    """How long a delay of so many ms takes, ms."""
    taken = []
    for _ in range(50):
        begin = time.perf_counter()
        time.sleep(1e-3 * delay)
        taken.append(1e3 * (time.perf_counter() - begin))
    return round(statistics.median(taken), 3)


def start(name: str) -> tuple[quiltmd.System, quiltmd.State, Nonbonded]:
    """A standard system, or 648 atoms of water."""
    if name == "water":
        return *water_box((6, 6, 6)), Nonbonded(cutoff=0.8)
    return *load(*system_files(name)), Nonbonded()


def measure(chosen: argparse.Namespace, server: int, key: Path) -> list[dict[str, Any]]:
    """A row for each device: us a step, and the overhead over the device without a worker.

    `server` is the port of a server.
    """
    system, state, nonbonded = start(chosen.system)
    rows: list[dict[str, Any]] = [{"level": "local", "delay_ms": 0.0, "device": chosen.device}]
    for delay in DELAYS:
        port = Proxy(server, 1e-3 * delay).port
        there = f"remote:127.0.0.1:{port}/{chosen.device}"
        for level, device in (("engine", there), ("device", f"forward:{there}")):
            row = {"level": level, "delay_ms": delay, "slept_ms": slept(delay)}
            rows.append({**row, "device": device})
    simulations = []
    for row in rows:
        workers = {} if row["level"] == "local" else {"workers": Workers(key=key)}
        integrator = LangevinMiddle(seed=1)
        simulation = Simulation(
            system, state, nonbonded, integrator, device=row.pop("device"), **workers
        )
        simulation.draw_velocities(300, 1)
        simulation.run(chosen.steps)
        simulations.append(simulation)
    taken: list[list[float]] = [[] for _ in rows]
    for _ in range(chosen.rounds):
        for simulation, seconds in zip(simulations, taken, strict=True):
            begin = time.perf_counter()
            simulation.run(chosen.steps)
            simulation.energies()
            seconds.append(time.perf_counter() - begin)
    digests = {quiltmd.digest(simulation.state()) for simulation in simulations}
    if len(digests) > 1:
        raise SystemExit("states differ")
    for row, seconds in zip(rows, taken, strict=True):
        row["us_per_step"] = round(1e6 * min(seconds) / chosen.steps, 2)
        row["overhead_percent"] = round(100 * (min(seconds) / min(taken[0]) - 1), 2)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--system", default="dhfr", help="a standard system, or water")
    parser.add_argument("--steps", type=int, default=10000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    with server_here() as (port, key):
        rows = measure(chosen, port, key)
    print(f"{'level':8}{'delay, ms':>10}{'us a step':>12}{'overhead':>10}")
    for row in rows:
        print(
            f"{row['level']:8}{row['delay_ms']:10.2f}{row['us_per_step']:12.1f}"
            f"{row['overhead_percent']:9.2f}%"
        )
    if chosen.out:
        settings = {"device": chosen.device, "system": chosen.system, "steps": chosen.steps}
        result = {"provenance": provenance(), **settings, "rounds": chosen.rounds, "rows": rows}
        chosen.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
