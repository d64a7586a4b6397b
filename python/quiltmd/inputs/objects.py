# SPDX-License-Identifier: Apache-2.0
"""Coordinates from objects of mdtraj, MDAnalysis and OpenMM, none of which need be installed.

mdtraj has nm; MDAnalysis angstrom, angstrom/ps and, as both, degrees.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..description.box import Array, box_from_lengths_angles, reduce_box
from ..description.state import parts_of_openmm
from ..errors import InputError
from ..reading.formats import Coordinates
from ..reading.units import ANGSTROM


def is_path(thing: object) -> bool:
    """Whether something names a file."""
    return isinstance(thing, str | os.PathLike)


def refuse_as_topology(thing: object) -> None:
    """InputError for what is not the path of a topology; of an object it says what to do."""
    if is_path(thing):
        return
    kind = _name(thing)
    hint = "it has no force field; give the file of a topology that has one"
    if kind.startswith("openmm."):
        hint = "System.from_openmm(openmm_system) makes a System of one of OpenMM"
    raise InputError(f"the topology must be a file, not {kind}: {hint}")


def coordinates_of(thing: Any, frame: int) -> Coordinates:
    """The coordinates in an object.

    Parameters
    ----------
    thing:
        An `mdtraj.Trajectory`; a `Universe` or `AtomGroup` of MDAnalysis, whose frame is the one at
        which it is; an `openmm.State`; a PDBFile, PDBxFile or Modeller of OpenMM.
    frame:
        Frame of a trajectory of mdtraj, counted from 0, or from the end if negative.

    Raises
    ------
    InputError
        If it is none of these, or has no such frame.
    """
    if hasattr(thing, "xyz") and hasattr(thing, "unitcell_lengths"):
        return _of_mdtraj(thing, frame)
    if hasattr(thing, "getPositions") and hasattr(thing, "getDataTypes"):
        return _of_openmm(thing)
    if hasattr(thing, "getPositions") and hasattr(thing, "topology"):
        return _of_openmm(thing, np.array([atom.name for atom in thing.topology.atoms()]))
    if frame != 0:
        raise InputError(f"{_name(thing)} has one frame: bring it to frame {frame} itself")
    if hasattr(thing, "atoms") and hasattr(thing, "universe"):
        return _of_mdanalysis(thing)
    raise InputError(
        "coordinates must be a file, the folder of a run, an mdtraj.Trajectory, a Universe or "
        "AtomGroup of MDAnalysis, or a State, PDBFile, PDBxFile or Modeller of OpenMM, not "
        f"{_name(thing)}"
    )


def _of_mdtraj(trajectory: Any, frame: int) -> Coordinates:
    count = len(trajectory.xyz)
    if not -count <= frame < count:
        raise InputError(f"the mdtraj.Trajectory has {count} frames, and none of number {frame}")
    box = None
    if trajectory.unitcell_lengths is not None:
        lengths, angles = trajectory.unitcell_lengths[frame], trajectory.unitcell_angles[frame]
        box = box_from_lengths_angles(lengths, angles)
    names = None
    if trajectory.topology is not None:
        names = np.array([atom.name for atom in trajectory.topology.atoms])
    return Coordinates(np.asarray(trajectory.xyz[frame], dtype=np.float64), box=box, names=names)


def _of_mdanalysis(group: Any) -> Coordinates:
    atoms, now = group.atoms, group.universe.trajectory.ts
    velocities = None
    if now.has_velocities:
        velocities = np.asarray(atoms.velocities, dtype=np.float64) * ANGSTROM
    names = np.array(atoms.names, dtype=np.str_) if hasattr(atoms, "names") else None
    positions = np.asarray(atoms.positions, dtype=np.float64) * ANGSTROM
    return Coordinates(positions, velocities, _cell(now.dimensions), names)


def _of_openmm(source: Any, names: NDArray[np.str_] | None = None) -> Coordinates:
    positions, velocities, box = parts_of_openmm(source)
    return Coordinates(positions, velocities, None if box is None else reduce_box(box), names)


def _cell(dimensions: Any) -> Array | None:
    """The box of three lengths, angstrom, and three angles; None where there is none."""
    if dimensions is None or not np.any(dimensions[:3]):
        return None
    return box_from_lengths_angles(np.asarray(dimensions[:3]) * ANGSTROM, dimensions[3:])


def _name(thing: object) -> str:
    return f"{type(thing).__module__.partition('.')[0]}.{type(thing).__name__}"
