# SPDX-License-Identifier: Apache-2.0
"""What leaves a host cannot be read, and nobody gets between the two ends."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from proxy import Proxy
from test_remote import Serving
from test_workers import channel_of, comes_true

from quiltmd import LostError, QuiltError, Workers
from quiltmd.engine.hosts import Process
from quiltmd.engine.places import Place, parse_place
from quiltmd.workers import launch, mpi, tls
from quiltmd.workers.access import AccessError, Admission, admit, ask_for_admission, read_key
from quiltmd.workers.launch import connect
from quiltmd.workers.mpi import Door
from quiltmd.workers.tls import Certificate, Encryption, make_certificate

TOKEN = bytes(range(32))


@pytest.fixture(scope="module")
def certificate() -> Certificate:
    return make_certificate()


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Serving]:
    made = Serving(tmp_path)
    yield made
    made.close()


class Between:
    """A client and a server that are encrypted, and the two sockets of who is between them."""

    def __init__(self, client: Encryption, server: Encryption) -> None:
        ours, self.near = socket.socketpair()
        self.far, theirs = socket.socketpair()
        self.client, self.server = channel_of(ours, client), channel_of(theirs, server)
        self._ends = ours, theirs, self.near, self.far  # live as long as this

    def carry(self) -> None:
        """Passes on all that is sent in both directions, in threads."""
        for source, target in ((self.near, self.far), (self.far, self.near)):
            threading.Thread(target=_carry, args=(source, target), daemon=True).start()


def _carry(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)


def between(certificate: Certificate) -> Between:
    client = Encryption.at_client(TOKEN, certificate.fingerprint)
    return Between(client, Encryption.at_server(TOKEN, certificate))


@pytest.mark.parametrize("count", [0, 1, 16_000, 16_385, 3_000_000])
def test_messages_of_any_length_arrive(certificate: Certificate, count: int) -> None:
    pair = between(certificate)
    pair.carry()
    data = np.random.default_rng(1).integers(0, 256, count, np.uint8)
    pair.client.send({"early": 1})  # before anybody has shaken hands
    pair.server.send({"early": 2})
    answers: list[Any] = []
    threads = [
        threading.Thread(target=lambda: [pair.client.send({"n": n, "x": data}) for n in (1, 2)]),
        threading.Thread(target=lambda: answers.extend(pair.client.receive() for _ in range(2))),
    ]
    for thread in threads:
        thread.start()
    assert pair.server.receive() == {"early": 1}
    found = [pair.server.receive() for _ in range(2)]
    assert sorted(one["n"] for one in found) == [1, 2]
    assert all(np.array_equal(one["x"], data) for one in found)
    pair.server.send({"x": data})
    for thread in threads:
        thread.join(120)
    assert answers[0] == {"early": 2}
    assert np.array_equal(answers[1]["x"], data)


def opened(certificate: Certificate) -> tuple[Encryption, Encryption]:
    client = Encryption.at_client(TOKEN, certificate.fingerprint)
    server = Encryption.at_server(TOKEN, certificate)
    server.take_in(client.shake_hands())
    client.take_in(server.shake_hands())
    server.take_in(client.shake_hands())
    server.shake_hands()
    assert client.is_open
    assert server.is_open
    return client, server


def decrypted(end: Encryption, *pieces: bytes) -> bytes:
    target = memoryview(bytearray(1000))
    for piece in pieces:
        end.take_in(piece)
    return bytes(target[: end.decrypt_into(target)])


def test_bytes_are_taken_once_and_in_order(certificate: Certificate) -> None:
    client, server = opened(certificate)
    first, second = client.encrypt(b"one"), client.encrypt(b"two")
    assert decrypted(server, first, second) == b"onetwo"
    with pytest.raises(LostError, match="was changed on its way"):
        decrypted(server, second)
    for wrong in ((second, first), (second,)):  # in another order, one left out
        client, server = opened(certificate)
        first, second = client.encrypt(b"one"), client.encrypt(b"two")
        with pytest.raises(LostError, match="was changed on its way"):
            decrypted(server, *wrong)


@pytest.mark.parametrize("at", [5, 8, -1])
def test_bytes_that_were_changed_are_not_taken(certificate: Certificate, at: int) -> None:
    client, server = opened(certificate)
    data = bytearray(client.encrypt(b"some words"))
    data[at] ^= 1
    with pytest.raises(LostError, match="was changed on its way"):
        decrypted(server, bytes(data))
    with pytest.raises(LostError, match="the connection has ended"):
        server.encrypt(b"an answer")


def test_who_has_no_token_is_not_heard(certificate: Certificate) -> None:
    """Somebody who has passed on the admission of a client, and then speaks in its place."""
    client = Encryption.at_client(bytes(32), certificate.fingerprint)
    server = Encryption.at_server(TOKEN, certificate)
    server.take_in(client.shake_hands())
    client.take_in(server.shake_hands())
    server.take_in(client.shake_hands())
    server.shake_hands()
    with pytest.raises(LostError, match="not the one that has shown the key"):
        decrypted(server, client.encrypt(b"run"))
    for size in (0, 31, 33):
        with pytest.raises(ValueError, match="a token of"):
            Encryption.at_server(bytes(size), certificate)


def test_only_the_newest_version_is_spoken(certificate: Certificate) -> None:
    server = Encryption.at_server(TOKEN, certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(received, sent)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    server.take_in(sent.read())
    with pytest.raises(LostError, match="no encrypted connection"):
        server.shake_hands()


class Relay(Proxy):
    """Passes on an admission, then speaks TLS to both ends with a certificate of its own."""

    def __init__(self, target: int, own: Certificate) -> None:
        self._own = own
        self.seen = b""
        super().__init__(target)

    def _serve(self) -> None:
        near, _ = self._listener.accept()
        far = socket.create_connection(("127.0.0.1", self._target))
        for source, target, count in ((near, far, 40), (far, near, 64), (near, far, 32)):
            target.sendall(source.recv(count, socket.MSG_WAITALL))
        near.sendall(far.recv(32, socket.MSG_WAITALL))
        listening = Encryption.at_server(TOKEN, self._own)
        target = memoryview(bytearray(1000))
        with suppress(OSError, LostError):
            while data := near.recv(1 << 16):
                listening.take_in(data)
                near.sendall(b"" if listening.is_open else listening.shake_hands())
                if listening.is_open:
                    self.seen += bytes(target[: listening.decrypt_into(target)])
        near.close()
        far.close()


def test_nobody_gets_between(serving: Serving, certificate: Certificate) -> None:
    relay = Relay(serving.server.port, certificate)
    place = parse_place(f"remote:127.0.0.1:{relay.port}/cpu")
    with pytest.raises(LostError, match="somebody may be intercepting"):
        connect(place, Workers(key=serving.key))
    assert relay.seen == b""
    assert comes_true(lambda: not serving.server._sessions)  # its worker has ended


def test_a_server_that_does_not_encrypt_is_refused(tmp_path: Path, serving: Serving) -> None:
    """It has the key, and says that it does not encrypt."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                admit(connection, read_key(serving.key), lambda: True)

        threading.Thread(target=answer, daemon=True).start()
        place = parse_place(f"remote:127.0.0.1:{listener.getsockname()[1]}/cpu")
        with pytest.raises(QuiltError, match="does not encrypt its messages"):
            connect(place, Workers(key=serving.key))


