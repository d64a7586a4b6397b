# SPDX-License-Identifier: Apache-2.0
"""Processes that a launcher of MPI (mpirun, mpiexec, srun) has started together, a rank for each.

MPI is there to meet: processes learn where the others are, and share a secret.  Then it is ended,
and process 0 has the others as workers, over TCP, as if ssh had started them: it reads inputs and
writes files, has its own share computed by a worker beside itself, and the others end when it does.
They are the ranks of one simulation, or have replicas of an exchange dealt out among them.  So a
process that dies is found out and named here, whatever the MPI, and none waits in a loop of MPI's
for messages, on a core that forces need.
"""

from __future__ import annotations

import faulthandler
import importlib
import os
import secrets
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, NoReturn

from ..engine.core import load_core
from ..engine.execution import core_numbers, devices
from ..engine.external_calls import make_engine_calling
from ..engine.hosts import Process, started, started_together
from ..errors import QuiltError
from . import lifelines
from .access import AccessError, Admission, admit, ask_for_admission
from .channel import Channel, SilentError
from .session import Session
from .tls import Certificate, Encryption, make_certificate

# Variables in which launchers give the number of started processes; the first that is set counts,
# because one launcher may be started by another: Open MPI, MPICH and its descendants, MVAPICH,
# Slurm.
_COUNTS = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")
_SECRET = 32  # bytes
_START = 300.0  # s, until all have met
_LIMIT = 60.0  # s, until process 0 comes
_CLIENT_GONE = 60.0  # s; between machines a connection may be cut without an end
_REACH = 10.0  # s
_LOOK = 0.2  # s
_LATER = 0.5  # s after process 0, whose exit status is that of all, do the others end
# Signals that ask a run to stop; batch systems send them to all processes.
_FOR_PROCESS_0 = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGXCPU,
)

_secret = b""  # of these processes


def launched() -> int:
    """Number of processes started by the launcher, including this one."""
    for name in _COUNTS:
        if os.environ.get(name, "").isdecimal():
            return int(os.environ[name])
    return 1


def join() -> None:
    """Meets the processes that a launcher has started together with this one, if it has.

    In process 0 it returns, and `started_together` tells of them all, which `reach` reaches.  In
    the others it does not return: they do what process 0 asks for, and end when that ends.

    Raises
    ------
    QuiltError
        If they cannot meet, or were not started for the same run.
    """
    global _secret
    count = launched()
    if count == 1:
        return
    rank, listener, processes, _secret = _meet(count)
    if rank > 0:
        _serve(listener, processes)
    listener.close()
    started_together[:] = processes
    for number in range(1, count):
        # Closed by the system alone, when this process has ended: the launcher of MPICH kills what
        # is left, process 0 too, once another one has ended.
        lifeline, _ = reach(number)  # has nothing to encrypt
        lifelines.note(lifeline.detach())


def reach(number: int) -> tuple[socket.socket, Encryption | None]:
    """A new connection to a session of one of the others; QuiltError if there is none.

    It is to be encrypted where the processes are on several hosts.
    """
    process = started(number)
    try:
        ours = socket.create_connection((address_of(process), process.port), timeout=_REACH)
        admission = ask_for_admission(ours, _secret)
    except (AccessError, OSError) as error:
        raise QuiltError(
            f"process {number} cannot be reached at {process.host}:{process.port}: {error}"
        ) from None
    ours.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if admission.fingerprint is None:
        return ours, None
    return ours, Encryption.at_client(admission.token, admission.fingerprint)


def address_of(process: Process) -> str:
    """Under which name the others reach its machine."""
    return "127.0.0.1" if _on_one_host(started_together) else process.host


def _on_one_host(processes: list[Process]) -> bool:
    return len({process.host for process in processes}) == 1


def _meet(count: int) -> tuple[int, socket.socket, list[Process], bytes]:
    """Rank, where this process listens, all of them, and their secret; MPI is ended by then."""
    gpus = [gpu["ordinal"] for gpu in devices() if gpu["kind"] == "cuda" and gpu["usable"]]
    with _deadline(count):
        MPI = _load_mpi(count)
        world = MPI.COMM_WORLD
        host = socket.gethostname()
        is_one_host = len(set(world.allgather(host))) == 1
        listener = socket.create_server(("127.0.0.1" if is_one_host else "", 0), backlog=64)
        own = Process(host, listener.getsockname()[1], tuple(core_numbers()), tuple(gpus))
        processes = world.allgather(own)
        asked_for = world.allgather(sys.argv[1:])
        secret = world.bcast(secrets.token_bytes(_SECRET))
        rank = world.Get_rank()
        MPI.Finalize()
    if any(arguments != asked_for[0] for arguments in asked_for):
        raise QuiltError(
            "the processes of one launcher share one run, and these have different arguments: "
            "start each run separately, with mpirun -n 1 or without mpirun"
        )
    return rank, listener, processes, secret


@contextmanager
def _deadline(count: int) -> Iterator[None]:
    """Ends this process if it stays in here: MPI waits for ever, and keeps Python from a clock."""
    deadline = load_core().Deadline(
        _START,
        f"this process, one of {count} that a launcher has started together, has waited for the "
        f"others for {_START:g} s: one has been stopped, or is on a host that does not answer; the "
        "run ends before its first step",
    )
    try:
        yield
    finally:
        deadline.lift()


