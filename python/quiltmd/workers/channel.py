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
from typing import Any

import numpy as np

from ..errors import LostError
from . import wire
from .tls import Encryption

HEARTBEAT = 1.0  # s
_ALIVE = {"alive": True}
_START = 120.0  # s
_PIECE = 2**20  # bytes read or written at once
_SMALL = 2**14  # bytes: what is smaller is read and written together


class ClosedError(LostError):
    """The other end has closed the connection, or its process has ended."""


class SilentError(LostError):
    """The other end says nothing, though the connection has not ended."""


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
    encryption:
        Encryption, if others could read the connection or write to it.
    """

    def __init__(
        self,
        read: int,
        write: int,
        close: Callable[[], None],
        silence: float | None = None,
        encryption: Encryption | None = None,
    ) -> None:
        self._read, self._write, self._end = read, write, close
        self._silence = None if silence is None else max(silence, _START)
        self._silence_later, self._encryption = silence, encryption
        self._sending = threading.Lock()
        self._closed = threading.Event()
        self._opened = threading.Event()  # what is sent may go out
        if encryption is None:
            self._opened.set()
        self._sent_at = time.monotonic()
        self._buffer = np.empty(_SMALL, np.uint8).data
        self._encrypted = np.empty(_PIECE if encryption else 0, np.uint8).data
        self._ahead = self._buffer[:0]  # what was read with a message before
        self._poll = select.poll()
        self._poll.register(read, select.POLLIN)

    def start_heartbeat(self) -> None:
        """From here on heartbeats are sent while nothing else is."""
        threading.Thread(target=self._beat, name="quiltmd-heartbeat", daemon=True).start()

    def send(self, value: dict[str, Any]) -> None:
        """Sends a message; LostError if the other end is gone."""
        parts = wire.encode(value)
        if sum(map(len, parts)) > _SMALL:
            self._opened.wait()  # what is small is kept until then
        with self._sending:
            self._write_all(parts)
            self._sent_at = time.monotonic()

    def receive(self) -> dict[str, Any]:
        """The next message; LostError if there will be none."""
        while True:
            head = self._read_all(wire.HEAD.size)
            header_length, body_length = wire.lengths(head)
            header = self._read_all(header_length)
            body = self._read_all(body_length)
            self._silence = self._silence_later
            message = wire.decode(header, body)
            if not isinstance(message, dict):
                raise wire.WireError("a message has no fields")
            if message != _ALIVE:
                return message

    def close(self) -> None:
        """Ends the connection."""
        self._closed.set()
        self._opened.set()
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
        if sum(map(len, parts)) <= _SMALL:
            parts = [b"".join(parts)]
        for part in parts:
            for begin in range(0, len(part), _PIECE):
                piece = memoryview(part)[begin : begin + _PIECE]
                self._write_piece(self._encryption.encrypt(piece) if self._encryption else piece)

    def _write_piece(self, piece: bytes | memoryview) -> None:
        left = memoryview(piece)
        while left:
            try:
                left = left[os.write(self._write, left) :]
            except OSError as error:
                raise ClosedError(f"the connection has ended ({error.strerror})") from None

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
        """`count` bytes.  Announced bytes that never come take no memory, unlike a bytearray."""
        data = np.empty(count, np.uint8).data
        left = data
        while left:
            if len(left) > _SMALL and not self._ahead:
                left = left[self._read_into(left[:_PIECE]) :]
                continue
            if not self._ahead:
                self._ahead = self._buffer[: self._read_into(self._buffer)]
            taken = min(len(left), len(self._ahead))
            left[:taken] = self._ahead[:taken]
            left, self._ahead = left[taken:], self._ahead[taken:]
        return data

    def _read_into(self, target: memoryview) -> int:
        """Reads what there is, once there is something."""
        if self._encryption is None:
            return self._read_piece(target)
        if not self._encryption.is_open:
            self._open(self._encryption)
        while not (got := self._encryption.decrypt_into(target)):
            self._take_in(self._encryption)
        return got

    def _open(self, encryption: Encryption) -> None:
        """Shakes hands, and sends what had to wait for that."""
        while True:
            with self._sending:
                self._write_piece(encryption.shake_hands())
            if encryption.is_open:
                break
            self._take_in(encryption)
        self._opened.set()

    def _take_in(self, encryption: Encryption) -> None:
        encryption.take_in(self._encrypted[: self._read_piece(self._encrypted)])

    def _read_piece(self, target: memoryview) -> int:
        self._await_bytes()
        try:
            got = os.readv(self._read, [target])
        except OSError as error:
            raise ClosedError(f"the connection has ended ({error.strerror})") from None
        if got == 0:
            raise ClosedError("the connection has ended")
        return got
