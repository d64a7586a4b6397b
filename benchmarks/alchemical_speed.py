# SPDX-License-Identifier: Apache-2.0
"""What alchemical atoms cost: steps of a system with some beside steps of the same one without.

    python benchmarks/alchemical_speed.py [--device cuda] [--ranks 1] [--atoms 50] [--states 24]
        [--every 500] [--steps 20000] [--rounds 5]

DHFR in water; atoms of the protein are at half of their charges, then at half of their van der
Waals interactions.  Runs take turns, in one process.  The last columns are those of runs that also
find the energies of all states, every so many steps.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

import quiltmd
from quiltmd.description.decoupling import at_lambdas
from quiltmd.running.benchmark import prepare, time_steps
from quiltmd.running.simulation import Simulation


def timed_samples(simulation: Simulation, steps: int, every: int) -> float:
    """Seconds that so many steps take with energies of all states every so many."""
    sample = quiltmd.FunctionReporter(lambda frame: frame.state_energies(), every, ("energies",))
    begin = time.perf_counter()
    simulation.run(steps, [sample])
    simulation.energies()
    return time.perf_counter() - begin


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--ranks", type=int)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--atoms", type=int, default=50)
    parser.add_argument("--states", type=int, default=24)
    parser.add_argument("--every", type=int, default=500)
    parser.add_argument("--steps", type=int, default=20000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    plain = prepare("dhfr", device=given.device, ranks=given.ranks, threads=given.threads)
    path = np.linspace(0, 1, given.states // 2)
    coulomb = np.concatenate([path, np.ones(given.states - len(path))])
    vdw = np.concatenate([np.zeros(len(path)), np.linspace(0, 1, given.states - len(path))])
    chosen = range(200, 200 + given.atoms)
    system = quiltmd.decouple(plain.system, chosen, coulomb, vdw, intramolecular="scale")
    runs = {"plain": plain}
    for name, lambdas in (("charges", (0.5, 0.0)), ("van der Waals", (1.0, 0.5))):
        runs[name] = Simulation(
            at_lambdas(system, *lambdas),
            plain.state(),
            plain.nonbonded,
            plain.integrator,
            device=given.device,
            ranks=given.ranks,
            threads=given.threads,
        )
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    sampled: dict[str, list[float]] = {name: [] for name in runs if name != "plain"}
    for turn in range(given.rounds + 1):
        for name, run in runs.items():
            took = time_steps(run, given.steps)
            if turn:
                seconds[name].append(took)
        for name, found in sampled.items():
            took = timed_samples(runs[name], given.steps, given.every)
            if turn:
                found.append(took)
    print(f"{plain.system.atoms:,} atoms, {given.atoms} of them alchemical, {plain.device}")
    print("| atoms | us a step | to plain | with all states | to without |")
    print("| --- | --- | --- | --- | --- |")
    us = {name: 1e6 * statistics.median(found) / given.steps for name, found in seconds.items()}
    print(f"| plain | {us['plain']:.2f} | | | |")
    for name, found in sampled.items():
        states = 1e6 * statistics.median(found) / given.steps
        print(
            f"| {name} | {us[name]:.2f} | {us[name] / us['plain']:.3f} | {states:.2f} | "
            f"{states / us[name]:.3f} |"
        )


if __name__ == "__main__":
    main()
