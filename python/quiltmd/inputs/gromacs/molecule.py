# SPDX-License-Identifier: Apache-2.0
"""One molecule type of a GROMACS topology, its terms with parameters, in the fields of a System.

GROMACS' units and energies are those here: nm, kJ/mol, k/2 x^2; angles are in degrees in the files.

Source: GROMACS Reference Manual, "Topology file", table of function types.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...description.restraints import Held
from ...description.sites import Site
from ...description.term_forms import TERM_FORMS
from .preprocess import Line
from .sections import TERM_SECTIONS, MoleculeType, TopologyFile, reals
from .virtual_sites import site_of, site_of_many, site_of_weights

# Parameters by function type: field of the System, number of parameters in the file.
_DIHEDRALS = {1: 3, 9: 3, 4: 3, 2: 2, 3: 6, 5: 4}
_WITHOUT_TERM = (5,)  # a connection without potential
_WATER = 2  # distances of a settle
_RESTRAINT = 10  # function type of bonds that are restraints
_FLAT_BOTTOM = 2  # function type of position restraints with a flat bottom; axes by their shape
_FLAT_BOTTOMS = {
    1: (1, 1, 1),
    2: (1, 1, 0),
    3: (1, 0, 0),
    4: (0, 1, 0),
    5: (0, 0, 1),
    6: (0, 1, 1),
    7: (1, 0, 1),
    8: (1, 1, 0),
}


class Molecule:
    """The terms of one molecule, atoms counted from 0, by the fields of `System`.

    Attributes
    ----------
    names, residues, types, charges, masses, elements:
        Of its atoms; residues are (number, name).
    terms:
        Field of the System -> rows of (atoms, parameters).
    sites:
        Virtual sites.
    exclusions:
        Excluded pairs.
    """

    def __init__(self, topology: TopologyFile, kind: MoleculeType, types: TypeTables) -> None:
        self._topology, self._kind, self._types = topology, kind, types
        self.names: list[str] = []
        self.residues: list[tuple[str, str]] = []
        self.types: list[str] = []
        self.charges: list[float] = []
        self.masses: list[float] = []
        for line in kind.atoms:
            self._atom(line)
        self.terms: dict[str, list[tuple[tuple[int, ...], tuple[float, ...]]]] = {
            name: [] for name in (*(form.name for form in TERM_FORMS), "constraints")
        }
        self.sites: list[Site] = []
        self._linked: set[tuple[int, int]] = set()
        for section, take in (
            ("bonds", self._bond),
            ("angles", self._angle),
            ("dihedrals", self._dihedral),
            ("pairs", self._pair),
            ("cmap", self._map),
            ("constraints", self._constraint),
            ("settles", self._settle),
            ("position_restraints", self._position_restraint),
            ("dihedral_restraints", self._dihedral_restraint),
        ):
            for line in kind.terms[section]:
                take(line)
        for section in ("virtual_sites1", "virtual_sites2", "virtual_sites3", "virtual_sites4"):
            for line in kind.terms[section]:
                parts = self._parts(line, TERM_SECTIONS[section])
                self._add_site(line, site_of(line, section, parts))
        for line in kind.terms["virtual_sitesn"]:
            self._add_site(line, self._site_of_many(line))
        self.exclusions = self._excluded()
        self._check_pairs()

    def _atom(self, line: Line) -> None:
        words = line.words
        if len(words) < 6 or words[0] != str(len(self.names) + 1):
            raise line.error(
                f"expected the line of atom {len(self.names) + 1} of {self._kind.name}"
            )
        if len(words) > 8:
            raise line.error(
                "a second state of an atom (free-energy perturbation) is not supported"
            )
        atom_type = self._topology.atom_types.get(words[1])
        if atom_type is None:
            raise line.error(f"there is no atom type {words[1]}: is its force field included?")
        self.names.append(words[4])
        self.residues.append((words[2], words[3]))
        self.types.append(words[1])
        given = reals(words[6:8], line)
        self.charges.append(given[0] if given else atom_type.charge)
        self.masses.append(given[1] if len(given) > 1 else atom_type.mass)

    def _bond(self, line: Line) -> None:
        atoms, function, given = self._parts(line, 2)
        if function == _RESTRAINT and len(given) == 4:
            values = (*given[:2], max(given[1], given[2]), given[3])
            self.terms["distance_restraints"].append((atoms, values))
            return
        if function not in (1, 5, 6):
            raise line.error(f"bonds of function type {function} are not supported")
        if function in (1, 5):
            self._link(*atoms)
        if function not in _WITHOUT_TERM:
            length, k = self._values(line, "bondtypes", atoms, function, given, 2)
            self.terms["bonds"].append((atoms, (length, k)))

    def _angle(self, line: Line) -> None:
        atoms, function, given = self._parts(line, 3)
        if function not in (1, 5):
            raise line.error(f"angles of function type {function} are not supported")
        count = 2 if function == 1 else 4
        theta, k, *outer = self._values(line, "angletypes", atoms, function, given, count)
        self.terms["angles"].append((atoms, (float(np.radians(theta)), k)))
        if outer and outer[1]:
            self.terms["urey_bradleys"].append(((atoms[0], atoms[2]), (outer[0], outer[1])))

    def _dihedral(self, line: Line) -> None:
        atoms, function, given = self._parts(line, 4)
        count = _DIHEDRALS.get(function)
        if count is None:
            raise line.error(f"dihedrals of function type {function} are not supported")
        if given:
            rows = [self._values(line, "dihedraltypes", atoms, function, given, count)]
        else:
            rows = self._types.dihedral(line, self._bonded(atoms), function, count)
        for row in rows:
            self._add_dihedral(line, atoms, function, row)

    def _add_dihedral(
        self, line: Line, atoms: tuple[int, ...], function: int, row: list[float]
    ) -> None:
        if function in (1, 9, 4):
            phase, k, periodicity = row
            if k != 0:
                values = (periodicity, float(np.radians(phase)), k)
                self.terms["torsions"].append((atoms, values))
        elif function == 2:
            self.terms["impropers"].append((atoms, (float(np.radians(row[0])), row[1])))
        else:
            powers = tuple(row) if function == 3 else _from_fourier(row)
            if any(powers):
                self.terms["ryckaert_bellemans"].append((atoms, powers))

    def _pair(self, line: Line) -> None:
        atoms, function, given = self._parts(line, 2)
        if function == 2 and len(given) == 5:
            scale, first, second, *lj = given
            product = scale * first * second
        elif function == 1:
            product = self._topology.fudge_qq * self.charges[atoms[0]] * self.charges[atoms[1]]
            lj = given or self._types.pair(line, *(self.types[atom] for atom in atoms))
        else:
            raise line.error(f"pairs of function type {function} are not supported")
        if len(lj) != 2:
            raise line.error(f"expected 2 parameters of a pair, found {len(lj)}")
        sigma, epsilon = self._types.sigma_epsilon(*lj)
        self.terms["pairs14"].append((atoms, (product, sigma, epsilon)))

    def _map(self, line: Line) -> None:
        atoms, function, given = self._parts(line, 5)
        if function != 1 or given:
            raise line.error("expected five atoms and function type 1")
        number = self._types.map_number(line, self._bonded(atoms))
        self.terms["cmaps"].append((atoms, (float(number),)))

    def _constraint(self, line: Line) -> None:
        atoms, function, given = self._parts(line, 2)
        if function not in (1, 2):
            raise line.error(f"constraints of function type {function} are not supported")
        if function == 1:
            self._link(*atoms)
        (length,) = self._values(line, "constrainttypes", atoms, function, given, 1)
        self.terms["constraints"].append((atoms, (length,)))

    def _settle(self, line: Line) -> None:
        (oxygen,), function, given = self._parts(line, 1)
        if function != 1 or len(given) != _WATER or oxygen + 2 >= len(self.names):
            raise line.error("expected an oxygen followed by two hydrogens, 1, and two distances")
        pairs = ((oxygen, oxygen + 1), (oxygen, oxygen + 2), (oxygen + 1, oxygen + 2))
        for pair, length in zip(pairs, (given[0], given[0], given[1]), strict=True):
            self._link(*pair)
            self.terms["constraints"].append((pair, (length,)))

    def _position_restraint(self, line: Line) -> None:
        atoms, function, given = self._parts(line, 1)
        if function == 1 and len(given) == 3:
            held = Held.by_axes(atoms, [given])
            row = (held.k[0], 0.0, *held.weights[0])
        elif function == _FLAT_BOTTOM and len(given) == 3:
            shape, radius, k = given
            if shape not in _FLAT_BOTTOMS or radius < 0:
                raise line.error(
                    f"a flat bottom of shape {shape:g} and radius {radius:g}: supported are shapes "
                    "from 1 to 8 and radii that are not negative"
                )
            row = (k, radius, *_FLAT_BOTTOMS[int(shape)])
        else:
            raise line.error("expected an atom, 1 and three force constants, or 2, shape, r and k")
        self.terms["position_restraints"].append((atoms, row))

    def _dihedral_restraint(self, line: Line) -> None:
        atoms, function, given = self._parts(line, 4)
        if function != 1 or len(given) != 3:
            raise line.error("expected four atoms, function type 1, phi, dphi and a force constant")
        phi, width, k = given
        row = (float(np.radians(phi)), float(np.radians(width)), k)
        self.terms["torsion_restraints"].append((atoms, row))

    def _add_site(self, line: Line, site: Site) -> None:
        if self.masses[site.atom] != 0:
            raise line.error(
                f"atom {site.atom + 1} of {self._kind.name} has a mass "
                f"({self.masses[site.atom]:g}), and so cannot be a virtual site"
            )
        self.sites.append(site)

    def _site_of_many(self, line: Line) -> Site:
        """The site, the function type, then its parents; of type 3 each with a weight."""
        site, function, *rest = line.words
        if function not in ("1", "2", "3") or (function == "3" and len(rest) % 2):
            raise line.error(
                "expected a virtual site, 1 or 2 and atoms, or 3 and atoms with weights"
            )
        parents = rest[::2] if function == "3" else rest
        atoms = self._atoms(line, [site, *parents])
        if function == "3":
            return site_of_weights(line, atoms[0], atoms[1:], rest[1::2])
        return site_of_many(line, atoms, int(function), self.masses)

    def _excluded(self) -> set[tuple[int, int]]:
        """Pairs up to nrexcl bonds apart, and those that are listed."""
        neighbours: list[set[int]] = [set() for _ in self.names]
        for i, j in self._linked:
            neighbours[i].add(j)
            neighbours[j].add(i)
        found = set()
        for atom in range(len(self.names)):
            seen = shell = {atom}
            for _ in range(self._kind.nrexcl):
                shell = set().union(*(neighbours[other] for other in shell)) - seen
                seen = seen | shell
            found |= {(atom, other) for other in seen if other > atom}
        for line in self._kind.exclusions:
            first, *others = self._atoms(line, line.words)
            found |= {(min(first, other), max(first, other)) for other in others if other != first}
        return found

    def _check_pairs(self) -> None:
        for line, (atoms, _) in zip(self._kind.terms["pairs"], self.terms["pairs14"], strict=True):
            if (min(atoms), max(atoms)) not in self.exclusions:
                raise line.error(
                    "a pair that is not excluded (nrexcl) from ordinary interactions: not supported"
                )

    def _link(self, i: int, j: int) -> None:
        self._linked.add((min(i, j), max(i, j)))

    def _parts(self, line: Line, arity: int) -> tuple[tuple[int, ...], int, list[float]]:
        """Atoms, function type and parameters of the line of a term."""
        words = line.words
        if len(words) <= arity or not words[arity].isdecimal():
            raise line.error(f"expected {arity} atoms and a function type")
        return (
            self._atoms(line, words[:arity]),
            int(words[arity]),
            reals(words[arity + 1 :], line),
        )

    def _atoms(self, line: Line, words: list[str]) -> tuple[int, ...]:
        for word in words:
            if not word.isdecimal() or not 1 <= int(word) <= len(self.names):
                raise line.error(f"'{word}' is not an atom of the molecule type {self._kind.name}")
        return tuple(int(word) - 1 for word in words)

    def _bonded(self, atoms: tuple[int, ...]) -> tuple[str, ...]:
        return tuple(self._topology.atom_types[self.types[atom]].bonded for atom in atoms)

    def _values(
        self,
        line: Line,
        section: str,
        atoms: tuple[int, ...],
        function: int,
        given: list[float],
        count: int,
    ) -> list[float]:
        """The parameters of a term, of its line or by the types of its atoms."""
        if not given:
            return self._types.find(line, section, self._bonded(atoms), function, count)
        if len(given) == 2 * count and given[:count] == given[count:]:
            given = given[:count]  # both states of a perturbation, which are the same
        if len(given) != count:
            raise line.error(f"expected {count} parameters, found {len(given)}")
        return given


class TypeTables:
    """Parameters by types of atoms."""

    def __init__(self, topology: TopologyFile) -> None:
        self._topology = topology
        self._tables: dict[str, dict[Any, Line]] = {}
        for section, arity in (("bondtypes", 2), ("angletypes", 3), ("constrainttypes", 2)):
            self._tables[section] = {
                (*line.words[:arity], line.words[arity]): line for line in topology.types[section]
            }
        self._tables["pairtypes"] = {
            tuple(line.words[:2]): line for line in topology.types["pairtypes"]
        }
        self._maps = {tuple(line.words[:5]): line for line in topology.types["cmaptypes"]}
        self._dihedrals = [_dihedral_type(line) for line in topology.types["dihedraltypes"]]
        self._found: dict[Any, list[list[float]]] = {}
        self._numbers: dict[tuple[str, ...], int] = {}
        self.maps: list[np.ndarray[Any, np.dtype[np.float64]]] = []

    def find(
        self, line: Line, section: str, types: tuple[str, ...], function: int, count: int
    ) -> list[float]:
        """Parameters of a bond, angle or constraint."""
        table = self._tables[section]
        for key in (types, types[::-1]):
            row = table.get((*key, str(function)))
            if row is not None:
                values = reals(row.words[len(types) + 1 :], row)
                if len(values) != count:
                    raise row.error(f"expected {count} parameters, found {len(values)}")
                return values
        raise _missing(line, section, types, function)

    def dihedral(
        self, line: Line, types: tuple[str, ...], function: int, count: int
    ) -> list[list[float]]:
        """Rows of parameters of a dihedral: the match with the fewest wild cards, the first one.

        Of function type 9 all lines in a row that have the same types.
        """
        key = (types, function)
        if key not in self._found:
            self._found[key] = self._search(line, types, function, count)
        return self._found[key]

    def _search(
        self, line: Line, types: tuple[str, ...], function: int, count: int
    ) -> list[list[float]]:
        best, at = 5, -1
        for number, (kinds, of, _) in enumerate(self._dihedrals):
            wild = kinds.count("X")
            if of == function and wild < best and _matches(kinds, types):
                best, at = wild, number
        if at < 0:
            raise _missing(line, "dihedraltypes", types, function)
        rows: list[list[float]] = []
        for kinds, of, row in self._dihedrals[at:]:
            if rows and (function != 9 or kinds != self._dihedrals[at][0] or of != function):
                break
            values = reals(row.words[_names_in(row) + 1 :], row)
            if len(values) != count:
                raise row.error(f"expected {count} parameters, found {len(values)}")
            rows.append(values)
        return rows

    def pair(self, line: Line, first: str, second: str) -> list[float]:
        """Lennard-Jones parameters of a 1-4 pair, of [ pairtypes ] or made of its atoms' own."""
        table = self._tables["pairtypes"]
        row = table.get((first, second), table.get((second, first)))
        if row is not None:
            return reals(row.words[3:], row)
        if not self._topology.generates_pairs:
            raise _missing(line, "pairtypes", (first, second), 1)
        one, two = self.combine(first, second)
        scale = self._topology.fudge_lj
        return [scale * one if self._topology.rule == 1 else one, scale * two]

    def combine(self, first: str, second: str) -> tuple[float, float]:
        """The two parameters of a pair of types by the combination rule."""
        one, two = self._topology.atom_types[first], self._topology.atom_types[second]
        product = float(np.sqrt(one.second * two.second))
        if self._topology.rule == 2:
            return (one.first + two.first) / 2, product
        return float(np.sqrt(one.first * two.first)), product

    def sigma_epsilon(self, first: float, second: float) -> tuple[float, float]:
        """Sigma and epsilon of two parameters, which are C6 and C12 with combination rule 1."""
        if self._topology.rule != 1:
            return first, second
        if first == 0 or second == 0:
            return 1.0, 0.0
        return float((second / first) ** (1 / 6)), first**2 / (4 * second)

    def a_b(self, first: float, second: float) -> tuple[float, float]:
        """Coefficients a and b of a/r^12 - b/r^6."""
        if self._topology.rule == 1:
            return second, first
        return 4 * second * first**12, 4 * second * first**6

    def map_number(self, line: Line, types: tuple[str, ...]) -> int:
        """The number of a torsion map, which is read when it is first asked for."""
        row = self._maps.get(types, self._maps.get(types[::-1]))
        if row is None:
            raise _missing(line, "cmaptypes", types, 1)
        key = tuple(row.words[:5])
        if key not in self._numbers:
            size, other, *energies = row.words[6:]
            count = int(size) if size.isdecimal() else 0
            if size != other or count < 4 or count % 2 or len(energies) != count**2:
                raise row.error("a torsion map needs an even number of energies, the same each way")
            table = np.array(reals(energies, row)).reshape(count, count)
            if self.maps and len(self.maps[0]) != count:
                raise row.error("torsion maps of different sizes are not supported")
            self._numbers[key] = len(self.maps)
            self.maps.append(np.roll(table, (count // 2, count // 2), axis=(0, 1)))
        return self._numbers[key]


def _from_fourier(row: list[float]) -> tuple[float, ...]:
    """Ryckaert-Bellemans coefficients of a Fourier dihedral (GROMACS' equation for OPLS)."""
    f1, f2, f3, f4 = row
    return (
        f2 + (f1 + f3) / 2,
        (3 * f3 - f1) / 2,
        4 * f4 - f2,
        -2 * f3,
        -4 * f4,
        0.0,
    )


def _names_in(line: Line) -> int:
    """Types at the beginning of a line of [ dihedraltypes ]: four, or two in older files."""
    return 2 if len(line.words) > 2 and line.words[2].isdecimal() else 4


def _dihedral_type(line: Line) -> tuple[tuple[str, ...], int, Line]:
    """Four types and the function type; where there are two, the middle or the outer ones."""
    names = _names_in(line)
    if len(line.words) <= names or not line.words[names].isdecimal():
        raise line.error("expected types of atoms and a function type")
    function = int(line.words[names])
    kinds = tuple(line.words[:names])
    if names == 2:
        first, second = kinds
        outer = function in (2, 4)
        kinds = (first, "X", "X", second) if outer else ("X", first, second, "X")
    return kinds, function, line


def _matches(kinds: tuple[str, ...], types: tuple[str, ...]) -> bool:
    return any(
        all(kind in ("X", name) for kind, name in zip(kinds, order, strict=True))
        for order in (types, types[::-1])
    )


def _missing(line: Line, section: str, types: tuple[str, ...], function: int) -> Exception:
    return line.error(
        f"no parameters in [ {section} ] for {'-'.join(types)}, function type {function}"
    )
