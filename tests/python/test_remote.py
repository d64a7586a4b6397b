# SPDX-License-Identifier: Apache-2.0
"""Workers of other machines: who is let in, what is refused, and the same bits."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from proxy import Proxy
from test_workers import EXAMPLES, comes_true, is_alive, process_of, water

import quiltmd
from quiltmd import LostError, QuiltError, Workers
from quiltmd.engine.places import parse_place
from quiltmd.workers.access import (
    AccessError,
    admit,
    ask_for_admission,
    make_key,
    read_key,
)
from quiltmd.workers.launch import connect
from quiltmd.workers.server import Server


class Serving:
    """A server of this machine, in a thread, and what it tells."""

    def __init__(self, folder: Path, sessions: int = 4) -> None:
        self.key = folder / "key"
        make_key(self.key)
        self.told: list[str] = []
        self.server = Server("127.0.0.1", 0, read_key(self.key), sessions, self.told.append)
        self.thread = threading.Thread(target=self.server.serve)
        self.thread.start()

    @property
    def device(self) -> str:
        return f"remote:127.0.0.1:{self.server.port}/cpu"

    def close(self) -> None:
        self.server.close()
        self.thread.join(120)
        assert not self.thread.is_alive()


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Serving]:
    made = Serving(tmp_path, sessions=1)
    yield made
    made.close()


def test_a_remote_worker_has_the_bits_of_an_engine_here(serving: Serving) -> None:
    workers = Workers(key=serving.key)
    here, there = water("cpu"), water(serving.device, workers=workers)
    for simulation in (here, there):
        simulation.draw_velocities(300, seed=1)
        simulation.run(10)
    assert quiltmd.digest(here.state()) == quiltmd.digest(there.state())
    assert here.energies() == there.energies()
    with pytest.raises(QuiltError, match="its maximum number of sessions; wait for one"):
        connect(parse_place(serving.device), workers)
    worker = process_of(there)
    del there, simulation
    assert comes_true(lambda: not is_alive(worker) and not serving.server._sessions)
    connect(parse_place(serving.device), workers).close()


def test_a_server_that_ends_ends_its_workers(serving: Serving) -> None:
    connection = connect(parse_place(serving.device), Workers(key=serving.key))
    serving.close()
    assert comes_true(lambda: not is_alive(connection.process))
    with pytest.raises(LostError, match="the connection has ended"):
        connection.call("hello")


def test_another_key_is_refused(serving: Serving, tmp_path: Path) -> None:
    make_key(tmp_path / "other")
    with pytest.raises(QuiltError, match=r"refuses the connection.* must have the key that is in"):
        connect(parse_place(serving.device), Workers(key=tmp_path / "other"))
    assert comes_true(lambda: any("does not have the key" in line for line in serving.told))


def test_the_unauthenticated_get_nothing(serving: Serving) -> None:
    """Of what is random nothing; of the greeting, a random number and a fingerprint."""
    for sent, expected in (
        (b"GET / HTTP/1.1\r\nHost: quiltmd\r\n\r\n" + bytes(40), 0),
        (b"QUILTMD2" + bytes(32) + bytes(32), 64),
    ):
        with socket.create_connection(("127.0.0.1", serving.server.port), 120) as connection:
            got = b""
            try:
                connection.sendall(sent)
                connection.shutdown(socket.SHUT_WR)
                while piece := connection.recv(100):
                    got += piece
            except OSError:  # it has been ended already
                pass
            assert len(got) == expected
    assert not serving.server._sessions


def test_many_who_say_nothing_keep_nobody_out(serving: Serving) -> None:
    """Long before they are turned away for having said nothing."""
    with ExitStack() as stack:
        door = ("127.0.0.1", serving.server.port)
        silent = [stack.enter_context(socket.create_connection(door)) for _ in range(150)]
        connect(parse_place(serving.device), Workers(key=serving.key)).close()
        silent[-1].setblocking(False)
        with pytest.raises(BlockingIOError):  # it is still there
            silent[-1].recv(1)


def test_many_at_once_share_the_places_that_there_are(tmp_path: Path) -> None:
    serving = Serving(tmp_path, sessions=3)
    found: list[str] = []

    def come() -> None:
        connection = socket.create_connection(("127.0.0.1", serving.server.port), 120)
        held.append(connection)
        try:
            ask_for_admission(connection, read_key(serving.key))
            found.append("in")
        except AccessError as error:
            found.append(str(error))

    held: list[socket.socket] = []
    clients = [threading.Thread(target=come) for _ in range(40)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    serving.close()
    for connection in held:
        connection.close()
    full = "the server has reached its maximum number of sessions"
    assert (found.count("in"), found.count(full)) == (3, 37)


def test_what_comes_to_nothing_does_not_end_the_server(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that the system has no file for, one without a thread, a worker that fails."""
    port = serving.server.port

    def fails(*_: Any) -> Any:
        raise QuiltError("no worker can be started")

    monkeypatch.setattr("quiltmd.workers.server.spawn_worker", fails)
    with pytest.raises(LostError):
        connect(parse_place(serving.device), Workers(key=serving.key))
    monkeypatch.undo()
    assert comes_true(lambda: not serving.server._sessions)
    monkeypatch.setattr(threading.Thread, "start", raises(RuntimeError("no more threads")))
    with socket.create_connection(("127.0.0.1", port), 120) as refused:
        assert refused.recv(1) == b""
    monkeypatch.undo()
    without_files = SimpleNamespace(accept=raises(OSError(24, "no files")))
    monkeypatch.setattr(serving.server, "_listener", without_files)
    assert comes_true(lambda: any("could not be taken: no files" in line for line in serving.told))
    monkeypatch.undo()
    connect(parse_place(serving.device), Workers(key=serving.key)).close()


