# SPDX-License-Identifier: Apache-2.0
"""The simulated system: atoms, force-field terms, constraints, exclusions.

A System is a frozen description in plain arrays, in the order of the input.
It knows no file format and runs nothing: readers make it, the core compiles
it into a run. Since it never changes, nothing needs to be kept in step with it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from . import small_systems
from .alchemy import Alchemy
from .checks import Checked, checked_array, refuse_missing, refuse_repeated
from .collective import Collective
from .custom_forces import CustomForces
from .embedded import EmbeddedAtoms
from .implicit_solvent import ImplicitSolvent, check_lengths
from .molecules import molecule_of_atom
from .nonbonded import Nonbonded
from .parameters import refuse_nonsense
from .parts import Part, refuse_other_parts
from .sites import MOST_PARENTS, check_sites, site_links
from .terms import VIEWS, Terms, TermTable, TermViews, table_of
from .three_body import ThreeBodyAtoms
from .topology import Topology
from .triangles import open_triangle

if TYPE_CHECKING:
    import openmm

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]

_I, _F = np.dtype(np.int32), np.dtype(np.float64)
_NONE: Any = ()
_NO_TERMS = TermTable()
# Field -> dtype and shape; "N" atoms, "T" Lennard-Jones types, None any number of terms.
_LAYOUT: dict[str, tuple[np.dtype[Any], tuple[str | int | None, ...]]] = {
    "masses": (_F, ("N",)),
    "charges": (_F, ("N",)),
    "lj_types": (_I, ("N",)),
    "lj_a": (_F, ("T", "T")),
    "lj_b": (_F, ("T", "T")),
    "exclusions": (_I, (None, 2)),
    "constraints": (_I, (None, 2)),
    "constraint_lengths": (_F, (None,)),
    "sites": (_I, (None, 1 + MOST_PARENTS)),
    "site_weights": (_F, (None, 3, MOST_PARENTS)),
    "site_offsets": (_F, (None, 4)),
    "born_radii": (_F, (None,)),
    "born_screening": (_F, (None,)),
}
_OF_ATOMS = ("masses", "charges", "lj_types", "born_radii", "born_screening")
_LENNARD_JONES = "lennard-jones"
_TUPLES = ("exclusions", "constraints")


@dataclass(frozen=True, eq=False, repr=False)
class System(TermViews, Checked):
    """A molecular system of N atoms with T Lennard-Jones types.

    Arrays are converted to the given types, checked, and made read-only.
    Units: nm, ps, amu, kJ/mol, e, rad. Atoms are counted from 0.

    Attributes
    ----------
    masses:
        (N,) amu, all positive but for virtual sites, which have none.
    charges:
        (N,) e.
    lj_types:
        (N,) int32, type of each atom.
    lj_a, lj_b:
        (T, T) symmetric; E = a/r^12 - b/r^6, in kJ/mol nm^12 and kJ/mol nm^6.
    terms:
        The bonded terms by form: a `TermTable`, or a mapping from names of forms to `Terms` or to
        (atoms, parameters), of which (n, atoms of a term) int32 and (n, parameters) are made.  The
        arrays of the following have names of their own, as attributes and as arguments:
        `system.bonds` is `system.terms["bond"].atoms`.
    bonds, bond_parameters:
        Length r0 and k in kJ/mol/nm^2; E = k/2 (r - r0)^2.
    angles, angle_parameters:
        theta0 and k in kJ/mol/rad^2; E = k/2 (theta - theta0)^2.
    torsions, torsion_parameters:
        Periodicity n, phase and k in kJ/mol; E = k (1 + cos(n phi - phase)); impropers among them.
    pairs14, pair14_parameters:
        Charge product in e^2, sigma, epsilon, with scaling factors included.
    urey_bradleys, urey_bradley_parameters:
        As bonds, between the outer atoms of angles.
    impropers, improper_parameters:
        phi0 and k in kJ/mol/rad^2; E = k/2 (phi - phi0)^2, of phi - phi0 the value between -pi and
        pi.
    ryckaert_bellemans, ryckaert_bellemans_parameters:
        c0 to c5 in kJ/mol; E = the sum of ci cos^i (phi - pi).
    position_restraints, position_restraint_parameters:
        11 values: a point in fractions of the box vectors, the vector in nm from there to the
        reference position, k in kJ/mol/nm^2, radius in nm, three weights; E = k/2 max(0, d -
        radius)^2, d^2 the sum of weight x^2 over the axes; see `restrain`.
    distance_restraints, distance_restraint_parameters:
        lower, upper, linear in nm and k in kJ/mol/nm^2; see `Restraint`.
    angle_restraints, angle_restraint_parameters, torsion_restraints, torsion_restraint_parameters:
        theta0, width and k in kJ/mol/rad^2; E = k/2 max(0, |theta - theta0| - width)^2.
    constant_forces, constant_force_parameters:
        9 values: a position as of `position_restraints`, and a force in kJ/mol/nm; E = -F (r -
        position), of the nearest image of the atom.
    opposite_forces, opposite_force_parameters:
        The force on the second atom in kJ/mol/nm, minus that is on the first; E = -F (r2 - r1); see
        `apply_electric_field`.
    cmaps, cmap_parameters, cmap_maps:
        Five atoms; number of the map; (maps, m, m) energies in kJ/mol at the torsions
        phi = 2 pi i/m of the first four atoms and psi = 2 pi j/m of the last four, a periodic
        bicubic spline in between (`terms["cmap"].shared`).
    exclusions:
        (n, 2) int32, i < j: every pair without ordinary nonbonded interaction,
        the pairs of `pairs14` among them.
    constraints, constraint_lengths:
        (n, 2) int32; (n,) nm. Bonds and angles that constraints fix have no terms.
    sites, site_weights, site_offsets:
        Virtual sites. (n, 8) int32: the massless atom, then its one to seven parents, then -1;
        (n, 3, 7) weights of the parents for the point O (sum 1) and the directions X and Y (sum 0);
        (n, 4) l_x, l_y, l_z in nm and c in 1/nm: the site is at
        O + l_x e_x + l_y e_y + l_z e_z + c X x Y, with e_x along X, e_z along X x Y and
        e_y = e_z x e_x. See `quiltmd.description.sites` for the usual kinds. None if not given.
    topology:
        Names of atoms and residues.
    born_radii, born_screening:
        (N,) nm and (N,): radii and screening factors for implicit solvent, as an Amber topology has
        them; none if not given.
    solvent:
        Implicit solvent; None: none.
    alchemy:
        Atoms whose interactions vanish with lambda (see `decouple`); None: none.
    collective:
        Restraints between groups of atoms (see `restrain`); None: none.
    embedded:
        Embedding of all atoms, in addition to their pair interactions (see `read_eam`); None: none.
    custom:
        Forces whose energies are expressions (see `add_forces`); None: none.
    three_body:
        A potential of pairs and triplets of neighbours, in addition to pair interactions (see
        `read_stillinger_weber`); None: none.
    pair_form, pair_tables:
        If pairs do not interact by Lennard-Jones: the name of the form, and for each of its
        parameters a symmetric (T, T) table; `lj_a` and `lj_b` are then empty.  Names, parameters,
        units and energies of the forms are in `quiltmd.description.pair_forms.PAIR_FORMS`, and in
        docs/theory/nonbonded.md.  "tabulated": the first and the last distance, and four or more
        energies at equal distances from there to there, in nm, kJ/mol.
    nonbonded:
        The nonbonded settings of the input, which a `Simulation` uses by default; None if the input
        has none, as Amber's files.

    Raises
    ------
    InputError
        If an array has the wrong shape, an atom does not exist, a value is
        not a finite number or has no physical meaning.
    """

    masses: F64
    charges: F64
    lj_types: I32
    lj_a: F64
    lj_b: F64
    exclusions: I32
    constraints: I32
    constraint_lengths: F64
    topology: Topology
    nonbonded: Nonbonded | None = None
    terms: TermTable = _NO_TERMS
    sites: I32 = _NONE
    site_weights: F64 = _NONE
    site_offsets: F64 = _NONE
    born_radii: F64 = _NONE
    born_screening: F64 = _NONE
    solvent: ImplicitSolvent | None = None
    alchemy: Alchemy | None = None
    collective: Collective | None = None
    embedded: EmbeddedAtoms | None = None
    custom: CustomForces | None = None
    three_body: ThreeBodyAtoms | None = None
    pair_form: str = "lennard-jones"
    pair_tables: Sequence[npt.ArrayLike] = ()

    def __post_init__(self) -> None:
        sizes = {"N": len(self.masses), "T": len(self.lj_a)}
        for name, (dtype, shape) in _LAYOUT.items():
            array = checked_array(name, getattr(self, name), dtype, shape, sizes)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "terms", table_of(self.terms, {}))
        object.__setattr__(self, "pair_tables", _frozen_tables(self))
        _check_terms(self)
        if len(self.topology.atom_names) != self.atoms:
            raise InputError(
                f"the topology names {len(self.topology.atom_names)} atoms, not {self.atoms}"
            )
        _check_atoms(self)
        refuse_nonsense(self)
        check_lengths(self)
        for part in self.parts.values():
            part.check(self)

    def __repr__(self) -> str:
        residues = len(self.topology.residue_names)
        bonds = sum(len(terms) for terms in self.terms.values() if terms.form.links_atoms)
        return (
            f"<System: {self.atoms} atoms in {residues} residues, {bonds} bonds, "
            f"{len(self.constraints)} constraints>"
        )

    @property
    def atoms(self) -> int:
        """Number of atoms, N."""
        return len(self.masses)

    @property
    def parts(self) -> dict[str, Part]:
        """The parts beyond atoms, terms and pairs that the system has, by the names of fields."""
        every = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in every.items() if isinstance(value, Part)}

    @property
    def molecules(self) -> I32:
        """(N,) int32: the molecule of each atom, numbered by their first atoms."""
        return molecule_of_atom(self.atoms, self.links)

    @property
    def links(self) -> I32:
        """(n, 2) int32: pairs of atoms that bonds, constraints or sites join into molecules."""
        custom = [] if self.custom is None else [self.custom.links]
        return np.concatenate(
            [*self.terms.links(), *custom, self.constraints, site_links(self.sites)]
        )

    @property
    def degrees_of_freedom(self) -> int:
        """3 for each atom with mass minus the constraints; the centre of mass included."""
        return 3 * (self.atoms - len(self.sites)) - len(self.constraints)

    @classmethod
    def of(
        cls,
        masses: npt.ArrayLike,
        charges: npt.ArrayLike = 0.0,
        lj_types: npt.ArrayLike | None = None,
        lj_a: npt.ArrayLike | None = None,
        lj_b: npt.ArrayLike | None = None,
        *,
        sigma: npt.ArrayLike | None = None,
        epsilon: npt.ArrayLike | None = None,
        **others: Any,
    ) -> System:
        """A small system: `System.of(np.full(125, 39.95), sigma=0.34, epsilon=0.996)`.

        Parameters
        ----------
        masses:
            (N,) amu.
        charges:
            (N,) or one for all, e.
        sigma, epsilon:
            (N,) or one for all, nm and kJ/mol: Lennard-Jones interactions by the Lorentz-Berthelot
            rules.  Without them, and without tables, there are none.
        lj_types, lj_a, lj_b:
            As the attributes of `System`, instead of `sigma` and `epsilon`; by default all atoms
            are of one type.
        others:
            Any other argument of `System`, such as `bonds`, `constraints`, `sites`.  By default
            there are no terms and no constraints; atoms are called A0, A1, ..., their elements
            follow from their masses; pairs joined by bonds, constraints, virtual sites or
            1-4 pairs are excluded, others are not (the ends of an angle, for instance).

        Raises
        ------
        InputError
            As for `System`, or if Lennard-Jones parameters are given in two ways.
        """
        pairs = {"sigma": sigma, "epsilon": epsilon}
        pairs |= {"lj_types": lj_types, "lj_a": lj_a, "lj_b": lj_b}
        return cls(**small_systems.system_fields(masses, charges, pairs, others))

    @classmethod
    def from_openmm(
        cls,
        openmm_system: openmm.System,
        topology: Any = None,
        nonbonded: Nonbonded | None = None,
        parameters: Mapping[str, float] | None = None,
    ) -> System:
        """System of an `openmm.System`, with the nonbonded settings of its NonbondedForce.

        Parameters
        ----------
        openmm_system:
            The forces of this System may be HarmonicBondForce, HarmonicAngleForce,
            PeriodicTorsionForce, RBTorsionForce, CMAPTorsionForce (several of
            each), one NonbondedForce with the method PME, Ewald or NoCutoff,
            GBSAOBCForce or the CustomGBForce of a model of `openmm.app`, custom forces
            of bonds, angles, torsions, single atoms, groups and pairs, and
            CMMotionRemover, in whose place the integrator has `remove_com_every`.
        topology:
            `openmm.app.Topology`, for names.
        nonbonded:
            Settings that replace method, cutoff, tail correction, tolerance and PME parameters of
            the NonbondedForce.
        parameters:
            Values of global parameters on which parameter offsets of the NonbondedForce depend; by
            default those of the force.  The values stay fixed: for several values, make several
            Systems.

        Raises
        ------
        InputError
            Names any force or feature that cannot be represented exactly.
        """
        from ..openmm.objects import system_fields  # of a folder above

        return cls(**system_fields(openmm_system, topology, nonbonded, parameters))

    def with_terms(self, *changed: Terms) -> System:
        """The system with these terms in place of those of the same forms."""
        return replace(self, terms=self.terms.replaced(*changed))

    def arrays(self) -> dict[str, Any]:
        """All arrays by name, for the core: C-contiguous copies."""
        found = {name: getattr(self, name) for name in _LAYOUT} | self.terms.arrays()
        arrays: dict[str, Any] = {name: np.array(array, order="C") for name, array in found.items()}
        arrays["molecules"] = self.molecules
        arrays |= {name: part.arrays(self) for name, part in self.parts.items()}
        if self.pair_form != _LENNARD_JONES:
            arrays["pair_form"] = self.pair_form
            arrays["pair_tables"] = np.stack([np.asarray(table) for table in self.pair_tables])
        return arrays

    def tile(self, nx: int, ny: int, nz: int) -> System:
        """The system repeated nx, ny, nz times; `State.tile` places the copies.

        Copies come one after the other, each in the order of the original.
        """
        copies = nx * ny * nz
        if min(nx, ny, nz) < 1:
            raise InputError(f"cannot tile {nx}x{ny}x{nz}: every count must be at least 1")
        if len(self.position_restraints):
            raise InputError(
                "a system with position restraints cannot be tiled: restrain the copies"
            )
        refuse_other_parts(self, "tiled", ImplicitSolvent, EmbeddedAtoms, ThreeBodyAtoms)
        changed: dict[str, Any] = {"topology": self.topology.tile(copies)}
        if self.nonbonded is not None:
            changed["nonbonded"] = self.nonbonded.tile(nx, ny, nz)
        for name, part in self.parts.items():
            if isinstance(part, EmbeddedAtoms | ThreeBodyAtoms):
                changed[name] = part.tiled(copies)
        changed["terms"] = TermTable(
            tuple(terms.tiled(copies, self.atoms) for terms in self.terms.values())
        )
        for name in ("constraint_lengths", *_OF_ATOMS, "site_weights", "site_offsets"):
            array = getattr(self, name)
            changed[name] = np.tile(array, (copies,) + (1,) * (array.ndim - 1))
        offset = np.arange(copies, dtype=np.int32)[:, None, None] * np.int32(self.atoms)
        for name in _TUPLES:
            array = getattr(self, name)
            changed[name] = (array[None] + offset).reshape(-1, array.shape[1])
        moved = np.where(self.sites >= 0, self.sites + offset, -1)
        changed["sites"] = moved.reshape(-1, self.sites.shape[1])
        return replace(self, **changed)


def _takes_views(kind: type[System]) -> None:
    """Makes the class take the arrays of `TermViews` as arguments, which it turns into `terms`."""
    init = kind.__init__

    @functools.wraps(init)
    def with_views(self: System, *values: Any, **named: Any) -> None:
        views = {name: named.pop(name) for name in VIEWS if name in named}
        if views:
            named["terms"] = table_of(named.get("terms", _NO_TERMS), views)
        init(self, *values, **named)

    kind.__init__ = with_views  # type: ignore[method-assign]


_takes_views(System)


def _types(system: System) -> int:
    """Number of types that pair parameters are given for."""
    tables = system.pair_tables
    return len(system.lj_a) if system.pair_form == _LENNARD_JONES else len(np.asarray(tables[0]))


def _frozen_tables(system: System) -> tuple[F64, ...]:
    """The tables of a pair form other than Lennard-Jones, checked."""
    tables = system.pair_tables
    if system.pair_form == _LENNARD_JONES:
        if len(tables) > 0:
            raise InputError(
                "Lennard-Jones parameters are lj_a and lj_b; pair_tables must be empty"
            )
        return ()
    if len(system.lj_a) > 0 or len(system.lj_b) > 0:
        raise InputError(f"with the pair form {system.pair_form!r}, lj_a and lj_b must be empty")
    if len(tables) == 0:
        raise InputError(f"the pair form {system.pair_form!r} needs pair_tables")
    sizes = {"T": len(np.asarray(tables[0]))}
    frozen = tuple(
        checked_array(f"pair_tables[{k}]", table, _F, ("T", "T"), sizes)
        for k, table in enumerate(tables)
    )
    for k, table in enumerate(frozen):
        if (table != table.T).any():
            raise InputError(f"system.pair_tables[{k}] is not symmetric")
    return frozen


def _check_terms(system: System) -> None:
    for terms in system.terms.present():
        refuse_missing(terms.form.plural, terms.atoms, system.atoms)
    for name in _TUPLES:
        refuse_missing(name, getattr(system, name), system.atoms)
        refuse_repeated(name, getattr(system, name))
    if len(system.constraints) != len(system.constraint_lengths):
        raise InputError("system.constraints and system.constraint_lengths differ in length")
    if (system.exclusions[:, 0] > system.exclusions[:, 1]).any():
        raise InputError("system.exclusions must have the lower atom first")


def _check_atoms(system: System) -> None:
    topology = system.topology
    if system.atoms == 0:
        raise InputError("the system has no atoms")
    check_sites(system)
    types = _types(system)
    if system.lj_types.min() < 0 or system.lj_types.max() >= types:
        atom = int(np.argmax((system.lj_types < 0) | (system.lj_types >= types)))
        raise InputError(f"{topology.describe(atom)} has a pair type without parameters")
    for name in ("lj_a", "lj_b"):
        table = getattr(system, name)
        if (table != table.T).any():
            raise InputError(f"system.{name} is not symmetric")
    if (system.constraint_lengths <= 0).any():
        row = int(np.argmax(system.constraint_lengths <= 0))
        first, second = (topology.describe(int(atom)) for atom in system.constraints[row])
        raise InputError(f"the constraint between {first} and {second} has no positive length")
    _check_triangles(system)


def _check_triangles(system: System) -> None:
    sides = open_triangle(system.constraints, system.constraint_lengths)
    if sides is not None:
        first, second = (system.topology.describe(int(i)) for i in system.constraints[sides[0]])
        longest, *others = (f"{system.constraint_lengths[side]:g}" for side in sides)
        raise InputError(
            f"the constraint between {first} and {second} is {longest} nm long, more than the "
            f"other two of its triangle ({' and '.join(others)} nm) together: correct the lengths"
        )


_ALWAYS = {*_LAYOUT, "terms", "topology", "pair_form", "pair_tables"}
assert {field.name for field in fields(System) if field.default is not None} == _ALWAYS
