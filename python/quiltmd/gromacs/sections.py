# SPDX-License-Identifier: Apache-2.0
"""Sections of a GROMACS topology: parameters by types, molecule types, and their numbers.

Here lines are only sorted into tables; `molecule.py` interprets them.

Source: GROMACS Reference Manual, "Topology file", tables of directives and of function types.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from ..errors import InputError
from ..reading.words import natural_number
from ..reading.words import reals as numbers_of
from .preprocess import Line

# Sections of parameters by types: how many names a line begins with.
TYPE_SECTIONS = {
    "bondtypes": 2,
    "angletypes": 3,
    "dihedraltypes": 4,
    "pairtypes": 2,
    "nonbond_params": 2,
    "constrainttypes": 2,
    "cmaptypes": 5,
}
# Sections of a molecule type that are read, with the number of atoms of a term.
TERM_SECTIONS = {
    "bonds": 2,
    "pairs": 2,
    "angles": 3,
    "dihedrals": 4,
    "cmap": 5,
    "constraints": 2,
    "settles": 1,
    "position_restraints": 1,
    "dihedral_restraints": 4,
    "virtual_sites1": 2,
    "virtual_sites2": 3,
    "virtual_sites3": 4,
    "virtual_sites4": 5,
    "virtual_sitesn": 1,
}
# Older names of sections.
_RENAMED = {f"dummies{kind}": f"virtual_sites{kind}" for kind in "1234n"}
_REFUSED = {
    "pairs_nb": "pairs with their own charges and no cutoff (pairs_nb) are not supported",
    "intermolecular_interactions": "interactions between molecules are not supported",
    "distance_restraints": "averages of distances are not supported; use bonds of type 10",
    "orientation_restraints": "orientation restraints are not supported",
    "angle_restraints": "angle restraints are not supported",
    "angle_restraints_z": "angle restraints are not supported",
    "polarization": "polarizable models are not supported",
    "water_polarization": "polarizable models are not supported",
    "thole_polarization": "polarizable models are not supported",
}
# Parameters of implicit solvents, which GROMACS itself no longer has; a title.
_WITHOUT_EFFECT = ("implicit_genborn_params", "implicit_surface_params", "system")
_READ = ("defaults", "atomtypes", "moleculetype", "atoms", "exclusions", "molecules")
_NAMES = (*TYPE_SECTIONS, *TERM_SECTIONS, *_REFUSED, *_WITHOUT_EFFECT, *_READ)
_BEFORE_MOLECULES = ("defaults", "atomtypes", *TYPE_SECTIONS)
_BY_ATOM_TYPES = ("nonbond_params", "pairtypes")  # the others go by bonded types
_VAN_DER_WAALS = {"lj": "1", "buckingham": "2"}
_RULES = {"geometric": 1, "arithmetic": 2, "geomsigeps": 3, "1": 1, "2": 2, "3": 3}
_PARTICLES = "ANSBVD"  # atom, nucleus, shell, bond particle, virtual site (D: its older name)


@dataclass(frozen=True)
class AtomType:
    """A type of atoms: its Lennard-Jones parameters, and the name that bonded parameters go by.

    `particle` is a letter of `_PARTICLES`.
    """

    name: str
    bonded: str
    particle: str
    mass: float
    charge: float
    number: int
    first: float
    second: float
    line: Line


@dataclass
class MoleculeType:
    """A molecule type: the lines of its sections."""

    name: str
    nrexcl: int
    line: Line
    atoms: list[Line] = field(default_factory=list)
    exclusions: list[Line] = field(default_factory=list)
    terms: dict[str, list[Line]] = field(
        default_factory=lambda: {name: [] for name in TERM_SECTIONS}
    )


class TopologyFile:
    """The sections of a topology.

    Attributes
    ----------
    rule:
        Combination rule, 1, 2 or 3.
    generates_pairs:
        Whether 1-4 parameters that are not listed are made of those of the atoms.
    fudge_lj, fudge_qq:
        Factors of 1-4 interactions.
    atom_types, types, molecule_types:
        By name.
    bonded_types:
        The names that bonded parameters go by.
    molecules:
        Molecule types and how many of each, in order.
    notes:
        Warnings.
    """

    def __init__(self, lines: Iterable[Line]) -> None:
        self.rule = 0
        self.generates_pairs = False
        self.fudge_lj = self.fudge_qq = 1.0
        self.atom_types: dict[str, AtomType] = {}
        self.bonded_types: set[str] = set()
        self.notes: list[str] = []
        self.types: dict[str, list[Line]] = {name: [] for name in TYPE_SECTIONS}
        self.molecule_types: dict[str, MoleculeType] = {}
        self.molecules: list[tuple[str, int, Line]] = []
        self._current: MoleculeType | None = None
        section, line = "", None
        for line in lines:
            if line.words[0].startswith("["):
                section = self._section(line)
            else:
                self._take(section, line)
        if line is None or not self.molecules:
            where = line.file if line is not None else None
            raise InputError("no [ molecules ]: the topology defines no system", file=where)

    def _section(self, line: Line) -> str:
        """The section that a line opens; upper case, - and _ make no difference."""
        name, _, behind = " ".join(line.words).removeprefix("[").partition("]")
        name = name.strip().lower()
        section = _SQUEEZED.get(_squeezed(name), name)
        section = _RENAMED.get(section, section)
        if section in _REFUSED:
            raise line.error(f"[ {section} ]: {_REFUSED[section]}")
        if section not in _NAMES:
            raise line.error(
                f"[ {section} ] is not known, and ignoring it could make energies wrong"
            )
        if behind:
            raise line.error(f"'{behind.strip()}' must be on a line of its own after [ {section} ]")
        if section in _BEFORE_MOLECULES and self.molecule_types:
            raise line.error(f"[ {section} ] must come before the first [ moleculetype ]")
        return section

    def check_types(self, section: str, types: tuple[str, ...], line: Line) -> None:
        """InputError if a line of parameters names a type of atoms that does not exist."""
        known = self.atom_types if section in _BY_ATOM_TYPES else self.bonded_types
        for name in types:
            if name not in known:
                raise line.error(f"[ {section} ]: there is no atom type {name}")

    def _take(self, section: str, line: Line) -> None:
        """Sorts a line; text before the first section is a comment, as for grompp."""
        if section == "defaults":
            self._defaults(line)
        elif section == "atomtypes":
            self._atom_type(line)
        elif section in TYPE_SECTIONS:
            if len(line.words) <= TYPE_SECTIONS[section] - 2 * (section == "dihedraltypes"):
                raise line.error("expected types of atoms and a function type")
            self.types[section].append(line)
        elif section == "moleculetype":
            self._molecule_type(line)
        elif section == "molecules":
            self._molecule(line)
        elif section in ("atoms", "exclusions") or section in TERM_SECTIONS:
            self._in_molecule(section, line)

    def _in_molecule(self, section: str, line: Line) -> None:
        if self._current is None:
            raise line.error(f"[ {section} ] must come after a [ moleculetype ]")
        if section == "atoms":
            self._current.atoms.append(line)
        elif section == "exclusions":
            self._current.exclusions.append(line)
        else:
            self._current.terms[section].append(line)

    def _defaults(self, line: Line) -> None:
        if self.rule:
            raise line.error("[ defaults ] must have one line: is a second force field included?")
        if not 2 <= len(line.words) <= 6:
            raise line.error(
                "expected nbfunc, combination rule, gen-pairs, fudgeLJ, fudgeQQ and power"
            )
        function, rule, generates, *factors = [*line.words, *("no",)[len(line.words) - 2 :]]
        if _VAN_DER_WAALS.get(function.lower(), function) != "1":
            raise line.error(f"nbfunc {function} (Buckingham) is not supported, only 1")
        if rule.lower() not in _RULES:
            raise line.error(f"combination rule {rule} is not known, only 1, 2 and 3")
        numbers = reals(factors, line)
        self.rule = _RULES[rule.lower()]
        self.generates_pairs = generates.lower().startswith("y")
        self.fudge_lj, self.fudge_qq, power = [*numbers, *(1.0, 1.0, 12.0)[len(numbers) :]]
        if power != 12:
            raise line.error(f"repulsion with the power {factors[2]} is not supported, only 12")

    def _atom_type(self, line: Line) -> None:
        """Name, bonded type and atomic number where given, mass, charge, kind, two parameters."""
        words = line.words
        if self.rule == 0:
            raise line.error(
                "[ atomtypes ] must come after [ defaults ]: include the force field first"
            )
        kind = next((k for k in (5, 3, 4) if _is_letter(words[k : k + 1])), None)
        if kind is None or len(words) < kind + 3:
            raise line.error("expected name, mass, charge, particle type and two parameters")
        if words[kind].upper() not in _PARTICLES:
            raise line.error(f"the particle type {words[kind]} is not known")
        if len(words) > kind + 3:
            ignored = " ".join(words[kind + 3 :])
            self.notes.append(line.note(f"'{ignored}' after the two parameters is ignored"))
        mass, charge = reals(words[kind - 2 : kind], line)
        first, second = reals(words[kind + 1 : kind + 3], line)
        between = words[1 : kind - 2]
        numeric = between[-1:] if between and _is_integer(between[-1]) else []
        if len(between) == 2 and not numeric:
            raise line.error(f"'{between[1]}' is not an atomic number")
        bonded = between[0] if len(between) > len(numeric) else words[0]
        number = int(numeric[0]) if numeric else 0
        particle = words[kind].upper()
        new = AtomType(words[0], bonded, particle, mass, charge, number, first, second, line)
        old = self.atom_types.get(words[0])
        if old is not None and replace(old, line=line) != new:
            self.notes.append(line.note(f"[ atomtypes ]: replaces the earlier {words[0]}"))
        self.atom_types[words[0]] = new
        self.bonded_types.add(bonded)

    def _molecule_type(self, line: Line) -> None:
        name, nrexcl = line.words[0], natural_number(line.words[-1])
        if len(line.words) != 2 or nrexcl is None:
            raise line.error("expected the name of a molecule type and nrexcl")
        if name in self.molecule_types:
            raise line.error(
                f"the molecule type {name} is already defined: is a file included twice?"
            )
        self._current = MoleculeType(name, nrexcl, line)
        self.molecule_types[name] = self._current

    def _molecule(self, line: Line) -> None:
        name, count = line.words[0], natural_number(line.words[-1])
        if len(line.words) != 2 or count is None:
            raise line.error("expected the name of a molecule type and a number")
        if name not in self.molecule_types:
            alike = [other for other in self.molecule_types if other.lower() == name.lower()]
            if len(alike) != 1:
                raise line.error(f"there is no molecule type {name}: is its file included?")
            name = alike[0]
        self.molecules.append((name, count, line))


def _is_integer(word: str) -> bool:
    return natural_number(word.lstrip("+-")) is not None


def _is_letter(words: list[str]) -> bool:
    return bool(words) and len(words[0]) == 1 and words[0].isalpha()


def _squeezed(name: str) -> str:
    return name.replace("-", "").replace("_", "")


_SQUEEZED = {_squeezed(name): name for name in (*_NAMES, *_RENAMED)}


def reals(words: list[str], line: Line) -> list[float]:
    """Words as finite numbers, or an error that names the line."""
    found = numbers_of(words)
    if not np.isfinite(found).all():
        word = words[int(np.argmin(np.isfinite(found)))]
        raise line.error(f"'{word}' is not a finite number (or a macro that is not defined)")
    return [*map(float, found)]
