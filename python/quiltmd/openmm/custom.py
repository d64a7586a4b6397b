# SPDX-License-Identifier: Apache-2.0
"""Custom forces of OpenMM for bonded terms, restraints and fields, known by what they mean.

OpenMM has no harmonic improper and no restraints, and no 1-4 interactions beside Lennard-Jones by
tables; its readers of other programs' files, `quiltmd convert` and users make custom forces of
them.  Expressions that have none of the forms below are those of `custom_terms`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from ..description.expression_values import Array, Real, evaluate
from ..description.expressions import Expression
from ..description.term_forms import TERM_FORMS, TermForm
from ..description.terms import Terms
from ..errors import InputError, QuiltError
from .forms import Form, Match, angles, distances, match, places, powers, wrapped

EXTERNAL, BOND, TORSION = "CustomExternalForce", "CustomBondForce", "CustomTorsionForce"
ANGLE, COMPOUND = "CustomAngleForce", "CustomCompoundBondForce"
FORCES = (EXTERNAL, BOND, TORSION, ANGLE, COMPOUND)
# What they call a term, and the number of its atoms, if that is always the same.
_NOUNS = {
    EXTERNAL: ("Particle", 1),
    BOND: ("Bond", 2),
    TORSION: ("Torsion", 4),
    ANGLE: ("Angle", 3),
    COMPOUND: ("Bond", None),
}

_Fields = dict[str, npt.NDArray[Any]]
_F64 = npt.NDArray[np.float64]

COULOMB = 138.93545764438198  # kJ nm/mol/e^2, as in src/math/units.h
_NEVER = 1e6  # nm; a distance beyond all boxes


def _beyond(distance: Array, width: Array) -> Array:
    """The square of what a distance has beyond a width."""
    outside: Array = np.maximum(0, distance - width) ** 2
    return outside


def _flat_bottom(axes: Sequence[int]) -> Form:
    """A spring to a point, a line or a plane, from a radius on; parameters: place, radius."""

    def energy(*given: Array) -> list[Array]:
        coordinates, place, radius = given[:3], given[3:-1], given[-1]
        square = sum((coordinates[a] - p) ** 2 for a, p in zip(axes, place, strict=True))
        return [_beyond(np.sqrt(square), radius)]

    return Form(("x", "y", "z"), places(axes, True), energy, len(axes) + 1)


_PULL = Form(("x", "y", "z"), places(()), lambda x, y, z: (x, y, z))
_SPRINGS = Form(
    ("x", "y", "z"),
    places((0, 1, 2)),
    lambda x, y, z, a, b, c: ((x - a) ** 2, (y - b) ** 2, (z - c) ** 2),
    3,
)
_FLAT_BOTTOMS = {
    _flat_bottom(axes): axes for axes in ((0, 1, 2), (0, 1), (0, 2), (1, 2), (0,), (1,), (2,))
}
_PAIR = Form(("r",), powers, lambda r: (r**-12, r**-6, 1 / r))
LENGTH = Form(("r",), distances, lambda r, both: ((r - both) ** 2,), 1)
UPPER = Form(("r",), distances, lambda r, upper: (_beyond(r, upper),), 1)
LOWER = Form(("r",), distances, lambda r, lower: (_beyond(lower, r),), 1)
RANGE = Form(("r",), distances, lambda r, low, high: (_beyond(low, r) + _beyond(r, high),), 2)
HARMONIC = Form(("theta",), angles, lambda theta, zero: (wrapped(theta - zero) ** 2,), 1)
_COSINE = Form(("theta",), angles, lambda theta, n, phase: (1 + np.cos(n * theta - phase),), 2)
_MINUS_COSINE = Form(
    ("theta",), angles, lambda theta, n, phase: (1 - np.cos(n * theta - phase),), 2
)
WIDE = Form(
    ("theta",), angles, lambda theta, zero, w: (_beyond(np.abs(wrapped(theta - zero)), w),), 2
)
_JUMP = Form(("theta",), angles, lambda theta, zero: ((theta - zero) ** 2,), 1)

# OpenMM's own forces for bonded terms, and the forms of their terms.
OWN_FORCES = {
    "HarmonicBondForce": "bond",
    "HarmonicAngleForce": "angle",
    "PeriodicTorsionForce": "torsion",
    "RBTorsionForce": "ryckaert_bellemans",
}


def _as_stated(form: TermForm) -> Form:
    """The form that matches expressions with the energy of a form of bonds."""
    energy = Expression(form.energy).root
    inner = [k for k in range(form.columns) if k not in form.strengths]

    def functions(r: Array, *given: Array) -> list[Array]:
        """The energy for each strength by itself."""
        known = {form.parameters[k].symbol: one for k, one in zip(inner, given, strict=True)}
        strengths = [form.parameters[k].symbol for k in form.strengths]
        zero = {name: Real(0) for name in strengths}
        cases: list[dict[str, Any]] = [
            {**known, **zero, name: Real(1), "r": r} for name in strengths
        ]
        return [evaluate([energy], values)[0] for values in cases]

    return Form(("r",), distances, functions, len(inner))


# Bonds of forms that OpenMM has no force of its own for.
_BONDS_AS_STATED = {
    _as_stated(form): form
    for form in TERM_FORMS
    if form.links_atoms and form.name not in OWN_FORCES.values()
}


def torsion_fields(forces: list[Any]) -> _Fields:
    """The fields of impropers, torsions and torsion restraints of `System`.

    Raises
    ------
    InputError
        If a CustomTorsionForce is anything but harmonic, with a flat bottom or without, or a
        cosine.
    """
    impropers, torsions, restraints = _Terms(4, 2), _Terms(4, 3), _Terms(4, 3)
    for force in _of(forces, TORSION):
        atoms, found = _matched(force, _TORSIONS)
        if not len(atoms):
            continue
        k, first = found.coefficients[:, 0], found.parameters[:, 0]
        if found.form is _JUMP:
            jumps = int(np.argmax(first != 0))
            raise InputError(
                f"{TORSION}: the term of atoms {_numbered(atoms[jumps])} is not periodic: its "
                f"energy jumps at 180 degrees, as theta0 is not 0 ({first[jumps]:g})"
            )
        if found.form is HARMONIC:
            impropers.add(atoms, first, 2 * k)
        elif found.form is WIDE:
            restraints.add(atoms, first, found.parameters[:, 1], 2 * k)
        else:
            turn = np.pi if found.form is _MINUS_COSINE else 0.0
            torsions.add(atoms, first, found.parameters[:, 1] + turn, k)
    return {
        **impropers.fields("impropers", "improper_parameters"),
        **torsions.fields("torsions", "torsion_parameters"),
        **restraints.fields("torsion_restraints", "torsion_restraint_parameters"),
    }


_TORSIONS = (HARMONIC, _COSINE, _MINUS_COSINE, WIDE, _JUMP)


def constant_forces(forces: list[Any], atoms: int) -> _F64:
    """The sum of what CustomExternalForces that are linear in x, y and z do to each atom.

    Parameters
    ----------
    forces:
        Forces of the OpenMM System.
    atoms:
        Their number, N.

    Returns
    -------
    (N, 3) kJ/mol/nm.

    Raises
    ------
    InputError
        If a force is neither that nor a restraint, or names an atom that does not exist.
    """
    total = np.zeros((atoms, 3))
    for force in _of(forces, EXTERNAL):
        members, found = _matched(force, _EXTERNALS)
        if found.form is _PULL:
            _refuse_missing(EXTERNAL, members, atoms)
            np.subtract.at(total, members[:, 0], found.coefficients[: len(members)])
    return total


_EXTERNALS = (_PULL, _SPRINGS, *_FLAT_BOTTOMS)


def restraint_fields(forces: list[Any], molecules: npt.NDArray[np.int32]) -> _Fields:
    """The fields of position and distance restraints of `System`; places do not follow the box.

    Parameters
    ----------
    forces:
        Forces of the OpenMM System.
    molecules:
        (N,) the molecule of each atom.

    Raises
    ------
    InputError
        If a CustomExternalForce or CustomBondForce has none of the forms, or one between
        molecules in a periodic box does not use periodic boundaries.
    """
    held = _Terms(1, 11)
    for force in _of(forces, EXTERNAL):
        atoms, found = _matched(force, _EXTERNALS)
        if found.form is not _PULL:  # see constant_forces
            held.add(atoms, *_place_and_weights(found).T)
    springs = _Terms(2, 4)
    for force in _of(forces, BOND):
        atoms, found = _matched(force, _BONDS)
        if found.form is _PAIR or found.form in _BONDS_AS_STATED:  # see pair_terms, bond_terms
            continue
        _refuse_distant(force, forces, atoms, molecules)
        first, last = found.parameters[:, 0], found.parameters[:, -1]
        lower = np.zeros(len(first)) if found.form is UPPER else first
        upper = np.full(len(first), _NEVER) if found.form is LOWER else last
        never = np.full(len(first), _NEVER)
        springs.add(atoms, lower, upper, never, 2 * found.coefficients[:, 0])
    return {
        **held.fields("position_restraints", "position_restraint_parameters"),
        **springs.fields("distance_restraints", "distance_restraint_parameters"),
    }


_BONDS = (_PAIR, LENGTH, UPPER, LOWER, RANGE, *_BONDS_AS_STATED)
_FORMS: dict[str, Sequence[Form]] = {EXTERNAL: _EXTERNALS, BOND: _BONDS, TORSION: _TORSIONS}


def bond_terms(forces: list[Any], count: int) -> list[Terms]:
    """Bonds of CustomBondForces with the energy of a form that makes molecules.

    Parameters
    ----------
    forces:
        Forces of the OpenMM System.
    count:
        Number of its atoms.

    Raises
    ------
    InputError
        If a CustomBondForce has an expression that is not known, or names an atom that does not
        exist.
    """
    bonds = {form.name: Terms(form.name) for form in _BONDS_AS_STATED.values()}
    for force in _of(forces, BOND):
        atoms, found = _matched(force, _BONDS)
        form = _BONDS_AS_STATED.get(found.form)
        if form is None or not len(atoms):
            continue
        _refuse_missing(BOND, atoms, count)
        values = np.empty((len(atoms), form.columns))
        inner = [k for k in range(form.columns) if k not in form.strengths]
        values[:, inner], values[:, list(form.strengths)] = found.parameters, found.coefficients
        bonds[form.name] = bonds[form.name].joined(atoms, values)
    return list(bonds.values())


def pair_terms(
    forces: list[Any], molecules: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.int32], _F64]:
    """1-4 interactions of CustomBondForces: Lennard-Jones, Coulomb or both.

    Returns
    -------
    (n, 2) atoms; (n, 3) product of charges in e^2, and A and B of A/r^12 - B/r^6.

    Raises
    ------
    InputError
        As `restraint_fields`.
    """
    pairs = _Terms(2, 3)
    for force in _of(forces, BOND):
        atoms, found = _matched(force, _BONDS)
        if found.form is _PAIR:
            _refuse_distant(force, forces, atoms, molecules)
            a, minus_b, coulomb = found.coefficients.T
            pairs.add(atoms, coulomb / COULOMB, a, 0.0 - minus_b)
    return pairs.atoms, pairs.values


def _place_and_weights(found: Match) -> _F64:
    """(n, 11) parameters of position restraints."""
    count = len(found.coefficients)
    values = np.zeros((count, 11))
    if (found.coefficients < 0).any():
        raise InputError(f"{EXTERNAL}: the force constant of a restraint is negative")
    if found.form is _SPRINGS:
        constants = 2 * found.coefficients
        k = constants.max(axis=1)
        values[:, 3:6] = np.where(constants != 0, found.parameters, 0.0)
        values[:, 6] = k
        values[:, 8:] = np.where(k[:, None] != 0, constants / np.where(k != 0, k, 1)[:, None], 1.0)
        return values
    axes = np.array(_FLAT_BOTTOMS[found.form])
    values[:, 3 + axes] = found.parameters[:, :-1]
    values[:, 6], values[:, 7] = 2 * found.coefficients[:, 0], found.parameters[:, -1]
    values[:, 8 + axes] = 1.0
    return values


class _Terms:
    """Atoms and parameters of terms from several forces."""

    def __init__(self, arity: int, width: int) -> None:
        self.atoms = np.empty((0, arity), np.int32)
        self.values = np.empty((0, width))

    def add(self, atoms: npt.NDArray[np.int32], *columns: _F64) -> None:
        """Terms; columns may have a row more than there are atoms, where a force has no terms."""
        self.atoms = np.concatenate([self.atoms, atoms])
        self.values = np.concatenate([self.values, np.column_stack(columns)[: len(atoms)]])

    def fields(self, terms: str, parameters: str) -> _Fields:
        return {terms: self.atoms, parameters: self.values}


def is_known(force: Any) -> bool:
    """Whether a custom force has one of the forms of this module."""
    forms = _FORMS.get(type(force).__name__, ())
    found = _match_of(force, forms, read_terms(force)) if forms else None
    if found is None or found.form not in (_COSINE, _MINUS_COSINE):
        return found is not None
    periodicity = found.parameters[:, 0]
    return bool((periodicity >= 1).all() and (periodicity == np.round(periodicity)).all())


def read_terms(force: Any) -> tuple[list[str], npt.NDArray[np.int32], _F64]:
    """Names of the parameters of each term, atoms (n, arity) and parameters (n, names)."""
    noun, arity = _NOUNS[type(force).__name__]
    names = [
        getattr(force, f"getPer{noun}ParameterName")(k)
        for k in range(getattr(force, f"getNumPer{noun}Parameters")())
    ]
    rows = [
        getattr(force, f"get{noun}Parameters")(k) for k in range(getattr(force, f"getNum{noun}s")())
    ]
    if arity is None:
        arity = force.getNumParticlesPerBond()
        rows = [(*members, values) for members, values in rows]
    atoms = np.array([row[:arity] for row in rows], np.int32).reshape(-1, arity)
    values = np.array([row[arity] for row in rows], np.float64).reshape(len(rows), len(names))
    return names, atoms, values


def _matched(force: Any, forms: Sequence[Form]) -> tuple[npt.NDArray[np.int32], Match]:
    """Atoms (n, arity) of the terms of a force, and its form; InputError if it has none."""
    terms = read_terms(force)
    found = _match_of(force, forms, terms)
    if found is None:
        raise unknown(force)
    return terms[1], found


def _match_of(
    force: Any, forms: Sequence[Form], found: tuple[list[str], npt.NDArray[np.int32], _F64]
) -> Match | None:
    """The form of a force; that of one without terms is found for parameters made up."""
    names, _, values = found
    if not len(values):
        values = np.array([[0.4 + 0.1 * k for k in range(len(names))]])
    terms: dict[str, Any] = globals_of(force) | dict(zip(names, values.T, strict=True))
    if not names:
        terms["of each"] = np.zeros(len(values))  # of what has no parameters
    return match(force.getEnergyFunction(), terms, forms)


def globals_of(force: Any) -> dict[str, float]:
    """The default values of a force's global parameters."""
    return {
        force.getGlobalParameterName(k): force.getGlobalParameterDefaultValue(k)
        for k in range(force.getNumGlobalParameters())
    }


