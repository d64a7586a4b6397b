# SPDX-License-Identifier: Apache-2.0
"""REST2: a System whose solute interacts more weakly, as if it alone were hot.

Replica exchange with solute scaling (Wang, Friesner and Berne, J. Phys. Chem. B 115, 9431, 2011):
energies within the solute are multiplied by lambda, those between solute and the rest by its square
root, the rest stays.  All of that follows from parameters: charges of the solute times
sqrt(lambda), Lennard-Jones energies times lambda or sqrt(lambda), dihedrals times lambda.  Bonds
and angles stay, as they do not keep the solute from moving.  So U = A + B s + C s^2 with
s = sqrt(lambda).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..description.system import System
from ..description.term_forms import TERM_FORMS
from ..errors import QuiltError


def scale_solute(system: System, solute: NDArray[np.integer[Any]], scale: float) -> System:
    """The system with a solute at lambda = `scale`.

    Parameters
    ----------
    system:
        With Lennard-Jones interactions.
    solute:
        Indices of the atoms of the solute.
    scale:
        lambda, from above 0 to 1, where the system stays as it is.

    Raises
    ------
    QuiltError
        Where there is no solute, or the system has another form of pair interactions.
    """
    if scale == 1.0:
        return system
    if len(solute) == 0:
        raise QuiltError("the solute has no atoms")
    if system.pair_form != "lennard-jones":
        raise QuiltError(f"REST2 scales Lennard-Jones interactions, not '{system.pair_form}'")
    inside = np.zeros(system.atoms, bool)
    inside[solute] = True
    changed: dict[str, Any] = {
        "charges": np.where(inside, math.sqrt(scale), 1.0) * system.charges,
        **_scaled_lennard_jones(system, inside, scale),
        **_scaled_dihedrals(system, inside, scale),
        **_scaled_maps(system, inside, scale),
    }
    factors = _factors(inside[system.pairs14], scale)
    changed["pair14_parameters"] = system.pair14_parameters * np.stack(
        [factors, np.ones_like(factors), factors], axis=1
    )
    return replace(system, **changed)


def _factors(inside: NDArray[np.bool_], scale: float) -> NDArray[np.float64]:
    """Of terms, by how many of their atoms are of the solute: all, some or none."""
    every, some = inside.all(axis=1), inside.any(axis=1)
    factors: NDArray[np.float64] = np.where(every, scale, np.where(some, math.sqrt(scale), 1.0))
    return factors


def _scaled_lennard_jones(
    system: System, inside: NDArray[np.bool_], scale: float
) -> dict[str, Any]:
    """Types of the solute are new ones behind those that there are."""
    types = len(system.lj_a)
    tables = {}
    for name in ("lj_a", "lj_b"):
        table = np.tile(getattr(system, name), (2, 2))
        table[types:, :types] *= math.sqrt(scale)
        table[:types, types:] *= math.sqrt(scale)
        table[types:, types:] *= scale
        tables[name] = table
    return {**tables, "lj_types": system.lj_types + np.where(inside, types, 0).astype(np.int32)}


def _scaled_dihedrals(system: System, inside: NDArray[np.bool_], scale: float) -> dict[str, Any]:
    changed = {}
    for form in TERM_FORMS:
        atoms = getattr(system, form.name)
        if len(atoms) == 0 or not form.dihedral_energies:
            continue
        values = np.array(getattr(system, form.parameters))
        values[:, form.dihedral_energies] *= _factors(inside[atoms], scale)[:, None]
        changed[form.parameters] = values
    return changed


def _scaled_maps(system: System, inside: NDArray[np.bool_], scale: float) -> dict[str, Any]:
    """Torsion maps of the solute, and across its border, are copies of those that there are."""
    if len(system.cmaps) == 0:
        return {}
    numbers, maps = np.array(system.cmap_parameters), np.asarray(system.cmap_maps)
    within = inside[system.cmaps]
    copies = within.any(axis=1).astype(int) + within.all(axis=1)
    numbers[:, 0] += len(maps) * copies
    scaled = np.concatenate([maps, math.sqrt(scale) * maps, scale * maps])
    return {"cmap_parameters": numbers, "cmap_maps": scaled}
