# SPDX-License-Identifier: Apache-2.0
"""Groups of collective restraints from selections: their weights, origins and references.

The nearest images of atoms to the origin of their group make it whole, so no atom may be further
from it than half the box.  By default the origin is the atom nearest to the middle of the group in
the reference positions.  `system` is a System here and `one` a Restraint, whose module imports this
one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import QuiltError
from .collective import MOST_CONTACTS, AtomGroup, CollectiveRestraint
from .selection import select

F64 = npt.NDArray[np.float64]

_CONTACT_EXPONENT = 6


def collective_restraint(
    system: Any, one: Any, number: int, positions: F64, box: F64 | None
) -> CollectiveRestraint:
    """A restraint of the core from one that selects groups.

    Parameters
    ----------
    system:
        Whose atoms.
    one, number:
        The restraint, and its number among all, from 1.
    positions, box:
        (N, 3) and (3, 3) nm: reference positions; box None: no periodic boundary.

    Raises
    ------
    QuiltError
        If a group has no atoms or none with mass, is wider than half the box, or two groups
        have an atom in common.
    """
    atoms = [select(system, text) for text in one.selections]
    _refuse_shared(system, atoms)
    origins = [None] * len(atoms) if one.origin is None else _origins(system, one, atoms)
    groups = [
        _group(system, one, members, origin, positions, box)
        for members, origin in zip(atoms, origins, strict=True)
    ]
    if one.kind == "coordination" and len(atoms[0]) * len(atoms[1]) > MOST_CONTACTS:
        raise QuiltError(
            f"its groups have {len(atoms[0])} and {len(atoms[1])} atoms, more than "
            f"{MOST_CONTACTS} pairs: select fewer"
        )
    scale = np.pi / 180 if one.kind in ("angle", "torsion") else 1.0
    path, width, linear = one.spring
    return CollectiveRestraint(
        one.name or f"{one.kind}_{number}",
        one.kind,
        groups,
        one.constants[0],
        np.array(path) * [1, scale],
        width * scale,
        linear,
        _whole(positions, atoms[0], groups[0].origin, box) if one.kind == "rmsd" else [],
        one.contact or 0.0,
        one.exponent or _CONTACT_EXPONENT,
    )


def _refuse_shared(system: Any, atoms: list[npt.NDArray[np.int64]]) -> None:
    together = np.concatenate(atoms)
    unique, counts = np.unique(together, return_counts=True)
    if (counts > 1).any():
        named = system.topology.describe(int(unique[np.argmax(counts > 1)]))
        raise QuiltError(f"its selections name {named} twice")


def _origins(system: Any, one: Any, atoms: list[npt.NDArray[np.int64]]) -> list[int]:
    texts = (one.origin,) if isinstance(one.origin, str) else one.origin
    assert texts is not None
    if len(texts) != len(atoms):
        raise QuiltError(
            f"it has {len(atoms)} groups and {len(texts)} origins: give one origin for each group"
        )
    found = []
    for text, members in zip(texts, atoms, strict=True):
        named = select(system, text)
        if len(named) != 1 or named[0] not in members:
            raise QuiltError(f"the origin {text!r} must be one atom of its group")
        found.append(int(named[0]))
    return found


def _group(
    system: Any,
    one: Any,
    atoms: npt.NDArray[np.int64],
    origin: int | None,
    positions: F64,
    box: F64 | None,
) -> AtomGroup:
    weights = np.ones(len(atoms)) if one.weights == "equal" else system.masses[atoms]
    if one.kind == "coordination":
        return AtomGroup(atoms, np.ones(len(atoms)), int(atoms[0]))
    if one.weights != "equal" and (weights == 0).any():
        named = system.topology.describe(int(atoms[np.argmin(weights)]))
        raise QuiltError(f"{named} has no mass: leave it out, or take weights = 'equal'")
    origin = _middle(positions[atoms], atoms, box) if origin is None else origin
    if box is not None:
        _refuse_wide(system, positions, atoms, origin, box)
    return AtomGroup(atoms, weights, origin)


def _middle(places: F64, atoms: npt.NDArray[np.int64], box: F64 | None) -> int:
    """The atom nearest to the middle of a group: the mean direction of fractions as angles."""
    if box is None:
        away = places - places.mean(axis=0)
    else:
        angles = 2 * np.pi * places @ np.linalg.inv(box)
        mean = np.arctan2(np.sin(angles).mean(axis=0), np.cos(angles).mean(axis=0))
        away = _nearest(places - mean / (2 * np.pi) @ box, box)
    return int(atoms[np.argmin((away**2).sum(axis=1))])


def _nearest(ways: F64, box: F64) -> F64:
    """Nearest images, as the core takes them."""
    nearest = ways.copy()
    for row in (2, 1, 0):
        turns = np.floor(nearest[:, row] / box[row, row] + 0.5)
        nearest -= turns[:, None] * box[row]
    return nearest


def _whole(positions: F64, atoms: Any, origin: int, box: F64 | None) -> F64:
    ways = positions[atoms] - positions[origin]
    return ways if box is None else _nearest(ways, box)


def _refuse_wide(
    system: Any, positions: F64, atoms: npt.NDArray[np.int64], origin: int, box: F64
) -> None:
    """QuiltError if nearest images to the origin do not put molecules together."""
    shifts = _whole(positions, atoms, origin, box) - (positions[atoms] - positions[origin])
    molecules = system.molecules[atoms]
    _, first, inverse = np.unique(molecules, return_index=True, return_inverse=True)
    apart = np.abs(shifts - shifts[first][inverse]).max(axis=1) > 1e-6
    if apart.any():
        far, near = (
            system.topology.describe(int(atom)) for atom in (atoms[np.argmax(apart)], origin)
        )
        raise QuiltError(
            f"a group is wider than half the box: {far} is further than that from {near}, the "
            "atom that images are taken from: name one in the middle (origin), or select fewer "
            "atoms"
        )
