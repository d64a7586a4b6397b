# SPDX-License-Identifier: Apache-2.0
"""Energies and forces of one structure: alanine dipeptide in water.

The files come from the package openmmtools (pip install --no-deps openmmtools); put your own
prmtop and inpcrd in their place.
"""

import numpy as np

import quiltmd
from quiltmd.inputs.standard_systems import system_files

topology, coordinates = system_files("alanine")
system, state = quiltmd.load(topology, coordinates)

simulation = quiltmd.Simulation(system, state, quiltmd.Nonbonded(cutoff=0.9, pme_tolerance=1e-5))
for term, value in simulation.energies().items():
    print(f"{term:18s} {value:14.4f} kJ/mol")

forces = simulation.forces()
worst = int(np.linalg.norm(forces, axis=1).argmax())
print(
    f"largest force: {np.linalg.norm(forces[worst]):.1f} kJ/mol/nm on "
    f"{system.topology.describe(worst)}"
)
