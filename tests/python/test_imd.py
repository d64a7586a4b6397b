# SPDX-License-Identifier: Apache-2.0
"""IMD: imdclient and MDAnalysis receive the frames of a run; pauses, forces, and hostile bytes."""

from __future__ import annotations

import signal
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boxes import warm_water
from command import quiltmd as quiltmd_command
from hypothesis import given
from hypothesis import strategies as st

import quiltmd
from quiltmd import (
    FunctionReporter,
    ImdServer,
    LangevinMiddle,
    Nonbonded,
    QuiltError,
    Simulation,
    ViewerForce,
)
from quiltmd.exchange.config import ExchangeConfig
from quiltmd.external import imd_server
from quiltmd.external.imd_packets import Kind, ProtocolError, RequestReader, Session
from quiltmd.external.imd_server import Patience
from quiltmd.running import runner
from quiltmd.running.config import build_config, build_config_of

SMALL = Nonbonded(cutoff=0.6, pme_alpha=4.0, pme_grid=(24, 24, 24))
SESSION = Session(3, 10, False, True, True, False, False)
pytestmark = pytest.mark.filterwarnings("ignore:a cutoff of 0.6 nm is shorter")


@pytest.fixture(scope="module")
def water() -> tuple[Any, Any]:
    return warm_water((6, 6, 6), 300)


def simulation(water: tuple[Any, Any], *external: Any, **where: Any) -> Simulation:
    thermostat = LangevinMiddle(300, 1.0, 0.002, seed=4)
    settings = {"device": "cpu", "threads": 1, **where}
    return Simulation(*water, SMALL, thermostat, external=external, **settings)


class Viewer:
    """A client that sends packets byte by byte, and reads only what a test reads."""

    def __init__(self, port: int, go: bool = True) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        if go:
            self.send(Kind.GO)

    def send(self, kind: int, value: int = 0, body: bytes = b"") -> None:
        self.socket.sendall(struct.pack("!ii", kind, value) + body)

    def pull(self, atoms: list[int], forces: Any) -> None:
        body = np.array(atoms, np.int32).tobytes() + np.array(forces, np.float32).tobytes()
        self.send(Kind.MDCOMM, len(atoms), body)

    def is_ended(self) -> bool:
        """Reads until the server ends the connection."""
        try:
            while self.socket.recv(65536):
                pass
        except ConnectionResetError:
            return True
        return True

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()


def until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


@pytest.fixture
def told() -> list[str]:
    return []


Served = Callable[..., ImdServer]


@pytest.fixture
def served(told: list[str]) -> Iterator[Served]:
    """Servers on free ports, closed afterwards."""
    servers: list[ImdServer] = []

    def serve(of: Simulation, every: int = 10, **settings: Any) -> ImdServer:
        servers.append(ImdServer(of, every, port=0, tell=told.append, **settings))
        return servers[-1]

    yield serve
    for server in servers:
        server.close()


