# SPDX-License-Identifier: Apache-2.0
"""Position restraints of NAMD configurations, which are called constraints there.

Force constants are in a column of a PDB file, atom by atom; E = k |r - r0|^2, without a half.

Source: NAMD User's Guide, version 2.14, "Harmonic constraints".
"""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..reading.entries import Control, Entries
from ..reading.fixed_width import read_bytes
from ..reading.units import ANGSTROM, KCAL
from ..reading.words import real

_COLUMNS = {"x": (30, 38), "y": (38, 46), "z": (46, 54), "o": (54, 60), "b": (60, 66)}


def take_restraints(control: Control, entries: Entries) -> None:
    """A position restraint for each force constant in the file."""
    if not entries.switch("constraints"):
        entries.tell(
            "no effect without constraints",
            *("consref", "conskfile", "conskcol", "consexp", "constraintScaling"),
        )
        return
    folder = os.path.dirname(os.path.abspath(control.file))
    files = {}
    for name in ("consref", "conskfile"):
        entry = entries.take(name)
        if entry is None:
            control.refused.append(f"constraints on: {name} is missing")
            return
        files[name] = os.path.normpath(os.path.join(folder, entry.value))
    exponent, column = entries.text("consexp", "2"), entries.text("conskcol", "o")
    scaling = entries.number("constraintScaling", 1.0)
    assert scaling is not None
    if exponent != "2" or column not in _COLUMNS:
        control.refused.append(
            f"consexp {exponent}, conskcol {column}: only 2, and only X, Y, Z, O and B"
        )
        return
    chosen = entries.switch("selectConstraints")
    axes = [entries.switch(f"selectConstr{axis}") or not chosen for axis in "XYZ"]
    control.set("system", "reference", files["consref"])
    control.set("system", "reference_scaling", "none")
    constants = _column(files["conskfile"], *_COLUMNS[column])
    for constant in np.unique(constants[constants != 0]):
        k = 2 * float(constant) * scaling * KCAL / ANGSTROM**2
        numbers = _ranges(np.flatnonzero(constants == constant) + 1)
        each = k if all(axes) else tuple(k if axis else 0.0 for axis in axes)
        control.add("restraint", kind="position", select=f"index {numbers}", k=each)


def _column(file: str, first: int, end: int) -> npt.NDArray[np.float64]:
    """The numbers in a column of the atoms of a PDB file."""
    found = []
    text = read_bytes(file).decode("latin-1")
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.startswith(("ATOM", "HETATM")):
            continue
        try:
            found.append(real(line[first:end]))
        except ValueError:
            raise InputError(
                f"no force constant in columns {first + 1} to {end}", file=file, line=number
            ) from None
    return np.array(found)


def _ranges(numbers: npt.NDArray[np.int64]) -> str:
    """Ascending numbers as a selection has them: 1-10 12."""
    parts = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
    return " ".join(f"{part[0]}-{part[-1]}" if len(part) > 1 else f"{part[0]}" for part in parts)
