# SPDX-License-Identifier: Apache-2.0
"""`quiltmd serve`: lets those who have the key start workers on this machine.

Each session is a process of its own, with the rights of the user who serves.  The server itself
reads nothing but the 72 bytes of the admission (`access.py`).
"""

from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from ..errors import QuiltError
from .access import Admission, admit
from .launch import spawn_worker
from .tls import make_certificate

_WAITING = 64  # connections that have not shown yet that they have the key
_LOOK_ROUND = 0.2  # s


class Server:
    """Listens from the start, serves in `serve`.

    Parameters
    ----------
    host, port:
        Address and port to listen on; port 0: any free port.
    key:
        Who has it is let in.
    sessions:
        Workers at once, at most.
    tell:
        Is told of sessions and refusals.
    """

    def __init__(
        self, host: str, port: int, key: bytes, sessions: int, tell: Callable[[str], object]
    ) -> None:
        self._key, self._limit, self._tell = key, sessions, tell
        # Sessions by name of the client; None while the worker is being started.
        self._sessions: dict[str, subprocess.Popen[bytes] | None] = {}
        self._lock = threading.Lock()
        self._waiting: dict[socket.socket, None] = {}  # for the key, the oldest first
        self._closed = threading.Event()
        if not host:  # which the system would take for all addresses
            raise QuiltError("an address to listen on is missing: 127.0.0.1, or 0.0.0.0 for all")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._listener = socket.create_server((host.strip("[]"), port), family=family)
        except (OSError, TypeError) as error:  # TypeError: of names that no host can have
            why = getattr(error, "strerror", None) or error  # with the address
            raise QuiltError(f"cannot listen: {why}") from None
        self._certificate = make_certificate()
        self._listener.settimeout(_LOOK_ROUND)
        self.port: int = self._listener.getsockname()[1]

    def serve(self) -> None:
        """Serves until `close`, which ends all workers."""
        try:
            while not self._closed.is_set():
                self._accept()
                with self._lock:
                    self._forget_ended()
        finally:
            self._listener.close()
            with self._lock:
                self._closed.set()
                for worker in self._sessions.values():
                    if worker is not None:
                        worker.kill()
                        worker.wait()

    def close(self) -> None:
        """Has `serve` return soon."""
        self._closed.set()

    def _accept(self) -> None:
        """Takes a connection, if one comes soon; none of its errors ends the server."""
        try:
            connection, address = self._listener.accept()
        except TimeoutError:
            return
        except OSError as error:  # of a network, or too many open files
            self._tell(f"a connection could not be taken: {error.strerror}")
            self._closed.wait(_LOOK_ROUND)
            return
        with self._lock:
            self._make_room()
            self._waiting[connection] = None
        try:
            threading.Thread(target=self._admit, args=(connection, address), daemon=True).start()
        except RuntimeError as error:  # the system has no more threads
            self._forget_waiting(connection)
            connection.close()
            self._tell(f"a connection could not be taken: {error}")

    def _admit(self, connection: socket.socket, address: tuple[str, int]) -> None:
        name = f"{address[0]}:{address[1]}"
        try:
            with connection:
                takes_place = partial(self._takes_place, connection, name)
                admission = admit(connection, self._key, takes_place, self._certificate)
                if admission is None:
                    self._tell(f"no room for {name}: {self._limit} session(s) are under way")
                else:
                    self._start(connection, admission, name)
        except (QuiltError, OSError) as error:
            with self._lock:
                self._sessions.pop(name, None)
            self._tell(f"{name} was not let in: {error}")
        finally:
            self._forget_waiting(connection)

    def _make_room(self) -> None:
        """Ends the connection that has waited longest, where there are many.

        Who has the key shows it in the first milliseconds; who keeps others out has none.
        """
        if len(self._waiting) >= _WAITING:
            oldest = next(iter(self._waiting))
            del self._waiting[oldest]
            with suppress(OSError):  # it has ended
                oldest.shutdown(socket.SHUT_RDWR)

    def _forget_waiting(self, connection: socket.socket) -> None:
        with self._lock:
            self._waiting.pop(connection, None)

    def _takes_place(self, connection: socket.socket, name: str) -> bool:
        """Takes one of the places for sessions, if one is left, for who has the key."""
        with self._lock:
            self._waiting.pop(connection, None)
            self._forget_ended()
            if len(self._sessions) >= self._limit:
                return False
            self._sessions[name] = None
            return True

    def _forget_ended(self) -> None:
        self._sessions = {
            name: worker
            for name, worker in self._sessions.items()
            if worker is None or worker.poll() is None
        }

    def _start(self, connection: socket.socket, admission: Admission, name: str) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            if self._closed.is_set():
                return
            worker = self._sessions[name] = spawn_worker(
                connection, admission.token, self._certificate
            )
        self._tell(f"a session for {name}, process {worker.pid}")