def in_thread(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("version", [2, 3])
def test_imdclient_receives_the_frames(
    water: tuple[Any, Any], served: Served, version: int
) -> None:
    """All that a frame has, to the last bit of single precision; each step once, in order."""
    imdclient = pytest.importorskip("imdclient.IMDClient")
    sim = simulation(water)
    more = {"velocities": True, "forces": True} if version == 3 else {}
    of: dict[str, Any] = {"version": version, "energies": True, "select": "index 1-30", **more}
    server = served(sim, 10, wait=True, max_wait=1, wrap=False, **of)
    found: list[Any] = []

    def receive() -> None:
        client = imdclient.IMDClient("localhost", server.port, 30, multithreaded=False)
        try:
            while True:
                frame = client.get_imdframe()
                names = ("step", "time", "dt", "box", "positions", "velocities", "forces")
                found.append({name: np.copy(getattr(frame, name, None)) for name in names})
                found[-1]["energies"] = dict(frame.energies)
        except EOFError:
            pass

    client = in_thread(receive)
    kept: list[Any] = []

    def keep(frame: quiltmd.Readout) -> None:
        kept.append((frame.step, frame.state(), frame.forces(), frame.energies()))

    sim.run(60, [server, FunctionReporter(keep, 10, ("state", "forces", "energies"))])
    server.close()
    client.join(10)
    assert [step for step, *_ in kept] == [10, 20, 30, 40, 50, 60]
    assert len(found) == 6 == server.sent
    unit = 1.0 if version == 3 else 4.184
    for got, (step, state, forces, energies) in zip(found, kept, strict=True):
        np.testing.assert_array_equal(got["positions"], np.float32(10 * state.positions[:30]))
        block = got["energies"]
        assert block["step"] == step
        assert block["potential_energy"] == pytest.approx(energies["potential"] / unit, rel=1e-6)
        van_der_waals = energies["lj"] + energies["dispersion"]
        assert block["van_der_walls_energy"] == pytest.approx(van_der_waals / unit, rel=1e-6)
        if version == 3:
            assert (got["step"], got["dt"]) == (step, 0.002)
            assert got["time"] == pytest.approx(0.002 * step)
            np.testing.assert_array_equal(got["box"], np.float32(10 * state.box))
            np.testing.assert_array_equal(got["velocities"], np.float32(10 * state.velocities[:30]))
            np.testing.assert_array_equal(got["forces"], np.float32(forces[:30] / 10))


def config(inputs: tuple[Path, Path], folder: Path, **imd: Any) -> Any:
    return build_config(
        {
            "system": {"topology": inputs[0], "coordinates": inputs[1]},
            "integrator": {"seed": 3, "timestep": 0.002},
            "run": {"steps": 40, "device": "cpu", "threads": 1},
            "output": {"dir": folder, "trajectory_every": 0, "final": []},
            "trajectory": [{"file": "solute.h5md", "every": 10, "select": "solute"}],
            "imd": {"port": 0, "every": 10, "wait": True, "select": "solute", **imd},
        }
    )


def test_a_run_streams_what_it_writes(
    alanine: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """To MDAnalysis, by [imd] of a configuration: frames of the stream are those of the file."""
    pytest.importorskip("imdclient")
    import MDAnalysis

    ports: list[int] = []
    made = ImdServer.__init__

    def note(self: ImdServer, *given: Any, **named: Any) -> None:
        made(self, *given, **named)
        ports.append(self.port)

    monkeypatch.setattr(ImdServer, "__init__", note)
    run = in_thread(lambda: runner.start(config(alanine, tmp_path / "out", max_wait=1.0)))
    until(lambda: bool(ports), 60)
    universe = MDAnalysis.Universe(tmp_path / "out" / "imd.pdb", f"imd://localhost:{ports[0]}")
    assert universe.atoms.names[:4].tolist() == ["HH31", "CH3", "HH32", "HH33"]
    streamed = [(ts.data["step"], ts.positions.copy()) for ts in universe.trajectory]
    run.join(60)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # imdclient has taken both
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    written = MDAnalysis.Universe.empty(22, trajectory=False)
    written.load_new(str(tmp_path / "out" / "solute.h5md"))
    assert [step for step, _ in streamed] == [10, 20, 30, 40]
    frames = [ts.positions.copy() for ts in written.trajectory]
    for (_, positions), positions_written in zip(streamed, frames, strict=True):
        np.testing.assert_allclose(positions, positions_written, rtol=0, atol=4e-6)
    assert "the run waits for a viewer" in capsys.readouterr().err


def test_a_pause_holds_the_run_until_it_ends(water: tuple[Any, Any], served: Served) -> None:
    sim = simulation(water)
    server = served(sim, 5, max_wait=1)
    with Viewer(server.port) as viewer:
        viewer.send(Kind.PAUSE)
        viewer.send(Kind.PAUSE)  # has no further effect
        until(lambda: server.is_connected and server.holds())
        run = in_thread(lambda: sim.run(20, [server]))
        run.join(0.3)
        assert run.is_alive()
        assert sim.step == 0
        viewer.send(Kind.RESUME)
        run.join(20)
        assert sim.step == 20
    assert (server.sent, server.dropped) == (4, 0)


def test_version_2_pauses_by_turns(water: tuple[Any, Any], served: Served) -> None:
    server = served(simulation(water), max_wait=1, version=2)
    with Viewer(server.port) as viewer:
        viewer.send(Kind.PAUSE)
        until(lambda: server.is_connected and server.holds())
        viewer.send(Kind.PAUSE)
        until(lambda: not server.holds())


def test_a_run_that_never_waits_drops_frames(water: tuple[Any, Any], served: Served) -> None:
    """The viewer pauses, or reads nothing: the run reaches its end, and frames are lost."""
    sim = simulation(water)
    server = served(sim, 1, max_wait=0)
    with Viewer(server.port) as viewer:
        until(lambda: server.is_connected)
        viewer.send(Kind.PAUSE)
        until(lambda: server._is_paused)
        sim.run(10, [server])
        assert server.sent == 0
        viewer.send(Kind.RESUME)
        until(lambda: not server._is_paused)
        sim.run(1, [server])
        viewer.send(Kind.PAUSE)
        until(lambda: server._is_paused)
        sim.run(10, [server])
        viewer.send(Kind.RESUME)
        until(lambda: not server._is_paused)
        sim.run(1, [server])
        assert (server.sent, server.dropped) == (2, 10)
        sim.run(1000, [server])  # 7.8 MB, which buffers of sockets do not hold
        assert 2 < server.sent < 1000
    assert sim.step == 1022


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
def test_waiting_is_bounded(share: float) -> None:
    """A viewer that always asks gets its share and no more, also after a long time of its own."""
    patience = Patience(share)
    now, waits = 0.0, []
    for _ in range(30000):
        asks = now > 300
        waited = patience.may_wait(now, asks)
        passed = 0.01 if waited else 0.05
        waits.append((now, passed if waited else 0.0))
        now += passed
    times, spent = np.array(waits).T
    for begin in np.arange(300.0, now - 60, 7.0):
        inside = (times >= begin) & (times < begin + 60)
        assert spent[inside].sum() <= share * (60 + 10) + 0.1
    later = times > 400
    assert spent[later].sum() / (now - 400) == pytest.approx(share, abs=0.02)


def test_requests_change_rate_and_waiting(water: tuple[Any, Any], served: Served) -> None:
    server = served(simulation(water), 10, wait=True)
    assert server.every == 0
    assert server.holds()
    with Viewer(server.port) as viewer:
        until(lambda: server.every == 10)
        viewer.send(Kind.RATE, 30)
        until(lambda: server.every == 30)
        viewer.send(Kind.RATE, 1)  # not more often than the run allows
        until(lambda: server.every == 10)
        viewer.send(Kind.WAIT, 0)
        viewer.send(Kind.DISCONNECT)
        until(lambda: not server.is_connected)
        assert not server.holds()


def test_only_where_it_is_allowed_a_viewer_stops_a_run(
    water: tuple[Any, Any], served: Served, told: list[str]
) -> None:
    sim = simulation(water)
    server = served(sim)
    with Viewer(server.port) as viewer:
        viewer.send(Kind.KILL)
        until(lambda: any("may_stop" in text for text in told))
    server.close()
    asked: list[int] = []
    server = served(sim, on_stop=lambda: asked.append(1), wait=True, max_wait=1)
    with Viewer(server.port) as viewer:
        until(lambda: server.is_connected)
        viewer.send(Kind.PAUSE)
        until(server.holds)
        viewer.send(Kind.KILL)
        sim.run(1000, [server], watch=lambda step: bool(asked))  # ends a pause, too
    assert sim.step == 0


def test_a_viewer_pulls_at_atoms(water: tuple[Any, Any], served: Served, told: list[str]) -> None:
    """From the next update on, until it disconnects; a longer force than the largest is scaled."""
    force = ViewerForce([3, 30, 60], every=4, largest=1000)
    sim, plain = simulation(water, force), simulation(water)
    server = served(sim, 10, force=force, select="index 4-100")
    with Viewer(server.port) as viewer:
        viewer.pull([27, 0], [[0, 30, 0], [40, 0, 30]])  # kJ/mol/angstrom; places in what is sent
        until(lambda: force._next is not None)
        sim.run(4)
        before = sim.positions()
        sim.run(1)
        plain.set_state(sim.state())
        difference = sim.forces() - plain.forces()
        expected = np.zeros_like(difference)
        expected[30], expected[3] = [0, 300, 0], [400, 0, 300]
        np.testing.assert_allclose(difference, expected, atol=2e-3)
        sim.run(2)
        moved = (expected * (sim.positions() - before)).sum()
        assert sim.energies()["viewer"] == pytest.approx(-moved, rel=1e-6)
        viewer.pull([0], [[3000, 0, 0]])
        until(lambda: force._next is not None)
        sim.run(2)
        np.testing.assert_allclose(force._forces, [[1000, 0, 0], [0, 0, 0], [0, 0, 0]])
        viewer.pull([1], [[1, 0, 0]])
        until(lambda: any("may not pull" in text for text in told))
    until(lambda: not server.is_connected)
    sim.run(4)
    assert not force._forces.any()


def test_a_run_with_a_pull_is_resumed_bitwise_on_any_ranks(
    water: tuple[Any, Any], tmp_path: Path
) -> None:
    """The forces are in checkpoints."""
    digests = set()
    for ranks in (1, 2):
        force = ViewerForce([3, 300], every=4)
        sim = simulation(water, force, ranks=ranks)
        force.offer(sim.system, np.array([3]), np.array([[250.0, 10.0, 0.0]]))
        sim.run(6)
        sim.save_checkpoint(tmp_path / "a.qmd")
        sim.run(6)
        digests.add(sim.state().positions.tobytes())
    other = simulation(water, ViewerForce([3, 300], every=4))
    other.load_checkpoint(tmp_path / "a.qmd")
    other.run(6)
    assert digests == {other.state().positions.tobytes()}


HOSTILE = {
    "no packet": b"GET / HTTP/1.1\r\n\r\n",
    "a packet of servers": struct.pack("!ii", Kind.COORDINATES, 1),
    "forces on more atoms than there are": struct.pack("!ii", Kind.MDCOMM, 2**31 - 1),
    "forces on fewer than none": struct.pack("!ii", Kind.MDCOMM, -1),
    "an atom beyond": struct.pack("!ii", Kind.MDCOMM, 1) + struct.pack("=ifff", 648, 1, 0, 0),
    "an atom before": struct.pack("!ii", Kind.MDCOMM, 1) + struct.pack("=ifff", -1, 1, 0, 0),
    "an atom twice": struct.pack("!ii", Kind.MDCOMM, 2) + struct.pack("=ii6f", 1, 1, *[1.0] * 6),
    "no number": struct.pack("!ii", Kind.MDCOMM, 1) + struct.pack("=ifff", 1, float("nan"), 0, 0),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_bytes_end_the_connection_and_nothing_else(
    water: tuple[Any, Any], served: Served, told: list[str], name: str
) -> None:
    force = ViewerForce()
    server = served(simulation(water, force), force=force)
    with Viewer(server.port) as viewer:
        viewer.socket.sendall(HOSTILE[name])
        assert viewer.is_ended()
        until(lambda: any("a viewer is gone: it sent" in text for text in told))
    assert force._next is None or not force._next.any()
    with Viewer(server.port):
        until(lambda: server.is_connected)


def test_without_go_there_is_nothing(
    water: tuple[Any, Any], served: Served, monkeypatch: pytest.MonkeyPatch, told: list[str]
) -> None:
    """Other requests before it, or none for a time, end the connection; a second viewer, too."""
    monkeypatch.setattr("quiltmd.external.imd_link._GO", 0.2)
    server = served(simulation(water))
    with Viewer(server.port, go=False) as viewer:
        viewer.send(Kind.PAUSE)
        assert viewer.is_ended()
    with Viewer(server.port, go=False) as viewer:
        assert viewer.is_ended()
    until(lambda: any("GO within 0.2 s" in text for text in told))
    with Viewer(server.port):
        until(lambda: server.is_connected)
        with Viewer(server.port, go=False) as second:
            assert second.is_ended()
        assert server.is_connected


@given(st.binary(max_size=200), st.integers(1, 50))
def test_any_bytes_are_requests_or_refused(data: bytes, size: int) -> None:
    """However they are cut; what is kept of them is less than a packet."""
    reader, whole = RequestReader(SESSION), RequestReader(SESSION)
    parts = [data[at : at + size] for at in range(0, len(data), size)]

    def read(by: RequestReader, pieces: list[bytes]) -> list[Any]:
        found: list[Any] = []
        try:
            for piece in pieces:
                found += [(one.kind, one.value) for one in by.feed(piece)]
        except ProtocolError as error:
            found.append(str(error))
        return found

    assert read(reader, parts)[-1:] == read(whole, [data])[-1:]
    assert len(reader._bytes) < 8 + 16 * SESSION.atoms + size


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"host": "0.0.0.0"}, "neither a key nor encryption"),
        ({"host": "example.org"}, "use a tunnel"),
        ({"version": 2, "velocities": True}, "version 3"),
        ({"version": 4}, "version must be 2 or 3"),
        ({"max_wait": 1.5}, "from 0 to 1"),
        ({"select": "resname XYZ"}, "selects no atoms|no atom"),
    ],
)
def test_settings_are_refused(
    water: tuple[Any, Any], served: Served, settings: dict[str, Any], fault: str
) -> None:
    with pytest.raises(QuiltError, match=fault):
        served(simulation(water), **settings)


