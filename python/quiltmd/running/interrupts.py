# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C in the middle of what must not be broken off anywhere."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def interrupt_deferred() -> Iterator[Callable[[], bool]]:
    """Makes Ctrl-C a question, whether it came, and raises KeyboardInterrupt at the end.

    A second Ctrl-C acts at once.  Where Ctrl-C does something else already, that is left alone.
    """
    received: list[int] = []

    def note(number: int, frame: object) -> None:
        received.append(number)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield lambda: False
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(received)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if received:
        raise KeyboardInterrupt
