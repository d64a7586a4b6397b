# SPDX-License-Identifier: Apache-2.0
"""Runs that outlive their devices, and devices that are found to be wrong."""

from __future__ import annotations

import socket
import threading
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boxes import water_box
from fake_engine import FakeEngine, FakeFrame
from test_runner import same_results
from test_workers import FORCES, INTEGRATOR, channel_of, comes_true, short

import quiltmd
from quiltmd import LostError, QuiltError, QuiltWarning, Simulation, Workers
from quiltmd.commands.report import make_report
from quiltmd.engine.injection import parse_injection
from quiltmd.engine.places import Place, parse_device, parse_place
from quiltmd.outputs.reporters import LogReporter, TrajectoryReporter
from quiltmd.running import runner
from quiltmd.running.folder import Folder
from quiltmd.running.records import read_sessions
from quiltmd.workers import supervisor as module
from quiltmd.workers.client import Connection, WorkerEngine
from quiltmd.workers.diagnosis import Diagnosis, diagnose
from quiltmd.workers.digest import digest
from quiltmd.workers.pool import PHASES
from quiltmd.workers.session import Session
from quiltmd.workers.supervisor import Supervisor

SYSTEM, STATE = water_box((6, 6, 6))
A, B, C = (Place("worker", "cpu"), Place("ssh", "cpu", "b"), Place("ssh", "cpu", "c"))
pytestmark = pytest.mark.filterwarnings("ignore::quiltmd.QuiltWarning")


class FakeWorkers:
    """Toy engines behind the protocol of workers, in threads of this process."""

    def __init__(self, spares: list[Place], places: list[Place], **settings: Any) -> None:
        self.places, self.spares, self.settings = places, spares, Workers(**settings)
        self.started: list[str] = []
        self.faults: dict[str, Callable[[], list[str]]] = {}  # of a place, at each start
        self.engine: type[FakeEngine] = FakeEngine

    def factory(self, *settings: Any) -> Supervisor:
        def start(place: Place) -> WorkerEngine:
            self.started.append(str(place))
            ours, theirs = socket.socketpair()
            session = Session(channel_of(theirs), self.engine)
            # It may hang, as it is asked to.
            threading.Thread(target=session.serve, daemon=True).start()
            connection = Connection(channel_of(ours), str(place), lambda error: "")
            execution = {"device": "cpu", "threads": 1}
            engine = WorkerEngine(connection, *settings[:3], execution, self.settings.patience)
            if str(place) in self.faults:
                engine.inject(self.faults[str(place)]())
            return engine

        self.supervisor = Supervisor(self.places, self.spares, start, self.settings)
        return self.supervisor

    def simulation(self) -> Simulation:
        return Simulation(SYSTEM, STATE, FORCES, INTEGRATOR, device="cpu", engine=self.factory)

    def told(self) -> list[str]:
        return [event.text for event in self.supervisor.events]


def plain() -> Simulation:
    return Simulation(SYSTEM, STATE, FORCES, INTEGRATOR, device="cpu", engine=FakeEngine)


def written(simulation: Simulation, folder: Path, stretches: list[int]) -> list[bytes]:
    """The files of a run in some stretches, without the speed."""
    folder.mkdir()
    log = LogReporter(folder / "log.csv", 3)
    frames = TrajectoryReporter(folder / "t.dcd", 4, simulation)
    for steps in stretches:
        simulation.run(steps, [log, frames])
    log.close()
    frames.close()
    rows = [line.rpartition(b",")[0] for line in (folder / "log.csv").read_bytes().split(b"\n")]
    return [b"\n".join(rows), (folder / "t.dcd").read_bytes()]


@pytest.fixture
def saves_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SAVE_EVERY", 0.0)
    monkeypatch.setattr(module, "_SAVE_SHARE", 0)


