# SPDX-License-Identifier: Apache-2.0
"""Commands to a device in a worker, carried by the connection to it.

The core of the client writes commands to a socket, and the core of the worker reads them from
another; in between they travel as messages, so that whatever keeps a connection safe and notices
its end holds for them as well.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from ..errors import LostError
from .channel import Channel

FORWARDED = "forwarded"  # the field of a message that has such bytes
_PIECE = 2**20  # bytes


class Relay:
    """Passes bytes on between a socket and a connection.

    Parameters
    ----------
    channel:
        The connection.
    ended:
        Called once the socket's other end is closed, in another thread.

    Attributes
    ----------
    outer:
        The end of the socket that is for the core.
    """

    def __init__(self, channel: Channel, ended: Callable[[], object]) -> None:
        self._channel, self._ended = channel, ended
        self._inner, self.outer = socket.socketpair()

    def start(self) -> None:
        """From here on bytes of the socket are sent."""
        threading.Thread(target=self._send, name="quiltmd-forwarding", daemon=True).start()

    def take(self, data: Any) -> None:
        """Bytes that have arrived; waits where the core does not keep up."""
        with suppress(OSError):  # it is gone, which the other direction finds out
            self._inner.sendall(data)

    def close(self) -> None:
        """Tells the core that the connection has ended."""
        with suppress(OSError):
            self._inner.shutdown(socket.SHUT_RDWR)

    def _send(self) -> None:
        data = np.empty(_PIECE, np.uint8)
        with suppress(OSError, LostError):
            while count := self._inner.recv_into(data.data):
                self._channel.send({FORWARDED: data[:count]})
        self._ended()
