# SPDX-License-Identifier: Apache-2.0
"""Co-ions: ions whose charges change so that the net charge of a hybrid stays the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
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


def with_co_ion(system: System, ions: npt.NDArray[np.integer[Any]]) -> System:
    """A hybrid whose net charge does not depend on lambda.

    Parameters
    ----------
    system:
        The hybrid.
    ions:
        Atoms of it, not of the molecules, whose charges change, all by the same amount.  They keep
        their Lennard-Jones parameters.

    Raises
    ------
    InputError
        If the net charge does not change anyway.
    """
    alchemy = system.alchemy
    assert alchemy is not None
    change = charge_change(system)
    if abs(change) <= SAME_CHARGE:
        raise InputError("co_ion: both molecules have the same net charge: leave co_ion out")
    charges = system.charges[ions] - change / len(ions)
    together = np.concatenate([alchemy.atoms, ions]).astype(np.int32)
    order = np.argsort(together)
    made = replace(
        alchemy,
        atoms=together[order],
        last_charges=np.concatenate([alchemy.last_charges, charges])[order],
        last_types=np.concatenate([alchemy.last_types, system.lj_types[ions]])[order],
    )
    return replace(system, alchemy=made)
