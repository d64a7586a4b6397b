# SPDX-License-Identifier: Apache-2.0
"""One simulation on several workers: each has a rank of it, and they send each other messages.

All workers make the same calls in the same order; what the first gives is given.  Ranks of workers
talk to each other directly; the client only says what is to be done.
"""

from __future__ import annotations

import itertools
import secrets
import socket
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from ..engine.core import RunsThenCaptures
from ..engine.hosts import in_words, started
from ..engine.places import Place
from ..engine.worker_settings import Workers
from ..errors import LostError, PeerError, QuiltError, QuiltWarning
from . import mpi
from .client import Connection, WorkerEngine, WorkerFrame

_SECRET = 32  # bytes
_LOCAL = "127.0.0.1"


def introduce(
    connections: list[Connection], places: list[Place], settings: Workers, transport: str
) -> None:
    """Has workers connect to each other, a rank for each in this order.

    `settings` say after how long a silence one will count as lost among them.  `transport` is that
    of `Execution`, between processes.
    """
    hosts = _hosts(places)
    if not settings.trust_network and any(place.kind in ("ssh", "remote") for place in places):
        _warn_of_listeners(hosts)
    everywhere = set(hosts) != {_LOCAL}
    found = _all([c.begin("listen", everywhere) for c in connections])
    addresses = [{**own, "host": host} for own, host in zip(found, hosts, strict=True)]
    secret = secrets.token_hex(_SECRET)
    known = (_reached(addresses), secret, settings.silence, transport)
    _all([c.begin("meet", rank, *known) for rank, c in enumerate(connections)])


def _warn_of_listeners(hosts: list[str]) -> None:
    """Warns that messages between ranks on several hosts are not encrypted."""
    if len(set(hosts)) > 1:
        text = (
            f"ranks on {in_words(hosts)} send each other positions and forces unencrypted, as "
            "MPI does: if others may read the network between them, use one host, or a VPN; if "
            "not, set trust_network = true in [workers]"
        )
        warnings.warn(QuiltWarning(text), stacklevel=2)


def _hosts(places: list[Place]) -> list[str]:
    """Under which name other workers reach the machine of each place."""
    if all(place.kind == "worker" for place in places):
        return [_LOCAL] * len(places)
    if any(place.kind == "mpi" for place in places):
        return [mpi.address_of(started(place.process)) for place in places]
    return [
        socket.getfqdn() if place.kind == "worker" else place.host.rpartition("@")[2].strip("[]")
        for place in places
    ]


