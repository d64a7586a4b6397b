# SPDX-License-Identifier: Apache-2.0
"""Custom forces of OpenMM between centres of groups, and on an RMSD, as collective restraints.

An expression is known by its values: a spring on one distance, angle or torsion between centres
(CustomCentroidBondForce), or on one RMSD (CustomCVForce with an RMSDForce).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..description.collective import AtomGroup, Collective, CollectiveRestraint
from ..description.expression_values import PI, Real
from ..errors import InputError
from .custom import HARMONIC, LENGTH, LOWER, RANGE, UPPER, WIDE, globals_of, unknown
from .forms import Form, Match, match

CENTROID, VARIABLES = "CustomCentroidBondForce", "CustomCVForce"
FORCES = (CENTROID, VARIABLES)
_FAR = 1e4  # nm; the other end of a spring that has one end

# An angle between two vectors is not periodic.
_BENT = Form(
    ("theta",),
    lambda density, *_: (np.linspace(0.02, 0.99, 31 * density, dtype=Real)[:, None] * PI,),
    lambda theta, zero: ((theta - zero) ** 2,),
    1,
)
_SPRINGS = (LENGTH, UPPER, LOWER, RANGE)
# Of each function: kind of restraint, variable of the forms, forms.
_KINDS: dict[str, tuple[str, str, Sequence[Form]]] = {
    "distance": ("distance", "r", _SPRINGS),
    "angle": ("angle", "theta", (_BENT,)),
    "dihedral": ("torsion", "theta", (HARMONIC, WIDE)),
}
_CALL = re.compile(r"\b(distance|angle|dihedral)\s*\(([^()]*)\)")


def collective_of(
    forces: list[Any], masses: npt.NDArray[np.float64], molecules: npt.NDArray[np.int32]
) -> Collective | None:
    """The collective restraints of a System.

    Parameters
    ----------
    forces:
        Forces of the OpenMM System.
    masses, molecules:
        (N,) amu, and the molecule of each atom.

    Raises
    ------
    InputError
        If one of these forces is something else, or a group in a periodic system has atoms of
        several molecules.
    """
    periodic = any(force.usesPeriodicBoundaryConditions() for force in forces)
    found: list[CollectiveRestraint] = []
    for force in forces:
        if type(force).__name__ == CENTROID:
            made = _centroids(force, masses)
            if made and periodic:
                _refuse_other_images(force, made, molecules)
            found += made
        elif type(force).__name__ == VARIABLES:
            found.append(_of_rmsd(force))
    named = [replace(one, name=f"{one.name}_{k + 1}") for k, one in enumerate(found)]
    return Collective(tuple(named)) if named else None


def _refuse_other_images(
    force: Any, made: list[CollectiveRestraint], molecules: npt.NDArray[np.int32]
) -> None:
    if not force.usesPeriodicBoundaryConditions():
        raise InputError(
            f"{CENTROID}: distances are those of nearest images here, in OpenMM only with "
            "setUsesPeriodicBoundaryConditions(True)"
        )
    for group in (group for one in made for group in one.groups):
        if len(np.unique(molecules[np.asarray(group.atoms)])) > 1:
            raise InputError(
                f"{CENTROID}: a group has atoms of several molecules, whose centre in a periodic "
                "box depends on the choice of images"
            )


def _centroids(force: Any, masses: npt.NDArray[np.float64]) -> list[CollectiveRestraint]:
    """The restraints of a CustomCentroidBondForce."""
    bonds = [force.getBondParameters(k) for k in range(force.getNumBonds())]
    if not bonds:
        return []
    spring = _spring_of(force)
    if spring is None:
        raise unknown(
            force,
            " as a spring on one distance, angle or dihedral between centres of groups (other "
            "energies are possible if each group has one atom)",
        )
    kind, members, found = spring
    every = [_group(force, k, masses) for k in range(force.getNumGroups())]
    own = [[every[groups[int(one[1:]) - 1]] for one in members] for groups, _ in bonds]
    return [_restraint(force, kind, groups, found, k) for k, groups in enumerate(own)]


def _spring_of(force: Any) -> tuple[str, tuple[str, ...], Match] | None:
    """The kind of restraint, names of the groups, and the form."""
    calls = {(kind, tuple(re.findall(r"\w+", names))) for kind, names in _calls(force)}
    if len(calls) != 1:
        return None
    ((function, members),) = calls
    kind, variable, forms = _KINDS[function]
    text = _CALL.sub(variable, force.getEnergyFunction())
    names = [force.getPerBondParameterName(k) for k in range(force.getNumPerBondParameters())]
    rows = [force.getBondParameters(k)[1] for k in range(force.getNumBonds())]
    values = np.array(rows, np.float64).reshape(len(rows), len(names))
    terms: dict[str, Any] = globals_of(force) | dict(zip(names, values.T, strict=True))
    found = match(text, terms | {"of each": np.zeros(len(rows))}, forms)
    return None if found is None else (kind, members, found)


def is_spring(force: Any) -> bool:
    """Whether a CustomCentroidBondForce is a spring on one distance, angle or torsion."""
    return _spring_of(force) is not None


def _calls(force: Any) -> list[tuple[str, str]]:
    return [(one[1], one[2]) for one in _CALL.finditer(force.getEnergyFunction())]


def _of_rmsd(force: Any) -> CollectiveRestraint:
    """The restraint of a CustomCVForce."""
    if force.getNumCollectiveVariables() != 1 or force.getNumTabulatedFunctions():
        raise unknown(force, " as a spring on one RMSD")
    inner = force.getCollectiveVariable(0)
    if type(inner).__name__ != "RMSDForce":
        raise InputError(f"{VARIABLES}: {type(inner).__name__} is not supported, only RMSDForce")
    name = force.getCollectiveVariableName(0)
    text = re.sub(rf"\b{re.escape(name)}\b", "r", force.getEnergyFunction())
    found = match(text, {**globals_of(force), "of each": np.zeros(1)}, _SPRINGS)
    if found is None:
        raise unknown(force, " as a spring on one RMSD")
    places = np.array([list(one) for one in inner.getReferencePositions()._value], np.float64)
    atoms = np.array(inner.getParticles() or range(len(places)), np.int32)
    group = AtomGroup(atoms, np.ones(len(atoms)), int(atoms[len(atoms) // 2]))
    return _restraint(force, "rmsd", [group], found, 0, reference=places[atoms])


def _group(force: Any, number: int, masses: npt.NDArray[np.float64]) -> AtomGroup:
    atoms, weights = force.getGroupParameters(number)
    members = np.array(atoms, np.int32)
    if members.size and not 0 <= members.min() <= members.max() < len(masses):
        raise InputError(f"{CENTROID}: group {number} names an atom that does not exist")
    return AtomGroup(members, weights or masses[members], int(members[len(members) // 2]))


def _restraint(
    force: Any, kind: str, groups: list[AtomGroup], found: Match, row: int, **others: Any
) -> CollectiveRestraint:
    first, last = found.parameters[row, 0], found.parameters[row, -1]
    low, high = first, last
    if found.form is UPPER:
        low = -_FAR
    elif found.form is LOWER:
        high = _FAR
    elif found.form is WIDE:
        low, high = first - last, first + last
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", force.getName())
    centre = [[0.0, (low + high) / 2]]
    k = 2 * float(found.coefficients[row, 0])
    if k < 0:
        raise InputError(f"{type(force).__name__}: the force constant of a restraint is negative")
    return CollectiveRestraint(name, kind, groups, k, centre, (high - low) / 2, **others)
