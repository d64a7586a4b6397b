# SPDX-License-Identifier: Apache-2.0
"""Build a system with OpenMM's Modeller and run it here: a box of water with salt."""

import openmm
from openmm import app, unit

import quiltmd

force_field = app.ForceField("amber14/tip3p.xml")
modeller = app.Modeller(app.Topology(), [] * unit.nanometer)
modeller.addSolvent(
    force_field, boxSize=openmm.Vec3(2.4, 2.4, 2.4), ionicStrength=0.15 * unit.molar
)
built = force_field.createSystem(
    modeller.topology, nonbondedMethod=app.PME, nonbondedCutoff=0.9, rigidWater=True
)

system = quiltmd.System.from_openmm(built, modeller.topology)
state = quiltmd.State.from_openmm(
    system, modeller.positions, modeller.topology.getPeriodicBoxVectors()
)
simulation = quiltmd.Simulation(system, state, integrator=quiltmd.LangevinMiddle(seed=1))
simulation.minimize()
simulation.draw_velocities(300)
simulation.run(100)
print(f"{system.atoms} atoms, {simulation.temperature():.0f} K after {simulation.time:.2f} ps")
