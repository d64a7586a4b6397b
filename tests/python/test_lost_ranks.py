# SPDX-License-Identifier: Apache-2.0
"""A rank of many is lost, whatever its place in the tree of ranks: all others name it, at once."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from boxes import water_box
from command import quiltmd
from test_mpi import run_arguments
from test_processes import NVT, Ends, Ranks, join
from test_team import workers_here
from test_workers import comes_true

from quiltmd import Nonbonded, QuiltError, read_checkpoint

RANKS = 12  # two to a host, so that ranks 0 and 8 are at the top of the tree, and 11 is a leaf
AGREE, MIGRANTS, _, POSITIONS = range(4)  # edges of messages (schedule.h)
HEADER = struct.Struct("<iiqQ")  # of a message between processes: edge, padding, sequence, bytes
LIMIT = 15.0  # s, for all others to end, on however busy a machine


class Crossing:
    """Stands between two ranks, and acts instead of passing on the tenth message of an edge."""

    def __init__(self, ranks: tuple[int, int], edge: int, act: Callable[[], None]) -> None:
        self._ranks, self._edge, self._act = ranks, edge, act
        self._outer, self._inner = zip(*(socket.socketpair() for _ in range(2)), strict=True)

    def join(self, a: int, b: int) -> Ends:
        """The ends of a connection of two ranks."""
        if {a, b} != set(self._ranks):
            return join(a, b)
        first, second = self._outer if (a, b) == self._ranks else self._outer[::-1]
        return first, second

    def start(self) -> None:
        """Carries messages, in threads of this process."""
        first, second = self._inner
        for carry in (self._carry_messages, self._carry):
            threading.Thread(target=carry, args=(first, second), daemon=True).start()
            first, second = second, first

    def _carry(self, source: socket.socket, to: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                to.sendall(data)

    def _carry_messages(self, source: socket.socket, to: socket.socket) -> None:
        seen = 0
        with suppress(OSError):
            while header := source.recv(HEADER.size, socket.MSG_WAITALL):
                edge, _, _, size = HEADER.unpack(header)
                seen += edge == self._edge
                if seen == 10:
                    self._act()
                    break
                to.sendall(header + (source.recv(size, socket.MSG_WAITALL) if size else b""))
        for end in self._inner:  # of which the other ranks have copies
            end.shutdown(socket.SHUT_RDWR)


def move_for_ever(core: Any, rank: int) -> None:
    core.minimize(1000.0, 5)
    core.draw_velocities(300.0, 1)
    while True:
        core.run(20)


@pytest.mark.parametrize(
    ("victim", "edge", "receiver", "count"),
    [
        (0, AGREE, 8, RANKS),
        (11, AGREE, 8, RANKS),
        (5, MIGRANTS, 6, RANKS),
        (0, MIGRANTS, 8, RANKS),
        (11, POSITIONS, 5, RANKS),
        (26, AGREE, 24, 27),
    ],
    ids=["root", "leaf", "rebuild", "root in a rebuild", "leaf in a step", "leaf of 27"],
)
def test_all_others_name_the_rank_that_is_lost(
    victim: int, edge: int, receiver: int, count: int
) -> None:
    """It is killed when it has sent a message that never arrives."""
    killed = []

    def kill() -> None:
        killed.append(time.monotonic())
        ranks.kill(victim, signal.SIGKILL)

    crossing = Crossing((victim, receiver), edge, kill)
    settings = {"nonbonded": Nonbonded(cutoff=0.8), "integrator": NVT, "list_life": 4}
    ranks = Ranks(count, move_for_ever, *water_box((9, 9, 9)), join=crossing.join, **settings)
    crossing.start()
    try:
        assert comes_true(lambda: bool(killed), 60.0)
        results = ranks.results(count - 1)
    finally:
        ranks.end()
    assert time.monotonic() - killed[0] < LIMIT
    assert set(results) == set(range(count)) - {victim}
    assert {str(found) for found in results.values()} == {f"rank {victim} has ended"}
    assert all(isinstance(found, QuiltError) for found in results.values())


def test_a_run_of_many_ranks_ends_with_one_error(
    alanine: tuple[Path, Path], tmp_path: Path
) -> None:
    """And can be resumed, on fewer ranks, from files that are whole."""
    arguments = [*run_arguments(alanine, tmp_path, 10**8), "--hosts", "localhost:9"]
    run = subprocess.Popen(
        [sys.executable, "-m", "quiltmd", *map(str, arguments)], stderr=subprocess.PIPE, text=True
    )
    try:
        assert comes_true((tmp_path / "checkpoint.prev.qmd").exists)
        workers = sorted(workers_here(run.pid))
        assert len(workers) == 9
        os.kill(workers[6], signal.SIGKILL)
        _, said = run.communicate(timeout=60)
    finally:
        run.kill()
    assert run.returncode == 1
    errors = [line for line in said.splitlines() if line.startswith("error: ")]
    lost = "error: the worker on rank 6 (worker:cpu) is lost: its process was killed by SIGKILL; "
    assert len(errors) == 1
    assert errors[0].startswith(lost + "the last good checkpoint is ")
    assert said.count("\n") < 6
    step = read_checkpoint(tmp_path / "checkpoint.qmd").state.step
    end = 12 * (step // 12 + 1)
    done = quiltmd("run", "--resume", tmp_path, "--hosts", "localhost", "--steps", end)
    assert done.returncode == 0, done.stderr
    rows = (tmp_path / "log.csv").read_text().splitlines()[1:]
    assert [int(row.split(",")[0]) for row in rows] == list(range(0, end + 1, 4))
