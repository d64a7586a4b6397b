# SPDX-License-Identifier: Apache-2.0
"""Who may use a worker over a network: who has the key.

Both ends prove that they have it, by HMAC-SHA-256 over two fresh random numbers, and derive keys
from it with which every later message is sealed (BLAKE2b with a key and a count, for each direction
by itself), so that nothing can be changed, left out, repeated or put in on the way.  The key itself
never travels.  Messages can be read on the way: where they must not be, `ssh:` is the way to go.

    client -> server   8 bytes "QUILTMD1", 32 random bytes
    server -> client   32 random bytes
    client -> server   HMAC(key, "client", both random numbers)
    server -> client   HMAC(key, "welcome" or "full", both random numbers)

Before the third line is right the server reads 72 bytes and no more, parses nothing, and has sent
random bytes only.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import socket
import stat
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ..errors import QuiltError

_GREETING = b"QUILTMD1"
_SIZE = 32  # bytes, of keys, random numbers and proofs
KEYS_SIZE = 2 * _SIZE
_ADMISSION = 10.0  # s, for all of it, however slowly the bytes come


class AccessError(QuiltError):
    """The other end of a connection does not have the key, or has no room."""


class FullError(AccessError):
    """The server has as many sessions as it may have."""


def default_key_file() -> Path:
    """Where keys are kept unless told otherwise."""
    home = os.environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "quiltmd" / "key"


def make_key(path: Path) -> None:
    """Writes a new key that nobody but the user can read; QuiltError where there is a file."""
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
    """The key in a file; QuiltError where others could have read it, or where it is none."""
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


class BlakeSeal:
    """Seals messages of a connection; see `channel.Seal`.

    Parameters
    ----------
    keys:
        64 bytes: a key for what is sent, then one for what is received.
    """

    size = _SIZE

    def __init__(self, keys: bytes) -> None:
        if len(keys) != KEYS_SIZE:
            raise ValueError(f"{len(keys)} bytes of keys, and not {KEYS_SIZE}")
        self._keys = keys[:_SIZE], keys[_SIZE:]
        self._sent = self._received = 0

    def mark(self, parts: list[bytes | memoryview]) -> bytes:
        """The mark of the next message that is sent."""
        self._sent += 1
        return _seal(self._keys[0], self._sent, parts)

    def check(self, parts: list[memoryview], mark: memoryview) -> bool:
        """Whether this is the mark of the next message that is received."""
        self._received += 1
        return hmac.compare_digest(_seal(self._keys[1], self._received, parts), mark)


def _seal(key: bytes, number: int, parts: Sequence[bytes | memoryview]) -> bytes:
    made = hashlib.blake2b(number.to_bytes(8, "little"), key=key, digest_size=_SIZE)
    for part in parts:
        made.update(part)
    return made.digest()


def ask_for_admission(connection: socket.socket, key: bytes) -> bytes:
    """The client's part; keys for `BlakeSeal`.

    AccessError where the server does not have the key, refuses ours or has no room.
    """
    until = time.monotonic() + _ADMISSION
    own = secrets.token_bytes(_SIZE)
    _send(connection, _GREETING + own)
    both = own + _receive(connection, _SIZE, until)
    _send(connection, _proof(key, b"client", both))
    found = _receive(connection, _SIZE, until)
    connection.settimeout(None)
    if hmac.compare_digest(found, _proof(key, b"full", both)):
        raise FullError("the server has as many sessions as it may have")
    if not hmac.compare_digest(found, _proof(key, b"welcome", both)):
        raise AccessError("the server does not know our key")
    return _proof(key, b"to server", both) + _proof(key, b"to client", both)


def admit(connection: socket.socket, key: bytes, takes_place: Callable[[], bool]) -> bytes | None:
    """The server's part; keys for `BlakeSeal`, None where there is no room.

    `takes_place` is asked once the client has shown that it has the key.  AccessError where it does
    not have it; it is told nothing.
    """
    until = time.monotonic() + _ADMISSION
    greeting = _receive(connection, len(_GREETING) + _SIZE, until)
    if not greeting.startswith(_GREETING):
        raise AccessError("it is no client of quiltmd")
    own = secrets.token_bytes(_SIZE)
    _send(connection, own)
    both = greeting[len(_GREETING) :] + own
    if not hmac.compare_digest(_receive(connection, _SIZE, until), _proof(key, b"client", both)):
        raise AccessError("it does not have the key")
    has_place = takes_place()
    _send(connection, _proof(key, b"welcome" if has_place else b"full", both))
    connection.settimeout(None)
    if not has_place:
        return None
    return _proof(key, b"to client", both) + _proof(key, b"to server", both)


def _proof(key: bytes, role: bytes, both: bytes) -> bytes:
    return hmac.digest(key, role + b"\0" + both, "sha256")


def _send(connection: socket.socket, data: bytes) -> None:
    connection.settimeout(_ADMISSION)
    try:
        connection.sendall(data)
    except OSError as error:
        raise AccessError(f"it does not answer ({error})") from None


def _receive(connection: socket.socket, count: int, until: float) -> bytes:
    """So many bytes; AccessError where they do not come in time."""
    data = b""
    try:
        while len(data) < count:
            connection.settimeout(max(until - time.monotonic(), 1e-3))
            got = connection.recv(count - len(data))
            if not got:
                raise AccessError("it has ended the connection")
            data += got
    except OSError as error:
        raise AccessError(f"it does not answer ({error})") from None
    return data
