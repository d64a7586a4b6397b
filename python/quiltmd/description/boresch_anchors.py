# SPDX-License-Identifier: Apache-2.0
"""Boresch restraints of a System: terms of it, and which atoms move least and so are taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .boresch import (
    ANGLES,
    DISTANCE,
    TORSIONS,
    BoreschRestraint,
    coordinates_of,
    is_usable,
    places,
)
from .restraints import NEVER_LINEAR
from .selection import select
from .system import System

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

_MOST_TRIPLES = 60  # of the receptor, the nearest; and of the ligand, those nearest its centre
_UNIT = 0.05  # nm: a fluctuation of the distance that weighs as much as one of an angle of 1 rad


def apply_boresch(system: System, restraint: BoreschRestraint) -> System:
    """The system with a restraint, as a distance, two angle and three torsion restraints.

    InputError if the system lacks an anchor.
    """
    anchors = np.array(restraint.anchors, np.int32)
    if anchors.max() >= system.atoms:
        raise InputError(f"anchors names an atom that does not exist: there are {system.atoms}")

    def rows(values: Sequence[float], constants: Sequence[float]) -> F64:
        return np.array([[np.radians(x), 0.0, k] for x, k in zip(values, constants, strict=True)])

    length = restraint.distance
    return system.with_terms(
        system.terms["distance_restraint"].joined(
            anchors[[DISTANCE]], [[length, length, NEVER_LINEAR, restraint.k_distance]]
        ),
        system.terms["angle_restraint"].joined(
            anchors[np.array(ANGLES)], rows(restraint.angles, restraint.k_angles)
        ),
        system.terms["torsion_restraint"].joined(
            anchors[np.array(TORSIONS)], rows(restraint.torsions, restraint.k_torsions)
        ),
    )


def choose_boresch(
    system: System,
    positions: npt.ArrayLike,
    ligand: str,
    receptor: str = "backbone",
    *,
    box: npt.ArrayLike | None = None,
    **constants: Any,
) -> BoreschRestraint:
    """A Boresch restraint between atoms that move little relative to each other.

    Three consecutively bonded heavy atoms of the ligand and three of the receptor are chosen such
    that all angles stay between 30 and 150 degrees.  From several frames, the choice is that with
    the smallest product of the fluctuations of the six coordinates, and the coordinates are held at
    their means; from a single frame, the choice is that with angles closest to 90 degrees.

    Parameters
    ----------
    system:
        The system of ligand and receptor.
    positions:
        (N, 3), or (frames, N, 3) of an equilibration, nm.
    ligand, receptor:
        Selections (see `select`).
    box:
        (3, 3) nm, reduced rows; distances are those of nearest images.  None: no box.
    constants:
        k_distance, k_angles, k_torsions: see `BoreschRestraint`.

    Raises
    ------
    InputError
        If a selection has no three consecutively bonded heavy atoms, or no choice of atoms suits
        all frames.
    """
    frames = places(positions)
    frames = frames[None] if frames.ndim == 2 else frames
    if frames.ndim != 3 or frames.shape[1:] != (system.atoms, 3) or len(frames) == 0:
        raise InputError(f"positions must be (N, 3) or (frames, N, 3) of {system.atoms} atoms")
    own = select(system, ligand)
    of_ligand = _triples(system, own, f"the ligand, {ligand!r},")
    others = np.setdiff1d(select(system, receptor), own)
    of_receptor = _triples(system, others, f"the receptor, {receptor!r},")
    middle = frames[0][np.unique(of_ligand)].mean(axis=0)
    of_ligand = _nearest(of_ligand, frames[0], middle)
    of_receptor = _nearest(of_receptor, frames[0], middle)
    pairs = np.stack(np.meshgrid(np.arange(len(of_receptor)), np.arange(len(of_ligand))), -1)
    receptor_of, ligand_of = pairs.reshape(-1, 2).T
    anchors = np.concatenate([of_receptor[receptor_of], of_ligand[ligand_of]], axis=1)
    found = np.stack([coordinates_of(frame[anchors], box) for frame in frames])
    inner = np.stack([is_usable(frame[anchors], box) for frame in frames])
    usable = inner.all(axis=0)
    if not usable.any():
        raise InputError(
            "no anchors have angles between 30 and 150 degrees in all frames: select other atoms "
            "of the receptor, or frames in which the ligand stays in place"
        )
    centres, scores = _centres_and_scores(found)
    best = int(np.argmin(np.where(usable, scores, np.inf)))
    distance, *rest = centres[best].tolist()
    return BoreschRestraint(anchors[best].tolist(), distance, rest[:2], rest[2:], **constants)


def _triples(system: System, atoms: npt.NDArray[np.integer[Any]], what: str) -> I64:
    """(n, 3) heavy atoms in a row, joined by bonds, in both directions."""
    heavy = np.zeros(system.atoms, dtype=bool)
    heavy[atoms] = True
    heavy &= system.topology.elements != 1
    links = np.concatenate([*system.terms.links(), system.constraints])
    neighbours: dict[int, set[int]] = {}
    for i, j in links[heavy[links].all(axis=1)].tolist():
        neighbours.setdefault(i, set()).add(j)
        neighbours.setdefault(j, set()).add(i)
    found = [
        (first, middle, last)
        for middle, ends in sorted(neighbours.items())
        for first in sorted(ends)
        for last in sorted(ends)
        if first != last
    ]
    if not found:
        raise InputError(f"{what} has no three consecutively bonded heavy atoms")
    return np.array(found, dtype=np.int64)


def _nearest(triples: I64, frame: F64, middle: F64) -> I64:
    """The candidates whose first atom, an end of the distance, is nearest the ligand's centre."""
    order = np.argsort(np.linalg.norm(frame[triples[:, 0]] - middle, axis=1), kind="stable")
    chosen: I64 = triples[order[:_MOST_TRIPLES]]
    return chosen


def _centres_and_scores(found: F64) -> tuple[F64, F64]:
    """Means (n, 6) and scores of the fluctuations (n,) of (frames, n, 6) coordinates."""
    turns = np.radians(found[..., 3:])
    mean = np.arctan2(np.sin(turns).mean(axis=0), np.cos(turns).mean(axis=0))
    centres = np.concatenate([found[..., :3].mean(axis=0), np.degrees(mean)], axis=1)
    if len(found) == 1:
        return centres, np.abs(found[0][:, 1:3] - 90).sum(axis=1)
    away = found - centres
    away[..., 3:] = (away[..., 3:] + 180) % 360 - 180
    away[..., 0] /= _UNIT
    away[..., 1:] = np.radians(away[..., 1:])
    spread = np.sqrt((away**2).mean(axis=0))
    return centres, np.log(np.maximum(spread, 1e-6)).sum(axis=1)
