# SPDX-License-Identifier: Apache-2.0
"""Messages between processes by UCX: the bits of one process, and the errors of sockets."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from boxes import engine, water_box
from test_lost_ranks import move_for_ever
from test_processes import NVE, NVT, Ranks, work
from test_team import TWO, processes_of
from test_workers import comes_true, is_alive, water

import quiltmd
from quiltmd import Nonbonded, QuiltError
from quiltmd.engine.libraries import UCX

needs_ucx = pytest.mark.skipif(bool(UCX.why_none()), reason=UCX.why_none())


@needs_ucx
@pytest.mark.parametrize("integrator", [NVT, NVE], ids=["nvt", "nve"])
def test_ucx_changes_nothing(integrator: Any) -> None:
    choice = {"nonbonded": Nonbonded(cutoff=0.8), "integrator": integrator, "list_life": 5}
    system, state = water_box((9, 9, 9))
    expected = work(engine(system, state, ranks=3, **choice))
    results = Ranks(3, work, system, state, ucx=UCX.path(), **choice).results()
    assert [results[r] for r in range(3)] == [expected] * 3


@needs_ucx
@pytest.mark.parametrize(
    ("number", "told"),
    [(signal.SIGKILL, "rank 0 has ended"), (signal.SIGSTOP, "rank 0 has not been heard of for 5")],
)
def test_all_others_name_the_rank_that_is_lost(number: int, told: str) -> None:
    """By sockets, in the words and within the time of these."""
    choice = {"nonbonded": Nonbonded(cutoff=0.8), "integrator": NVT, "ucx": UCX.path()}
    ranks = Ranks(9, move_for_ever, *water_box((9, 9, 9)), patience=5.0, **choice)
    timer = threading.Timer(3.0, ranks.kill, (0, number))
    timer.start()
    try:
        results = ranks.results(8)
    finally:
        ranks.end()
    assert all(str(found).startswith(told) for found in results.values()), results


@needs_ucx
def test_workers_send_by_ucx() -> None:
    alone, team = water("cpu", ranks=2), water(TWO, transport="ucx")
    for simulation in (alone, team):
        simulation.draw_velocities(300, seed=2)
        simulation.run(12)
    assert quiltmd.digest(alone.state()) == quiltmd.digest(team.state())
    (victim, other), engine_of_team = processes_of(team), team._engine
    maps = Path(f"/proc/{victim}/maps").read_text()
    assert UCX.name in maps
    os.kill(victim, signal.SIGKILL)
    with pytest.raises(QuiltError, match=r"rank 0 \(worker:cpu\) is lost: .* by SIGKILL"):
        team.run(10**6)
    engine_of_team.close()  # type: ignore[attr-defined]
    assert comes_true(lambda: not is_alive(other))


def test_without_ucx_the_error_says_how_to_get_it(tmp_path: Path) -> None:
    missing = str(tmp_path / UCX.name)
    own = {"rank": 0, "sockets": [-1], "patience": 5.0, "of_node": 1, "machines": [0], "nccl": ""}
    with pytest.raises(QuiltError, match=r"UCX cannot be used: .*pip install 'quiltmd\[ucx\]'"):
        engine(*water_box((6, 6, 6)), Nonbonded(cutoff=0.8), ucx=missing, **own)