def _load_mpi(count: int) -> Any:
    """mpi4py, of the MPI that has started this process."""
    found = f"this process is one of {count} that a launcher has started together"
    try:
        MPI = importlib.import_module("mpi4py.MPI")
    except (ImportError, RuntimeError) as error:  # RuntimeError: it finds no library
        raise QuiltError(
            f"{found}, and mpi4py, by which they would meet, cannot be loaded ({error}): install "
            "quiltmd[mpi], or start one process alone"
        ) from None
    if (size := MPI.COMM_WORLD.Get_size()) != count:
        raise QuiltError(
            f"{found}, and mpi4py finds {size}: it was made for another MPI "
            f"({MPI.Get_library_version().split(',')[0].strip()}) than that of the launcher; "
            "install mpi4py for this one, and start runs with its mpirun (Slurm: srun --mpi=pmix)"
        )
    return MPI


def _serve(listener: socket.socket, processes: list[Process]) -> NoReturn:
    """Does what process 0 asks for, until that ends: this process then does so at once."""
    for kind in _FOR_PROCESS_0:
        signal.signal(kind, signal.SIG_IGN)
    faulthandler.enable()
    door = Door(listener, _secret, None if _on_one_host(processes) else make_certificate())
    lifeline, _ = door.first_admitted(_LIMIT)
    serve = partial(_serve_sessions, door, processes[0].host)
    threading.Thread(target=serve, daemon=True).start()
    _watch(lifeline)
    status = _status_of_first(lifeline)
    time.sleep(_LATER)
    os._exit(status)


def _status_of_first(lifeline: socket.socket) -> int:
    """The exit status of process 0, once it ends; 1 where it ends without a word."""
    told = b""
    with suppress(OSError):
        told = lifeline.recv(1)
        lifeline.recv(1)  # nothing; it has ended
    return told[0] if told else 1


def _watch(lifeline: socket.socket) -> None:
    """Has it end within 40 s where the other machine is gone and says nothing."""
    lifeline.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    lifeline.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 10)  # s
    lifeline.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5)  # s
    lifeline.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 6)


class Door:
    """Listener that admits processes that have the secret.

    Each connection is admitted by a thread of its own: some say nothing, and keep nobody out.
    """

    def __init__(
        self, listener: socket.socket, secret: bytes, certificate: Certificate | None
    ) -> None:
        self.certificate = certificate
        self._listener, self._secret = listener, secret
        self._admitted: SimpleQueue[tuple[socket.socket, Admission]] = SimpleQueue()
        threading.Thread(target=self._accept, daemon=True).start()

    def admitted(self, seconds: float | None = None) -> tuple[socket.socket, Admission]:
        """The next one who has been let in; `queue.Empty` where nobody comes in time."""
        return self._admitted.get(timeout=seconds)

    def first_admitted(self, seconds: float) -> tuple[socket.socket, Admission]:
        """The first one, which is process 0; QuiltError if it does not come in time."""
        try:
            return self.admitted(seconds)
        except Empty:
            raise QuiltError(
                f"process 0 has not connected to {socket.gethostname()}:"
                f"{self._listener.getsockname()[1]} within {seconds:g} s: has it ended, or can its "
                "host not reach that port?"
            ) from None

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._admit, args=(connection,), daemon=True).start()
            except (OSError, RuntimeError):  # too many files or threads, for the moment
                time.sleep(_LOOK)

    def _admit(self, connection: socket.socket) -> None:
        try:
            admission = admit(connection, self._secret, lambda: True, self.certificate)
            assert admission is not None  # there is always room
        except (AccessError, OSError):  # somebody else
            connection.close()
            return
        self._admitted.put((connection, admission))


def _serve_sessions(door: Door, first_host: str) -> None:
    """A thread for each engine; another may be made before one is given up."""
    while True:
        arguments = *door.admitted(), door.certificate, first_host
        threading.Thread(target=_serve_session, args=arguments, daemon=True).start()


def _serve_session(
    connection: socket.socket,
    admission: Admission,
    certificate: Certificate | None,
    first_host: str,
) -> None:
    encryption = None
    with connection, suppress(OSError):
        if certificate is not None:
            encryption = Encryption.at_server(admission.token, certificate)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        number = connection.fileno()
        close = partial(connection.shutdown, socket.SHUT_RDWR)
        gone = partial(_end_if_silent, first_host)
        channel = Channel(number, number, close, _CLIENT_GONE, encryption)
        Session(channel, make_engine_calling).serve(gone)


def _end_if_silent(first_host: str, reason: Exception) -> None:
    """Ends this process, and by that has the launcher end all, where process 0 says nothing."""
    if not isinstance(reason, SilentError):
        return
    text = (
        f"error: process 0 of this run (on {first_host}) was not heard of for {_CLIENT_GONE:g} s: "
        "it was stopped, or the network is down; the run ends, and can be resumed from its last "
        "checkpoint"
    )
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)
    os._exit(1)
