# SPDX-License-Identifier: Apache-2.0
"""Bonded terms, excluded pairs and constraints of a System, of all commands together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..description.terms import Terms, TermTable
from ..errors import InputError
from .bonded import Bonded
from .by_types import Forces
from .data import DataFile
from .shake import Shake
from .special import Special
from .units import Units

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Commands:
    """Commands of molecules so far."""

    bonded: Bonded
    special: Special
    shake: Shake


def molecular_fields(
    commands: Commands, atoms: DataFile, forces: Forces, charges: F64, units: Units
) -> dict[str, Any]:
    """Arguments of `System.of`: terms, exclusions and constraints.

    Parameters
    ----------
    commands, atoms, forces, units:
        Of the script.
    charges:
        (N,) e.

    Raises
    ------
    InputError
        Where types have no coefficients, or where commands do not go together.
    """
    masses = np.array([atoms.masses.get(int(kind), np.nan) for kind in atoms.types])
    shaken = commands.shake.shaken(atoms, masses)
    terms = commands.bonded.terms(atoms, units, shaken)
    constraints, lengths = commands.shake.constraints(atoms, commands.bonded, shaken, units)
    special = commands.special.pairs(len(atoms.types), atoms.terms["bond"][1])
    pairs14 = _scaled(commands.special, atoms, forces, charges)
    pairs14 = pairs14.joined(*_of_dihedrals(commands, atoms, forces, charges))
    return {
        "terms": TermTable((*terms, pairs14)),
        "exclusions": special.excluded,
        "constraints": constraints,
        "constraint_lengths": lengths,
    }


def _scaled(special: Special, atoms: DataFile, forces: Forces, charges: F64) -> Terms:
    """Pairs to which special_bonds gives a weight between 0 and 1."""
    found = special.pairs(len(atoms.types), atoms.terms["bond"][1])
    if not len(found.scaled):
        return Terms("pair14")
    assert special.command is not None
    if forces.sizes is None or forces.nonbonded.potential_shift:
        raise special.command.error(
            "weights between 0 and 1 need a Lennard-Jones pair_style without pair_modify shift yes"
        )
    first, second = (atoms.types[found.scaled] - 1).T
    sigma, epsilon = (table[first, second] for table in forces.sizes)
    products = charges[found.scaled].prod(axis=1)
    rows = np.column_stack([found.coulomb * products, sigma, found.lennard_jones * epsilon])
    return Terms("pair14", found.scaled, rows)


def _of_dihedrals(
    commands: Commands, atoms: DataFile, forces: Forces, charges: F64
) -> tuple[I32, F64]:
    """Pairs at the ends of dihedrals with weights, and their parameters as 1-4 pairs."""
    pairs, weights = commands.bonded.weights14(atoms)
    if not len(pairs):
        return pairs, np.empty((0, 3))
    if forces.sizes14 is None:
        message = "dihedral_style charmm with weights needs pair_style lj/charmm/coul/long"
        raise InputError(message, file=atoms.file)
    special = commands.special
    if special.lennard_jones[2] or special.coulomb[2]:
        raise InputError(
            "dihedral_style charmm with weights needs special_bonds charmm, so that 1-4 pairs are "
            "not counted twice",
            file=atoms.file,
        )
    first, second = (atoms.types[pairs] - 1).T
    sigma, epsilon = (table[first, second] for table in forces.sizes14)
    products = charges[pairs].prod(axis=1)
    return pairs, np.column_stack([weights * products, sigma, weights * epsilon])
