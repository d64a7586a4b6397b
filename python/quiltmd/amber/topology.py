# SPDX-License-Identifier: Apache-2.0
"""Amber's files: prmtop (parm7) topologies, inpcrd, rst7 and NetCDF coordinates."""

from __future__ import annotations

import re

from ..reading.formats import Described, Sources, TopologyFormat
from .prmtop import system_from_prmtop
from .prmtop_file import PrmtopFile

OCTAHEDRAL = 109.4712206344907  # degrees, arccos(-1/3): each angle of a truncated octahedron
# Before version 7 a topology has a title, then lines of twelve counts.
_START = re.compile(rb"%(VERSION|FLAG)|[^\n]*\n([ \d]{6}){12}\s*\n")


def _read(sources: Sources) -> Described:
    """Everything as the file has it: no constraints."""
    prmtop = PrmtopFile(sources.topology)
    return Described(
        system_from_prmtop(prmtop),
        box_angle=_box_angle(prmtop),
        periodic=prmtop.counts["IFBOX"] > 0 or None,
    )


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


PRMTOP = TopologyFormat("Amber prmtop (parm7)", lambda head: bool(_START.match(head)), _read)
