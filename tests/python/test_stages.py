# SPDX-License-Identifier: Apache-2.0
"""Stages of one configuration: what one takes over from another, and mistakes, which are named."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
from command import quiltmd as quiltmd_command
from fake_engine import FakeEngine
from stage_runs import NAMES, chained, end_of, settings

import quiltmd
from quiltmd import QuiltError
from quiltmd.commands.digest import digest
from quiltmd.running import runner, stages
from quiltmd.running.config import build_config, read_config

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.filterwarnings("ignore:a cutoff of:quiltmd.QuiltWarning")

RESCALING = {"kind": "velocity-rescaling", "every": 5}


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
def test_a_stage_may_draw_velocities_anew(tmp_path: Path, capsys: Any) -> None:
    given = settings(tmp_path)
    given["stage"][2].setdefault("run", {})["draw_velocities"] = True
    stages.start(given, engine=FakeEngine)
    told = [line for line in capsys.readouterr().err.splitlines() if "velocities" in line]
    assert [line.partition(" at ")[0] for line in told] == ["velocities drawn"] * 2


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
    with pytest.raises(QuiltError, match=r"no stage uses pressure of \[barostat\]"):
        stages.stages_of(given)


def test_a_common_schedule_is_for_the_stages_with_restraints(tmp_path: Path) -> None:
    given = settings(tmp_path)
    given["restraint"] = []
    given["restraints"] = {"annealing": [[0, 1], [1, 0]]}
    given["stage"] = [
        {"name": "release", "restraint": [{"kind": "position", "select": "water", "k": 1.0}]},
        {"name": "free"},
    ]
    release, free = (stage.config for stage in stages.stages_of(given))
    assert release.restraints.annealing == ((0, 1), (1, 0))
    assert free.restraints.annealing is None


@pytest.mark.usefixtures("_waters")
def test_the_folder_of_stages_is_not_that_of_a_run(tmp_path: Path) -> None:
    stages.start(settings(tmp_path), engine=FakeEngine)
    with pytest.raises(QuiltError, match=r"has stages: .* such as .*/out/3-release$"):
        digest(tmp_path / "out")


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


def test_chains_of_groups_go_on_where_groups_stay(
    alanine: tuple[Path, Path], tmp_path: Path
) -> None:
    baths = [
        {"select": select, "temperature": 300.0, "time_constant": 0.05}
        for select in ("solute", "not solute")
    ]
    warmer = [bath | {"temperature": 320.0} for bath in baths]
    slower = [baths[0], baths[1] | {"time_constant": 0.07}]
    for name, second, goes_on in (("warm", warmer, True), ("slow", slower, False)):
        given = chained(alanine, tmp_path / name, {}, {"bath": second, "run": {"steps": 0}})
        del given["thermostat"]["time_constant"]
        stages.start(given | {"bath": baths})
        before, after = (end_of(tmp_path / name, stage).variables for stage in (1, 2))
        assert len(before) == 12
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


def test_restraints_of_all_stages_are_checked_one_stage_at_a_time(
    alanine: tuple[Path, Path], tmp_path: Path
) -> None:
    """A name that every stage has is that of one restraint; a variable that one lacks is named."""
    given = chained(alanine, tmp_path / "out", {"name": "first"}, {"name": "second"})
    ends = {"name": "ends", "kind": "distance", "select": ["index 1", "index 9"], "k": 9.0}
    given["restraint"] = [ends | {"upper": 0.5}]
    given["metadynamics"] = {
        **{"variables": ["ends"], "range": [[0.1, 1.0]], "width": [0.05]},
        **{"height": 1.0, "every": 4},
    }
    given["stage"].append({"name": "last", "restraint": [ends | {"name": "other", "upper": 0.5}]})
    with pytest.raises(QuiltError, match="stage last: there is no collective restraint 'ends'"):
        stages.start(given)
    assert not (tmp_path / "out").exists()
    del given["stage"][2]
    assert stages.start(given).step == 9
    assert (tmp_path / "out" / "2-second" / "collective.csv").exists()


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
def test_paths_of_options_are_kept_as_absolute_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = settings(tmp_path)
    given["output"]["dir"] = Path("here")
    stages.start(given, engine=FakeEngine)
    written = tomllib.loads((tmp_path / "here" / "config.toml").read_text())
    assert written["output"]["dir"] == str(tmp_path / "here")


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
    told = "each stage sets --steps, and an option does not override it"
    assert told in " ".join(found.stderr.split())
    assert not (tmp_path / "other").exists()
