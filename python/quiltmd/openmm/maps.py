# SPDX-License-Identifier: Apache-2.0
"""Torsion maps of OpenMM's CMAPTorsionForces."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError

FORCE = "CMAPTorsionForce"


def map_fields(forces: list[Any]) -> dict[str, npt.NDArray[Any]]:
    """The fields `cmaps`, `cmap_parameters` and `cmap_maps` of `System`, of all such forces.

    Raises
    ------
    InputError
        If maps differ in size, or the torsions of a term are not those of
        five atoms in a row.
    """
    maps: list[npt.NDArray[np.float64]] = []
    atoms: list[list[int]] = []
    numbers: list[float] = []
    for force in forces:
        if type(force).__name__ != FORCE:
            continue
        before = len(maps)
        maps += [_table(*force.getMapParameters(k)) for k in range(force.getNumMaps())]
        for term in range(force.getNumTorsions()):
            number, *ends = force.getTorsionParameters(term)
            first, second = ends[:4], ends[4:]
            if first[1:] != second[:3]:
                raise InputError(
                    f"{FORCE}: the torsions of term {term} are not those of five atoms in a row"
                )
            atoms.append([*first, second[3]])
            numbers.append(before + number)
    if len({len(table) for table in maps}) > 1:
        raise InputError(f"{FORCE}: maps of different sizes are not supported")
    return {
        "cmaps": np.array(atoms, dtype=np.int32).reshape(-1, 5),
        "cmap_parameters": np.array(numbers, dtype=np.float64).reshape(-1, 1),
        "cmap_maps": np.array(maps, dtype=np.float64),
    }


def _table(size: int, energies: Any) -> npt.NDArray[np.float64]:
    """(size, size) kJ/mol by the first angle, then the second; OpenMM has it the other way."""
    if hasattr(energies, "value_in_unit_system"):
        from openmm.unit import md_unit_system

        energies = energies.value_in_unit_system(md_unit_system)
    return np.array(energies, dtype=np.float64).reshape(size, size).T
