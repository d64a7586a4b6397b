# SPDX-License-Identifier: Apache-2.0
"""Co-ions: ions whose charges change so that the net charge of a hybrid stays the same."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError, QuiltWarning
from .alchemy import SAME_CHARGE, charge_change
from .system import System

REMEDY = (
    ". A co-ion, an ion whose charge changes by as much in the opposite direction, keeps the net "
    "charge: name one as co_ion, in each calculation of a cycle"
)


def refuse_molecule(
    system: System, ions: npt.NDArray[np.integer[Any]], molecule: npt.NDArray[np.integer[Any]]
) -> None:
    """InputError if an ion is among the atoms of the molecules that change."""
    inside = np.intersect1d(ions, molecule)
    if len(inside):
        raise InputError(
            f"co_ion: {system.topology.describe(int(inside[0]))} is in the molecule that changes: "
            "select an ion"
        )


def _refuse_bonded(system: System, ions: npt.NDArray[np.integer[Any]]) -> None:
    """InputError unless each is an ion of one atom, or all together are one molecule."""
    molecules = system.molecules
    sizes = np.bincount(molecules)[molecules[ions]]
    bonded = ions[sizes > 1]
    is_one_molecule = len(np.unique(molecules[ions])) == 1 and sizes[0] == len(ions)
    if len(bonded) and not is_one_molecule:
        raise InputError(
            f"co_ion: {system.topology.describe(int(bonded[0]))} is bonded to other atoms: select "
            "ions of one atom, or all atoms of one molecule"
        )


def _warn_of_signs(
    system: System, ions: npt.NDArray[np.integer[Any]], last: npt.NDArray[np.float64]
) -> None:
    """Of the first ion whose charge turns into one of the opposite sign."""
    turned = np.flatnonzero((system.charges[ions] * last < 0) & (np.abs(last) > SAME_CHARGE))
    if len(turned):
        one = turned[0]
        warnings.warn(
            f"co_ion: the charge of {system.topology.describe(int(ions[one]))} changes its sign, "
            f"from {system.charges[ions[one]]:+.3g} to {last[one]:+.3g} e, and its Lennard-Jones "
            "parameters stay: with more ions each charge changes by less",
            QuiltWarning,
            stacklevel=4,
        )


def with_co_ion(system: System, ions: npt.NDArray[np.integer[Any]]) -> System:
    """A hybrid whose net charge does not depend on lambda.

    Parameters
    ----------
    system:
        The hybrid.
    ions:
        Atoms of it, not of the molecules, whose charges change, all by the same amount: ions of one
        atom, or all atoms of one molecule.  They keep their Lennard-Jones parameters.  A charge
        that changes its sign is told by a warning.

    Raises
    ------
    InputError
        If the net charge does not change anyway, or the atoms are parts of molecules.
    """
    alchemy = system.alchemy
    assert alchemy is not None
    change = charge_change(system)
    if abs(change) <= SAME_CHARGE:
        raise InputError("co_ion: both molecules have the same net charge: leave co_ion out")
    _refuse_bonded(system, ions)
    charges = system.charges[ions] - change / len(ions)
    _warn_of_signs(system, ions, charges)
    together = np.concatenate([alchemy.atoms, ions]).astype(np.int32)
    order = np.argsort(together)
    made = replace(
        alchemy,
        atoms=together[order],
        last_charges=np.concatenate([alchemy.last_charges, charges])[order],
        last_types=np.concatenate([alchemy.last_types, system.lj_types[ions]])[order],
    )
    return replace(system, alchemy=made)
