# SPDX-License-Identifier: Apache-2.0
"""Workers are started and reached: here, by ssh, or where `quiltmd serve` listens."""

from __future__ import annotations

import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from ..engine.hosts import started
from ..engine.places import Place
from ..engine.worker_settings import Workers
from ..errors import QuiltError
from ..starting import Starting
from . import mpi
from .access import AccessError, FullError, ask_for_admission, default_key_file, read_key
from .channel import Channel, ClosedError
from .client import Connection, check_hello
from .tls import Certificate, Encryption

_LAST_BREATH = 0.5  # s, in which a worker that was told to end may do so by itself
_REACH = 10.0  # s
_AT_ONCE = 8  # workers that start; an sshd refuses some where more than ten log in to it together
_SSH_FAILED, _NOT_FOUND = 255, 127


def connect(place: Place, settings: Workers) -> Connection:
    """A worker at a place, ready to make an engine; QuiltError if there will be none."""
    with Starting() as starting:
        (connection,) = connect_all([place], settings, starting)
        starting.pop_all()
    return connection


def connect_all(places: Sequence[Place], settings: Workers, starting: Starting) -> list[Connection]:
    """A worker at each place; QuiltError if there will not be all of them."""
    found: list[Connection] = []
    for begin in range(0, len(places), _AT_ONCE):
        found += [_begin(place, settings, starting) for place in places[begin : begin + _AT_ONCE]]
        hellos = [connection.begin("hello") for connection in found[begin:]]
        for connection, hello in zip(found[begin:], hellos, strict=True):
            check_hello(connection, hello.result())
    return found


def _begin(place: Place, settings: Workers, starting: Starting) -> Connection:
    """A worker that may still be starting."""
    name, encryption = str(place), None
    last_words: Callable[[Exception], str] = _no_words
    if place.kind == "mpi":
        name = f"rank {place.process} ({started(place.process).host})"
    if place.kind == "remote":
        ours, encryption = _admitted(place, settings, starting)
    elif place.kind == "mpi" and place.process > 0:
        ours, encryption = mpi.reach(place.process)
        starting.callback(_shut, ours)
    else:
        ours, process = _worker_process(place, settings, starting)
        last_words = partial(_end_process, process, place, settings)
    channel = _channel(ours, settings, encryption)
    return starting.start(partial(Connection, channel, name, last_words), Connection.close)


def _worker_process(
    place: Place, settings: Workers, starting: Starting
) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """The socket of a worker that is a child of this process, or that a child has started."""
    ours, theirs = socket.socketpair()
    with theirs:
        spawn = partial(_by_ssh, place, settings) if place.kind == "ssh" else _here
        return ours, starting.start(partial(spawn, theirs), _kill)


def _no_words(error: Exception) -> str:
    """Of a worker that this process has not started."""
    return ""


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):  # it has ended already
        connection.shutdown(socket.SHUT_RDWR)


def spawn_worker(
    connection: socket.socket, token: bytes, certificate: Certificate
) -> subprocess.Popen[bytes]:
    """A worker process for a connection that was admitted, with what encrypts it."""
    with Starting() as starting:
        spawn = partial(_here, connection, "encrypted", stdin=subprocess.PIPE)
        worker = starting.start(spawn, _kill)
        assert worker.stdin is not None
        with worker.stdin as pipe:  # not among the arguments, which everybody can read
            pipe.write(token + certificate.pem.encode())
        starting.pop_all()
    return worker


def _here(
    theirs: socket.socket, *arguments: str, stdin: int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    """A worker process of this machine."""
    number = theirs.fileno()
    command = [sys.executable, "-m", "quiltmd.workers.process", str(number), *arguments]
    return _spawn(command, stdin=stdin, pass_fds=(number,))


def _by_ssh(place: Place, settings: Workers, theirs: socket.socket) -> subprocess.Popen[bytes]:
    """A worker on another host, whose stdin and stdout are the connection."""
    options = ["-T", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={_REACH:g}"]
    command = ["ssh", *options, place.host, f"{settings.command} serve --stdio"]
    return _spawn(command, stdin=theirs, stdout=theirs)


def _spawn(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
    """A process that Ctrl-C in this terminal does not reach."""
    try:
        return subprocess.Popen(command, start_new_session=True, **options)
    except OSError as error:
        raise QuiltError(
            f"no worker can be started: {shlex.join(command)}: {error.strerror}"
        ) from None


def _admitted(
    place: Place, settings: Workers, starting: Starting
) -> tuple[socket.socket, Encryption]:
    """A connection to a server that has let us in."""
    file = settings.key or default_key_file()
    key = read_key(file)
    where = f"{place.host}:{place.port}"
    try:
        ours = socket.create_connection((place.host.strip("[]"), place.port), timeout=_REACH)
    except (OSError, UnicodeError) as error:  # UnicodeError: of names that no host can have
        why = getattr(error, "strerror", None) or error
        raise QuiltError(
            f"{where} cannot be reached ({why}): does 'quiltmd serve' run there, and listen on "
            "that port of that address?"
        ) from None
    starting.callback(_shut, ours)
    try:
        admission = ask_for_admission(ours, key)
        if admission.fingerprint is None:
            raise AccessError("it does not encrypt its messages")
    except AccessError as error:
        advice = (
            "wait for one to end, or start 'quiltmd serve' there with more --sessions"
            if isinstance(error, FullError)
            else f"'quiltmd serve' there must have the key that is in {file}"
        )
        raise QuiltError(f"{where} refuses the connection: {error}; {advice}") from None
    ours.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return ours, Encryption.at_client(admission.token, admission.fingerprint)


def _channel(ours: socket.socket, settings: Workers, encryption: Encryption | None) -> Channel:
    return Channel(ours.fileno(), ours.fileno(), partial(_shut, ours), settings.silence, encryption)


def _end_process(
    process: subprocess.Popen[bytes], place: Place, settings: Workers, error: Exception
) -> str:
    """Ends a worker process, and says how it had ended if it had by itself.

    If the worker has closed the connection its process is ending, which may take it seconds, as a
    GPU has to be given back.
    """
    is_ending = isinstance(error, ClosedError)
    try:
        with suppress(subprocess.TimeoutExpired):
            process.wait(settings.silence if is_ending else _LAST_BREATH)
    finally:  # also where Ctrl-C breaks off the waiting
        by_itself = process.poll() is not None
        process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_REACH)
    status = process.returncode
    if not by_itself or not status:
        return ""
    if status < 0:
        return f"its process was killed by {_name_of_signal(-status)}"
    if place.kind == "ssh" and status == _SSH_FAILED:
        return (
            f"ssh has no connection to {place.host} (any more): does 'ssh {place.host} "
            f"{settings.command} --version' work, without a password?"
        )
    if place.kind == "ssh" and status == _NOT_FOUND:
        return (
            f"'{settings.command}' is not found on {place.host}: set `command` in [workers] to "
            "where it is"
        )
    return f"its process ended with exit status {status}"


def _name_of_signal(number: int) -> str:
    """SIGKILL of 9; real-time signals have no names."""
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"
