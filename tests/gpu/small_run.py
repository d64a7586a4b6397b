# SPDX-License-Identifier: Apache-2.0
"""Every kind of work on the GPU, once and small: what compute-sanitizer watches.

Arguments: topology, coordinates, ensemble.  Pair lists are built in each block of ten steps.
With "boxes" in place of an ensemble: water boxes so large that pairs begin at once, and in parts.
"""

from __future__ import annotations

import sys

import benchmark_systems
import numpy as np
from running import Pair, Run

import quiltmd

LANGEVIN = quiltmd.LangevinMiddle(timestep=0.004, seed=0, remove_com_every=10)
VERLET = quiltmd.VelocityVerlet(timestep=0.004, remove_com_every=10)
EDGES = (5.1, 9.0)  # nm


def advance(pair: Pair, integrator: quiltmd.Integrator) -> None:
    run = Run(*pair, integrator)
    run.engine.minimize(1000.0, 3)
    run.engine.draw_velocities(300.0, 1)
    run.advance(10, 10, 10)  # blocks of a kind are recorded at their second use
    run.engine.energies()
    assert tuple(run.engine.force_sum()) == (0, 0, 0)
    run.place(run.state())
    run.advance(1)
    assert np.isfinite(run.state().positions).all()


topology, coordinates, kind = sys.argv[1:]
if kind == "boxes":
    for edge in EDGES:
        advance(benchmark_systems.water(edge), LANGEVIN)
else:
    pair = quiltmd.load(topology, coordinates, constraints="h-bonds", hydrogen_mass=3.0)
    advance(pair, {"nvt": LANGEVIN, "nve": VERLET}[kind])
print("finished")