def _reached(addresses: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same; tests put networks between."""
    return addresses


def _distance_from_cause(error: BaseException) -> int:
    """Of an error of one of several workers: the loss of a worker makes all others fail."""
    return 0 if isinstance(error, LostError) else 2 if isinstance(error, PeerError) else 1


def _all(futures: list[Future[Any]]) -> list[Any]:
    """Results of all calls; if some failed, raises the most informative error."""
    wait(futures)
    errors = [error for future in futures if (error := future.exception()) is not None]
    if errors:
        raise min(errors, key=_distance_from_cause)
    return [future.result() for future in futures]


class Team(RunsThenCaptures):
    """An engine made of others; see `quiltmd.engine.core.Engine`, whose methods these are.

    Parameters
    ----------
    connections:
        To workers that know each other.
    make:
        Makes the engine of a worker, given its connection and rank.
    """

    def __init__(
        self, connections: list[Connection], make: Callable[[Connection, int], WorkerEngine]
    ) -> None:
        self._connections = connections
        with ThreadPoolExecutor(len(connections)) as pool:
            self._engines = list(pool.map(make, connections, itertools.count()))
        self._check_architectures()

    def _check_architectures(self) -> None:
        """QuiltError if results would depend on which worker has which atoms."""
        pairs = zip(self._engines, self._connections, strict=True)
        found = {engine.architecture: connection.name for engine, connection in pairs}
        if len(found) > 1:
            self.close()
            listed = ", ".join(f"{name}: {architecture}" for architecture, name in found.items())
            raise QuiltError(
                f"ranks of one simulation need devices of one architecture ({listed}): results "
                "would depend on which device has which atoms"
            )

    def _do(self, name: str, *arguments: Any, **named: Any) -> list[Any]:
        return _all([c.begin(name, *arguments, **named) for c in self._connections])

    def _rows(self, name: str) -> list[dict[str, Any]]:
        return [row for rows in self._do(name) for row in rows]

    def close(self) -> None:
        """Ends all workers."""
        for connection in self._connections:
            connection.close()

    def set_state(self, *values: Any, **named: Any) -> None:
        """Sets the state."""
        self._do("set_state", *values, **named)

    def place_atoms(self, positions: Any) -> None:
        """The present state with atoms at other positions."""
        self._do("place_atoms", positions)

    def run(self, steps: int) -> None:
        """Advances."""
        self._do("run", steps)

    def capture(
        self, *, energies: bool = False, positions: bool = False, state: bool = False
    ) -> WorkerFrame:
        """Captures data, which then travel from the first worker."""
        contents = {"energies": energies, "positions": positions, "state": state}
        first, *others = self._connections
        number, data = first.expect()
        calls = [first.begin("capture", number, **contents)]
        calls += [other.begin("contribute", **contents) for other in others]
        now = _all(calls)[0]
        return WorkerFrame(self._engines[0], int(now["step"]), now["box"], data)

    read = capture

    def forces(self) -> Any:
        """Forces (N, 3)."""
        return self._do("forces")[0]

    def force_sum(self) -> tuple[int, int, int]:
        """Sum of forces as integers."""
        x, y, z = self._do("force_sum")[0]
        return x, y, z

    def minimize(
        self,
        tolerance: float,
        max_iterations: int,
        watch: Callable[[int, float, float], bool] | None = None,
    ) -> dict[str, Any]:
        """Minimises the potential energy; `watch` is asked once, for all."""
        answers = _Answers(watch)
        threads = [
            threading.Thread(target=answers.follow, args=(engine, tolerance, max_iterations))
            for engine in self._engines[1:]
        ]
        try:
            for thread in threads:
                thread.start()
            return self._engines[0].minimize(tolerance, max_iterations, answers.lead)
        finally:
            answers.end()
            for thread in filter(threading.Thread.is_alive, threads):
                thread.join()

    def draw_velocities(self, temperature: float, seed: int) -> None:
        """Maxwell-Boltzmann velocities."""
        self._do("draw_velocities", temperature, seed)

    def set_conditions(self, *values: Any, **named: Any) -> None:
        """New conditions."""
        self._do("set_conditions", *values, **named)

    def describe(self) -> dict[str, Any]:
        """Layout of the run."""
        described: dict[str, Any] = self._do("describe")[0]
        return described

    def profile(self) -> list[dict[str, Any]]:
        """Calls and seconds of each task."""
        return self._rows("profile")

    def start_profile(self) -> None:
        """Starts timing."""
        self._do("start_profile")

    def stop_profile(self) -> list[dict[str, Any]]:
        """The calls since the last start, in the time of the first rank's."""
        return self._rows("stop_profile")

    def profiled_messages(self) -> list[dict[str, Any]]:
        """Messages of the last profile, which each worker knows."""
        messages: list[dict[str, Any]] = self._engines[0].profiled_messages()
        return messages

    def loads(self) -> list[dict[str, Any]]:
        """Loads of all ranks."""
        return self._rows("loads")


class _Answers:
    """Results of `watch` before each iteration, for all workers."""

    def __init__(self, watch: Callable[[int, float, float], bool] | None) -> None:
        self._watch = watch
        self._said: dict[int, bool] = {}
        self._changed = threading.Condition()
        self._ended = False

    def lead(self, iteration: int, energy: float, force: float) -> bool:
        """Asks; what is raised is raised once all workers have been told to stop."""
        stop = True
        try:
            stop = self._watch is not None and bool(self._watch(iteration, energy, force))
        finally:
            with self._changed:
                self._said[iteration] = stop
                self._changed.notify_all()
        return stop

    def follow(self, engine: WorkerEngine, tolerance: float, max_iterations: int) -> None:
        """The minimisation of another worker."""

        def said(iteration: int, *_: float) -> bool:
            with self._changed:
                self._changed.wait_for(lambda: iteration in self._said or self._ended)
                return self._said.get(iteration, True)

        try:
            engine.minimize(tolerance, max_iterations, said)
        except Exception:  # the first worker's says it
            self.end()

    def end(self) -> None:
        """Nobody will ask any more."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
