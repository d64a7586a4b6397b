# SPDX-License-Identifier: Apache-2.0
"""Every file operation of a run and of a resume fails in turn; power cuts after each of them.

On a toy engine and a few waters.  Whatever happens, the run can be carried on to the same results
as without it, or is refused in words where not even its first checkpoint was on the disk.  By
default a part of the cases is run, with `-m slow` all.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from boxes import water_box
from disk import Faults, Killed, Recorder, images
from fake_engine import FakeEngine

import quiltmd
from quiltmd import QuiltError
from quiltmd.outputs.checkpoint import read_latest
from quiltmd.outputs.formats import SUFFIXES
from quiltmd.running import run_inputs, runner
from quiltmd.running.config import Config, build_config

pytestmark = pytest.mark.filterwarnings("ignore:a cutoff of:quiltmd.QuiltWarning")

STEPS, MIDDLE = 20, 13
TRAJECTORIES = [f"frames{suffix}" for suffix in SUFFIXES]
MODULES = ("quiltmd.outputs.files.os", "quiltmd.running.folder.os")
KINDS = ("kill", "short", "ENOSPC", "EIO")
EVERY = 7  # of so many cases one is run by default


@pytest.fixture(autouse=True)
def _waters(monkeypatch: pytest.MonkeyPatch) -> None:
    """The inputs' contents do not matter here; loading them would take most of the time."""
    loaded = water_box((3, 3, 3))
    monkeypatch.setattr(run_inputs, "load", lambda *files, **options: loaded)
    monkeypatch.setattr(runner, "check_overlaps", lambda *loaded: None)


@pytest.fixture
def inputs(tmp_path: Path) -> tuple[Path, Path]:
    folder = tmp_path / "inputs"
    folder.mkdir()
    for name in ("a.prmtop", "a.inpcrd"):
        (folder / name).write_text(name)
    return folder / "a.prmtop", folder / "a.inpcrd"


def make_config(inputs: tuple[Path, Path], out: Path, steps: int = STEPS) -> Config:
    """With a trajectory of every format."""
    return build_config(
        {
            "system": {"topology": inputs[0], "coordinates": inputs[1]},
            "nonbonded": {"cutoff": 0.4},
            "integrator": {"seed": 3},
            "run": {"steps": steps, "device": "cpu", "minimize": True},
            "output": {"dir": out, "log_every": 4, "checkpoint_every": 10},
            "trajectory": [{"file": name, "every": 6} for name in TRAJECTORIES],
        }
    )


def results(out: Path) -> Any:
    """All that two runs of the same kind have in common."""
    log = [line.rsplit(",", 1)[0] for line in (out / "log.csv").read_text().splitlines()]
    state = quiltmd.read_checkpoint(out / "checkpoint.qmd").state
    names = (*TRAJECTORIES, "final.cif", "final.pdb", "final.ncrst")
    return log, quiltmd.digest(state), [(out / name).read_bytes() for name in names]


@pytest.fixture
def whole(inputs: tuple[Path, Path], tmp_path: Path) -> Any:
    runner.start(make_config(inputs, tmp_path / "whole"), engine=FakeEngine)
    return results(tmp_path / "whole")


def failing(monkeypatch: pytest.MonkeyPatch, faults: Any, act: Callable[[], Any]) -> Any:
    """What ended the act, None if nothing did."""
    with monkeypatch.context() as patch:
        for module in MODULES:
            patch.setattr(module, faults)
        try:
            act()
        except (QuiltError, Killed) as error:
            return error
    return None


def carry_on(config: Config) -> None:
    """What a person does next: resumes; begins again only where told to."""
    out = config.output.dir
    try:
        runner.resume(out, {("run", "steps"): config.run.steps}, FakeEngine)
    except QuiltError as error:
        refusal = str(error)
        assert not (out / "checkpoint.qmd").exists(), refusal
        assert "holds no run" in refusal or "start it again" in refusal
        runner.start(config, overwrite=True, engine=FakeEngine)


ALL = [pytest.param(EVERY, id="part"), pytest.param(1, id="all", marks=pytest.mark.slow)]


