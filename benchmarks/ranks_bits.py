# SPDX-License-Identifier: Apache-2.0
"""The same bits on any number of ranks, by ensemble; also to compare the bits of two commits.

    python benchmarks/ranks_bits.py [--edge NM] [--steps N] [--ranks 1,8,27,64]
    python benchmarks/ranks_bits.py --system dhfr --device cuda --ranks 1

Waters in a cubic box, or a standard system, warmed up on one rank.  From that state each ensemble
runs on each number of ranks; the digests of positions, velocities and box must be equal.  Prints
Markdown, and ends with status 1 if one differs.  A change that keeps all bits prints the same
digests as the commit before it on a device of the same kind.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from typing import Any

from benchmark_systems import standard, water

import quiltmd
from quiltmd import (
    CellRescaling,
    LangevinMiddle,
    MonteCarloBarostat,
    Nonbonded,
    NoseHooverChain,
    Simulation,
    State,
    VelocityRescaling,
    VelocityVerlet,
)

LANGEVIN = LangevinMiddle(300.0, 1.0, timestep=0.002, seed=5)
VERLET = VelocityVerlet(timestep=0.002)
RESCALING = VelocityRescaling(300.0, time_constant=0.1, seed=5)
# Pressures that change the box at once.
CELL = CellRescaling(2000.0, time_constant=0.5, seed=7)
ENSEMBLES: dict[str, dict[str, Any]] = {
    "nve": {"integrator": VERLET},
    "nvt, Langevin": {"integrator": LANGEVIN},
    "nvt, Nosé-Hoover": {"integrator": VERLET, "thermostat": NoseHooverChain(300.0)},
    "npt, cell rescaling": {"integrator": VERLET, "thermostat": RESCALING, "barostat": CELL},
    "npt, cell rescaling, Langevin": {"integrator": LANGEVIN, "barostat": CELL},
    "npt, Monte Carlo": {
        "integrator": LANGEVIN,
        "barostat": MonteCarloBarostat(2000.0, seed=7, every=10),
    },
    "r-RESPA, nve": {"integrator": replace(VERLET, long_range_every=2)},
    "r-RESPA, Langevin": {"integrator": replace(LANGEVIN, long_range_every=3)},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edge", type=float, default=4.4)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--ranks", default="1,8,27,64")
    parser.add_argument("--system", help="of `quiltmd bench`, in place of water")
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    counts = [int(word) for word in given.ranks.split(",")]
    system, state = standard(given.system) if given.system else water(given.edge)
    forces = Nonbonded(cutoff=0.9)
    warm = Simulation(system, state, forces, LANGEVIN, device=given.device)
    warm.minimize(max_iterations=50)
    warm.draw_velocities(300.0, seed=1)
    warm.run(200)
    found = warm.state()
    start = State(found.positions, found.velocities, found.box)
    print(f"{system.atoms} atoms, {given.steps} steps\n")
    print("| ensemble | digest | " + " | ".join(f"{n} ranks, s" for n in counts) + " | edge, nm |")
    print("|---|---|" + "---|" * (len(counts) + 1))
    differ = False
    for name, settings in ENSEMBLES.items():
        digests, seconds = [], []
        for ranks in counts:
            simulation = Simulation(
                system, start, forces, device=given.device, ranks=ranks, threads=1, **settings
            )
            begin = time.monotonic()
            simulation.run(given.steps)
            seconds.append(time.monotonic() - begin)
            end = simulation.state()
            digests.append(quiltmd.digest(end))
        differ |= len(set(digests)) > 1
        same = digests[0][:12] if len(set(digests)) == 1 else f"DIFFER: {digests}"
        times = " | ".join(f"{one:.1f}" for one in seconds)
        print(f"| {name} | {same} | {times} | {end.box[0, 0]:.4f} |", flush=True)
    sys.exit(differ)


if __name__ == "__main__":
    main()
