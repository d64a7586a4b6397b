# SPDX-License-Identifier: Apache-2.0
"""Stages that stop or are killed go on as if nothing had happened; what began is not edited."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from disk import Faults, Killed
from fake_engine import FakeEngine
from stage_runs import NAMES, chained, results, settings

import quiltmd
from quiltmd import QuiltError
from quiltmd.running import runner, stages
from quiltmd.running.config import read_config

pytestmark = pytest.mark.filterwarnings("ignore:a cutoff of:quiltmd.QuiltWarning")

MODULES = ("quiltmd.outputs.files.os", "quiltmd.running.folder.os")


@pytest.mark.usefixtures("_waters")
def test_kills_between_and_within_stages_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed again and again after some more file operations, until it is done."""
    stages.start(settings(tmp_path, "whole"), engine=FakeEngine)
    whole = results(tmp_path / "whole")
    out, kills, allowed = tmp_path / "out", 0, 23
    while True:
        faults = Faults(allowed, "kill")
        with monkeypatch.context() as patch:
            for module in MODULES:
                patch.setattr(module, faults)
            try:
                if (out / "config.toml").exists():
                    stages.resume(out, engine=FakeEngine)
                else:
                    stages.start(settings(tmp_path), overwrite=True, engine=FakeEngine)
                break
            except Killed:
                kills, allowed = kills + 1, allowed + 22
    assert kills > 3
    assert results(out) == whole


@pytest.mark.usefixtures("_waters")
def test_a_signal_in_a_stage(tmp_path: Path, capsys: Any) -> None:
    class Interrupting(FakeEngine):
        def run(self, steps: int) -> None:
            super().run(steps)
            if self.calls == 3:
                os.kill(os.getpid(), signal.SIGTERM)

    stages.start(settings(tmp_path, "whole"), engine=FakeEngine)
    outcome = stages.start(settings(tmp_path), engine=Interrupting)
    assert outcome.interrupted
    assert outcome.signal == signal.SIGTERM
    assert not (tmp_path / "out" / NAMES[2]).exists()
    assert f"--resume {tmp_path / 'out'}\n" in capsys.readouterr().err
    assert not stages.resume(tmp_path / "out", {("run", "threads"): 1}, FakeEngine).interrupted
    assert results(tmp_path / "out") == results(tmp_path / "whole")
    assert "minimise: done before" in capsys.readouterr().err
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")}
    stages.resume(tmp_path / "out", engine=FakeEngine)  # all done: nothing to do
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")} == before


@pytest.mark.usefixtures("_waters")
def test_the_time_of_one_resume_is_not_that_of_later_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends all stages together, neither that which it stops nor one that it begins keeps it."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    class Timed(FakeEngine):
        def run(self, steps: int) -> None:
            super().run(steps)
            now[0] += 25 * steps

    out = tmp_path / "out"
    assert stages.start(
        settings(tmp_path) | {"run": {"steps": 20, "device": "cpu", "max_hours": 50 / 3600}},
        engine=Timed,
    ).interrupted
    stopped = stages.resume(out, {("run", "max_hours"): 600 / 3600}, Timed)
    assert stopped.interrupted
    begun = [out / name / "config.toml" for name in NAMES]
    limits = [read_config(path)["run"]["max_hours"] for path in begun if path.exists()]
    assert len(limits) > 1
    assert limits == pytest.approx([50 / 3600] * len(limits))
    assert not stages.resume(out, {("run", "max_hours"): 10.0}, Timed).interrupted


@pytest.mark.usefixtures("_waters")
@pytest.mark.parametrize("missing", [0, 1])
def test_the_folder_of_an_earlier_stage_is_missed(tmp_path: Path, missing: int) -> None:
    """It is not run again in silence, from other random numbers than those of later stages."""
    stages.start(settings(tmp_path), engine=FakeEngine)
    (tmp_path / "out" / NAMES[missing]).rename(tmp_path / "aside")
    message = f"stage .* has no checkpoint in .*{NAMES[missing]}, .*stage .*{NAMES[missing + 1]}"
    with pytest.raises(QuiltError, match=message):
        stages.resume(tmp_path / "out", engine=FakeEngine)
    assert not (tmp_path / "out" / NAMES[missing]).exists()
    (tmp_path / "aside").rename(tmp_path / "out" / NAMES[missing])
    assert not stages.resume(tmp_path / "out", engine=FakeEngine).interrupted


