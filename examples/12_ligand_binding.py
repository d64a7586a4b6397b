# SPDX-License-Identifier: Apache-2.0
"""p-Xylene in the cavity of T4 lysozyme L99A: one leg of a binding free energy, in outline.

The files come from the package openmmtools (pip install --no-deps openmmtools), and have no water:
a calculation that counts needs it (`quiltmd prepare`), nanoseconds in each state, and the leg in
water.  What this shows is the restraint, the states, and the correction at the end.
"""

from importlib.util import find_spec
from pathlib import Path

import numpy as np

import quiltmd

TEMPERATURE = 300.0
package = Path(find_spec("openmmtools").submodule_search_locations[0])
folder = package / "data" / "T4-lysozyme-L99A-implicit"
plain, start = quiltmd.load(
    folder / "complex.prmtop",
    folder / "complex.crd",
    box=(7.0, 7.0, 7.0),
    constraints="h-bonds",
)
ligand = f"residue {len(plain.topology.residue_names)}"
nonbonded = quiltmd.Nonbonded(cutoff=0.9)
integrator = quiltmd.LangevinMiddle(TEMPERATURE, timestep=0.001, seed=1)

# An equilibration, and the restraint whose anchors move least in it.
simulation = quiltmd.Simulation(plain, start, nonbonded, integrator)
simulation.minimize(max_iterations=50)
simulation.draw_velocities(TEMPERATURE)
frames = []
for _ in range(5):
    simulation.run(40)
    frames.append(simulation.state().positions)
equilibrated = simulation.state()
restraint = quiltmd.choose_boresch(plain, np.array(frames), ligand, box=equilibrated.box)
print(restraint)

# The restraint is switched on, then charges and van der Waals interactions of the ligand off.
system = quiltmd.decouple(
    plain,
    ligand,
    coulomb=[0, 0, 0.5, 1, 1, 1],
    vdw=[0, 0, 0, 0, 0.5, 1],
    restraint=restraint,
    restraint_lambdas=[0, 1, 1, 1, 1, 1],
)
simulation = quiltmd.Simulation(system, equilibrated, nonbonded, integrator)
print("state   U - U(here), kJ/mol, in all states")
for state in range(len(system.alchemy.states)):
    simulation.set_conditions(**system.alchemy.state(state))
    simulation.run(40)
    print(state, " ".join(f"{energy:10.2f}" for energy in simulation.state_energies()))
release = restraint.release(TEMPERATURE)
print(f"released without interactions into 1 mol/l: {release:.2f} kJ/mol")
print("binding = leg in water - leg in the site - release")
