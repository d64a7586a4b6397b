# SPDX-License-Identifier: Apache-2.0
"""Force-field parameters by atom types, as CHARMM's and X-PLOR's files give them.

Values are converted here, once: nm, kJ/mol, rad, and energies k/2 x^2 for the files' k x^2.  "X"
stands for any type.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..reading.units import ANGSTROM, KCAL
from ..reading.words import real

# Wild cards in names of types (CHARMM documentation, parmfile.doc) as regular expressions.
_WILD = {"*": ".*", "%": ".", "#": "[0-9]*", "+": "[0-9]"}
Types = tuple[str, ...]
Found = TypeVar("Found")
ANY = "X"


@dataclass
class Parameters:
    """Everything that parameter files say; later files add to earlier ones and override them.

    Attributes
    ----------
    names:
        Type by its number in MASS statements.
    types:
        Atom types in MASS statements.
    bonds, angles:
        (length, k); (theta0, k, Urey-Bradley length, its k, both 0 where there is none).
    torsions:
        Terms by periodicity: (phase, k).
    impropers:
        (periodicity, phase, k): harmonic with periodicity 0.
    maps:
        (m, m) kJ/mol by eight types, from -180 degrees.
    lennard_jones:
        For each type, which may have wild cards: epsilon, half the distance of the minimum, and
        the same for 1-4 pairs.
    pairs:
        For each two types in sorted order (NBFIX): epsilon, distance of the minimum, and the
        same for 1-4 pairs.
    scale14:
        Factor of electrostatic interactions of 1-4 pairs (E14FAC).
    options, cutoffs:
        Words of nonbonded options and the numbers that some have, by their first four letters.
    counted:
        Whether torsions have as many terms as a PSF lists them times, as in X-PLOR.
    files:
        Source files, for messages.
    """

    names: dict[str, str] = field(default_factory=dict)
    types: set[str] = field(default_factory=set)
    bonds: dict[Types, tuple[float, float]] = field(default_factory=dict)
    angles: dict[Types, tuple[float, float, float, float]] = field(default_factory=dict)
    torsions: dict[Types, dict[int, tuple[float, float]]] = field(default_factory=dict)
    impropers: dict[Types, tuple[int, float, float]] = field(default_factory=dict)
    maps: dict[Types, npt.NDArray[np.float64]] = field(default_factory=dict)
    lennard_jones: dict[str, tuple[float, float, float, float]] = field(default_factory=dict)
    pairs: dict[Types, tuple[float, float, float, float]] = field(default_factory=dict)
    scale14: float = 1.0
    options: dict[str, str] = field(default_factory=dict)
    cutoffs: dict[str, float] = field(default_factory=dict)
    counted: bool = False
    files: list[str] = field(default_factory=list)

    def add_bond(self, types: Types, k: float, length: float) -> None:
        """A bond, with k in kcal/mol/A^2 and the length in A."""
        self.bonds[_either(types)] = (length * ANGSTROM, 2 * k * KCAL / ANGSTROM**2)

    def add_angle(self, types: Types, k: float, theta: float, urey_bradley: list[float]) -> None:
        """An angle, kcal/mol/rad^2 and degrees; Urey-Bradley as k, length, like a bond, or []."""
        k_outer, outer = urey_bradley or (0.0, 0.0)
        self.angles[_either(types)] = (
            float(np.radians(theta)),
            2 * k * KCAL,
            outer * ANGSTROM,
            2 * k_outer * KCAL / ANGSTROM**2,
        )

    def add_torsion(self, types: Types, k: float, periodicity: int, phase: float) -> None:
        """A term of a torsion, kcal/mol and degrees."""
        terms = self.torsions.setdefault(_either(types), {})
        terms[periodicity] = (float(np.radians(phase)), k * KCAL)

    def add_improper(self, types: Types, k: float, periodicity: int, phase: float) -> None:
        """An improper, harmonic (kcal/mol/rad^2) with periodicity 0, else periodic; degrees."""
        factor = KCAL if periodicity else 2 * KCAL
        self.impropers[types] = (periodicity, float(np.radians(phase)), k * factor)

    def add_map(self, types: Types, energies: npt.NDArray[np.float64]) -> None:
        """A torsion map, kcal/mol."""
        self.maps[types] = energies * KCAL

    def add_type(self, name: str, values: list[float]) -> None:
        """Lennard-Jones: epsilon (kcal/mol), half the minimum's distance (A), twice."""
        self.lennard_jones.pop(name, None)  # the order is that in which they hold
        self.lennard_jones[name] = _lennard_jones(values)

    def add_pair(self, types: Types, values: list[float]) -> None:
        """Lennard-Jones of a pair: epsilon (kcal/mol), distance of the minimum (A), twice."""
        self.pairs.pop(_either(types), None)
        self.pairs[_either(types)] = _lennard_jones(values)

    def matching(self, pattern: str, names: list[str]) -> list[int]:
        """Which of the types of atoms a type in NONBONDED or NBFIX stands for.

        One that is no type, of an atom or in a MASS statement, may have wild cards: * (any
        characters), % (one), # (any digits) and + (one digit).
        """
        if pattern in names or pattern in self.types:
            return [k for k, name in enumerate(names) if name == pattern]
        wild = "".join(_WILD.get(letter, re.escape(letter)) for letter in pattern)
        return [k for k, name in enumerate(names) if re.fullmatch(wild, name)]

    def improper_of(self, types: Types) -> tuple[int, float, float] | None:
        """The improper of four types: exact first, then by CHARMM's order of wild cards."""
        a, b, c, d = types
        candidates = (types, (a, ANY, ANY, d), (ANY, b, c, d), (ANY, b, c, ANY), (ANY, ANY, c, d))
        return _first(self.impropers, (key for one in candidates for key in (one, one[::-1])))

    def torsion_of(self, types: Types) -> dict[int, tuple[float, float]] | None:
        """The terms of a torsion by four types: exact first, then X-b-c-X."""
        _, b, c, _ = types
        return _first(self.torsions, (_either(types), _either((ANY, b, c, ANY))))


def numbers(words: Iterable[str], file: str, line: int) -> list[float]:
    """Words as finite numbers, or InputError."""
    found = []
    for word in words:
        try:
            value = real(word.upper().replace("D", "E"))
        except ValueError:
            value = float("nan")
        if not np.isfinite(value):
            raise InputError(f"'{word}' is not a finite number", file=file, line=line)
        found.append(value)
    return found


def whole(value: float, file: str, line: int) -> int:
    """A periodicity: a whole number that is not negative."""
    if value != round(value) or value < 0:
        raise InputError(f"the periodicity {value:g} is not a whole number", file=file, line=line)
    return int(value)


def _first(table: dict[Types, Found], keys: Iterable[Types]) -> Found | None:
    return next((table[key] for key in keys if key in table), None)


def _either(types: Types) -> Types:
    """One of the two orders, always the same."""
    return min(types, types[::-1])


def _lennard_jones(values: list[float]) -> tuple[float, float, float, float]:
    epsilon, distance, epsilon14, distance14 = values
    return (epsilon * KCAL, distance * ANGSTROM, epsilon14 * KCAL, distance14 * ANGSTROM)
