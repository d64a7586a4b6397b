# SPDX-License-Identifier: Apache-2.0
"""Steps on a torus by the core, as `quiltmd predict` simulates them, and by SimGrid.

    .venv/bin/python benchmarks/simgrid_check.py plan --data FOLDER --ranks 64 --out step.json
    /usr/bin/python3 benchmarks/simgrid_check.py simgrid step.json

The first plans a step of ApoA1 on Blue Gene/L's torus (two-away patches, PME in pencils), and has
the core simulate it: first the messages of positions alone, all sent at once, then the whole step.
The second, by a Python that has SimGrid (Debian's python3-simgrid), has SimGrid simulate the same
and compares.  It needs nothing else, and tests run it.
"""

from __future__ import annotations

import argparse
import heapq
import json
import multiprocessing
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

_LATENCY = 0.1  # us, of a link; that from end to end is left out on both sides


def document_of(planner: Any, machine: Any, ranks: int) -> dict[str, Any]:
    """What SimGrid is given, and under "core" what the core makes of it.  Times in us."""
    import numpy as np

    from quiltmd.prediction.network import Fabric, shape_of
    from quiltmd.prediction.simulate import Simulator
    from quiltmd.prediction.step_kinds import HALO, MAIN
    from quiltmd.prediction.tasks import Graph, step_graph

    network = machine.network.model_copy(update={"latency": 0.0, "hop": _LATENCY})
    machine = machine.model_copy(update={"network": network})
    shape = shape_of(machine, ranks)
    plan = planner.plan(ranks, "pencils", shape)
    rows = plan.messages["positions"]
    at_once, graph = Graph(), step_graph(plan, machine.costs)
    send, receive = (
        at_once.tasks(name, rows[:, end], (HALO, MAIN), 0.0, 0.0)
        for end, name in enumerate(("positions.send", "positions.receive"))
    )
    at_once.message("positions", send.tasks, receive.tasks, rows[:, 2])
    begin = time.process_time()
    arrived = Simulator(at_once, Fabric(machine, ranks), ranks, True).run(np.zeros(ranks)).arrived
    between = time.process_time()
    step = Simulator(graph, Fabric(machine, ranks), ranks, True).run(np.zeros(ranks))
    end = time.process_time()
    tables = graph.arrays()
    tables["time"] = tables.pop("fixed") + tables.pop("work")
    return {
        "torus": shape.torus,
        "bandwidth": network.bandwidth,  # GB/s
        "injection": network.injection or network.bandwidth,
        "positions": rows.tolist(),
        "step": {name: values.tolist() for name, values in tables.items()},
        "core": {
            "positions": {"us": arrived.tolist(), "took": between - begin},
            "step": {"us": step.rank_end.tolist(), "took": end - between},
        },
    }


class Torus:
    """SimGrid's engine with the nodes of a torus.  A process can have one."""

    def __init__(self, document: dict[str, Any]) -> None:
        from simgrid import ClusterCallbacks, Engine, Link, NetZone

        arguments = ["check", "--cfg=network/model:CM02", "--cfg=network/TCP-gamma:0"]
        self.engine = Engine(
            [*arguments, "--cfg=network/crosstraffic:0", "--log=root.thresh:error"]
        )
        self.hosts: list[Any] = []

        def make_host(zone: Any, _coordinates: Any, number: int) -> tuple[Any, Any]:
            host = zone.create_host(f"node{number}", [1e9]).seal()
            self.hosts.append(host)
            return host.netpoint, None

        def make_loopback(zone: Any, _coordinates: Any, number: int) -> Any:
            return zone.create_link(f"loopback{number}", 1e12).seal()

        def make_port(zone: Any, _coordinates: Any, number: int) -> Any:
            return zone.create_link(f"port{number}", 1e9 * document["injection"]).seal()

        NetZone.create_torus_zone(
            *("torus", None, list(document["torus"])),
            ClusterCallbacks(make_host, make_loopback, make_port),
            *(1e9 * document["bandwidth"], 1e-6 * _LATENCY, Link.SharingPolicy.SPLITDUPLEX),
        ).seal()


