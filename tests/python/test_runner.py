# SPDX-License-Identifier: Apache-2.0
"""Runs in folders on a toy engine: outputs, stops at any point, resumes, refusals."""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from disk import Killed, Operations
from fake_engine import FakeEngine

import quiltmd
from quiltmd import LogReporter, QuiltError
from quiltmd.outputs.trajectory import Snapshot, TrajectoryFile
from quiltmd.running import progress, runner
from quiltmd.running.config import Config, build_config, merge

STEPS = 60
COLUMNS = "step,time,potential,kinetic,total,conserved,temperature,pressure,density,ns/day"


@pytest.fixture
def config(alanine: tuple[Path, Path], tmp_path: Path) -> Config:
    return make_config(alanine, tmp_path / "out")


def make_config(files: tuple[Path, Path], out: Path, **changes: Any) -> Config:
    settings = {
        "system": {"topology": files[0], "coordinates": files[1]},
        "integrator": {"seed": 3},
        "run": {"steps": STEPS, "device": "cpu", "minimize": True},
        "output": {"dir": out, "log_every": 4, "trajectory_every": 6, "checkpoint_every": 10},
    }
    return build_config(merge(settings, {("run", key): value for key, value in changes.items()}))


def log_rows(out: Path) -> list[list[str]]:
    """Rows of the log without the speed, which no two runs share."""
    return [line.split(",")[:-1] for line in (out / "log.csv").read_text().splitlines()]


def same_results(a: Path, b: Path) -> None:
    states = [quiltmd.read_checkpoint(folder / "checkpoint.qmd").state for folder in (a, b)]
    assert quiltmd.digest(states[0]) == quiltmd.digest(states[1])
    assert log_rows(a) == log_rows(b)
    assert (a / "trajectory.dcd").read_bytes() == (b / "trajectory.dcd").read_bytes()
    assert (a / "final.pdb").read_bytes() == (b / "final.pdb").read_bytes()


