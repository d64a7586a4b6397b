# SPDX-License-Identifier: Apache-2.0
"""Ranks in processes of their own, joined by sockets: the bits of one process, and clear ends."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from boxes import digest, engine

import quiltmd
from quiltmd import LangevinMiddle, QuiltError, VelocityVerlet
from quiltmd.errors import PeerError

NVT = LangevinMiddle(timestep=0.002, seed=5, remove_com_every=10)
NVE = VelocityVerlet(timestep=0.002, remove_com_every=10)
# Atoms leave the buffer of these lists: epochs are run again.
HASTY: dict[str, Any] = {"list_life": 20, "list_buffer": 0.04}
Job = Callable[[Any, int], Any]
Ends = tuple[socket.socket, socket.socket]

# Children inherit sockets and inputs; none of them has threads when it is made.
forking = multiprocessing.get_context("fork")


def join(a: int, b: int) -> Ends:
    """The ends of a connection of two ranks."""
    return socket.socketpair()


class Ranks:
    """One process for each rank; `results()`: what `job(engine, rank)` gave in each."""

    def __init__(
        self,
        ranks: int,
        job: Job,
        system: Any,
        state: Any,
        patience: float = 20.0,
        join: Callable[[int, int], Ends] = join,
        **settings: Any,
    ) -> None:
        sockets: list[list[int]] = [[-1] * ranks for _ in range(ranks)]
        for a, b in itertools.combinations(range(ranks), 2):
            sockets[a][b], sockets[b][a] = (end.detach() for end in join(a, b))
        self.queue = forking.SimpleQueue()

        def run(rank: int) -> None:
            for other in range(ranks):
                for end in sockets[other] if other != rank else []:
                    if end >= 0:
                        os.close(end)
            process = {"rank": rank, "sockets": sockets[rank], "patience": patience, "of_node": 2}
            process |= {"machines": [0] * ranks, "nccl": ""}
            try:
                core = engine(system, state, ranks=ranks, **settings, **process)
                self.queue.put((rank, job(core, rank)))
            except QuiltError as error:
                self.queue.put((rank, error))

        self.processes = [forking.Process(target=run, args=(r,)) for r in range(ranks)]
        for process in self.processes:
            process.start()
        for end in itertools.chain(*sockets):
            if end >= 0:
                os.close(end)

    def results(self, count: int | None = None) -> dict[int, Any]:
        found = dict(self.queue.get() for _ in range(count or len(self.processes)))
        for rank in found:
            self.processes[rank].join(120)
            assert self.processes[rank].exitcode == 0
        return found

    def end(self) -> None:
        for process in self.processes:
            process.kill()

    def kill(self, rank: int, number: int) -> None:
        pid = self.processes[rank].pid
        assert pid is not None
        os.kill(pid, number)


@pytest.fixture(scope="module")
def peptide(alanine: tuple[Path, Path]) -> tuple[Any, Any]:
    return quiltmd.load(*alanine, constraints="h-bonds")


def work(core: Any, rank: int = 0) -> Any:
    """What an application asks of an engine, and what it got."""
    minimum = core.minimize(500.0, 8)
    core.draw_velocities(300.0, 1)
    core.run(45)
    described = core.describe()
    return (
        digest(core),
        minimum,
        core.energies(),
        core.forces().tobytes(),
        core.force_sum(),
        {key: described[key] for key in ("early_rebuilds", "list_entries", "proxies")},
    )


@pytest.mark.parametrize("integrator", [NVT, NVE], ids=["nvt", "nve"])
@pytest.mark.parametrize("ranks", [2, 3])
def test_processes_do_not_matter(peptide: tuple[Any, Any], integrator: Any, ranks: int) -> None:
    choice = {"integrator": integrator, **HASTY}
    expected = work(engine(*peptide, ranks=ranks, **choice))
    assert expected[0] == work(engine(*peptide, **choice))[0]
    assert expected[-1]["early_rebuilds"] > 0
    results = Ranks(ranks, work, *peptide, **choice).results()
    assert [results[r] for r in range(ranks)] == [expected] * ranks


def test_computes_may_move_between_processes(peptide: tuple[Any, Any]) -> None:
    """Ranks are balanced after four epochs, by times that all of them have measured."""
    choice = {"integrator": NVT, "list_life": 7, "list_buffer": 0.1}
    expected = work(engine(*peptide, **choice))
    results = Ranks(3, work, *peptide, **choice).results()
    assert all(
        result[:1] + result[2:5] == expected[:1] + expected[2:5] for result in results.values()
    )


def for_ever(core: Any, rank: int) -> None:
    core.draw_velocities(300.0, 1)
    while True:
        core.run(20)


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (signal.SIGKILL, "rank 1 has ended"),
        (signal.SIGSTOP, "rank 1 has not been heard of for 5"),
    ],
)
def test_a_lost_process_ends_all(peptide: tuple[Any, Any], number: int, told: str) -> None:
    """The others say which it was; which of several they notice first is a matter of time."""
    ranks = Ranks(3, for_ever, *peptide, integrator=NVT, patience=5.0)
    killer = threading.Timer(3.0, ranks.kill, (1, number))
    killer.start()
    results = ranks.results(2)
    if number == signal.SIGSTOP:
        ranks.kill(1, signal.SIGKILL)
    assert set(results) == {0, 2}
    messages = [str(results[r]) for r in (0, 2)]
    assert all(isinstance(results[r], QuiltError) for r in (0, 2))
    assert any(told in message for message in messages), messages


def test_a_suspended_job_goes_on(peptide: tuple[Any, Any]) -> None:
    """Processes that were all stopped, for longer than any may be silent, take none for lost."""
    ranks = Ranks(3, for_ever, *peptide, integrator=NVT, patience=5.0)
    time.sleep(3.0)
    for number, seconds in ((signal.SIGSTOP, 8.0), (signal.SIGCONT, 3.0)):
        for rank in range(3):
            ranks.kill(rank, number)
        time.sleep(seconds)
    assert all(process.is_alive() for process in ranks.processes)
    ranks.kill(1, signal.SIGKILL)
    messages = [str(found) for found in ranks.results(2).values()]
    assert any("rank 1 has ended" in message for message in messages), messages


def test_a_rank_that_fails_ends_all(peptide: tuple[Any, Any]) -> None:
    """An error in one process is told there; the others say whose it was."""

    def fail_in_one(core: Any, rank: int) -> None:
        core.draw_velocities(300.0, 1)
        core.run(5)
        if rank == 1:
            raise QuiltError("on purpose")
        core.run(5)

    results = Ranks(2, fail_in_one, *peptide, integrator=NVT).results()
    assert str(results[1]) == "on purpose"
    assert "rank 1 has ended" in str(results[0])
    assert isinstance(results[0], PeerError)


def test_sockets_are_those_of_the_ranks(peptide: tuple[Any, Any]) -> None:
    own = {"patience": 20.0, "of_node": 1, "machines": [0, 0], "nccl": ""}
    with pytest.raises(QuiltError, match="socket to every other rank"):
        engine(*peptide, ranks=2, rank=0, sockets=[], **own)
    with pytest.raises(QuiltError, match="the number of its machine"):
        engine(*peptide, ranks=2, rank=0, sockets=[-1, -1], **{**own, "machines": [0]})
    with pytest.raises(QuiltError, match="rank 2 does not exist: there are 2, numbered from 0"):
        engine(*peptide, ranks=2, rank=2, sockets=[-1, -1], **own)
