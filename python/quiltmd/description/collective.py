# SPDX-License-Identifier: Apache-2.0
"""Collective restraints: springs on functions of groups of atoms, evaluated in the core.

`quiltmd.restrain` makes them of `Restraint` objects; docs/theory/collective.md has the equations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import BeforeValidator

from ..errors import InputError, QuiltError
from .checks import frozen, real_number
from .parts import Part

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]

GROUPS = {"distance": 2, "angle": 3, "torsion": 4, "gyration": 1, "rmsd": 1, "coordination": 2}
NAME = r"^[A-Za-z][A-Za-z0-9_.-]*$"  # of restraints
UNITS = {"angle": "degree", "torsion": "degree", "coordination": ""}  # of values; others: nm
MOST_CONTACTS = 10**8  # pairs of atoms of one restraint of coordination


def value_of_variable(name: str, value: Any) -> float:
    """A value of a variable that is not known yet: a number without a unit.

    Raises
    ------
    QuiltError
        If it is none.
    """
    try:
        return real_number(name, value)
    except QuiltError:
        raise QuiltError(f"{name} {_NO_UNIT}, not {value!r}") from None


def _refuse_unit(value: Any) -> Any:
    if isinstance(value, str) or hasattr(value, "units") or hasattr(value, "unit"):
        raise ValueError(_NO_UNIT)
    return value


_NO_UNIT = "must be a number without a unit: nm, degrees or contacts, as of its restraint"
VariableValue = Annotated[float, BeforeValidator(_refuse_unit)]


@dataclass(frozen=True, eq=False)
class AtomGroup:
    """A group of atoms with weights.

    Attributes
    ----------
    atoms:
        (n,) int32, each once.
    weights:
        (n,) not negative, of any scale: 1 for each, or masses.
    origin:
        The atom of the group from which the nearest periodic images of the others are taken.
    """

    atoms: npt.ArrayLike
    weights: npt.ArrayLike
    origin: int

    def __post_init__(self) -> None:
        atoms = np.asarray(self.atoms, dtype=np.int32).ravel()
        weights = np.asarray(self.weights, dtype=np.float64).ravel()
        if len(atoms) == 0:
            raise InputError("a group of a collective restraint has no atoms")
        if len(np.unique(atoms)) < len(atoms):
            raise InputError("a group of a collective restraint names an atom twice")
        if len(weights) != len(atoms):
            raise InputError(f"{len(atoms)} atoms of a group need as many weights")
        if not (np.isfinite(weights).all() and weights.min() >= 0 and weights.sum() > 0):
            raise InputError("weights of a group must not be negative, nor all zero")
        if self.origin not in atoms:
            raise InputError("the origin of a group must be one of its atoms")
        object.__setattr__(self, "atoms", frozen(atoms))
        object.__setattr__(self, "weights", frozen(weights / weights.sum()))

    def arrays(self) -> dict[str, Any]:
        """Arrays for the core."""
        return {
            "atoms": np.array(self.atoms),
            "weights": np.array(self.weights),
            "origin": int(self.origin),
        }


@dataclass(frozen=True, eq=False)
class CollectiveRestraint:
    """A spring on a function of groups of atoms: E = k/2 u^2.

    u is how far the value is beyond `width` from the centre; beyond u = `linear` the force stays
    the same.

    Attributes
    ----------
    name:
        Name of the columns, also used by `set_conditions`.
    kind:
        "distance", "angle", "torsion" (between centres of groups), "gyration" (radius of gyration),
        "rmsd" (from `reference`, after optimal superposition), "coordination" (number of contacts).
    groups:
        Two, three, four, one, one or two of them.
    k:
        kJ/mol by the square of nm, of rad or of a contact.
    path:
        (n, 2): times, ps, and centres, in nm, rad or contacts, linear in between and constant
        before and after.  One row: a centre at rest.
    width, linear:
        In the unit of the value.
    reference:
        (n, 3) nm, of the atoms of the group; for "rmsd".
    contact, exponent:
        For "coordination": a pair at distance r counts 1 / (1 + (r / contact)^exponent), contact in
        nm, the exponent even.
    """

    name: str
    kind: str
    groups: Sequence[AtomGroup]
    k: float
    path: npt.ArrayLike
    width: float = 0.0
    linear: float = np.inf
    reference: npt.ArrayLike = field(default_factory=lambda: np.empty((0, 3)))
    contact: float = 0.0
    exponent: int = 0

    def __post_init__(self) -> None:
        if self.kind not in GROUPS:
            raise InputError(f"there is no collective restraint of the kind {self.kind!r}")
        path = np.asarray(self.path, dtype=np.float64).reshape(-1, 2)
        if len(path) == 0 or not np.isfinite(path).all() or (np.diff(path[:, 0]) <= 0).any():
            raise InputError("the path of a centre needs finite points whose times ascend")
        if len(self.groups) != GROUPS[self.kind]:
            raise InputError(f"a {self.kind} needs {GROUPS[self.kind]} groups")
        reference = np.asarray(self.reference, dtype=np.float64).reshape(-1, 3)
        if self.kind == "rmsd":
            group = self.groups[0]
            if len(reference) != len(np.asarray(group.atoms)):
                raise InputError("an rmsd needs a reference position for each atom of its group")
            if len(reference) < 3:
                raise InputError("an rmsd needs a group of at least three atoms")
            reference = reference - np.asarray(group.weights) @ reference
        object.__setattr__(self, "groups", tuple(self.groups))
        object.__setattr__(self, "path", frozen(path))
        object.__setattr__(self, "reference", frozen(reference))

    @property
    def moves(self) -> bool:
        """Whether the centre follows a path."""
        return len(np.asarray(self.path)) > 1

    @property
    def shown(self) -> float:
        """Factor from values inside to those that users see: degrees of angles."""
        return 180 / np.pi if UNITS.get(self.kind) == "degree" else 1.0

    def inside(self, name: str, value: Any) -> float:
        """The value of the variable, inside units, that a user gives; QuiltError if it is none."""
        return real_number(name, value, UNITS.get(self.kind, "nm")) / self.shown

    def centre(self, time: float) -> float:
        """The centre at a time, ps, inside units."""
        times, centres = np.asarray(self.path).T
        return float(np.interp(time, times, centres))

    def pull(self, value: float, centre: float) -> tuple[float, float]:
        """Energy and its slope by the value, for a strength of 1."""
        deviation = value - centre
        if self.kind == "torsion":
            deviation -= 2 * np.pi * np.floor(deviation / (2 * np.pi) + 0.5)
        outside = np.sign(deviation) * max(0.0, abs(deviation) - self.width)
        stretch = float(np.clip(outside, -self.linear, self.linear))
        slope = self.k * stretch
        return slope * (outside - stretch / 2), slope

    def arrays(self) -> dict[str, Any]:
        """Arrays for the core."""
        return {
            "name": self.name,
            "kind": self.kind,
            "groups": [group.arrays() for group in self.groups],
            "reference": np.array(self.reference),
            "contact": float(self.contact),
            "exponent": int(self.exponent),
            "k": float(self.k),
            "width": float(self.width),
            "linear": min(float(self.linear), 1e300),
            "path": np.array(self.path),
        }


@dataclass(frozen=True, eq=False)
class Collective(Part):
    """The collective restraints of a system.

    Attributes
    ----------
    restraints:
        With different names.
    """

    called: ClassVar[str] = "collective restraints"

    restraints: tuple[CollectiveRestraint, ...]

    def __post_init__(self) -> None:
        names = [one.name for one in self.restraints]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"two restraints have the name {twice!r}: names must differ")

    def named(self, name: str) -> CollectiveRestraint:
        """The restraint of this name."""
        for one in self.restraints:
            if one.name == name:
                return one
        known = ", ".join(one.name for one in self.restraints)
        raise InputError(f"there is no collective restraint {name!r}, only {known}")

    def at(self, name: str, centre: float) -> Collective:
        """With another centre of a restraint, in nm, degrees or contacts."""
        moved = self.named(name)
        path = [[0.0, moved.inside("centre", centre)]]
        others = (replace(one, path=path) if one is moved else one for one in self.restraints)
        return Collective(tuple(others))

    def check(self, system: Any) -> None:
        """Raises InputError if the system does not have the atoms."""
        for one in self.restraints:
            for group in one.groups:
                atoms = np.asarray(group.atoms)
                if atoms.min() < 0 or atoms.max() >= system.atoms:
                    raise InputError(f"restraint {one.name!r} names an atom that does not exist")

    def arrays(self, system: Any) -> dict[str, Any]:
        """Arrays for the core."""
        return {"restraints": [one.arrays() for one in self.restraints]}


_CENTRE = "centre of "  # before the name of a condition; kRestraintCentre of the core


def changed_centres(system: Any, centres: Mapping[str, float]) -> dict[str, float]:
    """Conditions of the core that are these centres of restraints, by their names.

    Raises
    ------
    InputError
        If there is no such restraint, its centre follows a path, or the value is no number.
    """
    found = {}
    for name, value in centres.items():
        if system.collective is None:
            raise InputError("centres: the system has no collective restraints")
        one = system.collective.named(name)
        if one.moves:
            raise InputError(
                f"centres: the reference value of {name!r} follows a path and cannot be set"
            )
        found[_CENTRE + name] = one.inside(f"centres[{name!r}]", value)
    return found


@dataclass(frozen=True)
class CollectiveReading:
    """A collective restraint at some step.

    Attributes
    ----------
    value, centre:
        The collective variable, and the reference value of the restraint, nm, degrees or contacts.
    energy:
        kJ/mol.
    slope:
        The derivative of the energy by the value, which is minus that by the centre.
    """

    value: float
    centre: float
    energy: float
    slope: float


def read_collective(
    one: CollectiveRestraint, value: float, time: float, conditions: Mapping[str, float]
) -> CollectiveReading:
    """The reading of a value (inside units) at a time, ps, where these conditions have changed."""
    centre = conditions.get(_CENTRE + one.name, one.centre(time))
    strength = conditions.get("restraints", 1.0)
    energy, slope = one.pull(value, centre)
    return CollectiveReading(
        value * one.shown, centre * one.shown, strength * energy, strength * slope / one.shown
    )
