# SPDX-License-Identifier: Apache-2.0
"""IMD: a run streams its frames to viewers and analyses, which may pause it and pull atoms.

A reporter makes the frames, and a thread sends them (`imd_link.py`).  The run waits for a slow or
pausing viewer only as long as `max_wait` allows, and frames for which there is no room are dropped.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import time
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..description.checks import real_number, whole_number
from ..description.selection import select as select_atoms
from ..errors import QuiltError, QuiltWarning
from ..outputs.readout import Readout
from ..outputs.reporters import Need
from ..outputs.wrapping import MoleculeWrapper
from .imd_link import Link
from .imd_packets import Contents, Kind, Request, Session
from .viewer_force import ViewerForce

_AHEAD = 1  # frames that may wait while the run continues
_ROOM = 4  # frames at most, with those that the run still has under way
_SAVED = 10.0  # s of running without a wait for which the share of waiting may be saved
_FAREWELL = 2.0  # s for the last frames
_FAREWELL_OF_ALL = 10.0  # s, where no frame is to be lost
# The energy block of IMD, by the names in `Readout.energies`.
_BLOCK = (
    ("lj", "lj14", "dispersion"),
    ("coulomb", "coulomb14", "pme"),
    ("bond",),
    ("angle", "urey_bradley"),
    ("torsion", "ryckaert_bellemans", "cmap"),
    ("improper",),
)


class ImdServer:
    """A reporter that streams frames to viewers by the IMD protocol.

    Receivers are imdclient, MDAnalysis (version 3) and VMD (version 2).  Time, box and positions
    are always sent.  A receiver may ask for fewer frames than `every` gives, not for more.  Without
    a receiver, a run has no cost.  Use it as a context, or call `close`.

    Parameters
    ----------
    simulation:
        The simulation whose frames are sent.
    every:
        Steps between frames.
    port, host:
        Port, 0 for any free one, and address on which to listen.
    trust_network:
        Listen on an address that other machines can reach.  The protocol has neither a key nor
        encryption: prefer a tunnel, such as `ssh -L 8888:localhost:8888`.
    select, wrap:
        Atoms that are sent, and whether molecules are put into the cell.
    energies, velocities, forces:
        Further data to send; velocities and forces need version 3.
    version:
        3, or 2 for VMD.
    wait:
        Whether the run waits while no viewer is connected.  A viewer may change this to no.
    max_wait:
        Largest share of the run's time that it waits for a viewer that is slow or pauses; then
        frames are dropped.  0: the run never waits; 1: as long as necessary, and no frame is lost.
    force:
        Receives the forces that a viewer sends; None: they are refused.
    on_stop:
        Called, in another thread, if a viewer asks to stop the run; None: it is refused.
    tell:
        Called with messages; by default they are warnings.

    Attributes
    ----------
    port:
        The port on which it listens.
    sent, dropped:
        Frames that were sent, and those between them that were due and were not.

    Raises
    ------
    QuiltError
        If the settings do not go together, or the address cannot be used.
    """

    def __init__(
        self,
        simulation: Readout,
        every: int = 100,
        *,
        port: int = 8888,
        host: str = "127.0.0.1",
        trust_network: bool = False,
        select: str = "all",
        wrap: bool = True,
        energies: bool = False,
        velocities: bool = False,
        forces: bool = False,
        version: int = 3,
        wait: bool = False,
        max_wait: float = 0.1,
        force: ViewerForce | None = None,
        on_stop: Callable[[], object] | None = None,
        tell: Callable[[str], object] | None = None,
    ) -> None:
        self._slowest = self._every = whole_number("every", every)
        self._waits = self._may_wait_again = wait
        self._patience = Patience(max_wait)
        self._loses_nothing = max_wait == 1
        self._system, self._force, self._on_stop = simulation.system, force, on_stop
        self._tell = tell or _warn
        self._atoms = select_atoms(simulation.system, select)
        self._place = MoleculeWrapper(simulation.system.molecules).wrap if wrap else None
        box = simulation.box is not None
        check_version(version, velocities, forces)
        self._session = Session(
            version,
            len(self._atoms),
            energies,
            box and version == 3,
            wrap and box,
            velocities,
            forces,
        )
        self.needs: tuple[Need, ...] = ("state" if velocities else "positions",)
        self.needs += ("energies",) if energies else ()
        self.needs += ("forces",) if forces else ()
        self._is_paused = False
        self._refused: set[str] = set()
        self.sent = self.dropped = 0
        self._last: int | None = None  # step of the last frame
        self._host = host
        listener = _listen(host, port, trust_network)
        self.port: int = listener.getsockname()[1]
        self._link = Link(listener, self._session, self._receive, self._say)

    @property
    def every(self) -> int:
        """Steps between frames; 0 while nobody receives them or there is no room for one."""
        has_room = not self._is_paused and self._link.backlog < _ROOM
        return self._every if self._link.is_live and (self._loses_nothing or has_room) else 0

    @property
    def is_connected(self) -> bool:
        """Whether a viewer receives frames."""
        return self._link.is_live

    def introduction(self) -> str:
        """Where it listens, in words."""
        waiting = ", and the run waits for a viewer" if self._waits else ""
        return f"IMD: frames are streamed on {self._host}:{self.port}{waiting}"

    def holds(self) -> bool:
        """Whether the run should wait now, for a viewer or its pause."""
        self._link.check()
        if not self._link.is_live:
            self._patience.may_wait(time.monotonic(), asked=False)
            return self._waits
        is_slow = self._link.backlog > _AHEAD
        return self._patience.may_wait(time.monotonic(), asked=self._is_paused or is_slow)

    def report(self, frame: Readout, /) -> None:
        """Sends a frame, if there is room."""
        every = self.every
        if not every:
            return
        self._link.send(self._session.frame(self._contents(frame)))
        self.sent += 1
        if self._last is not None:
            self.dropped += (frame.step - self._last - 1) // every
        self._last = frame.step

    def close(self) -> None:
        """Sends the last frames and ends the connection."""
        self._link.close(_FAREWELL_OF_ALL if self._loses_nothing else _FAREWELL)

    def __enter__(self) -> ImdServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _contents(self, frame: Readout) -> Contents:
        positions = frame.positions()
        if self._place is not None:
            positions = self._place(positions, frame.box)
        session = self._session
        return Contents(
            frame.step,
            frame.time,
            frame.integrator.timestep,
            positions[self._atoms],
            frame.box if session.box else None,
            _energy_block(frame) if session.energies else None,
            frame.state().velocities[self._atoms] if session.velocities else None,
            frame.forces()[self._atoms] if session.forces else None,
        )

    def _receive(self, request: Request | None) -> None:
        """Does what a viewer asks for; None: it is gone."""
        if request is None:
            self._is_paused, self._every, self._last = False, self._slowest, None
            self._pull(np.empty(0, np.int64), np.empty((0, 3)))
        elif request.kind == Kind.PAUSE:
            self._is_paused = self._session.version == 3 or not self._is_paused
        elif request.kind == Kind.RESUME:
            self._is_paused = False
        elif request.kind == Kind.RATE:
            self._every = max(request.value, self._slowest)
        elif request.kind == Kind.WAIT:
            self._waits = self._may_wait_again and request.value != 0
        elif request.kind == Kind.KILL:
            self._stop()
        elif request.kind == Kind.MDCOMM:
            assert request.atoms is not None
            assert request.forces is not None
            self._pull(request.atoms, request.forces)

    def _stop(self) -> None:
        if self._on_stop is None:
            self._refuse("a viewer asked to stop the run, which may_stop does not allow")
        else:
            self._on_stop()

    def _pull(self, atoms: NDArray[np.int64], forces: NDArray[np.float64]) -> None:
        if self._force is None:
            if len(atoms):
                self._refuse("a viewer sent forces, but the run has no atoms that it may pull")
            return
        missing = self._force.offer(self._system, self._atoms[atoms], forces)
        if len(missing):
            name = self._system.topology.describe(int(missing[0]))
            self._refuse(f"a viewer sent a force on {name}, which it may not pull")

    def _refuse(self, what: str) -> None:
        """Tells of a request that is refused, the first time."""
        if what not in self._refused:
            self._refused.add(what)
            self._say(what)

    def _say(self, what: str) -> None:
        self._tell(f"IMD: {what}")


class Patience:
    """Bounds the share of the time for which a run waits.

    Parameters
    ----------
    share:
        From 0 to 1.  In any time t it waits at most `share` (t + 10 s).
    """

    def __init__(self, share: float) -> None:
        self._share = real_number("max_wait", share)
        if not 0 <= self._share <= 1:
            raise QuiltError(f"max_wait must be from 0 to 1, and is {share!r}")
        self._credit = 0.0  # s
        self._before: float | None = None
        self._is_waiting = False

    def may_wait(self, now: float, asked: bool) -> bool:
        """Whether to wait from now, a time in s, until the next call, if that is asked for."""
        passed = 0.0 if self._before is None else now - self._before
        self._before = now
        if self._is_waiting:
            self._credit -= passed
        elif self._share < 1:
            earned = passed * self._share / (1 - self._share)
            self._credit = min(self._credit + earned, self._share * _SAVED)
        self._is_waiting = asked and (self._share == 1 or self._credit > 0)
        return self._is_waiting


def check_version(version: int, velocities: bool, forces: bool) -> None:
    """QuiltError if a version of the protocol does not exist, or cannot send these data."""
    if version not in (2, 3):
        raise QuiltError(f"version must be 2 or 3, and is {version!r}")
    if version == 2 and (velocities or forces):
        raise QuiltError("IMD version 2 has no velocities and forces: choose version 3")


def check_address(host: str, port: int, trust_network: bool) -> None:
    """QuiltError if a server cannot listen on this address."""
    _listen(host, port, trust_network).close()


def _listen(host: str, port: int, trust_network: bool) -> socket.socket:
    if not _is_loopback(host) and not trust_network:
        raise QuiltError(
            f"IMD has neither a key nor encryption, and other machines can reach the address "
            f"{host!r}: listen on 127.0.0.1 and use a tunnel (ssh -L {port}:localhost:{port}), or "
            "set trust_network = true"
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host.strip("[]"), port), family=family, backlog=4)
    except (OSError, OverflowError, TypeError) as error:
        number = getattr(error, "errno", None)  # its text also has the address
        why = error if number is None else os.strerror(number)
        raise QuiltError(
            f"IMD cannot listen on {host}:{port}: {why}; choose another port"
        ) from None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def _energy_block(frame: Readout) -> tuple[float, ...]:
    energies = frame.energies()
    of_terms = (sum(energies.get(name, 0.0) for name in names) for names in _BLOCK)
    return (frame.temperature(), energies["total"], energies["potential"], *of_terms)


def _warn(text: str) -> Any:
    warnings.warn(QuiltWarning(text), stacklevel=2)
