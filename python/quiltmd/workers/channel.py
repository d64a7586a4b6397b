# SPDX-License-Identifier: Apache-2.0
"""A connection that carries messages both ways, and notices when the other end is gone.

Any thread may send, one receives.  A connection that has nothing to say sends a heartbeat each
second; an end that hears nothing for some time takes the other for lost, whether its process was
stopped, its machine is gone or the network between was cut.  Time in which an end was itself
stopped, as in a suspended job, does not count.  Heartbeats also keep a connection fast: after an
idle time of 10 ms an answer by TCP takes ten times as long.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

import numpy as np

from ..errors import LostError
from . import wire

HEARTBEAT = 1.0  # s
_ALIVE = {"alive": True}
_START = 120.0  # s
_PIECE = 2**20  # bytes read or written at once


class SilentError(LostError):
    """The other end says nothing, though the connection has not ended."""


class Seal(Protocol):
    """Marks of authenticity at the end of each message."""

    size: int

    def mark(self, parts: list[bytes | memoryview]) -> bytes:
        """The mark of the next message that is sent."""

    def check(self, parts: list[memoryview], mark: memoryview) -> bool:
        """Whether this is the mark of the next message that is received."""


class Channel:
    """Messages over file descriptors.

    Parameters
    ----------
    read, write:
        File descriptors, the same one for a socket.
    close:
        Ends the connection, so that threads which read or write return; may come twice.
    silence:
        Seconds without a byte after which the other end counts as lost; None: for ever.  Before
        its first message an end may be silent for two minutes, as processes start slowly on busy
        machines.
    seal:
        Where others could write into the connection.
    """

    def __init__(
        self,
        read: int,
        write: int,
        close: Callable[[], None],
        silence: float | None = None,
        seal: Seal | None = None,
    ) -> None:
        self._read, self._write, self._end = read, write, close
        self._silence = None if silence is None else max(silence, _START)
        self._silence_later, self._seal = silence, seal
        self._sending = threading.Lock()
        self._closed = threading.Event()
        self._sent_at = time.monotonic()
        self._poll = select.poll()
        self._poll.register(read, select.POLLIN)

    def start_heartbeat(self) -> None:
        """From here on heartbeats are sent while nothing else is."""
        threading.Thread(target=self._beat, name="quiltmd-heartbeat", daemon=True).start()

    def send(self, value: dict[str, Any]) -> None:
        """Sends a message; LostError where the other end is gone."""
        parts = wire.encode(value)
        with self._sending:
            if self._seal is not None:
                parts.append(self._seal.mark(parts))
            self._write_all(parts)
            self._sent_at = time.monotonic()

    def receive(self) -> dict[str, Any]:
        """The next message; LostError where there will be none."""
        while True:
            head = self._read_all(wire.HEAD.size)
            header_length, body_length = wire.lengths(head)
            header = self._read_all(header_length)
            body = self._read_all(body_length)
            if self._seal is not None:
                mark = self._read_all(self._seal.size)
                if not self._seal.check([head, header, body], mark):
                    raise LostError("a message was changed on its way, or is not the next one")
            self._silence = self._silence_later
            message = wire.decode(header, body)
            if not isinstance(message, dict):
                raise wire.WireError("a message has no fields")
            if message != _ALIVE:
                return message

    def close(self) -> None:
        """Ends the connection."""
        self._closed.set()
        with suppress(OSError):
            self._end()

    def _beat(self) -> None:
        while not self._closed.wait(HEARTBEAT):
            if time.monotonic() - self._sent_at >= HEARTBEAT / 2:
                try:
                    self.send(_ALIVE)
                except LostError:
                    return

    def _write_all(self, parts: list[bytes | memoryview]) -> None:
        for part in parts:
            left = memoryview(part)
            while left:
                try:
                    left = left[os.write(self._write, left[:_PIECE]) :]
                except OSError as error:
                    raise LostError(f"the connection has ended ({error.strerror})") from None

    def _await_bytes(self) -> None:
        """Until some have come; in steps of a heartbeat, however long one took by the clock."""
        if self._silence is None:
            return
        left = self._silence
        while not self._poll.poll(1e3 * min(left, HEARTBEAT)):
            left -= HEARTBEAT
            if left <= 0:
                raise SilentError(f"nothing was heard of it for {self._silence:g} s")

    def _read_all(self, count: int) -> memoryview:
        """So many bytes.  What is announced and never comes takes no memory, unlike a bytearray."""
        data = np.empty(count, np.uint8).data
        left = data
        while left:
            self._await_bytes()
            try:
                got = os.readv(self._read, [left[:_PIECE]])
            except OSError as error:
                raise LostError(f"the connection has ended ({error.strerror})") from None
            if got == 0:
                raise LostError("the connection has ended")
            left = left[got:]
        return data
