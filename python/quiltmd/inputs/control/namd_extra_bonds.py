# SPDX-License-Identifier: Apache-2.0
"""Extra bonds, angles and dihedrals of NAMD configurations, as restraints.

Each line of such a file is a kind, atoms counted from 0, a force constant and a reference:
E = k (x - x0)^2, without a half, in kcal/mol, angstrom, degrees (k per radian^2).

Source: NAMD User's Guide, version 2.14, "Extra bond, angle, and dihedral restraints".
"""

from __future__ import annotations

import os

from ...errors import InputError
from ..fixed_width import read_bytes
from ..units import ANGSTROM, KCAL
from .entries import Control, Entries

_ATOMS = {"bond": 2, "wall": 2, "angle": 3, "dihedral": 4, "improper": 4}
_NUMBERS = {"wall": (3,), "dihedral": (2, 3), "improper": (2, 3)}  # behind the atoms; else 2
_LENGTH = 2 * KCAL / ANGSTROM**2  # k with a half, of kJ/mol/nm^2
_COSINE = (
    "NAMD takes extra angles by their cosines unless extraBondsCosAngles is off; only harmonic ones"
)


def take_extra_bonds(control: Control, entries: Entries) -> None:
    """A restraint for each line of the files."""
    if not entries.switch("extraBonds"):
        why = "nothing, without extraBonds"
        entries.tell(why, "extraBondsFile", "extraBondsCosAngles")
        return
    cosines = entries.switch("extraBondsCosAngles", True)
    files = entries.take_all("extraBondsFile")
    if not files:
        control.refused.append("extraBonds on: extraBondsFile is missing")
    for entry in files:
        folder = os.path.dirname(os.path.abspath(control.file))
        file = os.path.normpath(os.path.join(folder, entry.value))
        text = read_bytes(file).decode("latin-1")
        for number, line in enumerate(text.split("\n"), start=1):
            words = line.split("#", 1)[0].split()
            if not words:
                continue
            if words[0].lower() == "angle" and cosines:
                entries.reject(entry, f"line {number}: {_COSINE}")
                break
            _add(control, file, number, words)
    if files:
        control.notes.append("extraBonds: their energy is that of restraints (restraint)")


def _add(control: Control, file: str, line: int, words: list[str]) -> None:
    """The restraint of a line; InputError where it is none."""
    kind, rest = words[0].lower(), words[1:]
    count = _ATOMS.get(kind, 0)
    try:
        atoms, values = [int(word) for word in rest[:count]], [float(word) for word in rest[count:]]
    except ValueError:
        atoms = []
    if len(atoms) != count or not atoms or len(values) not in _NUMBERS.get(kind, (2,)):
        raise InputError(f"'{' '.join(words)}' is no extra bond", file=file, line=line)
    select = [f"index {atom + 1}" for atom in atoms]
    k = values[0]
    if len(values) == 3 and kind != "wall":
        if values[1] != 0:
            raise InputError(
                f"a {kind} of periodicity {values[1]:g}: only harmonic ones", file=file, line=line
            )
        del values[1]
    if kind in ("bond", "wall"):
        lower, upper = (round(value * ANGSTROM, 12) for value in (values[1], values[-1]))
        length = round(k * _LENGTH, 9)
        control.add("restraint", kind="distance", select=select, k=length, lower=lower, upper=upper)
    else:
        name = "angle" if kind == "angle" else "torsion"
        bend = round(2 * k * KCAL, 9)
        control.add("restraint", kind=name, select=select, k=bend, angle=values[1])
