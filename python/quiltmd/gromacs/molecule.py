# SPDX-License-Identifier: Apache-2.0
"""One molecule type of a GROMACS topology, its terms with parameters, in the fields of a System.

GROMACS' units and energies are those here: nm, kJ/mol, k/2 x^2; angles are in degrees in the files.

Source: GROMACS Reference Manual, "Topology file", table of function types; what it leaves open is
as grompp 2022.5 does it.
"""

from __future__ import annotations

import numpy as np

from ..description.restraints import Held
from ..description.sites import Site, resolved
from ..description.term_forms import TERM_FORMS
from ..reading.words import natural_number
from .lennard_jones import LennardJones
from .parameters import ANGLES, BONDS, COUNTS, DihedralTypes, MapTypes, Types, parameters_of
from .preprocess import Line
from .sections import TERM_SECTIONS, AtomType, MoleculeType, TopologyFile, reals
from .virtual_sites import site_of, site_of_many, site_of_weights

_WATER = 2  # distances of a settle
_BENDING_TORSION = 11  # a dihedral with k and the coefficients of five powers of the cosine
_CHARGED_PAIR = 5  # parameters of a pair that has charges of its own
_RESTRAINT = 10  # function type of bonds
_WHOLE = 0.01  # how far a multiplicity may be from a whole number
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
_MASSES = (
    "masses of second states (B states) are not used: atoms keep those of the first, on which free "
    "energies do not depend"
)
_SHELLS = "SB"  # particles that GROMACS moves to the minimum of the energy in each step


class ForceField:
    """The parameters by types of atoms of a topology.

    Attributes
    ----------
    notes:
        Warnings.
    """

    def __init__(self, topology: TopologyFile) -> None:
        self.notes: list[str] = []
        self.bonded = {
            section: Types(topology, section, self.notes)
            for section in ("bondtypes", "angletypes", "constrainttypes")
        }
        self.dihedrals = DihedralTypes(topology, self.notes)
        self.maps = MapTypes(topology, self.notes)
        self.lennard_jones = LennardJones(topology, self.notes)


