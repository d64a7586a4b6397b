# SPDX-License-Identifier: Apache-2.0
"""The worker's side: one engine, which does what messages ask for.

Calls are done one after the other, in order.  A frame that was captured is sent by a thread of its
own once its data have come from the device, while the next steps run, and so is the digest of a
state; both arrive in the order in which they were captured.
"""

from __future__ import annotations

import os
import platform
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from queue import SimpleQueue
from typing import Any

from ..engine.core import Captured, Engine, EngineFactory, load_core
from ..engine.execution import Execution, devices, is_gpu
from ..engine.hosts import ranks_of_node
from ..engine.injection import Injection, parse_injection
from ..engine.libraries import NCCL, UCX
from ..engine.places import parse_place
from ..errors import BoxError, LostError, PeerError, QuiltError, SimulationError
from ..version import package_version
from .channel import Channel
from .digest import digest
from .forwarding import FORWARDED, Relay
from .injection import do
from .peers import Address, Meeting

PROTOCOL = 2
# Methods of an engine that are passed on as they are.
PASSED_ON = frozenset(
    {
        "forces",
        "force_sum",
        "draw_velocities",
        "set_conditions",
        "describe",
        "profile",
        "start_profile",
        "stop_profile",
        "profiled_messages",
        "loads",
    }
)
Message = dict[str, Any]


@dataclass(frozen=True)
class Later:
    """Result of a call, available while later calls run."""

    make: Callable[[], Any]


def about() -> dict[str, Any]:
    """Properties that must be equal at both ends, in the order of comparison."""
    return {
        "protocol": PROTOCOL,
        "version of quiltmd": package_version(),
        "byte order": sys.byteorder,
    }


def architecture_of(device: str) -> str:
    """Architecture of a device of this machine: equal architectures give equal bits."""
    place = parse_place(device)
    if not is_gpu(device):
        found = [row for row in devices() if row["kind"] == "cpu"]
    else:
        ordinals = place.ordinals() or [0]
        found = [row for row in devices() if row.get("ordinal") in ordinals]
    names = sorted({str(row["architecture"]) for row in found})
    return " ".join(["cuda" if is_gpu(device) else "cpu", *names])


