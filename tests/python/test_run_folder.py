# SPDX-License-Identifier: Apache-2.0
"""The folder of a run: what is never replaced, what may change on resume, when a run stops."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import struct
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boxes import water_box
from fake_engine import FakeEngine

import quiltmd
from quiltmd import Checkpoint, QuiltError, State, read_checkpoint, write_checkpoint
from quiltmd.commands.options import flag_of
from quiltmd.commands.run import run
from quiltmd.outputs import checkpoint as checkpoints
from quiltmd.outputs import files
from quiltmd.running import run_inputs, runner
from quiltmd.running.chosen_settings import as_begun
from quiltmd.running.config import Config, build_config, merge, read_config
from quiltmd.running.identity import changed_settings
from quiltmd.running.older_names import RENAMED
from quiltmd.running.setting_fields import (
    kept_settings,
    may_change,
    setting_fields,
    single_sections,
)
from quiltmd.running.stopping import SIGNALS, Stopping

pytestmark = pytest.mark.filterwarnings("ignore:a cutoff of:quiltmd.QuiltWarning")

STEPS = 20
BOX = np.eye(3) * 4.0


@pytest.fixture(autouse=True)
def _waters(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = water_box((3, 3, 3))
    monkeypatch.setattr(run_inputs, "load", lambda *files, **options: loaded)
    monkeypatch.setattr(runner, "check_overlaps", lambda *loaded: None)


@pytest.fixture
def inputs(tmp_path: Path) -> tuple[Path, Path]:
    paths = tmp_path / "a.prmtop", tmp_path / "a.inpcrd"
    for path in paths:
        path.write_text(path.name)
    return paths


def make_config(inputs: tuple[Path, Path], out: Path, **changes: Any) -> Config:
    settings: dict[str, Any] = {
        "system": {"topology": inputs[0], "coordinates": inputs[1]},
        "nonbonded": {"cutoff": 0.4},
        "integrator": {"seed": 3},
        "run": {"steps": STEPS, "device": "cpu"},
        "output": {"dir": out, "log_every": 4, "trajectory_every": 6, "checkpoint_every": 10},
    }
    places = {tuple(key.split("__")): value for key, value in changes.items()}
    return build_config(merge(settings, places))  # type: ignore[arg-type]


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


# ---- nothing is replaced or deleted


def test_overwriting_keeps_the_earlier_run_and_its_own_inputs(inputs: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    runner.start(make_config(inputs, out), engine=FakeEngine)
    before = contents(out)
    second = make_config((inputs[0], out / "final.ncrst"), out, run__steps=5)
    runner.start(second, overwrite=True, engine=FakeEngine)
    assert contents(out / "backup.1") == before
    system = read_config(out / "config.toml")["system"]
    assert system["coordinates"] == str(out / "backup.1" / "final.ncrst")
    runner.resume(out, {("run", "steps"): 8}, FakeEngine)
    runner.resume(out / "backup.1", {("run", "steps"): STEPS + 5}, FakeEngine)
    runner.start(make_config(inputs, out), overwrite=True, engine=FakeEngine)
    assert (out / "backup.2" / "log.csv").exists()


def test_a_link_to_an_input_that_moves_is_followed(inputs: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    runner.start(make_config(inputs, out), engine=FakeEngine)
    (tmp_path / "link").symlink_to(out / "final.ncrst")
    config = make_config((inputs[0], tmp_path / "link"), out, run__steps=5)
    runner.start(config, overwrite=True, engine=FakeEngine)
    assert read_config(out / "config.toml")["system"]["coordinates"].endswith(
        "backup.1/final.ncrst"
    )


def test_a_run_that_does_not_load_moves_nothing(
    inputs: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    out = tmp_path / "out"
    runner.start(make_config(inputs, out), engine=FakeEngine)
    before = contents(out)

    def broken(*files: Any, **options: Any) -> Any:
        raise QuiltError("damaged")

    monkeypatch.setattr(run_inputs, "load", broken)
    with pytest.raises(QuiltError, match="damaged"):
        runner.start(make_config(inputs, out), overwrite=True, engine=FakeEngine)
    assert contents(out) == before
    with pytest.raises(QuiltError, match="damaged"):
        runner.start(make_config(inputs, tmp_path / "new"), engine=FakeEngine)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["config.toml", "log.csv", "final.pdb", "final.rst7"])
def test_files_of_a_user_are_not_replaced(inputs: Any, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    config = make_config(inputs, tmp_path)
    with pytest.raises(QuiltError, match=rf"already has .*\({name}\).*--overwrite"):
        runner.start(config, engine=FakeEngine)
    assert (tmp_path / name).read_text() == "mine"
    runner.start(config, overwrite=True, engine=FakeEngine)
    assert (tmp_path / "backup.1" / name).read_text() == "mine"


def test_a_start_looks_for_a_run_when_it_has_the_lock(
    inputs: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    """Another run begins and ends while this one waits between its first operations."""
    config = make_config(inputs, tmp_path / "out")
    make_folder, others = runner.Folder.owned, []

    def late(self: Any) -> Any:
        if not others:
            others.append(1)
            runner.start(config, engine=FakeEngine)
        return make_folder(self)

    monkeypatch.setattr(runner.Folder, "owned", late)
    with pytest.raises(QuiltError, match="already contains a run"):
        runner.start(config, engine=FakeEngine)
    assert len(others) == 1


# ---- checkpoints as files


def some_checkpoint(step: int = 1) -> Checkpoint:
    return Checkpoint(State(np.ones((2, 3)), np.ones((2, 3)), np.eye(3) * 3, step))


def test_a_checkpoint_does_not_take_the_place_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(QuiltError, match="folder: it is a folder"):
        write_checkpoint(tmp_path / "folder", some_checkpoint())
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_temporary_files_follow_no_links(tmp_path: Path) -> None:
    path, victim = tmp_path / "checkpoint.qmd", tmp_path / "victim"
    victim.write_text("mine")
    for link in (tmp_path / "checkpoint.tmp", files.temporary_path(path)):
        link.symlink_to(victim)
    write_checkpoint(path, some_checkpoint())
    assert victim.read_text() == "mine"
    assert read_checkpoint(path).state.step == 1


def newer(data: bytes) -> bytes:
    body = data[:8] + struct.pack("<I", 99) + data[12:-32]
    return body + checkpoints.hashlib.sha256(body).digest()


def test_a_checkpoint_of_a_newer_version_is_neither_replaced_nor_passed_over(
    inputs: Any, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    runner.start(make_config(inputs, out), engine=FakeEngine)
    path = out / "checkpoint.qmd"
    path.write_bytes(newer(path.read_bytes()))
    before = contents(out)
    with pytest.raises(QuiltError, match="later version of quiltmd"):
        runner.resume(out, {("run", "steps"): 30}, FakeEngine)
    with pytest.raises(QuiltError, match="later version of quiltmd"):
        write_checkpoint(path, some_checkpoint())
    assert contents(out) == before


# ---- what may change on resume


def test_what_may_be_given_with_resume_is_said(inputs: Any, tmp_path: Path) -> None:
    """By the help and the guide; among it is what a message about moved inputs asks for."""
    guide = (Path(__file__).parents[2] / "docs" / "user" / "files.md").read_text()
    every = dict.fromkeys(("topology", "coordinates", "reference", "parameters-1"), inputs[0])
    names = make_config(inputs, tmp_path).with_inputs(every).input_files()
    changeable = may_change(Config)
    assert {("system", name.removesuffix("-1")) for name in names} <= set(changeable)
    flags = {flag_of(at) for at in changeable if at[0] != "workers"}
    said = re.split("are accepted:|Under mpirun", str(run.__doc__))[1]
    assert set(re.findall(r"--[a-z-]+", said)) == flags
    rows = re.findall(r"^\| (?:what may change on resume|moving) \|.*$", guide, re.MULTILINE)
    keys = {key for section, key in changeable if section in ("run", "output", "imd")}
    assert set(re.findall(r"`(\w+)`", rows[0])) == keys
    assert {flag_of(at) for at in changeable if at[0] == "system"} < set(
        re.findall(r"`(--[a-z-]+)`", rows[1])
    )


# Of each setting that stays, another value than that of the run below; with what it needs.
OTHERWISE: dict[str, Any] = {
    "system.frame": 0,
    "system.defines": ["FLEXIBLE"],
    "system.box": [3.5, 3.5, 3.5],
    "system.hmr": True,
    "system.constraints": "none",
    "system.rigid_water": False,
    "system.reference_scaling": "all",
    "system.electric_field": [0.0, 0.0, 0.1],
    "run.first_step": 5,
    "run.minimize": True,
    "run.minimize_iterations": 7,
    "run.minimize_tolerance": 7.0,
    "run.draw_velocities": True,
    "run.start_temperature": 310.0,
    "run.patch_reach": "2",
    "run.grain": "pair",
    "output.log_every": 3,
    "output.log_terms": True,
    "output.log_box": True,
    "output.thermo": "real",
    "output.trajectory_every": 3,
}


@pytest.mark.parametrize("name", ["system", "run", "output"])
def test_every_setting_that_decides_the_run_must_stay(
    inputs: Any, tmp_path: Path, name: str
) -> None:
    """Whatever does not say otherwise where it is declared: none is on a list of its own."""
    config = make_config(inputs, tmp_path)
    before = {"physics": config.physics(BOX), "outputs": config.outputs()}
    kept = kept_settings(getattr(config, name))
    assert kept.keys() == {key for at, key in map(split_place, OTHERWISE) if at == name}
    for key in kept:
        value = OTHERWISE[f"{name}.{key}"]
        section = getattr(config, name).model_copy(update={key: value})
        edited = config.model_copy(update={name: section})
        now = {"physics": edited.physics(BOX), "outputs": edited.outputs()}
        (change,) = changed_settings(before, now)
        assert change.startswith(f"{name}.{key} (was ")


def test_every_setting_stays_or_may_change(inputs: Any, tmp_path: Path) -> None:
    """But for what decides nothing after the start; of every section, whatever declares it."""
    ensemble = {"integrator__ensemble": "npt", "thermostat__kind": "nose-hoover"}
    config = make_config(inputs, tmp_path, **ensemble)
    compared = {*config.physics(BOX), *config.outputs()}
    changeable = {f"{section}.{key}" for section, key in may_change(Config)}
    assert not compared & changeable
    no_physics = {"system", "run", "output", "workers", "imd"}
    assert {section for section, _ in may_change(Config)} == no_physics
    left = {
        f"{section}.{key}"
        for section in single_sections(Config)
        for key in setting_fields(section, Config)
    } - (compared | changeable)
    assert left == {
        "nonbonded.pme_split",  # its parameters are compared
        "run.require_velocities",
        "output.dir",
        "output.copy_inputs",
    }


def split_place(place: str) -> tuple[str, str]:
    section, _, key = place.partition(".")
    return section, key


def test_settings_that_a_checkpoint_does_not_know_had_their_defaults(
    inputs: Any, tmp_path: Path
) -> None:
    config = make_config(inputs, tmp_path)
    now = {"physics": config.physics(BOX), "outputs": config.outputs()}
    known = {f"{at}.{key}" for at, key in map(split_place, OTHERWISE)} & now["physics"].keys()
    before = {
        "physics": {key: value for key, value in now["physics"].items() if key not in known},
        "outputs": now["outputs"],
    }
    assert changed_settings(before, now) == []
    now["physics"] |= {"system.frame": 3, "run.first_step": 5}
    assert changed_settings(before, now) == ["run.first_step (was 0, is 5)"]


@pytest.mark.parametrize(("key", "old", "new"), [("log_every", 4, 5), ("trajectory_every", 6, 3)])
def test_intervals_of_outputs_must_stay(
    inputs: Any, tmp_path: Path, key: str, old: int, new: int
) -> None:
    out = tmp_path / "out"
    runner.start(make_config(inputs, out), engine=FakeEngine)
    edit(out / "config.toml", f"{key} = {old}", f"{key} = {new}")
    before = contents(out)
    with pytest.raises(QuiltError, match=rf"output.{key} \(was {old}, is {new}\)"):
        runner.resume(out, {("run", "steps"): 30}, FakeEngine)
    assert contents(out) == before


@pytest.mark.parametrize("name", ["log.csv", "trajectory.dcd"])
@pytest.mark.parametrize("damage", ["edited", "shorter", "foreign", "missing"])
def test_outputs_that_the_run_did_not_write_are_refused(
    inputs: Any, tmp_path: Path, name: str, damage: str
) -> None:
    out = tmp_path / "out"
    runner.start(make_config(inputs, out), engine=FakeEngine)
    file = out / name
    data = bytearray(file.read_bytes())
    if damage == "missing":
        file.unlink()
    elif damage == "foreign":
        runner.start(make_config(inputs, tmp_path / "2", integrator__seed=4), engine=FakeEngine)
        file.write_bytes((tmp_path / "2" / name).read_bytes() + b"x" * len(data))
    else:
        data[-30] ^= 1
        file.write_bytes(data if damage == "edited" else data[:-5])
    before = contents(out)
    with pytest.raises(QuiltError, match=name):
        runner.resume(out, {("run", "steps"): 30}, FakeEngine)
    assert contents(out) == before


def test_checkpoints_of_version_1_are_carried_on(inputs: Any, tmp_path: Path) -> None:
    """They tell nothing of log and trajectory, whose ends are then found by the step."""
    whole, out = tmp_path / "whole", tmp_path / "out"
    runner.start(make_config(inputs, whole), engine=FakeEngine)
    runner.start(make_config(inputs, out, run__steps=13), engine=FakeEngine)
    for name in ("checkpoint.qmd", "checkpoint.prev.qmd"):
        (out / name).write_bytes(as_version_1((out / name).read_bytes()))
    with open(out / "log.csv", "a") as file:
        file.write("16,0.0")
    runner.resume(out, {("run", "steps"): STEPS}, FakeEngine)
    assert (out / "trajectory.dcd").read_bytes() == (whole / "trajectory.dcd").read_bytes()
    rows = [(folder / "log.csv").read_text().splitlines() for folder in (out, whole)]
    assert [row.rsplit(",", 1)[0] for row in rows[0]] == [row.rsplit(",", 1)[0] for row in rows[1]]


def as_version_1(data: bytes) -> bytes:
    size = struct.unpack_from("<Q", data, 12)[0]
    header = json.loads(data[20 : 20 + size])
    del header["stage"], header["outputs"], header["provenance"]["outputs"]
    text = json.dumps(header).encode()
    body = data[:8] + struct.pack("<IQ", 1, len(text)) + text + data[20 + size : -32]
    return body + checkpoints.hashlib.sha256(body).digest()


# ---- folders that move


def test_a_moved_folder_with_moved_inputs(inputs: Any, tmp_path: Path) -> None:
    runner.start(make_config(inputs, tmp_path / "out"), engine=FakeEngine)
    (tmp_path / "out").rename(tmp_path / "moved")
    moved = [path.rename(tmp_path / f"other-{path.name}") for path in inputs]
    again: dict[Any, Any] = {("run", "steps"): 30}
    with pytest.raises(QuiltError, match=r"a.prmtop, .*a.inpcrd.*--topology FILE --coordinates"):
        runner.resume(tmp_path / "moved", again, FakeEngine)
    again |= {("system", "topology"): moved[0], ("system", "coordinates"): moved[1]}
    assert runner.resume(tmp_path / "moved", again, FakeEngine).step == 30
    assert read_config(tmp_path / "moved" / "config.toml")["system"]["topology"] == str(moved[0])
    moved[0].write_text("another force field")
    with pytest.raises(QuiltError, match="changed the topology file"):
        runner.resume(tmp_path / "moved", again, FakeEngine)


@pytest.mark.parametrize("name", ["velocities", "reference", "parameters"])
def test_other_inputs_that_have_changed_are_refused(inputs: Any, tmp_path: Path, name: str) -> None:
    file = tmp_path / "other"
    file.write_text("before")
    value = (file,) if name == "parameters" else file
    config = make_config(inputs, tmp_path / "out", **{f"system__{name}": value})
    runner.start(config, engine=FakeEngine)
    file.write_text("after")
    with pytest.raises(QuiltError, match=f"changed the {name} file"):
        runner.resume(tmp_path / "out", {("run", "steps"): 30}, FakeEngine)


def test_a_folder_with_its_inputs_needs_nothing_else(inputs: Any, tmp_path: Path) -> None:
    config = make_config(inputs, tmp_path / "out", output__copy_inputs=True)
    runner.start(config, engine=FakeEngine)
    for path in inputs:
        path.unlink()
    (tmp_path / "out").rename(tmp_path / "moved")
    assert 'topology = "inputs/topology-a.prmtop"' in (tmp_path / "moved/config.toml").read_text()
    assert runner.resume(tmp_path / "moved", {("run", "steps"): 30}, FakeEngine).step == 30


# ---- when a run stops


class Signalling(FakeEngine):
    """Sends a signal to this process during the run or during a minimisation."""

    kind = signal.SIGUSR1
    minimizing = False

    def run(self, steps: int) -> None:
        super().run(min(steps, 1) if self.calls == 0 else steps)
        if not self.minimizing and self.calls == 3:
            os.kill(os.getpid(), self.kind)

    def minimize(self, tolerance: float, max_iterations: int, watch: Any = None) -> dict[str, Any]:
        def kill(iteration: int, *values: float) -> bool:
            if self.minimizing and iteration == 2:
                os.kill(os.getpid(), self.kind)
            return bool(watch(iteration, *values))

        return super().minimize(tolerance, max_iterations, kill)


@pytest.mark.parametrize("minimizing", [False, True])
@pytest.mark.parametrize("kind", SIGNALS)
def test_signals_end_with_a_checkpoint(
    inputs: Any, tmp_path: Path, monkeypatch: Any, kind: signal.Signals, minimizing: bool
) -> None:
    monkeypatch.setattr(Signalling, "kind", kind)
    monkeypatch.setattr(Signalling, "minimizing", minimizing)
    settings = {"run__minimize": True, "output__log_every": 1}
    runner.start(make_config(inputs, tmp_path / "whole", **settings), engine=FakeEngine)
    outcome = runner.start(make_config(inputs, tmp_path / "out", **settings), engine=Signalling)
    assert outcome.interrupted
    assert outcome.signal == kind
    assert outcome.step < STEPS
    assert (outcome.step == 0) == minimizing
    assert signal.getsignal(kind) is not None
    runner.resume(tmp_path / "out", engine=FakeEngine)
    last = [read_checkpoint(tmp_path / name / "checkpoint.qmd") for name in ("whole", "out")]
    assert quiltmd.digest(last[0].state) == quiltmd.digest(last[1].state)
    frames = [(tmp_path / name / "trajectory.dcd").read_bytes() for name in ("whole", "out")]
    assert frames[0] == frames[1]


def test_repeated_and_ignored_signals() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Stopping(None, 0.0) as stopping:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not stopping
            for _ in range(3):
                os.kill(os.getpid(), signal.SIGTERM)
            assert stopping.signal == signal.SIGTERM
            with pytest.raises(KeyboardInterrupt):
                interrupt()
            stopping.take_interrupts()
            os.kill(os.getpid(), signal.SIGINT)
            with pytest.raises(KeyboardInterrupt):
                interrupt()
    finally:
        signal.signal(signal.SIGHUP, before)


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(1)


def clocked_engine(monkeypatch: pytest.MonkeyPatch) -> type[FakeEngine]:
    """An engine whose steps take 25 s by the clock, which nothing else moves."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    class Timed(FakeEngine):
        def run(self, steps: int) -> None:
            super().run(steps)
            now[0] += 25 * steps

    return Timed


