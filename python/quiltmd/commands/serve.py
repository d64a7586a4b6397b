# SPDX-License-Identifier: Apache-2.0
"""`quiltmd serve`: lets those who have a key run simulations on the devices of this machine."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated

import typer

from ..engine.worker_settings import Workers
from ..running.progress import say
from ..workers.access import default_key_file, make_key, read_key
from ..workers.process import serve_on_stdio
from ..workers.server import Server

PORT = 7411


def serve(
    host: Annotated[
        str,
        typer.Option(help="Address to listen on; 0.0.0.0: all addresses."),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0: any free port.")
    ] = PORT,
    key: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Key file that clients must have; created if missing. "
            "[default: ~/.config/quiltmd/key]",
        ),
    ] = None,
    sessions: Annotated[
        int, typer.Option(min=1, help="Maximum number of simulations at the same time.")
    ] = 16,
    stdio: Annotated[
        bool,
        typer.Option(
            "--stdio", help="Serve one client through stdin and stdout, as devices ssh:... do."
        ),
    ] = False,
) -> None:
    """Let clients on other machines use the devices of this machine.

    Clients give --device remote:HOST:PORT/cuda:0 and need the same key.  Each simulation runs in a
    process of its own with the rights of the user who started the server.  Ctrl-C ends the server
    and all simulations.
    """
    if stdio:
        serve_on_stdio()
        return
    file = Workers(key=key).key or default_key_file()
    if not file.exists():
        make_key(file)
        say(f"a new key is in {file}: copy it to the clients, readable only by you")
    server = Server(host, port, read_key(file), sessions, say)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: server.close())
    say(f"listening on {host}:{server.port}, for clients with the key in {file}")
    server.serve()