class Session:
    """Answers the calls of one client.

    Parameters
    ----------
    channel:
        The connection to the client.
    factory:
        Makes the engine.
    """

    def __init__(self, channel: Channel, factory: EngineFactory) -> None:
        self._channel, self._factory = channel, factory
        self._calls: SimpleQueue[Message | None] = SimpleQueue()
        self._answers: SimpleQueue[bool] = SimpleQueue()
        self._later: SimpleQueue[tuple[Message, Callable[[], Any]] | None] = SimpleQueue()
        self._engine: Engine | None = None
        self._own: dict[str, Callable[..., Any]] = {
            "echo": lambda data: data,
            "hello": lambda: {**about(), "host": platform.node(), "process": os.getpid()},
            "create": self._create,
            "serve_device": self._serve_device,
            "set_state": self._set_state,
            "place_atoms": self._place_atoms,
            "restore": self._restore,
            "run": self._run,
            "digest": self._digest,
            "save_start": self._save_start,
            "rerun": self._rerun,
            "capture": self._capture,
            "read": self._read_now,
            "minimize": self._minimize,
            "inject": self._inject,
            "listen": self._listen,
            "meet": self._meet,
            "contribute": self._contribute,
        }
        self._meeting: Meeting | None = None
        self._peers: Message = {}  # the settings by which an engine knows other ranks
        self._heat = 0.0  # before the engine began to count, kJ/mol
        self._start: tuple[Message, float] | None = None  # of what may be done again
        self._injections: list[Injection] = []
        self._gpu: int | None = None
        self._relay: Relay | None = None

    def serve(self, gone: Callable[[Exception], object] | None = None) -> None:
        """Answers calls until the client is gone; then its engine is, too.

        Parameters
        ----------
        gone:
            Called with the reason, in another thread, as soon as that is noticed, even in the
            middle of a call.
        """
        reader = threading.Thread(target=self._read, args=(gone,), name="quiltmd-reader")
        sender = threading.Thread(target=self._send_later, name="quiltmd-frames")
        for thread in (reader, sender):
            thread.daemon = True
            thread.start()
        self._channel.start_heartbeat()
        while (call := self._calls.get()) is not None:
            self._reply(call)
            del call  # and the arrays in it
        self._later.put(None)
        sender.join()
        self._engine = None  # other ranks must not take it for one that goes on

    def _read(self, gone: Callable[[Exception], object] | None) -> None:
        """Sorts what comes in: calls, and answers to questions of a call that is being done."""
        try:
            while True:
                message = self._channel.receive()
                if FORWARDED in message and self._relay is not None:
                    self._relay.take(message[FORWARDED])
                elif "answer" in message:
                    self._answers.put(bool(message["answer"]))
                else:
                    self._calls.put(message)
        except Exception as error:
            self._channel.close()
            if gone is not None:
                gone(error)
            self._answers.put(True)  # a minimisation stops
            self._calls.put(None)

    def _reply(self, call: Message) -> None:
        reply: Message = {"id": call.get("id")}
        try:
            value = self._done(call)
            if isinstance(value, Later):
                self._later.put((reply, value.make))
                return
            reply["value"] = value
        except Exception as error:
            reply["error"] = described(error)
        self._send(reply)

    def _done(self, call: Message) -> Any:
        """Result of a call."""
        name, arguments, named = call.get("do"), call.get("arguments"), call.get("named")
        if not isinstance(name, str) or not isinstance(arguments, list) or type(named) is not dict:
            raise QuiltError("a call lacks its parts")
        if name in self._own:
            return self._own[name](*arguments, **named)
        if name not in PASSED_ON:
            raise QuiltError(f"a worker does not know the call '{name}'")
        return getattr(self._made(), name)(*arguments, **named)

    def _made(self) -> Engine:
        if self._engine is None:
            raise QuiltError("no engine has been made yet")
        return self._engine

    def _create(
        self,
        system: Message,
        nonbonded: Message,
        integrator: Message,
        execution: Message,
        beside: int = 1,
    ) -> Message:
        """Makes the engine, which shares cores with others; tells of the device that was chosen."""
        external = execution.pop("external", [])
        run = Execution(**execution).resolve_here()
        if execution.get("threads") is None:
            run = replace(run, threads=max(1, run.threads // beside))
        run = replace(run, peers=self._peers, external=tuple(external))
        self._engine = self._factory(system, nonbonded, integrator, run)
        if is_gpu(run.device):
            self._gpu = next(iter(parse_place(run.device).ordinals()), 0)
        return {"device": run.device, "architecture": architecture_of(run.device)}

    def _serve_device(self, device: str, threads: int | None) -> None:
        """Serves a device to an engine of the client, whose commands come by this connection."""
        run = Execution(device, threads=threads).resolve_here()
        served = load_core().make_device(run.device, run.threads)
        self._relay = Relay(self._channel, self._channel.close)
        self._relay.start()
        descriptor = self._relay.outer.detach()
        threading.Thread(target=served.serve, args=(descriptor,), daemon=True).start()

    def _listen(self, everywhere: bool) -> Message:
        """Waits for other workers, where it says."""
        self._meeting = Meeting(everywhere)
        return asdict(self._meeting.address)

    def _meet(
        self, rank: int, addresses: list[Message], secret: str, silence: float, transport: str
    ) -> None:
        """Connects to the workers that have the other ranks."""
        if self._meeting is None:
            raise QuiltError("a worker meets others only where it has listened")
        known = [Address(**address) for address in addresses]
        by_sockets = transport if transport in ("unix", "tcp") else "auto"
        sockets = self._meeting.meet(rank, known, bytes.fromhex(secret), by_sockets)
        machines = [address.machine for address in known]
        self._peers = {
            "ranks": len(sockets),
            "rank": rank,
            "sockets": sockets,
            "of_node": ranks_of_node(machines),
            "patience": silence,
            "transport": transport,
            "machines": [machines.index(machine) for machine in machines],
            "nccl": NCCL.path(),
            **({"ucx": UCX.path()} if transport == "ucx" else {}),
        }

    def _contribute(self, **contents: bool) -> None:
        """Its part of a frame that another worker captures."""
        self._made().capture(**contents)

    def _set_state(self, *values: Any, **named: Any) -> None:
        self._made().set_state(*values, **named)
        self._heat = 0.0

    def _place_atoms(self, positions: Any) -> None:
        self._made().place_atoms(positions)
        self._heat = 0.0

    def _restore(self, state: Message, conditions: Message, heat: float) -> None:
        """Continues from a state as if the run had never stopped, its heat included."""
        engine = self._made()
        engine.set_state(**state)
        if conditions:
            engine.set_conditions(conditions)
            engine.set_state(**state)  # with its own pair lists
        self._heat = heat

    def _run(self, steps: int) -> None:
        engine = self._made()
        while due := [one for one in self._injections if one.step < self._step() + steps]:
            first = min(due, key=lambda one: one.step)
            self._injections.remove(first)
            before = first.step - self._step()
            if before >= 0:
                engine.run(before)
                steps -= before
                self._do(first)
        engine.run(steps)

    def _save_start(self) -> None:
        frame = self._made().capture(state=True)
        self._start = frame.state(), frame.heat() + self._heat

    def _rerun(self, steps: int) -> str:
        if self._start is None:
            raise QuiltError("no state was saved to begin again from")
        state, heat = self._start
        self._restore(state, {}, heat)
        self._run(steps)
        return digest(self._made().capture(state=True).state())

    def _do(self, injection: Injection) -> None:
        engine = self._made()
        state = engine.capture(state=True)
        changed = do(injection, engine, state.state(), self._channel.close, self._gpu)
        if changed is not None:
            self._restore(changed, {}, state.heat() + self._heat)

    def _step(self) -> int:
        return self._made().capture().step

    def _inject(self, faults: list[str]) -> None:
        self._injections = [parse_injection(fault) for fault in faults]
        if self._gpu is None and any(one.kind == "sticky" for one in self._injections):
            raise QuiltError("the fault 'sticky' is one of GPUs, and this device is none")

    def _digest(self) -> Later:
        """Digest of the state: equal if all data that determine the trajectory are equal."""
        captured = self._made().capture(state=True)
        return Later(lambda: digest(captured.state()))

    def _capture(self, number: int, **contents: bool) -> Message:
        """Captures a frame, whose data follow; its step and box."""
        captured = self._made().capture(**contents)
        self._later.put(({"frame": number}, partial(_data, captured, contents, self._heat)))
        return {"step": captured.step, "box": captured.box}

    def _read_now(self, **contents: bool) -> Message:
        """The step, box and data of a frame."""
        captured = self._made().capture(**contents)
        return {
            "step": captured.step,
            "box": captured.box,
            **_data(captured, contents, self._heat),
        }

    def _minimize(self, tolerance: float, max_iterations: int, watched: bool) -> Message:
        """Minimises; where it is watched, the client is asked before each iteration."""

        def ask(*now: Any) -> bool:
            self._channel.send({"ask": list(now)})
            return self._answers.get()

        return self._made().minimize(tolerance, max_iterations, ask if watched else None)

    def _send_later(self) -> None:
        while (due := self._later.get()) is not None:
            message, make = due
            try:
                message["value"] = make()
            except Exception as error:
                message["error"] = described(error)
            del due, make  # and the frame it holds
            self._send(message)

    def _send(self, message: Message) -> None:
        with suppress(LostError):  # the reader finds out
            self._channel.send(message)


def _data(captured: Captured, contents: dict[str, bool], heat: float) -> Message:
    """All that a frame has, waiting for it; with the heat before the engine began to count."""
    data: Message = {"heat": captured.heat() + heat}
    if contents.get("energies"):
        energies = captured.energies()
        energies["heat"] += heat
        data |= {"energies": energies, "tensors": captured.tensors()}
    if contents.get("state"):
        data["state"] = captured.state()
    elif contents.get("positions"):
        data["positions"] = captured.positions()
    return data


def described(error: Exception) -> Message:
    """An error as a message.

    The traceback of a defect, with paths of this machine, stays here, on stderr.
    """
    if isinstance(error, SimulationError):
        prefix = f"step {error.step}: "
        text = str(error).removeprefix(prefix)
        kind = "box" if isinstance(error, BoxError) else "simulation"
        return {"kind": kind, "step": error.step, "text": text}
    if isinstance(error, LostError):
        return {"kind": "lost", "text": str(error)}
    if isinstance(error, PeerError):
        return {"kind": "peer", "text": str(error)}
    if isinstance(error, QuiltError):
        return {"kind": "user", "text": str(error)}
    if isinstance(error, MemoryError):
        return {"kind": "memory", "text": str(error)}
    with suppress(OSError, ValueError):  # stderr may be closed
        traceback.print_exception(error)
    return {"kind": "defect", "text": type(error).__name__}