def positions(document: dict[str, Any]) -> list[float]:
    """When each message of positions has arrived, all sent at once."""
    from simgrid import Actor, Comm

    torus = Torus(document)
    hosts, finished = torus.hosts, []

    def send() -> None:
        messages = [
            Comm.sendto_async(hosts[sender], hosts[receiver], size)
            for sender, receiver, size in document["positions"]
        ]
        for message in messages:
            message.wait()
            finished.append(1e6 * message.finish_time)

    Actor.create("sender", hosts[0], send)
    torus.engine.run()
    return finished


def step(document: dict[str, Any]) -> list[float]:
    """When each rank is done: it does one task at a time, the most urgent that is ready."""
    from simgrid import Actor, Comm, Engine, Semaphore, this_actor

    torus, tasks = Torus(document), document["step"]
    hosts, rank_of = torus.hosts, tasks["rank"]
    ranks = max(rank_of) + 1
    missing = [0] * len(rank_of)
    next_, sends = defaultdict(list), defaultdict(list)
    for before, after in zip(tasks["before"], tasks["after"], strict=True):
        next_[before].append(after)
        missing[after] += 1
    for message, (source, user) in enumerate(zip(tasks["source"], tasks["user"], strict=True)):
        sends[source].append(message)
        missing[user] += 1
    left = [rank_of.count(rank) for rank in range(ranks)]
    ready: list[list[tuple[int, int]]] = [[] for _ in range(ranks)]
    something = [Semaphore(0) for _ in range(ranks)]
    ends = [0.0] * ranks

    def release(task: int) -> None:
        missing[task] -= 1
        if missing[task] == 0:
            heapq.heappush(ready[rank_of[task]], (tasks["priority"][task], task))
            something[rank_of[task]].release()

    def deliver(communication: Any, user: int) -> None:
        communication.wait()
        release(user)

    def finish(task: int) -> None:
        for message in sends[task]:
            user = tasks["user"][message]
            there = hosts[rank_of[user]]
            size = max(1, int(tasks["bytes"][message]))
            communication = Comm.sendto_async(hosts[rank_of[task]], there, size)
            Actor.create(f"message{message}", there, deliver, communication, user)
        for other in next_[task]:
            release(other)

    def work(rank: int) -> None:
        while left[rank]:
            while not ready[rank]:
                something[rank].acquire()
            task = heapq.heappop(ready[rank])[1]
            this_actor.sleep_for(1e-6 * tasks["time"][task])
            left[rank] -= 1
            finish(task)
        ends[rank] = 1e6 * Engine.clock

    for task, count in enumerate(missing):
        if count == 0:
            heapq.heappush(ready[rank_of[task]], (tasks["priority"][task], task))
    for rank in range(ranks):
        Actor.create(f"rank{rank}", hosts[rank], work, rank)
    torus.engine.run()
    return ends


def compare(document: dict[str, Any]) -> dict[str, Any]:
    """Last and mean times by SimGrid and the core, us, and the processor time they took, s."""
    found = {}
    for what, simulate in (("positions", positions), ("step", step)):
        with multiprocessing.get_context("fork").Pool(1) as process:  # an engine is one a process
            times, took = process.apply(_timed, (simulate, document))
        core = document["core"][what]
        found[what] = {
            "simgrid": {"last": max(times), "mean": sum(times) / len(times), "took": took},
            "core": {
                "last": max(core["us"]),
                "mean": sum(core["us"]) / len(core["us"]),
                "took": core["took"],
            },
        }
    return found


def _timed(simulate: Any, document: dict[str, Any]) -> tuple[list[float], float]:
    begin = time.process_time()
    return simulate(document), time.process_time() - begin


def main() -> None:
    """One of the commands."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    first = commands.add_parser("plan")
    first.add_argument("--data", type=Path, required=True)
    first.add_argument("--ranks", type=int, default=64)
    first.add_argument("--out", type=Path, required=True)
    commands.add_parser("simgrid").add_argument("path", type=Path)
    given = parser.parse_args()
    if given.command == "plan":
        from prediction import apoa1, as_published

        from quiltmd.prediction.machine import read_machine

        planner = as_published(apoa1(given.data), (108, 108, 80), 4, patch_reach=2)
        document = document_of(planner, read_machine("blue-gene-l"), given.ranks)
        given.out.write_text(json.dumps(document))
    else:
        json.dump(compare(json.loads(given.path.read_text())), sys.stdout, indent=1)


if __name__ == "__main__":
    main()
