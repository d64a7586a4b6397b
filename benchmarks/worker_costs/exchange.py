# SPDX-License-Identifier: Apache-2.0
"""What replica exchange costs besides dynamics: `python benchmarks/workers.py exchange`.

Replicas of eight atoms whose engines compute nothing (`null_engine.py`), so what is measured is the
exchange itself: calls, energies, decisions, swaps, and the rows of its tables.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from quiltmd.description.nonbonded import Nonbonded
from quiltmd.description.state import State
from quiltmd.description.system import System
from quiltmd.engine.core import Engine, EngineFactory
from quiltmd.exchange.iterations import Iteration
from quiltmd.exchange.record import Tables
from quiltmd.exchange.replicas import ReplicaExchange
from quiltmd.exchange.states import temperature_states

from .null_engine import NullEngine, null_workers

PARTS = ("run", "energies", "swap", "write")
_LOWEST, _HIGHEST = 300.0, 400.0  # K
_EVERY = 250  # steps
_CELL, _CUTOFF = 3.0, 0.9  # nm


def bench_exchange(
    replicas: int, iterations: int = 10, *, processes: bool = True, milliseconds: float = 0.0
) -> dict[str, Any]:
    """Times iterations of an exchange by temperature.

    Parameters
    ----------
    replicas:
        How many.
    iterations:
        How many are timed, after a first one.
    processes:
        Each replica in a worker of its own, and all at the same time; else all in this process, one
        after the other.
    milliseconds:
        How long the steps between swaps take.

    Returns
    -------
    Names and numbers: `iterations_per_second`, and `milliseconds` of an iteration by `PARTS`: run,
    the mean over replicas of the calls that advance them (in this process, their sum); energies,
    until those of the last replica have arrived; swap, until all have swapped that are to; write,
    the rows of the tables.
    `processor_milliseconds` is what this process computes for each replica in an iteration: unlike
    the others it hardly depends on what else the machine does.
    """
    seconds = 1e-3 * milliseconds
    workers = null_workers(replicas, seconds) if processes else nullcontext(None)
    with workers as here:
        factory: Any = here or partial(NullEngine, seconds=seconds)
        made = _TimedExchange(replicas, factory, replicas if processes else 1)
        spent, processor = _time(made, iterations)
    total = sum(spent.values()) / iterations
    return {
        "replicas": replicas,
        "where": "processes" if processes else "this process",
        "iterations": iterations,
        "iterations_per_second": 1 / total,
        "milliseconds": {part: 1e3 * spent[part] / iterations for part in PARTS},
        "processor_milliseconds": 1e3 * processor / iterations / replicas,
    }


class _TimedEngine:
    """An engine whose runs are timed."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self.seconds = engine, 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def run(self, steps: int) -> None:
        begin = time.perf_counter()
        self._engine.run(steps)
        self.seconds += time.perf_counter() - begin


class _TimedExchange(ReplicaExchange):
    """Tells how long it takes until all replicas have advanced."""

    def __init__(self, count: int, factory: EngineFactory, threads: int) -> None:
        self._engines: list[_TimedEngine] = []
        self._threads = threads
        self.advanced = self._advanced_at = 0.0

        def timed(*settings: Any) -> _TimedEngine:
            self._engines.append(_TimedEngine(factory(*settings)))
            return self._engines[-1]

        system, state = _argon()
        super().__init__(
            system,
            state,
            temperature_states(np.linspace(_LOWEST, _HIGHEST, count).tolist()),
            every=_EVERY,
            seed=1,
            nonbonded=Nonbonded(method="cutoff", cutoff=_CUTOFF),
            devices=["cpu"] * threads,
            engine=timed,
        )

    def ran(self) -> float:
        """Seconds that its engines ran for, in the mean over threads."""
        return sum(engine.seconds for engine in self._engines) / self._threads

    def _advance(self, *arguments: Any) -> None:
        super()._advance(*arguments)
        self._advanced_at = max(self._advanced_at, time.perf_counter())

    def run(self, *arguments: Any, **options: Any) -> None:
        begin = self._advanced_at = time.perf_counter()
        super().run(*arguments, **options)
        self.advanced += self._advanced_at - begin


def _time(made: _TimedExchange, iterations: int) -> tuple[dict[str, float], float]:
    """Seconds of so many iterations, by `PARTS`, and those of the processor."""
    written = 0.0
    with tempfile.TemporaryDirectory() as folder:
        tables = Tables(Path(folder), len(made.states), None)

        def write(iteration: Iteration) -> None:
            nonlocal written
            begin = time.perf_counter()
            tables.add(iteration)
            written += time.perf_counter() - begin

        made.run(1)
        ran, advanced = made.ran(), made.advanced
        begin, computed = time.perf_counter(), time.process_time()
        for _ in range(iterations):
            made.run(1, record=write)
        seconds, computed = time.perf_counter() - begin, time.process_time() - computed
        tables.close()
    ran, advanced = made.ran() - ran, made.advanced - advanced
    spent = {
        "run": ran,
        "energies": advanced - ran,
        "swap": seconds - advanced - written,
        "write": written,
    }
    return spent, computed


def _argon() -> tuple[System, State]:
    """Eight atoms in a cube."""
    system = System.of(np.full(8, 39.9), lj_a=[[1e-5]], lj_b=[[1e-3]])
    places = np.indices((2, 2, 2)).reshape(3, -1).T * _CELL / 2
    return system, State.start(system, places, np.diag([_CELL] * 3))
