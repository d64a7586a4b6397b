# SPDX-License-Identifier: Apache-2.0
"""bond_style, angle_style, dihedral_style and improper_style of LAMMPS, and their coefficients.

Sources: https://docs.lammps.org/bond_style.html, angle_style.html, dihedral_style.html and
improper_style.html, and the pages of the styles.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..description.terms import Terms
from ..errors import InputError
from .data import ATOMS, DataFile
from .script import Command, types_of
from .units import Units

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Part:
    """A term that a style makes: its form, which of the atoms it is of, and its parameters."""

    form: str
    places: tuple[int, ...]
    parameters: tuple[float, ...]


_Parts = Iterator[Part]


@dataclass(frozen=True)
class _Style:
    """A style.

    Attributes
    ----------
    values:
        Names of the coefficients, for messages; of "fourier" those that are repeated.
    parts:
        The terms, from the command, the coefficients and the units.
    weight:
        Which of the coefficients is the weight of the 1-4 pair of a dihedral; -1: none.
    """

    values: str
    parts: Callable[[Command, list[float], Units], _Parts]
    weight: int = -1


def _harmonic_bond(_: Command, values: list[float], units: Units) -> _Parts:
    k, length = values
    yield Part("bond", (0, 1), (length * units.length, 2 * k * units.stiffness))


def _fene(_: Command, values: list[float], units: Units) -> _Parts:
    k, longest, epsilon, sigma = values
    of_pull = (longest * units.length, k * units.stiffness)
    yield Part("fene", (0, 1), (*of_pull, sigma * units.length, epsilon * units.energy))


def _morse(_: Command, values: list[float], units: Units) -> _Parts:
    depth, alpha, length = values
    rest = length * units.length
    yield Part("morse", (0, 1), (rest, depth * units.energy, alpha / units.length))


def _harmonic_angle(_: Command, values: list[float], units: Units) -> _Parts:
    k, theta = values
    yield Part("angle", (0, 1, 2), (math.radians(theta), 2 * k * units.energy))


def _charmm_angle(command: Command, values: list[float], units: Units) -> _Parts:
    yield from _harmonic_angle(command, values[:2], units)
    k, length = values[2:]
    if k:
        outer = (length * units.length, 2 * k * units.stiffness)
        yield Part("urey_bradley", (0, 2), outer)


def _cosine_squared(_: Command, values: list[float], units: Units) -> _Parts:
    k, theta = values
    yield Part("cosine_angle", (0, 1, 2), (math.radians(theta), 2 * k * units.energy))


def _torsion(command: Command, k: float, periodicity: float, phase: float) -> _Parts:
    """`phase` in degrees, `k` in kJ/mol."""
    if periodicity != round(periodicity) or periodicity < 1:
        raise command.error(f"the periodicity {periodicity:g} must be a whole number from 1")
    if k:
        yield Part("torsion", (0, 1, 2, 3), (periodicity, math.radians(phase), k))


def _signed_torsion(command: Command, values: list[float], units: Units) -> _Parts:
    k, sign, periodicity = values
    if sign not in (-1, 1):
        raise command.error(f"the second coefficient must be -1 or 1, not {sign:g}")
    yield from _torsion(command, k * units.energy, periodicity, 0 if sign > 0 else 180)


def _charmm_torsion(command: Command, values: list[float], units: Units) -> _Parts:
    k, periodicity, phase, _ = values
    yield from _torsion(command, k * units.energy, periodicity, phase)


def _fourier(command: Command, values: list[float], units: Units) -> _Parts:
    for place in range(1, len(values), 3):
        k, periodicity, phase = values[place : place + 3]
        yield from _torsion(command, k * units.energy, periodicity, phase)


def _opls(command: Command, values: list[float], units: Units) -> _Parts:
    for n, k in enumerate(values, start=1):
        yield from _torsion(command, k / 2 * units.energy, n, 0 if n % 2 else 180)


def _harmonic_improper(command: Command, values: list[float], units: Units) -> _Parts:
    k, chi = values
    if chi not in (0, 180):
        raise command.error("only an angle of 0 or 180 degrees: others have two minima")
    yield Part("improper", (0, 1, 2, 3), (math.radians(chi), 2 * k * units.energy))


_FOURIER = "fourier"
_STYLES: dict[str, dict[str, _Style]] = {
    "bond": {
        "harmonic": _Style("K r0", _harmonic_bond),
        "fene": _Style("K R0 epsilon sigma", _fene),
        "morse": _Style("D alpha r0", _morse),
    },
    "angle": {
        "harmonic": _Style("K theta0", _harmonic_angle),
        "charmm": _Style("K theta0 K_ub r_ub", _charmm_angle),
        "cosine/squared": _Style("K theta0", _cosine_squared),
    },
    "dihedral": {
        "harmonic": _Style("K d n", _signed_torsion),
        "charmm": _Style("K n d weight", _charmm_torsion, weight=3),
        _FOURIER: _Style("K n d", _fourier),
        "opls": _Style("K1 K2 K3 K4", _opls),
    },
    "improper": {
        "harmonic": _Style("K chi0", _harmonic_improper),
        "cvff": _Style("K d n", _signed_torsion),
    },
}


@dataclass(frozen=True)
class Shaken:
    """Bonds and angles that fix shake constrains, by row of the data file."""

    bonds: npt.NDArray[np.bool_]
    angles: npt.NDArray[np.bool_]


class Bonded:
    """Styles and coefficients of bonded terms so far."""

    def __init__(self) -> None:
        self._styles: dict[str, Command] = {}
        self._coefficients: dict[str, dict[int, Command]] = {kind: {} for kind in ATOMS}

    def set_style(self, kind: str, command: Command) -> None:
        """Reads bond_style and the like."""
        known = _STYLES[kind]
        if kind in self._styles:
            raise command.error(f"there is one already, in line {self._styles[kind].line}")
        if len(command.words) != 1 or command.words[0] not in known:
            raise command.error(f"this style is not supported; these are: {', '.join(known)}")
        self._styles[kind] = command

    def add(self, kind: str, command: Command, count: int, style: str = "") -> None:
        """Reads coefficients for `count` types; `style`: that in a comment of a data file."""
        if kind not in self._styles:
            raise command.error(f"there is no {kind}_style yet")
        chosen = self._styles[kind].words[0]
        if style and style.split()[0] != chosen:
            raise command.error(f"coefficients are of the style {style}, not {chosen}")
        for number in types_of(command, 0, count):
            self._coefficients[kind][number] = command

    def values(self, kind: str, number: int, atoms: DataFile) -> tuple[Command, list[float]]:
        """The coefficients of a type of bonded terms, as they are written."""
        found = self._coefficients[kind].get(number)
        if found is None:
            message = f"{kind} type {number} has no coefficients ({kind}_coeff)"
            raise InputError(message, file=atoms.file)
        style = self._styles[kind].words[0]
        values = [found.number(place) for place in range(1, len(found.words))]
        names = _STYLES[kind][style].values
        many = len(names.split())
        good = len(values) == many
        if style == _FOURIER:
            good = len(values) > 1 and len(values) == 1 + many * values[0]
            names = f"m, and m times {names}"
        if not good:
            raise found.error(f"the coefficients of {kind}_style {style} are {names}")
        return found, values

    def terms(self, atoms: DataFile, units: Units, shaken: Shaken) -> list[Terms]:
        """All terms, without those that constraints replace."""
        gathered: dict[str, list[tuple[I32, F64]]] = {}
        free = {"bond": ~shaken.bonds, "angle": ~shaken.angles}
        for kind, (types, members) in atoms.terms.items():
            for number in map(int, np.unique(types)):
                command, values = self.values(kind, number, atoms)
                style = _STYLES[kind][self._styles[kind].words[0]]
                chosen = members[(types == number) & free.get(kind, True)]
                for part in style.parts(command, values, units):
                    rows = np.tile(part.parameters, (len(chosen), 1))
                    gathered.setdefault(part.form, []).append((chosen[:, part.places], rows))
        return [
            Terms(form, *(np.concatenate(arrays) for arrays in zip(*found, strict=True)))
            for form, found in gathered.items()
        ]

    def weights14(self, atoms: DataFile) -> tuple[I32, F64]:
        """Pairs at the ends of dihedrals, each once, and the weights of their interactions."""
        kind = "dihedral"
        types, members = atoms.terms[kind]
        weights = np.zeros(len(types))
        for number in map(int, np.unique(types)):
            _, values = self.values(kind, number, atoms)
            place = _STYLES[kind][self._styles[kind].words[0]].weight
            weights[types == number] = values[place] if place >= 0 else 0.0
        ends = np.sort(members[weights != 0][:, [0, 3]], axis=1)
        pairs, which = np.unique(ends, axis=0, return_inverse=True)
        sums = np.bincount(which.reshape(-1), weights[weights != 0], minlength=len(pairs))
        return pairs.astype(np.int32), sums.astype(np.float64)
