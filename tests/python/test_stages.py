# SPDX-License-Identifier: Apache-2.0
"""Stages of one configuration, and annealing: stops anywhere change nothing; mistakes are named."""

from __future__ import annotations

import csv
import os
import re
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
from boxes import water_box
from command import quiltmd as quiltmd_command
from disk import Faults, Killed
from fake_engine import FakeEngine

import quiltmd
from quiltmd import QuiltError
from quiltmd.commands.digest import digest
from quiltmd.commands.report import make_report
from quiltmd.running import runner, stages
from quiltmd.running.config import build_config, read_config
from quiltmd.running.folder import Folder

pytestmark = pytest.mark.filterwarnings("ignore:a cutoff of:quiltmd.QuiltWarning")

MODULES = ("quiltmd.outputs.files.os", "quiltmd.running.folder.os")
NAMES = ("1-minimise", "2-heat", "3-release")
RESCALING = {"kind": "velocity-rescaling", "every": 5}


@pytest.fixture
def _waters(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = water_box((3, 3, 3))
    monkeypatch.setattr(runner, "load", lambda *files, **options: loaded)
    monkeypatch.setattr(runner, "check_overlaps", lambda *loaded: None)


def settings(tmp_path: Path, out: str = "out") -> dict[str, Any]:
    for name in ("a.prmtop", "a.inpcrd"):
        (tmp_path / name).write_text(name)
    return {
        "system": {
            "topology": str(tmp_path / "a.prmtop"),
            "coordinates": str(tmp_path / "a.inpcrd"),
        },
        "nonbonded": {"cutoff": 0.4},
        "integrator": {"seed": 3},
        "run": {"steps": 20, "device": "cpu"},
        "output": {
            "dir": tmp_path / out,
            "log_every": 4,
            "trajectory_every": 6,
            "checkpoint_every": 7,
        },
        "stage": [
            {"name": "minimise", "run": {"steps": 0, "minimize": True}},
            {
                "name": "heat",
                "integrator": {"annealing": [[0, 50], [0.03, 250]], "annealing_every": 5},
            },
            {"name": "release", "integrator": {"ensemble": "nve"}, "output": {"final": ["cif"]}},
        ],
    }


def results(out: Path) -> list[Any]:
    """What two runs have in common: without speeds and times of day."""
    found: list[Any] = []
    for name in NAMES:
        folder = out / name
        rows = [line.rsplit(",", 1)[0] for line in (folder / "log.csv").read_text().splitlines()]
        state = quiltmd.read_checkpoint(folder / "checkpoint.qmd").state
        found += [rows, quiltmd.digest(state), (folder / "final.cif").read_bytes()]
        if name != NAMES[0]:
            found.append((folder / "trajectory.dcd").read_bytes())
    return found


@pytest.mark.usefixtures("_waters")
def test_each_stage_begins_where_the_one_before_ended(tmp_path: Path) -> None:
    outcome = stages.start(settings(tmp_path), engine=FakeEngine)
    assert (outcome.step, outcome.interrupted) == (20, False)
    out = tmp_path / "out"
    states = [quiltmd.read_checkpoint(out / name / "checkpoint.qmd").state for name in NAMES]
    rows = [(out / name / "log.csv").read_text().splitlines() for name in NAMES]
    assert [state.step for state in states] == [0, 20, 20]
    assert len(rows[0]) == 2
    last, first = rows[1][-1].split(","), rows[2][1].split(",")
    assert (last[0], first[0]) == ("20", "0")
    assert last[2:5] == first[2:5]  # potential, kinetic, total
    assert read_config(out / "3-release" / "config.toml")["integrator"]["ensemble"] == "nve"
    assert not (out / "3-release" / "final.ncrst").exists()


@pytest.mark.usefixtures("_waters")
def test_heating_begins_at_its_first_temperature(tmp_path: Path, capsys: Any) -> None:
    """Neither the temperature of the file nor velocities of the stage before stand in the way."""
    given = settings(tmp_path)
    given["integrator"]["temperature"] = 300
    assert stages.stages_of(given)[1].config.integrator.temperature == 50
    stages.start(given, engine=FakeEngine)
    told = [line for line in capsys.readouterr().err.splitlines() if "velocities" in line]
    assert told == [
        "velocities drawn at 300 K",
        "velocities drawn at 50 K",
        "velocities taken as they are",
    ]
    given["stage"][1]["integrator"]["temperature"] = 60
    with pytest.raises(QuiltError, match=r"\(heat\): .*leave out temperature \(60 K\)"):
        stages.stages_of(given)


@pytest.mark.usefixtures("_waters")
def test_a_stage_may_draw_velocities_anew(tmp_path: Path, capsys: Any) -> None:
    given = settings(tmp_path)
    given["stage"][2].setdefault("run", {})["draw_velocities"] = True
    stages.start(given, engine=FakeEngine)
    told = [line for line in capsys.readouterr().err.splitlines() if "velocities" in line]
    assert [line.partition(" at ")[0] for line in told] == ["velocities drawn"] * 3


def test_compression_begins_at_its_first_pressure(tmp_path: Path) -> None:
    given = settings(tmp_path)
    given["integrator"]["ensemble"] = "npt"
    given["barostat"] = {"pressure": 1}
    given["stage"] = [{"name": "press", "barostat": {"annealing": [[0, 20], [0.03, 10]]}}]
    assert stages.stages_of(given)[0].config.barostat.pressure == 20


def test_a_stage_of_another_ensemble_leaves_the_barostat_to_the_others(tmp_path: Path) -> None:
    given = settings(tmp_path)
    given["integrator"]["ensemble"] = "npt"
    given["barostat"] = {"pressure": 10}
    given["thermostat"] = {"kind": "velocity-rescaling"}
    given["stage"] = [
        {"name": "heat", "integrator": {"ensemble": "nvt"}},
        {"name": "free", "integrator": {"ensemble": "nve"}},
        {"name": "press"},
    ]
    heat, free, press = (stage.config for stage in stages.stages_of(given))
    assert heat.barostat.build(heat.integrator) is free.barostat.build(free.integrator) is None
    assert (heat.thermostat.kind, free.thermostat.kind) == ("velocity-rescaling", "langevin")
    assert press.barostat.pressure == 10
    given["stage"][0]["barostat"] = {"time_constant": 2}
    with pytest.raises(QuiltError, match="nvt has no barostat"):
        stages.stages_of(given)


def test_common_settings_are_for_the_stages_that_have_a_use_for_them(tmp_path: Path) -> None:
    """Whatever the ensemble of the file itself; but one of them must."""
    given = settings(tmp_path)
    given["barostat"] = {"pressure": 10}
    given["integrator"] = {"friction": 2.0}
    given["stage"] = [
        {"name": "heat"},
        {"name": "press", "integrator": {"ensemble": "npt"}},
        {"name": "free", "integrator": {"ensemble": "nve"}},
    ]
    heat, press, free = (stage.config for stage in stages.stages_of(given))
    assert press.barostat.pressure == 10
    assert heat.integrator.friction == press.integrator.friction == 2.0
    assert free.barostat.build(free.integrator) is heat.barostat.build(heat.integrator) is None
    given["stage"][1]["integrator"]["ensemble"] = "nvt"
    with pytest.raises(QuiltError, match=r"no stage has a use for pressure of \[barostat\]"):
        stages.stages_of(given)


def test_a_common_schedule_is_for_the_stages_with_restraints(tmp_path: Path) -> None:
    given = settings(tmp_path)
    given["restraint"] = []
    given["integrator"] = {"restraint_annealing": [[0, 1], [1, 0]]}
    given["stage"] = [
        {"name": "release", "restraint": [{"kind": "position", "select": "water", "k": 1.0}]},
        {"name": "free"},
    ]
    release, free = (stage.config for stage in stages.stages_of(given))
    assert release.integrator.restraint_annealing == ((0, 1), (1, 0))
    assert free.integrator.restraint_annealing is None


@pytest.mark.usefixtures("_waters")
def test_the_folder_of_stages_is_not_that_of_a_run(tmp_path: Path) -> None:
    stages.start(settings(tmp_path), engine=FakeEngine)
    folder = Folder(tmp_path / "out")
    for command in (make_report, lambda folder: digest(folder.path)):
        with pytest.raises(QuiltError, match=r"has stages: .* such as .*/out/3-release$"):
            command(folder)
    with pytest.raises(QuiltError, match=r"holds no run: config\.toml is missing"):
        make_report(Folder(tmp_path / "nothing"))


def chained(files: tuple[Path, Path], out: Path, *stages: dict[str, Any]) -> dict[str, Any]:
    """Stages with a chain of thermostats, which are named by their order."""
    return {
        "system": {"topology": str(files[0]), "coordinates": str(files[1])},
        "integrator": {"seed": 5},
        "thermostat": {"kind": "nose-hoover", "time_constant": 0.05, "every": 3},
        "run": {"steps": 9, "device": "cpu"},
        "output": {"dir": out, "checkpoint_every": 0, "final": []},
        "stage": [{"name": str(number), **stage} for number, stage in enumerate(stages, 1)],
    }


def end_of(out: Path, stage: int) -> quiltmd.State:
    return quiltmd.read_checkpoint(out / f"{stage}-{stage}" / "checkpoint.qmd").state


@pytest.mark.parametrize(
    ("change", "goes_on"),
    [
        ({}, True),
        ({"integrator": {"temperature": 350.0}, "thermostat": {"every": 2}}, True),
        ({"integrator": {"ensemble": "npt"}}, True),
        ({"run": {"minimize": True}}, False),
        ({"thermostat": {"time_constant": 0.06}}, False),
        ({"thermostat": {"chain_length": 4}}, False),
    ],
)
def test_a_chain_goes_on_in_the_next_stage(
    alanine: tuple[Path, Path], tmp_path: Path, change: dict[str, Any], goes_on: bool
) -> None:
    """Where thermostat and velocities do; else it begins at rest."""
    second = change | {"run": {"steps": 0, **change.get("run", {})}}
    stages.start(chained(alanine, tmp_path, {}, second))
    before, after = end_of(tmp_path, 1).variables, end_of(tmp_path, 2).variables
    assert any(before.values())
    assert (after == before) if goes_on else not any(after.values())


def test_a_chain_is_that_of_one_run(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    """Bit by bit after stops, and but for the order of sums that of a run without stages."""
    stages.start(chained(alanine, tmp_path / "one", {"run": {"steps": 18}}))
    stages.start(chained(alanine, tmp_path / "two", {}, {}))
    one, two = end_of(tmp_path / "one", 1), end_of(tmp_path / "two", 2)
    np.testing.assert_allclose(two.velocities, one.velocities, atol=1e-4)
    assert two.variables == pytest.approx(one.variables, rel=1e-5)

    short = chained(alanine, tmp_path / "stopped", {}, {"run": {"steps": 4}})
    stages.start(short)
    runner.resume(tmp_path / "stopped" / "2-2", {("run", "steps"): 9, ("run", "ranks"): 3})
    assert quiltmd.digest(end_of(tmp_path / "stopped", 2)) == quiltmd.digest(two)


def test_stages_share_no_noise(tmp_path: Path) -> None:
    """It is a function of seed and step, and every stage begins with step 0."""
    given = settings(tmp_path)
    given["stage"] = [{"name": name} for name in ("a", "b", "c")]
    given["stage"].append({"name": "d", "integrator": {"seed": 3}})
    seeds = [stage.config.integrator.seed for stage in stages.stages_of(given)]
    assert seeds[0] == seeds[3] == 3  # as stated
    assert len(set(seeds)) == 3
    assert seeds == [stage.config.integrator.seed for stage in stages.stages_of(given)]


@pytest.mark.parametrize("stopped", [False, True])
def test_a_minimisation_has_restraints_as_the_schedule_begins(
    alanine: tuple[Path, Path], tmp_path: Path, stopped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And so has the first row of the log; also where the minimisation begins again."""
    hold = {"kind": "distance", "select": ["index 1", "index 20"], "lower": 3.0, "k": 1e4}
    given = chained(alanine, tmp_path / "free", {"run": {"steps": 0, "minimize": True}})
    given["output"]["log_terms"] = True
    stages.start(given)
    given["output"]["dir"] = tmp_path / "held"
    given["integrator"]["restraint_annealing"] = [[0, 0], [1, 1]]
    given["restraint"] = [hold]
    if stopped:
        minimize = quiltmd.Simulation.minimize

        def stop(self: quiltmd.Simulation, **options: Any) -> dict[str, Any]:
            os.kill(os.getpid(), signal.SIGTERM)
            return minimize(self, **options)

        with monkeypatch.context() as patch:
            patch.setattr(quiltmd.Simulation, "minimize", stop)
            assert stages.start(given).interrupted
        stages.resume(tmp_path / "held")
    else:
        stages.start(given)
    free, held = (end_of(tmp_path / out, 1) for out in ("free", "held"))
    assert np.array_equal(free.positions, held.positions)
    (row,) = csv.DictReader((tmp_path / "held" / "1-1" / "log.csv").read_text().splitlines())
    assert float(row["restraint"]) == 0.0


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
        QuiltError, match=r"stage \w+ has begun otherwise than .*" + re.escape(message)
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "a b"}, r"x.toml: \[\[stage\]\] 2: needs a name"),
        ({"name": "minimise"}, "there are two stages named 'minimise'"),
        ({"name": "b", "system": {"hmr": True}}, "leave out system: all stages are of one system"),
        ({"name": "b", "output": {"dir": "x"}}, "leave out dir: each stage has its folder"),
        ({"name": "b", "integrater": {}}, r"\(b\): \[integrater\] is not a known section"),
        ({"name": "b", "run": {"stepz": 1}}, r"\(b\): \[run\] stepz is not a known key"),
        ({"name": "b", "minimize": True}, r"known section \(a key of \[run\]\?\)"),
    ],
)
def test_mistakes_in_stages(tmp_path: Path, change: Any, message: str) -> None:
    given = settings(tmp_path)
    given["stage"] = [{"name": "minimise"}, change]
    with pytest.raises(QuiltError, match=message):
        stages.start(given, "x.toml")
    assert not (tmp_path / "out").exists()


def test_stages_by_another_name(tmp_path: Path) -> None:
    given = settings(tmp_path)
    given["stages"] = given.pop("stage")
    with pytest.raises(QuiltError, match=r"known section \(did you mean 'stage'\?\)"):
        build_config(given)


@pytest.mark.usefixtures("_waters")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"trajectory": [{"file": "a.dcd", "every": 5, "select": "protein"}]}, "'protein' has no"),
        (
            {"restraint": [{"kind": "position", "select": "protein", "k": 1}]},
            "restraint 1: the sel",
        ),
        ({"nonbonded": {"cutoff": 0.7}}, "cutoff"),
        ({"thermostat": {"kind": "nose-hoover", "time_constant": 0.05}}, "lower 'every'"),
        ({"integrator": {"long_range_every": 2}, "thermostat": RESCALING}, "must be a multiple of"),
    ],
)
def test_mistakes_of_later_stages_show_at_once(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    """Not when their turn comes, hours later."""
    given = settings(tmp_path)
    given["stage"].append({"name": "last", **change})
    with pytest.raises(QuiltError, match=rf"last.*: .*{message}"):
        stages.start(given, engine=FakeEngine)
    assert not (tmp_path / "out").exists()


def test_what_every_stage_replaces_is_told(tmp_path: Path) -> None:
    """As an option it is refused; what one stage follows is neither."""
    given = settings(tmp_path)
    assert stages.replaced_in_all(given) == []
    for stage in given["stage"]:
        stage.setdefault("run", {})["steps"] = 10
        stage["restraint"] = []
    given["restraint"] = [{"kind": "position", "select": "all", "k": 1.0}]
    assert stages.replaced_in_all(given) == [("restraint", ""), ("run", "steps")]
    given["integrator"]["temperature"] = 250.0
    given["stage"] = [{"name": "a", "integrator": {"annealing": [[0, 50], [0.03, 250]]}}]
    assert stages.replaced_in_all(given) == [("integrator", "temperature")]
    given["stage"].append({"name": "b"})
    assert stages.replaced_in_all(given) == []


@pytest.mark.usefixtures("_waters")
def test_options_that_every_stage_replaces(tmp_path: Path, capsys: Any) -> None:
    given = settings(tmp_path)
    for stage in given["stage"]:
        stage.setdefault("run", {})["steps"] = 0
    stages.start(given, engine=FakeEngine)
    told = " ".join(capsys.readouterr().err.split())
    assert "every stage has its own steps of [run]: none follows that of the run" in told
    given["output"]["dir"] = str(tmp_path / "other")
    (tmp_path / "all.toml").write_text(tomli_w.dumps(given))
    found = quiltmd_command("run", "all.toml", "--steps", 5, cwd=tmp_path)
    assert found.returncode == 1
    assert "every stage has its own of --steps" in " ".join(found.stderr.split())
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("integrator", "message"),
    [
        ({"annealing": []}, "needs points whose times, ps, are not negative and ascend"),
        ({"annealing": [[5, 10], [5, 20]]}, "times, ps, are not negative and ascend"),
        ({"annealing": [[0, -1]]}, "temperatures must be from 0 to"),
        ({"annealing": [[0, 10]], "temperature": 20}, r"leave out temperature \(20 K\)"),
        ({"annealing": [[0, 10]], "ensemble": "nve"}, "nve has no heat bath"),
    ],
)
def test_mistakes_in_annealing(tmp_path: Path, integrator: Any, message: str) -> None:
    given = settings(tmp_path)
    del given["stage"]
    given["integrator"] = integrator
    with pytest.raises(QuiltError, match=message):
        build_config(given)


@pytest.mark.parametrize(
    ("barostat", "message"),
    [
        ({"annealing": [[-1, 10]]}, "times, ps, are not negative and ascend"),
        ({"annealing": [[0, 1e6]]}, r"pressures must be from -100000 to 100000 bar"),
        ({"annealing": [[0, 10]], "pressure": 20}, r"leave out pressure \(20 bar\)"),
    ],
)
def test_mistakes_in_annealing_of_the_pressure(tmp_path: Path, barostat: Any, message: str) -> None:
    given = settings(tmp_path)
    del given["stage"]
    given["integrator"] = {"ensemble": "npt"}
    given["barostat"] = barostat
    with pytest.raises(QuiltError, match=message):
        build_config(given)


@pytest.mark.usefixtures("_waters")
def test_temperatures_follow_the_schedule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = settings(tmp_path)
    del given["stage"]
    given["integrator"] = {"annealing": [[0.0, 100], [0.02, 200], [0.03, 150]], "seed": 1}
    given["integrator"]["annealing_every"] = 5
    set_at: list[tuple[int, float]] = []
    real = FakeEngine.set_conditions

    def note(self: FakeEngine, values: dict[str, float], *rest: Any) -> None:
        set_at.append((self._step, values["temperature"]))
        real(self, values, *rest)

    monkeypatch.setattr(FakeEngine, "set_conditions", note)
    config = build_config(given)
    assert config.integrator.temperature == 100
    runner.start(config, engine=FakeEngine)
    assert dict(set_at) == pytest.approx({0: 100, 5: 150, 10: 200, 15: 150})
    assert build_config(read_config(config.output.dir / "config.toml")) == config


@pytest.mark.parametrize("thermostat", ["langevin", "velocity-rescaling"])
def test_annealing_has_the_same_bits_after_stops(
    alanine: tuple[Path, Path], tmp_path: Path, thermostat: str
) -> None:
    """In the compiled core, stopped within a stretch of one temperature and at its end."""

    def config(out: str, steps: int) -> Any:
        return build_config(
            {
                "system": {"topology": alanine[0], "coordinates": alanine[1]},
                "integrator": {
                    "ensemble": "npt",
                    "seed": 3,
                    "annealing": [[0, 100], [0.04, 300]],
                    "annealing_every": 8,
                    "restraint_annealing": [[0, 1], [0.02, 3], [0.05, 0]],
                    "restraint_annealing_every": 5,
                },
                "thermostat": {"kind": thermostat},
                "barostat": {
                    "annealing": [[0.01, 1], [0.05, 2e4]],
                    "annealing_every": 6,
                    "every": 5,
                },
                "restraint": [{"kind": "position", "select": "index 1", "k": 1000.0}],
                "run": {"steps": steps, "device": "cpu"},
                "output": {"dir": tmp_path / out, "checkpoint_every": 0},
            }
        )

    runner.start(config("whole", 30))
    runner.start(config("stopped", 11))
    for steps in (16, 24, 30):
        runner.resume(tmp_path / "stopped", {("run", "steps"): steps})
    states = [
        quiltmd.read_checkpoint(tmp_path / out / "checkpoint.qmd").state
        for out in ("whole", "stopped")
    ]
    assert quiltmd.digest(states[0]) == quiltmd.digest(states[1])
    assert np.array_equal(states[0].box, states[1].box)


@pytest.mark.parametrize(
    ("integrator", "message"),
    [
        ({"restraint_annealing": [[0, -1]]}, "strengths must be from 0 to 1000"),
        ({"restraint_annealing": [[0, 1]]}, "there are no restraints"),
        ({"restraint_annealing_every": 5}, "there are no restraints"),
    ],
)
def test_mistakes_in_annealing_of_restraints(tmp_path: Path, integrator: Any, message: str) -> None:
    given = settings(tmp_path)
    del given["stage"]
    given["integrator"] = integrator
    with pytest.raises(QuiltError, match=message):
        build_config(given)


@pytest.mark.usefixtures("_waters")
def test_pressures_follow_the_schedule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside temperatures, with an interval of their own; what falls together is set together."""
    given = settings(tmp_path)
    del given["stage"]
    given["integrator"] = {"ensemble": "npt", "annealing": [[0, 100], [0.03, 250]], "seed": 1}
    given["integrator"]["annealing_every"] = 10
    given["barostat"] = {"annealing": [[0.01, 100.0], [0.03, 300.0]], "annealing_every": 5}
    given["barostat"]["every"] = 5
    set_at: dict[int, list[str]] = {}
    pressures: dict[int, float] = {}
    real = FakeEngine.set_conditions

    def note(self: FakeEngine, values: dict[str, float], *rest: Any) -> None:
        set_at[self._step] = sorted(values)
        pressures[self._step] = values["pressure_x"] * 16.6053906660
        real(self, values, *rest)

    monkeypatch.setattr(FakeEngine, "set_conditions", note)
    config = build_config(given)
    assert config.barostat.pressure == 100
    runner.start(config, engine=FakeEngine)
    axes = ["pressure_x", "pressure_y", "pressure_z"]
    both = [*axes, "temperature"]
    assert set_at == {0: both, 5: axes, 10: both, 15: axes}
    assert pressures == pytest.approx({0: 100, 5: 100, 10: 200, 15: 300})
    assert build_config(read_config(config.output.dir / "config.toml")).barostat == config.barostat
