# SPDX-License-Identifier: Apache-2.0
"""Parameters of a System that no force field can mean, refused with the atoms at fault.

A negative repulsion or a periodicity of 2.5 is a damaged file or a wrong unit, and a simulation of
it is worth nothing.  What is only odd is in `plausibility`.  A System calls this for itself, so its
class is not known here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..errors import InputError
from .terms import Terms

HIGHEST_PERIODICITY = 64  # force fields use up to 6; the time of a torsion grows with it


def refuse_nonsense(system: Any) -> None:
    """Raises InputError for parameters that no force field can mean, naming the atoms."""
    for terms in system.terms.present():
        _refuse_values(system, terms)
    if system.pair_form == "lennard-jones":  # the core checks those of other forms
        _refuse_lennard_jones(system)


def _refuse_values(system: Any, terms: Terms) -> None:
    for parameter, values in zip(terms.form.parameters, terms.parameters.T, strict=True):
        if parameter.values == "any":
            continue
        good, why = values >= 0, "which is negative"
        if parameter.values == "periodicity":
            good = (values == np.round(values)) & (values >= 1) & (values <= HIGHEST_PERIODICITY)
            why = f"which is not a whole number from 1 to {HIGHEST_PERIODICITY}"
        if not good.all():
            row = int(np.argmin(good))
            raise InputError(
                f"{terms.form.the} of {names(system, terms.atoms[row])} has the {parameter.name} "
                f"{values[row]:g}, {why}"
            )


def _refuse_lennard_jones(system: Any) -> None:
    """Refuses Lennard-Jones parameters of types that atoms have; a file may list others."""
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


def names(system: Any, atoms: Iterable[int]) -> str:
    """Names of some atoms of a System, for messages."""
    return " and ".join(system.topology.describe(int(atom)) for atom in atoms)
