# SPDX-License-Identifier: Apache-2.0
"""One simulation on several workers: the bits of one process, whoever has which rank."""

from __future__ import annotations

import os
import signal
import socket
import threading
import warnings
from collections import Counter
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_runner import same_results
from test_workers import Toy, comes_true, is_alive, short, simulation_on, water

from quiltmd import QuiltError, QuiltWarning, SimulationError, Workers, digest
from quiltmd.engine.places import parse_place
from quiltmd.errors import PeerError
from quiltmd.running import runner
from quiltmd.workers.access import ask_for_admission
from quiltmd.workers.peers import Meeting
from quiltmd.workers.team import Team, _all, introduce

TWO = "ranks:worker:cpu,worker:cpu"


def processes_of(simulation: Any) -> list[int]:
    return [connection.process for connection in simulation._engine._connections]


def test_a_team_computes_what_one_process_does() -> None:
    alone, team = water("cpu", ranks=2), water(TWO)
    for simulation in (alone, team):
        simulation.minimize(max_iterations=6)
        simulation.draw_velocities(300, seed=2)
        simulation.run(30)
        simulation.set_conditions(temperature=310.0)
        simulation.run(7)
    a, b = alone.state(), team.state()
    assert a.positions.tobytes() == b.positions.tobytes()
    assert a.velocities.tobytes() == b.velocities.tobytes()
    assert alone.energies() == team.energies()
    assert alone.forces().tobytes() == team.forces().tobytes()
    assert [row["patches"] for row in team.loads()] == [row["patches"] for row in alone.loads()]
    processes = processes_of(team)
    assert len(set(processes)) == 2
    del team, simulation
    assert comes_true(lambda: not any(is_alive(process) for process in processes))


def test_a_team_of_one() -> None:
    """As scripts for any number of ranks may name it."""
    alone, team = water("cpu"), water("ranks:cpu")
    assert len(processes_of(team)) == 1
    for simulation in (alone, team):
        simulation.run(3)
    assert digest(team.state()) == digest(alone.state())


