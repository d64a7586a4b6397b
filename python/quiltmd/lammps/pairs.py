# SPDX-License-Identifier: Apache-2.0
"""pair_style, pair_coeff and pair_modify of LAMMPS input scripts.

Sources: https://docs.lammps.org/pair_style.html, pair_eam.html, pair_sw.html, pair_tersoff.html,
pair_modify.html.
"""

from __future__ import annotations

import numpy as np

from ..errors import InputError
from .by_types import BY_TYPES, Chosen, Forces, by_types
from .data import DataFile
from .eam import read_eam
from .script import Command, types_of
from .three_body import read_stillinger_weber, read_tersoff
from .units import UNITS, Units

_EAM = ("eam", "eam/alloy", "eam/fs")
_THREE_BODY = {"sw": read_stillinger_weber, "tersoff": read_tersoff}
_REFUSED = {
    "meam": "MEAM is not supported: its angular densities and its screening of pairs by third "
    "atoms are neither a sum over pairs, as EAM is, nor over triplets, as sw and tersoff are",
    "granular": "granular matter is not supported: its forces depend on the history of contacts",
    "gran/hooke/history": "granular matter is not supported: its forces depend on the history of "
    "contacts",
}


class Pairs:
    """Commands of pairs so far."""

    def __init__(self) -> None:
        self.style: Command | None = None
        self.mesh: Command | None = None  # kspace_style
        self.coefficients: list[tuple[Command, list[int], list[int]]] = []
        self.mix = ""  # that of the style
        self.shift, self.tail = False, False

    def set_style(self, command: Command) -> None:
        """Reads pair_style."""
        known = (*_EAM, *_THREE_BODY, *BY_TYPES)
        if self.style is not None:
            raise command.error(f"there is one already, in line {self.style.line}")
        name = command.words[0] if command.words else ""
        if name in _REFUSED:
            raise command.error(_REFUSED[name])
        if name not in known:
            raise command.error(f"this style is not supported; these are: {', '.join(known)}")
        if name not in BY_TYPES and len(command.words) > 1:
            raise command.error(f"{name} has no further values")
        self.style = command

    def add(self, command: Command, count: int, style: str = "") -> None:
        """Reads pair_coeff for `count` types; `style`: that in a comment of a data file."""
        if self.style is None:
            raise command.error("there is no pair_style yet")
        chosen = self.style.words[0]
        if style and style.split()[0] != chosen:
            raise command.error(f"coefficients are of the style {style}, not {chosen}")
        first, second = types_of(command, 0, count), types_of(command, 1, count)
        if len(first) == len(second) == 1:  # in either order
            first, second = sorted((first, second))
        if first[0] > second[-1]:
            raise command.error("no type of the first range is at most one of the second")
        self.coefficients.append((command, first, second))

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
            return self._embedded(self.style, atoms, units)
        if self.style.words[0] in _THREE_BODY:
            return self._three_body(self.style, atoms, units)
        chosen = Chosen(self.style, self.mesh, self.mix, self.shift, self.tail)
        return by_types(chosen, self.coefficients, atoms, units)

    def _check_alone(self, style: Command, atoms: DataFile, units: Units) -> None:
        """InputError where the style of a many-body potential is not all that there is."""
        if units is UNITS["lj"]:
            raise style.error("needs units metal or real")
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
        self._check_alone(style, atoms, units)
        file, elements = self._file_and_elements(atoms)
        named = "metal" if units is UNITS["metal"] else "real"
        of_atoms = [elements[int(kind)] for kind in atoms.types]
        used = list(dict.fromkeys(of_atoms))
        potential = _THREE_BODY[style.words[0]](file, used, named)
        none = np.zeros((atoms.type_count, atoms.type_count))
        return Forces(potential.nonbonded, none, none, three_body=potential.of(of_atoms))

    def _embedded(self, style: Command, atoms: DataFile, units: Units) -> Forces:
        self._check_alone(style, atoms, units)
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
        return Forces(part.functions.nonbonded, none, none, embedded=part, masses=masses)
