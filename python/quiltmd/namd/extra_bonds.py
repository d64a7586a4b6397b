# SPDX-License-Identifier: Apache-2.0
"""Extra bonds, angles and dihedrals of NAMD configurations, as restraints.

Each line of such a file is a kind, atoms counted from 0, a force constant and a reference:
E = k (x - x0)^2, without a half, in kcal/mol, angstrom, degrees (k per radian^2).

Source: NAMD User's Guide, version 2.14, "Extra bond, angle, and dihedral restraints".
"""

from __future__ import annotations

import math
import os

from ..errors import InputError
from ..reading.entries import Control, Entries
from ..reading.fixed_width import read_bytes
from ..reading.units import ANGSTROM, KCAL
from ..reading.words import real, whole

_ATOMS = {"bond": 2, "wall": 2, "angle": 3, "dihedral": 4, "improper": 4}
_NUMBERS = {"wall": (3,), "dihedral": (2, 3), "improper": (2, 3)}  # behind the atoms; else 2
_FORMS = {
    "bond": "bond ATOM ATOM K LENGTH",
    "wall": "wall ATOM ATOM K LOWER UPPER",
    "angle": "angle ATOM ATOM ATOM K ANGLE",
    "dihedral": "dihedral ATOM ATOM ATOM ATOM K [0] ANGLE",
    "improper": "improper ATOM ATOM ATOM ATOM K [0] ANGLE",
}
_LENGTH = 2 * KCAL / ANGSTROM**2  # k with a half, of kJ/mol/nm^2
_COSINE = (
    "NAMD takes extra angles by their cosines unless extraBondsCosAngles is off; only harmonic "
    "angles are supported"
)


def take_extra_bonds(control: Control, entries: Entries) -> None:
    """A restraint for each line of the files."""
    if not entries.switch("extraBonds"):
        why = "no effect without extraBonds"
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
    """Adds the restraint of a line; InputError if the line cannot be one."""
    kind, rest = words[0].lower(), words[1:]
    count = _ATOMS.get(kind, 0)
    try:
        atoms, values = [*map(whole, rest[:count])], [*map(real, rest[count:])]
    except ValueError:
        atoms, values = [], []
    problem = ""
    if len(atoms) != count or not atoms or len(values) not in _NUMBERS.get(kind, (2,)):
        problem = f"expected {_FORMS.get(kind) or ' or '.join(_FORMS)}"
    elif min(atoms) < 0 or len(set(atoms)) < count:
        problem = "atoms must be different numbers, counted from 0"
    elif not all(map(math.isfinite, values)) or values[0] < 0:
        problem = "numbers must be finite, and the force constant not negative"
    elif kind in ("bond", "wall") and not 0 <= values[1] <= values[-1]:
        problem = "lengths must be positive, the lower one first"
    if problem:
        raise InputError(
            f"'{' '.join(words)}' is not an extra bond: {problem}", file=file, line=line
        )
    select = [f"index {atom + 1}" for atom in atoms]
    k = values[0]
    if len(values) == 3 and kind != "wall":
        if values[1] != 0:
            raise InputError(
                f"{kind} with periodicity {values[1]:g}: only harmonic ones (0)",
                file=file,
                line=line,
            )
        del values[1]
    if kind in ("bond", "wall"):
        lower, upper = (value * ANGSTROM for value in (values[1], values[-1]))
        length = k * _LENGTH
        control.add("restraint", kind="distance", select=select, k=length, lower=lower, upper=upper)
    else:
        name = "angle" if kind == "angle" else "torsion"
        bend = 2 * k * KCAL
        control.add("restraint", kind=name, select=select, k=bend, angle=values[1])
