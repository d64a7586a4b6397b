# SPDX-License-Identifier: Apache-2.0
"""Ranks on many hosts, network namespaces of this machine: bits, and steps beside predictions.

    python benchmarks/hosts_measured.py [--ranks 16,27] [--links 0:0,0:1,50:1] [--steps 60]

DHFR in water, a rank of one thread on each host.  A link is microseconds of delay and Gbit/s (0: no
limit); delays need a kernel with netem.  Tasks take what a profile of one rank says, times the
number of ranks that share a core; the network takes what messages of 64 bytes and of a megabyte
take from one host to another.  Nothing is fitted to what is then predicted.  At the end the link of
the last host is cut, and it is shown what the run says.  As root, on a machine without other work:
its load is printed beside the figures.
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from prediction_measured import one_way_of, planner_of, profiled
from worker_costs.namespaces import Hosts, Link, UnavailableError

import quiltmd
from quiltmd.engine.execution import available_cores
from quiltmd.prediction.machine import Cost, Machine
from quiltmd.prediction.predict import predict
from quiltmd.running.benchmark import prepare, time_steps

_PORT = 7411
_BITS = 30  # steps whose bits are compared


@dataclass(frozen=True)
class Case:
    """One rank alone, a state, the digest `_BITS` steps later, and the machine by a profile."""

    alone: quiltmd.Simulation
    state: quiltmd.State
    digest: str
    machine: Machine


def one_way(hosts: Hosts, size: int) -> float:
    """Seconds that so many bytes take from host 0 to host 1."""
    address = (hosts.addresses[0], _PORT)
    listener = hosts.socket_of(0, lambda: socket.create_server(address))
    with hosts.socket_of(1, lambda: socket.create_connection(address)) as near:
        took = one_way_of(near, listener, size, rounds=21)
    listener.close()
    return took


def joined_by(machine: Machine, hosts: Hosts, ranks: int) -> Machine:
    """The machine with the network between hosts, and ranks that share its cores."""
    small, large = 64, 1 << 20
    latency, whole = one_way(hosts, small), one_way(hosts, large)
    bandwidth = 1e-9 * (large - small) / max(whole - latency, 1e-9)
    network = machine.network.model_copy(update={"latency": 1e6 * latency, "bandwidth": bandwidth})
    share = max(1.0, ranks / available_cores())
    costs = {
        name: Cost(fixed=share * cost.fixed, each=share * cost.each) for name, cost in machine.costs
    }
    changed = {"network": network, "costs": machine.costs.model_copy(update=costs)}
    return machine.model_copy(update=changed)


def spread(like: quiltmd.Simulation, state: quiltmd.State, hosts: Hosts) -> quiltmd.Simulation:
    """The simulation with a rank on each host."""
    workers = quiltmd.Workers(
        command=f"{sys.executable} -m quiltmd", silence=20.0, trust_network=True
    )
    return quiltmd.Simulation(
        like.system,
        state,
        like.nonbonded,
        like.integrator,
        device="cpu",
        threads=1,
        balance=False,
        workers=workers,
        hosts=tuple(hosts.addresses),
    )


def row(case: Case, ranks: int, link: Link, steps: int) -> str:
    """Measured and predicted milliseconds of a step, and whether the bits are those of one rank."""
    with tempfile.TemporaryDirectory() as folder:
        hosts = Hosts(Path(folder), ranks, link)
        os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
        try:
            run = spread(case.alone, case.state, hosts)
            run.run(_BITS)
            same = quiltmd.digest(run.state()) == case.digest
            where = joined_by(case.machine, hosts, ranks)
            (guess,) = predict(planner_of(case.alone), where, [ranks])
            rounds = [1e3 * time_steps(run, steps) / steps for _ in range(3)]
            hosts.cut(ranks - 1)
            said = lost(run)
        finally:
            hosts.close()
    measured, predicted = statistics.median(rounds), 1e-3 * guess.us_per_step
    return (
        f"| {ranks} | {link.delay:g} | {link.rate or 'no limit'} | "
        f"{'yes' if same else 'NO'} | {measured:.1f} ({min(rounds):.1f} to {max(rounds):.1f}) | "
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
    parser.add_argument("--ranks", default="16,27")
    parser.add_argument("--links", default="0:0,0:1,50:1", help="us of delay:Gbit/s")
    parser.add_argument("--steps", type=int, default=60)
    given = parser.parse_args()
    alone = prepare("dhfr", device="cpu", threads=1)
    state = alone.state()
    alone.run(_BITS)
    digest = quiltmd.digest(alone.state())
    case = Case(alone, state, digest, profiled(alone, planner_of(alone)))
    print("| ranks | us late | Gbit/s | bits of one rank | ms a step | predicted | load | lost |")
    print("|---|---|---|---|---|---|---|---|")
    for ranks in map(int, given.ranks.split(",")):
        for delay, rate in (map(float, text.split(":")) for text in given.links.split(",")):
            try:
                print(row(case, ranks, Link(delay, rate), given.steps), flush=True)
            except UnavailableError as error:
                print(f"{ranks} ranks, {delay:g} us, {rate:g} Gbit/s: not run: {error}")


if __name__ == "__main__":
    main()