def test_a_lost_worker_leaves_no_trace_in_files(tmp_path: Path) -> None:
    workers = FakeWorkers([B], [A], inject_fault=("drop@17",))
    simulation = workers.simulation()
    for one in (simulation, reference := plain()):
        one.minimize(max_iterations=3)
        one.draw_velocities(300, 1)
        one.set_conditions(temperature=310.0)
    assert written(simulation, tmp_path / "a", [10, 30]) == written(
        reference, tmp_path / "b", [10, 30]
    )
    assert quiltmd.digest(simulation.state()) == quiltmd.digest(reference.state())
    assert workers.started == [str(A), str(B)]
    assert [text.split("; ")[1] for text in workers.told()] == [f"continuing on {B} from step 0"]


@pytest.mark.parametrize("faults", [15, pytest.param(200, marks=pytest.mark.slow)])
def test_many_faults_in_a_row(faults: int, tmp_path: Path, saves_often: None) -> None:
    """Wherever connections are cut, nothing is lost and nothing is there twice."""
    rng = np.random.default_rng(faults)
    workers = FakeWorkers([B, C], [A])

    def next_fault() -> list[str]:
        now = 0 if len(workers.started) == 1 else workers.supervisor._pool.step
        return [f"drop@{now + int(rng.integers(1, 25))}"]

    workers.faults = {str(place): next_fault for place in (A, B, C)}
    stretches = [25] * faults
    assert written(workers.simulation(), tmp_path / "a", stretches) == written(
        plain(), tmp_path / "b", stretches
    )
    events = workers.supervisor.events
    assert len(events) >= faults
    assert all(tuple(event.phases) == PHASES for event in events)
    after = [event.seconds - sum(list(event.phases.values())[1:]) for event in events]
    assert min(after) > -1e-6  # what follows the loss is a part of the time until the run goes on
    print(f"{len(events)} faults; median and longest ms of")
    for phase in PHASES:
        taken = [1e3 * event.phases[phase] for event in events]
        print(f"  {phase}: {np.median(taken):.2f}, {max(taken):.2f}")


@pytest.mark.parametrize("faults", [6, pytest.param(100, marks=pytest.mark.slow)])
def test_compared_devices_that_are_lost_and_wrong(
    faults: int, tmp_path: Path, saves_often: None
) -> None:
    """Connections cut, bits flipped, devices that hang, at random, of two that are compared."""
    rng = np.random.default_rng(faults)
    workers = FakeWorkers([C], [A, B], patience=1.5)

    def next_fault() -> list[str]:
        now = 0 if len(workers.started) < 3 else workers.supervisor._pool.step
        kind = ("drop", "flip", "drop", "hang")[int(rng.integers(0, 4))]
        bit = f":velocities:{64 * int(rng.integers(0, 1900)) + 40}" if kind == "flip" else ""
        return [f"{kind}@{now + int(rng.integers(5, 40))}:0{bit}"]

    workers.faults = {str(place): next_fault for place in (A, B, C)}
    stretches = [25] * faults
    reference = written(plain(), tmp_path / "b", stretches)
    assert written(workers.simulation(), tmp_path / "a", stretches) == reference
    assert len(workers.told()) >= faults


def test_frames_under_way_are_captured_again(saves_often: None) -> None:
    """Their reader waits while others take over, whoever notices first."""
    workers = FakeWorkers([A, A], [A])
    simulation = workers.simulation()
    reference = plain()
    for _ in range(3):
        simulation.run(5)
        reference.run(5)
        frame = simulation._engine.capture(state=True, energies=True)
        workers.supervisor._pool.workers[0].engine.close()  # perhaps before the frame has arrived
        read: list[Any] = []
        reader = threading.Thread(
            target=lambda into, of: into.append(of.state()), args=(read, frame)
        )
        reader.start()
        reader.join(120)
        assert np.array_equal(read[0]["velocities"], reference.state().velocities)
        assert frame.energies()["potential"] == reference.energies()["potential"]
    simulation.run(3)
    reference.run(3)
    assert quiltmd.digest(simulation.state()) == quiltmd.digest(reference.state())


def test_a_device_that_hangs_is_given_up() -> None:
    workers = FakeWorkers([B], [A], inject_fault=("hang@30",), patience=2.0)
    simulation = workers.simulation()
    simulation.run(20)
    simulation.run(20)
    assert [f"the device of {A} hangs" in text for text in workers.told()] == [True]
    assert simulation.step == 40


