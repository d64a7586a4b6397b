# SPDX-License-Identifier: Apache-2.0
"""special_bonds of LAMMPS input scripts: interactions of atoms joined by one to three bonds.

Source: https://docs.lammps.org/special_bonds.html.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..reading.bond_paths import by_bonds
from .script import Command

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]
_Weights = tuple[float, float, float]

# Weights of Lennard-Jones and of Coulomb interactions of 1-2, 1-3 and 1-4 pairs.
_NAMED: dict[str, tuple[_Weights, _Weights]] = {
    "charmm": ((0, 0, 0), (0, 0, 0)),
    "amber": ((0, 0, 0.5), (0, 0, 5 / 6)),
    "dreiding": ((0, 0, 1), (0, 0, 1)),
    "fene": ((0, 1, 1), (0, 1, 1)),
}


@dataclass(frozen=True)
class SpecialPairs:
    """Pairs that do not interact as others do.

    Attributes
    ----------
    excluded:
        (n, 2) i < j.
    scaled:
        (m, 2) those of them that interact all the same.
    lennard_jones, coulomb:
        (m,) weights of these interactions.
    """

    excluded: I32
    scaled: I32
    lennard_jones: F64
    coulomb: F64


class Special:
    """Weights of pairs; without a command, those of LAMMPS: none of them interact."""

    def __init__(self) -> None:
        self.command: Command | None = None
        self.lennard_jones: _Weights = (0, 0, 0)
        self.coulomb: _Weights = (0, 0, 0)

    def read(self, command: Command) -> None:
        """Reads special_bonds; each command begins with weights of 0, as in LAMMPS."""
        self.lennard_jones = self.coulomb = (0, 0, 0)
        self.command, place = command, 0
        while place < len(command.words):
            name = command.words[place]
            if name in _NAMED:
                self.lennard_jones, self.coulomb = _NAMED[name]
                place += 1
                continue
            if name not in ("lj", "coul", "lj/coul"):
                known = ", ".join((*_NAMED, "lj", "coul", "lj/coul"))
                raise command.error(f"{name}: only {known}")
            first, second, third = (command.number(place + 1 + k) for k in range(3))
            if not all(0 <= weight <= 1 for weight in (first, second, third)):
                raise command.error("weights must be between 0 and 1")
            if name != "coul":
                self.lennard_jones = (first, second, third)
            if name != "lj":
                self.coulomb = (first, second, third)
            place += 4

    def pairs(self, atoms: int, bonds: I32) -> SpecialPairs:
        """The pairs whose weights are not 1."""
        found = by_bonds(atoms, bonds)
        weights = list(zip(self.lennard_jones, self.coulomb, strict=True))
        excluded = [pairs for pairs, one in zip(found, weights, strict=True) if one != (1, 1)]
        both = [
            (pairs, np.tile(one, (len(pairs), 1)))
            for pairs, one in zip(found, weights, strict=True)
            if one not in ((0, 0), (1, 1))
        ]
        none = np.empty((0, 2), dtype=np.int32)
        scaled = np.concatenate([none, *(pairs for pairs, _ in both)])
        of_scaled = np.concatenate([np.empty((0, 2)), *(rows for _, rows in both)])
        return SpecialPairs(np.concatenate([none, *excluded]), scaled, *of_scaled.T)