def test_a_port_that_is_taken_is_named(water: tuple[Any, Any], served: Served) -> None:
    sim = simulation(water)
    port = served(sim).port
    with pytest.raises(
        QuiltError, match=f"127.0.0.1:{port}: Address already in use; choose another"
    ):
        ImdServer(sim, port=port)


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"port": None}, r"^IMD cannot listen on 127.0.0.1:\d+: Address already in use; choose"),
        ({"select": "resname XYZ"}, r"\[imd\]: .*XYZ"),
        ({"version": 2, "forces": True}, r"\[imd\]: IMD version 2 has no"),
    ],
)
def test_a_run_that_cannot_stream_leaves_no_folder(
    alanine: tuple[Path, Path], tmp_path: Path, settings: dict[str, Any], fault: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        given = {"port": taken.getsockname()[1]} if "port" in settings else settings
        with pytest.raises(QuiltError, match=fault):
            runner.start(config(alanine, tmp_path / "out", wait=False, **given))
    assert not (tmp_path / "out").exists()


def test_a_port_may_be_given_on_resume(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    begun = config(alanine, tmp_path / "out")
    runner.start(begun.model_copy(update={"imd": None}))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    again = quiltmd_command("run", "--resume", tmp_path / "out", "--steps", 44, "--imd-port", port)
    assert again.returncode == 0, again.stderr
    assert f"streamed on 127.0.0.1:{port}; imd.pdb has their atoms" in again.stderr
    assert (tmp_path / "out" / "imd.pdb").read_text().count("ATOM") == 2269


def test_the_end_of_a_run_tells_whom_it_waits_for(
    water: tuple[Any, Any], told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A viewer that pauses takes no frames; what it has asked for is not lost at once."""
    monkeypatch.setattr(imd_server, "_FAREWELL_OF_ALL", 1.2)
    with ImdServer(simulation(water), 5, port=0, tell=told.append, max_wait=1) as server:
        viewer = Viewer(server.port)
        viewer.send(Kind.PAUSE)
        until(lambda: server.is_connected and server.holds())
    assert any("waiting up to 1.2 s for the viewer to receive" in text for text in told)
    viewer.socket.close()


def test_an_exchange_refuses_it() -> None:
    settings = {
        "system": {"topology": "a.prmtop", "coordinates": "a.crd"},
        "exchange": {"kind": "rest2", "temperatures": [300, 400], "every": 5},
        "run": {"steps": 10},
        "output": {"dir": "out"},
        "imd": {},
    }
    with pytest.raises(QuiltError, match="streams no frames"):
        build_config_of(ExchangeConfig, settings, "")


def test_a_resumed_run_must_keep_what_pulls_alone(tmp_path: Path) -> None:
    """What viewers receive does not decide the trajectory."""
    files = tmp_path / "a.prmtop", tmp_path / "a.crd"
    kept = config(files, tmp_path / "out", pull="protein").physics(4 * np.eye(3))
    assert {key for key in kept if key.startswith("imd.")} == {"imd.pull", "imd.pull_every"}
