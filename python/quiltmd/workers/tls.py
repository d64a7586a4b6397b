# SPDX-License-Identifier: Apache-2.0
"""Encryption of what leaves a host: TLS 1.3 between two ends that have the same key.

A server makes a certificate for itself when it starts.  Nobody signs it; its fingerprint is part of
what both ends prove in the admission (`access.py`), so the client knows which certificate it must
meet: whoever sits between and has another one is found out.  The server, in turn, first reads a
token from the encrypted connection, which only the client can know.

The layer works on bytes and knows no socket: OpenSSL's connections cannot be read and written by
two threads at once, so a lock is around each piece, and not around the waiting for a network.
"""

from __future__ import annotations

import hashlib
import hmac
import ssl
import subprocess
import tempfile
import threading
from dataclasses import dataclass
from typing import Any

from ..errors import LostError, QuiltError

TOKEN_SIZE = FINGERPRINT_SIZE = 32  # bytes
_CONFIGURATION = b"[req]\ndistinguished_name=d\n[d]\n"  # in place of the one of the system
_MAKE = (
    *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
    *(
        "-subj",
        "/CN=quiltmd",
        "-days",
        "3650",
        "-config",
        "/dev/stdin",
        "-keyout",
        "-",
        "-out",
        "-",
    ),
)
_LIMIT = 60.0  # s


@dataclass(frozen=True)
class Certificate:
    """A certificate with its private key.

    Attributes
    ----------
    pem:
        Both, as text.
    """

    pem: str

    @property
    def fingerprint(self) -> bytes:
        """SHA-256 of the certificate."""
        begin = self.pem.index("-----BEGIN CERTIFICATE-----")
        return hashlib.sha256(ssl.PEM_cert_to_DER_cert(self.pem[begin:])).digest()


def make_certificate() -> Certificate:
    """A new certificate on the curve P-256; QuiltError if `openssl` cannot make one."""
    advice = (
        "encrypted connections need a certificate, which the command 'openssl' makes: install it, "
        "or reach this host by ssh"
    )
    try:
        made = subprocess.run(_MAKE, input=_CONFIGURATION, capture_output=True, timeout=_LIMIT)
    except OSError as error:
        raise QuiltError(f"openssl cannot be started ({error.strerror}): {advice}") from None
    except subprocess.TimeoutExpired:
        raise QuiltError(f"openssl has not answered for {_LIMIT:g} s: {advice}") from None
    text = made.stdout.decode("ascii", "replace")
    if made.returncode or "-----BEGIN CERTIFICATE-----" not in text:
        lines = made.stderr.decode(errors="replace").strip().splitlines() or ["it says nothing"]
        raise QuiltError(f"openssl makes no certificate ({lines[-1]}): {advice}")
    return Certificate(text)


class Encryption:
    """One end of an encrypted connection; `at_client` and `at_server` make it.

    Bytes go in by `take_in` as they come from the network, and out to it as `shake_hands` and
    `encrypt` give them.  These two must be called, and what they give be sent, by one thread at a
    time; another may decrypt meanwhile.
    """

    def __init__(self, context: ssl.SSLContext, token: bytes, fingerprint: bytes | None) -> None:
        if len(token) != TOKEN_SIZE:
            raise ValueError(f"a token of {len(token)} bytes, and not {TOKEN_SIZE}")
        self.is_open = False
        self._token, self._fingerprint = token, fingerprint
        self._from_network, self._to_network = ssl.MemoryBIO(), ssl.MemoryBIO()
        is_server = fingerprint is None
        self._tls = context.wrap_bio(self._from_network, self._to_network, server_side=is_server)
        self._lock = threading.Lock()
        self._early = [] if is_server else [token]  # to be sent once the connection is open
        self._came = memoryview(bytearray(TOKEN_SIZE if is_server else 0))
        self._missing = self._came  # where the rest of the client's token goes

    @classmethod
    def at_client(cls, token: bytes, fingerprint: bytes) -> Encryption:
        """For a server whose certificate has this fingerprint."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # by fingerprint instead
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        return cls(context, token, fingerprint)

    @classmethod
    def at_server(cls, token: bytes, certificate: Certificate) -> Encryption:
        """For a client that has this token."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.num_tickets = 0  # no connection is taken up again
        with tempfile.NamedTemporaryFile("w") as file:  # of the user alone; ssl reads files only
            file.write(certificate.pem)
            file.flush()
            context.load_cert_chain(file.name)
        return cls(context, token, None)

    def shake_hands(self) -> bytes:
        """Next bytes to send until `is_open`; LostError if the other end is not authentic."""
        try:
            with self._lock:
                self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return self._to_network.read()
        except ssl.SSLError as error:
            raise LostError(f"no encrypted connection can be made ({error.reason})") from None
        if self._fingerprint is not None:
            certificate = self._tls.getpeercert(binary_form=True) or b""
            if not hmac.compare_digest(hashlib.sha256(certificate).digest(), self._fingerprint):
                raise LostError(
                    "the certificate of the server is not the one that was proved with the key: "
                    "somebody may be intercepting the connection"
                )
        self.is_open = True
        early, self._early = self._early, []
        return self._to_network.read() + b"".join(map(self.encrypt, early))

    def encrypt(self, data: bytes | memoryview) -> bytes:
        """Encrypted form of these bytes; empty before the connection is open.

        LostError if the connection has ended, as `decrypt_into` has found.
        """
        if not self.is_open:
            self._early.append(bytes(data))
            return b""
        if not data:
            return b""
        try:
            with self._lock:
                self._tls.write(data)
                return self._to_network.read()
        except ssl.SSLError:
            raise LostError("the connection has ended") from None

    def take_in(self, data: bytes | memoryview) -> None:
        """Bytes that have come from the network."""
        with self._lock:
            self._from_network.write(data)

    def decrypt_into(self, target: memoryview) -> int:
        """Number of decrypted bytes; 0 if more bytes must be received first.

        LostError if bytes were changed on their way, or the other end has closed the connection
        or does not have the token.
        """
        if self._missing:
            self._missing = self._missing[self._decrypt_into(self._missing) :]
            if self._missing:
                return 0
            if not hmac.compare_digest(self._came, self._token):
                raise LostError("the client is not the one that has shown the key")
        return self._decrypt_into(target)

    def _decrypt_into(self, target: memoryview) -> int:
        left = target
        try:
            with self._lock:
                while left:
                    count: Any = self._tls.read(len(left), left)  # a number, as it has a buffer
                    left = left[count:]
                    if not count:
                        raise LostError("the connection has ended")
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:
            raise LostError(f"a message was changed on its way ({error.reason})") from None
        return len(target) - len(left)
