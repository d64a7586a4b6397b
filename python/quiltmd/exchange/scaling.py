# SPDX-License-Identifier: Apache-2.0
"""REST2: a System whose solute interacts more weakly, as if it alone were hot.

Replica exchange with solute scaling (Wang, Friesner and Berne, J. Phys. Chem. B 115, 9431, 2011):
energies within the solute are multiplied by lambda, those between solute and the rest by its square
root, the rest stays.  All of that follows from parameters: charges of the solute times
sqrt(lambda), Lennard-Jones energies times lambda or sqrt(lambda), and likewise the terms whose form
says that they keep the solute from moving: dihedrals and 1-4 pairs, not bonds and angles.  So
U = A + B s + C s^2 with s = sqrt(lambda).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..description.implicit_solvent import ImplicitSolvent
from ..description.parts import refuse_other_parts
from ..description.system import System
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
        If there is no solute, or the system has another form of pair interactions.
    """
    if scale == 1.0:
        return system
    if len(solute) == 0:
        raise QuiltError("the solute has no atoms")
    refuse_other_parts(system, "scaled by REST2", ImplicitSolvent)
    if system.pair_form != "lennard-jones":
        raise QuiltError(f"REST2 scales Lennard-Jones interactions, not '{system.pair_form}'")
    inside = np.zeros(system.atoms, bool)
    inside[solute] = True
    changed = {
        "charges": np.where(inside, math.sqrt(scale), 1.0) * system.charges,
        **_scaled_lennard_jones(system, inside, scale),
        "terms": system.terms.replaced(
            *(
                terms.scaled(_factors(inside[terms.atoms], scale))
                for terms in system.terms.present()
                if terms.form.hinders_motion
            )
        ),
    }
    return replace(system, **changed)


def _factors(inside: NDArray[np.bool_], scale: float) -> NDArray[np.float64]:
    """Factors of terms: scale, its root, or 1, if all, some or none of their atoms are solute."""
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
