# SPDX-License-Identifier: Apache-2.0
"""An engine that computes nothing, and workers that have one: what is left is the exchange itself.

Workers are processes of this machine, forked from one that has imported all that they need: they
start at once, and share the memory of what they have in common.  So a thousand fit where processes
with a device of their own would not.

    python null_engine.py MILLISECONDS DESCRIPTOR...

is that process; the descriptors are of sockets, one for each worker.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import numpy as np

from quiltmd.starting import Starting
from quiltmd.workers.channel import Channel
from quiltmd.workers.client import Connection, WorkerEngine, check_hello
from quiltmd.workers.session import Session

_SPREAD = 100.0  # kJ/mol, of energies
_GROUPS = ("lj", "lj14", "coulomb", "coulomb14", "pme", "dispersion")


class NullEngine:
    """See `quiltmd.engine.core.Engine`, as far as an exchange needs it.

    Atoms stay where they are, and the energy is another one in every capture.  `seconds` is how
    long a call of `run` takes.
    """

    def __init__(
        self, system: Any, nonbonded: Any, integrator: Any, run: Any, seconds: float = 0.0
    ) -> None:
        self._noise = np.random.default_rng(integrator["seed"])
        self._seconds = seconds

    def set_state(self, **state: Any) -> None:
        """Sets the state."""
        self._state = state

    def run(self, steps: int) -> None:
        """Counts the steps."""
        if self._seconds:
            time.sleep(self._seconds)
        self._state["step"] += steps

    def describe(self) -> dict[str, float]:
        """That it takes no memory, and removes no momentum."""
        return {"bytes_per_atom": 0.0, "remove_com_every": 0.0}

    def capture(self, **contents: bool) -> NullFrame:
        """The state, and an energy at random."""
        return NullFrame(self._state, float(self._noise.normal(0, _SPREAD)))

    read = capture


class NullFrame:
    """What `NullEngine` captures; see `quiltmd.engine.core.Captured`."""

    def __init__(self, state: dict[str, Any], potential: float) -> None:
        self.step, self.box = state["step"], state["box"]
        self._state, self._potential = dict(state), potential

    def heat(self) -> float:
        """None."""
        return 0.0

    def energies(self) -> dict[str, float]:
        """All zero but the potential."""
        parts = dict.fromkeys(_GROUPS, 0.0)
        return parts | {"potential": self._potential, "kinetic": 0.0, "heat": 0.0}

    def tensors(self) -> dict[str, Any]:
        """Zero."""
        return {"virial": np.zeros((3, 3)), "kinetic": np.zeros((3, 3))}

    def state(self) -> dict[str, Any]:
        """As it was set."""
        return self._state


class NullWorkers:
    """So many workers; called as a factory of engines, each is in the next of them."""

    def __init__(self, sockets: list[socket.socket]) -> None:
        self._sockets = sockets
        self._next = iter(range(len(sockets)))

    def connect(self) -> Connection:
        """To the next worker."""
        number = next(self._next)
        connection = Connection(
            channel_of(self._sockets[number]), f"worker {number}", lambda error: ""
        )
        check_hello(connection, connection.call("hello"))
        return connection

    def __call__(
        self, system: Any, nonbonded: Any, integrator: Any, run: dict[str, Any]
    ) -> WorkerEngine:
        """The engine of the next worker."""
        connection = self.connect()
        execution = {"device": "cpu", "threads": 1}
        return WorkerEngine(connection, system, nonbonded, integrator, execution)


@contextmanager
def null_workers(count: int, seconds: float = 0.0) -> Iterator[NullWorkers]:
    """Worker processes whose runs take so many seconds each; they end with the context."""
    pairs = [socket.socketpair() for _ in range(count)]
    theirs = [pair[1].fileno() for pair in pairs]
    command = [sys.executable, __file__, str(1e3 * seconds), *map(str, theirs)]
    start = partial(
        subprocess.Popen, command, stdin=subprocess.DEVNULL, pass_fds=theirs, start_new_session=True
    )
    with Starting() as starting:
        starting.start(start, subprocess.Popen.wait)
        for ours, end in pairs:
            starting.callback(_shut, ours)
            end.close()
        yield NullWorkers([ours for ours, _ in pairs])


def _shut(end: socket.socket) -> None:
    with suppress(OSError):  # the worker has ended
        end.shutdown(socket.SHUT_RDWR)


def channel_of(end: socket.socket) -> Channel:
    """Messages over a socket."""
    number = end.fileno()
    return Channel(number, number, partial(end.shutdown, socket.SHUT_RDWR))


def main() -> None:
    """Forks a worker for each descriptor, and waits for their ends."""
    seconds = 1e-3 * float(sys.argv[1])
    ends = [socket.socket(fileno=int(text)) for text in sys.argv[2:]]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for own in ends:
        if os.fork() == 0:
            for end in ends:
                if end is not own:
                    end.close()
            factory: Any = partial(NullEngine, seconds=seconds)
            Session(channel_of(own), factory).serve(gone=lambda _: os._exit(0))
    for end in ends:
        end.close()
    for _ in ends:
        os.wait()


if __name__ == "__main__":
    main()
