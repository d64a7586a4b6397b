# SPDX-License-Identifier: Apache-2.0
"""Restraints: springs that hold atoms to places, or distances, angles and torsions to values.

Between single atoms they are bonded terms, between groups of atoms collective restraints.

`Restraint` is what a user writes, by selections of atoms; `restrain` makes terms of a System of it.
Places are those of reference coordinates.  What becomes of them in a box that changes is one choice
for all: `Scaling`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from pydantic import ConfigDict, Field, ValidationInfo, field_validator
from pydantic.dataclasses import dataclass as checked_dataclass

from ..errors import QuiltError
from .box import check_box
from .checks import any_case, numbers, user_settings
from .collective import GROUPS, NAME, UNITS, Collective
from .collective_groups import collective_restraint
from .selection import select
from .system import System
from .units import Degrees, Nanometres, Picoseconds, Unit

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]

# Reference positions in a changing box: their centre of mass is scaled, so that they keep their
# distances ("com"); each position is scaled ("all"); none ("none").
Scaling = Literal["com", "all", "none"]

NEVER_LINEAR = 1e6  # nm; a distance beyond all boxes
_SELECTIONS = {"position": 1, **GROUPS}
_BETWEEN = ("lower", "upper", "linear")
_COLLECTIVE = ("name", "path", "weights", "origin")  # keys that make a restraint collective
# The keys that only restraints of some kinds have.
_OWN = {
    "position": ("radius",),
    "distance": (*_BETWEEN, *_COLLECTIVE),
    "angle": ("angle", "width", *_COLLECTIVE),
    "torsion": ("angle", "width", *_COLLECTIVE),
    "gyration": (*_BETWEEN, *_COLLECTIVE),
    "rmsd": (*_BETWEEN, *_COLLECTIVE),
    "coordination": ("lower", "upper", "contact", "exponent", "name", "path"),
}


def _unit_of(info: ValidationInfo) -> str:
    """The unit of the values of a restraint that is being checked."""
    return UNITS.get(str(info.data.get("kind")), "nm")


@user_settings
@checked_dataclass(frozen=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class Restraint:
    """A restraint, or one of the same kind for each atom of a selection.

    Attributes
    ----------
    kind:
        "position": E = k/2 max(0, d - radius)^2, d the distance of each atom of the selection from
        its reference position; with three values of k, E = sum of k/2 x^2 over the axes.
        "distance": E = k/2 (r - lower)^2 below `lower`, k/2 (r - upper)^2 above `upper`, and linear
        from `linear` on.  "angle", "torsion": E = k/2 max(0, |theta - angle| - width)^2.
        "gyration", "rmsd", "coordination": as for distances, for the radius of gyration of a
        group, its RMSD from the reference positions after optimal superposition, and the number of
        contacts of two groups.
    select:
        Selections as for `quiltmd.select`: one for positions, gyration and rmsd, else two, three or
        four.  Distances, angles and torsions between groups of several atoms are those of their
        centres.
    k:
        Force constant, kJ/mol/nm^2; for angles and torsions kJ/mol/rad^2, for coordination kJ/mol.
    radius:
        Radius of the flat bottom of a position restraint, nm.
    lower, upper, linear:
        nm; if only one of `lower` and `upper` is given, the other has the same value: a spring of
        this length.
    angle, width:
        Degrees.
    name:
        Name of a restraint between groups, in output columns and for `set_conditions`.
    path:
        Points of (ps, value): the reference value moves linearly between them, instead of
        `lower`, `upper` and `angle`.
    weights:
        Weights of the atoms in centres, radii of gyration and RMSD: "mass" or "equal".
    origin:
        For each group a selection of one atom; the nearest images of the other atoms to this atom
        are used.  By default the atom in the middle of the reference positions.
    contact, exponent:
        A pair of atoms at distance r counts 1 / (1 + (r / contact)^exponent): `contact` in nm,
        `exponent` an even number, by default 6.
    """

    kind: Literal[
        "position", "distance", "angle", "torsion", "gyration", "rmsd", "coordination"
    ] = Field(
        description="Kind of the restraint: position, distance, angle, torsion, gyration, rmsd or "
        "coordination."
    )
    select: str | tuple[str, ...] = Field(
        description="Atoms: one selection for positions, gyration and rmsd; two for distances and "
        "coordination, three for angles, four for torsions."
    )
    k: float | tuple[float, float, float] = Field(
        description="Force constant, kJ/mol/nm^2 (angles, torsions: kJ/mol/rad^2, coordination: "
        "kJ/mol); of positions also one for each axis."
    )
    radius: Nanometres | None = Field(
        default=None, ge=0, description="Distance below which no force acts, nm (position)."
    )
    lower: Nanometres | None = Field(
        default=None, ge=0, description="Value below which the spring acts, nm."
    )
    upper: Nanometres | None = Field(
        default=None, ge=0, description="Value above which the spring acts, nm."
    )
    linear: Nanometres | None = Field(
        default=None, gt=0, description="Value beyond which the force is constant, nm."
    )
    angle: Degrees | None = Field(
        default=None, ge=-360, le=360, description="Angle or torsion, degrees."
    )
    width: Degrees | None = Field(
        default=None, ge=0, le=180, description="Deviation up to which no force acts, degrees."
    )
    name: str | None = Field(
        default=None, pattern=NAME, description="Name of a restraint between groups, for columns."
    )
    path: tuple[tuple[Picoseconds, float], ...] | None = Field(
        default=None,
        min_length=2,
        description="Centre over time, linear between points of (ps, value).",
    )
    weights: Literal["mass", "equal"] | None = Field(
        default=None, description="Weights of atoms in a group: mass (default) or equal."
    )
    origin: str | tuple[str, ...] | None = Field(
        default=None,
        description="Atom of each group from which nearest images of the others are taken.",
    )
    contact: Nanometres | None = Field(
        default=None, gt=0, description="Distance at which a contact counts one half, nm."
    )
    exponent: int | None = Field(
        default=None, ge=2, le=24, multiple_of=2, description="Decay of contacts, an even number."
    )

    @field_validator("k", mode="before")
    @classmethod
    def _in_its_unit(cls, value: Any, info: ValidationInfo) -> Any:
        """Force constants that have a unit as numbers; which unit depends on the kind."""
        by = {"degree": "/rad^2", "": ""}.get(_unit_of(info), "/nm^2")
        unit = Unit("kJ/mol" + by)
        several = isinstance(value, list | tuple)
        return tuple(map(unit.read, value)) if several else unit.read(value)

    @field_validator("path", mode="before")
    @classmethod
    def _values_in_their_unit(cls, points: Any, info: ValidationInfo) -> Any:
        """Values of a path that have a unit as numbers; which unit depends on the kind."""
        unit = _unit_of(info)
        if not unit or not isinstance(points, list | tuple):
            return points
        return [
            [*one[:1], *map(Unit(unit).read, one[1:])] if isinstance(one, list | tuple) else one
            for one in points
        ]

    def __post_init__(self) -> None:
        for name in dict.fromkeys(key for keys in _OWN.values() for key in keys):
            if getattr(self, name) is not None and name not in _OWN[self.kind]:
                raise ValueError(f"a restraint of the kind {self.kind} has no {name}")
        if len(self.selections) != _SELECTIONS[self.kind]:
            raise ValueError(
                f"a restraint of the kind {self.kind} needs {_SELECTIONS[self.kind]} selections, "
                f"found {len(self.selections)}"
            )
        if min(self.constants) < 0:
            raise ValueError("k must not be negative")
        if isinstance(self.k, tuple) and (self.kind != "position" or self.radius):
            raise ValueError("only a position restraint without a radius has a k for each axis")
        if self.path is not None:
            self._check_path()
        elif self.kind in ("angle", "torsion"):
            if self.angle is None:
                raise ValueError(f"a restraint of the kind {self.kind} needs an angle")
        elif self.kind != "position":
            self._check_bounds()
        if self.kind == "coordination" and self.contact is None:
            raise ValueError("a restraint of the kind coordination needs a contact distance")

    def _check_path(self) -> None:
        assert self.path is not None
        for key in ("lower", "upper", "angle"):
            if getattr(self, key) is not None:
                raise ValueError(
                    f"{key}: the reference value follows the path; give one of the two"
                )
        times = [time for time, _ in self.path]
        if times[0] < 0 or any(a >= b for a, b in pairwise(times)):
            raise ValueError("path: needs points whose times, ps, are not negative and ascend")

    def _check_bounds(self) -> None:
        if self.lower is None and self.upper is None:
            raise ValueError(f"a {self.kind} restraint needs lower, upper, or both")
        if not self.bounds[0] <= self.bounds[1] <= self.bounds[2]:
            raise ValueError("the values must ascend: lower, upper, linear")

    @property
    def is_collective(self) -> bool:
        """Whether the restraint is one between groups of atoms."""
        is_of_atoms = self.kind in ("position", "distance", "angle", "torsion")
        return not is_of_atoms or any(getattr(self, key) is not None for key in _COLLECTIVE)

    @property
    def selections(self) -> tuple[str, ...]:
        """The selections, one or several."""
        return (self.select,) if isinstance(self.select, str) else self.select

    @property
    def constants(self) -> tuple[float, ...]:
        """The force constants, one or three."""
        return self.k if isinstance(self.k, tuple) else (self.k,)

    @property
    def bounds(self) -> tuple[float, float, float]:
        """The values lower, upper and linear, for variables other than angles."""
        lower = self.upper if self.lower is None else self.lower
        upper = self.lower if self.upper is None else self.upper
        assert lower is not None
        assert upper is not None
        return lower, upper, NEVER_LINEAR if self.linear is None else self.linear

    @property
    def spring(self) -> tuple[tuple[tuple[float, float], ...], float, float]:
        """Path of the centre, width and linear, the last from the edge of the width."""
        if self.kind in ("angle", "torsion"):
            at_rest = ((0.0, 0.0 if self.angle is None else self.angle),)
            return self.path or at_rest, self.width or 0.0, NEVER_LINEAR
        if self.path is not None:
            return self.path, 0.0, NEVER_LINEAR if self.linear is None else self.linear
        lower, upper, linear = self.bounds
        return ((0.0, (lower + upper) / 2),), (upper - lower) / 2, linear - upper


@dataclass(frozen=True)
class Held:
    """Atoms that are held to places which are not known yet.

    Attributes
    ----------
    atoms:
        (n,) int32.
    k:
        (n,) kJ/mol/nm^2.
    radius:
        (n,) nm.
    weights:
        (n, 3); d^2 is the sum of weight x^2 over the axes.
    """

    atoms: I32
    k: F64
    radius: F64
    weights: F64

    @classmethod
    def by_axes(cls, atoms: npt.ArrayLike, constants: npt.ArrayLike) -> Held:
        """Harmonic, with a force constant for each atom and axis, (n, 3), kJ/mol/nm^2."""
        each = np.asarray(constants, dtype=np.float64).reshape(-1, 3)
        largest = np.abs(each).argmax(axis=1)[:, None]
        k = np.take_along_axis(each, largest, axis=1)
        weights = np.divide(each, k, out=np.ones_like(each), where=k != 0)
        return cls(np.asarray(atoms, dtype=np.int32), k[:, 0], np.zeros(len(k)), weights)

    @classmethod
    def joined(cls, parts: Sequence[Held]) -> Held:
        """All of them, one after the other."""
        none = cls.by_axes(np.empty(0), np.empty((0, 3)))
        columns = {
            field.name: np.concatenate([getattr(part, field.name) for part in (none, *parts)])
            for field in fields(cls)
        }
        return cls(**columns)


def restrain(
    system: System,
    restraints: Sequence[Restraint],
    positions: npt.ArrayLike,
    box: npt.ArrayLike | None,
    scaling: Scaling = "com",
    held: Held | None = None,
) -> System:
    """Adds restraints to a system.

    Parameters
    ----------
    system:
        The system to which the restraints are added.
    restraints:
        The restraints, whose selections refer to this system.
    positions:
        (N, 3) nm: reference positions of position restraints, molecules whole.
    box:
        (3, 3) nm, reduced rows: the box of the reference positions; None: no periodic boundary.
    scaling:
        How reference positions follow a changing box: "com" (their centre of mass is scaled), "all"
        (each position is scaled) or "none".
    held:
        Further atoms to hold.

    Raises
    ------
    QuiltError
        If a selection has no atoms, or several where one is needed, or the scaling does not exist.
    """
    scaling = any_case(Scaling, scaling)
    if scaling not in get_args(Scaling):
        raise QuiltError(f"scaling must be 'com', 'all' or 'none', not {scaling!r}")
    if not isinstance(restraints, Sequence):
        raise QuiltError(
            f"restraints must be a list, not {type(restraints).__name__}: put it in brackets"
        )
    parts = [] if held is None else [held]
    rows: dict[str, list[tuple[list[int], list[float]]]] = {}
    cell = None if box is None else check_box(box)
    places = numbers("positions", positions, "numbers, nm", "nm").astype(np.float64)
    collective = [] if system.collective is None else list(system.collective.restraints)
    for number, one in enumerate(restraints, 1):
        try:
            if one.kind == "position":
                parts.append(_held(system, one))
            elif acts_between_groups(system, one):
                collective.append(collective_restraint(system, one, number, places, cell))
            else:
                rows.setdefault(one.kind, []).append((_single_atoms(system, one), _values(one)))
        except QuiltError as error:
            raise QuiltError(f"restraint {number}: {error}") from None
    changed: dict[str, Any] = {}
    for kind, terms in rows.items():
        atoms = np.array([members for members, _ in terms], dtype=np.int32)
        _add(system, changed, kind, atoms, np.array([values for _, values in terms]))
    together = Held.joined(parts)
    if len(together.atoms):
        held_at = _places(system, together, places, cell, scaling)
        values = np.column_stack([held_at, together.k, together.radius, together.weights])
        _add(system, changed, "position", together.atoms[:, None], values)
    if collective:
        changed["collective"] = Collective(tuple(collective))
    return replace(system, **changed) if changed else system


def acts_between_groups(system: System, one: Restraint) -> bool:
    """Whether a restraint is a collective one, with a row of its value in collective.csv."""
    several = one.kind != "position" and any(len(select(system, s)) > 1 for s in one.selections)
    return one.is_collective or several


def _add(system: System, changed: dict[str, Any], kind: str, atoms: I32, values: F64) -> None:
    for name, new in (
        (f"{kind}_restraints", atoms),
        (f"{kind}_restraint_parameters", values),
    ):
        changed[name] = np.concatenate([getattr(system, name), new])


def _places(system: System, held: Held, positions: F64, box: F64 | None, scaling: Scaling) -> F64:
    """(n, 6): the point in fractions of the box that is followed, and the distance from there."""
    places = positions[held.atoms]
    if box is None:
        return np.column_stack([np.zeros_like(places), places])
    if scaling == "none":
        followed = np.zeros_like(places)
    elif scaling == "all":
        followed = places
    else:
        masses = system.masses[held.atoms]
        weights = masses if masses.any() else np.ones_like(masses)  # where all are virtual sites
        followed = np.broadcast_to(weights @ places / weights.sum(), places.shape)
    return np.column_stack([followed @ np.linalg.inv(box), places - followed])


def _held(system: System, one: Restraint) -> Held:
    atoms = select(system, one.selections[0])
    constants = np.broadcast_to(np.array(one.constants, dtype=np.float64), (len(atoms), 3))
    return replace(Held.by_axes(atoms, constants), radius=np.full(len(atoms), one.radius or 0.0))


def _single_atoms(system: System, one: Restraint) -> list[int]:
    atoms = []
    for text in one.selections:
        atoms.append(int(select(system, text)[0]))
    if len(set(atoms)) < len(atoms):
        raise QuiltError(f"its selections name {system.topology.describe(atoms[0])} twice")
    return atoms


def _values(one: Restraint) -> list[float]:
    if one.kind == "distance":
        return [*one.bounds, one.constants[0]]
    assert one.angle is not None
    return [*np.radians([one.angle, one.width or 0.0]).tolist(), one.constants[0]]
