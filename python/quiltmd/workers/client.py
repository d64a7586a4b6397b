# SPDX-License-Identifier: Apache-2.0
"""The client's side: an `Engine` whose work is done by a worker.

A run of some steps costs one message there and one back, so a worker is as fast as an engine in
this process.  `capture` returns when the worker has captured, and the data of the frame arrive
while later steps run.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TookTooLong
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, NoReturn, TypeVar

import numpy as np

from ..engine.core import RunsThenCaptures
from ..errors import BoxError, LostError, PeerError, QuiltError, SimulationError
from .channel import Channel
from .forwarding import FORWARDED, Relay
from .session import Message, about

Value = TypeVar("Value")


class Connection:
    """Calls to a worker, and its replies.

    Parameters
    ----------
    channel:
        To the worker.
    name:
        Name of the device there, for messages.
    last_words:
        Ends the worker, as far as that can be done from here, whose connection has ended by an
        error, and says what became of it.
    """

    def __init__(self, channel: Channel, name: str, last_words: Callable[[Exception], str]) -> None:
        self.name = name
        self.host, self.process = "", 0  # where the worker is; known once it has said hello
        self._channel, self._last_words = channel, last_words
        self._numbers = itertools.count()
        self._waiting: dict[int, Future[Any]] = {}
        self._lock = threading.Lock()
        self._ending = threading.RLock()
        self._ended: QuiltError | None = None
        self._questions: SimpleQueue[list[Any] | None] = SimpleQueue()
        self._relay: Relay | None = None
        threading.Thread(target=self._read, name="quiltmd-replies", daemon=True).start()
        channel.start_heartbeat()

    def call(self, name: str, *arguments: Any, **named: Any) -> Any:
        """Has the worker do something; what it gives."""
        return self.begin(name, *arguments, **named).result()

    def begin(self, name: str, *arguments: Any, **named: Any) -> Future[Any]:
        """The same, without waiting."""
        number, future = self.expect()
        self._send({"id": number, "do": name, "arguments": list(arguments), "named": named})
        return future

    def expect(self) -> tuple[int, Future[Any]]:
        """A new number, and what will come under it."""
        future: Future[Any] = Future()
        with self._lock:
            number = next(self._numbers)
            if self._ended is None:
                self._waiting[number] = future
                return number, future
        future.set_exception(self._ended)
        return number, future

    def minimize(
        self, tolerance: float, max_iterations: int, watch: Callable[..., bool] | None
    ) -> Any:
        """Minimises as an engine does; an error of `watch` is raised once the engine is at rest."""
        if watch is None:
            return self.call("minimize", tolerance, max_iterations, False)
        self._questions = SimpleQueue()
        found = self.begin("minimize", tolerance, max_iterations, True)
        found.add_done_callback(lambda _: self._questions.put(None))
        raised: BaseException | None = None
        while (now := self._questions.get()) is not None:
            stop = True
            if raised is None:
                try:
                    stop = bool(watch(*now))
                except BaseException as error:
                    raised = error
            self._send({"answer": stop})
        if raised is not None:
            raise raised
        return found.result()

    def forward(self, device: str, threads: int | None) -> int:
        """A socket behind which the worker serves a device; the worker ends when it is closed."""
        self._relay = Relay(self._channel, self.close)
        self.call("serve_device", device, threads)
        self._relay.start()
        return self._relay.outer.detach()

    def close(self) -> None:
        """Ends the connection and the worker."""
        self._end(QuiltError(f"the worker on {self.name} was told to end"))

    def _send(self, message: Message) -> None:
        with suppress(LostError):  # the reader finds out, and knows why
            self._channel.send(message)

    def _read(self) -> None:
        try:
            while True:
                self._take(self._channel.receive())
        except Exception as error:  # none may leave a call waiting
            self._end(error)

    def _take(self, message: Message) -> None:
        if FORWARDED in message and self._relay is not None:
            self._relay.take(message[FORWARDED])
            return
        if "ask" in message:
            self._questions.put(list(message["ask"]))
            return
        number: Any = message.get("id", message.get("frame"))
        error = message.get("error")
        raised = None if error is None else self._raised(error)  # before the call is given up
        with self._lock:
            future = self._waiting.pop(number, None)
        if future is None:
            raise LostError("it sent a reply to a question that was not asked")
        if raised is None:
            future.set_result(message.get("value"))
        else:
            future.set_exception(raised)

    def _raised(self, error: Message) -> Exception:
        text = str(error.get("text"))
        if error.get("kind") in ("simulation", "box"):
            kind = BoxError if error["kind"] == "box" else SimulationError
            return kind(int(error["step"]), text)
        if error.get("kind") == "lost":
            return LostError(f"the device of {self.name} is lost: {text}")
        if error.get("kind") == "peer":
            return PeerError(text)
        if error.get("kind") == "memory":
            return MemoryError(text)
        if error.get("kind") == "user":
            return QuiltError(text)
        return RuntimeError(
            f"a defect showed in the worker on {self.name} ({text}); its traceback is in what the "
            "worker, or 'quiltmd serve' there, has printed"
        )

    def _end(self, error: Exception) -> None:
        """Every call that waits, and every later one, fails, once it is known why.

        Returns when the worker has been ended, by whichever thread.
        """
        self._channel.close()
        with self._ending:
            if self._ended is not None:
                return
            why: str | Exception = error
            try:
                why = self._last_words(error) or error
            finally:  # also where Ctrl-C breaks that off
                self._give_up(LostError(f"the worker on {self.name} is lost: {why}"))

    def _give_up(self, error: QuiltError) -> None:
        with self._lock:
            self._ended = error
            waiting, self._waiting = list(self._waiting.values()), {}
        for future in waiting:
            future.set_exception(error)
        if self._relay is not None:
            self._relay.close()


def check_hello(connection: Connection, theirs: Any) -> None:
    """Notes who a worker is, which said `theirs`; QuiltError if it is another quiltmd."""
    for name, ours in about().items():
        found = theirs.get(name) if isinstance(theirs, dict) else None
        if found != ours:
            connection.close()
            raise QuiltError(
                f"the worker on {connection.name} has another {name} ({found}) than this process "
                f"({ours}): results would not be the same; install the same quiltmd on both"
            )
    connection.host, connection.process = str(theirs.get("host")), int(theirs.get("process", 0))


class WorkerFrame:
    """A frame whose data are on their way from `engine`, which it keeps."""

    def __init__(self, engine: WorkerEngine, step: int, box: Any, data: Future[Any]) -> None:
        self.step, self.box = step, None if box is None else np.asarray(box)
        self._engine, self._data = engine, data
        times = self._times = [time.monotonic()]  # captured, arrived
        data.add_done_callback(lambda _: times.append(time.monotonic()))  # keeps no frame alive

    def heat(self) -> float:
        """Heat added by the thermostat."""
        return float(self._data.result()["heat"])

    def energies(self) -> dict[str, float]:
        """Energies by term."""
        return dict(self._has("energies", "energies"))

    def tensors(self) -> dict[str, Any]:
        """Virial and kinetic tensor."""
        return dict(self._has("tensors", "energies"))

    def positions(self) -> Any:
        """(N, 3)."""
        state = self._data.result().get("state")
        return self._has("positions", "positions") if state is None else state["positions"]

    def state(self) -> dict[str, Any]:
        """The fields of `State`."""
        return dict(self._has("state", "velocities and list positions"))

    def seconds(self) -> float:
        """Seconds until the data, which have arrived, were here."""
        return self._times[-1] - self._times[0]

    def has_arrived(self) -> bool:
        """Whether its data are here, or will never be."""
        return self._data.done()

    def has_data(self) -> bool:
        """Whether its data are here."""
        return self._data.done() and not isinstance(self._data.exception(), LostError)

    def wait(self) -> bool:
        """Returns when the data are here, or False when they will never be."""
        return not isinstance(self._data.exception(), LostError)

    def equals(self, other: WorkerFrame) -> bool:
        """Whether all data are the same, bit for bit.

        But for the heat: a sum since the start, whose last digits depend on where it was taken up.
        """
        return _same(self._data.result(), other._data.result())

    def _has(self, what: str, words: str) -> Any:
        data = self._data.result()
        if what not in data:
            self._lacks(words)
        return data[what]

    def _lacks(self, words: str) -> NoReturn:
        raise QuiltError(f"the frame of step {self.step} was captured without {words}")


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a if key != "heat")
    return bool(a == b)


class WorkerEngine(RunsThenCaptures):
    """An engine in a worker; see `quiltmd.engine.core.Engine`, whose methods these are.

    Parameters
    ----------
    connection:
        To a worker without an engine.
    system, nonbonded, integrator:
        As for the core.
    execution:
        The fields of `Execution`, where the device is one of the worker's machine.
    patience:
        Seconds after which a device counts as hanging that does not do what takes no time; None:
        never.
    beside:
        Workers of this simulation that share the worker's cores, itself among them.
    """

    def __init__(
        self,
        connection: Connection,
        system: dict[str, Any],
        nonbonded: dict[str, Any],
        integrator: dict[str, Any],
        execution: dict[str, Any],
        patience: float | None = None,
        beside: int = 1,
    ) -> None:
        self._connection, self._patience = connection, patience
        made = connection.call("create", system, nonbonded, integrator, execution, beside)
        self.architecture = str(made["architecture"])

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Ends the worker."""
        self._connection.close()

    def set_state(self, *values: Any, **named: Any) -> None:
        """Sets the state."""
        self._connection.call("set_state", *values, **named)

    def place_atoms(self, positions: Any) -> None:
        """The present state with atoms at other positions."""
        self._connection.call("place_atoms", positions)

    def run(self, steps: int) -> None:
        """Advances."""
        self._connection.call("run", steps)

    def begin_run(self, steps: int) -> Future[Any]:
        """Advances without waiting."""
        return self._connection.begin("run", steps)

    def begin_digest(self) -> Future[str]:
        """A digest of all that decides the trajectory from here on, without waiting."""
        return self._connection.begin("digest")

    def result(self, call: Future[Value], seconds: float | None = None) -> Value:
        """Result of a call; LostError if it takes longer, by default than `patience`."""
        try:
            return call.result(self._patience if seconds is None else seconds)
        except TookTooLong:
            raise LostError(f"the device of {self._connection.name} hangs") from None

    def save_start(self) -> None:
        """Has the worker save its state, for `begin_rerun`."""
        self._connection.call("save_start")

    def begin_rerun(self, steps: int) -> Future[str]:
        """Advances again, from the saved start; the digest of the state to which that leads."""
        return self._connection.begin("rerun", steps)

    def restore(self, state: dict[str, Any], conditions: dict[str, float], heat: float) -> None:
        """Continues from a state as if the run had never stopped."""
        self._connection.call("restore", state, conditions, heat)

    def inject(self, faults: list[str]) -> None:
        """Has faults happen: see `injection.py`."""
        self._connection.call("inject", faults)

    def capture(
        self, *, energies: bool = False, positions: bool = False, state: bool = False
    ) -> WorkerFrame:
        """Captures data, which then travel."""
        number, data = self._connection.expect()
        now = self.result(
            self._connection.begin(
                "capture", number, energies=energies, positions=positions, state=state
            )
        )
        return WorkerFrame(self, int(now["step"]), now["box"], data)

    def read(
        self, *, energies: bool = False, positions: bool = False, state: bool = False
    ) -> WorkerFrame:
        """Captures data, and returns when they are here."""
        data = self._connection.begin("read", energies=energies, positions=positions, state=state)
        found = data.result()
        return WorkerFrame(self, int(found["step"]), found["box"], data)

    def forces(self) -> Any:
        """Forces (N, 3)."""
        return self._connection.call("forces")

    def force_sum(self) -> tuple[int, int, int]:
        """Sum of forces as integers."""
        x, y, z = self._connection.call("force_sum")
        return x, y, z

    def minimize(
        self,
        tolerance: float,
        max_iterations: int,
        watch: Callable[[int, float, float], bool] | None = None,
    ) -> dict[str, Any]:
        """Minimises the potential energy."""
        found: dict[str, Any] = self._connection.minimize(tolerance, max_iterations, watch)
        return found

    def draw_velocities(self, temperature: float, seed: int) -> None:
        """Maxwell-Boltzmann velocities."""
        self._connection.call("draw_velocities", temperature, seed)

    def set_conditions(self, *values: Any, **named: Any) -> None:
        """New conditions."""
        self._connection.call("set_conditions", *values, **named)

    def describe(self) -> dict[str, Any]:
        """Layout of the run."""
        layout: dict[str, Any] = self._connection.call("describe")
        return layout

    def profile(self) -> list[dict[str, Any]]:
        """Calls and seconds of each task."""
        rows: list[dict[str, Any]] = self._connection.call("profile")
        return rows

    def start_profile(self) -> None:
        """Starts timing."""
        self._connection.call("start_profile")

    def stop_profile(self) -> list[dict[str, Any]]:
        """The calls since the last start."""
        rows: list[dict[str, Any]] = self._connection.call("stop_profile")
        return rows

    def profiled_messages(self) -> list[dict[str, Any]]:
        """Messages of the last profile."""
        rows: list[dict[str, Any]] = self._connection.call("profiled_messages")
        return rows

    def loads(self) -> list[dict[str, Any]]:
        """Loads of all ranks."""
        rows: list[dict[str, Any]] = self._connection.call("loads")
        return rows
