# SPDX-License-Identifier: Apache-2.0
"""A worker process: `python -m quiltmd.workers.process DESCRIPTOR`, of the socket to its client.

It ends with its client: at the end of the connection it exits at once, even in the middle of a
step, as nobody will ask for the rest.  Ctrl-C is for the client, which then asks for no more.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import socket
import sys
from functools import partial

from ..engine.core import EngineFactory
from ..engine.external_calls import make_engine_alone, make_engine_calling
from .channel import Channel
from .session import Session
from .tls import TOKEN_SIZE, Certificate, Encryption

_CLIENT_GONE = 60.0  # s; between machines a connection may be cut without an end


def main() -> None:
    """Serves the client of a socket, encrypted with what is on stdin if told so."""
    # Detached, since the descriptor must live as long as the process.
    descriptor = socket.socket(fileno=int(sys.argv[1])).detach()
    close = partial(os.close, descriptor)
    if "encrypted" in sys.argv[2:]:
        token = sys.stdin.buffer.read(TOKEN_SIZE)
        encryption = Encryption.at_server(token, Certificate(sys.stdin.read()))
        _serve(Channel(descriptor, descriptor, close, _CLIENT_GONE, encryption), make_engine_alone)
    else:
        _serve(Channel(descriptor, descriptor, close), make_engine_calling)


def serve_on_stdio() -> None:
    """Serves a client by stdin and stdout; what else is printed goes to stderr."""
    read, write = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    _serve(Channel(read, write, partial(os.close, write), _CLIENT_GONE), make_engine_calling)


def _serve(channel: Channel, factory: EngineFactory) -> None:
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Session(channel, factory).serve(gone=lambda _: os._exit(0))


if __name__ == "__main__":
    main()
