# SPDX-License-Identifier: Apache-2.0
"""Minimise, then simulate at constant temperature, with a log and a trajectory."""

import quiltmd
from quiltmd.inputs.standard_systems import system_files

system, state = quiltmd.load(*system_files("alanine"), constraints="h-bonds")
simulation = quiltmd.Simulation(
    system,
    state,
    integrator=quiltmd.LangevinMiddle(temperature=300, friction=1, timestep=0.002, seed=1),
)

print(simulation.minimize())
simulation.draw_velocities(300, seed=1)
simulation.run(
    200,
    reporters=[
        quiltmd.LogReporter("log.csv", every=20),
        quiltmd.TrajectoryReporter("trajectory.dcd", every=50, simulation=simulation),
    ],
)
quiltmd.write_pdb("final.pdb", simulation)
print(f"{simulation.time:.3f} ps done, {simulation.temperature():.1f} K")
