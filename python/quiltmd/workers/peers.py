# SPDX-License-Identifier: Apache-2.0
"""Connections among workers that have a rank of one simulation each.

Every worker listens, and connects to those of lower rank: on its own machine by a Unix socket, else
by TCP.  Both ends show that they know the secret of this simulation (`access.py`), which workers
have from their client.  What ranks send each other later is not encrypted, since the core reads and
writes these sockets between its tasks: as with MPI, the network between them must be trusted.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue

from ..errors import QuiltError
from .access import AccessError, admit, ask_for_admission

_LIMIT = 60.0  # s, for all together
_ONE = 5.0  # s, for one who was admitted to say which rank it has
_NUMBER = 4  # bytes of a rank


@dataclass(frozen=True)
class Address:
    """Address at which a worker waits for others.

    Attributes
    ----------
    host, port:
        For TCP.
    name:
        Name of its Unix socket, in the abstract namespace.
    machine:
        Equal where that can be reached.
    """

    host: str
    port: int
    name: str
    machine: str


class Meeting:
    """Listener of a worker for workers with higher ranks.

    Parameters
    ----------
    everywhere:
        Whether others come from other machines.
    """

    def __init__(self, everywhere: bool) -> None:
        tcp = socket.create_server(("" if everywhere else "127.0.0.1", 0), backlog=64)
        unix = socket.socket(socket.AF_UNIX)
        self._listeners = (tcp, unix)
        name = f"quiltmd-{secrets.token_hex(16)}"
        unix.bind(f"\0{name}")
        unix.listen(64)
        self.address = Address("127.0.0.1", tcp.getsockname()[1], name, _machine())

    def meet(
        self, rank: int, addresses: list[Address], secret: bytes, transport: str = "auto"
    ) -> list[int]:
        """Descriptors of sockets to all others, by rank, and -1 for `rank` itself.

        `transport` is "unix", for ranks of one machine, "tcp", or "auto", the first that reaches.
        QuiltError if somebody cannot be reached so, or does not come within a minute.
        """
        end = time.monotonic() + _LIMIT
        found: dict[int, socket.socket] = {}
        came: SimpleQueue[tuple[int, socket.socket]] = SimpleQueue()
        with ExitStack() as stack:
            for listener in self._listeners:
                stack.enter_context(listener)
                door = threading.Thread(
                    target=self._admit_all, args=(listener, secret, came), daemon=True
                )
                door.start()
                stack.callback(door.join)
                stack.callback(listener.shutdown, socket.SHUT_RDWR)  # nobody is let in any more
            for other in range(rank):
                found[other] = self._connect(other, addresses[other], rank, secret, transport)
            while len(found) < len(addresses) - 1:
                try:
                    other, connection = came.get(timeout=max(end - time.monotonic(), 0.01))
                except Empty:
                    missing = sorted(set(range(len(addresses))) - {rank, *found})
                    raise QuiltError(
                        f"rank {rank} waited a minute for ranks {missing}: can their hosts reach "
                        f"port {self.address.port} of this one?"
                    ) from None
                found[other] = connection
        return [_descriptor(found[r]) if r != rank else -1 for r in range(len(addresses))]

    def _connect(
        self, other: int, address: Address, rank: int, secret: bytes, transport: str
    ) -> socket.socket:
        is_near = address.machine == self.address.machine
        if transport == "unix" and not is_near:
            raise QuiltError(
                f"transport 'unix' joins ranks of one machine, and ranks {other} and {rank} are on "
                "two: leave it out, or use 'tcp'"
            )
        where = f"{address.host}:{address.port}"
        try:
            if is_near and transport != "tcp":
                connection = socket.socket(socket.AF_UNIX)
                connection.settimeout(_LIMIT)
                connection.connect(f"\0{address.name}")
            else:
                connection = socket.create_connection((address.host, address.port), timeout=_LIMIT)
            ask_for_admission(connection, secret)
            connection.sendall(rank.to_bytes(_NUMBER, "little"))
        except (AccessError, OSError) as error:
            raise QuiltError(f"rank {rank} cannot reach rank {other} at {where}: {error}") from None
        return connection

    def _admit_all(
        self,
        listener: socket.socket,
        secret: bytes,
        came: SimpleQueue[tuple[int, socket.socket]],
    ) -> None:
        """Until the listener is shut; each connection by itself, as some say nothing."""

        def admit_one(connection: socket.socket) -> None:
            with suppress(AccessError, OSError):  # somebody else
                came.put((_admitted(connection, secret), connection))

        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=admit_one, args=(connection,), daemon=True).start()


def _machine() -> str:
    """The same for processes that reach each other's Unix sockets."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.stat('/proc/self/ns/net').st_ino}"
    except OSError:  # another system, or it is hidden
        return secrets.token_hex(16)


def _admitted(connection: socket.socket, secret: bytes) -> int:
    """The rank of who has come; AccessError where it is not one of us."""
    try:
        admit(connection, secret, lambda: True)
        connection.settimeout(_ONE)
        number = connection.recv(_NUMBER, socket.MSG_WAITALL)
        if len(number) < _NUMBER:
            raise AccessError("it has ended the connection")
    except BaseException:
        connection.close()
        raise
    return int.from_bytes(number, "little")


def _descriptor(connection: socket.socket) -> int:
    connection.settimeout(None)
    with suppress(OSError):  # a Unix socket has no such option
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection.detach()
