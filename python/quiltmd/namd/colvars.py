# SPDX-License-Identifier: Apache-2.0
"""Collective variables of NAMD configurations (Colvars), as restraints between groups.

Harmonic restraints and walls on distances, angles, dihedrals, radii of gyration and coordination
numbers of groups are taken over; everything else is refused by its keyword.  Values are in
angstrom and degrees, energies in kcal/mol; a force constant is that of the variable divided by its
width: E = k/2 ((x - x0)/width)^2.

Source: Fiorin, Klein and Henin, Mol. Phys. 111, 3345 (2013); Colvars reference manual for NAMD.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..description.collective import NAME
from ..errors import InputError
from ..reading.entries import Control, Entries
from ..reading.fixed_width import read_bytes
from ..reading.units import ANGSTROM, KCAL
from ..reading.words import real, whole

_DEGREE = math.pi / 180
# Components: kind of the restraint, its groups, and a unit of the variable in our units.
_COMPONENTS: dict[str, tuple[str, tuple[str, ...], float]] = {
    "distance": ("distance", ("group1", "group2"), ANGSTROM),
    "angle": ("angle", ("group1", "group2", "group3"), _DEGREE),
    "dihedral": ("torsion", ("group1", "group2", "group3", "group4"), _DEGREE),
    "gyration": ("gyration", ("atoms",), ANGSTROM),
    "coordnum": ("coordination", ("group1", "group2"), 1.0),
}
_NO_EFFECT = {  # on energies and forces of harmonic restraints
    *("colvarstrajfrequency", "colvarsrestartfrequency", "colvarstrajappend"),
    *("outputvalue", "outputvelocity", "outputenergy", "outputtotalforce", "outputappliedforce"),
    *("lowerboundary", "upperboundary", "hardlowerboundary", "hardupperboundary"),
    *("expandboundaries", "outputcenters", "outputaccumulatedwork"),
}
_DISABLED = ("off", "no", "false")
_SPAN = 1e4  # nm, contacts: where a variable without an upper wall would have one


@dataclass
class _Block:
    """A block: its keyword in lower case, its line, and its keywords with values or blocks."""

    name: str
    line: int
    values: dict[str, tuple[str, int]] = field(default_factory=dict)
    blocks: list[_Block] = field(default_factory=list)


@dataclass(frozen=True)
class _Variable:
    """A variable: the fields of its restraints, its width, and its unit in ours."""

    fields: dict[str, Any]
    width: float
    unit: float


def take_colvars(control: Control, entries: Entries) -> None:
    """A restraint for each variable of each bias in the files of colvarsConfig."""
    if not entries.switch("colvars"):
        entries.tell("no effect without colvars", "colvarsConfig")
        return
    files = entries.take_all("colvarsConfig")
    if not files:
        control.refused.append("colvars on: colvarsConfig is missing")
    for entry in files:
        folder = os.path.dirname(os.path.abspath(control.file))
        _Reader(control, os.path.normpath(os.path.join(folder, entry.value))).read()
    if files:
        control.notes.append("colvars: their values and energies are in collective.csv")


class _Reader:
    """Reads a file of Colvars.

    Parameters
    ----------
    control:
        Receives restraints, and what is refused.
    file:
        The file.
    """

    def __init__(self, control: Control, file: str) -> None:
        self._control, self._file = control, file
        self._variables: dict[str, _Variable] = {}  # that are supported
        self._names_of_all: set[str] = set()
        self._biased: dict[str, int] = {}

    def read(self) -> None:
        """Reads variables and biases."""
        whole_file = self._block("", 1, _tokens(read_bytes(self._file).decode("latin-1")))
        self._refuse_others(whole_file, None)
        for block in whole_file.blocks:
            if block.name == "colvar":
                self._add_variable(block)
        biases = {"harmonic": self._add_harmonic, "harmonicwalls": self._add_walls}
        for block in whole_file.blocks:
            if block.name in biases:
                biases[block.name](block)
            elif block.name != "colvar":
                self._refuse(block.line, block.name, "only harmonic and harmonicWalls")
        for name in self._variables.keys() - self._biased.keys():
            self._restrain(name, k=0.0, lower=0.0)

    def _block(self, name: str, line: int, tokens: Iterator[tuple[str, int]]) -> _Block:
        """The block whose keywords follow, up to its brace or the end."""
        block = _Block(name, line)
        for token, at in tokens:
            if token == "\n":
                continue
            if token == "}":
                return block
            if token == "{":
                raise self._error(at, "a brace without a keyword")
            self._take(block, token.lower(), at, tokens)
        if name:
            raise self._error(line, f"the block {name} has no end")
        return block

    def _take(self, block: _Block, key: str, line: int, tokens: Iterator[tuple[str, int]]) -> None:
        """A keyword and what belongs to it: words up to the end of the line, or a block."""
        words: list[str] = []
        for token, _ in tokens:
            if token == "{" and not words:
                inner = self._block(key, line, tokens)
                if inner.blocks or any(not _is_number(name) for name in inner.values):
                    block.blocks.append(inner)
                    return
                # Numbers in braces are a value.
                words = [one for name, (rest, _) in inner.values.items() for one in (name, rest)]
                break
            if token == "\n":
                break
            words.append(token)
        if key in block.values:
            raise self._error(line, f"{key} is there twice")
        block.values[key] = (" ".join(words).strip(), line)

    def _add_variable(self, block: _Block) -> None:
        name, _ = block.values.pop("name", ("", 0))
        if not re.match(NAME, name) or name in self._names_of_all:
            raise self._error(block.line, f"a colvar needs a name of its own, not '{name}'")
        self._names_of_all.add(name)
        width = self._number(block, "width", 1.0)
        self._refuse_others(block, None)
        if len(block.blocks) != 1 or block.blocks[0].name not in _COMPONENTS:
            found = ", ".join(one.name for one in block.blocks) or "none"
            known = ", ".join(_COMPONENTS)
            self._refuse(block.line, f"colvar {name}", f"one component of {known}, found {found}")
            return
        component = block.blocks[0]
        kind, groups, unit = _COMPONENTS[component.name]
        fields: dict[str, Any] = {"kind": kind}
        selections = [self._group(component, group) for group in groups]
        fields["select"] = selections[0] if len(selections) == 1 else selections
        if kind == "gyration":
            fields["weights"] = "equal"
        if kind == "coordination":
            self._contacts(component, fields)
        self._refuse_others(component, set(groups))
        self._variables[name] = _Variable(fields, width, unit)

    def _contacts(self, component: _Block, fields: dict[str, Any]) -> None:
        fields["contact"] = self._number(component, "cutoff", 4.0) * ANGSTROM
        numerator = self._number(component, "expnumer", 6.0)
        denominator = self._number(component, "expdenom", 12.0)
        if denominator != 2 * numerator:
            self._refuse(component.line, "expDenom", "only twice expNumer")
        fields["exponent"] = int(numerator)

    def _group(self, component: _Block, name: str) -> str:
        """The selection of a group of atoms."""
        found = [one for one in component.blocks if one.name == name]
        if len(found) != 1:
            raise self._error(component.line, f"{component.name} needs one {name}")
        group, parts = found[0], []
        for key in ("atomnumbers", "atomnumbersrange"):
            if key in group.values:
                text, line = group.values.pop(key)
                parts += [self._atoms(word, line) for word in text.replace(",", " ").split()]
        self._refuse_others(group, set())
        return "index " + " ".join(parts) if parts else "all"  # then something was refused

    def _atoms(self, word: str, line: int) -> str:
        try:
            ends = [whole(part) for part in word.split("-")]
        except ValueError:
            ends = []
        if len(ends) not in (1, 2) or min(ends) < 1 or ends[0] > ends[-1]:
            raise self._error(line, f"'{word}' is not the number of an atom, or a range of numbers")
        return "-".join(map(str, ends))

    def _add_harmonic(self, block: _Block) -> None:
        names = self._names(block)
        k = self._number(block, "forceconstant", 1.0)
        centres = self._numbers(block, "centers", len(names))
        targets, path = [], "targetcenters" in block.values
        if path:
            targets = self._numbers(block, "targetcenters", len(names))
            steps = self._number(block, "targetnumsteps", 0.0)
            timestep = self._control.settings["integrator"]["timestep"]
            if steps < 1 or self._control.settings["run"].get("first_step"):
                self._refuse(block.line, "targetCenters", "needs targetNumSteps, from step 0 on")
                return
            end = steps * timestep
        self._refuse_others(block, set())
        for index, name in enumerate(names):
            if name not in self._variables:  # refused
                continue
            at = self._shown(name, centres[index])
            if path:
                points = [[0.0, at], [end, self._shown(name, targets[index])]]
                self._restrain(name, k=k, path=points)
            else:
                self._restrain(name, k=k, lower=at, upper=at)

    def _add_walls(self, block: _Block) -> None:
        names = self._names(block)
        k = self._number(block, "forceconstant", 1.0)
        walls = {
            key: self._numbers(block, f"{key}walls", len(names))
            for key in ("lower", "upper")
            if f"{key}walls" in block.values
        }
        if not walls:
            raise self._error(block.line, "harmonicWalls needs lowerWalls or upperWalls")
        self._refuse_others(block, set())
        for index, name in enumerate(names):
            if name not in self._variables:  # refused
                continue
            bounds = {key: self._shown(name, values[index]) for key, values in walls.items()}
            is_angle = self._variables[name].unit == _DEGREE
            if is_angle and len(bounds) == 1:
                bounds.setdefault("lower", 0.0)
                bounds.setdefault("upper", 180.0)
                if self._variables[name].fields["kind"] == "torsion":
                    self._refuse(block.line, "harmonicWalls", "two walls for a dihedral")
            self._restrain(name, k=k, **{"lower": 0.0, "upper": _SPAN, **bounds})

    def _shown(self, name: str, value: float) -> float:
        """A value of a variable in the unit of a restraint: degrees stay degrees."""
        unit = self._variables[name].unit
        return value if unit == _DEGREE else value * unit

    def _restrain(
        self,
        name: str,
        k: float,
        lower: float | None = None,
        upper: float | None = None,
        path: Any = None,
    ) -> None:
        """Adds a restraint of a variable, with a name of its own."""
        variable = self._variables[name]
        number = self._biased[name] = self._biased.get(name, 0) + 1
        table: dict[str, Any] = {**variable.fields}
        table["name"] = name if number == 1 else f"{name}.{number}"
        table["k"] = k * KCAL / (variable.width * variable.unit) ** 2
        if path is not None:
            table["path"] = path
        elif variable.unit == _DEGREE:
            low, high = lower or 0.0, lower or 0.0
            high = high if upper is None else upper
            table |= {"angle": (low + high) / 2, "width": (high - low) / 2}
        else:
            table |= {"lower": lower, "upper": lower if upper is None else upper}
        self._control.add("restraint", **table)

    def _names(self, block: _Block) -> list[str]:
        """The variables of a bias, all of which are in the file."""
        text, line = block.values.pop("colvars", ("", block.line))
        block.values.pop("name", None)
        if not text:
            raise self._error(line, f"{block.name} needs colvars")
        names = text.split()
        for name in names:
            if name not in self._names_of_all:
                raise self._error(line, f"there is no colvar '{name}'")
        return names

    def _number(self, block: _Block, key: str, default: float) -> float:
        text, line = block.values.pop(key, (str(default), block.line))
        try:
            found = real(text)
        except ValueError:
            found = math.nan
        if not (math.isfinite(found) and found >= 0) or (key == "width" and found == 0):
            raise self._error(line, f"{key} must be a number that is not negative, not '{text}'")
        return found

    def _numbers(self, block: _Block, key: str, count: int) -> list[float]:
        text, line = block.values.pop(key, ("", block.line))
        try:
            found = [real(word) for word in text.replace(",", " ").split()]
        except ValueError:
            found = []
        if len(found) != count or not all(map(math.isfinite, found)):
            raise self._error(line, f"{key} must be one number for each of {count} colvars")
        return found

    def _refuse_others(self, block: _Block, known: set[str] | None) -> None:
        """Refuses keywords that are left, but for those without effect or set to off.

        Likewise blocks that are not known; None: these are not looked at.
        """
        for key, (text, line) in block.values.items():
            if key not in _NO_EFFECT and text.lower() not in _DISABLED:
                self._refuse(line, f"{key} {text}".strip(), "not supported")
        for other in block.blocks:
            if known is not None and other.name not in known:
                self._refuse(other.line, other.name, "not supported")

    def _refuse(self, line: int, what: str, why: str) -> None:
        self._control.refused.append(f"{self._file}, line {line}, {what}: {why}")

    def _error(self, line: int, what: str) -> InputError:
        return InputError(what, file=self._file, line=line)


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    """Words, braces and ends of lines, with their lines; without comments.

    A brace that closes a block ends what is before it, as the end of a line does.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        for word in re.findall(r"[{}]|[^\s{}]+", line.partition("#")[0]):
            if word == "}":
                yield "\n", number
            yield word, number
        yield "\n", number


def _is_number(word: str) -> bool:
    return re.fullmatch(r"[-+.,\d]+(?:[eE][-+]?\d+)?", word) is not None
