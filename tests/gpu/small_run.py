# SPDX-License-Identifier: Apache-2.0
"""Every kind of work on the GPU, once and small: what compute-sanitizer watches.

Arguments: topology, coordinates, ensemble.  Two pair list builds fall into the twenty steps.
"""

from __future__ import annotations

import sys

import numpy as np
from running import Run

import quiltmd

topology, coordinates, ensemble = sys.argv[1:]
integrator = {
    "nvt": quiltmd.LangevinMiddle(timestep=0.004, seed=0, remove_com_every=10),
    "nve": quiltmd.VelocityVerlet(timestep=0.004, remove_com_every=10),
}[ensemble]
system, state = quiltmd.load(topology, coordinates, constraints="h-bonds", hydrogen_mass=3.0)
run = Run(system, state, integrator)
run.engine.minimize(1000.0, 3)
run.engine.draw_velocities(300.0, 1)
run.advance(20)
run.engine.energies()
assert tuple(run.engine.force_sum()) == (0, 0, 0)
run.place(run.state())
run.advance(1)
assert np.isfinite(run.state().positions).all()
print("finished")
