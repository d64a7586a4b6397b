# SPDX-License-Identifier: Apache-2.0
"""The tasks of a step on all ranks, from a plan: their times, orders and messages.

They are those of src/schedule/forces.cpp and long_range.cpp, in the order in which a rank's
schedule has them, with the integrator's stage behind.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .machine import Costs
from .plan import Plan

HALO, AWAITED, LONG_RANGE, LOCAL = range(4)  # priorities, the most urgent first
MAIN, SIDE, HALO_STREAM, BOUNDARY = range(4)  # streams


@dataclass
class Graph:
    """Tasks by number, with times in us, and messages by number.

    A task starts when `missing` others and messages are done.
    """

    names: list[str] = field(default_factory=list)
    rank: list[int] = field(default_factory=list)
    priority: list[int] = field(default_factory=list)
    stream: list[int] = field(default_factory=list)
    fixed: list[float] = field(default_factory=list)
    work: list[float] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    after: list[list[int]] = field(default_factory=list)  # tasks that wait for a task
    sends: list[list[int]] = field(default_factory=list)  # messages of a task
    source: list[int] = field(default_factory=list)  # the task that sends a message
    sender: list[int] = field(default_factory=list)  # ranks, by message
    receiver: list[int] = field(default_factory=list)
    size: list[int] = field(default_factory=list)
    user: list[int] = field(default_factory=list)  # the task that awaits a message
    kind: list[str] = field(default_factory=list)

    def task(self, name: str, rank: int, place: tuple[int, int], times: tuple[float, float]) -> int:
        """Adds a task of a priority and a stream, with its fixed time and its work."""
        self.names.append(name)
        self.rank.append(rank)
        self.priority.append(place[0])
        self.stream.append(place[1])
        self.fixed.append(times[0])
        self.work.append(times[1])
        self.missing.append(0)
        self.after.append([])
        self.sends.append([])
        return len(self.names) - 1

    def order(self, task: int, *before: int) -> None:
        """Has a task wait for others."""
        for other in before:
            self.after[other].append(task)
            self.missing[task] += 1


class _Builder:
    def __init__(
        self, plan: Plan, costs: Costs, grid: tuple[int, int, int], overlap: float
    ) -> None:
        self.plan, self.costs, self.grid, self.overlap = plan, costs, grid, overlap
        self.atoms = float(plan.ranks["atoms"].sum())
        self.graph = Graph()
        self.messages = plan.of_step()
        self._from = {name: _by(rows, 0, plan.count) for name, rows in self.messages.items()}
        self._to = {name: _by(rows, 1, plan.count) for name, rows in self.messages.items()}
        # By kind and row of the plan: the task that sends, the one that awaits.
        self._senders = {name: [-1] * len(rows) for name, rows in self.messages.items()}
        self._users = {name: [-1] * len(rows) for name, rows in self.messages.items()}

    def build(self) -> Graph:
        for rank in range(self.plan.count):
            self._rank(rank)
        self._join()
        return self.graph

    def _times(self, cost: str, units: float) -> tuple[float, float]:
        one = getattr(self.costs, cost)
        return (one.fixed * self.overlap, one.fixed * (1 - self.overlap) + 1e-3 * one.each * units)

    def _send(
        self, kind: str, name: str, rank: int, place: tuple[int, int], before: list[int]
    ) -> list[int]:
        found = []
        for row in self._from.get(kind, _NONE)[rank]:
            size = int(self.messages[kind][row, 2])
            task = self.graph.task(name, rank, place, self._times("send", size))
            self.graph.order(task, *before)
            self._senders[kind][row] = task
            found.append(task)
        return found

    def _receive(
        self, kind: str, name: str, rank: int, place: tuple[int, int], before: list[int]
    ) -> list[int]:
        found = []
        for row in self._to.get(kind, _NONE)[rank]:
            size = int(self.messages[kind][row, 2])
            task = self.graph.task(name, rank, place, self._times("receive", size))
            self.graph.order(task, *before)
            self._users[kind][row] = task
            found.append(task)
        return found

    def _one(
        self, name: str, rank: int, place: tuple[int, int], cost: str, units: float, *before: int
    ) -> list[int]:
        """A task, or none where it has nothing to do: then what it would wait for."""
        if units <= 0:
            return list(before)
        task = self.graph.task(name, rank, place, self._times(cost, units))
        self.graph.order(task, *before)
        return [task]

    def _rank(self, rank: int) -> None:
        has = {name: float(values[rank]) for name, values in self.plan.ranks.items()}
        halo, atoms = (HALO, HALO_STREAM), has["atoms"]
        sent = self._send("positions", "positions.send", rank, halo, [])
        clear = self._one("forces.clear", rank, (HALO, MAIN), "clear", atoms + has["proxy_atoms"])
        proxies = self._receive("positions", "positions.receive", rank, halo, [])
        charged, mesh = self._mesh(rank, has)
        # One rank has no halo to go before: bonded terms and pairs share the side stream.
        apart = (AWAITED, BOUNDARY if self.plan.count > 1 else SIDE)
        terms = self._one("terms", rank, apart, "terms", atoms, *clear, *proxies)
        boundary = self._one(
            "pairs.boundary", rank, apart, "pairs", has["boundary_pairs"], *clear, *proxies
        )
        given = self._send("forces", "forces.send", rank, halo, [*terms, *boundary])
        interior = self._one(
            "pairs.interior", rank, (LOCAL, SIDE), "pairs", has["interior_pairs"], *clear, *charged
        )
        taken = self._receive("forces", "forces.receive", rank, (LOCAL, HALO_STREAM), clear)
        if self.costs.elsewhere.each:
            others = self.atoms - atoms
            mesh = self._one("launches", rank, (LOCAL, MAIN), "elsewhere", others, *mesh)
        before = [*sent, *clear, *mesh, *terms, *boundary, *given, *interior, *taken]
        last = self.graph.task("integrate", rank, (LOCAL, MAIN), self._times("integrate", atoms))
        self.graph.order(last, *before)

    def _mesh(self, rank: int, has: dict[str, float]) -> tuple[list[int], list[int]]:
        """The long-range sum: tasks after which charges are on the grid, and its last ones."""
        if "charges" not in self.messages and has["planes"] == 0:
            return [], []
        place = (LONG_RANGE, MAIN)
        nx, ny, nz = self.grid
        spread = self._one("pme.spread", rank, place, "spread", has["atoms"])
        sent = self._send("charges", "pme.charges.send", rank, place, spread)
        own = [*spread, *sent]
        charges = [*own, *self._receive("charges", "pme.charges.receive", rank, place, own)]
        points = has["planes"] * ny * nz
        planes = self._one("pme.planes", rank, place, "planes", points, *charges)
        gone = self._send("spectrum", "pme.spectrum.send", rank, place, planes)
        came = self._receive("spectrum", "pme.spectrum.receive", rank, place, [])
        line_points = has["lines"] * nx * nz
        lines = self._one("pme.lines", rank, place, "lines", line_points, *planes, *came)
        gone += self._send("spectrum back", "pme.spectrum.return", rank, place, lines)
        back = self._receive("spectrum back", "pme.spectrum.back", rank, place, lines)
        inverse = self._one("pme.inverse", rank, place, "inverse", points, *lines, *back)
        gone += self._send("potential", "pme.potential.send", rank, place, inverse)
        there = self._receive("potential", "pme.potential.receive", rank, place, [])
        gather = self._one(
            "pme.gather", rank, place, "gather", has["atoms"], *inverse, *there, *sent
        )
        return spread, [*gather, *gone]

    def _join(self) -> None:
        graph = self.graph
        for kind, rows in self.messages.items():
            for row, (sender, receiver, size) in enumerate(rows.tolist()):
                graph.sends[self._senders[kind][row]].append(len(graph.size))
                graph.missing[self._users[kind][row]] += 1
                graph.source.append(self._senders[kind][row])
                graph.sender.append(sender)
                graph.receiver.append(receiver)
                graph.size.append(size)
                graph.user.append(self._users[kind][row])
                graph.kind.append(kind)


class _Nothing:
    def __getitem__(self, rank: int) -> list[int]:
        return []


_NONE = _Nothing()


def _by(rows: NDArray[np.int64], column: int, ranks: int) -> list[list[int]]:
    """Numbers of rows by a column's rank."""
    found: list[list[int]] = [[] for _ in range(ranks)]
    for number, rank in enumerate(rows[:, column].tolist()):
        found[rank].append(number)
    return found


def step_graph(plan: Plan, costs: Costs, grid: tuple[int, int, int], overlap: float = 1.0) -> Graph:
    """The tasks of a step on all ranks of a plan, with a PME grid of so many points.

    `overlap` as of `Machine`.
    """
    return _Builder(plan, costs, grid, overlap).build()
