# SPDX-License-Identifier: Apache-2.0
"""Packets of IMD, versions 2 and 3, by which viewers receive frames of a run and send requests.

Version 3: imdclient's documentation, "IMDv3 Protocol".  Version 2, that of VMD: Stone, Gullingsrud
and Schulten, Proc. ACM Symp. Interactive 3D Graphics, 191 (2001), as NAMD, GROMACS and LAMMPS have
it.  A header is two big-endian integers; what follows one has the byte order of this machine.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from ..errors import QuiltError

F64 = NDArray[np.float64]
_HEADER = struct.Struct("!ii")
_ANGSTROM = 0.1  # nm
_KCAL = 4.184  # kJ
_PULL = 16  # bytes of a force from a viewer: an index and three components


class Kind(IntEnum):
    """Types of packets."""

    DISCONNECT = 0
    ENERGIES = 1
    COORDINATES = 2
    GO = 3
    HANDSHAKE = 4
    KILL = 5
    MDCOMM = 6
    PAUSE = 7
    RATE = 8
    IO_ERROR = 9
    SESSION_INFO = 10
    RESUME = 11
    TIME = 12
    BOX = 13
    VELOCITIES = 14
    FORCES = 15
    WAIT = 16


_REQUESTS = {Kind.DISCONNECT, Kind.GO, Kind.KILL, Kind.MDCOMM, Kind.PAUSE, Kind.RATE, Kind.IO_ERROR}
_OF_VERSION_3 = {Kind.RESUME, Kind.WAIT}


class ProtocolError(QuiltError):
    """A viewer has sent what is no request of IMD."""


@dataclass(frozen=True)
class Request:
    """A request of a viewer.

    Attributes
    ----------
    kind:
        Its type.
    value:
        The number in its header.
    atoms, forces:
        Of MDCOMM: indices (n,) of atoms among those that are sent, and forces (n, 3), kJ/mol/nm.
    """

    kind: Kind
    value: int
    atoms: NDArray[np.int64] | None = None
    forces: F64 | None = None


@dataclass(frozen=True)
class Contents:
    """A frame: step, time (ps) and time step (ps); the rest in nm, ps and kJ/mol, or None.

    `energies` are those of the energy block: temperature (K), then total, potential, van der Waals,
    Coulomb, bonds, angles, torsions and impropers.
    """

    step: int
    time: float
    timestep: float
    positions: F64
    box: F64 | None = None
    energies: tuple[float, ...] | None = None
    velocities: F64 | None = None
    forces: F64 | None = None


@dataclass(frozen=True)
class Session:
    """The content of every frame of a session.

    Attributes
    ----------
    version:
        2 or 3.
    atoms:
        Number of atoms.
    energies, box, wrapped, velocities, forces:
        Whether frames have an energy block, the box, molecules in the cell, velocities and forces.
    """

    version: int
    atoms: int
    energies: bool
    box: bool
    wrapped: bool
    velocities: bool
    forces: bool

    @property
    def energy_unit(self) -> float:
        """The unit of energy, kJ/mol."""
        return 1.0 if self.version == 3 else _KCAL

    def greeting(self) -> bytes:
        """The first packets that a viewer receives."""
        hello = struct.pack("!i", Kind.HANDSHAKE) + struct.pack("=i", self.version)
        if self.version == 2:
            return hello
        flags = (True, self.energies, self.box, True, self.wrapped, self.velocities, self.forces)
        return hello + _HEADER.pack(Kind.SESSION_INFO, len(flags)) + bytes(flags)

    def frame(self, of: Contents) -> bytes:
        """The packets of a frame."""
        parts = []
        if self.version == 3:
            body = struct.pack("=ddq", of.timestep, of.time, of.step)
            parts.append(_HEADER.pack(Kind.TIME, 1) + body)
        if of.energies is not None:
            temperature, *energies = of.energies
            scaled = (energy / self.energy_unit for energy in energies)
            body = struct.pack("=i9f", of.step % 2**31, temperature, *scaled)
            parts.append(_HEADER.pack(Kind.ENERGIES, 1) + body)
        if of.box is not None:
            parts.append(_HEADER.pack(Kind.BOX, 1) + _floats(of.box / _ANGSTROM))
        parts.append(self._of_atoms(Kind.COORDINATES, of.positions / _ANGSTROM))
        if of.velocities is not None:
            parts.append(self._of_atoms(Kind.VELOCITIES, of.velocities / _ANGSTROM))
        if of.forces is not None:
            parts.append(self._of_atoms(Kind.FORCES, of.forces * _ANGSTROM))
        return b"".join(parts)

    def _of_atoms(self, kind: Kind, values: F64) -> bytes:
        return _HEADER.pack(kind, self.atoms) + _floats(values)


class RequestReader:
    """Reads requests from the bytes of a viewer, however they are cut.

    Parameters
    ----------
    session:
        The session to which they belong.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._bytes = bytearray()

    def feed(self, data: bytes) -> Iterator[Request]:
        """The requests that are complete with these bytes.

        Raises
        ------
        ProtocolError
            If a packet is none that a viewer may send, or has forces on atoms that are not sent.
        """
        self._bytes += data
        while len(self._bytes) >= _HEADER.size:
            kind, value = _HEADER.unpack_from(self._bytes)
            length = self._length(kind, value)
            end = _HEADER.size + length
            if len(self._bytes) < end:
                return
            body = bytes(self._bytes[_HEADER.size : end])
            del self._bytes[:end]
            yield self._pulls(value, body) if kind == Kind.MDCOMM else Request(Kind(kind), value)

    def _length(self, kind: int, value: int) -> int:
        """Bytes after a header."""
        known = _REQUESTS | (_OF_VERSION_3 if self._session.version == 3 else set())
        if kind not in known:
            raise ProtocolError(
                f"it sent a packet of type {kind}, which is no request of IMD version "
                f"{self._session.version}"
            )
        if kind != Kind.MDCOMM:
            return 0
        if not 0 <= value <= self._session.atoms:
            raise ProtocolError(
                f"it sent forces on {value} atoms, and receives {self._session.atoms}"
            )
        return _PULL * value

    def _pulls(self, count: int, body: bytes) -> Request:
        atoms = np.frombuffer(body, np.int32, count).astype(np.int64)
        forces = np.frombuffer(body, np.float32, 3 * count, 4 * count).reshape(-1, 3)
        forces = forces * (self._session.energy_unit / _ANGSTROM)
        if count and not (atoms.min() >= 0 and atoms.max() < self._session.atoms):
            raise ProtocolError("it sent a force on an atom that it does not receive")
        if len(np.unique(atoms)) < count:
            raise ProtocolError("it sent two forces on one atom: their sum must be sent")
        if not np.isfinite(forces).all():
            raise ProtocolError("it sent a force that is not a finite number")
        return Request(Kind.MDCOMM, count, atoms, forces.astype(np.float64))


def _floats(values: F64) -> bytes:
    return np.ascontiguousarray(values, dtype=np.float32).tobytes()
