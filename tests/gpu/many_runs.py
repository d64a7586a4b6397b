# SPDX-License-Identifier: Apache-2.0
"""Many small runs on one GPU, in threads of one process: ethane turns into methanol, a run a state.

Arguments: device, runs, steps.  Each has the state and energies that it has alone.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hybrid_molecules import ETHANE, MAPPING, METHANOL, molecule

import quiltmd
from quiltmd.outputs.free_energy import StateEnergyReporter

device, runs, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
ROUNDS = 6
LAMBDAS = np.linspace(0, 1, runs).round(3).tolist()


def trace(state: int, folder: Path) -> tuple[str, str]:
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
    energies = folder / f"{state}.csv"
    run.run(steps, [StateEnergyReporter(energies, 50, run)])
    return quiltmd.digest(run.state()), energies.read_text()


with TemporaryDirectory() as parent, ThreadPoolExecutor(runs) as pool:

    def own_trace(number: int) -> tuple[str, str]:
        folder = Path(parent) / str(number)
        folder.mkdir()
        return trace(number % runs, folder)

    # Each state once, then all together again and again: while some begin, others end.
    alone = [own_trace(number) for number in range(runs)]
    for number, found in enumerate(pool.map(own_trace, range(runs, (1 + ROUNDS) * runs))):
        assert found == alone[number % runs], f"state {number % runs} differs"
