# SPDX-License-Identifier: Apache-2.0
"""Parameters of a System that no force field can mean, refused with the atoms at fault.

A negative repulsion or a periodicity of 2.5 is a damaged file or a wrong unit, and a simulation of
it is worth nothing.  What is only odd is in `plausibility`.  A System calls this for itself, so its
class is not known here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError

HIGHEST_PERIODICITY = 64  # force fields use up to 6; the time of a torsion grows with it


def refuse_nonsense(system: Any) -> None:
    """Raises InputError for parameters that no force field can mean, naming the atoms."""
    _refuse_torsions(system)
    for name in ("bonds", "angles"):
        values = getattr(system, f"{name[:-1]}_parameters")
        wrong = (values < 0).any(axis=1)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InputError(
                f"the {name[:-1]} of {names(system, getattr(system, name)[row])} has a negative "
                f"equilibrium value or force constant ({values[row, 0]:g}, {values[row, 1]:g})"
            )
    wrong = (system.pair14_parameters[:, 1:] < 0).any(axis=1)
    if wrong.any():
        atoms = system.pairs14[int(np.argmax(wrong))]
        raise InputError(f"the 1-4 pair of {names(system, atoms)} has a negative sigma or epsilon")
    if system.pair_form == "lennard-jones":  # the core checks those of other forms
        _refuse_lennard_jones(system)


def _refuse_torsions(system: Any) -> None:
    periodicity = system.torsion_parameters[:, 0]
    whole = (periodicity == np.round(periodicity)) & (periodicity >= 1)
    wrong = ~(whole & (periodicity <= HIGHEST_PERIODICITY))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"the torsion of {names(system, system.torsions[row])} has the periodicity "
            f"{periodicity[row]:g}, which is not a whole number from 1 to {HIGHEST_PERIODICITY}"
        )


def _refuse_lennard_jones(system: Any) -> None:
    """Of the types that atoms have; a file may list others."""
    used, first = np.unique(system.lj_types, return_index=True)
    pairs = np.ix_(used, used)
    a, b = system.lj_a[pairs], system.lj_b[pairs]
    for wrong, words in (
        ((a < 0) | (b < 0), "a negative Lennard-Jones coefficient"),
        ((a == 0) & (b > 0), "an attraction without repulsion"),
    ):
        if wrong.any():
            i, j = np.argwhere(wrong)[0]
            raise InputError(
                f"atoms of the types of {names(system, first[[i, j]])} have {words} "
                f"(a = {a[i, j]:g}, b = {b[i, j]:g})"
            )


def names(system: Any, atoms: NDArray[np.integer]) -> str:
    """How messages name some atoms of a System."""
    return " and ".join(system.topology.describe(int(atom)) for atom in atoms)
