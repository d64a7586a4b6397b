# SPDX-License-Identifier: Apache-2.0
"""Who may use a worker over a network: who has the key.

Both ends prove that they have it, by HMAC-SHA-256 over two fresh random numbers and the fingerprint
of the certificate of the server.  The key itself never travels.  What follows is encrypted by TLS
with this certificate (`tls.py`), so nobody between can read, change, leave out, repeat or put in
anything; within a machine it may be left as it is.

    client -> server   8 bytes "QUILTMD2", 32 random bytes
    server -> client   32 random bytes, 32 bytes of a fingerprint, or 32 zeros: no encryption
    client -> server   HMAC(key, "client", random numbers and fingerprint)
    server -> client   HMAC(key, "welcome" or "full", random numbers and fingerprint)

Before the third line is right the server reads 72 bytes and no more, parses nothing, and has sent
nothing that is secret.
"""

from __future__ import annotations

import hmac
import os
import secrets
import socket
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..errors import QuiltError
from .tls import FINGERPRINT_SIZE, Certificate

_GREETING = b"QUILTMD2"
_BEFORE = b"QUILTMD1"  # of versions that did not encrypt
_SIZE = 32  # bytes, of keys, random numbers and proofs
_NONE = bytes(FINGERPRINT_SIZE)
_ADMISSION = 10.0  # s, for all of it, however slowly the bytes come


class AccessError(QuiltError):
    """The other end of a connection does not have the key, or has no room."""


class EndedError(AccessError):
    """The other end has closed the connection."""


class FullError(AccessError):
    """The server has as many sessions as it may have."""


def default_key_file() -> Path:
    """Default path of the key file."""
    home = os.environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "quiltmd" / "key"


def make_key(path: Path) -> None:
    """Writes a new key that nobody but the user can read; QuiltError if there is a file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise QuiltError(f"{path}: no key can be written: {error.strerror}") from None
    try:
        with open(handle, "w") as file:
            file.write(secrets.token_hex(_SIZE) + "\n")
    except OSError as error:
        path.unlink()  # half a key would be in the way of the next one
        raise QuiltError(f"{path}: no key can be written: {error.strerror}") from None


def read_key(path: Path) -> bytes:
    """The key in a file; QuiltError if others could have read it, or where it is none."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            _refuse_known_to_others(path, os.fstat(handle))
            text = os.read(handle, 4096)
        finally:
            os.close(handle)
    except OSError as error:
        raise QuiltError(
            f"{path}: the key cannot be read ({error.strerror}); 'quiltmd serve' makes one, and "
            "both ends need the same"
        ) from None
    try:
        key = bytes.fromhex(text.decode("ascii"))
    except ValueError:
        key = b""
    if len(key) < _SIZE:
        raise QuiltError(f"{path}: not a key: {_SIZE} bytes or more as hexadecimal digits")
    return key


def _refuse_known_to_others(path: Path, about: os.stat_result) -> None:
    if not stat.S_ISREG(about.st_mode):
        raise QuiltError(f"{path}: a key must be a file")
    if about.st_uid != os.geteuid():
        raise QuiltError(f"{path}: the key belongs to another user, who knows it")
    if about.st_mode & 0o077:
        raise QuiltError(
            f"{path}: others may read or change this key: 'chmod 600 {path}', and make a new one "
            "where somebody may have done so"
        )


@dataclass(frozen=True)
class Admission:
    """Data that both ends have after an admission.

    Attributes
    ----------
    token:
        Known to these two alone.
    fingerprint:
        Fingerprint of the server's certificate; None: the connection is not encrypted.
    """

    token: bytes
    fingerprint: bytes | None


def ask_for_admission(connection: socket.socket, key: bytes) -> Admission:
    """The client's part.

    AccessError where the server does not have the key, refuses ours or has no room.
    """
    until = time.monotonic() + _ADMISSION
    own = secrets.token_bytes(_SIZE)
    _send(connection, _GREETING + own)
    try:
        answer = _receive(connection, _SIZE + FINGERPRINT_SIZE, until)
    except EndedError:
        raise AccessError(
            "it has ended the connection at our greeting, as a server of another version of "
            "quiltmd does: install the same on both"
        ) from None
    said = own + answer
    _send(connection, _proof(key, b"client", said))
    found = _receive(connection, _SIZE, until)
    connection.settimeout(None)
    if hmac.compare_digest(found, _proof(key, b"full", said)):
        raise FullError("the server has reached its maximum number of sessions")
    if not hmac.compare_digest(found, _proof(key, b"welcome", said)):
        raise AccessError("the server has another key")
    fingerprint = answer[_SIZE:]
    return Admission(_proof(key, b"token", said), None if fingerprint == _NONE else fingerprint)


def admit(
    connection: socket.socket,
    key: bytes,
    takes_place: Callable[[], bool],
    certificate: Certificate | None = None,
) -> Admission | None:
    """The server's part; None where there is no room.

    `takes_place` is asked once the client has shown that it has the key.  AccessError where it does
    not have it; it is told nothing.
    """
    until = time.monotonic() + _ADMISSION
    greeting = _receive(connection, len(_GREETING) + _SIZE, until)
    if greeting.startswith(_BEFORE):
        raise AccessError(
            "it is a client of an earlier version of quiltmd, whose connections are not encrypted: "
            "install the same version there"
        )
    if not greeting.startswith(_GREETING):
        raise AccessError("it is no client of quiltmd")
    fingerprint = None if certificate is None else certificate.fingerprint
    answer = secrets.token_bytes(_SIZE) + (fingerprint or _NONE)
    _send(connection, answer)
    said = greeting[len(_GREETING) :] + answer
    if not hmac.compare_digest(_receive(connection, _SIZE, until), _proof(key, b"client", said)):
        raise AccessError("it does not have the key")
    has_place = takes_place()
    _send(connection, _proof(key, b"welcome" if has_place else b"full", said))
    connection.settimeout(None)
    return Admission(_proof(key, b"token", said), fingerprint) if has_place else None


def _proof(key: bytes, role: bytes, said: bytes) -> bytes:
    return hmac.digest(key, role + b"\0" + said, "sha256")


def _send(connection: socket.socket, data: bytes) -> None:
    connection.settimeout(_ADMISSION)
    try:
        connection.sendall(data)
    except OSError as error:
        raise AccessError(f"it does not answer ({error})") from None


def _receive(connection: socket.socket, count: int, until: float) -> bytes:
    """`count` bytes; AccessError where they do not come in time."""
    data = b""
    try:
        while len(data) < count:
            connection.settimeout(max(until - time.monotonic(), 1e-3))
            got = connection.recv(count - len(data))
            if not got:
                raise EndedError("it has ended the connection")
            data += got
    except OSError as error:
        raise AccessError(f"it does not answer ({error})") from None
    return data
