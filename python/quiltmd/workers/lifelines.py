# SPDX-License-Identifier: Apache-2.0
"""Connections by which processes of one run learn that its first process has ended, and how.

Apart from `mpi`, which makes them: the command looks at them whenever it ends, and most commands
have no need of MPI.
"""

from __future__ import annotations

import os
from contextlib import suppress

_lifelines: list[int] = []  # descriptors of process 0, one for each of the others


def note(descriptor: int) -> None:
    """Process 0 has one more."""
    _lifelines.append(descriptor)


def share_status(status: int) -> None:
    """Tells the others the exit status of process 0, which is about to end: they end with it.

    MPICH's launcher gives one of the statuses or several at once, so all should be the same.
    """
    for lifeline in _lifelines:
        with suppress(OSError):  # it has ended
            os.write(lifeline, bytes([status & 0xFF]))
