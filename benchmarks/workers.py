# SPDX-License-Identifier: Apache-2.0
"""What workers cost: round trips, digests, States that are kept, faults.

    python benchmarks/workers.py [--out benchmarks/results/workers.json] [--quick]

Workers are processes of this machine; `remote` is a server of this machine reached by TCP, with
sealed messages.  What exchange costs: `quiltmd bench-workers exchange`.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from provenance import provenance

from quiltmd import LangevinMiddle, Nonbonded, Simulation, Workers
from quiltmd.engine.places import parse_place
from quiltmd.inputs import load
from quiltmd.inputs.standard_systems import system_files
from quiltmd.workers.access import make_key, read_key
from quiltmd.workers.launch import connect
from quiltmd.workers.pool import PHASES
from quiltmd.workers.server import Server


def median(action: Callable[[], Any], times: int) -> float:
    """Seconds."""
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        action()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


@contextmanager
def server_here() -> Iterator[tuple[int, Path]]:
    """A server of this machine: its port, and the file of its key."""
    with tempfile.TemporaryDirectory() as folder:
        key = Path(folder) / "key"
        make_key(key)
        server = Server("127.0.0.1", 0, read_key(key), 16, lambda text: None)
        thread = threading.Thread(target=server.serve)
        thread.start()
        try:
            yield server.port, key
        finally:
            server.close()
            thread.join()


def round_trips(times: int) -> list[dict[str, Any]]:
    """A question and its answer, without data."""
    rows = []
    with server_here() as (port, key):
        for name in ("worker:cpu", f"remote:127.0.0.1:{port}/cpu"):
            connection = connect(parse_place(name), Workers(key=key))
            us = 1e6 * median(lambda c=connection: c.call("inject", []), times)
            rows.append({"device": name.split(":")[0], "round_trip_us": round(us, 1)})
            connection.close()
    return rows


def jac(device: str, **settings: Any) -> Simulation:
    """DHFR in water, 23,558 atoms."""
    system, state = load(*system_files("dhfr"))
    simulation = Simulation(
        system, state, Nonbonded(), LangevinMiddle(seed=1), device=device, **settings
    )
    simulation.draw_velocities(300, 1)
    simulation.run(4)
    return simulation


def states(times: int) -> dict[str, float]:
    """Of 23,558 atoms, ms: a digest, and a State fetched, of a worker."""
    simulation = jac("worker:cpu")
    engine: Any = simulation._engine
    return {
        "atoms": simulation.system.atoms,
        "digest_ms": 1e3 * median(lambda: engine.begin_digest().result(), times),
        "fetch_ms": 1e3 * median(lambda: engine.capture(state=True).state(), times),
    }


def faults(times: int) -> dict[str, Any]:
    """Seconds from kill -9 of the worker of 23,558 atoms until the run goes on, and by phase."""
    simulation = jac("cpu", workers=Workers(spares=("cpu",)))
    supervisor: Any = simulation._engine
    taken = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(times):
            simulation.run(2)
            os.kill(supervisor._pool.workers[0].engine._connection.process, signal.SIGKILL)
            simulation.run(2)
            taken.append(supervisor.events[-1])
    phases = {name: statistics.median(one.phases[name] for one in taken) for name in PHASES}
    return {"seconds": statistics.median(one.seconds for one in taken), "phases": phases}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--quick", action="store_true")
    chosen = parser.parse_args()
    times = 3 if chosen.quick else 20
    result: dict[str, Any] = {"provenance": provenance()}
    for name, measured in (
        ("round_trips", lambda: round_trips(100 * times)),
        ("states", lambda: states(times)),
        ("faults", lambda: faults(max(3, times // 4))),
    ):
        result[name] = measured()
        print(name, result[name])
    if chosen.out:
        chosen.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
