# SPDX-License-Identifier: Apache-2.0
"""Speed on the CPU: beside OpenMM, against the number of atoms, and against the number of ranks.

DHFR in water, 4 fs steps with hydrogen mass repartitioning, 0.9 nm, PME, constant temperature.
Quilt and OpenMM take turns within one process, so that changes in the speed of the machine affect
both alike; the ratio is the median over the rounds.  `make bench` runs this.

    python benchmarks/cpu.py [--seconds 8] [--rounds 3] [--threads 2] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from typing import Any

import quiltmd
from quiltmd.engine.execution import available_cores
from quiltmd.inputs.standard_systems import system_files
from quiltmd.running.benchmark import bench, prepare, time_steps
from quiltmd.running.config import REPARTITIONED_HYDROGEN_MASS

_TRIAL_STEPS = 10
_SIZES = (("alanine", (3, 1, 1)), ("dhfr", (1, 1, 1)), ("dhfr", (2, 2, 1)))


def openmm_runner(threads: int) -> Any:
    """A function that runs n steps of DHFR on OpenMM's CPU platform; None without OpenMM."""
    try:
        import openmm
        from openmm import app, unit
    except ImportError:
        return None
    topology, coordinates = map(str, system_files("dhfr"))
    inpcrd = app.AmberInpcrdFile(coordinates)
    system = app.AmberPrmtopFile(topology).createSystem(
        nonbondedMethod=app.PME,
        nonbondedCutoff=0.9 * unit.nanometer,
        constraints=app.HBonds,
        hydrogenMass=REPARTITIONED_HYDROGEN_MASS * unit.amu,
    )
    integrator = openmm.LangevinMiddleIntegrator(300, 1.0, 0.004)
    context = openmm.Context(
        system,
        integrator,
        openmm.Platform.getPlatformByName("CPU"),
        {"Threads": str(threads)},
    )
    context.setPeriodicBoxVectors(*inpcrd.boxVectors)
    context.setPositions(inpcrd.positions)
    context.setVelocitiesToTemperature(300, 1)

    def run(steps: int) -> float:
        begin = time.perf_counter()
        integrator.step(steps)
        context.getState(getEnergy=True)
        return time.perf_counter() - begin

    run(2 * _TRIAL_STEPS)
    return run


def compare(seconds: float, rounds: int, threads: int) -> dict[str, Any]:
    """Milliseconds per step of both programs, in turn, and the ratio of their speeds."""
    simulation = prepare("dhfr", threads=threads, device="cpu")
    runners = {"quiltmd": lambda steps: time_steps(simulation, steps)}
    openmm = openmm_runner(threads)
    if openmm is not None:
        runners["openmm"] = openmm
    steps = {
        name: max(_TRIAL_STEPS, int(seconds * _TRIAL_STEPS / run(_TRIAL_STEPS)))
        for name, run in runners.items()
    }
    times: dict[str, list[float]] = {name: [] for name in runners}
    for _ in range(rounds):
        for name, run in runners.items():
            times[name].append(1e3 * run(steps[name]) / steps[name])
    result: dict[str, Any] = {"milliseconds_per_step": times}
    if openmm is not None:
        ratios = [o / q for q, o in zip(times["quiltmd"], times["openmm"], strict=True)]
        result["ratio"] = statistics.median(ratios)
    return result


def print_comparison(result: dict[str, Any]) -> None:
    for name, times in result["milliseconds_per_step"].items():
        each = ", ".join(f"{value:.2f}" for value in times)
        speed = 0.004e-3 * 86400e3 / statistics.median(times)
        print(f"  {name:8s} {statistics.median(times):7.2f} ms/step ({each}), {speed:.2f} ns/day")
    if "ratio" in result:
        print(f"  quiltmd runs at {result['ratio']:.2f} times the speed of OpenMM's CPU platform")
    else:
        print("  OpenMM is not installed: nothing to compare with")


def print_bench(result: dict[str, Any]) -> None:
    print(
        f"  {result['system']:8s} {result['tile']}  {result['atoms']:7d} atoms  "
        f"{result['ranks']} x {result['threads']} ranks x threads  "
        f"{result['milliseconds_per_step']:8.2f} ms/step  {result['ns_per_day']:7.2f} ns/day  "
        f"{1e6 * result['milliseconds_per_step'] / result['atoms']:.0f} ns/step/atom"
    )


def print_tasks(result: dict[str, Any]) -> None:
    total = sum(result["tasks"].values())
    for name, seconds in sorted(result["tasks"].items(), key=lambda item: -item[1]):
        each = 1e3 * seconds / result["steps"]
        print(f"  {name:32s} {each:8.3f} ms/step {seconds / total:6.1%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=8.0, help="per program and round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=min(2, available_cores()))
    parser.add_argument("--json", help="also write the results to this file")
    options = parser.parse_args()
    results: dict[str, Any] = {"machine": platform.processor(), "cores": available_cores()}

    print(f"DHFR, {options.threads} threads, in turn with OpenMM's CPU platform:")
    results["comparison"] = compare(options.seconds, options.rounds, options.threads)
    print_comparison(results["comparison"])

    print("by number of atoms:")
    results["sizes"] = []
    for system, tile in _SIZES:
        results["sizes"].append(bench(system, tile, threads=options.threads, device="cpu"))
        print_bench(results["sizes"][-1])
    print("time by task, DHFR:")
    print_tasks(results["sizes"][1])

    print("by number of ranks, one thread each:")
    results["ranks"] = []
    for ranks in (1, 2, 4):
        results["ranks"].append(bench("dhfr", ranks=ranks, threads=1, device="cpu"))
        print_bench(results["ranks"][-1])
    if options.json:
        with open(options.json, "w", encoding="ascii") as file:
            json.dump(results | {"version": quiltmd.__version__}, file, indent=1)


if __name__ == "__main__":
    main()
