# SPDX-License-Identifier: Apache-2.0
"""What workers cost: round trips, digests, States that are kept, faults, replica exchange.

    python benchmarks/workers.py [--out benchmarks/results/workers.json] [--quick]

Workers are processes of this machine; `remote` is a server of this machine reached by TCP, with
sealed messages.  Replicas are engines that do nothing, so what is measured is the exchange itself.
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

import numpy as np
from provenance import provenance

import quiltmd
from quiltmd import LangevinMiddle, Nonbonded, ReplicaExchange, Simulation, Workers
from quiltmd.engine.places import parse_place
from quiltmd.exchange.record import Tables
from quiltmd.inputs import load
from quiltmd.inputs.standard_systems import system_files
from quiltmd.workers.access import make_key, read_key
from quiltmd.workers.launch import connect
from quiltmd.workers.pool import PHASES
from quiltmd.workers.server import Server

REPLICAS = (1, 4, 16, 64, 256, 1024)


def median(action: Callable[[], Any], times: int) -> float:
    """Seconds."""
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        action()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


class NullEngine:
    """An engine that stays where it is; every capture has other energies."""

    def __init__(self, system: Any, nonbonded: Any, integrator: Any, run: Any) -> None:
        self._noise = np.random.default_rng(integrator["seed"])

    def set_state(self, **state: Any) -> None:
        self._state = state

    def run(self, steps: int) -> None:
        self._state["step"] += steps

    def capture(self, **contents: bool) -> NullFrame:
        return NullFrame(self._state, float(self._noise.normal(0, 100)))


class NullFrame:
    """What `NullEngine` captures."""

    def __init__(self, state: dict[str, Any], potential: float) -> None:
        self.step, self.box = state["step"], state["box"]
        self._state, self._potential = dict(state), potential

    def heat(self) -> float:
        return 0.0

    def energies(self) -> dict[str, float]:
        parts = dict.fromkeys(("lj", "lj14", "coulomb", "coulomb14", "pme", "dispersion"), 0.0)
        return parts | {"potential": self._potential, "kinetic": 0.0, "heat": 0.0}

    def tensors(self) -> dict[str, Any]:
        return {"virial": np.zeros((3, 3)), "kinetic": np.zeros((3, 3))}

    def state(self) -> dict[str, Any]:
        return self._state


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


def argon() -> tuple[quiltmd.System, quiltmd.State]:
    """Eight atoms without a name to speak of."""
    count = 8
    names = ("bonds", "angles", "torsions", "pairs14")
    parameters = ("bond", "angle", "torsion", "pair14")
    terms: dict[str, Any] = {name: [] for name in (*names, "constraints", "exclusions")}
    terms |= {f"{name}_parameters": [] for name in parameters} | {"constraint_lengths": []}
    topology = quiltmd.Topology(
        np.array(["Ar"] * count),
        np.full(count, 18, np.int32),
        np.zeros(count, np.int32),
        np.array(["Ar"]),
        np.array([1], np.int32),
        np.array([""]),
    )
    system = quiltmd.System(
        np.full(count, 39.9),
        np.zeros(count),
        np.zeros(count),
        np.full((1, 1), 1e-5),
        np.full((1, 1), 1e-3),
        topology=topology,
        **terms,
    )
    places = np.indices((2, 2, 2)).reshape(3, -1).T * 1.5
    return system, quiltmd.State.start(system, places, np.diag([3.0, 3.0, 3.0]))


class TimedExchange(ReplicaExchange):
    """Tells the time of advancing all replicas (energies included) and of swaps that are done."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.spent = {"advance": 0.0, "swap": 0.0}

    def _everywhere(self, action: Callable[[int, Simulation], Any]) -> list[Any]:
        begin = time.perf_counter()
        found = super()._everywhere(action)
        if action.__name__ == "advance":
            self.spent["advance"] += time.perf_counter() - begin
        return found

    def _swap(self, *arguments: Any) -> None:
        begin = time.perf_counter()
        super()._swap(*arguments)
        self.spent["swap"] += time.perf_counter() - begin


def timed_run(made: TimedExchange, iterations: int) -> dict[str, float]:
    """Seconds of each part of so many iterations: advance, decide, swap, write."""
    written = 0.0
    with tempfile.TemporaryDirectory() as folder:
        tables = Tables(Path(folder), len(made.states), None)

        def write(iteration: Any) -> None:
            nonlocal written
            begin = time.perf_counter()
            tables.add(iteration)
            written += time.perf_counter() - begin

        made.run(1)
        made.spent = dict.fromkeys(made.spent, 0.0)
        begin = time.perf_counter()
        made.run(iterations, record=write)
        seconds = time.perf_counter() - begin
        tables.close()
    decided = seconds - written - sum(made.spent.values())
    return {**made.spent, "decide": decided, "write": written}


def exchange(iterations: int) -> list[dict[str, Any]]:
    """Iterations per second of replicas that take no time, and where it goes."""
    system, state = argon()
    rows = []
    for count in REPLICAS:
        ladder = quiltmd.temperature_states(np.linspace(300, 400, count).tolist())
        made = TimedExchange(
            system,
            state,
            ladder,
            every=250,
            seed=1,
            nonbonded=Nonbonded(method="cutoff", cutoff=0.9),
            engine=NullEngine,
            devices=("cpu",),
        )
        parts = timed_run(made, iterations)
        seconds = sum(parts.values()) / iterations
        rows.append(
            {
                "replicas": count,
                "iterations_per_second": round(1 / seconds, 2),
                "us_per_replica": round(1e6 * seconds / count, 1),
                "ms_by_part": {name: round(1e3 * s / iterations, 3) for name, s in parts.items()},
            }
        )
        print(rows[-1])
    return rows


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
        ("exchange", lambda: exchange(2 if chosen.quick else 10)),
    ):
        result[name] = measured()
        print(name, result[name])
    if chosen.out:
        chosen.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
