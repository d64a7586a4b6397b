# SPDX-License-Identifier: Apache-2.0
"""Speeds and times left that users read, by a clock that goes on with the steps of a toy engine."""

from __future__ import annotations

import csv
import json
import time
from pathlib import Path
from typing import Any

import pytest
from fake_engine import FakeEngine

import quiltmd
from quiltmd.commands import demo
from quiltmd.commands.watch import watch
from quiltmd.exchange import runner as exchange_runner
from quiltmd.exchange.config import ExchangeConfig
from quiltmd.running import progress, runner
from quiltmd.running.benchmark import bench
from quiltmd.running.config import build_config, build_config_of

SECONDS = 0.125  # that a step takes


def nanoseconds_a_day(femtoseconds: float, seconds: float) -> float:
    """By a step of so many fs that takes so many s: the ratio of both times, times a day in ns."""
    return (femtoseconds * 1e-15 / seconds) * (24 * 60 * 60 / 1e-9)


class Clock:
    """`time.perf_counter`, which stands still but while steps are done."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "perf_counter", clock)
    return clock


@pytest.fixture
def engine(clock: Clock) -> type[FakeEngine]:
    class TimedEngine(FakeEngine):
        def run(self, steps: int) -> None:
            clock.now += SECONDS * steps
            super().run(steps)

    return TimedEngine


def settings_of(files: tuple[Path, Path], out: Path, **changes: Any) -> dict[str, Any]:
    return {
        "system": {"topology": files[0], "coordinates": files[1]},
        "integrator": {"timestep": 0.002, "seed": 3},
        "run": {"steps": 20, "device": "cpu"},
        "output": {"dir": out, "log_every": 4, "trajectory_every": 0},
        **changes,
    }


def speeds_in(log: Path) -> list[float]:
    with open(log, encoding="ascii", newline="") as file:
        return [float(row["ns/day"]) for row in csv.DictReader(file)]


def test_a_run_and_its_resume(
    alanine: tuple[Path, Path],
    tmp_path: Path,
    engine: type[FakeEngine],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each session counts its own steps and its own time; the row after the resume as well."""
    out = tmp_path / "out"
    speed = nanoseconds_a_day(2, SECONDS)
    runner.start(build_config(settings_of(alanine, out)), engine=engine)
    outcome = runner.resume(out, {("run", "steps"): 60}, engine)
    assert speeds_in(out / "log.csv") == [0.0] + [pytest.approx(speed, rel=1e-3)] * 15
    sessions = json.loads((out / "sessions.json").read_text())
    assert [one["speed"] for one in sessions] == [pytest.approx(speed)] * 2
    assert outcome.speed == pytest.approx(speed)
    said = capsys.readouterr().err
    assert "done: step 20, 1.38 ns/day" in said
    assert "done: step 60, 1.38 ns/day" in said


def test_an_exchange_and_its_resume(
    alanine: tuple[Path, Path],
    tmp_path: Path,
    engine: type[FakeEngine],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Replicas take turns on one device: each is slower, all together as fast as one alone.

    The first row of a session has no speed: how long a turn of all takes is known after it.
    """
    out = tmp_path / "out"
    exchange = {"temperatures": (300.0, 301.0, 302.0), "every": 4}
    settings = settings_of(alanine, out, exchange=exchange)
    exchange_runner.start(build_config_of(ExchangeConfig, settings, "test"), engine=engine)
    exchange_runner.resume(out, {("run", "steps"): 60}, engine)
    each = nanoseconds_a_day(2, 3 * SECONDS)
    for state in range(3):
        speeds = speeds_in(out / f"state-{state:02d}" / "log.csv")
        assert speeds == [
            0.0, *[pytest.approx(each, rel=1e-3)] * 4, 0.0, *[pytest.approx(each, rel=1e-3)] * 9
        ]  # fmt: skip
    said = capsys.readouterr().err
    assert "done: step 20, 0.461 ns/day each, 1.38 in all" in said
    assert "done: step 60, 0.461 ns/day each, 1.38 in all" in said


@pytest.mark.parametrize("first", [0, 1000])
def test_lines_of_progress(
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    first: int,
) -> None:
    """Speed and time left by the steps done since the beginning or the resume."""
    monkeypatch.setattr(progress, "_LINE_SECONDS", 0.0)
    with progress.RunProgress(first, 3000, 0.002) as run:
        for step in (first + 16, first + 80):
            clock.now = 1000.0 + SECONDS * (step - first)
            run.update(step)
    left = {0: ("0:06:13", "0:06:05"), 1000: ("0:04:08", "0:04:00")}[first]
    assert capsys.readouterr().err.splitlines() == [
        f"step {first + 16} of 3000, 1.38 ns/day, {left[0]} left",
        f"step {first + 80} of 3000, 1.38 ns/day, {left[1]} left",
    ]


def test_the_watched_run_tells_the_time_left(
    alanine: tuple[Path, Path],
    tmp_path: Path,
    engine: type[FakeEngine],
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out"
    settings = settings_of(alanine, out)
    settings["run"]["steps"] = 100
    exploding = type("Exploding", (engine,), {"explode_at": 40})
    with pytest.raises(quiltmd.QuiltError, match="step 40"):
        runner.start(build_config(settings), engine=exploding)
    (out / "sessions.json").unlink()  # as while the run goes on
    watch(out, once=True)
    head = capsys.readouterr().out.splitlines()[0]
    assert head == "out, step 40 of 100 (40.0%), 1.38 ns/day, 0:00:08 left"


def test_the_demo_fills_the_time_that_it_is_given() -> None:
    """In whole tens of steps of 4 fs."""
    speed = nanoseconds_a_day(4, SECONDS)
    assert demo._affordable_steps(62.5, speed) == pytest.approx(62.5 / SECONDS, abs=10)


def test_the_benchmark(engine: type[FakeEngine]) -> None:
    found = bench("alanine", steps=40, device="cpu", engine=engine)
    assert found["milliseconds_per_step"] == pytest.approx(1e3 * SECONDS)
    assert found["ns_per_day"] == pytest.approx(nanoseconds_a_day(1e3 * found["timestep"], SECONDS))
