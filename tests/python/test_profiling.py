# SPDX-License-Identifier: Apache-2.0
"""Profiles of runs and the table of speeds: valid files, spans where they belong, the same bits."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boxes
import pytest
from command import quiltmd as command
from fake_engine import FakeEngine

import quiltmd
from quiltmd.commands.bench import print_results
from quiltmd.running import benchmark as bench
from quiltmd.running import profiling, runner
from quiltmd.running.config import build_config
from quiltmd.running.profiling import run_profiled

Files = tuple[Path, Path]
TOY_LIFE = 7  # steps that the toy's lists live


@pytest.fixture(scope="module")
def water() -> Any:
    system, state = boxes.water_box((7, 7, 7))
    core = boxes.engine(system, state)
    core.minimize(500.0, 100)
    core.draw_velocities(300.0, 1)
    return system, quiltmd.State.start(system, core.state()["positions"], state.box)


def profiled_run(files: Files, out: Path, steps: int, **output: Any) -> Path:
    settings = {
        "system": {"topology": files[0], "coordinates": files[1]},
        "run": {"steps": steps, "device": "cpu"},
        "output": {"dir": out, "profile": True, **output},
    }
    runner.start(build_config(settings), engine=FakeEngine)
    return out


def table(out: Path) -> list[dict[str, str]]:
    with open(out / "profile.csv", newline="") as file:
        return list(csv.DictReader(file))


def timeline(out: Path) -> Any:
    return json.loads((out / "timeline.json").read_text())


def tracks(spans: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Spans of each rank and stream in the order of their begin."""
    for track in {(span["rank"], span["stream"]) for span in spans}:
        of_track = [span for span in spans if (span["rank"], span["stream"]) == track]
        yield sorted(of_track, key=lambda span: span["begin"])


@pytest.mark.parametrize("ranks", [1, 2])
def test_spans_lie_in_the_profiled_time_one_after_the_other(water: Any, ranks: int) -> None:
    core = boxes.engine(*water, ranks=ranks)
    core.run(5)
    core.start_profile()
    core.run(20)
    began = time.perf_counter()
    core.start_profile()  # forgets those twenty
    core.run(10)
    seconds = time.perf_counter() - began
    spans = core.stop_profile()
    assert {span["rank"] for span in spans} == set(range(ranks))
    # The water is one patch: there are no messages, and a second rank has nothing to do.
    assert {span["stream"] for span in spans} == ({0, 1} if ranks == 1 else {0, 1, 3})
    for track in tracks(spans):
        assert all(before["end"] <= after["begin"] for before, after in pairwise(track))
        assert all(span["begin"] <= span["end"] for span in track)
        assert track[0]["begin"] >= 0
        assert track[-1]["end"] <= seconds
    integrations = [span for span in spans if span["name"] == "integrate" and span["rank"] == 0]
    assert len(integrations) >= 10
    core.run(5)
    assert core.stop_profile() == []


def test_a_profile_changes_no_bit(water: Any) -> None:
    digests = []
    for profiled in (False, True):
        core = boxes.engine(*water, integrator=quiltmd.LangevinMiddle(timestep=0.004, seed=2))
        core.run(13)
        if profiled:
            core.start_profile()
        core.run(31)
        if profiled:
            assert core.stop_profile()
        core.run(9)
        digests.append(boxes.digest(core))
    assert digests[0] == digests[1]


def test_a_new_state_ends_a_profile(water: Any) -> None:
    core = boxes.engine(*water)
    core.start_profile()
    core.set_state(**water[1].arrays())
    core.run(3)
    assert core.stop_profile() == []


def test_the_files_of_a_run(alanine: Files, tmp_path: Path) -> None:
    out = profiled_run(alanine, tmp_path / "out", 200)
    rows = table(out)
    assert {row["name"]: int(row["calls"]) for row in rows} == {
        "springs": 10 * TOY_LIFE,
        "noise": 10 * TOY_LIFE,
    }
    for row in rows:
        assert float(row["us_per_call"]) == float(row["us_per_step"]) == pytest.approx(5.0)
        assert float(row["share"]) == pytest.approx(0.5)
    document = timeline(out)
    about = document["otherData"]
    assert about == {"device": "cpu", "first_step": 5 * TOY_LIFE, "steps": 10 * TOY_LIFE}
    names = [e["args"]["name"] for e in document["traceEvents"] if e["ph"] == "M"]
    assert names == ["rank 0 (cpu)", "main", "rank 0 (cpu)", "side"]
    spans = [event for event in document["traceEvents"] if event["ph"] == "X"]
    assert len(spans) == 20 * TOY_LIFE
    assert all(span.keys() == {"ph", "pid", "tid", "name", "ts", "dur"} for span in spans)
    assert spans[1] == {"ph": "X", "pid": 0, "tid": 1, "name": "noise", "ts": 5.0, "dur": 5.0}


@pytest.mark.parametrize(
    ("steps", "first", "count"), [(3, 0, 3), (70, 0, 70), (90, 20, 70), (105, 35, 70)]
)
def test_a_short_run_is_profiled_as_far_as_it_goes(
    alanine: Files, tmp_path: Path, steps: int, first: int, count: int
) -> None:
    about = timeline(profiled_run(alanine, tmp_path / "out", steps))["otherData"]
    assert (about["first_step"], about["steps"]) == (first, count)