class Molecule:
    """The terms of one molecule, atoms counted from 0, by the fields of `System`.

    Attributes
    ----------
    kind:
        Name of the molecule type.
    names, residues, types, charges, masses, elements:
        Properties of its atoms; residues are (number, name).
    vanishing:
        Whether the second state of an atom has neither charge nor Lennard-Jones interactions.
    has_second_state:
        Whether charges, types or parameters of terms differ in the second state (B state).
    terms:
        Field of the System -> rows of (atoms, parameters).
    sites:
        Virtual sites, those that are averages of others as averages of atoms.
    exclusions:
        Excluded pairs.
    """

    def __init__(
        self, topology: TopologyFile, kind: MoleculeType, types: ForceField, end: int = 0
    ) -> None:
        self._topology, self._kind, self._types = topology, kind, types
        self._end = end  # 0: the first state, 1: the second
        self.has_second_state = False
        self.kind = kind.name
        self.names: list[str] = []
        self.residues: list[tuple[str, str]] = []
        self.types: list[str] = []
        self.charges: list[float] = []
        self.masses: list[float] = []
        self.vanishing: list[bool] = []
        for line in kind.atoms:
            self._atom(line)
        self.terms: dict[str, list[tuple[tuple[int, ...], tuple[float, ...]]]] = {
            name: [] for name in (*(form.plural for form in TERM_FORMS), "constraints")
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
                atoms, function, given = self._parts(line, TERM_SECTIONS[section])
                parts = atoms, function, reals(given, line)
                self._add_site(line, site_of(line, section, parts))
        for line in kind.terms["virtual_sitesn"]:
            self._add_site(line, self._site_of_many(line))
        self.sites = resolved(self.sites)
        self.exclusions = self._excluded()
        self._check_pairs()

    def _atom(self, line: Line) -> None:
        words = line.words
        if len(words) < 6 or words[0] != str(len(self.names) + 1):
            raise line.error(
                f"expected the line of atom {len(self.names) + 1} of {self._kind.name}"
            )
        if not words[5].lstrip("+-").isdecimal():
            raise line.error(f"'{words[5]}' is not the number of a charge group")
        atom_type = self._atom_type(words[1], line)
        given = reals(words[6:8], line)
        charge = given[0] if given else atom_type.charge
        mass = given[1] if len(given) > 1 else atom_type.mass
        first = words[1], charge
        name, second_charge, second_mass = (
            self._second_state(line) if len(words) > 8 else (*first, mass)
        )
        states = first, (name, second_charge)
        differs = states[0] != states[1]
        self.has_second_state |= differs
        if second_mass != mass and _MASSES not in self._types.notes:
            self._types.notes.append(_MASSES)
        if atom_type.particle in _SHELLS:
            raise line.error(f"atoms of the type {words[1]} are shells, which are not supported")
        if atom_type.particle in "VD" and mass != 0:
            raise line.error(f"a virtual site (type {words[1]}) has a mass, {mass:g}")
        self.names.append(words[4])
        self.residues.append((words[2], words[3]))
        self.types.append(states[self._end][0])
        self.charges.append(states[self._end][1])
        self.masses.append(mass)
        vanishes = differs and second_charge == 0 and self._types.lennard_jones.is_inert(name)
        self.vanishing.append(vanishes)

    def _second_state(self, line: Line) -> tuple[str, float, float]:
        """Type, charge and mass of the second state of an atom."""
        name, *numbers = line.words[8:11]
        if len(line.words) > 11:
            raise line.error("expected at most eleven values of an atom")
        of_type = self._atom_type(name, line)
        charge, mass = [*reals(numbers, line), *(of_type.charge, of_type.mass)[len(numbers) :]]
        return name, charge, mass

    def _atom_type(self, name: str, line: Line) -> AtomType:
        found = self._topology.atom_types.get(name)
        if found is None:
            raise line.error(f"there is no atom type {name}: is its force field included?")
        return found

    def _bond(self, line: Line) -> None:
        atoms, function, given = self._parts(line, 2)
        form = BONDS.get(function)
        may_change = form is not None and form.may_change
        values = self._values(line, "bondtypes", atoms, function, given, may_change)
        if function == _RESTRAINT and not (0 <= values[0] <= values[1] <= values[2]):
            raise line.error("a restraint (function type 10) needs 0 <= low <= up1 <= up2")
        if form is None or form.links_atoms:
            self._link(*atoms)
        if form is not None:
            without = (0.0,) * (form.columns - len(values))  # FENE bonds have no repulsion
            self.terms[form.plural].append((atoms, (*values, *without)))

    def _angle(self, line: Line) -> None:
        atoms, function, given = self._parts(line, 3)
        may_change = function in ANGLES and ANGLES[function].may_change
        theta, k, *outer = self._values(line, "angletypes", atoms, function, given, may_change)
        self.terms[ANGLES[function].plural].append((atoms, (float(np.radians(theta)), k)))
        if outer and (outer[1] or _is_doubled(given, 4)):
            self.terms["urey_bradleys"].append(((atoms[0], atoms[2]), (outer[0], outer[1])))

    def _dihedral(self, line: Line) -> None:
        atoms, function, given = self._parts(line, 4)
        count = _count(line, "dihedraltypes", function)
        if given:
            rows = [self._given(line, given, count, function != _BENDING_TORSION)]
        else:
            rows = self._types.dihedrals.find(line, self._bonded(line, atoms), function)
        for row in rows:
            if any(row):
                self._add_dihedral(line, atoms, function, row, _is_doubled(given, count))

    def _add_dihedral(
        self,
        line: Line,
        atoms: tuple[int, ...],
        function: int,
        row: list[float],
        in_both: bool,
    ) -> None:
        """`in_both`: also without a force constant, for the other state may have one."""
        if function in (1, 9, 4):
            field, values = _periodic(line, row, in_both)
        elif function == 2:
            field, values = "impropers", (float(np.radians(row[0])), row[1])
        elif function == _BENDING_TORSION:
            field, values = "bending_torsions", tuple(row[0] * a for a in row[1:])
        else:
            field = "ryckaert_bellemans"
            values = tuple(row) if function == 3 else _from_fourier(row)
        if any(values):
            self.terms[field].append((atoms, values))

    def _pair(self, line: Line) -> None:
        atoms, function, given = self._parts(line, 2)
        lennard_jones = self._types.lennard_jones
        first, second = atoms
        product = self._topology.fudge_qq * self.charges[first] * self.charges[second]
        if function == 2:
            if len(given) != _CHARGED_PAIR:
                raise line.error(
                    "pairs of function type 2 need fudgeQQ, two charges and two parameters"
                )
            scale, one, other, *lj = reals(given, line)
            product = scale * one * other
        elif function == 1 and given:
            lj = self._given(line, given, 2, may_change=True)
        elif function == 1:
            lj = list(lennard_jones.pair14(line, self.types[first], self.types[second]))
        else:
            raise line.error(f"pairs of function type {function} are not supported")
        sigma, epsilon = lennard_jones.sigma_epsilon(line, *lj)
        self.terms["pairs14"].append((atoms, (product, sigma, epsilon)))

    def _map(self, line: Line) -> None:
        atoms, function, given = self._parts(line, 5)
        if function != 1 or len(given) > 1:
            raise line.error("expected five atoms, function type 1 and at most a number of a map")
        if given:
            number = self._types.maps.number_given(line, *reals(given, line))
        else:
            residues = tuple(self.residues[atom][1] for atom in atoms)
            number = self._types.maps.number(line, self._bonded(line, atoms), residues)
        self.terms["cmaps"].append((atoms, (float(number),)))

    def _constraint(self, line: Line) -> None:
        atoms, function, given = self._parts(line, 2)
        (length,) = self._values(line, "constrainttypes", atoms, function, given)
        if function == 1:
            self._link(*atoms)
        self.terms["constraints"].append((atoms, (length,)))

    def _settle(self, line: Line) -> None:
        (oxygen,), function, given = self._parts(line, 1)
        if function != 1 or len(given) != _WATER or oxygen + 2 >= len(self.names):
            raise line.error("expected an oxygen followed by two hydrogens, 1, and two distances")
        to_hydrogen, between = reals(given, line)
        pairs = ((oxygen, oxygen + 1), (oxygen, oxygen + 2), (oxygen + 1, oxygen + 2))
        for pair, length in zip(pairs, (to_hydrogen, to_hydrogen, between), strict=True):
            self.terms["constraints"].append(
                (pair, (length,))
            )  # [ exclusions ] apart, as in grompp

    def _position_restraint(self, line: Line) -> None:
        atoms, function, given = self._parts(line, 1)
        if function == 1 and given:
            constants = parameters_of(line, given, 3)
            if min(constants) < 0:
                raise line.error("a position restraint needs force constants that are not negative")
            held = Held.by_axes(atoms, [constants])
            row = (held.k[0], 0.0, *held.weights[0])
        elif function == _FLAT_BOTTOM and len(given) == 3:
            shape, radius, k = reals(given, line)
            if shape not in _FLAT_BOTTOMS or min(radius, k) < 0:
                raise line.error(
                    f"a flat bottom of shape {shape:g}, radius {radius:g} and k {k:g}: supported "
                    "are shapes from 1 to 8, radii and k that are not negative"
                )
            row = (k, radius, *_FLAT_BOTTOMS[int(shape)])
        else:
            raise line.error("expected an atom, 1 and three force constants, or 2, shape, r and k")
        self.terms["position_restraints"].append((atoms, row))

    def _dihedral_restraint(self, line: Line) -> None:
        atoms, function, given = self._parts(line, 4)
        if function != 1 or not given:
            raise line.error("expected four atoms, function type 1, phi, dphi and a force constant")
        phi, width, k = parameters_of(line, given, 3)
        if min(width, k) < 0:
            raise line.error("a dihedral restraint needs dphi and k that are not negative")
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
                if not shell:
                    break
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

    def _parts(self, line: Line, arity: int) -> tuple[tuple[int, ...], int, list[str]]:
        """Atoms, function type (1 if none is given) and parameters of the line of a term."""
        words = line.words
        function = natural_number(words[arity]) if len(words) > arity else 1
        if len(words) < arity or function is None:
            raise line.error(f"expected {arity} atoms and a function type")
        atoms = self._atoms(line, words[:arity])
        if len(set(atoms)) < arity:
            raise line.error("an atom is named twice")
        return atoms, function, words[arity + 1 :]

    def _atoms(self, line: Line, words: list[str]) -> tuple[int, ...]:
        for word in words:
            if not 1 <= (natural_number(word) or 0) <= len(self.names):
                raise line.error(f"'{word}' is not an atom of the molecule type {self._kind.name}")
        return tuple(int(word) - 1 for word in words)

    def _bonded(self, line: Line, atoms: tuple[int, ...]) -> tuple[str, ...]:
        """The names that bonded parameters go by."""
        return tuple(self._topology.atom_types[self.types[atom]].bonded for atom in atoms)

    def _given(self, line: Line, words: list[str], count: int, may_change: bool) -> list[float]:
        """The parameters on a line in this state: of one state, which is both, or of two."""
        if not may_change or not _is_doubled(words, count):
            return parameters_of(line, words, count)
        values = reals(words, line)
        states = values[:count], values[count:]
        self.has_second_state |= states[0] != states[1]
        return states[self._end]

    def _values(
        self,
        line: Line,
        section: str,
        atoms: tuple[int, ...],
        function: int,
        given: list[str],
        may_change: bool = False,
    ) -> list[float]:
        """The parameters of a term, of its line or by the types of its atoms."""
        count = _count(line, section, function)
        if given or not count:
            return self._given(line, given, count, may_change)
        return self._types.bonded[section].find(line, self._bonded(line, atoms), function)


def _is_doubled(words: list[str], count: int) -> bool:
    """Whether a line has parameters of two states."""
    return count > 0 and len(words) == 2 * count


def _count(line: Line, section: str, function: int) -> int:
    """Number of parameters of a function type; InputError if it is not supported."""
    count = COUNTS[section].get(function)
    if count is None:
        kind = section.removesuffix("types") + "s"
        raise line.error(f"{kind} of function type {function} are not supported")
    return count


def _periodic(line: Line, row: list[float], in_both: bool) -> tuple[str, tuple[float, ...]]:
    """The field and parameters of k (1 + cos(n phi - phase)) of any whole n."""
    degrees, k, multiplicity = row
    n, phase = round(multiplicity), float(np.radians(degrees))
    if abs(multiplicity - n) > _WHOLE:
        raise line.error(f"the multiplicity {multiplicity:g} is not a whole number")
    if n == 0:  # a constant
        return "ryckaert_bellemans", (k * (1 + float(np.cos(phase))), 0.0, 0.0, 0.0, 0.0, 0.0)
    if k == 0 and not in_both:
        return "torsions", (0.0, 0.0, 0.0)
    return "torsions", (abs(n), phase if n > 0 else -phase, k)


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
