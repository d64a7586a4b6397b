# SPDX-License-Identifier: Apache-2.0
"""Connections among workers that have a rank of one simulation each.

Every worker listens, and connects to those of lower rank.  Both ends show that they know the secret
of this simulation (`access.py`), which workers have from their client.  What ranks send each other
later is neither sealed nor encrypted: as with MPI, the network between them must be trusted.
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from queue import Empty, SimpleQueue

from ..errors import QuiltError
from .access import AccessError, admit, ask_for_admission

_LIMIT = 60.0  # s, for all together
_ONE = 5.0  # s, for one who was admitted to say which rank it has
_NUMBER = 4  # bytes of a rank


class Meeting:
    """Where one worker waits for those of higher rank.

    Parameters
    ----------
    everywhere:
        Whether others come from other machines.
    """

    def __init__(self, everywhere: bool) -> None:
        self._listener = socket.create_server(("" if everywhere else "127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]

    def meet(self, rank: int, addresses: list[tuple[str, int]], secret: bytes) -> list[int]:
        """Descriptors of sockets to all others, by rank, and -1 for `rank` itself.

        QuiltError where somebody does not come within a minute.
        """
        end = time.monotonic() + _LIMIT
        found: dict[int, socket.socket] = {}
        came: SimpleQueue[tuple[int, socket.socket]] = SimpleQueue()
        with self._listener:
            door = threading.Thread(target=self._admit_all, args=(secret, came), daemon=True)
            door.start()
            for other in range(rank):
                found[other] = _visit(addresses[other], rank, secret)
            while len(found) < len(addresses) - 1:
                try:
                    other, visitor = came.get(timeout=max(end - time.monotonic(), 0.01))
                except Empty:
                    missing = sorted(set(range(len(addresses))) - {rank, *found})
                    raise QuiltError(
                        f"rank {rank} waited a minute for ranks {missing}: can their hosts reach "
                        f"port {self.port} of this one?"
                    ) from None
                found[other] = visitor
            self._listener.shutdown(socket.SHUT_RDWR)  # nobody is let in any more
            door.join()
        return [_descriptor(found[r]) if r != rank else -1 for r in range(len(addresses))]

    def _admit_all(self, secret: bytes, came: SimpleQueue[tuple[int, socket.socket]]) -> None:
        """Until the listener is shut; each visitor by itself, as some say nothing."""

        def admit_one(visitor: socket.socket) -> None:
            with suppress(AccessError, OSError):  # somebody else
                came.put((_admitted(visitor, secret), visitor))

        with suppress(OSError):
            while True:
                visitor, _ = self._listener.accept()
                threading.Thread(target=admit_one, args=(visitor,), daemon=True).start()


def _visit(address: tuple[str, int], rank: int, secret: bytes) -> socket.socket:
    host, port = address
    try:
        connection = socket.create_connection((host, port), timeout=_LIMIT)
        ask_for_admission(connection, secret)
        connection.sendall(rank.to_bytes(_NUMBER, "little"))
    except (AccessError, OSError) as error:
        raise QuiltError(f"rank {rank} cannot reach {host}:{port}: {error}") from None
    return connection


def _admitted(visitor: socket.socket, secret: bytes) -> int:
    """The rank of who has come; AccessError where it is not one of us."""
    try:
        admit(visitor, secret, lambda: True)
        visitor.settimeout(_ONE)
        number = visitor.recv(_NUMBER, socket.MSG_WAITALL)
        if len(number) < _NUMBER:
            raise AccessError("it has ended the connection")
    except BaseException:
        visitor.close()
        raise
    return int.from_bytes(number, "little")


def _descriptor(connection: socket.socket) -> int:
    connection.settimeout(None)
    with suppress(OSError):  # a Unix socket has no such option
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection.detach()
