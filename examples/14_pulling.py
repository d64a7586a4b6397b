# SPDX-License-Identifier: Apache-2.0
"""Steered molecular dynamics, umbrella windows and metadynamics of alanine dipeptide.

A few steps of each; `quiltmd run` does the same from [[restraint]] and
[metadynamics] in a configuration (docs/user/collective-restraints.md).
"""

from dataclasses import replace

import quiltmd
from quiltmd.inputs.standard_systems import system_files

system, state = quiltmd.load(*system_files("alanine"), constraints="h-bonds")
ends = ("resname ACE", "resname NME")

# The centres of the two caps are pulled apart within 2 ps; the work is that of the spring.
path = ((0.0, 0.55), (2.0, 0.75))
pulled = quiltmd.restrain(
    system,
    [quiltmd.Restraint("distance", ends, 2000.0, path=path, name="ends")],
    state.positions,
    state.box,
)
simulation = quiltmd.Simulation(pulled, state, quiltmd.Nonbonded(cutoff=0.9))
simulation.minimize(max_iterations=50)
simulation.draw_velocities(300.0, 1)
before, work = simulation.collective()["ends"], 0.0
for _ in range(10):
    simulation.run(50)
    now = simulation.collective()["ends"]
    work -= 0.5 * (before.slope + now.slope) * (now.centre - before.centre)
    before = now
    print(f"{simulation.time:.1f} ps: {now.value:.3f} nm, {work:.1f} kJ/mol")

# The same spring at rest, in one umbrella window after the other.
resting = quiltmd.Restraint("distance", ends, 2000.0, lower=0.75, name="ends")
windows = quiltmd.restrain(system, [resting], state.positions, state.box)
simulation = quiltmd.Simulation(windows, simulation.state(), quiltmd.Nonbonded(cutoff=0.9))
for centre in (0.75, 0.7, 0.65):
    simulation.set_conditions(centres={"ends": centre})
    simulation.run(50)
    print(f"window {centre:.2f}: {simulation.collective()['ends'].value:.3f} nm")

# Hills where the distance has been.
free = quiltmd.restrain(system, [replace(resting, k=0.0)], state.positions, state.box)
simulation = quiltmd.Simulation(free, simulation.state(), quiltmd.Nonbonded(cutoff=0.9))
settings = quiltmd.Metadynamics(("ends",), (0.02,), 1.0, 10.0, every=20, range=((0.2, 1.0),))
hills = quiltmd.Hills("HILLS", settings, simulation)
last = simulation.step + 200
while simulation.step < last:
    simulation.run(min(last, hills.set_at(simulation)) - simulation.step)
hills.close()
print(f"bias at 0.65 nm: {hills.energy([0.65]):.2f} kJ/mol")