def test_a_run_stops_when_its_time_is_up(
    inputs: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both when it starts and when it is resumed, since the time is that of one call."""
    timed = clocked_engine(monkeypatch)
    config = make_config(inputs, tmp_path / "out", run__max_hours=260 / 3600, run__steps=400)
    outcome = runner.start(config, engine=timed)
    assert outcome.interrupted
    assert outcome.signal is None
    assert outcome.step > 0
    assert read_checkpoint(tmp_path / "out" / "checkpoint.qmd").state.step == outcome.step
    later = runner.resume(tmp_path / "out", engine=timed)
    assert later.interrupted
    assert outcome.step < later.step < 400


def test_the_time_of_one_resume_is_not_that_of_later_ones(
    inputs: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether or not the run began with a limit of its own, which stays."""
    timed = clocked_engine(monkeypatch)
    out, limit = tmp_path / "out", {("run", "max_hours"): 260 / 3600}
    runner.start(make_config(inputs, out), engine=timed)
    more = {("run", "steps"): 400}
    assert runner.resume(out, more | limit, timed).interrupted
    assert "max_hours" not in (out / "config.toml").read_text()
    assert not runner.resume(out, engine=timed).interrupted
    limited = tmp_path / "limited"
    runner.start(make_config(inputs, limited, run__max_hours=1.0), engine=timed)
    assert runner.resume(limited, more | limit, timed).interrupted
    assert read_config(limited / "config.toml")["run"]["max_hours"] == 1
    with pytest.raises(QuiltError, match="max_hours must be positive"):
        runner.resume(out, {("run", "max_hours"): 0.0}, timed)


def test_the_time_that_a_run_may_take_is_in_hours() -> None:
    now = time.monotonic()
    assert not Stopping(2.0, now - 2 * 3600 + 60)
    assert Stopping(2.0, now - 2 * 3600 - 1)


def test_checkpoints_by_the_clock(
    inputs: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With steps of 25 s, one each three minutes comes after eight steps, and changes no result."""
    out = tmp_path / "out"
    by_time = {"output__checkpoint_every": 0, "output__checkpoint_minutes": 3}
    steps: list[int] = []

    runner.start(make_config(inputs, tmp_path / "whole"), engine=FakeEngine)
    timed: Any = clocked_engine(monkeypatch)

    class Noting(timed):
        def run(self, count: int) -> None:
            super().run(count)
            steps.append(read_checkpoint(out / "checkpoint.qmd").state.step)

    runner.start(make_config(inputs, out, **by_time, output__log_every=1), engine=Noting)
    assert sorted(set(steps)) == [*range(0, max(steps) + 1, 8)]
    assert max(steps) > 0
    last = [read_checkpoint(folder / "checkpoint.qmd") for folder in (tmp_path / "whole", out)]
    assert quiltmd.digest(last[0].state) == quiltmd.digest(last[1].state)


def test_a_minimisation_says_whether_it_converged(
    inputs: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runner.start(make_config(inputs, tmp_path / "out", run__minimize=True), engine=FakeEngine)
    text = capsys.readouterr().err
    assert "minimised in 4 iterations" in text
    assert "(converged)" in text


def test_a_minimisation_begins_where_constraints_hold(
    inputs: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not at the given positions, whose potential may be lower."""

    class Constrained(FakeEngine):
        def minimize(self, tolerance: float, max_iterations: int, watch: Any = None) -> Any:
            watch(0, 7.0, 1e3)
            return {"potential": 5.0, "largest_force": 99.0, "iterations": 1, "converged": True}

    runner.start(make_config(inputs, tmp_path / "out", run__minimize=True), engine=Constrained)
    assert "minimised in 1 iterations: potential 7.0 -> 5.0 kJ/mol" in capsys.readouterr().err


def test_a_minimisation_ends_where_the_settings_say(inputs: Any, tmp_path: Path) -> None:
    asked: list[tuple[float, int]] = []

    class Asked(FakeEngine):
        def minimize(self, tolerance: float, max_iterations: int, watch: Any = None) -> Any:
            asked.append((tolerance, max_iterations))
            return super().minimize(tolerance, max_iterations, watch)

    limits = {"run__minimize_tolerance": 7.0, "run__minimize_iterations": 9}
    config = make_config(inputs, tmp_path / "out", run__minimize=True, **limits)
    runner.start(config, engine=Asked)
    assert asked == [(7.0, 9)]


def test_velocities_are_drawn_at_the_start_temperature(inputs: Any, tmp_path: Path) -> None:
    """And not at that of the heat bath; with the seed of the run."""
    drawn: list[tuple[float, int]] = []

    class Drawn(FakeEngine):
        def draw_velocities(self, temperature: float, seed: int) -> None:
            drawn.append((temperature, seed))
            super().draw_velocities(temperature, seed)

    config = make_config(inputs, tmp_path / "out", run__start_temperature=150.0)
    assert config.integrator.temperature == 300
    runner.start(config, engine=Drawn)
    assert drawn == [(150.0, 3)]


# ---- folders of earlier versions


def test_a_run_that_began_with_a_gaussian_split_goes_on_with_it(
    inputs: Any, tmp_path: Path
) -> None:
    """Versions that knew no other split said nothing of it in their folders."""
    folders = [tmp_path / "whole", tmp_path / "out"]
    for folder, steps in zip(folders, (STEPS, STEPS // 2), strict=True):
        config = make_config(inputs, folder, nonbonded__pme_split="gaussian", run__steps=steps)
        runner.start(config)
    written = folders[1] / "config.toml"
    written.write_text(written.read_text().replace('pme_split = "gaussian"\n', ""))
    checkpoint = read_checkpoint(folders[1] / "checkpoint.qmd")
    physics = checkpoint.provenance["physics"]
    del physics["nonbonded.pme_bandwidth"], physics["nonbonded.pme_window"]
    assert as_begun(config, {**physics, "nonbonded.pme_order": 5}).nonbonded.pme_order == 5
    write_checkpoint(folders[1] / "checkpoint.qmd", checkpoint)
    runner.resume(folders[1], {("run", "steps"): STEPS})
    last = [read_checkpoint(folder / "checkpoint.qmd") for folder in folders]
    assert quiltmd.digest(last[0].state) == quiltmd.digest(last[1].state)
    # and a run of this version with the one that it began with
    with pytest.raises(QuiltError, match=r"changed nonbonded\.pme_alpha"):
        runner.resume(folders[0], {("nonbonded", "pme_split"): "prolate"})


def test_a_run_that_began_with_splines_goes_on_with_them(inputs: Any, tmp_path: Path) -> None:
    """Versions that knew no other windows said nothing of them; resumed twice."""
    folders = [tmp_path / "whole", tmp_path / "out"]
    for folder, steps in zip(folders, (STEPS, STEPS // 3), strict=True):
        config = make_config(inputs, folder, nonbonded__pme_window=0.0, run__steps=steps)
        runner.start(config)
    written = folders[1] / "config.toml"
    assert "pme_window" in written.read_text()
    written.write_text(re.sub(r"pme_window = .*\n", "", written.read_text()))
    checkpoint = read_checkpoint(folders[1] / "checkpoint.qmd")
    del checkpoint.provenance["physics"]["nonbonded.pme_window"]
    write_checkpoint(folders[1] / "checkpoint.qmd", checkpoint)
    for steps in (2 * STEPS // 3, STEPS):
        runner.resume(folders[1], {("run", "steps"): steps})
    last = [read_checkpoint(folder / "checkpoint.qmd") for folder in folders]
    assert quiltmd.digest(last[0].state) == quiltmd.digest(last[1].state)


def test_a_run_whose_settings_had_other_names_goes_on(inputs: Any, tmp_path: Path) -> None:
    """Its folder and its checkpoint have the older names, and no kind of integrator."""
    out = tmp_path / "out"
    config = make_config(inputs, out, run__steps=STEPS // 2)
    runner.start(config, engine=FakeEngine)
    older = {".".join(place): ".".join(name) for name, place in RENAMED.items()}
    assert older["run.patch_reach"] == "run.away"
    edit(out / "config.toml", "patch_reach =", "away =")
    edit(out / "config.toml", f'kind = "{config.integrator.kind}"\n', "")
    checkpoint = read_checkpoint(out / "checkpoint.qmd")
    physics = checkpoint.provenance["physics"]
    assert physics.pop("integrator.kind") == "langevin-middle"
    for key in older.keys() & physics.keys():
        physics[older[key]] = physics.pop(key)
    write_checkpoint(out / "checkpoint.qmd", checkpoint)
    runner.resume(out, {("run", "steps"): STEPS}, FakeEngine)
    assert read_checkpoint(out / "checkpoint.qmd").state.step == STEPS


# ---- failures on the way


@pytest.mark.parametrize("name", ["log.csv", "trajectory.dcd"])
@pytest.mark.parametrize("replaced", [False, True])
def test_an_output_that_vanishes_is_an_error(
    inputs: Any, tmp_path: Path, name: str, replaced: bool
) -> None:
    path = tmp_path / "out" / name

    class Removing(FakeEngine):
        def run(self, steps: int) -> None:
            super().run(steps)
            if self.calls == 3:
                path.unlink()
                if replaced:
                    path.write_text("mine")

    with pytest.raises(QuiltError, match=rf"{name} was removed or replaced"):
        runner.start(make_config(inputs, tmp_path / "out"), engine=Removing)
    if replaced:
        assert path.read_text() == "mine"


def test_errors_of_sync_name_the_file(inputs: Any, tmp_path: Path, monkeypatch: Any) -> None:
    log, fsync = tmp_path / "out" / "log.csv", os.fsync

    def failing(handle: int) -> None:
        if log.exists() and os.path.samestat(os.fstat(handle), log.stat()):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(QuiltError, match=r"cannot write .*log.csv: Input/output error"):
        runner.start(make_config(inputs, tmp_path / "out"), engine=FakeEngine)


def test_a_seed_is_drawn_and_recorded(
    inputs: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seeds = []
    for name in ("1", "2"):
        config = make_config(inputs, tmp_path / name)
        unseeded = config.integrator.model_copy(update={"seed": None})
        runner.start(config.model_copy(update={"integrator": unseeded}), engine=FakeEngine)
        seeds.append(read_config(tmp_path / name / "config.toml")["integrator"]["seed"])
        assert f"seed {seeds[-1]}" in capsys.readouterr().err
    assert seeds[0] != seeds[1]
    runner.start(make_config(inputs, tmp_path / "3", integrator__seed=seeds[0]), engine=FakeEngine)
    last = [read_checkpoint(tmp_path / name / "checkpoint.qmd").state for name in ("1", "2", "3")]
    assert quiltmd.digest(last[0]) == quiltmd.digest(last[2]) != quiltmd.digest(last[1])


def test_the_interval_of_a_barostat_is_recorded(inputs: Any, tmp_path: Path) -> None:
    """A fiftieth of 5 ps; a run keeps it when a later version chooses another."""
    out = tmp_path / "out"
    runner.start(make_config(inputs, out, integrator__ensemble="npt"), engine=FakeEngine)
    assert read_config(out / "config.toml")["barostat"]["every"] == 50


def test_a_broken_stderr_ends_no_run(inputs: Any, tmp_path: Path, monkeypatch: Any) -> None:
    class Broken:
        def write(self, text: str) -> int:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

        def flush(self) -> None:
            self.write("")

    monkeypatch.setattr("sys.stderr", Broken())
    config = make_config(inputs, tmp_path / "out", run__minimize=True)
    assert runner.start(config, engine=FakeEngine).step == STEPS