@pytest.mark.usefixtures("_waters")
def test_the_checkpoint_before_the_last_serves_a_stage(tmp_path: Path) -> None:
    stages.start(settings(tmp_path), engine=FakeEngine)
    whole = results(tmp_path / "out")
    (tmp_path / "out" / NAMES[2] / "checkpoint.qmd").unlink()
    stages.resume(tmp_path / "out", engine=FakeEngine)
    assert results(tmp_path / "out") == whole
    assert not list((tmp_path / "out").rglob("backup.*"))


def stopping_at(step: int) -> type[FakeEngine]:
    """An engine that has a run end soon after a step."""

    class Stopping(FakeEngine):
        def run(self, steps: int) -> None:
            super().run(steps)
            if self._step >= step:
                os.kill(os.getpid(), signal.SIGTERM)

    return Stopping


def stopped_in_the_second(tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """A run that stopped in its second stage, and its settings, to edit."""

    assert stages.start(settings(tmp_path), engine=stopping_at(8)).interrupted
    return tmp_path / "out", read_config(tmp_path / "out" / "config.toml")


def edit(out: Path, given: dict[str, Any]) -> None:
    (out / "config.toml").write_text(tomli_w.dumps(given))


@pytest.mark.usefixtures("_waters")
@pytest.mark.parametrize(
    ("number", "section", "change", "message"),
    [
        (1, "integrator", {"annealing_every": 6}, "annealing_every (was 5, is 6)"),
        (1, "integrator", {"annealing": [[0, 50]]}, "integrator.annealing (was"),
        (1, "output", {"log_every": 2}, "output.log_every (was 4, is 2)"),
        (1, "nonbonded", {"pme_tolerance": 1e-4}, "nonbonded.pme_tolerance (was"),
        (0, "run", {"minimize": False}, "run.minimize (was True, is False)"),
        (0, "run", {"steps": 3}, "run.steps (stage heat began before step 3)"),
    ],
)
def test_what_has_begun_cannot_be_edited(
    tmp_path: Path, number: int, section: str, change: dict[str, Any], message: str
) -> None:
    """A stage goes on as it began, so another description of it would be ignored."""
    out, given = stopped_in_the_second(tmp_path)
    table = given["stage"][number]
    table[section] = table.get(section, {}) | change
    edit(out, given)
    with pytest.raises(
        QuiltError, match=r"stage \w+ began with other settings than .*" + re.escape(message)
    ):
        stages.resume(out, engine=FakeEngine)


@pytest.mark.usefixtures("_waters")
def test_what_is_yet_to_come_can_be_edited(tmp_path: Path) -> None:
    """A later stage, and of the one that goes on what may change."""
    out, given = stopped_in_the_second(tmp_path)
    given["stage"][1]["run"] = {"steps": 30, "threads": 1}
    given["stage"][2]["integrator"]["timestep"] = 0.001
    given["stage"].append({"name": "more", "run": {"steps": 2}})
    edit(out, given)
    assert not stages.resume(out, engine=FakeEngine).interrupted
    ends = [
        quiltmd.read_checkpoint(path).state.step for path in sorted(out.glob("*/checkpoint.qmd"))
    ]
    assert ends == [0, 30, 20, 2]
    assert read_config(out / NAMES[1] / "config.toml")["run"]["threads"] == 1
    assert read_config(out / NAMES[2] / "config.toml")["integrator"]["timestep"] == 0.001


@pytest.mark.usefixtures("_waters")
def test_a_stage_that_was_made_longer_by_itself(tmp_path: Path) -> None:
    """Stopped on its way it goes on to its own end before the next begins."""
    stages.start(settings(tmp_path), engine=FakeEngine)
    out = tmp_path / "out"
    (out / NAMES[2]).rename(tmp_path / "aside")
    found = runner.resume(out / NAMES[1], {("run", "steps"): 26}, stopping_at(21))
    assert (found.interrupted, found.step) == (True, 21)
    stages.resume(out, engine=FakeEngine)
    ends = [quiltmd.read_checkpoint(out / name / "checkpoint.qmd").state.step for name in NAMES]
    assert ends == [0, 26, 20]


@pytest.mark.usefixtures("_waters")
def test_overwriting_keeps_earlier_stages(tmp_path: Path) -> None:
    stages.start(settings(tmp_path), engine=FakeEngine)
    with pytest.raises(QuiltError, match=r"already has files .*1-minimise.*--overwrite"):
        stages.start(settings(tmp_path), engine=FakeEngine)
    whole = results(tmp_path / "out")
    stages.start(settings(tmp_path), overwrite=True, engine=FakeEngine)
    assert results(tmp_path / "out" / "backup.1") == whole
    assert results(tmp_path / "out") == whole
    assert stages.has_stages(tmp_path / "out")
    assert not stages.has_stages(tmp_path / "out" / NAMES[0])


@pytest.mark.usefixtures("_waters")
def test_an_error_names_its_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeEngine, "explode_at", 9)
    with pytest.raises(QuiltError, match=r"stage heat: step 9: .*2-heat/checkpoint.qmd \(step 7\)"):
        stages.start(settings(tmp_path), engine=FakeEngine)
    with pytest.raises(QuiltError, match="each stage has its own number of steps"):
        stages.resume(tmp_path / "out", {("run", "steps"): 99}, FakeEngine)
    monkeypatch.setattr(FakeEngine, "explode_at", None)
    assert stages.resume(tmp_path / "out", engine=FakeEngine).step == 20


