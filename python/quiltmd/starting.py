# SPDX-License-Identifier: Apache-2.0
"""Processes and threads are ended with what started them, whenever Ctrl-C comes.

Python runs signal handlers in the main thread, between any two of its instructions: also after a
process was made and before a variable holds it, or inside of `Popen` itself.  So what must be ended
again is started, and noted, in another thread, which no signal breaks off.
"""

from __future__ import annotations

import _thread
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from types import TracebackType
from typing import TypeVar

Made = TypeVar("Made")
_LOOK = 0.001  # s


class Starting(ExitStack[None]):
    """A context that ends what was started in it, the last first.

    Where that has come into other hands, `pop_all` leaves it as it is.
    """

    def start(self, make: Callable[[], Made], end: Callable[[Made], object]) -> Made:
        """Result of `make`, to be ended by `end`.

        Where a signal handler raises an error meanwhile, that is raised once `make` has returned
        and the context knows what is to be ended; so `make` should not take long.
        """

        def noted() -> Made:
            made = make()
            self.callback(end, made)
            return made

        return _unbroken(noted)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _unbroken(partial(super().__exit__, kind, error, traceback))


def _unbroken(action: Callable[[], Made]) -> Made:
    """Result of an action; errors of signal handlers are raised only after it.

    By primitives that are written in C: conditions and events of `threading` are Python themselves,
    and can be broken off while they hold a lock.
    """
    if threading.current_thread() is not threading.main_thread():
        return action()
    begun = threading.Lock()  # taken by the thread, or by this one, where it has given up before
    awake = threading.Lock()
    awake.acquire()
    results: list[Made] = []
    errors: list[BaseException] = []

    def act() -> None:
        if begun.acquire(blocking=False):
            try:
                results.append(action())
            except BaseException as error:
                errors.append(error)
            awake.release()

    try:
        _thread.start_new_thread(act, ())
        awake.acquire()
    finally:
        while not (results or errors or begun.acquire(blocking=False)):
            time.sleep(_LOOK)
    if errors:
        raise errors[0]
    return results[0]
