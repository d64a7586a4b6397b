# SPDX-License-Identifier: Apache-2.0
"""`quiltmd bench-workers`: what it measures is there, and adds up."""

from __future__ import annotations

import json
import os

import pytest
from command import quiltmd
from test_workers import comes_true, is_alive

from quiltmd import LostError
from quiltmd.exchange.benchmark import PARTS
from quiltmd.exchange.null_engine import null_workers


@pytest.mark.parametrize("where", ["--processes", "--no-processes"])
def test_where_the_time_of_an_exchange_goes(where: str) -> None:
    command = ("bench-workers", "exchange", "--replicas", 1, "--replicas", 3, "--iterations", 2)
    done = quiltmd(*command, "--milliseconds", 40, where, "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [row["replicas"] for row in rows] == [1, 3]
    for row in rows:
        parts = row["milliseconds"]
        assert tuple(parts) == PARTS
        assert all(parts[part] > 0 for part in PARTS)
        assert row["iterations_per_second"] == pytest.approx(1000 / sum(parts.values()))
    run = rows[1]["milliseconds"]["run"]
    assert 40 <= run < 120 if where == "--processes" else run >= 120


def test_a_table_for_people() -> None:
    done = quiltmd("bench-workers", "exchange", "--replicas", 2, "--iterations", 1)
    assert done.returncode == 0, done.stderr
    assert all(f"{part}, ms" in done.stdout for part in PARTS)


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
