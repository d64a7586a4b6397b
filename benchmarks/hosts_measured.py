# SPDX-License-Identifier: Apache-2.0
"""Ranks on many hosts, network namespaces of this machine: bits, and steps beside predictions.

    python benchmarks/hosts_measured.py [--ranks 8,16,27] [--links 0:0,0:1,50:1] [--steps 15]
                                        [--slowness 60] [--profiled 4]

DHFR in water, a rank of one thread on each host.  A link is microseconds of delay and Gbit/s (0: no
limit); delays need a kernel with netem.  Ranks wait after each task for a multiple of the processor
time that it took (`--slowness`), so that they share the cores of this machine as if each had its
own.  Tasks and messages take what a profile of four such ranks says, the network what messages of
64 bytes and of a megabyte take from one host to another.  Nothing is fitted to what is then
predicted.  Of the rounds of `--steps` the fastest counts, since what else the machine does only
adds; the median and the load of the machine are printed beside it.  At the end the link of the last
host is cut, and it is shown what the run says.  As root, with a high priority (`nice -n -15`).
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from prediction_measured import one_way_of, planner_of, profiled
from worker_costs import slowed
from worker_costs.namespaces import Hosts, Link, UnavailableError

import quiltmd
from quiltmd.prediction.machine import Machine
from quiltmd.prediction.predict import predict
from quiltmd.running.benchmark import prepare, time_steps

_PORT = 7411
_BITS = 30  # steps whose bits are compared
_ROUNDS = 12


@dataclass(frozen=True)
class Case:
    """One rank alone, a state, the digest `_BITS` steps later, and how slow ranks are."""

    alone: quiltmd.Simulation
    state: quiltmd.State
    digest: str
    slowness: float


def one_way(hosts: Hosts, size: int) -> float:
    """Seconds that so many bytes take from host 0 to host 1."""
    address = (hosts.addresses[0], _PORT)
    listener = hosts.socket_of(0, lambda: socket.create_server(address))
    with hosts.socket_of(1, lambda: socket.create_connection(address)) as near:
        took = one_way_of(near, listener, size, rounds=21)
    listener.close()
    return took


def joined_by(machine: Machine, hosts: Hosts) -> Machine:
    """The machine with the network between hosts."""
    small, large = 64, 1 << 20
    latency, whole = one_way(hosts, small), one_way(hosts, large)
    bandwidth = 1e-9 * (large - small) / max(whole - latency, 1e-9)
    network = machine.network.model_copy(update={"latency": 1e6 * latency, "bandwidth": bandwidth})
    return machine.model_copy(update={"network": network})


@contextmanager
def hosts_of(ranks: int, link: Link | None = None) -> Iterator[Hosts]:
    """So many hosts, which ssh reaches."""
    path = os.environ["PATH"]
    with tempfile.TemporaryDirectory() as folder:
        hosts = Hosts(Path(folder), ranks, link)
        os.environ["PATH"] = f"{folder}:{path}"
        try:
            yield hosts
        finally:
            hosts.close()
            os.environ["PATH"] = path


def spread(case: Case, hosts: Hosts) -> quiltmd.Simulation:
    """The simulation with a rank on each host."""
    workers = quiltmd.Workers(
        command=f"{sys.executable} {slowed.__file__} {case.slowness:g}",
        silence=20.0,
        trust_network=True,
    )
    return quiltmd.Simulation(
        case.alone.system,
        case.state,
        case.alone.nonbonded,
        case.alone.integrator,
        device="cpu",
        threads=1,
        balance=False,
        workers=workers,
        hosts=tuple(hosts.addresses),
    )


def machine_of(case: Case, ranks: int) -> Machine:
    """What tasks and messages take, by a profile of so many ranks."""
    with hosts_of(ranks) as hosts:
        return profiled(spread(case, hosts), planner_of(case.alone))


def row(case: Case, machine: Machine, ranks: int, link: Link, steps: int) -> str:
    """Measured and predicted milliseconds of a step, and whether the bits are those of one rank."""
    with hosts_of(ranks, link) as hosts:
        run = spread(case, hosts)
        run.run(_BITS)
        same = quiltmd.digest(run.state()) == case.digest
        where = joined_by(machine, hosts)
        (guess,) = predict(planner_of(case.alone), where, [ranks])
        rounds = [1e3 * time_steps(run, steps) / steps for _ in range(_ROUNDS)]
        hosts.cut(ranks - 1)
        said = lost(run)
    measured, predicted = min(rounds), 1e-3 * guess.us_per_step
    return (
        f"| {ranks} | {link.delay:g} | {link.rate or 'no limit'} | "
        f"{'yes' if same else 'NO'} | {measured:.1f} ({statistics.median(rounds):.1f}) | "
        f"{predicted:.1f} ({predicted / measured - 1:+.0%}) | {os.getloadavg()[0]:.0f} | {said} |"
    )


def lost(run: quiltmd.Simulation) -> str:
    """What a run says whose last host has been cut off, and after how many seconds."""
    begin = time.perf_counter()
    try:
        run.run(10**7)
    except quiltmd.QuiltError as error:
        return f"{time.perf_counter() - begin:.0f} s: {error}"
    return "nothing"


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", default="8,16,27")
    parser.add_argument("--links", default="0:0,0:1,50:1", help="us of delay:Gbit/s")
    parser.add_argument("--steps", type=int, default=15, help="of a round: the life of a list")
    parser.add_argument("--slowness", type=float, default=60)
    parser.add_argument("--profiled", type=int, default=4)
    given = parser.parse_args()
    alone = prepare("dhfr", device="cpu", threads=1)
    state = alone.state()
    alone.run(_BITS)
    digest = quiltmd.digest(alone.state())
    case = Case(alone, state, digest, given.slowness)
    machine = machine_of(case, given.profiled)
    print("| ranks | us late | Gbit/s | bits of one rank | ms a step | predicted | load | lost |")
    print("|---|---|---|---|---|---|---|---|")
    for ranks in map(int, given.ranks.split(",")):
        for delay, rate in (map(float, text.split(":")) for text in given.links.split(",")):
            try:
                print(row(case, machine, ranks, Link(delay, rate), given.steps), flush=True)
            except UnavailableError as error:
                print(f"{ranks} ranks, {delay:g} us, {rate:g} Gbit/s: not run: {error}")


if __name__ == "__main__":
    main()
