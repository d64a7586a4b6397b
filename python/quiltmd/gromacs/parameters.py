# SPDX-License-Identifier: Apache-2.0
"""Parameters of bonded terms by types of atoms.

Which of several lines holds follows grompp: of lines for the same types, in either order, the last
one, except for dihedrals of function type 9, whose lines in a row add up.

Source: GROMACS Reference Manual, "Topology file"; what it leaves open is as grompp 2022.5 does it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..description.term_forms import form_named
from ..reading.words import natural_number
from .preprocess import Line
from .sections import TYPE_SECTIONS, TopologyFile, reals

# The forms of bonds by function type, whose parameters are in the order of GROMACS; None: no term.
BONDS = {
    1: form_named("bond"),
    2: form_named("quartic_bond"),
    3: form_named("morse"),
    5: None,
    6: form_named("urey_bradley"),  # a harmonic potential that excludes nothing, never constrained
    7: form_named("fene"),
    10: form_named("distance_restraint"),
}
# The forms of angles by function type, of which the first parameter is in degrees; function type 5
# has a Urey-Bradley term as well.
ANGLES = {
    1: form_named("angle"),
    2: form_named("cosine_angle"),
    5: form_named("angle"),
    10: form_named("restricted_angle"),
}
# Number of parameters of a term, by the section of its types and function type.
COUNTS = {
    "bondtypes": {function: form.columns if form else 0 for function, form in BONDS.items()}
    | {7: 2},  # FENE bonds without repulsion
    "angletypes": {1: 2, 2: 2, 5: 4, 10: 2},
    "dihedraltypes": {1: 3, 2: 2, 3: 6, 4: 3, 5: 4, 9: 3, 11: 6},
    "constrainttypes": {1: 1, 2: 1},
    "pairtypes": {1: 2, 2: 2},
}
# Function types that GROMACS has; terms of those without an entry in `COUNTS` are refused.
FUNCTIONS = {
    "bondtypes": range(1, 11),
    "angletypes": (1, 2, 3, 4, 5, 6, 8, 9, 10),
    "dihedraltypes": (1, 2, 3, 4, 5, 8, 9, 10, 11),
    "constrainttypes": (1, 2),
    "pairtypes": (1, 2),
}
_MULTIPLE = 9  # the function type of dihedrals whose lines add up
# Function types that share the parameters of another.
_SHARED = {("dihedraltypes", _MULTIPLE): 1, ("pairtypes", 2): 1}
_NO_WILD_CARDS = 5  # a dihedral whose types must all be named
_OUTER = 2  # a dihedral of which two types are those of the outer atoms

_Names = tuple[str, ...]


def parameters_of(line: Line, words: list[str], count: int) -> list[float]:
    """Parameters of a term or type: `count` numbers, or twice as many if both states are alike."""
    values = reals(words, line)
    if count and len(values) == 2 * count:
        if values[:count] != values[count:]:
            raise line.error(
                "a second state (free-energy perturbation) that differs is not supported"
            )
        return values[:count]
    if len(values) != count:
        raise line.error(f"expected {count} parameters, found {len(values)}")
    return values


def either_way(types: _Names) -> _Names:
    """Types in the order that stands for both."""
    return min(types, types[::-1])


class Types:
    """Parameters of a section whose lines name all types: bonds, angles, constraints, pairs.

    Parameters
    ----------
    topology:
        The file that they are read from.
    section:
        One of `COUNTS`.
    notes:
        Warnings are appended here.
    """

    def __init__(self, topology: TopologyFile, section: str, notes: list[str]) -> None:
        self._section = section
        self._rows: dict[tuple[int, _Names], list[float]] = {}
        for line in topology.types[section]:
            types, function = _types_and_function(line, section, TYPE_SECTIONS[section])
            topology.check_types(section, types, line)
            if function not in COUNTS[section]:
                continue
            words = line.words[len(types) + 1 :]
            values = parameters_of(line, words, COUNTS[section][function])
            key = (_SHARED.get((section, function), function), either_way(types))
            if self._rows.get(key, values) != values:
                notes.append(replaced(line, section, types))
            self._rows[key] = values

    def get(self, types: _Names, function: int = 1) -> list[float] | None:
        """The parameters of a term, or None."""
        return self._rows.get((function, either_way(types)))

    def find(self, line: Line, types: _Names, function: int) -> list[float]:
        """The parameters of a term; InputError if there are none."""
        values = self.get(types, function)
        if values is None:
            raise missing(line, self._section, types, function)
        return values


@dataclass
class _Dihedral:
    """A line of [ dihedraltypes ]."""

    types: _Names
    values: list[float]


class DihedralTypes:
    """Parameters of dihedrals, whose types may be left open (X); `notes` as for `Types`."""

    def __init__(self, topology: TopologyFile, notes: list[str]) -> None:
        self._notes = notes
        self._lists: dict[int, list[_Dihedral]] = {}
        self._same: dict[tuple[int, _Names], list[_Dihedral]] = {}
        self._found: dict[tuple[_Names, int], list[list[float]]] = {}
        for line in topology.types["dihedraltypes"]:
            self._add(topology, line)

    def _add(self, topology: TopologyFile, line: Line) -> None:
        names = 2 if len(line.words) > 2 and line.words[2].isdecimal() else 4
        types, function = _types_and_function(line, "dihedraltypes", names)
        if names == 2:
            first, second = types
            outer = function == _OUTER
            types = (first, "X", "X", second) if outer else ("X", first, second, "X")
        topology.check_types("dihedraltypes", tuple(t for t in types if t != "X"), line)
        count = COUNTS["dihedraltypes"].get(function)
        if count is None:
            return
        values = parameters_of(line, line.words[names + 1 :], count)
        shared = _SHARED.get(("dihedraltypes", function), function)
        rows = self._lists.setdefault(shared, [])
        same = self._same.setdefault((shared, either_way(types)), [])
        if function == _MULTIPLE:
            new = self._adds_up(line, types, values, rows, same)
        else:
            new = not same
            if any(row.values != values for row in same):
                self._notes.append(replaced(line, "dihedraltypes", types))
            for row in same:
                row.values = values
        if new:
            rows.append(_Dihedral(types, values))
            same.append(rows[-1])

    def _adds_up(
        self,
        line: Line,
        types: _Names,
        values: list[float],
        rows: list[_Dihedral],
        same: list[_Dihedral],
    ) -> bool:
        """Whether a line of function type 9 is another term; InputError if that is unclear."""
        in_a_row = bool(rows) and rows[-1].types == types
        if not in_a_row and any(row.values != values for row in same):
            raise line.error(
                f"{'-'.join(types)} have other parameters of function type 9 in another place: "
                "terms that add up must be on lines in a row"
            )
        repeated = any(row.values == values for row in same)
        if repeated and in_a_row:
            self._notes.append(
                line.note(
                    f"the same parameters of {'-'.join(types)} once more: left out, as by GROMACS "
                    "before 2025.2; later versions count them twice"
                )
            )
        return not repeated

    def find(self, line: Line, types: _Names, function: int) -> list[list[float]]:
        """Rows of parameters of a dihedral: the match with the fewest wild cards, the first one.

        Of proper dihedrals all lines in a row that have the same types.
        """
        key = (types, _SHARED.get(("dihedraltypes", function), function))
        if key not in self._found:
            self._found[key] = self._search(line, types, function)
        return self._found[key]

    def _search(self, line: Line, types: _Names, function: int) -> list[list[float]]:
        rows = self._lists.get(_SHARED.get(("dihedraltypes", function), function), [])
        best, at = 1 if function == _NO_WILD_CARDS else 5, -1
        for number, row in enumerate(rows):
            wild = row.types.count("X")
            if wild < best and _matches(row.types, types):
                best, at = wild, number
        if at < 0:
            raise missing(line, "dihedraltypes", types, function)
        end = at + 1
        while end < len(rows) and rows[end].types == rows[at].types:
            end += 1
        return [row.values for row in rows[at:end]]


class MapTypes:
    """Torsion maps by types of atoms, or by types and residues ("CT-ALA", "N-*").

    Attributes
    ----------
    maps:
        Maps that terms use, each read when it is first needed; energies from -180 degrees on
        come first in the file, from 0 on here.

    Of two maps for the same types the first holds.
    """

    def __init__(self, topology: TopologyFile, notes: list[str]) -> None:
        self.maps: list[npt.NDArray[np.float64]] = []
        self._numbers: dict[int, int] = {}
        self._rows: list[tuple[Line, _Names]] = []
        self._of_types: dict[_Names, list[int]] = {}
        for line in topology.types["cmaptypes"]:
            words = line.words[:5]
            if not all(word in topology.bonded_types for word in words):
                words = [word.partition("-")[0] for word in words]
            topology.check_types("cmaptypes", tuple(words), line)
            residues = tuple(
                full[len(name) + 1 :] for full, name in zip(line.words, words, strict=False)
            )
            same = self._of_types.setdefault(tuple(words), [])
            if any(self._rows[row][1] == residues for row in same):
                notes.append(line.note(f"a second torsion map of {'-'.join(words)} is not used"))
            same.append(len(self._rows))
            self._rows.append((line, residues))

    def number(self, line: Line, types: _Names, residues: _Names) -> int:
        """The number in `maps` of the map of five atoms: of all that match, the first."""
        for row in self._of_types.get(types, []):
            wanted = self._rows[row][1]
            if all(w in ("", "*", name) for w, name in zip(wanted, residues, strict=True)):
                return self._read(row)
        raise missing(line, "cmaptypes", types, 1)

    def number_given(self, line: Line, number: float) -> int:
        """The number in `maps` of a map that is given by its place in the file, from 1."""
        if not number.is_integer() or not 1 <= number <= len(self._rows):
            raise line.error(f"there is no torsion map {number:g} of {len(self._rows)}")
        return self._read(int(number) - 1)

    def _read(self, number: int) -> int:
        if number not in self._numbers:
            row = self._rows[number][0]
            function, size, other, *energies = row.words[5:]
            count = natural_number(size) or 0
            if size != other or count < 4 or count % 2 or len(energies) != count**2:
                raise row.error("a torsion map needs an even number of energies, the same each way")
            if function != "1":
                raise row.error("torsion maps have function type 1")
            table = np.array(reals(energies, row)).reshape(count, count)
            if self.maps and len(self.maps[0]) != count:
                raise row.error("torsion maps of different sizes are not supported")
            self._numbers[number] = len(self.maps)
            self.maps.append(np.roll(table, (count // 2, count // 2), axis=(0, 1)))
        return self._numbers[number]


def replaced(line: Line, section: str, types: _Names) -> str:
    """The warning that a line holds instead of an earlier one."""
    return line.note(f"[ {section} ]: replaces the earlier parameters of {'-'.join(types)}")


def missing(line: Line, section: str, types: _Names, function: int) -> Exception:
    """The error that a term has no parameters."""
    return line.error(
        f"no parameters in [ {section} ] for {'-'.join(types)}, function type {function}"
    )


def _types_and_function(line: Line, section: str, names: int) -> tuple[_Names, int]:
    """The types that a line begins with, and the function type that follows."""
    function = natural_number(line.words[names]) if len(line.words) > names else None
    if function is None:
        raise line.error("expected types of atoms and a function type")
    if function not in FUNCTIONS[section]:
        raise line.error(f"[ {section} ] of function type {function} are not known")
    return tuple(line.words[:names]), function


def _matches(kinds: _Names, types: _Names) -> bool:
    return any(
        all(kind in ("X", name) for kind, name in zip(kinds, order, strict=True))
        for order in (types, types[::-1])
    )
