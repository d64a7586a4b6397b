# SPDX-License-Identifier: Apache-2.0
"""What messages to workers take: `python benchmarks/workers.py remote`.

A message is answered with what it has brought.  Workers are processes of this machine: reached by a
Unix socket (`worker:`), or by TCP with encrypted messages, as those of `quiltmd serve` (`remote:`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import wait
from contextlib import contextmanager
from typing import Any

import numpy as np

from quiltmd.engine.places import parse_place
from quiltmd.engine.worker_settings import Workers
from quiltmd.workers.client import Connection
from quiltmd.workers.launch import connect

from .network import server_here
from .null_engine import null_workers

_SMALL = 8  # bytes
_SECONDS = 0.3  # of each row, where so little is sent that it can be repeated
_MOST, _LEAST = 1000, 3  # times


def time_messages(
    sizes: Sequence[int], gaps: Sequence[float], targets: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """Times a message and its answer, each of the three in turn while the others are the first.

    Parameters
    ----------
    sizes:
        Bytes of data, the same there and back.
    gaps:
        Milliseconds of silence before each message.
    targets:
        Numbers of workers to which a message is sent at the same time, until all have answered.

    Yields
    ------
    Rows: connection ("worker" or "remote"), workers, bytes, gap_ms, microseconds (the median; of a
    message to each of the workers), and megabytes_per_second, both directions together.
    """
    with _connections() as connections:
        for name, connection in connections.items():
            for size in sizes:
                yield _row(name, [connection], size, 0.0)
            for gap in gaps:
                if gap > 0:
                    yield _row(name, [connection], _SMALL, gap)
    for count in targets:
        with null_workers(count) as workers:
            those = [workers.connect() for _ in range(count)]
            yield _row("worker", those, _SMALL, 0.0)


@contextmanager
def _connections() -> Iterator[dict[str, Connection]]:
    with server_here() as (port, key):
        names = {"worker": "worker:cpu", "remote": f"remote:127.0.0.1:{port}/cpu"}
        made = {kind: connect(parse_place(name), Workers(key=key)) for kind, name in names.items()}
        try:
            yield made
        finally:
            for connection in made.values():
                connection.close()


def _row(name: str, connections: Sequence[Connection], size: int, gap: float) -> dict[str, Any]:
    data = np.random.default_rng(1).integers(0, 256, size, np.uint8)

    def ask() -> None:
        wait([connection.begin("echo", data) for connection in connections])

    seconds = _median_seconds(ask, 1e-3 * gap)
    return {
        "connection": name,
        "workers": len(connections),
        "bytes": size,
        "gap_ms": gap,
        "microseconds": 1e6 * seconds,
        "megabytes_per_second": 2e-6 * size * len(connections) / seconds,
    }


def _median_seconds(action: Callable[[], None], gap: float) -> float:
    """Of an action that follows so many seconds of silence, without these."""
    action()
    taken: list[float] = []
    end = time.perf_counter() + _SECONDS
    while len(taken) < _LEAST or (len(taken) < _MOST and time.perf_counter() < end):
        time.sleep(gap)
        begin = time.perf_counter()
        action()
        taken.append(time.perf_counter() - begin)
    return float(np.median(taken))
