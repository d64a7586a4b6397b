# SPDX-License-Identifier: Apache-2.0
"""fix shake and fix rattle of LAMMPS input scripts: bonds and angles of constant size.

Source: https://docs.lammps.org/fix_shake.html.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..description.terms import Terms
from .bonded import Bonded, Shaken
from .data import DataFile
from .script import Command
from .units import Units

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]
STYLES = ("shake", "rattle")
_ALIKE = 0.1  # masses that are the same, amu
_FIRST = 6  # of the words: ID, group, style, tolerance, iterations, interval


class Shake:
    """Constraints so far: at most one fix."""

    def __init__(self) -> None:
        self.fix: Command | None = None
        self._chosen: dict[str, list[float]] = {name: [] for name in "btam"}

    def read(self, fix: Command) -> None:
        """Reads the fix."""
        if self.fix is not None:
            raise fix.error(f"there is one already, in line {self.fix.line}")
        if fix.words[1:2] != ("all",):
            raise fix.error("only of the group all")
        if len(fix.words) < _FIRST + 2 or fix.words[_FIRST] not in self._chosen:
            raise fix.error("needs a tolerance, iterations, an interval, and some of b, a, t, m")
        self.fix, name = fix, ""
        for place in range(_FIRST, len(fix.words)):
            if fix.words[place] in self._chosen:
                name = fix.words[place]
            else:
                self._chosen[name].append(fix.number(place))

    def shaken(self, atoms: DataFile, masses: F64) -> Shaken:
        """Which bonds and angles; `masses` of the atoms, in units of the file."""
        bond_types, bonds = atoms.terms["bond"]
        angle_types, angles = atoms.terms["angle"]
        light = np.zeros(len(masses), dtype=bool)
        for mass in self._chosen["m"]:
            light |= abs(masses - mass) <= _ALIKE
        light |= np.isin(atoms.types, self._chosen["t"])
        stiff = np.isin(bond_types, self._chosen["b"]) | light[bonds].any(axis=1)
        keys = _keys(bonds[stiff])
        legs = np.isin(_keys(angles[:, :2]), keys) & np.isin(_keys(angles[:, 1:]), keys)
        partners = np.bincount(bonds[stiff].reshape(-1), minlength=len(masses))
        legs &= partners[angles[:, 1]] == 2  # LAMMPS fixes no angles of larger groups
        return Shaken(stiff, legs & np.isin(angle_types, self._chosen["a"]))

    def constraints(
        self, atoms: DataFile, bonded: Bonded, shaken: Shaken, units: Units
    ) -> tuple[I32, F64]:
        """Pairs of atoms, and their distances, nm."""
        if self.fix is None:
            return np.empty((0, 2), np.int32), np.empty(0)
        terms = {one.name: one for one in bonded.terms(atoms, units, _turned(shaken))}
        bonds = terms.get("bond", Terms("bond"))
        if len(bonds) != shaken.bonds.sum():
            raise self.fix.error("only bonds of bond_style harmonic can be constrained")
        angles = terms.get("angle", Terms("angle"))
        if len(angles) != shaken.angles.sum():
            raise self.fix.error("only angles of the styles harmonic and charmm can be constrained")
        lengths = dict(zip(_keys(bonds.atoms).tolist(), bonds.parameters[:, 0], strict=True))
        first, second = (
            np.array([lengths[key] for key in _keys(angles.atoms[:, legs]).tolist()])
            for legs in ([0, 1], [1, 2])
        )
        cosines = np.cos(angles.parameters[:, 0])
        opposite = np.sqrt(first**2 + second**2 - 2 * first * second * cosines)
        pairs = np.concatenate([bonds.atoms, angles.atoms[:, [0, 2]]])
        return pairs, np.concatenate([bonds.parameters[:, 0], opposite])


def _turned(shaken: Shaken) -> Shaken:
    """Those that are not constrained."""
    return Shaken(~shaken.bonds, ~shaken.angles)


def _keys(pairs: I32) -> npt.NDArray[np.int64]:
    """A number for each pair of atoms, the same for both orders."""
    low, high = np.sort(pairs, axis=1).astype(np.int64).T
    found: npt.NDArray[np.int64] = low * 2**32 + high
    return found
