# SPDX-License-Identifier: Apache-2.0
"""No thread is inside the core when the interpreter ends.

A daemon thread may still run a simulation then.  Coming back from the core it would ask for an
interpreter that is gone, which Python answers by ending the thread; that unwinds C++ code which
cannot be unwound, and aborts the process.  So the end of the process waits for the calls under way,
a run's next piece of about half a second, and lets no other begin.
"""

from __future__ import annotations

import atexit
import threading


class CallGate:
    """A context that any number of threads may be in, until it is closed."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._closed = False

    def __enter__(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._closed)  # once closed, for ever
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._changed:
            self._inside -= 1
            self._changed.notify_all()

    def close(self) -> None:
        """Returns when the last thread has left; no other gets in."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: self._inside == 0)


core_calls = CallGate()
atexit.register(core_calls.close)
