# SPDX-License-Identifier: Apache-2.0
"""Output written while the simulation goes on: as without the thread, bounded, nothing lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_engine import FakeEngine, FakeFrame
from output_files import contents

import quiltmd
from quiltmd import (
    CheckpointReporter,
    LangevinMiddle,
    LogReporter,
    QuiltError,
    Readout,
    Simulation,
)
from quiltmd.engine.core import make_engine

Loaded = tuple[quiltmd.System, quiltmd.State]


class Recorder:
    """Calls `look` with each frame; remembers their steps."""

    def __init__(self, every: int, look: Callable[[Readout], object] = lambda frame: None) -> None:
        self.every = every
        self.steps: list[int] = []
        self._look = look

    def report(self, frame: Readout, /) -> None:
        self._look(frame)
        self.steps.append(frame.step)


class Watched(FakeEngine):
    """Remembers what was asked of it."""

    def __init__(self, *settings: Any) -> None:
        super().__init__(*settings)
        self.captures: list[set[str]] = []
        self.most_alive = 0
        Watched.last = self

    def capture(self, **contents: bool) -> FakeFrame:
        self.captures.append({name for name, wanted in contents.items() if wanted})
        frame = super().capture(**contents)
        self.most_alive = max(self.most_alive, len(FakeFrame.alive))
        return frame


@pytest.fixture
def loaded(alanine: tuple[Path, Path]) -> Loaded:
    return quiltmd.load(*alanine, constraints="h-bonds")


def simulate(loaded: Loaded, engine: Any = Watched) -> Simulation:
    bath = LangevinMiddle(seed=0)
    simulation = Simulation(*loaded, integrator=bath, device="cpu", engine=engine)
    simulation.draw_velocities(300.0, seed=1)
    FakeFrame.alive.clear()
    return simulation


def reporters(simulation: Simulation, out: Path) -> list[Any]:
    out.mkdir()
    log = LogReporter(out / "log.csv", 4)
    frames = quiltmd.TrajectoryReporter(out / "trajectory.dcd", 6, simulation)
    return [log, frames, CheckpointReporter(out / "checkpoint.qmd", 10, [log, frames])]


@pytest.mark.parametrize("engine", [FakeEngine, make_engine])
def test_files_are_those_of_a_run_that_waits(loaded: Loaded, tmp_path: Path, engine: Any) -> None:
    waiting = simulate(loaded, engine)
    its_reporters = reporters(waiting, tmp_path / "waiting")
    for _ in range(24):
        waiting.run(1)
        for reporter in its_reporters:
            if waiting.step % reporter.every == 0:
                reporter.report(waiting)
    going_on = simulate(loaded, engine)
    going_on.run(24, reporters(going_on, tmp_path / "going_on"))
    assert contents(tmp_path / "going_on") == contents(tmp_path / "waiting")
    silent = simulate(loaded, engine)
    silent.run(24)
    assert quiltmd.digest(silent.state()) == quiltmd.digest(going_on.state())


def test_the_core_gives_frames_as_they_were(loaded: Loaded) -> None:
    simulation = simulate(loaded, make_engine)
    simulation.run(5)
    engine = simulation._engine
    frame = engine.capture(energies=True, state=True)
    places = engine.capture(positions=True)
    state, energies, virial = simulation.state(), simulation.energies(), simulation.virial()
    simulation.run(15)
    assert (frame.step, places.step) == (5, 5)
    assert quiltmd.digest(quiltmd.State(**frame.state())) == quiltmd.digest(state)
    assert frame.state()["list_positions"].tobytes() == state.list_positions.tobytes()
    assert places.positions().tobytes() == state.positions.tobytes()
    assert frame.positions().tobytes() == state.positions.tobytes()
    assert frame.energies()["potential"] == energies["potential"]
    assert (frame.tensors()["virial"] == virial).all()
    assert frame.heat() == places.heat() == frame.energies()["heat"]
    for read in (places.state, places.energies, places.tensors):
        with pytest.raises(QuiltError, match="the frame of step 5 was captured without"):
            read()


def test_a_state_is_evaluated_once_if_at_all(loaded: Loaded) -> None:
    def evaluations() -> int:
        return sum(task["calls"] for task in simulation.profile() if task["name"] == "energies")

    simulation = simulate(loaded, make_engine)
    simulation.run(3, [Recorder(1, Readout.pressure)])
    assert evaluations() == 3
    simulation.run(2)
    assert simulation.state().step == simulation.checkpoint().state.step == 5
    assert evaluations() == 3
    for look in (Simulation.energies, Simulation.virial, Simulation.pressure, Simulation.forces):
        look(simulation)
        assert evaluations() == 4


def test_the_simulation_goes_on_meanwhile(loaded: Loaded) -> None:
    simulation = simulate(loaded)
    further = threading.Event()
    seen: list[bool] = []
    recorder = Recorder(10, lambda frame: seen.append(further.wait(120)))
    simulation.run(20, [recorder], lambda step: further.set() if step > 10 else None)
    assert recorder.steps == [10, 20]
    assert seen == [True, True]


def test_two_frames_are_under_way_at_most(loaded: Loaded) -> None:
    simulation = simulate(loaded)
    slow = Recorder(1, lambda frame: time.sleep(0.01))
    simulation.run(30, [slow])
    assert slow.steps == list(range(1, 31))
    assert Watched.last.most_alive == 2
    assert not FakeFrame.alive


def test_only_what_is_needed_is_taken(loaded: Loaded, tmp_path: Path) -> None:
    simulation = simulate(loaded)
    Watched.last.captures.clear()
    simulation.run(12, reporters(simulation, tmp_path / "out"))
    energies, positions, state = {"energies"}, {"positions"}, {"state"}
    assert Watched.last.captures == [energies, positions, energies, state, energies | positions]
    Watched.last.captures.clear()
    simulation.run(1, [Recorder(1)])
    assert Watched.last.captures == [{"energies", "state"}]


def test_a_frame_says_what_it_lacks(loaded: Loaded) -> None:
    recorder = Recorder(5, Readout.energies)
    recorder.needs = ("positions",)  # type: ignore[attr-defined]
    with pytest.raises(QuiltError, match="the frame of step 5 was captured without energies"):
        simulate(loaded).run(10, [recorder])


def test_an_error_stops_the_run_and_later_reports(loaded: Loaded) -> None:
    def full(frame: Readout) -> None:
        if frame.step == 30:
            raise QuiltError("cannot write x: No space left on device")

    threads = set(threading.enumerate())
    simulation = simulate(loaded)
    before, failing, after = Recorder(10), Recorder(10, full), Recorder(10)
    with pytest.raises(QuiltError, match=r"cannot write x: No space left on device$"):
        simulation.run(10**9, [before, failing, after])
    assert before.steps == [10, 20, 30]
    assert failing.steps == after.steps == [10, 20]
    simulation.run(10, [before])  # and the simulation is as good as before
    assert set(threading.enumerate()) <= threads


def test_an_error_is_noticed_between_reports(loaded: Loaded) -> None:
    def fail(frame: Readout) -> None:
        raise KeyError("mine")

    class Patient(FakeEngine):
        def run(self, steps: int) -> None:
            super().run(min(steps, 10))
            time.sleep(0.05)

    failing = Recorder(10, fail)
    failing.every = 10**8
    simulation = simulate(loaded, Patient)
    simulation.set_state(replace(simulation.state(), step=10**8 - 10))
    with pytest.raises(KeyError, match="mine"):
        simulation.run(10**9, [failing])
    assert simulation.step < 2 * 10**8


def test_a_blow_up_loses_no_frame_before_it(loaded: Loaded, monkeypatch: Any) -> None:
    monkeypatch.setattr(FakeEngine, "explode_at", 23)
    slow = Recorder(5, lambda frame: time.sleep(0.05))
    with pytest.raises(quiltmd.SimulationError, match="step 23"):
        simulate(loaded).run(100, [slow])
    assert slow.steps == [5, 10, 15, 20]


def test_the_first_error_is_the_one_raised(loaded: Loaded, monkeypatch: Any) -> None:
    def fail(frame: Readout) -> None:
        time.sleep(0.2)
        raise QuiltError("cannot write x")

    monkeypatch.setattr(FakeEngine, "explode_at", 12)
    with pytest.raises(QuiltError, match="cannot write x"):
        simulate(loaded).run(100, [Recorder(10, fail)])


def test_a_reporter_cannot_reach_the_running_engine(loaded: Loaded) -> None:
    simulation = simulate(loaded)
    with pytest.raises(QuiltError, match="a reporter may read its frame only"):
        simulation.run(10, [Recorder(5, lambda frame: simulation.forces())])
    assert simulation.forces().shape == (simulation.system.atoms, 3)
