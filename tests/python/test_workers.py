# SPDX-License-Identifier: Apache-2.0
"""Engines in processes of their own: the same bits, and errors where they end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boxes import water_box
from fake_engine import FakeEngine
from test_runner import make_config, same_results

import quiltmd
from quiltmd import (
    BoxError,
    LangevinMiddle,
    LostError,
    Nonbonded,
    QuiltError,
    Simulation,
    SimulationError,
    Workers,
)
from quiltmd.engine.places import parse_place
from quiltmd.running import runner
from quiltmd.running.config import Config
from quiltmd.workers import client, launch
from quiltmd.workers.channel import Channel
from quiltmd.workers.client import Connection, WorkerEngine, check_hello
from quiltmd.workers.launch import connect
from quiltmd.workers.session import Session

EXAMPLES = int(os.environ.get("QUILTMD_FUZZ", "100"))
INTEGRATOR = LangevinMiddle(seed=3)
FORCES = Nonbonded(cutoff=0.8)


def water(device: str, **more: Any) -> Simulation:
    system, state = water_box((6, 6, 6))
    return Simulation(system, state, FORCES, INTEGRATOR, device=device, threads=1, **more)


def short(files: tuple[Path, Path], out: Path, **changes: Any) -> Config:
    """A run without minimisation of 24 steps."""
    settings = {"threads": 1, "minimize": False, "steps": 24, **changes}
    return make_config(files, out, **settings)


def process_of(simulation: Simulation) -> int:
    """The process of a simulation's worker."""
    engine: Any = simulation._engine
    number: int = engine._connection.process
    return number


def is_alive(process: int) -> bool:
    """Whether there is such a process, not counting those that have ended."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def comes_true(condition: Callable[[], bool], seconds: float = 120.0) -> bool:
    """Whether it does, on however busy a machine."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def channel_of(sock: socket.socket, encryption: Any = None) -> Channel:
    number = sock.fileno()
    return Channel(number, number, partial(sock.shutdown, socket.SHUT_RDWR), None, encryption)


class Toy:
    """A toy engine behind the protocol of workers, in threads of this process."""

    def __init__(self) -> None:
        self.ours, self.theirs = socket.socketpair()
        self.engines: list[FakeEngine] = []
        session = Session(channel_of(self.theirs), self._make)
        self._thread = threading.Thread(target=session.serve)
        self._thread.start()
        self.connection = Connection(channel_of(self.ours), "worker:toy", lambda error: "")

    def _make(self, *settings: Any) -> FakeEngine:
        self.engines.append(FakeEngine(*settings))
        return self.engines[-1]

    def factory(self, *settings: Any) -> WorkerEngine:
        execution = {"device": "cpu", "ranks": 1, "threads": 1}
        return WorkerEngine(self.connection, *settings[:3], execution)

    def close(self) -> None:
        self.connection.close()
        self._thread.join(120)
        assert not self._thread.is_alive()


@pytest.fixture
def toy() -> Iterator[Toy]:
    made = Toy()
    yield made
    made.close()


def simulation_on(toy: Toy) -> Simulation:
    system, state = water_box((6, 6, 6))
    return Simulation(system, state, FORCES, INTEGRATOR, device="cpu", engine=toy.factory)


def test_a_worker_has_the_bits_of_an_engine_here() -> None:
    here, there = water("cpu"), water("worker:cpu")
    for simulation in (here, there):
        simulation.minimize(max_iterations=5)
        simulation.draw_velocities(300, seed=1)
        simulation.run(15)
        simulation.set_conditions(temperature=310.0, friction=2.0)
        simulation.run(15)
    assert quiltmd.digest(here.state()) == quiltmd.digest(there.state())
    assert np.array_equal(here.state().list_positions, there.state().list_positions)
    assert here.energies() == there.energies()
    assert np.array_equal(here.forces(), there.forces())
    assert np.array_equal(here.virial(), there.virial())
    assert there.device == "worker:cpu"
    assert there.describe()["devices"] == here.describe()["devices"]
    assert [row["name"] for row in there.profile()] == [row["name"] for row in here.profile()]
    there.start_profile()
    there.run(2)
    assert {"rank", "stream", "name", "begin", "end", "part", "steps"} == set(
        there.stop_profile()[0]
    )


