# SPDX-License-Identifier: Apache-2.0
"""REST2: replicas of alanine dipeptide whose solute interacts more and more weakly.

Three replicas and a few swaps, to see how it goes; `quiltmd exchange` does the same at length, with
files, from a configuration (docs/user/exchange.md).
"""

import quiltmd
from quiltmd.inputs.standard_systems import system_files

system, state = quiltmd.load(*system_files("alanine"), constraints="h-bonds")
start = quiltmd.Simulation(system, state)
start.minimize()

exchange = quiltmd.ReplicaExchange(
    system,
    start.state(),
    quiltmd.rest2_states([300, 330, 365]),
    solute=quiltmd.select(system, "solute"),
    every=10,
    seed=4,
    integrator=quiltmd.LangevinMiddle(timestep=0.002),
)
exchange.draw_velocities()


def show(iteration: quiltmd.Iteration) -> None:
    """One line for each iteration."""
    own = [f"{iteration.energies[k, k]:10.1f}" for k in range(3)]
    print(f"step {iteration.step}: replicas {iteration.walkers}, energies {' '.join(own)} kJ/mol")


exchange.run(6, record=show)