@pytest.mark.parametrize("wanted", ["energies", "state"])  # state: for a digest
def test_a_hang_between_runs_is_noticed(wanted: str) -> None:
    hangs = [True]

    class Hanging(FakeEngine):
        def capture(self, **contents: bool) -> FakeFrame:
            if self._step > 0 and contents.get(wanted) and hangs and hangs.pop():
                threading.Event().wait()
            return super().capture(**contents)

    workers = FakeWorkers([C], [A, B], patience=2.0)
    workers.engine = Hanging
    simulation, reference = workers.simulation(), plain()
    for one in (simulation, reference):
        one.run(10)
    assert simulation.energies() == reference.energies()
    assert ["hangs; continuing on" in text for text in workers.told()] == [True]


def test_a_device_that_fails_for_all_of_its_process_is_replaced() -> None:
    fails = [True]

    class Poisoned(FakeEngine):
        def run(self, steps: int) -> None:
            if self._step + steps > 15 and fails and fails.pop():
                raise LostError("an illegal memory access was encountered")
            super().run(steps)

    workers = FakeWorkers([B], [A])
    workers.engine = Poisoned
    simulation, reference = workers.simulation(), plain()
    for one in (simulation, reference):
        one.run(10)
        one.run(10)
    assert quiltmd.digest(simulation.state()) == quiltmd.digest(reference.state())
    assert workers.told() == [
        f"the device of {A} is lost: an illegal memory access was encountered; "
        f"continuing on {B} from step 0"
    ]


def test_a_cpu_has_no_context_to_be_lost() -> None:
    with pytest.raises(QuiltError, match="'sticky' is one of GPUs"):
        FakeWorkers([B], [A], inject_fault=("sticky@5",)).simulation()


def test_a_worker_that_is_lost_at_its_start_is_replaced() -> None:
    def lost() -> list[str]:
        raise LostError("the worker is lost")

    workers = FakeWorkers([B], [A])
    workers.faults = {str(A): lost}
    with pytest.warns(QuiltWarning, match="^the worker is lost"):  # at no step yet
        simulation = workers.simulation()
    simulation.run(10)
    assert workers.told() == [f"the worker is lost; starting on {B}"]
    workers.spares = []
    with pytest.raises(LostError, match="the worker is lost"):
        workers.simulation()


def test_a_spare_that_was_refused_is_tried_again() -> None:
    refusals = [QuiltError("it cannot be reached")]

    def refused_once() -> list[str]:
        if refusals:
            raise refusals.pop()
        return []

    workers = FakeWorkers([B, C], [A], inject_fault=("drop@5",))
    workers.faults = {str(B): refused_once, str(C): lambda: ["drop@15"]}
    simulation = workers.simulation()
    for _ in range(4):
        simulation.run(5)
    assert workers.started == [str(A), str(B), str(C), str(A)]
    simulation._engine._pool.workers[0].engine.close()
    simulation.run(5)
    assert workers.started[-1] == str(B)


def test_a_step_that_no_device_survives_ends_the_run() -> None:
    workers = FakeWorkers([B], [A], inject_fault=())
    workers.faults = {str(place): lambda: ["drop@12"] for place in (A, B)}
    simulation = workers.simulation()
    simulation.run(10)
    with pytest.raises(LostError, match=r"after 5 faults the run makes no progress"):
        simulation.run(10)
    assert workers.started == [str(A), str(B)] * 2 + [str(A)]


def test_a_blow_up_is_the_simulations_own() -> None:
    workers = FakeWorkers([B], [A, B])
    workers.engine = type("Exploding", (FakeEngine,), {"explode_at": 7})
    simulation = workers.simulation()
    with pytest.raises(quiltmd.SimulationError, match=r"^step 7: "):
        simulation.run(20)
    assert not workers.told()


def test_a_spare_of_another_architecture_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = FakeWorkers([B], [A], inject_fault=("drop@5",))
    simulation = workers.simulation()
    monkeypatch.setattr("quiltmd.workers.session.architecture_of", lambda device: "cpu two")
    with pytest.raises(LostError, match="connection has ended"):
        simulation.run(10)
    assert any("another architecture (cpu two)" in text for text in workers.told())


