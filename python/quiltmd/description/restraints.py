# SPDX-License-Identifier: Apache-2.0
"""Restraints: springs that hold atoms to places, or distances, angles and torsions to values.

`Restraint` is what a user writes, by selections of atoms; `restrain` makes terms of a System of it.
Places are those of reference coordinates.  What becomes of them in a box that changes is one choice
for all: `Scaling`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from pydantic import ConfigDict, Field, ValidationInfo, field_validator
from pydantic.dataclasses import dataclass as checked_dataclass

from ..errors import QuiltError
from .checks import any_case, user_settings
from .selection import select
from .system import System
from .units import Degrees, Nanometres, Unit

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]

# What follows a box that changes: the centre of mass of all places, so that they keep their
# distances ("com"); each place by itself ("all"); none ("none").
Scaling = Literal["com", "all", "none"]

NEVER_LINEAR = 1e6  # nm; a distance beyond all boxes
_ATOMS = {"position": 1, "distance": 2, "angle": 3, "torsion": 4}
# The keys that only restraints of some kinds have.
_OWN = {
    "position": ("radius",),
    "distance": ("lower", "upper", "linear"),
    "angle": ("angle", "width"),
    "torsion": ("angle", "width"),
}


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
    select:
        Selections as for `quiltmd.select`: for a position restraint one of any number of atoms; for
        a distance, angle or torsion two, three or four of one atom each.
    k:
        Force constant, kJ/mol/nm^2; of angles and torsions kJ/mol/rad^2.
    radius:
        Radius of the flat bottom of a position restraint, nm.
    lower, upper, linear:
        nm; if only one of `lower` and `upper` is given, the other has the same value: a spring of
        this length.
    angle, width:
        Degrees.
    """

    kind: Literal["position", "distance", "angle", "torsion"] = Field(
        description="What is restrained: position, distance, angle or torsion."
    )
    select: str | tuple[str, ...] = Field(
        description="Atoms: a selection for positions; two, three or four selections of one atom "
        "each for distances, angles and torsions."
    )
    k: float | tuple[float, float, float] = Field(
        description="Force constant, kJ/mol/nm^2 (angles, torsions: kJ/mol/rad^2); of positions "
        "also one for each axis."
    )
    radius: Nanometres | None = Field(
        default=None, ge=0, description="Free distance from its place, nm (position)."
    )
    lower: Nanometres | None = Field(
        default=None, ge=0, description="Distance below which atoms are pushed apart, nm."
    )
    upper: Nanometres | None = Field(
        default=None, ge=0, description="Distance above which atoms are pulled together, nm."
    )
    linear: Nanometres | None = Field(
        default=None, gt=0, description="Distance from which the pull stays the same, nm."
    )
    angle: Degrees | None = Field(
        default=None, ge=-360, le=360, description="Angle or torsion, degrees."
    )
    width: Degrees | None = Field(
        default=None, ge=0, le=180, description="Free deviation from the angle, degrees."
    )

    @field_validator("k", mode="before")
    @classmethod
    def _in_its_unit(cls, value: Any, info: ValidationInfo) -> Any:
        """Force constants that have a unit as numbers; which unit depends on the kind."""
        of_angles = info.data.get("kind") in ("angle", "torsion")
        unit = Unit("kJ/mol/rad^2" if of_angles else "kJ/mol/nm^2")
        several = isinstance(value, list | tuple)
        return tuple(map(unit.read, value)) if several else unit.read(value)

    def __post_init__(self) -> None:
        for name in dict.fromkeys(key for keys in _OWN.values() for key in keys):
            if getattr(self, name) is not None and name not in _OWN[self.kind]:
                raise ValueError(f"a restraint of the kind {self.kind} has no {name}")
        if len(self.selections) != _ATOMS[self.kind]:
            raise ValueError(
                f"a restraint of the kind {self.kind} needs {_ATOMS[self.kind]} selections, found "
                f"{len(self.selections)}"
            )
        if min(self.constants) < 0:
            raise ValueError("k must not be negative")
        if isinstance(self.k, tuple) and (self.kind != "position" or self.radius):
            raise ValueError("only a position restraint without a radius has a k for each axis")
        if self.kind == "distance" and self.lower is None and self.upper is None:
            raise ValueError("a distance restraint needs lower, upper, or both")
        if self.kind == "distance" and not self.bounds[0] <= self.bounds[1] <= self.bounds[2]:
            raise ValueError("the distances must ascend: lower, upper, linear")
        if self.kind in ("angle", "torsion") and self.angle is None:
            raise ValueError(f"a restraint of the kind {self.kind} needs an angle")

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
        """Of a distance: lower, upper, linear."""
        lower = self.upper if self.lower is None else self.lower
        upper = self.lower if self.upper is None else self.upper
        assert lower is not None
        assert upper is not None
        return lower, upper, NEVER_LINEAR if self.linear is None else self.linear


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
    parts = [] if held is None else [held]
    rows: dict[str, list[tuple[list[int], list[float]]]] = {}
    for number, one in enumerate(restraints, 1):
        try:
            if one.kind == "position":
                parts.append(_held(system, one))
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
        cell = None if box is None else np.asarray(box)
        places = _places(system, together, np.asarray(positions), cell, scaling)
        values = np.column_stack([places, together.k, together.radius, together.weights])
        _add(system, changed, "position", together.atoms[:, None], values)
    return replace(system, **changed) if changed else system


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
        found = select(system, text)
        if len(found) > 1:
            raise QuiltError(
                f"the selection {text!r} has {len(found)} atoms; a restraint of the kind "
                f"{one.kind} is between single atoms"
            )
        atoms.append(int(found[0]))
    if len(set(atoms)) < len(atoms):
        raise QuiltError(f"its selections name {system.topology.describe(atoms[0])} twice")
    return atoms


def _values(one: Restraint) -> list[float]:
    if one.kind == "distance":
        return [*one.bounds, one.constants[0]]
    assert one.angle is not None
    return [*np.radians([one.angle, one.width or 0.0]).tolist(), one.constants[0]]
