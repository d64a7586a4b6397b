# SPDX-License-Identifier: Apache-2.0
"""A small system like those of coarse-grained force fields: GROMACS files, parameters of our own.

Beads of 72, 54 and 36 amu with the well depths and the sigma of Martini (Marrink et al., J. Phys.
Chem. B 111, 7812 (2007), table 1: 2.0 to 5.6 kJ/mol, 0.47 nm); which kinds of beads have which
depth is made up here.  It has a solvent of single beads, lipids with charged heads, rings of
constraints with virtual sites at their centres, and a chain with an elastic network.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quiltmd import Nonbonded

MASSES = {"W": 72.0, "H": 72.0, "T": 72.0, "R": 54.0, "S": 36.0, "V": 0.0}
SIGMA = {"R": 0.43, "S": 0.41, "V": 0.43}
DEPTHS = {"WW": 5.0, "HH": 3.5, "TT": 3.5, "WT": 2.0, "HT": 2.0, "HW": 5.6}  # else 3.1
EDGE, SPACING = 5.2, 0.52
LIPIDS, RINGS, CHAINS = 6, 5, 2
RING = 0.27  # nm, the sides of the triangle

MDP = """integrator = md
nsteps = 0
dt = 0.02
continuation = {continuation}
cutoff-scheme = Verlet
nstlist = 1
verlet-buffer-tolerance = -1
rlist = {cutoff}
coulombtype = reaction-field
rcoulomb = {cutoff}
epsilon_r = 15
epsilon_rf = 0
vdw_type = cutoff
vdw-modifier = Potential-shift-verlet
rvdw = {cutoff}
nstenergy = 1
nstcalcenergy = 1
nstfout = 1
define = {define}
"""


def nonbonded(cutoff: float) -> Nonbonded:
    """The settings of MDP."""
    return Nonbonded(
        cutoff=cutoff,
        method="reaction-field",
        relative_permittivity=15,
        dielectric=0,
        potential_shift=True,
        dispersion_correction=False,
    )


LIPID = """[ moleculetype ]
LIP 1
[ atoms ]
1 H 1 LIP NC3 1 1.0
2 H 1 LIP PO4 2 -1.0
3 S 1 LIP GL1 3 0
4 S 1 LIP GL2 4 0
5 T 1 LIP C1A 5 0
6 T 1 LIP C2A 6 0
7 T 1 LIP C1B 7 0
8 T 1 LIP C2B 8 0
[ bonds ]
1 2 1 0.47 1250
2 3 1 0.47 1250
3 4 1 0.37 1250
3 5 1 0.47 1250
5 6 1 0.47 1250
4 7 1 0.47 1250
7 8 1 0.47 1250
[ angles ]
2 3 4 2 120.0 25.0
2 3 5 2 180.0 25.0
3 5 6 2 180.0 25.0
4 7 8 10 150.0 35.0
"""
RING_TYPE = """[ moleculetype ]
RNG 1
[ atoms ]
1 R 1 RNG R1 1 0.2
2 R 1 RNG R2 2 -0.2
3 S 1 RNG R3 3 0
4 V 1 RNG C 4 0
[ constraints ]
1 2 1 0.27
2 3 1 0.27
1 3 1 0.27
[ virtual_sitesn ]
4 1 1 2 3
[ exclusions ]
4 1 2 3
"""
CHAIN = """[ moleculetype ]
CHN 1
[ atoms ]
1 H 1 CHN BB 1 1.0
2 T 2 CHN BB 2 0
3 S 3 CHN BB 3 0
4 T 4 CHN BB 4 0
5 H 5 CHN BB 5 -1.0
6 R 6 CHN BB 6 0
[ bonds ]
1 2 1 0.33 17000
2 3 2 0.50 8000
3 4 7 1.20 600
4 5 1 0.5 4000
5 6 1 0.5 4000
1 4 6 0.95 500
2 5 6 1.0 500
[ angles ]
1 2 3 2 127 20
2 3 4 10 100 30
3 4 5 10 100 40
[ dihedrals ]
1 2 3 4 1 60 2 1
2 3 4 5 2 120 10
3 4 5 6 11 3 1 -0.5 2 0.3 0.1
"""


def topology(waters: int) -> str:
    """The topology of all molecules and so many beads of solvent."""
    kinds = "".join(
        f"{name} {mass} 0.0 {'V' if name == 'V' else 'A'} 0.0 0.0\n"
        for name, mass in MASSES.items()
    )
    pairs = ""
    names = list(MASSES)
    for k, one in enumerate(names):
        for other in names[k:]:
            depth = DEPTHS.get(one + other, DEPTHS.get(other + one, 3.1))
            sigma = (SIGMA.get(one, 0.47) + SIGMA.get(other, 0.47)) / 2
            pairs += f"{one} {other} 1 {4 * depth * sigma**6:.9e} {4 * depth * sigma**12:.9e}\n"
    water = "[ moleculetype ]\nSOLV 1\n[ atoms ]\n1 W 1 SOLV W 1 0\n"
    return (
        f"[ defaults ]\n1 1\n[ atomtypes ]\n{kinds}[ nonbond_params ]\n{pairs}"
        f"{water}{LIPID}{RING_TYPE}{CHAIN}[ system ]\nbeads\n[ molecules ]\n"
        f"LIP {LIPIDS}\nRNG {RINGS}\nCHN {CHAINS}\nSOLV {waters}\n"
    )


def places(rng: np.random.Generator) -> tuple[NDArray[np.float64], int]:
    """(N, 3) nm, and how many beads of solvent are among them, the last ones.

    Molecules go along the points of a lattice, in steps to and fro, and solvent fills what is left.
    """
    n = round(EDGE / SPACING)
    free = np.ones((n, n, n), bool)
    made: list[NDArray[np.float64]] = []

    def take(*steps: tuple[int, int, int]) -> None:
        corner = next(
            at
            for at in zip(*np.nonzero(free), strict=True)
            if all(free[tuple((np.array(at) + s) % n)] for s in steps)
        )
        for step in steps:
            at = tuple((np.array(corner) + step) % n)
            free[at] = False
            made.append(np.array(at) * SPACING)

    for _ in range(LIPIDS):
        first, second = [(2, 1, 0), (2, 2, 0)], [(1, 1, 1), (2, 1, 1)]
        take((0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 0, 1), *first, *second)
    for _ in range(RINGS):
        take((0, 0, 0))
        centre = made.pop()
        angles = 2 * np.pi * np.arange(3) / 3
        circle = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
        made.extend([*(centre + RING / np.sqrt(3) * circle), centre])
    for _ in range(CHAINS):
        take((0, 0, 0), (1, 0, 0), (1, 1, 0), (2, 1, 0), (2, 1, 1), (2, 2, 1))
    molecules = len(made)
    made.extend(np.argwhere(free) * SPACING)
    found = np.array(made)
    rings = slice(8 * LIPIDS, 8 * LIPIDS + 4 * RINGS)
    moved = found + rng.normal(0, 0.02, found.shape)
    moved[rings] = found[rings]
    return np.round(moved, 6), len(found) - molecules


def write(folder: Path, seed: int = 1) -> tuple[Path, Path]:
    """beads.top and beads.gro in a folder."""
    at, waters = places(np.random.default_rng(seed))
    (folder / "beads.top").write_text(topology(waters))
    names = ["NC3", "PO4", "GL1", "GL2", "C1A", "C2A", "C1B", "C2B"] * LIPIDS
    names += ["R1", "R2", "R3", "C"] * RINGS + ["BB"] * (6 * CHAINS) + ["W"] * waters
    lines = [
        f"{1:5d}{'MOL':<5s}{name:>5s}{(k + 1) % 100000:5d}" + "".join(f"{x:11.6f}" for x in place)
        for k, (name, place) in enumerate(zip(names, at, strict=True))
    ]
    box = f"{EDGE:10.5f}" * 3
    (folder / "beads.gro").write_text("\n".join(["beads", str(len(names)), *lines, box, ""]))
    return folder / "beads.top", folder / "beads.gro"
