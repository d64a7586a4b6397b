# SPDX-License-Identifier: Apache-2.0
"""The halo messages of a step on a torus, by the core's network and by SimGrid.

    .venv/bin/python benchmarks/simgrid_check.py plan --data FOLDER --ranks 512 --out step.json
    python3 benchmarks/simgrid_check.py simgrid step.json

The first makes ApoA1's messages of positions (two-away patches, Blue Gene/L's torus), all sent at
once, and lets the core deliver them; the second, by a Python that has SimGrid (Debian's
python3-simgrid), has SimGrid deliver the same ones and compares.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path
from typing import Any

_LATENCY = 0.1e-6  # s of a link; that from end to end is left out on both sides


def plan(data: Path, ranks: int, out: Path) -> None:
    import numpy as np
    from prediction import apoa1, as_published

    from quiltmd.prediction.machine import read_machine
    from quiltmd.prediction.network import Fabric, shape_of

    machine = read_machine("blue-gene-l")
    network = machine.network.model_copy(update={"latency": 0.0})
    machine = machine.model_copy(update={"network": network})
    shape = shape_of(machine, ranks)
    planner = as_published(apoa1(data), (108, 108, 80), 4, away=2)
    rows = planner.plan(ranks, "pencils", shape).messages["positions"]
    begin = time.process_time()
    fabric = Fabric(machine, ranks)
    arrived = [fabric.deliver(0.0, *map(int, row)) for row in rows]
    took = time.process_time() - begin
    values = np.array(arrived)
    document = {
        "torus": shape.torus,
        "bandwidth": 1e9 * network.bandwidth,
        "injection": 1e9 * (network.injection or network.bandwidth),
        "messages": rows.tolist(),
        "core": {"last": values.max(), "mean": values.mean(), "seconds": took},
    }
    out.write_text(json.dumps(document))


def simgrid(path: Path) -> None:
    from simgrid import Actor, ClusterCallbacks, Comm, Engine, Link, NetZone

    document = json.loads(path.read_text())
    arguments = ["check", "--cfg=network/model:CM02", "--cfg=network/TCP-gamma:0"]
    engine = Engine([*arguments, "--cfg=network/crosstraffic:0", "--log=root.thresh:error"])
    hosts: list[Any] = []

    def make_host(zone: Any, _coordinates: Any, number: int) -> tuple[Any, Any]:
        host = zone.create_host(f"node{number}", [1e9]).seal()
        hosts.append(host)
        return host.netpoint, None

    def make_loopback(zone: Any, _coordinates: Any, number: int) -> Any:
        return zone.create_link(f"loopback{number}", 1e12).seal()

    def make_port(zone: Any, _coordinates: Any, number: int) -> Any:
        return zone.create_link(f"port{number}", document["injection"]).seal()

    zone = NetZone.create_torus_zone(
        "torus",
        None,
        list(document["torus"]),
        ClusterCallbacks(make_host, make_loopback, make_port),
        document["bandwidth"],
        _LATENCY,
        Link.SharingPolicy.SPLITDUPLEX,
    )
    zone.seal()
    finished: list[float] = []

    def send() -> None:
        messages = [
            Comm.sendto_async(hosts[sender], hosts[receiver], size)
            for sender, receiver, size in document["messages"]
        ]
        for message in messages:
            message.wait()
            finished.append(message.finish_time)

    Actor.create("sender", hosts[0], send)
    begin = time.process_time()
    engine.run()
    took = time.process_time() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    core = document["core"]
    print(f"{len(hosts)} nodes, {len(finished)} messages")
    print(f"core:    last {core['last']:.1f} us, mean {core['mean']:.1f}, {core['seconds']:.2f} s")
    mean = sum(finished) / len(finished)
    print(f"SimGrid: last {1e6 * max(finished):.1f} us, mean {1e6 * mean:.1f}, {took:.2f} s")
    print(f"SimGrid's peak memory: {peak:.2f} GiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    first = commands.add_parser("plan")
    first.add_argument("--data", type=Path, required=True)
    first.add_argument("--ranks", type=int, default=512)
    first.add_argument("--out", type=Path, required=True)
    commands.add_parser("simgrid").add_argument("path", type=Path)
    given = parser.parse_args()
    if given.command == "plan":
        plan(given.data, given.ranks, given.out)
    else:
        simgrid(given.path)


if __name__ == "__main__":
    main()
