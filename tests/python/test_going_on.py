# SPDX-License-Identifier: Apache-2.0
"""A new run begins where another one has come to: from its folder, or from a checkpoint."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_engine import FakeEngine
from typer.testing import CliRunner

import quiltmd
from quiltmd.commands.cli import app
from quiltmd.running import runner
from quiltmd.running.config import build_config, merge, read_config

pytestmark = pytest.mark.filterwarnings("ignore::quiltmd.QuiltWarning")
Files = tuple[Path, Path]


def settings(files: Files, out: Path) -> dict[str, Any]:
    return {
        "system": {"topology": files[0], "coordinates": files[1]},
        "integrator": {"seed": 3, "timestep": 1e-6},
        "run": {"steps": 6, "device": "cpu"},
        "output": {"dir": out, "trajectory_every": 0, "final": []},
    }


@pytest.fixture(scope="module")
def first(openmmtools_data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Files, Path]:
    folder = openmmtools_data / "alanine-dipeptide-explicit"
    files = folder / "alanine-dipeptide.prmtop", folder / "alanine-dipeptide.crd"
    out = tmp_path_factory.mktemp("going on") / "first"
    runner.start(build_config(settings(files, out)), engine=FakeEngine)
    return files, out


def test_a_checkpoint_is_read_as_coordinates(first: tuple[Files, Path], tmp_path: Path) -> None:
    files, out = first
    wanted = quiltmd.read_checkpoint(out / "checkpoint.qmd").state
    copy = tmp_path / "copy"
    shutil.copy(out / "checkpoint.qmd", copy)
    for source in (out, str(out), out / "checkpoint.qmd", copy):
        _, state = quiltmd.load(files[0], source, velocities=source)
        assert state.step == 0
        assert (state.positions == wanted.positions).all()
        assert (state.velocities == wanted.velocities).all()
        assert state.box is not None
        np.testing.assert_array_equal(state.box, wanted.box)
    copy.write_bytes(copy.read_bytes()[:-1])
    with pytest.raises(quiltmd.QuiltError, match=r"checksum|damaged"):
        quiltmd.load(files[0], copy)
    with pytest.raises(quiltmd.InputError, match=r"without the checkpoint\.qmd of a run$"):
        quiltmd.load(files[0], tmp_path)
    (tmp_path / "2-heat").mkdir()
    shutil.copy(out / "checkpoint.qmd", tmp_path / "2-heat")
    with pytest.raises(quiltmd.InputError, match=r"give the folder of a stage, such as .*2-heat"):
        quiltmd.load(files[0], tmp_path)


def test_a_run_begins_from_another_and_can_be_resumed_when_that_goes_on(
    first: tuple[Files, Path], tmp_path: Path
) -> None:
    files, out = first
    source = tmp_path / "source"
    shutil.copytree(out, source)
    wanted = quiltmd.read_checkpoint(source / "checkpoint.qmd").state
    second = tmp_path / "second"
    runner.start(build_config(settings((files[0], source), second)), engine=FakeEngine)
    kept = read_config(second / "config.toml")["system"]["coordinates"]
    assert kept == str(second / "inputs" / "coordinates-checkpoint.qmd")
    begun = quiltmd.load(files[0], kept)[1]
    assert (begun.positions == wanted.positions).all()
    assert (begun.velocities == wanted.velocities).all()
    runner.resume(source, {("run", "steps"): 12}, engine=FakeEngine)  # its checkpoint changes
    outcome = runner.resume(second, {("run", "steps"): 12}, engine=FakeEngine)
    assert outcome.step == 12


def test_a_changed_time_step_says_how_to_begin_anew(
    first: tuple[Files, Path], tmp_path: Path
) -> None:
    files, out = first
    folder = tmp_path / "run"
    shutil.copytree(out, folder)
    config = folder / "config.toml"
    config.write_text(config.read_text().replace("timestep = 1e-06", "timestep = 2e-06"))
    with pytest.raises(quiltmd.QuiltError) as caught:
        runner.resume(folder, engine=FakeEngine)
    said = str(caught.value)
    assert "changed integrator.timestep (was 1e-06, is 2e-06)" in said
    assert f"'quiltmd run COPY --coordinates {folder} --out NEW'" in said
    (folder / "final.ncrst").touch()
    with pytest.raises(quiltmd.QuiltError, match=r"--coordinates \S+/final.ncrst --out NEW"):
        runner.resume(folder, engine=FakeEngine)
    command = ["run", "--resume", str(folder), "--timestep", "2 fs"]
    refused = str(CliRunner().invoke(app, command).exception)
    assert refused.startswith("--resume takes its settings from the run's folder; leave out --time")
    assert f"a copy of {config}, without a minimisation" in refused
    # What it says works: a copy of the file, with other settings.
    copy = tmp_path / "copy.toml"
    shutil.copy(config, copy)
    flags = {("system", "coordinates"): folder, ("output", "dir"): tmp_path / "new"}
    outcome = runner.start(build_config(merge(read_config(copy), flags)), engine=FakeEngine)
    assert outcome.step == 6
    assert files[0].exists()
