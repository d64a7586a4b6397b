# SPDX-License-Identifier: Apache-2.0
"""What a configuration asks to be written: several trajectories, columns of the log."""

from __future__ import annotations

import csv
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import mdtraj
import pytest
from boxes import water_box
from fake_engine import FakeEngine
from mdtraj import formats

from quiltmd import Nonbonded, QuiltError
from quiltmd.running import run_inputs, runner
from quiltmd.running.before import warn_of_no_effect
from quiltmd.running.config import Config, build_config, read_config

pytestmark = pytest.mark.filterwarnings("ignore:a cutoff of:quiltmd.QuiltWarning")

TRAJECTORIES = [
    {"file": "some.xtc", "every": 5, "select": "index 1-6", "center": "index 1-3"},
    {"file": "all.nc", "every": 10, "velocities": True},
]


@pytest.fixture(autouse=True)
def _waters(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = water_box((3, 3, 3))
    monkeypatch.setattr(run_inputs, "load", lambda *files, **options: loaded)
    monkeypatch.setattr(runner, "check_overlaps", lambda *loaded: None)


def make_config(tmp_path: Path, trajectories: Any = TRAJECTORIES, **output: Any) -> Config:
    for name in ("a.prmtop", "a.inpcrd"):
        (tmp_path / name).write_text(name)
    return build_config(
        {
            "system": {"topology": tmp_path / "a.prmtop", "coordinates": tmp_path / "a.inpcrd"},
            "nonbonded": {"cutoff": 0.4},
            "integrator": {"seed": 3},
            "run": {"steps": 20, "device": "cpu"},
            "output": {"dir": tmp_path / "out", "log_every": 5, **output},
            "trajectory": trajectories,
        }
    )


def test_several_trajectories(tmp_path: Path) -> None:
    config = make_config(tmp_path)
    runner.start(config, engine=FakeEngine)
    out = tmp_path / "out"
    assert not (out / "trajectory.dcd").exists()
    with formats.XTCTrajectoryFile(str(out / "some.xtc")) as file:
        positions, _, steps, _ = file.read()
    assert positions.shape == (4, 6, 3)
    assert steps.tolist() == [5, 10, 15, 20]
    with formats.NetCDFTrajectoryFile(str(out / "all.nc")) as file:
        assert file.read()[0].shape == (2, 81, 3)
    assert build_config(read_config(out / "config.toml")).trajectories() == config.trajectories()
    runner.resume(out, {("run", "steps"): 30}, FakeEngine)
    with formats.XTCTrajectoryFile(str(out / "some.xtc")) as file:
        assert file.read()[2].tolist() == [5, 10, 15, 20, 25, 30]


def test_final_structures_and_those_of_selections(tmp_path: Path) -> None:
    final = ["gro", "rst7", "namd"]
    runner.start(make_config(tmp_path, final=final), engine=FakeEngine)
    out = tmp_path / "out"
    found = {path.name for path in out.iterdir()}
    written = {f"final.{suffix}" for suffix in ("gro", "rst7", "coor", "vel", "xsc")}
    assert {name for name in found if name.startswith("final.")} == written
    topology = mdtraj.load(str(out / "some.xtc"), top=str(out / "some.xtc.pdb"))
    assert topology.n_atoms == 6
    assert "all.nc.pdb" not in found
    runner.start(make_config(tmp_path), overwrite=True, engine=FakeEngine)
    moved = {path.name for path in (out / "backup.1").iterdir()}
    assert moved == found


def test_trajectory_every_beside_others(tmp_path: Path) -> None:
    config = make_config(tmp_path, trajectory_every=4)
    assert list(config.trajectories()) == ["some.xtc", "all.nc", "trajectory.dcd"]
    assert list(make_config(tmp_path, []).trajectories()) == ["trajectory.dcd"]
    assert make_config(tmp_path, []).output.trajectory_every == 1000


def test_trajectories_must_stay(tmp_path: Path) -> None:
    runner.start(make_config(tmp_path), engine=FakeEngine)
    path = tmp_path / "out" / "config.toml"
    text = path.read_text()
    path.write_text(text.replace('select = "index 1-6"', 'select = "index 1-9"'))
    with pytest.raises(QuiltError, match=r"changed trajectory.some.xtc .*'index 1-6'"):
        runner.resume(tmp_path / "out", {("run", "steps"): 30}, FakeEngine)
    path.write_text(text.replace("log_box = false", "log_box = true"))
    with pytest.raises(QuiltError, match=r"output.log_box \(was False, is True\)"):
        runner.resume(tmp_path / "out", {("run", "steps"): 30}, FakeEngine)


def test_earlier_trajectories_move_aside(tmp_path: Path) -> None:
    runner.start(make_config(tmp_path), engine=FakeEngine)
    before = (tmp_path / "out" / "some.xtc").read_bytes()
    runner.start(make_config(tmp_path, []), overwrite=True, engine=FakeEngine)
    assert not (tmp_path / "out" / "some.xtc").exists()
    assert (tmp_path / "out" / "backup.1" / "some.xtc").read_bytes() == before


def test_a_user_s_file_is_no_trajectory_to_replace(tmp_path: Path) -> None:
    config = make_config(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "all.nc").write_text("mine")
    with pytest.raises(QuiltError, match=r"already has files .*\(all.nc\)"):
        runner.start(config, engine=FakeEngine)


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"file": "x.trr", "every": 5}, r"\[\[trajectory\]\] 1: x.trr: the suffix .* \.dcd"),
        ({"file": "x.xtc"}, r"\[\[trajectory\]\] 1, every is missing"),
        ({"file": "../x.xtc", "every": 5}, r"\[\[trajectory\]\] 1, file: must be the name"),
        ({"file": "x.xtc", "evry": 5}, r"\[\[trajectory\]\] 1, evry is not a known key .*'every'"),
        ({"file": "x.xtc", "every": 5, "forces": True}, "XTC has no forces: choose one of .nc"),
        ({"file": "x.nc", "every": 5, "wrap": False, "center": "all"}, "center needs wrap = true"),
        ({"file": "trajectory.dcd", "every": 5}, "two trajectories have the name trajectory.dcd"),
    ],
)
def test_mistakes(tmp_path: Path, section: Any, message: str) -> None:
    with pytest.raises(QuiltError, match=message):
        make_config(tmp_path, [section])