def test_files_are_those_of_one_process(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    runner.start(short(alanine, tmp_path / "alone"))
    runner.start(short(alanine, tmp_path / "team", device=TWO))
    same_results(tmp_path / "alone", tmp_path / "team")


def test_messages_between_processes_are_profiled() -> None:
    found = []
    for simulation in (water("cpu", ranks=2), water(TWO)):
        simulation.draw_velocities(300, seed=2)
        simulation.start_profile()
        simulation.run(8)
        spans, messages = simulation.stop_profile(), simulation.profiled_messages()
        assert {span["rank"] for span in spans} == {0, 1}
        end = max(span["end"] for span in spans)
        assert all(0 <= m["sent"] <= m["arrived"] <= m["used"] <= end for m in messages)
        found.append(Counter((m["name"], m["from"], m["to"], m["bytes"]) for m in messages))
    assert found[0] == found[1]
    assert found[0].total() > 8 * 5


def test_a_minimisation_can_be_watched_and_stopped() -> None:
    team = water(TWO)
    seen: list[int] = []

    def watch(iteration: int, energy: float, force: float) -> bool:
        seen.append(iteration)
        return len(seen) == 3

    team.minimize(max_iterations=50, watch=watch)
    assert seen == [0, 1, 2]
    team.run(2)


def test_the_error_of_the_rank_that_failed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not that of one that only waited for it, though it comes first."""
    toys = [Toy(), Toy()]
    errors = PeerError("rank 1 has failed"), QuiltError("the GPU has no memory left")

    def failing(error: QuiltError) -> Any:
        def run(steps: int) -> None:
            raise error

        return run

    simulations = [simulation_on(toy) for toy in toys]
    for toy, error in zip(toys, errors, strict=True):
        monkeypatch.setattr(toy.engines[0], "run", failing(error))
    with pytest.raises(QuiltError, match="no memory left"):
        _all([toy.connection.begin("run", 3) for toy in toys])
    with pytest.raises(PeerError, match="rank 1 has failed"):
        toys[0].connection.call("run", 3)
    assert all(simulation.step == 0 for simulation in simulations)
    for toy in toys:
        toy.close()


def test_a_worker_that_is_killed_is_named() -> None:
    team: Any = water(TWO)
    team.draw_velocities(300, seed=2)
    team.run(2)
    victim, other = processes_of(team)
    threading.Timer(0.5, os.kill, (victim, signal.SIGKILL)).start()
    with pytest.raises(
        QuiltError, match=r"the worker on rank 0 \(worker:cpu\) is lost: .* by SIGKILL"
    ):
        team.run(10**6)
    team._engine.close()
    assert comes_true(lambda: not is_alive(other))


def test_a_worker_that_is_stopped_is_named() -> None:
    team: Any = water(TWO, workers=Workers(silence=6.0))
    team.draw_velocities(300, seed=2)
    team.run(2)
    victim, other = processes_of(team)
    os.kill(victim, signal.SIGSTOP)
    with pytest.raises(
        QuiltError, match=r"rank 0 has not been heard|nothing was heard of it for 6"
    ):
        team.run(10**6)
    team._engine.close()
    assert comes_true(lambda: not is_alive(other) and not is_alive(victim))


def test_an_error_is_that_of_one_process_and_leaves_a_team_of_use() -> None:
    """A molecule is far too fast: the simulation blows up, on all ranks at the same step."""
    said, ends = [], []
    for simulation in (water("cpu", ranks=2), water(TWO)):
        simulation.draw_velocities(300, seed=2)
        good = simulation.state()
        fast = good.velocities.copy()
        fast[300:303] = 1e4
        simulation.set_state(replace(good, velocities=fast))
        with pytest.raises(SimulationError) as error:
            simulation.run(50)
        said.append(str(error.value))
        simulation.set_state(good)
        simulation.run(5)
        ends.append(digest(simulation.state()))
    assert said[0] == said[1]
    assert ends[0] == ends[1]


@pytest.mark.parametrize(
    ("transport", "family"),
    [("tcp", socket.AF_INET), ("unix", socket.AF_UNIX), ("auto", socket.AF_UNIX)],
)
def test_only_who_knows_the_secret_gets_in(transport: str, family: int) -> None:
    secret = b"s" * 32
    meetings = [Meeting(everywhere=False) for _ in range(2)]
    addresses = [meeting.address for meeting in meetings]
    door = ("127.0.0.1", addresses[0].port)
    found: dict[int, list[int]] = {}

    def meet(rank: int) -> None:
        found[rank] = meetings[rank].meet(rank, addresses, secret, transport)

    first = threading.Thread(target=meet, args=(0,))
    first.start()
    silent = [socket.create_connection(door) for _ in range(20)]
    for stranger in (b"t" * 32, None):
        with socket.create_connection(door) as connection:
            if stranger is None:
                connection.sendall(b"GET / HTTP/1.0\r\n\r\n" + bytes(100))
            else:
                with pytest.raises(QuiltError):
                    ask_for_admission(connection, stranger)
    meet(1)
    first.join(120)
    assert found[0][0] == found[1][1] == -1
    with socket.socket(fileno=found[0][1]) as a, socket.socket(fileno=found[1][0]) as b:
        assert a.family == b.family == family
        a.sendall(b"hello")
        assert b.recv(5) == b"hello"
    for connection in silent:
        connection.close()


class Stub:
    """A connection, or the engine of a worker."""

    def __init__(self, name: str, architecture: str = "") -> None:
        self.name, self.architecture = name, architecture
        self.closed = False

    def close(self) -> None:
        self.closed = True


def test_devices_are_of_one_architecture() -> None:
    connections: list[Any] = [Stub("ssh:a/cuda:0"), Stub("ssh:b/cuda:0")]
    kinds = ["cuda 9.0", "cuda 8.0"]

    def make(connection: Any, rank: int) -> Any:
        return Stub(connection.name, kinds[rank])

    with pytest.raises(QuiltError, match=r"ssh:a/cuda:0: cuda 9.0, ssh:b/cuda:0: cuda 8.0"):
        Team(connections, make)
    assert all(connection.closed for connection in connections)


def test_where_one_worker_cannot_be_had_none_is_left() -> None:
    before = workers_here()
    with pytest.raises(QuiltError, match="ssh has no connection to nowhere"):
        water("ranks:worker:cpu,worker:cpu,ssh:nowhere.invalid/cpu")
    assert comes_true(lambda: workers_here() == before)


def workers_here(process: int | str = "self") -> set[int]:
    """Worker processes that this one, or another, has started."""
    found = set()
    for task in Path(f"/proc/{process}/task").iterdir():
        with suppress(FileNotFoundError):  # a thread that has ended meanwhile
            for child in (task / "children").read_text().split():
                if is_worker(Path(f"/proc/{child}/cmdline")):
                    found.add(int(child))
    return found


def is_worker(command_line: Path) -> bool:
    with suppress(OSError):
        return b"quiltmd.workers.process" in command_line.read_bytes()
    return False


@pytest.mark.parametrize(
    ("device", "more", "said"),
    [
        ("ranks:cuda:0,1", {}, "one device for each rank"),
        (TWO, {"ranks": 3}, "lists 2 device"),
        (TWO, {"transport": "staged"}, "does not join ranks in processes .* choose unix or tcp"),
        (TWO, {"transport": "peer"}, "'peer' connects GPUs, and worker:cpu is not a GPU"),
        (TWO, {"transport": "nccl"}, "'nccl' connects GPUs, and worker:cpu is not a GPU"),
        ("cpu", {"ranks": 2, "transport": "nccl"}, "does not join ranks of one process"),
        ("cpu", {"ranks": 2, "transport": "tcp"}, "does not join ranks of one .* choose staged"),
        ("ranks:", {}, "no such device"),
        (TWO, {"workers": Workers(verify=3)}, "runs the whole simulation: leave them out"),
    ],
)
def test_what_cannot_be_is_refused(device: str, more: dict[str, Any], said: str) -> None:
    with pytest.raises(QuiltError, match=said):
        water(device, **more)


class Introduced:
    """A worker that listens, and meets whoever it is told."""

    def begin(self, name: str, *_: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result({"port": 1, "name": "", "machine": ""} if name == "listen" else None)
        return future


@pytest.mark.parametrize(
    ("devices", "trusted", "said"),
    [
        ("ssh:a/cpu,ssh:me@b/cpu,ssh:a/cpu", False, "ranks on a and b send each other"),
        ("remote:a:1/cpu,remote:b:1/cpu", False, "ranks on a and b send each other"),
        ("ssh:a/cpu,ssh:b/cpu", True, ""),
        ("ssh:a/cuda:0,ssh:a/cuda:1", False, ""),
        ("worker:cpu,worker:cpu", False, ""),
    ],
)
def test_what_others_may_read_is_warned_about(devices: str, trusted: bool, said: str) -> None:
    places = [parse_place(name) for name in devices.split(",")]
    connections: list[Any] = [Introduced() for _ in places]
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("ignore")  # what the collector says of earlier tests
        warnings.simplefilter("always", QuiltWarning)
        introduce(connections, places, Workers(trust_network=trusted), "auto")
    assert [said in str(one.message) for one in found] == [True] * bool(said)
