# SPDX-License-Identifier: Apache-2.0
"""pair_style, pair_coeff and pair_modify of LAMMPS input scripts.

Sources: https://docs.lammps.org/pair_style.html, pair_lj_cut_coul.html, pair_eam.html,
pair_sw.html, pair_tersoff.html, pair_modify.html.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..description.embedded import EmbeddedAtoms
from ..description.nonbonded import Nonbonded
from ..description.three_body import ThreeBodyAtoms
from ..errors import InputError
from .data import DataFile
from .eam import read_eam
from .script import Command
from .three_body import read_stillinger_weber, read_tersoff
from .units import UNITS, Units

F64 = npt.NDArray[np.float64]

_EAM = ("eam", "eam/alloy", "eam/fs")
_THREE_BODY = {"sw": read_stillinger_weber, "tersoff": read_tersoff}
_LENNARD_JONES = ("lj/cut", "lj/cut/coul/long")
_DIGITS = 12  # of a cutoff in nm: 2.5 * 0.34 is 0.85


@dataclass(frozen=True)
class Forces:
    """Forces between pairs, in our units.

    Attributes
    ----------
    nonbonded:
        Settings.
    a, b:
        Lennard-Jones coefficients by types.
    embedded:
        Embedded atoms, or None.
    three_body:
        Atoms of a three-body potential, or None.
    masses:
        By type, from 1, where the potential has them.
    """

    nonbonded: Nonbonded
    a: F64
    b: F64
    embedded: EmbeddedAtoms | None = None
    three_body: ThreeBodyAtoms | None = None
    masses: dict[int, float] = field(default_factory=dict)

    @property
    def elements(self) -> list[str] | None:
        """Of each atom, where the potential names them."""
        names: tuple[str, ...]
        if self.embedded is not None:
            names, types = self.embedded.functions.elements, self.embedded.types
        elif self.three_body is not None:
            names, types = self.three_body.potential.elements, self.three_body.types
        else:
            return None
        return [names[kind] for kind in np.asarray(types)]


class Pairs:
    """Commands of pairs so far."""

    def __init__(self) -> None:
        self.style: Command | None = None
        self.cutoff = 0.0
        self.mesh: Command | None = None  # kspace_style
        self.coefficients: list[tuple[Command, list[int], list[int]]] = []
        self.mix, self.shift, self.tail = "geometric", False, False

    def set_style(self, command: Command, units: Units) -> None:
        """Reads pair_style."""
        known = (*_EAM, *_THREE_BODY, *_LENNARD_JONES)
        if self.style is not None:
            raise command.error(f"there is one already, in line {self.style.line}")
        if not command.words or command.words[0] not in known:
            raise command.error(f"this style is not supported; these are: {', '.join(known)}")
        name, rest = command.words[0], command.words[1:]
        if name in (*_EAM, *_THREE_BODY) and rest:
            raise command.error(f"{name} has no further values")
        if name in _LENNARD_JONES:
            cutoffs = [command.number(place) for place in range(1, len(command.words))]
            if len(set(cutoffs)) != 1 or cutoffs[0] <= 0 or len(cutoffs) > 2:
                raise command.error("only one cutoff, for all interactions")
            self.cutoff = round(cutoffs[0] * units.length, _DIGITS)
        self.style = command

    def types(self, command: Command, place: int, count: int) -> list[int]:
        """The types that a word stands for: 2, *, 1*3, *2, 2*."""
        word = command.words[place] if place < len(command.words) else ""
        found = re.fullmatch(r"(\d{0,6})(\*?)(\d{0,6})", word)
        if found is None or not word:
            raise command.error(f"expected a type as value {place + 1}")
        first, many, last = found.groups()
        low = int(first) if first else 1
        high = (int(last) if last else count) if many else low
        if not 1 <= low <= high <= count:
            raise command.error(f"types are 1 to {count}")
        return list(range(low, high + 1))

    def add(self, command: Command, count: int) -> None:
        """Reads pair_coeff of so many types."""
        if self.style is None:
            raise command.error("there is no pair_style yet")
        both = self.types(command, 0, count), self.types(command, 1, count)
        self.coefficients.append((command, *both))

    def modify(self, command: Command) -> None:
        """Reads pair_modify."""
        words = command.words
        if len(words) % 2:
            raise command.error("expected names and values")
        for name, value in zip(words[::2], words[1::2], strict=True):
            if name == "mix" and value in ("geometric", "arithmetic"):
                self.mix = value
            elif name in ("shift", "tail") and value in ("yes", "no"):
                setattr(self, name, value == "yes")
            else:
                raise command.error(f"{name} {value}: only mix, shift and tail")

    def forces(self, file: str, atoms: DataFile, units: Units) -> Forces:
        """What all commands together say.

        Raises
        ------
        InputError
            Where a type has no coefficients, or where commands do not go together.
        """
        if self.style is None:
            raise InputError("there is no pair_style", file=file)
        if self.style.words[0] in _EAM:
            return self._embedded(self.style, atoms)
        if self.style.words[0] in _THREE_BODY:
            return self._three_body(self.style, atoms, units)
        return self._lennard_jones(self.style, atoms, units)

    def _check_alone(self, style: Command, atoms: DataFile) -> None:
        """InputError where the style of a many-body potential is not all that there is."""
        if self.shift or self.tail or self.mesh is not None:
            raise style.error("pair_modify and kspace_style do not go with this style")
        if not self.coefficients:
            raise style.error("there is no pair_coeff")
        if atoms.charges.any():
            raise style.error("atoms have charges, which this style does not use")

    def _file_and_elements(self, atoms: DataFile) -> tuple[str, dict[int, str]]:
        """Of the last pair_coeff: the potential file, and the element of each type."""
        command = self.coefficients[-1][0]
        if command.words[:2] != ("*", "*") or len(command.words) != 3 + atoms.type_count:
            raise command.error(f"only * *, a file, and {atoms.type_count} elements")
        return command.path(2), dict(enumerate(command.words[3:], start=1))

    def _three_body(self, style: Command, atoms: DataFile, units: Units) -> Forces:
        self._check_alone(style, atoms)
        if units is UNITS["lj"]:
            raise style.error("needs units metal or real")
        file, elements = self._file_and_elements(atoms)
        named = "metal" if units is UNITS["metal"] else "real"
        of_atoms = [elements[int(kind)] for kind in atoms.types]
        used = list(dict.fromkeys(of_atoms))
        potential = _THREE_BODY[style.words[0]](file, used, named)
        none = np.zeros((atoms.type_count, atoms.type_count))
        return Forces(potential.nonbonded, none, none, three_body=potential.of(of_atoms))

    def _embedded(self, style: Command, atoms: DataFile) -> Forces:
        self._check_alone(style, atoms)
        elements = dict[int, str]()
        if style.words[0] == "eam":
            files = dict[str, None]()
            for command, first, second in self.coefficients:
                if first != second or len(command.words) != 3:
                    raise command.error("only a type twice, and a file in the format funcfl")
                name = read_eam(command.path(2)).elements[0]
                elements |= dict.fromkeys(first, name)
                files[command.path(2)] = None
            functions = read_eam(*files)
        else:
            file, elements = self._file_and_elements(atoms)
            functions = read_eam(file)
        for kind in map(int, np.unique(atoms.types)):
            if elements.get(kind) not in functions.elements:
                raise style.error(
                    f"type {kind} is {elements.get(kind, 'no element')}; the potential has "
                    f"{', '.join(functions.elements)}"
                )
        part = functions.of([elements[int(kind)] for kind in atoms.types])
        by_name = dict(zip(functions.elements, np.asarray(functions.masses).tolist(), strict=True))
        masses = {kind: by_name[name] for kind, name in elements.items() if name in by_name}
        none = np.zeros((atoms.type_count, atoms.type_count))
        return Forces(part.functions.nonbonded, none, none, part, masses=masses)

    def _lennard_jones(self, style: Command, atoms: DataFile, units: Units) -> Forces:
        count = atoms.type_count
        epsilon, sigma = np.full((count, count), np.nan), np.full((count, count), np.nan)
        for command, first, second in self.coefficients:
            cutoffs = [command.number(place) for place in range(4, len(command.words))]
            if any(round(cutoff * units.length, _DIGITS) != self.cutoff for cutoff in cutoffs):
                raise command.error("only the cutoff of pair_style, for all types")
            values = command.number(2) * units.energy, command.number(3) * units.length
            if min(values) < 0:
                raise command.error("epsilon and sigma must not be negative")
            for i in first:
                for j in (j for j in second if j >= i):
                    epsilon[i - 1, j - 1] = epsilon[j - 1, i - 1] = values[0]
                    sigma[i - 1, j - 1] = sigma[j - 1, i - 1] = values[1]
        self._mix(style, epsilon, sigma)
        used = np.unique(atoms.types) - 1
        if np.isnan(epsilon[np.ix_(used, used)]).any():
            kind = used[np.isnan(np.diag(epsilon)[used])][0] + 1
            raise style.error(f"type {kind} has no pair_coeff")
        epsilon, sigma = np.nan_to_num(epsilon), np.nan_to_num(sigma)
        a, b = 4 * epsilon * sigma**12, 4 * epsilon * sigma**6
        return Forces(self._settings(style, atoms), a, b)

    def _mix(self, style: Command, epsilon: F64, sigma: F64) -> None:
        """Fills in pairs of types that no command names."""
        own, size = np.diag(epsilon).copy(), np.diag(sigma).copy()
        mean = (size[:, None] + size) / 2
        if self.mix == "geometric":
            mean = np.sqrt(size[:, None] * size)
        missing = np.isnan(epsilon)
        epsilon[missing] = np.sqrt(own[:, None] * own)[missing]
        sigma[missing] = mean[missing]

    def _settings(self, style: Command, atoms: DataFile) -> Nonbonded:
        if style.words[0] == "lj/cut":
            if self.mesh is not None:
                raise self.mesh.error("not with pair_style lj/cut")
            if atoms.charges.any():
                raise style.error("atoms have charges, which lj/cut does not use")
            return Nonbonded(
                method="cutoff",
                cutoff=self.cutoff,
                potential_shift=self.shift,
                dispersion_correction=self.tail,
            )
        if self.mesh is None:
            raise style.error("needs kspace_style pppm")
        if self.shift:
            raise style.error("pair_modify shift yes is not supported with this style")
        return Nonbonded(method="pme", cutoff=self.cutoff, dispersion_correction=self.tail)