@pytest.fixture(scope="module")
def whole(
    openmmtools_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[tuple[Path, Path], Path]:
    """A run without a stop: its inputs and its folder."""
    folder = openmmtools_data / "alanine-dipeptide-explicit"
    files = folder / "alanine-dipeptide.prmtop", folder / "alanine-dipeptide.crd"
    out = tmp_path_factory.mktemp("whole") / "out"
    runner.start(make_config(files, out), engine=FakeEngine)
    return files, out


def test_a_run_leaves_what_it_promises(whole: tuple[Any, Path]) -> None:
    out = whole[1]
    assert sorted(file.name for file in out.iterdir()) == [
        "checkpoint.prev.qmd",
        "checkpoint.qmd",
        "config.toml",
        "final.cif",
        "final.ncrst",
        "final.pdb",
        "log.csv",
        "sessions.json",
        "trajectory.dcd",
    ]
    lines = (out / "log.csv").read_text().splitlines()
    assert lines[0] == COLUMNS
    assert [int(line.split(",")[0]) for line in lines[1:]] == list(range(0, STEPS + 1, 4))
    from mdtraj import formats

    with formats.DCDTrajectoryFile(str(out / "trajectory.dcd")) as file:
        assert file.read()[0].shape == (STEPS // 6, 2269, 3)


@pytest.mark.parametrize("seed", range(8))
def test_a_kill_anywhere_loses_and_doubles_nothing(
    whole: tuple[Any, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Killed twice, after a random number of writes and in the middle of one; then resumed."""
    rng = np.random.default_rng(seed)
    config = make_config(whole[0], tmp_path / "out")
    with monkeypatch.context() as patch:
        kill_after(patch, int(rng.integers(4, 34)), rng)
        with pytest.raises(Killed):
            runner.start(config, engine=FakeEngine)
    with monkeypatch.context() as patch:
        kill_after(patch, int(rng.integers(1, 4)), rng)
        with pytest.raises(Killed):
            runner.resume(tmp_path / "out", engine=FakeEngine)
    runner.resume(tmp_path / "out", engine=FakeEngine)
    same_results(tmp_path / "out", whole[1])


def kill_after(patch: pytest.MonkeyPatch, writes: int, rng: np.random.Generator) -> None:
    """The n-th write to the log or the trajectory writes a part only, and the process dies."""
    left = [writes]

    def write(handle: int, data: bytes, offset: int) -> int:
        left[0] -= 1
        if left[0] <= 0:
            os.pwrite(handle, data[: int(rng.integers(0, len(data) + 1))], offset)
            raise Killed
        return os.pwrite(handle, data, offset)

    patch.setattr("quiltmd.outputs.files.os", Operations(pwrite=write))


def test_more_steps_by_resuming(whole: tuple[Any, Path], tmp_path: Path) -> None:
    config = make_config(whole[0], tmp_path / "out", steps=23)
    runner.start(config, engine=FakeEngine)
    changes = {("run", "steps"): STEPS, ("run", "ranks"): 3, ("run", "threads"): 1}
    outcome = runner.resume(tmp_path / "out", changes, engine=FakeEngine)
    assert outcome.step == STEPS
    same_results(tmp_path / "out", whole[1])
    text = (tmp_path / "out" / "config.toml").read_text()
    assert "steps = 60\n" in text
    assert "ranks = 3\n" in text


def test_a_minimisation_alone_leaves_atoms_at_rest(
    whole: tuple[Any, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No velocities in its files; those of the dynamics are drawn if a resume asks for steps."""
    out = tmp_path / "out"
    runner.start(make_config(whole[0], out, steps=0), engine=FakeEngine)
    assert "velocities" not in capsys.readouterr().err
    assert not quiltmd.read_checkpoint(out / "checkpoint.qmd").state.velocities.any()
    assert not quiltmd.load(whole[0][0], out / "final.ncrst")[1].velocities.any()
    runner.resume(out, {("run", "steps"): STEPS}, engine=FakeEngine)
    assert "velocities drawn at 300 K" in capsys.readouterr().err
    states = [quiltmd.read_checkpoint(o / "checkpoint.qmd").state for o in (out, whole[1])]
    assert quiltmd.digest(states[0]) == quiltmd.digest(states[1])
    assert log_rows(out)[2:] == log_rows(whole[1])[2:]  # row 1 is that of step 0, at rest


def test_resuming_a_finished_run_changes_nothing(config: Config) -> None:
    runner.start(config, engine=FakeEngine)
    before = {file: file.read_bytes() for file in config.output.dir.iterdir()}
    runner.resume(config.output.dir, engine=FakeEngine)
    assert {file: file.read_bytes() for file in config.output.dir.iterdir()} == before


def test_fewer_steps_than_done(config: Config) -> None:
    runner.start(config, engine=FakeEngine)
    with pytest.raises(QuiltError, match="already at step 60, beyond step 50"):
        runner.resume(config.output.dir, {("run", "steps"): 50}, engine=FakeEngine)


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_with_a_checkpoint(
    whole: tuple[Any, Path], tmp_path: Path, kind: signal.Signals
) -> None:
    class Interrupting(FakeEngine):
        def run(self, steps: int) -> None:
            super().run(steps)
            if self.calls == 6:
                os.kill(os.getpid(), kind)

    config = make_config(whole[0], tmp_path / "out")
    handler = signal.getsignal(kind)
    outcome = runner.start(config, engine=Interrupting)
    assert outcome.interrupted
    assert 0 < outcome.step < STEPS
    assert signal.getsignal(kind) is handler
    assert not (tmp_path / "out" / "final.pdb").exists()
    runner.resume(tmp_path / "out", engine=FakeEngine)
    same_results(tmp_path / "out", whole[1])


def test_a_damaged_checkpoint_falls_back(
    whole: tuple[Any, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = make_config(whole[0], tmp_path / "out", steps=30)
    runner.start(config, engine=FakeEngine)
    path = config.output.dir / "checkpoint.qmd"
    whole_file = path.read_bytes()
    path.write_bytes(whole_file[:-1] + bytes([whole_file[-1] ^ 1]))
    runner.resume(config.output.dir, {("run", "steps"): STEPS}, engine=FakeEngine)
    assert "falling back to the previous checkpoint, step 20" in capsys.readouterr().err
    same_results(tmp_path / "out", whole[1])


def test_changed_inputs_are_refused(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    files = []
    for file in alanine:
        files.append(tmp_path / file.name)
        files[-1].write_bytes(file.read_bytes())
    config = make_config((files[0], files[1]), tmp_path / "out", steps=5)
    runner.start(config, engine=FakeEngine)
    text = (tmp_path / "out" / "config.toml").read_text()
    (tmp_path / "out" / "config.toml").write_text(text.replace("cutoff = 0.9", "cutoff = 1.0"))
    with pytest.raises(QuiltError, match=r"nonbonded.cutoff \(was 0.9, is 1.0\)"):
        runner.resume(tmp_path / "out", engine=FakeEngine)
    (tmp_path / "out" / "config.toml").write_text(text)
    files[1].write_bytes(files[1].read_bytes() + b" ")
    with pytest.raises(QuiltError, match="changed the coordinates file"):
        runner.resume(tmp_path / "out", engine=FakeEngine)


def test_other_parameters_of_the_same_tolerance_are_refused(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner.start(config, engine=FakeEngine)
    monkeypatch.setattr("quiltmd.description.nonbonded._SMALL_BOX", 0.0)
    with pytest.raises(QuiltError, match=r"nonbonded.pme_order \(was 4, is 5\)"):
        runner.resume(config.output.dir, engine=FakeEngine)


def test_lost_rows_are_refused(config: Config) -> None:
    runner.start(config, engine=FakeEngine)
    log = config.output.dir / "log.csv"
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:5]))
    with pytest.raises(QuiltError, match=r"log.csv: has .* bytes where the checkpoint expects"):
        runner.resume(config.output.dir, engine=FakeEngine)


def test_a_used_folder_is_not_overwritten_by_mistake(config: Config) -> None:
    runner.start(config, engine=FakeEngine)
    with pytest.raises(QuiltError, match="already contains a run"):
        runner.start(config, engine=FakeEngine)
    assert runner.start(config, overwrite=True, engine=FakeEngine).step == STEPS


def test_two_runs_in_one_folder(config: Config) -> None:
    class Nested(FakeEngine):
        def run(self, steps: int) -> None:
            with pytest.raises(QuiltError, match="in use by another run"):
                runner.resume(config.output.dir, engine=FakeEngine)
            super().run(steps)

    runner.start(config, engine=Nested)


def test_nothing_to_resume(tmp_path: Path, config: Config) -> None:
    with pytest.raises(QuiltError, match="holds no run"):
        runner.resume(tmp_path / "none", engine=FakeEngine)
    runner.start(config, engine=FakeEngine)
    for name in ("checkpoint.qmd", "checkpoint.prev.qmd"):
        (config.output.dir / name).unlink()
    with pytest.raises(QuiltError, match=r"cannot resume: .*No such file"):
        runner.resume(config.output.dir, engine=FakeEngine)


def test_a_blow_up_leaves_the_last_good_checkpoint(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeEngine, "explode_at", 34)
    with pytest.raises(QuiltError, match=r"step 34: atom 4 \(HH33.*\(step 30\)"):
        runner.start(config, engine=FakeEngine)
    assert quiltmd.read_checkpoint(config.output.dir / "checkpoint.qmd").state.step == 30


def test_a_full_disk(config: Config, whole: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trajectory's disk is full at step 18; with room again, the run goes on."""
    write = TrajectoryFile.write

    def full(self: TrajectoryFile, snapshot: Snapshot) -> None:
        if self.frames == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(self, snapshot)

    with monkeypatch.context() as patch:
        patch.setattr(TrajectoryFile, "write", full)
        with pytest.raises(QuiltError, match=r"trajectory.dcd: No space left.*\(step 10\)"):
            runner.start(config, engine=FakeEngine)
    runner.resume(config.output.dir, engine=FakeEngine)
    same_results(config.output.dir, whole[1])


def test_a_really_full_device() -> None:
    with pytest.raises(QuiltError, match="cannot write /dev/full: No space left on device"):
        LogReporter("/dev/full", every=1)


@pytest.mark.parametrize("rename", range(3, 13))
def test_a_kill_between_the_renames_of_a_checkpoint(
    whole: tuple[Any, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rename: int
) -> None:
    left = [rename]
    replace = os.replace

    def dying(source: Any, target: Any) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise Killed
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", dying)
        with pytest.raises(Killed):
            runner.start(make_config(whole[0], tmp_path / "out"), engine=FakeEngine)
    runner.resume(tmp_path / "out", engine=FakeEngine)
    same_results(tmp_path / "out", whole[1])


def test_no_outputs(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    settings = {
        "system": {"topology": alanine[0], "coordinates": alanine[1]},
        "run": {"steps": 3, "device": "cpu"},
        "output": {
            "dir": tmp_path / "out",
            "log_every": 0,
            "trajectory_every": 0,
            "checkpoint_every": 0,
        },
    }
    runner.start(build_config(settings), engine=FakeEngine)
    assert quiltmd.read_checkpoint(tmp_path / "out" / "checkpoint.qmd").state.step == 3
    assert not (tmp_path / "out" / "log.csv").exists()


def test_no_line_of_progress_is_said_twice(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last step has its line from `update`, or at the end, where lines are rare."""
    for seconds in (0.0, 1e9):
        monkeypatch.setattr(progress, "_LINE_SECONDS", seconds)
        with progress.RunProgress(0, 4, 0.002) as run:
            run.update(2)
            run.update(4)
        said = [line.split(",")[0] for line in capsys.readouterr().err.splitlines()]
        assert said == (["step 2 of 4"] if seconds == 0 else []) + ["step 4 of 4"]


def test_no_time_is_estimated_before_the_first_step(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As while a run waits for a viewer."""
    monkeypatch.setattr(progress, "_LINE_SECONDS", 0.0)
    with progress.RunProgress(0, 4, 0.002) as run:
        run.update(0)
        run.update(4)
    first, last = capsys.readouterr().err.splitlines()
    assert first == "step 0 of 4"
    assert last.startswith("step 4 of 4, ")
