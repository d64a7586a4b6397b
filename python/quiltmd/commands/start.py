# SPDX-License-Identifier: Apache-2.0
"""Entry point of the command `quiltmd`.

What must be right before the first large module is imported: that takes a second, in which signals
may come, and opens files, which must not take the place of a closed stdout or stderr.
"""

from __future__ import annotations

import os
import resource
import sys
from types import TracebackType

from ..running.stopping import leave_on_signals

_LEAST = 512 << 20  # bytes of addresses; modules and core take 300 MiB


def main() -> None:
    """Runs the command that the arguments name."""
    open_closed_streams()
    leave_on_signals()
    end_without_traceback_on_interrupts()
    refuse_too_few_addresses()
    # A thread for each core otherwise, twice, with 40 MB of addresses each, and none has any work.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from .cli import main as run_command

    run_command()


def end_without_traceback_on_interrupts() -> None:
    """Has Ctrl-C end the process without a traceback wherever no command answers it any more.

    A second one may come while the first is being answered, or while an error is.
    """
    usual = sys.excepthook

    def show(
        kind: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> None:
        if not issubclass(kind, KeyboardInterrupt):
            usual(kind, error, traceback)

    sys.excepthook = show


def refuse_too_few_addresses() -> None:
    """Ends the process where `ulimit -v` leaves no room for the modules themselves.

    Some of the libraries then wait for ever, others end the process without a word.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < _LEAST:
        sys.exit(
            f"error: this process may use {limit >> 20} MiB of addresses (ulimit -v), and needs "
            f"{_LEAST >> 20} MiB before it reads any input: raise the limit, or take it away with "
            "'ulimit -v unlimited'"
        )


def open_closed_streams() -> None:
    """Makes /dev/null of stdin, stdout and stderr where the process was started without them."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))
