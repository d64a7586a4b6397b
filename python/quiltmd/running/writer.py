# SPDX-License-Identifier: Apache-2.0
"""The thread that writes the output of a run while the run continues.

Frames are reported in the order in which they were taken, all by one thread, so that files are the
same as without it.  At most two frames are pending, one being written and one that waits or is
still being copied from the device; a run that is faster than its disk waits for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from types import TracebackType

UNDER_WAY = 2


class Writer:
    """A context that does jobs in another thread, in order; on leaving, all are done.

    An error of a job is the last thing done: later jobs are dropped, and the error is raised by the
    next call here, at the latest on leaving.  As it came first it takes the place of an error that
    ends the context.
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._room = threading.Semaphore(UNDER_WAY)
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None

    def check(self) -> None:
        """Raises the error of a job, if there was one."""
        if self._error is not None:
            raise self._error

    def wait_for_room(self) -> None:
        """Returns when there is room for one more job and the memory that it holds: one `put`."""
        self._room.acquire()
        self.check()

    def put(self, job: Callable[[], None]) -> None:
        """Has the job done."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="quiltmd-writer")
            self._thread.start()
        self._jobs.put(job)

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
        if error is None or isinstance(error, Exception):
            self.check()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                if self._error is None:
                    job()
            except BaseException as error:
                self._error = error
            del job  # and the frame it holds
            self._room.release()
