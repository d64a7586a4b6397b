# SPDX-License-Identifier: Apache-2.0
"""Interface of the reader of a format: recognition of its files, and their contents.

Two kinds of files make a simulation: a topology (with parameter files, where a format keeps them
apart) and coordinates.  Each kind has its readers, which know nothing of each other, so that any
topology goes with any coordinates.  Files are told apart by how they begin, since suffixes vary
from group to group.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..description.restraints import Held
from ..description.system import System
from ..description.topology import Topology

F64 = npt.NDArray[np.float64]
HEAD = 8192  # bytes that a format is recognised by


@dataclass(frozen=True)
class Sources:
    """The files that describe a system.

    Attributes
    ----------
    topology:
        Topology of the atoms.
    parameters:
        Further files, in the order given: CHARMM's parameters, OpenMM's ForceField XML.
    defines:
        Names, or "NAME=value", for the preprocessor of GROMACS topologies.
    """

    topology: str
    parameters: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Described:
    """Contents of a topology.

    Attributes
    ----------
    system:
        Everything as the files have it, nothing constrained but what they constrain.
    box:
        (3, 3) nm, reduced rows, for coordinates without a box; None where the topology has none.
    box_angle:
        All three box angles (degrees) of coordinates that give lengths alone; None if the topology
        does not tell.
    complete:
        Whether the files also say what is constrained, as OpenMM Systems do: then no constraints
        and no other masses can be asked for at load.
    periodic:
        Whether the topology says that there is a periodic box, which coordinates must then have, or
        that there is none, so that theirs means nothing; None if it does not say.
    held:
        Atoms that the topology holds to the places that they have in reference coordinates.
    warnings:
        For the user.  Readers do not give them, so that the cache has them, too.
    """

    system: System
    box: F64 | None = None
    box_angle: float | None = 90.0
    complete: bool = False
    periodic: bool | None = None
    held: Held | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Coordinates:
    """Contents of a coordinate file.

    Attributes
    ----------
    positions:
        (N, 3) nm, as in the file.
    velocities:
        (N, 3) nm/ps, or None.
    box:
        (3, 3) nm, reduced rows, or None.
    names:
        (N,) names of the atoms, or None; only compared with those of the topology.
    """

    positions: F64
    velocities: F64 | None = None
    box: F64 | None = None
    names: npt.NDArray[np.str_] | None = None


@dataclass(frozen=True)
class Expected:
    """Expected properties of a coordinate file.

    Attributes
    ----------
    atoms:
        Number of atoms that it must have.
    frame:
        Which frame of a trajectory, from 0; negative counts from the end.
    box_angle:
        See `Described`.
    box:
        Whether its box is asked for; else it is not read, and may be damaged.
    """

    atoms: int
    frame: int = 0
    box_angle: float | None = 90.0
    box: bool = True


@dataclass(frozen=True)
class TopologyFormat:
    """A format of topologies.

    Attributes
    ----------
    name:
        For messages and documents.
    matches:
        Whether a file that begins with these bytes (`HEAD` of them) is of this format.
    read:
        The reader.
    parameters:
        Meaning of `Sources.parameters`; "" if it takes none.
    defines:
        Whether it takes `Sources.defines`.
    includes:
        Further files that the topology asks for by itself.
    """

    name: str
    matches: Callable[[bytes], bool]
    read: Callable[[Sources], Described]
    parameters: str = ""
    defines: bool = False
    includes: Callable[[Sources], tuple[str, ...]] = lambda _: ()


@dataclass(frozen=True)
class CoordinateFormat:
    """A format of coordinates.

    Attributes
    ----------
    name, matches, read:
        As for `TopologyFormat`.
    frames:
        Counts the frames of a file.
    of_velocities:
        Where such a file may hold velocities in the place of positions: what they are in nm/ps when
        `read` gives 1 nm; 0 where there are no such files.
    names:
        Reads the names of atoms and residues in a frame; None where the format has none, or not
        those of residues.
    """

    name: str
    matches: Callable[[bytes], bool]
    read: Callable[[str, Expected], Coordinates]
    frames: Callable[[str], int] = lambda _: 1
    of_velocities: float = 0.0
    names: Callable[[str, int], Topology] | None = None


Path = str | os.PathLike[str]
