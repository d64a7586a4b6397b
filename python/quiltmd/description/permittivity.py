# SPDX-License-Identifier: Apache-2.0
"""A relative permittivity, as smaller charges.

It divides all Coulomb energies, which are products of two charges: of pairs, of 1-4 pairs, of a
mesh.  So nothing but what is given to the core has to know of it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from ..errors import QuiltError
from .nonbonded import Nonbonded
from .system import System


def without_permittivity(system: System, nonbonded: Nonbonded) -> tuple[System, Nonbonded]:
    """The same energies with the relative permittivity 1: charges divided by its root.

    Products of charges (1-4 pairs) and the dielectric constant of a medium beyond the cutoff are
    divided by itself.  Constant forces, of an electric field for instance, stay what they are.

    Raises
    ------
    QuiltError
        With implicit solvent, whose models have a dielectric constant of their own.
    """
    permittivity = nonbonded.relative_permittivity
    if permittivity == 1:
        return system, nonbonded
    if system.solvent is not None:
        raise QuiltError(
            "implicit solvent is a model of charges in a vacuum: leave out relative_permittivity, "
            "and state the dielectric constant of the solvent"
        )
    part = 1 / permittivity if permittivity else 0.0
    pairs = system.terms["pair14"]
    system = replace(
        system.with_terms(replace(pairs, parameters=pairs.parameters * [part, 1, 1])),
        charges=system.charges * math.sqrt(part),
    )
    rest: dict[str, Any] = {"relative_permittivity": 1.0}
    if nonbonded.method == "reaction-field":
        rest["dielectric"] = part * nonbonded.dielectric if permittivity else 1.0
    return system, replace(nonbonded, **rest)
