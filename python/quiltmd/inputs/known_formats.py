# SPDX-License-Identifier: Apache-2.0
"""The formats of topologies and coordinates, and which of them a file has: by how it begins.

A new format is a module that reads it, and a row in one of the two tables here.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from ..amber import coordinates as amber_coordinates
from ..amber.topology import PRMTOP
from ..charmm import coordinates as charmm_coordinates
from ..charmm.topology import PSF
from ..errors import InputError
from ..gromacs import coordinates as gromacs_coordinates
from ..gromacs.topology import TOP
from ..lammps.topology import PLACES, SCRIPT
from ..openmm import files as openmm_files
from ..reading import pdb
from ..reading.fixed_width import read_bytes
from ..reading.formats import HEAD, CoordinateFormat, Path, Sources, TopologyFormat
from . import checkpoints, frames

# The first that matches reads a file.
TOPOLOGIES: tuple[TopologyFormat, ...] = (
    PRMTOP,
    PSF,
    TOP,
    SCRIPT,
    openmm_files.SYSTEM,
    openmm_files.STRUCTURE,
)
COORDINATES: tuple[CoordinateFormat, ...] = (
    checkpoints.CHECKPOINT,
    amber_coordinates.NETCDF,
    amber_coordinates.RESTART,
    openmm_files.STATE,
    pdb.PDB,
    pdb.MMCIF,
    charmm_coordinates.CRD,
    gromacs_coordinates.GRO,
    gromacs_coordinates.G96,
    charmm_coordinates.BINARY,
    frames.TRAJECTORY,
    PLACES,
    amber_coordinates.TEXT,
)


def why_no_topology(head: bytes) -> str:
    """Format of a file with this beginning, if it is known."""
    if (program := _packed_by(head)) is not None:
        return f"is compressed ({program}): unpack it first"
    of_coordinates = (reader.name for reader in COORDINATES[:-1] if reader.matches(head))
    if (kind := next(of_coordinates, None)) is not None:
        return f"has coordinates ({kind}), and no topology: are two files exchanged?"
    known = "; ".join(reader.name for reader in TOPOLOGIES)
    return f"not recognised as a topology; these are supported: {known}"


def _packed_by(head: bytes) -> str | None:
    """Program that compressed a file with this beginning."""
    begins = {b"\x1f\x8b\x08": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"PK\3\4": "zip"}
    return next((name for magic, name in begins.items() if head.startswith(magic)), None)


def topology_format(topology: Path) -> TopologyFormat | None:
    """The format of a topology, by how it begins; None where it is none that is known."""
    head = read_bytes(topology, limit=HEAD)
    return next((reader for reader in TOPOLOGIES if reader.matches(head)), None)


def is_structure(topology: Path) -> bool:
    """Whether a file is a topology and has coordinates: PDB, mmCIF, scripts of LAMMPS."""
    with_coordinates = (openmm_files.STRUCTURE, SCRIPT)
    return os.path.isfile(topology) and topology_format(topology) in with_coordinates


def included_files(topology: Path, defines: Sequence[str] = ()) -> tuple[str, ...]:
    """Files that a topology includes, in order; InputError if one is missing."""
    sources = Sources(os.fspath(topology), (), tuple(defines))
    reader = topology_format(topology)
    return () if reader is None else reader.includes(sources)


def coordinate_format(file: str) -> CoordinateFormat:
    """The format of coordinates; InputError if the file is compressed."""
    head = read_bytes(file, limit=HEAD)
    reader = next(reader for reader in COORDINATES if reader.matches(head))
    if reader is COORDINATES[-1] and (program := _packed_by(head)) is not None:
        raise InputError(f"is compressed ({program}): unpack it first", file=file)
    return reader
