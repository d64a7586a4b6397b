# SPDX-License-Identifier: Apache-2.0
"""Cost of each message transport between ranks: `quiltmd bench --transports`.

The same steps with every transport that joins ranks on this machine, in turn and several times
over, so that all see the same load of the machine; they must lead to the same State.  A stretch is
profiled afterwards for the messages.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from ..analysis.trace import Message, Trace
from ..engine.core import EngineFactory
from ..engine.execution import (
    BETWEEN_PROCESSES,
    IN_ONE_PROCESS,
    Transport,
    available_cores,
    choose_device,
)
from ..engine.places import parse_place
from ..errors import QuiltError
from ..outputs.checkpoint import digest
from ..workers.factory import make_engine
from .benchmark import prepare, steps_within, time_steps
from .profiling import record
from .simulation import Simulation

_ROUNDS = 5
_SECONDS = 2.0  # of each round, where steps are not given
_PROFILED = 2  # pair-list lifetimes


@dataclass(frozen=True)
class EdgeCost:
    """Messages of one kind, per step and over all ranks; times in us.

    `ideal` is how long they would be on their way if each took as long as the fastest between its
    two ranks, `flight` how long they were, `waited` how long ranks had nothing to do for them.
    """

    name: str
    messages: float
    bytes: float
    ideal: float
    flight: float
    waited: float


def compare_transports(
    system: str,
    tile: tuple[int, int, int] = (1, 1, 1),
    steps: int = 0,
    *,
    ranks: int = 2,
    threads: int | None = None,
    device: str = "auto",
    engine: EngineFactory = make_engine,
) -> dict[str, Any]:
    """Times a standard system with each transport.

    Parameters
    ----------
    system, tile, threads, engine:
        As for `benchmark.bench`.
    steps:
        Timed steps of each of five rounds; 0 takes about two seconds for each.
    ranks, device:
        As in `Execution`, with a rank at least on each of two devices, or of the CPU.

    Returns
    -------
    Names and numbers, and `transports`: of each its name (with ", processes" where one within a
    process has that name, too) and median us per step, the digest of the State that it has led to,
    its `edges` (`EdgeCost`) and the share of their flight that is hidden behind work; of one that
    cannot be used its name and, as `note`, why.
    """
    if ranks < 2:
        raise QuiltError(
            "transports carry messages between ranks: choose two ranks or more (--ranks)"
        )
    chosen = choose_device(device, ranks)
    threads = threads or max(1, available_cores() // ranks)
    # Balancing goes by times that were measured: each transport would have other messages.
    common: dict[str, Any] = {"threads": threads, "balance": False, "engine": engine}
    runs: dict[str, Simulation] = {}
    notes: list[dict[str, Any]] = []
    for name, transport, places in _ways(chosen, ranks):
        try:
            runs[name] = prepare(
                system, tile, device=places, ranks=ranks, transport=transport, **common
            )
        except QuiltError as error:
            notes.append({"transport": name, "note": str(error)})
    if not runs:  # nor can the host carry messages, which it always can
        raise QuiltError(next(row["note"] for row in notes if row["transport"] == "staged"))
    seconds, steps = _time_in_turn(list(runs.values()), steps)
    return {
        "system": system,
        "tile": "x".join(map(str, tile)),
        "atoms": next(iter(runs.values())).system.atoms,
        "device": chosen,
        "ranks": ranks,
        "threads": threads,
        "steps": _ROUNDS * steps,
        "transports": [
            {"transport": name, "us_per_step": 1e6 * median(of_run) / steps, **_outcome(simulation)}
            for (name, simulation), of_run in zip(runs.items(), seconds, strict=True)
        ]
        + notes,
    }


def _ways(device: str, ranks: int) -> Iterator[tuple[str, Transport, str]]:
    """Every way to join ranks on this machine: its name, the transport and the device."""
    for transport in IN_ONE_PROCESS[1:]:
        yield transport, transport, device
    for transport in BETWEEN_PROCESSES[1:]:
        name = f"{transport}, processes" if transport in IN_ONE_PROCESS else transport
        yield name, transport, _in_processes(device, ranks)


def _outcome(simulation: Simulation) -> dict[str, Any]:
    """The digest of the State that a run has led to, and its messages in a profiled stretch."""
    found = digest(simulation.state())
    return {"digest": found, **_messages(record(simulation, _PROFILED * _life(simulation)).trace)}


def _time_in_turn(runs: list[Simulation], steps: int) -> tuple[list[list[float]], int]:
    """Seconds of each round of each run, all from the state of the first, and steps of a round."""
    state = runs[0].state()
    if steps == 0:
        steps = steps_within(_SECONDS, runs[0], _life(runs[0]))
    for simulation in runs:
        simulation.set_state(state)
    rounds = [[time_steps(simulation, steps) for simulation in runs] for _ in range(_ROUNDS)]
    return [list(of_run) for of_run in zip(*rounds, strict=True)], steps


def _life(simulation: Simulation) -> int:
    """Steps of a pair list."""
    return int(simulation.describe()["list_life"])


def _in_processes(device: str, ranks: int) -> str:
    """The same devices, each in a process of its own."""
    ordinals = parse_place(device).ordinals()
    names = [f"cuda:{ordinal}" for ordinal in ordinals] or ranks * [device]
    return "ranks:" + ",".join(f"worker:{name}" for name in names)


def _messages(trace: Trace) -> dict[str, Any]:
    """Costs of messages by edge, the longest flight first, and the share that is hidden."""
    sent: dict[str, list[Message]] = defaultdict(list)
    for message in trace.messages:
        sent[message.name].append(message)
    waited: dict[str, float] = defaultdict(float)
    for wait in trace.waits:
        if wait.message is not None:
            waited[wait.message.name] += wait.seconds
    edges = [edge_cost(name, found, waited[name], trace.steps) for name, found in sent.items()]
    flight = sum(edge.flight for edge in edges)
    hidden = 1 - min(1.0, sum(edge.waited for edge in edges) / flight) if flight else None
    return {
        "edges": [asdict(edge) for edge in sorted(edges, key=lambda edge: -edge.flight)],
        "hidden": hidden,
    }


def edge_cost(name: str, messages: list[Message], waited: float, steps: int) -> EdgeCost:
    """Cost of the messages of an edge in some steps, given the seconds of waiting for them."""
    flights: dict[tuple[int, int], list[float]] = defaultdict(list)
    for message in messages:
        flights[message.sender, message.receiver].append(message.arrived - message.sent)
    return EdgeCost(
        name,
        len(messages) / steps,
        sum(message.bytes for message in messages) / steps,
        1e6 * sum(len(of_pair) * min(of_pair) for of_pair in flights.values()) / steps,
        1e6 * sum(map(sum, flights.values())) / steps,
        1e6 * waited / steps,
    )
