# SPDX-License-Identifier: Apache-2.0
"""Units of functions and models that give energies."""

from __future__ import annotations

from ..errors import QuiltError
from ..reading.units import ANGSTROM, KCAL

_LENGTHS = {"nm": 1.0, "angstrom": ANGSTROM}
_ENERGIES = {"kJ/mol": 1.0, "kcal/mol": KCAL, "eV": 96.48533212331002}


def sizes_of(length: str, unit: str, where: str) -> tuple[float, float]:
    """Sizes of a unit of length, nm, and of one of energy, kJ/mol.

    QuiltError, opened by `where`, if one is not known.
    """
    return _size(length, _LENGTHS, where), _size(unit, _ENERGIES, where)


def _size(name: str, known: dict[str, float], where: str) -> float:
    if name not in known:
        raise QuiltError(f"{where}: the unit {name!r} must be {' or '.join(known)}")
    return known[name]
