# SPDX-License-Identifier: Apache-2.0
"""A melt of bead-spring chains (Kremer and Grest, J. Chem. Phys. 92, 5057 (1990)) in LAMMPS files.

Chains of 24 beads at a density of 0.85 wind through a lattice at first, and relax from there.
"""

import tempfile
from pathlib import Path

import numpy as np

import quiltmd
from quiltmd.lammps.units import UNITS

CHAIN, SIDE, DENSITY = 24, 12, 0.85
SCRIPT = """units         lj
atom_style    bond
special_bonds fene
read_data     chains.data
bond_style    fene
bond_coeff    1 30.0 1.5 1.0 1.0
pair_style    lj/cut 1.122462
pair_modify   shift yes
pair_coeff    1 1 1.0 1.0
fix           1 all nve
fix           2 all langevin 1.0 1.0 2.0 904297
timestep      0.006
run           0
"""


def chains() -> str:
    """A data file: a line through a simple cubic lattice, cut into chains."""
    edge = DENSITY ** (-1 / 3)
    x, y, z = np.indices((SIDE, SIDE, SIDE)).reshape(3, -1)
    y = np.where(x % 2, SIDE - 1 - y, y)
    z = np.where((x * SIDE + y) % 2, SIDE - 1 - z, z)
    beads = len(x)
    bonds = [k for k in range(1, beads) if k % CHAIN]
    header = f"{beads} atoms\n{len(bonds)} bonds\n1 atom types\n1 bond types\n"
    header += "".join(f"0 {SIDE * edge:.8f} {axis}lo {axis}hi\n" for axis in "xyz")
    places = np.column_stack([x, y, z]) * edge
    atoms = [
        f"{k + 1} {k // CHAIN + 1} 1 {a:.6f} {b:.6f} {c:.6f}" for k, (a, b, c) in enumerate(places)
    ]
    rows = [f"{number} 1 {k} {k + 1}" for number, k in enumerate(bonds, start=1)]
    sections = {"Masses": ["1 1.0"], "Atoms": atoms, "Bonds": rows}
    body = "".join(f"\n{name}\n\n" + "\n".join(lines) + "\n" for name, lines in sections.items())
    return f"bead-spring chains\n\n{header}{body}"


units = UNITS["lj"]
with tempfile.TemporaryDirectory() as folder:
    Path(folder, "chains.data").write_text(chains())
    script = Path(folder, "in.script")
    script.write_text(SCRIPT)
    system, state = quiltmd.load(script, script)
simulation = quiltmd.Simulation(
    system,
    state,
    integrator=quiltmd.LangevinMiddle(
        temperature=units.temperature,
        friction=0.5 / units.time,
        timestep=0.006 * units.time,
        seed=1,
    ),
)
simulation.draw_velocities(units.temperature, seed=1)
simulation.run(2000)

lengths = []
for _ in range(10):
    simulation.run(50)
    ends = simulation.state().positions[system.terms["fene"].atoms]
    steps = ends[:, 1] - ends[:, 0]
    box = np.diag(simulation.state().box)
    steps -= box * np.round(steps / box)
    lengths.append(np.linalg.norm(steps, axis=1).mean() / units.length)
print(f"mean bond {np.mean(lengths):.3f} sigma (0.97 in the paper)")
print(f"pressure {simulation.pressure() / units.pressure:.1f} epsilon/sigma^3")
