# SPDX-License-Identifier: Apache-2.0
"""Predictions beside measurements on the CPU of this machine.

    python benchmarks/prediction_measured.py [--delays 1,5] [--rounds 5] [--out FILE.json]

DHFR in water, one thread a rank: one rank, two of one process, and two processes that are joined by
TCP with a delay.  Tasks take what a profile of one rank says; for several ranks one made while a
simulation that it has nothing to do with runs on the other core, since cores share caches, memory
and clock.  The network takes what messages of 64 bytes and of a megabyte take on their way through
it.  Nothing is fitted to what is then predicted.  It needs two cores of its own: the load of the
machine is printed beside the figures.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import queue
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from quiltmd.prediction.calibrate import calibrated
from quiltmd.prediction.machine import Machine, read_machine
from quiltmd.prediction.plan import Planner
from quiltmd.prediction.predict import Prediction, predict
from quiltmd.running.benchmark import prepare, time_steps
from quiltmd.running.profiling import record
from quiltmd.running.simulation import Simulation
from quiltmd.workers import team

_TWO = "ranks:worker:cpu,worker:cpu"
_CHUNK = 1 << 18


class Relay:
    """Passes on what comes to its port, as it is, `delay` seconds later.

    A process of its own, which does not wait until a rank leaves its core, as a network card
    would not, where the system allows that.
    """

    def __init__(self, target: int, delay: float) -> None:
        listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = listener.getsockname()[1]
        self._process = multiprocessing.get_context("fork").Process(
            target=self._serve, args=(listener, target, delay), daemon=True
        )
        self._process.start()
        listener.close()

    def close(self) -> None:
        """Ends all connections."""
        self._process.kill()
        self._process.join()

    @staticmethod
    def _serve(listener: socket.socket, target: int, delay: float) -> None:
        with suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        while True:
            near, _ = listener.accept()
            far = socket.create_connection(("127.0.0.1", target))
            for end in (near, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for source, sink in ((near, far), (far, near)):
                waiting: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
                for job in (Relay._take, Relay._give):
                    args = (source if job is Relay._take else sink, waiting, delay)
                    threading.Thread(target=job, args=args, daemon=True).start()

    @staticmethod
    def _take(source: socket.socket, waiting: Any, delay: float) -> None:
        with suppress(OSError):
            while data := source.recv(_CHUNK):
                waiting.put((time.perf_counter() + delay, data))

    @staticmethod
    def _give(sink: socket.socket, waiting: Any, _delay: float) -> None:
        with suppress(OSError):
            while True:
                due, data = waiting.get()
                time.sleep(max(0.0, due - time.perf_counter()))
                sink.sendall(data)


@contextmanager
def network(delay: float) -> Iterator[None]:
    """Ranks that are made meanwhile reach each other through relays."""
    relays: list[Relay] = []

    def reached(addresses: list[dict[str, Any]]) -> list[dict[str, Any]]:
        relays.extend(Relay(address["port"], delay) for address in addresses)
        pairs = zip(addresses, relays, strict=True)
        return [{**address, "port": relay.port} for address, relay in pairs]

    as_is = team._reached
    team._reached = reached
    try:
        yield
    finally:
        team._reached = as_is
        for relay in relays:
            relay.close()


def one_way_of(near: socket.socket, listener: socket.socket, size: int, rounds: int = 41) -> float:
    """Seconds that so many bytes take to whom the listener accepts: half of there and back."""

    def answer() -> None:
        end, _ = listener.accept()
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with suppress(OSError):
            while data := end.recv(size, socket.MSG_WAITALL):
                end.sendall(data)

    threading.Thread(target=answer, daemon=True).start()
    near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    took = []
    for _ in range(rounds):
        begin = time.perf_counter()
        near.sendall(bytes(size))
        near.recv(size, socket.MSG_WAITALL)
        took.append((time.perf_counter() - begin) / 2)
    return statistics.median(took)


def one_way(delay: float, size: int) -> float:
    """Seconds that a message of so many bytes takes through a relay."""
    listener = socket.create_server(("127.0.0.1", 0))
    relay = Relay(listener.getsockname()[1], delay)
    with socket.create_connection(("127.0.0.1", relay.port)) as near:
        took = one_way_of(near, listener, size)
    relay.close()
    listener.close()
    return took


def planner_of(simulation: Simulation) -> Planner:
    """For predictions of a simulation as it is."""
    return Planner(
        simulation.system, simulation.state(), simulation.nonbonded, simulation.integrator
    )


def profiled(simulation: Simulation, planner: Planner) -> Machine:
    """The CPU of this machine, by a profile of one rank."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "timeline.json"
        record(simulation, 4 * int(simulation.describe()["list_life"])).write_timeline(file)
        return calibrated(read_machine("cpu"), file, planner)


