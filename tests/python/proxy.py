# SPDX-License-Identifier: Apache-2.0
"""A network between two ends of a TCP connection: slow, or cut."""

from __future__ import annotations

import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from worker_costs import network


class Proxy(network.Proxy):
    """Passes on what comes to its port, late by `delay` seconds, until `cut` is called."""

    def __init__(self, target: int, delay: float = 0.0) -> None:
        self.passed = 0
        self._silent = threading.Event()
        super().__init__(target, delay)

    def cut(self) -> None:
        """Ends all connections; both ends are told."""
        for end in self.ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def silence(self) -> None:
        """From here on nothing comes through, and neither end is told."""
        self._silent.set()

    def pass_on(self, data: bytes, target: socket.socket) -> None:
        if self._silent.is_set():
            threading.Event().wait()
        self.passed += len(data)
        super().pass_on(data, target)