def test_stages_without_a_box_go_on(openmmtools_data: Path, tmp_path: Path) -> None:
    """The method is not stated: it follows from the files, which have no box."""
    folder = openmmtools_data / "alanine-dipeptide-gbsa"
    given: dict[str, Any] = {
        "system": {
            "topology": folder / "alanine-dipeptide.prmtop",
            "coordinates": folder / "alanine-dipeptide.crd",
        },
        "solvent": {"model": "obc2"},
        "integrator": {"seed": 1},
        "run": {"steps": 20, "device": "cpu"},
        "output": {"dir": tmp_path / "out", "log_every": 5},
        "stage": [{"name": "heat"}, {"name": "produce"}],
    }
    stages.start(given)
    log = (tmp_path / "out" / "2-produce" / "log.csv").read_text().splitlines()
    (tmp_path / "out" / "2-produce").rename(tmp_path / "aside")
    stages.resume(tmp_path / "out")
    again = (tmp_path / "out" / "2-produce" / "log.csv").read_text().splitlines()
    assert [row.rsplit(",", 1)[0] for row in again] == [row.rsplit(",", 1)[0] for row in log]


def test_the_interval_of_a_barostat_is_stated_where_it_is_left_open(
    alanine: tuple[Path, Path], tmp_path: Path
) -> None:
    """In the folder of each stage, by its time step; that of all stages leaves it open."""
    given = chained(alanine, tmp_path, {}, {"integrator": {"timestep": 0.001}})
    given["integrator"]["ensemble"] = "npt"
    given["barostat"] = {"time_constant": 0.3}
    stages.start(given)
    for stage, every in ((1, 3), (2, 6)):
        stated = read_config(tmp_path / f"{stage}-{stage}" / "config.toml")
        assert stated["barostat"]["every"] == every
    written = read_config(tmp_path / "config.toml")
    assert "every" not in written["barostat"]
    stages.resume(tmp_path)
    written["barostat"]["every"] = 4
    edit(tmp_path, written)
    with pytest.raises(QuiltError, match=r"barostat.every \(was 3, is 4\)"):
        stages.resume(tmp_path)
