# SPDX-License-Identifier: Apache-2.0
"""Amber inputs: a topology and the coordinates that go with it."""

from __future__ import annotations

import os

from ..description.state import State
from ..description.system import System
from .amber_coordinates import read_coordinates
from .amber_prmtop import system_from_prmtop
from .prmtop_file import PrmtopFile

OCTAHEDRAL = 109.4712206344907  # degrees, arccos(-1/3): each angle of a truncated octahedron


def read_amber(
    topology: str | os.PathLike[str], coordinates: str | os.PathLike[str], frame: int
) -> tuple[System, State]:
    """Everything as the files have it: no constraints, molecules made whole."""
    prmtop = PrmtopFile(topology)
    system = system_from_prmtop(prmtop)
    found = read_coordinates(coordinates, system.atoms, frame, _box_angle(prmtop))
    return system, State.start(system, found.positions, found.box, found.velocities)


def _box_angle(prmtop: PrmtopFile) -> float | None:
    """The angles of a box that the coordinates give by lengths alone; None if uncertain."""
    shape = prmtop.counts["IFBOX"]  # 1 by angle beta, 2 truncated octahedron, 3 triclinic
    if shape == 2:
        return OCTAHEDRAL
    beta = 90.0
    if "BOX_DIMENSIONS" in prmtop.sections:
        beta = float(prmtop.reals("BOX_DIMENSIONS", 4)[0])
    oblique = 0 < beta < 180 and beta != 90.0
    return None if shape > 2 or oblique else 90.0
