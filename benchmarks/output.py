# SPDX-License-Identifier: Apache-2.0
"""What output costs: steps with a log, a trajectory or all of them, beside steps without any.

The kinds take turns within one process, and the median over the rounds is reported.  Files go to a
temporary folder (--folder says where: /dev/shm leaves the disk out).

    python benchmarks/output.py [--device cuda] [--tile 1x1x1] [--steps 20000] [--every 5000,500]
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from provenance import provenance

import quiltmd
from quiltmd.commands.bench import parse_tile
from quiltmd.running.benchmark import prepare

Reporters = list[Any]


def kinds(folder: Path, every: int) -> dict[str, Callable[[quiltmd.Simulation], Reporters]]:
    """Names of kinds of output every so many steps, and what makes their reporters."""

    def log(simulation: quiltmd.Simulation) -> Reporters:
        return [quiltmd.LogReporter(folder / "log.csv", every)]

    def frames(simulation: quiltmd.Simulation) -> Reporters:
        return [quiltmd.TrajectoryReporter(folder / "trajectory.dcd", every, simulation)]

    def all_kinds(simulation: quiltmd.Simulation) -> Reporters:
        outputs = [*log(simulation), *frames(simulation)]
        path = folder / "checkpoint.qmd"
        return [*outputs, quiltmd.CheckpointReporter(path, every, outputs)]

    return {"log": log, "trajectory": frames, "log, trajectory, checkpoint": all_kinds}


def time_run(simulation: quiltmd.Simulation, steps: int, reporters: Reporters) -> float:
    """Microseconds a step, until everything is written."""
    begin = time.perf_counter()
    simulation.run(steps, reporters)
    return 1e6 * (time.perf_counter() - begin) / steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--system", default="dhfr")
    parser.add_argument("--tile", type=parse_tile, default=(1, 1, 1))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--steps", type=int, default=20000, help="of each timing")
    parser.add_argument("--every", default="5000,500", help="steps between reports")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--json", type=Path, default=None)
    choice = parser.parse_args()
    simulation = prepare(choice.system, choice.tile, device=choice.device)
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(dir=choice.folder) as folder:
        cases: dict[str, Any] = {"no output": lambda simulation: []}
        for every in map(int, choice.every.split(",")):
            for name, make in kinds(Path(folder), every).items():
                cases[f"{name} every {every}"] = make
        for _ in range(choice.rounds):
            for name, make in cases.items():
                seconds = time_run(simulation, choice.steps, make(simulation))
                found.setdefault(name, []).append(seconds)
    medians = {name: statistics.median(times) for name, times in found.items()}
    plain = medians["no output"]
    for name, value in medians.items():
        print(f"{name:45} {value:10.2f} us/step  {100 * (value / plain - 1):+6.1f} %")
    if choice.json is not None:
        result = {**provenance(), "atoms": simulation.system.atoms, "us_per_step": medians}
        choice.json.write_text(json.dumps(result, indent=1) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