class Recorder(Proxy):
    """Keeps what it passes on."""

    def __init__(self, target: int) -> None:
        self.recorded = bytearray()
        super().__init__(target)

    def pass_on(self, data: bytes, target: socket.socket) -> None:
        self.recorded += data
        super().pass_on(data, target)


def shows(recorded: bytes, array: Any) -> bool:
    """Whether eight bytes of an array are among those that were sent."""
    words = {array.tobytes()[at : at + 8] for at in range(0, array.nbytes, 8)}
    return any(word in recorded for word in words)


def test_who_listens_sees_nothing_of_a_state(serving: Serving) -> None:
    proxy = Recorder(serving.server.port)
    positions = np.random.default_rng(1).normal(size=(300, 3))
    place = parse_place(f"remote:127.0.0.1:{proxy.port}/cpu")
    connection = connect(place, Workers(key=serving.key))
    assert np.array_equal(connection.call("echo", {"positions": positions})["positions"], positions)
    connection.close()
    assert len(proxy.recorded) > 2 * positions.nbytes
    assert not shows(proxy.recorded, positions)
    assert b"positions" not in proxy.recorded
    assert read_key(serving.key) not in proxy.recorded
    ours, theirs = (
        socket.socketpair()
    )  # within a machine it does, so the search finds what is there
    channel_of(ours).send({"positions": positions})
    assert shows(theirs.recv(1 << 16), positions)


