# SPDX-License-Identifier: Apache-2.0
"""Stop, continue with another number of ranks, and get the same bits.

On the CPU, whether there is a GPU or not: GPUs round otherwise, and each has a rank.
"""

import quiltmd
from quiltmd.inputs.standard_systems import system_files

system, state = quiltmd.load(*system_files("alanine"), constraints="h-bonds")
integrator = quiltmd.LangevinMiddle(temperature=300, timestep=0.002, seed=7)


def simulation(ranks: int) -> quiltmd.Simulation:
    """The same simulation on some ranks."""
    return quiltmd.Simulation(
        system, state, integrator=integrator, device="cpu", ranks=ranks, threads=1
    )


whole = simulation(ranks=1)
whole.minimize()
whole.draw_velocities(300, seed=7)
whole.save_checkpoint("start.qmd")
whole.run(60)

first = simulation(ranks=2)
first.load_checkpoint("start.qmd")
first.run(25)
first.save_checkpoint("middle.qmd")

second = simulation(ranks=3)
second.load_checkpoint("middle.qmd")
second.run(35)

print(quiltmd.digest(whole.state()))
print(quiltmd.digest(second.state()))
if quiltmd.digest(whole.state()) != quiltmd.digest(second.state()):
    raise SystemExit("the two trajectories differ")
