# SPDX-License-Identifier: Apache-2.0
"""Readers: from the files of other programs to a System and a State.

A format is a module that reads it and knows nothing of the others; `load`
chooses by content, since suffixes vary from group to group. A new format is a
new module and a new row in `_FORMATS`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from ..description.state import State
from ..description.system import System
from ..errors import InputError
from .amber import read_amber
from .amber_coordinates import count_frames
from .constrain import Constraints, constrain
from .fixed_width import read_bytes

__all__ = ["Constraints", "count_frames", "load"]

_Path = str | os.PathLike[str]
_Reader = Callable[[_Path, _Path, int], tuple[System, State]]

# How the start of a topology file shows its format, and who reads it. An Amber
# topology before version 7 has a title, then lines of twelve counts.
_FORMATS: tuple[tuple[re.Pattern[bytes], _Reader], ...] = (
    (re.compile(rb"%(VERSION|FLAG)"), read_amber),
    (re.compile(rb"[^\n]*\n([ \d]{6}){12}\s*\n"), read_amber),
)


def load(
    topology: _Path,
    coordinates: _Path,
    *,
    constraints: Constraints = "none",
    rigid_water: bool = True,
    hydrogen_mass: float | None = None,
    frame: int = 0,
) -> tuple[System, State]:
    """Load a system and its state from the files of another program.

    Parameters
    ----------
    topology:
        Amber prmtop or parm7 (also the layout before Amber 7).
    coordinates:
        Amber inpcrd, rst7 or NetCDF restart or trajectory, with a periodic box.
    constraints:
        "none", or "h-bonds" to constrain bonds to hydrogen.
    rigid_water:
        Constrain all distances in three-site water molecules.
    hydrogen_mass:
        Hydrogen mass repartitioning (HMR): mass in amu of hydrogens outside rigid water, taken
        from the heavy atoms that they are bonded to; None: masses as in the file.
    frame:
        Which frame of a trajectory, from 0.

    Returns
    -------
    The System, and its State at step 0 with molecules whole; velocities are
    zero where the file has none.

    Raises
    ------
    InputError
        In one line, with file and line or atom: what is wrong or unsupported.
    """
    head = read_bytes(topology, limit=4096)
    reader = next((reader for pattern, reader in _FORMATS if pattern.match(head)), None)
    if reader is None:
        raise InputError(
            "not recognised as a topology; Amber's prmtop (parm7) is supported", file=topology
        )
    system, state = reader(topology, coordinates, frame)
    return constrain(system, constraints, rigid_water, hydrogen_mass), state