def test_processes_of_several_hosts_encrypt(
    certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that MPI has started: process 0 reaches the other by a network that is listened to."""
    positions = np.random.default_rng(1).normal(size=(300, 3))
    monkeypatch.setattr(mpi, "_secret", TOKEN)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        proxy = Recorder(listener.getsockname()[1])
        there = Process("127.0.0.1", proxy.port, (), ())
        monkeypatch.setattr(mpi, "started_together", [Process("elsewhere", 0, (), ()), there])
        monkeypatch.setattr(mpi, "started", lambda number: there)
        monkeypatch.setattr(launch, "started", lambda number: there)
        door = Door(listener, TOKEN, certificate)
        serve = partial(mpi._serve_sessions, door, "elsewhere")
        threading.Thread(target=serve, daemon=True).start()
        connection = connect(Place("mpi", "cpu", process=1), Workers())
        assert np.array_equal(connection.call("echo", positions), positions)
        connection.close()
    assert len(proxy.recorded) > 2 * positions.nbytes
    assert not shows(proxy.recorded, positions)


def test_earlier_versions_are_told_apart(tmp_path: Path, serving: Serving) -> None:
    with socket.create_connection(("127.0.0.1", serving.server.port), 120) as connection:
        connection.sendall(b"QUILTMD1" + bytes(32))
        with suppress(OSError):
            assert connection.recv(1) == b""
    assert comes_true(lambda: any("an earlier version of quiltmd" in t for t in serving.told))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        refuse = partial(_refuse, listener)
        threading.Thread(target=refuse, daemon=True).start()
        place = parse_place(f"remote:127.0.0.1:{listener.getsockname()[1]}/cpu")
        with pytest.raises(QuiltError, match="another version of quiltmd does: install the same"):
            connect(place, Workers(key=serving.key))


def _refuse(listener: socket.socket) -> None:
    """As a server that knows another greeting."""
    connection, _ = listener.accept()
    with connection:
        connection.recv(40, socket.MSG_WAITALL)


@pytest.mark.parametrize(
    ("command", "because"),
    [
        (("no-such-command",), "cannot be started"),
        (("sh", "-c", "cat >/dev/null; echo no curves >&2; exit 1"), "no certificate .no curves"),
        (("true",), "no certificate .it says nothing"),
    ],
)
def test_no_certificate_can_be_made(
    monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], because: str
) -> None:
    monkeypatch.setattr(tls, "_MAKE", command)
    with pytest.raises(QuiltError, match=because):
        make_certificate()


def test_those_who_say_nothing_keep_no_process_out(certificate: Certificate) -> None:
    """Of processes that MPI has started: the one with the secret comes last of a hundred."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        door = Door(listener, TOKEN, certificate)
        silent = [socket.create_connection(listener.getsockname()) for _ in range(100)]
        stranger = socket.create_connection(listener.getsockname(), 120)
        with pytest.raises(AccessError):
            ask_for_admission(stranger, bytes(32))
        with socket.create_connection(listener.getsockname(), 120) as ours:
            asked = ask_for_admission(ours, TOKEN)
            theirs, admission = door.first_admitted(120)
            assert asked == admission == Admission(asked.token, certificate.fingerprint)
            silent[0].setblocking(False)
            with pytest.raises(BlockingIOError):  # it has not been turned away yet
                silent[0].recv(1)
        with pytest.raises(QuiltError, match="process 0 has not connected"):
            door.first_admitted(0.01)
        for end in (*silent, stranger, theirs):
            end.close()