@pytest.mark.parametrize("every", ALL)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("resumed", [False, True], ids=["start", "resume"])
def test_any_operation_may_fail(
    inputs: Any, whole: Any, tmp_path: Path, monkeypatch: Any, resumed: bool, kind: str, every: int
) -> None:
    template = tmp_path / "template"
    if resumed:
        runner.start(make_config(inputs, template, MIDDLE), engine=FakeEngine)
        leave_what_a_kill_leaves(template)
    out = tmp_path / "out"
    config = make_config(inputs, out)
    at = 1 + (KINDS.index(kind) if every > 1 else 0)
    while True:
        shutil.rmtree(out, ignore_errors=True)
        faults = Faults(at, kind)
        if resumed:
            shutil.copytree(template, out)
            act = lambda: runner.resume(out, {("run", "steps"): STEPS}, FakeEngine)  # noqa: E731
        else:
            act = lambda: runner.start(config, engine=FakeEngine)  # noqa: E731
        error = failing(monkeypatch, faults, act)
        if faults.count < at:
            break
        if kind == "short":
            assert error is None
        elif isinstance(error, QuiltError):
            assert str(tmp_path) in str(error)
        if error is not None:
            carry_on(config)
        assert results(out) == whole, (at, error)
        assert not list(out.glob(".*.tmp")), (at, error)
        at += every
    assert at > 40  # else the operations are not those of this module any more


def leave_what_a_kill_leaves(out: Path) -> None:
    """Rows and frames after the last checkpoint, the last of each cut short."""
    for name in ("log.csv", *TRAJECTORIES):
        data = (out / name).read_bytes()
        (out / name).write_bytes(data + data[-150:-20])


@pytest.mark.parametrize("every", ALL)
@pytest.mark.parametrize("resumed", [False, True], ids=["start", "resume"])
def test_power_cuts(
    inputs: Any, whole: Any, tmp_path: Path, monkeypatch: Any, resumed: bool, every: int
) -> None:
    root = tmp_path / "disk"
    root.mkdir()
    out = root / "out"
    if resumed:
        runner.start(make_config(inputs, out, MIDDLE), engine=FakeEngine)
        leave_what_a_kill_leaves(out)
    recorder = Recorder(root)
    config = make_config(inputs, out)
    written = WrittenFiles(root)
    if resumed:
        act = lambda: runner.resume(out, {("run", "steps"): STEPS}, FakeEngine)  # noqa: E731
    else:
        act = lambda: runner.start(config, engine=FakeEngine)  # noqa: E731
    with written.watched():
        assert failing(monkeypatch, recorder, act) is None
    assert written.files == recorder.opened  # no file is written past the recorder
    assert results(out) == whole
    promised = promises(recorder, out)
    seen: set[str] = set()
    for number, image in images(recorder):
        key = hashlib.sha256(repr(sorted(image.items())).encode()).hexdigest()
        if key in seen or (every > 1 and int(key, 16) % 3):
            continue
        seen.add(key)
        put(image, root, tmp_path / "image")
        there = tmp_path / "image" / "out"
        steps = [step for when, step in promised if when <= number]
        if steps:
            assert read_latest(there / "checkpoint.qmd")[0].state.step >= steps[-1], number
            runner.resume(there, {("run", "steps"): STEPS}, FakeEngine)
        else:
            carry_on(make_config(inputs, there))
        assert results(there) == whole, number
    assert len(seen) > 5


def promises(recorder: Recorder, out: Path) -> list[tuple[int, int]]:
    """From which operation on a checkpoint must be there, and its step."""
    target, found, steps = str(out / "checkpoint.qmd"), [], iter((0, 0, 10, 20))
    if recorder.begin > 10:
        found, steps = [(0, MIDDLE)], iter((20,))
    pending = None
    for number, event in enumerate(recorder.events[recorder.begin :], recorder.begin + 1):
        if event[0] == "rename" and event[2] == target:
            pending = next(steps)
        elif event == ("syncdir", str(out)) and pending is not None:
            found.append((number, pending))
            pending = None
    assert next(steps, None) is None
    return found


def put(image: dict[str, bytes | None], root: Path, target: Path) -> None:
    """Makes the files of an image."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for path in sorted(image):
        place, content = target / Path(path).relative_to(root), image[path]
        if content is None:
            place.mkdir(exist_ok=True)
        elif place.parent.is_dir():
            place.write_bytes(content)


class WrittenFiles:
    """All files below a folder that this process opens for writing, by Python's own audit."""

    _active: ClassVar[list[WrittenFiles]] = []
    _hooked = False

    def __init__(self, root: Path) -> None:
        self.files: set[str] = set()
        self._root = str(root)

    def watched(self) -> Any:
        from contextlib import contextmanager

        if not WrittenFiles._hooked:
            sys.addaudithook(WrittenFiles._hook)
            WrittenFiles._hooked = True

        @contextmanager
        def watching() -> Iterator[None]:
            WrittenFiles._active.append(self)
            try:
                yield
            finally:
                WrittenFiles._active.remove(self)

        return watching()

    @staticmethod
    def _hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and WrittenFiles._active:
            path, _, flags = arguments
            for watch in WrittenFiles._active:
                writes = isinstance(flags, int) and flags & 3
                if writes and not isinstance(path, int) and str(path).startswith(watch._root):
                    watch.files.add(str(path))