# ---- devices that are wrong


@pytest.mark.parametrize("buffer", ["positions", "velocities", "list_positions"])
def test_a_flip_is_found_and_mended(buffer: str, tmp_path: Path) -> None:
    """In each array, of either device, and at any bit that leaves the number finite."""
    rng = np.random.default_rng(5)
    reference = written(plain(), tmp_path / "reference", [12, 12])
    for device in (0, 1):
        bit = 64 * int(rng.integers(0, 3 * SYSTEM.atoms)) + int(rng.integers(0, 52))
        workers = FakeWorkers([], [A, B], inject_fault=(f"flip@8:{device}:{buffer}:{bit}",))
        out = tmp_path / f"{device}"
        assert written(workers.simulation(), out, [12, 12]) == reference
        culprit = (A, B)[device]
        assert workers.told() == [
            f"a transient error of {culprit}; all agree when the steps are repeated"
        ]


class Refusing(FakeEngine):
    """As the core does, it takes no positions that are far out."""

    def set_state(self, *values: Any, **named: Any) -> None:
        positions = named.get("positions", values[2] if len(values) > 2 else None)
        if np.abs(positions).max() > 1e6:
            raise QuiltError("the position of an atom is out of range")
        super().set_state(*values, **named)


def test_a_flip_that_one_device_refuses_is_mended() -> None:
    """An exponent: that device has an error of its own, not the simulation."""
    workers = FakeWorkers([], [A, B], inject_fault=("flip@8:1:positions:62",))
    workers.engine = Refusing
    simulation, reference = workers.simulation(), plain()
    for one in (simulation, reference):
        one.run(12)
    assert quiltmd.digest(simulation.state()) == quiltmd.digest(reference.state())
    assert ["transient error" in text for text in workers.told()] == [True]


def test_without_comparison_a_flip_is_not_found(tmp_path: Path) -> None:
    """What the test above finds is there."""
    workers = FakeWorkers([B], [A], inject_fault=("flip@13:0:velocities:51",))
    reference = written(plain(), tmp_path / "reference", [12, 12])
    assert written(workers.simulation(), tmp_path / "out", [12, 12]) != reference


def test_a_third_device_decides_between_two_that_repeat_themselves() -> None:
    workers = FakeWorkers([C], [A, B], inject_fault=("always-flip@3:1:positions:9",))
    simulation, reference = workers.simulation(), plain()
    for one in (simulation, reference):
        one.run(10)
    assert quiltmd.digest(simulation.state()) == quiltmd.digest(reference.state())
    assert workers.told() == [
        f"{B} is outvoted",
        f"{B} is not used any more; continuing on {A}, {C} alone",
    ]
    assert [worker.place for worker in workers.supervisor._pool.workers] == [A, C]


@pytest.mark.parametrize("kind", ["transient", "undecided", "lost"])
def test_all_processes_of_a_disagreement_start_at_the_same_time(kind: str) -> None:
    """Each waits until all three are starting; the spare without a vote is a spare again."""
    fault = {"transient": "flip", "undecided": "always-flip", "lost": "flip"}[kind]
    workers = FakeWorkers([C], [A, B], inject_fault=(f"{fault}@3:1:positions:9",))
    simulation, reference = workers.simulation(), plain()
    together = threading.Barrier(3)
    lost = [LostError("it is lost")] if kind == "lost" else []

    def meets(place: Place) -> list[str]:
        """The first time."""
        if place not in met:
            met.append(place)
            together.wait(120)
            if place == B and lost:
                raise lost.pop()
        return []

    met: list[Place] = []
    workers.faults = {str(place): partial(meets, place) for place in (A, B, C)}
    for one in (simulation, reference):
        one.run(10)
    assert quiltmd.digest(simulation.state()) == quiltmd.digest(reference.state())
    places = {"transient": [A, B], "undecided": [A, C], "lost": [A, C]}[kind]
    pool = workers.supervisor._pool
    assert [worker.place for worker in pool.workers] == places
    assert list(pool.spares) == {"transient": [C], "undecided": [], "lost": [B]}[kind]


