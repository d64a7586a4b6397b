# SPDX-License-Identifier: Apache-2.0
"""Many small runs on one GPU, in threads of one process: ethane turns into methanol, a run a state.

Arguments: device, runs, steps.  Each has the state and energies that it has alone.  Simulations
that do not run leave a lone one its streams; many that run have one stream each.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hybrid_molecules import ETHANE, MAPPING, METHANOL, molecule

import quiltmd
from quiltmd.outputs.free_energy import StateEnergyReporter

device, runs, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
ROUNDS = 4
LAMBDAS = np.linspace(0, 1, runs).round(3).tolist()
Trace = tuple[str, str]


def simulation(state: int) -> quiltmd.Simulation:
    system, start = quiltmd.hybrid(
        molecule(ETHANE), molecule(METHANOL), MAPPING, *[LAMBDAS] * 3, state=state
    )
    run = quiltmd.Simulation(
        system,
        start,
        quiltmd.Nonbonded(cutoff=1.0),
        integrator=quiltmd.LangevinMiddle(timestep=0.001, seed=state),
        device=device,
    )
    run.draw_velocities(298.15, 1 + state)
    return run


def trace(run: quiltmd.Simulation, count: int) -> Trace:
    """What these steps lead to."""
    with TemporaryDirectory() as folder:
        energies = Path(folder) / "energies.csv"
        run.run(count, [StateEnergyReporter(energies, 50, run)])
        return quiltmd.digest(run.state()), energies.read_text()


def streams(run: quiltmd.Simulation, act: Callable[[], object]) -> set[int]:
    """Those on which kernels run meanwhile."""
    run.start_profile()
    act()
    return {span["stream"] for span in run.stop_profile()}


def fresh(number: int) -> Trace:
    return trace(simulation(number % runs), steps)


with ThreadPoolExecutor(runs) as pool:
    # Each alone, beside those before it, which live on with all that they have recorded.
    living = [simulation(state) for state in range(runs)]
    alone = [trace(run, steps) for run in living]
    used = streams(living[0], lambda: living[0].run(steps))
    assert len(used) > 1, f"a lone run beside idle ones is on streams {used}"

    # All others go on at once.
    later = list(pool.map(trace, living[1:], [steps] * (runs - 1)))
    for state in range(1, runs, 4):
        own = simulation(state)
        trace(own, steps)
        assert later[state - 1] == trace(own, steps), f"state {state} goes on differently"

    # While some begin, others end.
    for number, begun in enumerate(pool.map(fresh, range(ROUNDS * runs))):
        assert begun == alone[number % runs], f"state {number % runs} differs"

    # They are many by now.
    used_by_each = list(pool.map(lambda run: streams(run, lambda: run.run(steps)), living))
    assert used_by_each.count({0}) > runs // 2, f"many runs are on streams {used_by_each}"