@pytest.mark.parametrize(
    ("steps", "warm_up", "stretch"),
    [(10**6, 812, 2100), (2000, 812, 1188), (900, 760, 140), (100, 0, 100)],
)
def test_a_short_run_on_a_gpu_keeps_its_warm_up(steps: int, warm_up: int, stretch: int) -> None:
    """Recordings are made in the warm-up, which would disturb the stretch."""
    assert profiling.shares_of(steps, 812, 140, 15) == (warm_up, stretch)


def test_a_stop_in_the_warm_up_or_the_stretch(alanine: Files) -> None:
    class EachStep:
        every = 1

        def report(self, frame: quiltmd.Readout, /) -> None:
            pass

    for last, first in ((10, 0), (42, 35)):
        simulation = quiltmd.Simulation(*quiltmd.load(*alanine), device="cpu", engine=FakeEngine)
        profile = run_profiled(simulation, 1000, [EachStep()], lambda step, last=last: step == last)
        assert (profile.first_step, profile.steps) == (first, last - first)
        assert simulation.step == last


@pytest.mark.parametrize("balance", [True, False])
def test_work_before_balancing_is_told_where_work_is_balanced(water: Any, balance: bool) -> None:
    simulation = quiltmd.Simulation(
        *water,
        device="cpu",
        ranks=2,
        threads=1,
        balance=balance,
        integrator=quiltmd.LangevinMiddle(),
    )
    trace = run_profiled(simulation, 6 * simulation.describe()["list_life"], stretch=5).trace
    assert len(trace.busy_before) == (2 if balance else 0)
    assert trace.threads == 2


def test_cores_of_other_machines_are_not_counted() -> None:
    """Eight ranks on eight hosts are not too many for this one."""
    hosts = ",".join(f"ssh:host{k}/cpu" for k in range(8))
    for device, known in ((f"ranks:{hosts}", False), ("ranks:worker:cpu,worker:cpu", True)):
        simulation = SimpleNamespace(device=device, ranks=8, describe=lambda: {"threads": 64})
        assert bool(profiling.cores_of(simulation)) == known


def test_a_run_of_no_steps_has_no_profile(alanine: Files, tmp_path: Path) -> None:
    assert not (profiled_run(alanine, tmp_path / "out", 0) / "profile.csv").exists()


def test_profiling_from_the_command_line(alanine: Files, tmp_path: Path) -> None:
    flags = [
        "run", "--topology", alanine[0], "--coordinates", alanine[1], "--device", "cpu",
        "--minimize", "--steps", 12, "--threads", 1, "--log-every", 5, "--seed", 1,
    ]  # fmt: skip
    digests = []
    for name, more in (("plain", ()), ("profiled", ("--profile",))):
        done = command(*flags, "--out", tmp_path / name, *more)
        assert done.returncode == 0, done.stderr
        assert done.stdout == ""
        assert ("us/step" in done.stderr) == (name == "profiled")
        checkpoint = quiltmd.read_checkpoint(tmp_path / name / "checkpoint.qmd")
        digests.append(quiltmd.digest(checkpoint.state))
    assert digests[0] == digests[1]
    assert not (tmp_path / "plain" / "profile.csv").exists()
    rows = table(tmp_path / "profiled")
    assert {"pairs.interior", "integrate", "energies"} <= {row["name"] for row in rows}
    assert sum(float(row["share"]) for row in rows) == pytest.approx(1.0, abs=1e-3)
    done = command("run", "--resume", tmp_path / "profiled", "--steps", 14, "--no-profile")
    assert done.returncode == 0, done.stderr
    assert "us/step" not in done.stderr


def test_the_table_of_a_gpu(
    alanine: Files, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A toy takes the GPU's place; one tiling does not fit."""

    class Small(FakeEngine):
        def __init__(self, system: Any, *settings: Any) -> None:
            if len(system["masses"]) > 2 * 2269:
                raise quiltmd.QuiltError("GPU 0 (toy) is out of memory: 9 MiB asked for")
            super().__init__(system, *settings)

    monkeypatch.setattr(
        "quiltmd.engine.execution.devices", lambda: [{"kind": "cuda", "usable": True}]
    )
    monkeypatch.setattr(bench, "GPU_TILINGS", ((1, 1, 1), (1, 1, 2), (1, 1, 3)))
    results = bench.bench_gpu(20, system="alanine", engine=Small)
    assert [result["tile"] for result in results] == ["1x1x1", "1x1x2", "1x1x3"]
    assert [result.get("atoms") for result in results] == [2269, 2 * 2269, None]
    assert results[0]["steps"] == 20
    assert results[0]["bytes_per_atom"] == 100
    assert results[0]["tasks"] == pytest.approx({"springs": 1e-4, "noise": 1e-4})
    assert "out of memory" in results[2]["note"]
    json.dumps(results)
    print_results(results)
    shown = capsys.readouterr()
    assert "bytes/atom" in shown.out
    assert "1x1x3: GPU 0 (toy) is out of memory" in shown.out