def raises(error: Exception) -> Any:
    def function(*_: Any) -> Any:
        raise error

    return function


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.binary(max_size=120), st.booleans())
def test_no_bytes_without_the_key_are_admitted(data: bytes, greeted: bool) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(b"QUILTMD2" * greeted + data)
        ours.shutdown(socket.SHUT_WR)
        with pytest.raises(AccessError):
            admit(theirs, bytes(range(32)), lambda: True)
        theirs.close()
        try:
            got = ours.recv(1000)
        except ConnectionResetError:  # it had not read all
            got = b""
        assert len(got) in (0, 64)


def test_keys_are_for_the_user_alone(tmp_path: Path) -> None:
    key = tmp_path / "folder" / "key"
    before = os.umask(0)
    try:
        make_key(key)
    finally:
        os.umask(before)
    assert key.stat().st_mode & 0o777 == 0o600
    assert len(read_key(key)) == 32
    with pytest.raises(QuiltError, match="no key can be written: File exists"):
        make_key(key)
    for mode in (0o640, 0o604, 0o620, 0o666):
        key.chmod(mode)
        with pytest.raises(QuiltError, match=r"others may read or change this key: 'chmod 600"):
            read_key(key)
    key.chmod(0o600)
    for text in ("", "00" * 31, "no digits", "é"):
        key.write_text(text)
        with pytest.raises(QuiltError, match="not a key"):
            read_key(key)
    for path, because in ((tmp_path, "must be a file"), (tmp_path / "none", "cannot be read")):
        with pytest.raises(QuiltError, match=because):
            read_key(path)
    with pytest.raises(QuiltError, match="no user of that name"):
        Workers(key=Path("~nobody-of-this-name/key"))


def test_a_key_that_the_disk_does_not_give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(handle: int, count: int) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    make_key(tmp_path / "key")
    monkeypatch.setattr(os, "read", fail)
    with pytest.raises(QuiltError, match=r"key: the key cannot be read \(Input/output error\)"):
        read_key(tmp_path / "key")


def test_a_key_that_finds_no_room_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    (tmp_path / "key").touch()
    monkeypatch.setattr(os, "open", lambda *_: full)
    with pytest.raises(QuiltError, match="no key can be written: No space left"):
        make_key(tmp_path / "key")
    assert not (tmp_path / "key").exists()