def test_workers_start_at_the_same_time() -> None:
    workers = FakeWorkers([], [A, B])
    together = threading.Barrier(2)
    workers.faults = dict.fromkeys((str(A), str(B)), lambda: [str(together.wait(120))][1:])
    simulation, reference = workers.simulation(), plain()
    for one in (simulation, reference):
        one.run(10)
    assert quiltmd.digest(simulation.state()) == quiltmd.digest(reference.state())


def test_without_a_third_device_both_are_named() -> None:
    workers = FakeWorkers([], [A, B], inject_fault=("always-flip@3:1:positions:9",))
    simulation = workers.simulation()
    simulation.run(10)  # and is compared while the next piece runs, or before anything is read
    for act in (simulation.state, simulation.energies, lambda: simulation.run(1)):
        with pytest.raises(QuiltError, match=rf"{A} and {B} reached different states .* steps 0"):
            act()


def test_devices_do_not_wait_to_be_compared() -> None:
    """They go on; what was captured is given out once they are known to agree."""
    held = threading.Event()

    class HeldFrame(FakeFrame):
        def state(self) -> dict[str, Any]:
            held.wait()
            return super().state()

    class Held(FakeEngine):
        def capture(self, **contents: bool) -> FakeFrame:
            found = super().capture(**contents)
            found.__class__ = HeldFrame
            return found

    workers = FakeWorkers([], [A, B])
    workers.engine = Held
    simulation, reference = workers.simulation(), plain()
    for one in (simulation, reference):
        one.run(10)
    frame = simulation._engine.capture(energies=True)
    read: list[Any] = []
    reader = threading.Thread(target=lambda: read.append(frame.energies()))
    reader.start()
    runner_of_more = threading.Thread(target=lambda: simulation.run(5))
    runner_of_more.start()
    pool = workers.supervisor._pool
    assert comes_true(lambda: [worker.step for worker in pool.workers] == [15, 15])
    assert not read
    assert pool.step == 10
    held.set()
    for thread in (reader, runner_of_more):
        thread.join(120)
    assert read == [reference._engine.capture(energies=True).energies()]
    reference.run(5)
    assert quiltmd.digest(simulation.state()) == quiltmd.digest(reference.state())


def test_of_two_devices_one_may_be_lost() -> None:
    workers = FakeWorkers([], [A, B], inject_fault=("drop@5:0",))
    simulation, reference = workers.simulation(), plain()
    for one in (simulation, reference):
        one.run(10)
    assert quiltmd.digest(simulation.state()) == quiltmd.digest(reference.state())
    assert [f"continuing on {B} alone" in text for text in workers.told()] == [True]


def test_one_device_verifies_itself(tmp_path: Path) -> None:
    """A flip in a piece that is done twice is found, one in another piece is not."""
    reference = written(plain(), tmp_path / "reference", [12, 12])
    for verify, step, found in ((1, 13, 1), (2, 15, 1), (2, 13, 0)):
        workers = FakeWorkers(
            [], [A], inject_fault=(f"flip@{step}:0:velocities:115",), verify=verify
        )
        files = written(workers.simulation(), tmp_path / f"{verify}-{step}", [12, 12])
        assert (files == reference) == bool(found)
        assert len(workers.told()) == found


@pytest.mark.parametrize(
    ("first", "again", "diagnosis"),
    [
        ("ab", "aa", Diagnosis("transient", (1,))),
        ("ab", "bb", Diagnosis("transient", (0,))),
        ("ab", "cc", Diagnosis("transient", (0, 1))),
        ("ab", "ac", Diagnosis("unrepeatable", (1,))),
        ("ab", "ab", Diagnosis("undecided", ())),
        ("ab", "cd", Diagnosis("undecided", (0, 1))),
        ("aab", "aab", Diagnosis("outvoted", (2,))),
        ("abb", "cbb", Diagnosis("unrepeatable", (0,))),
        ("abc", "abc", Diagnosis("undecided", ())),
    ],
)
def test_verdicts(first: str, again: str, diagnosis: Diagnosis) -> None:
    assert diagnose(list(first), list(again)) == diagnosis


