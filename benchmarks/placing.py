# SPDX-License-Identifier: Apache-2.0
"""Energies and forces of placed atoms, in steps' time: processor time of one thread.

    python benchmarks/placing.py [--system dhfr] [--times 20]

Atoms are placed some 1e-4 nm from where they were, as an optimiser or a program that drives the
simulation does, by `Simulation.place` and by `Simulation.set_state`; each time energies and forces
are asked for. The least of several times is taken, as others may use the machine.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from quiltmd import LangevinMiddle, Simulation
from quiltmd.inputs import load
from quiltmd.inputs.standard_systems import system_files

STEPS = 100  # lists are rebuilt several times in them


def least(times: int, action: Callable[[int], object]) -> float:
    """Milliseconds of the processor."""
    taken = []
    for number in range(times):
        begin = time.process_time()
        action(number)
        taken.append(time.process_time() - begin)
    return 1e3 * min(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--system", default="dhfr")
    parser.add_argument("--times", type=int, default=20)
    chosen = parser.parse_args()
    system, start = load(*system_files(chosen.system), constraints="h-bonds")
    integrator = LangevinMiddle(timestep=0.002, seed=1)
    simulation = Simulation(system, start, integrator=integrator, device="cpu", threads=1)
    simulation.minimize(max_iterations=20)
    simulation.draw_velocities(300, 1)
    simulation.run(STEPS)
    state = simulation.state()
    noise = np.random.default_rng(1).normal(0, 1e-4, (2, *state.positions.shape))
    near = [replace(state, positions=state.positions + one, list_positions=None) for one in noise]

    def evaluate() -> None:
        simulation.energies()
        simulation.forces()

    def place(number: int) -> None:
        simulation.place(near[number % 2].positions)
        evaluate()

    def set_state(number: int) -> None:
        simulation.set_state(near[number % 2])
        evaluate()

    step = least(4, lambda _: simulation.run(STEPS)) / STEPS
    simulation.set_state(state)
    print(f"{system.atoms} atoms, a step: {step:.2f} ms")
    for what in (place, set_state):
        taken = least(chosen.times, what)
        print(f"{what.__name__}, energies, forces: {taken:.2f} ms, {taken / step:.2f} steps' time")


if __name__ == "__main__":
    main()
