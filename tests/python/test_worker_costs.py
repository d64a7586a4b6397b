# SPDX-License-Identifier: Apache-2.0
"""`benchmarks/workers.py`: what it measures is there, and adds up."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import quiltmd
from harmonic_engine import ATOMS, FORCES, oscillators
from test_workers import comes_true, is_alive

from quiltmd import LostError, ReplicaExchange
from quiltmd.engine.injection import BUFFERS
from quiltmd.exchange.states import rest2_states, temperature_states
from quiltmd.version import package_version
from quiltmd.workers.channel import Channel
from quiltmd.workers.pool import PHASES

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PROGRAM = BENCHMARKS / "workers.py"
sys.path.insert(0, str(BENCHMARKS))
from worker_costs.exchange import PARTS  # noqa: E402
from worker_costs.null_engine import null_workers  # noqa: E402


def measured(*words: Any) -> dict[str, Any]:
    """What a command gives as JSON, which says how and where it was measured."""
    done = quiltmd(*words, "--json", program=PROGRAM)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    assert result["command"].startswith(f"python benchmarks/workers.py {words[0]}")
    assert result["provenance"]["version"] == package_version()
    return result


def test_messages_there_and_back() -> None:
    result = measured("remote", "--sizes", "8,1M", "--gaps", "0,30", "--targets", "2,3")
    rows = [
        (row["connection"], row["workers"], row["bytes"], row["gap_ms"]) for row in result["rows"]
    ]
    one = [(1, 8, 0), (1, 1 << 20, 0), (1, 8, 30)]
    expected = [(name, *those) for name in ("worker", "remote") for those in one]
    assert rows == [*expected, ("worker", 2, 8, 0), ("worker", 3, 8, 0)]
    for row in result["rows"]:
        assert 5 < row["microseconds"] < 1e7  # and without the gap
        both_ways = 2 * row["bytes"] * row["workers"] / row["microseconds"]
        assert row["megabytes_per_second"] == pytest.approx(both_ways)


def test_steps_here_and_elsewhere() -> None:
    """A step waits for a slow network; all lead to the same State."""
    rows = measured("step", "--steps", 3, "--delays", "20")["rows"]
    levels = [(row["level"], row["connection"], row.get("delay_ms")) for row in rows]
    assert levels == [
        ("here", "", None),
        ("engine", "worker", None),
        ("device", "worker", None),
        ("engine", "remote", None),
        ("device", "remote", None),
        ("engine", "proxy", 20),
        ("device", "proxy", 20),
    ]
    assert len({row["digest"] for row in rows}) == 1
    for row in rows[5:]:
        assert row["slept_ms"] >= 20
        assert row["us_per_step"] > 40e3 / 3  # a call and its answer, at least
    assert rows[0]["more_percent"] == 0


def test_engines_that_are_compared() -> None:
    rows = measured("redundancy", "--atoms", "500,2K", "--milliseconds", 30)["rows"]
    names = ("here", "worker", "redundant")
    assert [(row["atoms"], row["engine"]) for row in rows] == [
        (atoms, name) for atoms in (500, 2048) for name in names
    ]
    for row in rows:
        assert row["milliseconds"] >= 30
    assert rows[0]["more_percent"] == rows[3]["more_percent"] == 0


def test_devices_that_are_compared() -> None:
    command = ("redundancy", "--devices", "cpu;cpu", "--system", "alanine", "--tiles", "1x1x1")
    rows = measured(*command, "--seconds", 0.1)["rows"]
    assert [row["device"] for row in rows] == ["cpu", "worker:cpu", "redundant:cpu,cpu"]
    assert len({row["digest"] for row in rows}) == 1


def test_lost_devices_by_phase() -> None:
    result = measured("migration", "--kinds", "kill,drop", "--faults", 3, "--steps", 20)
    assert result["same_bits"]
    assert (result["faults"], result["survived"], result["steps"]) == (3, 3, 60)
    assert sum(row["faults"] for row in result["rows"]) == 3
    for row in result["rows"]:
        for times in (row["median_ms"], row["longest_ms"]):
            assert tuple(times) == PHASES
            assert times["started"] > 50  # a new process


def test_flipped_bits() -> None:
    rows = measured("flips", "--flips", 2)["rows"]
    assert [row["buffer"] for row in rows] == list(BUFFERS)
    for row in rows:
        assert row["flips"] == row["found"] == row["mended"] == 2
        assert row["missed"] == 0
    assert rows[0]["changed"] == rows[1]["changed"] == 2


@pytest.mark.parametrize("where", ["--processes", "--no-processes"])
def test_where_the_time_of_an_exchange_goes(where: str) -> None:
    each = 150 if where == "--processes" else 40
    command = ("exchange", "--replicas", "1,3", "--iterations", 2, "--milliseconds", each)
    rows = measured(*command, where)["rows"]
    assert [row["replicas"] for row in rows] == [1, 3]
    for row in rows:
        parts = row["milliseconds"]
        assert tuple(parts) == PARTS
        assert all(parts[part] > 0 for part in PARTS)
        assert row["iterations_per_second"] == pytest.approx(1000 / sum(parts.values()))
        assert 0 < row["processor_milliseconds"] * row["replicas"] < 2 * sum(parts.values())
    run = rows[1]["milliseconds"]["run"]
    assert each <= run < 3 * each if where == "--processes" else run >= 3 * each


def test_a_table_for_people() -> None:
    done = quiltmd("exchange", "--replicas", 2, "--iterations", 1, program=PROGRAM)
    assert done.returncode == 0, done.stderr
    assert all(f"{part}, ms" in done.stdout for part in PARTS)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("remote", "--sizes", "8,-1"), "--sizes: expected numbers such as 1,64 or 4K,1M"),
        (("remote", "--targets", "0"), "--targets: expected numbers"),
        (
            ("remote", "--gaps", "nan"),
            "--gaps: expected milliseconds such as 0,0.1,10, found 'nan'",
        ),
        (("step", "--delays", "-1"), "--delays: expected milliseconds"),
        (("step", "--system", "nothing"), "no standard system 'nothing'"),
        (("redundancy", "--devices", "cpu"), "--devices: expected two"),
        (("migration", "--kinds", "kill,flip"), "--kinds: 'flip' is none of kill, drop"),
    ],
)
def test_refusals(words: tuple[str, ...], said: str) -> None:
    done = quiltmd(*words, program=PROGRAM)
    assert done.returncode == 1
    assert said in " ".join(done.stderr.split())


def test_null_workers_end_with_their_context() -> None:
    settings = ({}, {}, {"seed": 1}, {})
    with null_workers(2) as workers:
        engines = [workers(*settings) for _ in range(2)]
        processes = [engine._connection.process for engine in engines]
        assert len({os.getpid(), *processes}) == 3
        assert all(map(is_alive, processes))
    assert comes_true(lambda: not any(map(is_alive, processes)))
    with pytest.raises(LostError):
        engines[0].run(1)


@pytest.mark.parametrize("kind", ["temperature", "rest2"])
def test_a_replica_takes_few_messages(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """To each worker for each iteration: run, read, and where states are moved, fetch and set.

    With Hamiltonians that differ each replica is evaluated in another state as well, from where it
    goes back or on at once.
    """
    ladder = np.linspace(300, 330, 6).tolist()
    states = temperature_states(ladder) if kind == "temperature" else rest2_states(ladder)
    system, state = oscillators()
    sent: list[str] = []
    send = Channel.send

    def counted(self: Channel, message: dict[str, Any]) -> None:
        sent.append(message.get("do", "alive"))
        send(self, message)

    with null_workers(6) as workers:
        made = ReplicaExchange(
            system, state, states, every=1, seed=5, solute=np.arange(ATOMS), nonbonded=FORCES,
            engine=workers, devices=["cpu"] * 6
        )  # fmt: skip
        made.run(1)
        monkeypatch.setattr(Channel, "send", counted)
        moved = 0
        for _ in range(10):
            before = made.walkers.copy()
            made.run(1)
            moved += int((made.walkers != before).sum())
    tried = 6 * 5 + 4 * 5  # replicas, in five even and five odd iterations
    assert 0 < moved < tried
    found = {name: sent.count(name) for name in ("run", "read", "set_state", "capture")}
    reads, sets = (moved, moved) if kind == "temperature" else (2 * tried, 2 * tried)
    assert found == {"run": 60, "read": 60 + reads, "set_state": sets, "capture": 0}
