# SPDX-License-Identifier: Apache-2.0
"""`quiltmd info` of configurations (a dry run), of the folders of runs, and of polymers."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_engine import FakeEngine
from typer.testing import CliRunner

import quiltmd
from quiltmd.commands import dry_run
from quiltmd.commands.cli import app
from quiltmd.commands.system_facts import system_facts
from quiltmd.commands.watch import is_done
from quiltmd.exchange import runner as exchange_runner
from quiltmd.exchange.analysis import read_history
from quiltmd.exchange.config import ExchangeConfig
from quiltmd.running import runner, stages
from quiltmd.running.config import build_config, build_config_of, read_config
from quiltmd.running.estimate import Estimate
from quiltmd.running.folder import Folder
from quiltmd.running.setting_fields import as_toml

pytestmark = pytest.mark.filterwarnings("ignore::quiltmd.QuiltWarning")
Files = tuple[Path, Path]


def info(*arguments: Any) -> dict[str, Any]:
    found = CliRunner().invoke(app, ["info", *map(str, arguments), "--json"])
    if found.exception is not None:
        raise found.exception
    facts: dict[str, Any] = json.loads(found.stdout)
    return facts


CONFIGURATION = """
[system]
topology = "{0}"
coordinates = "{1}"
[integrator]
timestep = "2 fs"
[barostat]
pressure = "1 atm"
[run]
steps = 200
device = "cpu"
threads = 1
[output]
dir = "{2}"
log_every = 50
"""
STAGES = """
[[stage]]
name = "min"
run = {steps = 0, minimize = true}
[[stage]]
name = "heat"
integrator = {temperature = "310 K"}
[[stage]]
name = "press"
integrator = {ensemble = "NPT"}
output = {trajectory_every = 100}
"""


def test_a_configuration_is_a_dry_run(alanine: Files, tmp_path: Path) -> None:
    path = tmp_path / "eq.toml"
    path.write_text(CONFIGURATION.format(*alanine, tmp_path / "eq") + STAGES)
    facts = info(path)
    assert facts["would run"] == [
        "1-min: a minimisation of at most 200 iterations",
        "2-heat: NVT at 310 K, 2 fs steps: 200 steps, 0.4 ps",
        "3-press: NPT at 300 K and 1.01325 bar, 2 fs steps: 200 steps, 0.4 ps",
    ]
    assert facts["ignored"] == ["1-min: pressure of [barostat]", "2-heat: pressure of [barostat]"]
    assert facts["files"][-2:] == ["3-press/log.csv: 5 rows", "3-press/trajectory.dcd: 2 frames"]
    assert facts["results"] == str(tmp_path / "eq")
    assert facts["system"]["atoms"] == 2269
    assert "ns/day on cpu, by a few steps just now" in facts["on this machine"]
    assert list(tmp_path.iterdir()) == [path]  # nothing is written
    (tmp_path / "eq").mkdir()
    (tmp_path / "eq" / "config.toml").write_text("")
    path.write_text(path.read_text().replace("steps = 200", "steps = 0"))
    assert "already has files of the names that a run writes" in info(path)["results"]


def test_steps_after_a_minimisation_are_timed_after_one(
    alanine: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timed: list[bool] = []

    def estimate(config: Any, *_: Any) -> Estimate:
        timed.append(config.run.minimize)
        return Estimate(step=0.1, iteration=0.2, device="cpu")

    monkeypatch.setattr(dry_run, "estimate", estimate)
    path = tmp_path / "eq.toml"
    for stages_of_it in (STAGES, STAGES.replace("minimize = true", "minimize = false")):
        path.write_text(CONFIGURATION.format(*alanine, tmp_path / "eq") + stages_of_it)
        shown = info(path)["on this machine"]
        wanted = "0:01:20" if timed[-1] else "0:00:40"  # 400 steps, and 200 iterations if any
        assert shown.startswith(f"about {wanted} at 1.73 ns/day on cpu"), shown
    assert timed == [True, False]


def test_files_of_restraints_between_groups(
    alanine: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dry_run, "estimate", lambda *_: Estimate(0.1, 0.2, "cpu"))
    path = tmp_path / "pull.toml"
    text = CONFIGURATION.format(*alanine, tmp_path / "eq").replace("steps = 200", "steps = 100")
    text = text.replace("timestep", "ensemble = 'npt'\ntimestep", 1)
    text += '[[restraint]]\nkind = "distance"\nupper = 0.5\nk = 9\nselect = '
    path.write_text(text + '["index 1", "index 9"]\n')
    plain = info(path)["files"]
    rows = plain[0].removeprefix("log.csv: ")
    path.write_text(text + '["index 1-4", "index 9"]\n')
    assert info(path)["files"] == [plain[0], f"collective.csv: {rows}", *plain[1:]]
    hills = "range = [[0, 1]]\nwidth = [0.1]\nheight = 1\nevery = 40\n"
    named = '["index 1", "index 9"]\nname = "d"\n[metadynamics]\nvariables = ["d"]\n'
    path.write_text(text + named + hills)
    expected = [plain[0], f"collective.csv: {rows}", "HILLS: 2 hills", *plain[1:]]
    assert info(path)["files"] == expected


def test_mistakes_of_a_configuration_are_those_of_a_run(alanine: Files, tmp_path: Path) -> None:
    path = tmp_path / "eq.toml"
    path.write_text(CONFIGURATION.format(*alanine, tmp_path / "eq"))
    with pytest.raises(quiltmd.QuiltError, match=r"eq.toml: the ensemble nvt has no barostat"):
        info(path)
    bad = STAGES.replace("310 K", "310 nm")
    path.write_text(CONFIGURATION.format(*alanine, tmp_path / "eq") + bad)
    with pytest.raises(quiltmd.QuiltError, match=r"\[\[stage\]\] 2 \(heat\): \[integrator\] temp"):
        info(path)


def test_mistakes_of_a_stage_have_its_name(alanine: Files, tmp_path: Path) -> None:
    path = tmp_path / "eq.toml"
    held = '[[stage.trajectory]]\nfile = "a.dcd"\nevery = 1\nselect = "resname LIG"\n'
    path.write_text(CONFIGURATION.format(*alanine, tmp_path / "eq") + STAGES + held)
    with pytest.raises(quiltmd.QuiltError, match=r"^stage 3-press: trajectory a\.dcd: the sel"):
        info(path)


def test_a_control_file_is_shown_as_toml_that_can_be_run(tmp_path: Path, alanine: Files) -> None:
    mdp = tmp_path / "md.mdp"
    lines = ["integrator = sd", "dt = 0.002", "nsteps = 7", "tc-grps = system", "tau-t = 1"]
    mdp.write_text("\n".join([*lines, "ref-t = 300", "nstlog = 2", "rvdw = 0.9", "rcoulomb = 0.9"]))
    shown = CliRunner().invoke(app, ["info", str(mdp)]).stdout
    assert "  [integrator]\n  timestep = 0.002\n" in shown
    settings = info(mdp)["settings"]
    copy = tmp_path / "copy.toml"
    copy.write_text("\n".join(as_toml(settings)))
    assert read_config(copy) == settings
    facts = info(mdp, *alanine)
    assert facts["would run"] == ["NVT at 300 K, 2 fs steps: 7 steps, 0.014 ps"]
    assert facts["files"] == ["log.csv: 4 rows"]


@pytest.fixture(scope="module")
def folders(openmmtools_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with that of an exchange, of a run of stages, and of one that has to go on."""
    root = tmp_path_factory.mktemp("info")
    files = openmmtools_data / "alanine-dipeptide-explicit"
    settings: dict[str, Any] = {
        "system": {
            "topology": files / "alanine-dipeptide.prmtop",
            "coordinates": files / "alanine-dipeptide.crd",
        },
        "integrator": {"seed": 3},
        "run": {"steps": 20, "device": "cpu"},
        "output": {"log_every": 5, "checkpoint_every": 10, "final": ["ncrst"]},
    }

    def of(name: str, **more: Any) -> dict[str, Any]:
        return {**settings, **more, "output": settings["output"] | {"dir": root / name}}

    ladder = {"temperatures": (300.0, 301.0, 302.0), "every": 5}
    config = build_config_of(ExchangeConfig, of("exchange", exchange=ladder), "test")
    exchange_runner.start(config, engine=FakeEngine)
    tables = [
        {"name": "one", "run": {"steps": 0, "minimize": True}},
        {"name": "two", "run": {"steps": 30}},
    ]
    stages.start(of("stages", stage=tables), engine=FakeEngine)
    runner.start(build_config(of("run")), engine=FakeEngine)
    text = (root / "run" / "config.toml").read_text()
    (root / "run" / "config.toml").write_text(text.replace("steps = 20", "steps = 50"))
    return root