def test_a_selection_is_read_before_anything_is_written(tmp_path: Path) -> None:
    config = make_config(tmp_path, [{"file": "x.xtc", "every": 5, "select": "protien"}])
    with pytest.raises(QuiltError, match=r"trajectory x\.xtc: .* cannot be read at 'protien'"):
        runner.start(config, engine=FakeEngine)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("suffix", "library"), [("xtc", "MDAnalysis.lib.formats.libmdaxdr"), ("h5md", "h5py")]
)
def test_a_missing_library_is_named(
    tmp_path: Path, monkeypatch: Any, suffix: str, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(QuiltError, match=r"pip install 'quiltmd\[trajectories\]'"):
        make_config(tmp_path, [{"file": f"a.{suffix}", "every": 5}])


def test_terms_and_box_in_the_log(tmp_path: Path) -> None:
    runner.start(make_config(tmp_path, log_terms=True, log_box=True), engine=FakeEngine)
    runner.resume(tmp_path / "out", {("run", "steps"): 30}, FakeEngine)
    with open(tmp_path / "out" / "log.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["step"]) for row in rows] == list(range(0, 31, 5))
    terms = ["bond", "angle", "torsion", "lj", "lj14", "coulomb", "coulomb14", "pme", "dispersion"]
    for row in rows:
        total = sum(float(row[name]) for name in terms)
        assert total == pytest.approx(float(row["potential"]), abs=1e-4)
        assert float(row["c_z"]) == pytest.approx(0.9321, abs=1e-4)
        assert float(row["b_x"]) == 0
    assert list(rows[0])[-1] == "ns/day"


def test_what_a_run_has_no_use_for_is_told(tmp_path: Path, capsys: Any) -> None:
    """Trajectories that it is too short for, and places for restraints that it lacks."""

    def told(config: Config, nonbonded: Nonbonded | None = None) -> str:
        system = replace(water_box((3, 3, 3))[0], nonbonded=nonbonded)
        warn_of_no_effect(config.following(system), system)
        return " ".join(capsys.readouterr().err.split())

    late = [{"file": "late.xtc", "every": 21}, {"file": "last.xtc", "every": 20}]
    config = make_config(tmp_path, late, trajectory_every=50)
    assert told(config) == (
        "warning: late.xtc will have no frames: one is due every 21 steps, and the run has 20 "
        "warning: trajectory.dcd will have no frames: one is due every 50 steps, and the run has 20"
    )
    config = make_config(tmp_path, [])
    assert told(config) == ""
    (tmp_path / "copy.toml").write_text(config.as_toml(tmp_path))
    copied = build_config(read_config(tmp_path / "copy.toml"))  # which states all defaults
    assert copied.output.trajectory_every > copied.run.steps
    assert told(copied) == ""
    for value, words in (("all", "reference_scaling of [system] has no effect"), ("none", "")):
        system = config.system.model_validate(
            config.system.model_dump(include={"topology", "coordinates"})
            | {"reference_scaling": value}
        )
        assert words in told(config.model_copy(update={"system": system}))
    theirs = Nonbonded(cutoff=0.5, pme_alpha=5.0, pme_grid=(16, 16, 16))
    assert "of the inputs were chosen for a cutoff of 0.5 nm" in told(config, theirs)
    assert "both follow from pme_tolerance" in told(config, theirs)
    on_mesh = Nonbonded(cutoff=0.5, lennard_jones="pme", lj_pme_alpha=5.0, lj_pme_grid=(16, 16, 16))
    assert "both follow from lj_pme_tolerance" in told(config, on_mesh)
    barostat = config.barostat.model_copy(update={"every": 21})
    pressed = config.integrator.model_copy(update={"ensemble": "npt"})
    kept = config.model_copy(update={"barostat": barostat, "integrator": pressed})
    assert "the barostat acts every 21 steps, and the run has 20" in told(kept)
    often = barostat.model_copy(update={"every": 20})
    assert told(kept.model_copy(update={"barostat": often})) == ""
    section = config.run.model_copy(update={"first_step": 10})  # to step 30, by 21 and by 25
    begun = {"run": section, "barostat": barostat}
    later = make_config(tmp_path, late, trajectory_every=25).model_copy(update=begun)
    assert told(later) == ""
    runner.start(make_config(tmp_path, late), engine=FakeEngine)
    assert "late.xtc will have no frames" in " ".join(capsys.readouterr().err.split())