def _of(forces: list[Any], kind: str) -> list[Any]:
    return [force for force in forces if type(force).__name__ == kind]


def _refuse_missing(kind: str, members: npt.NDArray[np.int32], atoms: int) -> None:
    missing = ((members < 0) | (members >= atoms)).any(axis=1)
    if missing.any():
        term = int(np.argmax(missing))
        raise InputError(f"{kind}: term {term} names an atom that does not exist")


def _refuse_distant(
    force: Any,
    forces: list[Any],
    atoms: npt.NDArray[np.int32],
    molecules: npt.NDArray[np.int32],
) -> None:
    """Refuse bonds between molecules that OpenMM would not take between nearest images."""
    _refuse_missing(BOND, atoms, len(molecules))
    if force.usesPeriodicBoundaryConditions():
        return
    joins = molecules[atoms[:, 0]] != molecules[atoms[:, 1]]
    if joins.any() and any(one.usesPeriodicBoundaryConditions() for one in forces):
        raise InputError(
            f"{BOND}: the bond of atoms {_numbered(atoms[int(np.argmax(joins))])} joins different "
            "molecules; its atoms are taken as nearest images here, in OpenMM only with "
            "setUsesPeriodicBoundaryConditions(True)"
        )


def _numbered(atoms: npt.NDArray[np.int32]) -> str:
    return "-".join(str(atom + 1) for atom in atoms)


@contextmanager
def naming(force: Any) -> Iterator[None]:
    """Errors about what is made of a force begin with its class in OpenMM."""
    try:
        yield
    except QuiltError as error:
        kind = type(force).__name__
        raise InputError(str(error) if kind in str(error) else f"{kind}: {error}") from error


def unknown(force: Any, why: str = "") -> InputError:
    """The error about a force whose expression has no form that is known."""
    kind, name = type(force).__name__, force.getName()
    named = kind if name == kind else f"{kind} ({name})"
    return InputError(
        f"the OpenMM system has the force {named}, which is not supported: its expression "
        f"'{force.getEnergyFunction()}' is not one that is known{why}"
    )