def test_how_far_a_run_is(folders: Path, tmp_path: Path) -> None:
    with pytest.raises(quiltmd.QuiltError, match="is a folder: give a topology, and coordinates"):
        info(tmp_path)
    facts = info(folders / "run")
    assert facts["what"] == "NVT at 300 K, 2 fs steps"
    assert (facts["state"], facts["steps"], facts["time"]) == ("stopped", "20 of 50", "0.04 ps")
    assert (facts["atoms"], facts["checkpoint"]) == (2269, "step 20")
    assert facts["continue with"] == f"quiltmd run --resume {folders / 'run'}"
    found = info(folders / "stages")
    assert [found[name]["state"] for name in ("1-one", "2-two")] == ["done", "done"]
    assert found["2-two"]["steps"] == "30 of 30"
    assert "continue with" not in found
    moved = shutil.copytree(folders / "stages", tmp_path / "moved")
    (moved / "2-two").rename(tmp_path / "away")
    found = info(moved)
    assert [found[name]["state"] for name in ("1-one", "2-two")] == ["done", "not begun"]


def test_how_far_an_exchange_is(folders: Path) -> None:
    facts = info(folders / "exchange")
    assert facts["what"] == "replica exchange, NVT at 300 K, 2 fs steps"
    assert (facts["state"], facts["steps"]) == ("done", "20 of 20 of each replica")
    assert facts["iterations"] == 4
    assert facts["states"] == ["300 K", "301 K", "302 K"]


