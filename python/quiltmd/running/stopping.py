# SPDX-License-Identifier: Apache-2.0
"""When a run must stop before its last step: on a signal or request, or when its time is up.

People press Ctrl-C; batch systems warn with other signals that a job's time, or its machine, will
soon be gone.  All of them ask for the same: a checkpoint, and an exit status that says that the run
can be carried on.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterable
from types import FrameType, TracebackType
from typing import Any

from ..errors import QuiltError

SIGNALS = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGXCPU,
)

# Exit statuses of a process that stopped before its end, with a checkpoint if it had begun.
INTERRUPTED = 130  # by Ctrl-C, as shells expect it
STOPPED = 75  # by another signal, or as its time was up: EX_TEMPFAIL of sysexits.h, try again


def leave_on_signals() -> None:
    """For the beginning of a process: signals end it at once, with the status that tells of them.

    Nothing has been written so far.  A signal that was ignored stays ignored.
    """
    for kind in SIGNALS:
        if signal.getsignal(kind) not in (signal.SIG_IGN, None):
            signal.signal(kind, _leave)


def act_as_usual(kinds: Iterable[signal.Signals]) -> None:
    """Ends what `leave_on_signals` began, for some signals."""
    for kind in kinds:
        if signal.getsignal(kind) is _leave:
            usual = signal.default_int_handler if kind == signal.SIGINT else signal.SIG_DFL
            signal.signal(kind, usual)


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(INTERRUPTED if number == signal.SIGINT else STOPPED)


class Stopping:
    """A context in which signals ask for a stop instead of ending the process.

    Ctrl-C acts at once, as usual, until `take_interrupts` is called, and the second time.  Other
    signals may come again without harm, as batch systems send them to each process of a job and
    often twice.  A signal that was ignored before, such as SIGHUP under nohup, stays ignored.

    Parameters
    ----------
    max_hours:
        After which the run must stop; None: never.
    begun:
        When these hours began, s of `time.monotonic`.

    Raises
    ------
    QuiltError
        If `max_hours` is not positive.
    """

    def __init__(self, max_hours: float | None, begun: float) -> None:
        self.signal: signal.Signals | None = None
        self._asked: str | None = None
        if max_hours is not None and not max_hours > 0:
            raise QuiltError(f"max_hours must be positive, and is {max_hours:g}")
        self._end = None if max_hours is None else begun + 3600 * max_hours
        self._before: dict[signal.Signals, Any] = {}

    def __bool__(self) -> bool:
        """Whether to stop."""
        return self.signal is not None or self._asked is not None or self._is_late()

    def ask(self, reason: str) -> None:
        """Asks for a stop, for a reason in words; from any thread."""
        self._asked = reason

    def reason(self) -> str:
        """Why, in words."""
        if self.signal is not None:
            return self.signal.name
        return self._asked or "the time allowed is up"

    def __enter__(self) -> Stopping:
        for kind in SIGNALS:
            if kind != signal.SIGINT:
                self._take(kind)
        return self

    def take_interrupts(self) -> None:
        """From here on Ctrl-C asks for a stop too, as there is something to save."""
        self._take(signal.SIGINT)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def _take(self, kind: signal.Signals) -> None:
        before = signal.getsignal(kind)
        is_main = threading.current_thread() is threading.main_thread()  # others get no signals
        if is_main and before not in (signal.SIG_IGN, None):
            self._before[kind] = before
            signal.signal(kind, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        kind = signal.Signals(number)
        if self.signal is None:
            self.signal = kind
        if kind == signal.SIGINT:
            signal.signal(kind, self._before[kind])

    def _is_late(self) -> bool:
        return self._end is not None and time.monotonic() >= self._end


def ignore_further_signals() -> None:
    """For the end of a process: its exit status must tell of the command that it was for alone.

    Ctrl-C ends it where it does not come to its end, without a word of Python.
    """
    for kind in SIGNALS:
        ignored = kind != signal.SIGINT or signal.getsignal(kind) is signal.SIG_IGN
        signal.signal(kind, signal.SIG_IGN if ignored else signal.SIG_DFL)