def test_files_of_a_run_are_the_same(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    """Written here, written of a worker, and carried on here from the checkpoint of a worker."""
    for name, device in (("here", "cpu"), ("there", "worker:cpu")):
        runner.start(short(alanine, tmp_path / name, device=device))
    same_results(tmp_path / "there", tmp_path / "here")
    runner.start(short(alanine, tmp_path / "part", device="worker:cpu", steps=12))
    runner.resume(tmp_path / "part", {("run", "steps"): 24, ("run", "device"): "cpu"})
    same_results(tmp_path / "part", tmp_path / "here")


def test_a_box_that_runs_away_is_told_apart(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = simulation_on(toy)

    def run(steps: int) -> None:
        raise BoxError(3, "the barostat would change the box")

    monkeypatch.setattr(toy.engines[0], "run", run)
    with pytest.raises(BoxError, match=r"^step 3: the barostat would") as caught:
        simulation.run(20)
    assert caught.value.step == 3


def test_errors_are_those_of_the_engine(toy: Toy, capfd: pytest.CaptureFixture[str]) -> None:
    simulation = simulation_on(toy)
    toy.engines[0].explode_at = 7
    with pytest.raises(SimulationError, match=r"^step 7: .*moves at") as caught:
        simulation.run(20)
    assert caught.value.step == 7
    toy.engines[0].explode_at = None
    frame = toy.factory  # the connection still serves
    assert frame is not None
    captured: Any = simulation._engine.capture(positions=True)
    assert captured.positions().shape == (648, 3)
    with pytest.raises(QuiltError, match="captured without energies"):
        captured.energies()
    with pytest.raises(QuiltError, match="does not know the call 'eval'"):
        toy.connection.call("eval", "1")
    with pytest.raises(
        RuntimeError, match=r"defect .* in the worker on worker:toy \(TypeError\)"
    ) as defect:
        toy.connection.call("run", "many")
    assert ".py" not in str(defect.value)  # no paths of the worker's machine
    assert "session.py" in capfd.readouterr().err


def test_steps_run_while_frames_travel(toy: Toy) -> None:
    """A frame has the data of its step, whatever ran meanwhile."""
    simulation = simulation_on(toy)
    frames = []
    for _ in range(3):
        simulation.run(5)
        frames.append(simulation._engine.capture(state=True, energies=True))
    simulation.run(5)
    reference = Simulation(
        simulation.system, water_box((6, 6, 6))[1], FORCES, INTEGRATOR, device="cpu",
        engine=FakeEngine,
    )  # fmt: skip
    for frame in frames:
        reference.run(5)
        assert frame.step == reference.step
        assert np.array_equal(frame.state()["velocities"], reference.state().velocities)
        assert frame.energies()["potential"] == reference.energies()["potential"]


@pytest.mark.parametrize("error", ["no fields", {"kind": "simulation"}])
def test_a_reply_that_makes_no_sense_leaves_no_call_waiting(error: Any) -> None:
    ours, theirs = socket.socketpair()
    connection = Connection(channel_of(ours), "worker:toy", lambda error: "")
    call = connection.begin("describe")
    channel_of(theirs).send({"id": 0, "error": error})
    with pytest.raises(LostError, match="the worker on worker:toy is lost"):
        call.result(120)


def test_a_minimisation_is_watched(toy: Toy) -> None:
    simulation = simulation_on(toy)
    seen = []

    def stop_at_two(iteration: int, potential: float, force: float) -> bool:
        seen.append(iteration)
        return iteration == 2

    simulation.minimize(watch=stop_at_two)
    assert seen == [0, 1, 2]

    def fail(*now: Any) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulation.minimize(watch=fail)
    simulation.run(3)
    assert simulation.step == 3


def test_another_version_is_refused_by_name(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = {**client.about(), "version of quiltmd": "0.0.0", "byte order": "middle"}
    monkeypatch.setattr(client, "about", lambda: ours)
    with pytest.raises(QuiltError, match=r"another version of quiltmd \(.*\) than .* \(0.0.0\)"):
        check_hello(toy.connection, toy.connection.call("hello"))


def test_a_killed_worker_is_an_error_and_the_checkpoint_stays(
    alanine: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill(engine: WorkerEngine, steps: int) -> None:
        begun = engine._connection.begin("run", steps)
        if engine.capture().step >= 12:
            os.kill(engine._connection.process, signal.SIGKILL)
        begun.result()

    out = tmp_path / "out"
    config = short(alanine, out, device="worker:cpu")
    with monkeypatch.context() as patch:
        patch.setattr(WorkerEngine, "run", kill)
        with pytest.raises(
            QuiltError,
            match=r"worker on worker:cpu is lost: its process was killed by SIGKILL; the last good "
            r"checkpoint is .*checkpoint.qmd \(step \d+\)",
        ):
            runner.start(config)
    runner.resume(out)
    runner.start(short(alanine, tmp_path / "whole"))
    same_results(out, tmp_path / "whole")


def test_a_stopped_worker_is_found_out_and_ended() -> None:
    connection = connect(parse_place("worker:cpu"), Workers(silence=3.0))
    os.kill(connection.process, signal.SIGSTOP)
    with pytest.raises(LostError, match=r"worker on worker:cpu is lost: nothing was heard of it"):
        connection.call("hello")
    assert not is_alive(connection.process)
    with pytest.raises(LostError, match="worker:cpu"):
        connection.call("hello")


def test_a_signal_without_a_name_ends_a_worker_like_any_other() -> None:
    connection = connect(parse_place("worker:cpu"), Workers())
    os.kill(connection.process, signal.SIGRTMIN + 6)
    with pytest.raises(LostError, match=f"was killed by signal {signal.SIGRTMIN + 6}"):
        connection.begin("hello").result(120)


def test_a_process_that_takes_long_to_end_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its connection ends well before it, as with a GPU on a busy machine."""
    dies = "os.close(int(sys.argv[1])); time.sleep(1.5); os.kill(os.getpid(), signal.SIGKILL)"
    command = [sys.executable, "-c", f"import os, signal, sys, time; {dies}"]

    def begin(theirs: socket.socket, *arguments: str) -> subprocess.Popen[bytes]:
        number = theirs.fileno()
        return subprocess.Popen([*command, str(number)], pass_fds=(number,))

    monkeypatch.setattr(launch, "_here", begin)
    with pytest.raises(LostError, match="its process was killed by SIGKILL"):
        connect(parse_place("worker:cpu"), Workers())


def python(script: str) -> subprocess.Popen[str]:
    """A client of its own: runs a script that can import this module."""
    path = "import sys; sys.path.insert(0, 'tests/python')\n"
    root = Path(__file__).resolve().parents[2]
    return subprocess.Popen(
        [sys.executable, "-c", path + script], stdout=subprocess.PIPE, text=True, cwd=root
    )


def test_a_suspended_job_goes_on() -> None:
    """The time in which both ends were stopped is not silence of the other."""
    script = (
        "from test_workers import Workers, water, process_of\n"
        "s = water('worker:cpu', workers=Workers(silence=5.0))\n"
        "print(process_of(s), flush=True)\n"
        "while True: s.run(10); print(s.step, flush=True)\n"
    )
    with python(script) as process:
        assert process.stdout is not None
        both = int(process.stdout.readline()), process.pid
        try:
            process.stdout.readline()
            for number, seconds in (signal.SIGSTOP, 7.0), (signal.SIGCONT, 0.0):
                for one in both:
                    os.kill(one, number)
                time.sleep(seconds)
            end = time.monotonic() + 3
            while time.monotonic() < end:
                assert process.stdout.readline()
        finally:
            process.kill()


def test_a_worker_ends_with_its_client() -> None:
    """However the client ends, and even in the middle of steps."""
    script = (
        "from test_workers import water, process_of\n"
        "s = water('worker:cpu'); print(process_of(s), flush=True); s.run(10**9)\n"
    )
    with python(script) as process:
        assert process.stdout is not None
        worker = int(process.stdout.readline())
        assert is_alive(worker)
        time.sleep(0.5)
        process.kill()
    assert comes_true(lambda: not is_alive(worker))


def test_a_simulation_that_is_dropped_ends_its_worker() -> None:
    simulation = water("worker:cpu")
    worker = process_of(simulation)
    assert is_alive(worker)
    del simulation
    assert comes_true(lambda: not is_alive(worker))


def test_a_device_that_the_worker_lacks_is_refused() -> None:
    with pytest.raises(QuiltError, match=r"device 'cuda:77' was asked for"):
        water("worker:cuda:77")
