# SPDX-License-Identifier: Apache-2.0
"""A server of this machine, and a slow network to it."""

from __future__ import annotations

import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from quiltmd.starting import Starting
from quiltmd.workers.access import make_key, read_key
from quiltmd.workers.server import Server

_SESSIONS = 64
_PIECE = 1 << 16  # bytes


@contextmanager
def server_here() -> Iterator[tuple[int, Path]]:
    """A server of this machine: its port, and the file of its key."""
    with tempfile.TemporaryDirectory() as folder:
        key = Path(folder) / "key"
        make_key(key)
        server = Server("127.0.0.1", 0, read_key(key), _SESSIONS, lambda text: None)
        thread = threading.Thread(target=server.serve, daemon=True)

        def end(_: None) -> None:
            server.close()
            thread.join()

        with Starting() as starting:
            starting.start(thread.start, end)
            yield server.port, key


class Proxy:
    """Between clients and a port of this machine: passes on what comes, late by `delay` seconds.

    Attributes
    ----------
    port:
        Where clients connect.
    ends:
        The sockets of all connections, at both sides.
    """

    def __init__(self, target: int, delay: float = 0.0) -> None:
        self._target, self._delay = target, delay
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.ends: list[socket.socket] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def pass_on(self, data: bytes, target: socket.socket) -> None:
        """Sends what has come."""
        target.sendall(data)

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._target))
                for end in (near, far):  # or small messages would wait for acknowledgements
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.ends += [near, far]
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=ends, daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(_PIECE):
                time.sleep(self._delay)
                self.pass_on(data, target)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def slept(delay: float) -> float:
    """How long a delay of so many ms takes, by the timer of the system, ms."""
    taken = []
    for _ in range(50):
        begin = time.perf_counter()
        time.sleep(1e-3 * delay)
        taken.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(taken)