def test_what_is_announced_and_does_not_come_takes_no_memory() -> None:
    """One without keys changes a length on the way: 2 GiB are announced, 30 bytes come."""
    code = (
        "import resource, socket\n"
        "from quiltmd.errors import LostError\n"
        "from quiltmd.workers.channel import Channel\n"
        "a, b = socket.socketpair()\n"
        "b.sendall(b'QMW1' + b''.join(n.to_bytes(4, 'little') for n in (2, 2**31, 0, 0, 0)))\n"
        "b.close()\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try:\n"
        "    Channel(a.fileno(), a.fileno(), a.close).receive()\n"
        "except (LostError, MemoryError):\n"
        "    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    grown = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    assert int(grown) < 100_000  # kB


@pytest.mark.parametrize("host", ["a..b", "a" * 70])
def test_names_that_no_host_can_have(host: str, tmp_path: Path) -> None:
    make_key(tmp_path / "key")
    with pytest.raises(QuiltError, match="cannot be reached"):
        connect(parse_place(f"remote:{host}:1/cpu"), Workers(key=tmp_path / "key"))


@pytest.mark.parametrize(
    ("host", "because"),
    [("", "an address to listen on is missing"), ("ä..b", "cannot listen"), ("a..b", "listen")],
)
def test_addresses_that_no_server_can_listen_on(host: str, because: str) -> None:
    with pytest.raises(QuiltError, match=because):
        Server(host, 0, bytes(32), 1, print)


def test_nothing_listens(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    make_key(tmp_path / "key")
    with pytest.raises(QuiltError, match=r"cannot be reached.*does 'quiltmd serve' run"):
        connect(parse_place(f"remote:127.0.0.1:{port}/cpu"), Workers(key=tmp_path / "key"))


def test_the_command_serves(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "quiltmd", "serve", "--port", "0", "--key", tmp_path / "key"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "a new key is in" in process.stderr.readline()
        line = process.stderr.readline()
        port = int(line.split(",")[0].rpartition(":")[2])
        place = parse_place(f"remote:127.0.0.1:{port}/cpu")
        connection = connect(place, Workers(key=tmp_path / "key"))
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0
    assert comes_true(lambda: not is_alive(connection.process))


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In place of ssh, a script that runs the command here; it is handed back."""
    script = tmp_path / "bin" / "ssh"
    script.parent.mkdir()
    script.write_text(
        '#!/bin/sh\n[ "$1 $2 $3" = "-T -o BatchMode=yes" ] && [ "$6" = me@host ] || exit 99\n'
        'exec sh -c "$7"\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:{os.environ['PATH']}")
    return script


def test_a_worker_by_ssh_has_the_bits_of_an_engine_here(ssh: Path) -> None:
    workers = Workers(command=f"{sys.executable} -m quiltmd")
    here, there = water("cpu"), water("ssh:me@host/cpu", workers=workers)
    for simulation in (here, there):
        simulation.draw_velocities(300, seed=1)
        simulation.run(10)
    assert quiltmd.digest(here.state()) == quiltmd.digest(there.state())


@pytest.mark.parametrize(
    ("command", "because"),
    [
        ("no-such-command", "is not found on me@host: set `command`"),
        ("exit 255;", "ssh has no connection to me@host"),
        ("echo Welcome to this machine; sleep 5; :", "unexpected output from the remote shell"),
    ],
)
def test_ssh_that_fails(ssh: Path, command: str, because: str) -> None:
    with pytest.raises(LostError, match=because):
        connect(parse_place("ssh:me@host/cpu"), Workers(command=command))


def test_ctrl_c_while_a_host_does_not_answer_leaves_no_ssh_behind(
    ssh: Path, tmp_path: Path
) -> None:
    silent = f"echo $$ > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid; exec sleep 600; :"
    script = (
        "import sys\nfrom quiltmd import Workers\nfrom quiltmd.engine.places import parse_place\n"
        "from quiltmd.workers.launch import connect\n"
        "connect(parse_place('ssh:me@host/cpu'), Workers(command=sys.argv[1]))"
    )
    with subprocess.Popen([sys.executable, "-c", script, silent], stderr=subprocess.DEVNULL) as run:
        try:
            assert comes_true(lambda: (tmp_path / "pid").exists())
            worker = int((tmp_path / "pid").read_text())
            run.send_signal(signal.SIGINT)
            run.wait(120)
        finally:
            run.kill()
    assert not is_alive(worker)


def test_no_ssh_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(QuiltError, match="no worker can be started: ssh"):
        connect(parse_place("ssh:host/cpu"), Workers())


@pytest.mark.parametrize(
    "name",
    [
        "ssh:-oProxyCommand=x/cpu",
        "ssh:a@-host/cpu",
        "ssh:/cpu",
        "ssh:host",
        "ssh:host/worker:cpu",
        "ssh:ho st/cpu",
        "remote:host/cpu",
        "remote:host:99999/cpu",
        "remote::1/cpu",
    ],
)
def test_names_that_are_refused(name: str) -> None:
    with pytest.raises(QuiltError, match="there is no such device"):
        quiltmd.Execution(name)
    for good in ("ssh:a-b.c/cuda:0,1", "ssh:me@h/auto", "remote:[::1]:1/cpu", "worker:cuda:3"):
        assert str(parse_place(good)) == good


def test_a_slow_network_changes_nothing_and_a_silent_one_is_noticed(serving: Serving) -> None:
    """The run goes on with a spare, whose process is of this machine."""
    proxy = Proxy(serving.server.port, delay=0.002)
    settings = {"key": serving.key, "silence": 6.0, "spares": ("cpu",)}
    here = water("cpu")
    there = water(f"remote:127.0.0.1:{proxy.port}/cpu", workers=Workers(**settings))
    for simulation in (here, there):
        simulation.draw_velocities(300, seed=1)
        simulation.run(5)
    assert proxy.passed > 100_000
    assert quiltmd.digest(here.state()) == quiltmd.digest(there.state())
    proxy.silence()
    with pytest.warns(quiltmd.QuiltWarning, match=r"nothing was heard .* continuing on worker:cpu"):
        there.run(5)
    here.run(5)
    assert quiltmd.digest(here.state()) == quiltmd.digest(there.state())