def test_an_exchange_is_watched_and_reported(folders: Path, tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["watch", "--once", str(folders / "exchange")]).stdout
    lines = shown.splitlines()
    assert lines[0] == "exchange, replica exchange, step 20 of 20 (100.0%), done"
    assert lines[1].split() == [
        "state",
        "swaps",
        "with",
        "next",
        "potential,",
        "kJ/mol",
        "round",
        "trips",
    ]
    summary = info(folders / "exchange")
    assert lines[2].split()[:3] == ["0:", "300", "K"]
    assert lines[4].split()[3:] == [f"{summary['mean_energy'][2]:.1f}", "0"]
    assert "potential energy of state 0, kJ/mol" in shown
    assert is_done(Folder(folders / "exchange"))
    out = tmp_path / "page.html"
    done = CliRunner().invoke(app, ["report", str(folders / "exchange"), "--out", str(out)])
    assert done.exit_code == 0
    text = out.read_text()
    for part in ("3 replicas from 300 K to 302 K", "4 iterations", "State of replica 0"):
        assert part in text
    assert f"{summary['mean_energy'][1]:.1f}" in text
    assert "http" not in text.replace("http://www.w3.org", "")


def test_a_run_without_a_second_row_shows_the_speed_of_its_session(
    folders: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "short"
    shutil.copytree(folders / "stages" / "2-two", folder)
    lines = (folder / "log.csv").read_text().splitlines()
    assert lines[1].endswith(",0")  # the first row has no speed
    (folder / "log.csv").write_text("\n".join(lines[:2]) + "\n")
    sessions = json.loads((folder / "sessions.json").read_text())
    sessions[-1]["speed"] = 12.34
    (folder / "sessions.json").write_text(json.dumps(sessions))
    shown = CliRunner().invoke(app, ["watch", "--once", str(folder)]).stdout
    assert shown.splitlines()[0] == "short, step 30 of 30 (100.0%), done, 12.3 ns/day"
    assert "temperature, K" in shown
    assert "speed, ns/day" not in shown


def test_an_exchange_that_has_just_begun_is_shown(folders: Path, tmp_path: Path) -> None:
    folder = tmp_path / "begun"
    shutil.copytree(folders / "exchange", folder)
    for name in ("exchange.csv", "energies.csv"):
        text = (folder / name).read_text().split("\n")[0]
        (folder / name).write_text(text + "\n")
    shown = CliRunner().invoke(app, ["watch", "--once", str(folder)]).stdout
    assert "no iteration is done yet" in " ".join(shown.split())
    assert CliRunner().invoke(app, ["report", str(folder)]).exit_code == 0
    assert "no iteration is done yet" in (folder / "report.html").read_text()
    assert info(folder)["steps"] == "0 of 20 of each replica"


def test_the_picture_of_an_exchange_names_states_by_whole_numbers(folders: Path) -> None:
    figures: list[Any] = []

    def keep(figure: Any, *_: Any, **__: Any) -> None:
        figures.append(figure)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("matplotlib.figure.Figure.savefig", keep)
        read_history(folders / "exchange").plot("unused.png")
    ways, rates, energies = figures[0].axes
    for axis in (ways.yaxis, rates.xaxis):
        ticks = axis.get_major_locator()()
        assert all(tick == round(tick) for tick in ticks)
        assert {0, 1, 2} <= {*ticks}
    named = [text.get_text() for text in ways.get_legend().get_texts()]
    assert named == ["replica 0", "replica 1", "replica 2"]
    named = [text.get_text() for text in energies.get_legend().get_texts()]
    assert named == ["state 0: 300 K", "state 1: 301 K", "state 2: 302 K"]


def test_polymers_are_told_by_chain(alanine: Files) -> None:
    system, _ = quiltmd.load(*alanine)
    assert system_facts(system)["molecules"] == {
        "WAT (3 atoms)": 749,
        "protein, 3 residues (22 atoms)": 1,
    }
    chains = np.where(system.topology.residue_names == "WAT", "W", "A")
    named = replace(system, topology=replace(system.topology, chain_ids=chains)).tile(2, 1, 1)
    ids = named.topology.chain_ids.copy()
    ids[len(chains) :][chains == "A"] = "B"
    named = replace(named, topology=replace(named.topology, chain_ids=ids))
    assert system_facts(named)["molecules"] == {
        "WAT (3 atoms)": 1498,
        "protein chain A, 3 residues (22 atoms)": 1,
        "protein chain B, 3 residues (22 atoms)": 1,
    }