def test_a_digest_tells_states_apart() -> None:
    """Any bit, any two words that have changed places, any number."""
    rng = np.random.default_rng(2)
    state = {"step": 3, "positions": rng.normal(size=(50, 3)), "list_positions": None}
    found = {digest(state)}
    for bit in range(0, 64 * 150, 7):
        other = state["positions"].copy()
        other.reshape(-1).view(np.uint8)[bit // 8] ^= np.uint8(1 << bit % 8)
        found.add(digest({**state, "positions": other}))
    for atom in range(1, 50):
        other = state["positions"].copy()
        other[[0, atom]] = other[[atom, 0]]
        found.add(digest({**state, "positions": other}))
    signs = state["positions"].copy()
    signs[:2] *= -1
    found.add(digest({**state, "positions": signs}))
    found |= {digest({**state, "step": 4}), digest({**state, "list_positions": np.zeros((1, 3))})}
    assert len(found) == 1 + len(range(0, 64 * 150, 7)) + 49 + 1 + 2
    assert digest({**state, "positions": state["positions"].copy()}) in found


# ---- names, and real processes


def test_names_of_several() -> None:
    found = parse_device("redundant:cuda:0,1,ssh:b/cuda:0,remote:c:1/cpu")
    assert found == [parse_place(name) for name in ("cuda:0,1", "ssh:b/cuda:0", "remote:c:1/cpu")]
    for name in ("redundant:", "redundant:cpu", "redundant:cpu,cpu,cpu,cpu", "redundant:cpu,gpu"):
        with pytest.raises(QuiltError):
            quiltmd.Execution(name)


@pytest.mark.parametrize(
    "text", ["kill", "kill@", "flip@3", "kill@3:0:positions:3", "flip@3:a:b:1", "flip@3:0/a/b:1"]
)
def test_faults_that_are_none(text: str) -> None:
    with pytest.raises(QuiltError, match="not a fault that can be injected"):
        Workers(inject_fault=(text,))
    assert parse_injection("flip@3:1:positions:7").device == 1


@pytest.mark.parametrize("device", ["cpu", "worker:cpu", "redundant:cpu,cpu"])
def test_faults_of_a_device_that_there_is_not(device: str) -> None:
    with pytest.raises(QuiltError, match=r"'kill@3:2' is for a device that '.*' does not have"):
        quiltmd.Execution(device, workers=Workers(inject_fault=("kill@3:2",))).resolve()


@pytest.mark.parametrize(
    ("device", "settings", "said"),
    [
        ("cpu", {"spares": ["cpu"], "inject_fault": ["kill@11"]}, "killed by SIGKILL"),
        (
            "cpu",
            {"spares": ["cpu"], "inject_fault": ["stop@9"], "silence": 6.0},
            "nothing was heard",
        ),
        ("redundant:cpu,cpu", {"inject_fault": ["flip@9:1:velocities:70"]}, "a transient error"),
        (
            "redundant:cpu,cpu",
            {"inject_fault": ["flip@9:1:0/langevin_middle/2/work.slots.force[1]:70"]},
            "a transient error",
        ),
    ],
)
def test_runs_of_real_devices(
    alanine: tuple[Path, Path], tmp_path: Path, device: str, settings: Any, said: str
) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        config = short(alanine, tmp_path / "out", device=device, steps=16)
        runner.start(config.model_copy(update={"workers": Workers(**settings)}))
    assert sum(said in str(one.message) for one in caught if one.category is QuiltWarning) == 1
    runner.start(short(alanine, tmp_path / "reference", steps=16))
    same_results(tmp_path / "out", tmp_path / "reference")
    faults = read_sessions(tmp_path / "out" / "sessions.json")[0]["faults"]
    assert [said in fault["text"] for fault in faults] == [True]
    if "continuing" in faults[0]["text"]:
        assert tuple(faults[0]["phases"]) == PHASES
        assert faults[0]["phases"]["started"] > 0
    page = make_report(Folder(tmp_path / "out"))
    assert "Faults of devices" in page
    assert said in page
    assert "Faults of devices" not in make_report(Folder(tmp_path / "reference"))