@contextmanager
def other_core_busy() -> Iterator[None]:
    """A simulation runs in another process."""
    other = multiprocessing.get_context("spawn").Process(target=_run_on, daemon=True)
    other.start()
    time.sleep(10)  # until it is past its start
    try:
        yield
    finally:
        other.kill()
        other.join()


def _run_on() -> None:
    simulation = prepare("dhfr", device="cpu", threads=1)
    while True:
        simulation.run(100)


def joined_by(machine: Machine, delay: float) -> Machine:
    """With the network as messages find it."""
    small, large = 64, 1 << 20
    latency, whole = one_way(delay, small), one_way(delay, large)
    bandwidth = 1e-9 * (large - small) / max(whole - latency, 1e-9)
    found = machine.network.model_copy(update={"latency": 1e6 * latency, "bandwidth": bandwidth})
    return machine.model_copy(update={"network": found})


def in_turn(runs: dict[str, Simulation], rounds: int) -> dict[str, list[float]]:
    """Milliseconds of a step in each round of each run, some two seconds each."""
    steps = {}
    for name, run in runs.items():
        life = int(run.describe()["list_life"])
        steps[name] = max(1, round(2 / time_steps(run, life))) * life
    found: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            found[name].append(1e3 * time_steps(run, steps[name]) / steps[name])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--delays", default="1,5", help="of the network, ms")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    delays = [float(text) for text in given.delays.split(",")]
    common: dict[str, Any] = {"threads": 1, "balance": False}
    runs = {"1 rank": prepare("dhfr", device="cpu", **common)}
    planner = planner_of(runs["1 rank"])
    before = os.getloadavg()[0]
    predicted: dict[str, Prediction] = {}
    alone = profiled(runs["1 rank"], planner)
    (predicted["1 rank"],) = predict(planner, alone, [1])
    with other_core_busy():
        machine = profiled(runs["1 rank"], planner)
    (predicted["2 ranks"],) = predict(planner, machine, [2], "distributed")
    runs["2 ranks"] = prepare("dhfr", device="cpu", ranks=2, **common)
    times = in_turn(runs, given.rounds)
    for delay in delays:
        name = f"2 processes, TCP, {delay:g} ms late"
        with network(1e-3 * delay):
            there = joined_by(machine, 1e-3 * delay)
            (predicted[name],) = predict(planner, there, [2], "distributed")
            spread = {name: prepare("dhfr", device=_TWO, transport="tcp", **common)}
            times |= in_turn(spread, given.rounds)
            spread.clear()  # before the relays end
    rows = [
        {
            "run": name,
            "measured, ms": statistics.median(found),
            "rounds": [round(ms, 2) for ms in found],
            "predicted, ms": 1e-3 * predicted[name].us_per_step,
            "limiter": predicted[name].limiter,
        }
        for name, found in times.items()
    ]
    print("| run | measured, ms (least to most) | predicted | |\n|---|---|---|---|")
    for row in rows:
        measured, guess, each = row["measured, ms"], row["predicted, ms"], row["rounds"]
        print(
            f"| {row['run']} | {measured:.1f} ({min(each):.1f} to {max(each):.1f}) | {guess:.1f} "
            f"({guess / measured - 1:+.0%}) | {row['limiter']} |"
        )
    print(f"load of the machine before: {before:.1f}, after: {os.getloadavg()[0]:.1f}")
    if given.out:
        given.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
