# SPDX-License-Identifier: Apache-2.0
"""A discrete-event simulation of steps: tasks on ranks, messages on a network.

A rank of a CPU ("serial") does one task at a time, of those that are ready the most urgent.  A
GPU ("streams") runs the streams side by side: a task waits for those before it on its stream, then
for its fixed time, in which others use the device, and then has its work done; the most urgent work
goes first, whatever is under way gives way.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from .network import Fabric
from .tasks import Graph

_NOTHING = -1


@dataclass
class Step:
    """How a simulated step went, us.

    `begin`, `end` are by task, `sent` and `arrived` by message; `cause` is the task (from 0 on) or
    the message (from -2 on downwards) that a task came last after, -1 for none.
    """

    begin: list[float]
    end: list[float]
    cause: list[int]
    sent: list[float]
    arrived: list[float]
    rank_end: list[float] = field(default_factory=list)


def message_cause(message: int) -> int:
    """The number of a message as a cause; its own inverse."""
    return -2 - message


class Simulator:
    """Steps of a graph on a network, one after the other."""

    def __init__(self, graph: Graph, fabric: Fabric, ranks: int, is_serial: bool) -> None:
        self.graph, self.fabric, self.ranks = graph, fabric, ranks
        self._by_rank: list[list[int]] = [[] for _ in range(ranks)]
        for task, rank in enumerate(graph.rank):
            self._by_rank[rank].append(task)
        self._make = _Serial if is_serial else _Streams

    def run(self, starts: list[float]) -> Step:
        """A step that rank r begins at `starts[r]`."""
        graph = self.graph
        n = len(graph.names)
        step = Step(
            [0.0] * n, [0.0] * n, [_NOTHING] * n, [0.0] * len(graph.size), [0.0] * len(graph.size)
        )
        machine = self._make(graph, step, self.fabric, self._by_rank, starts)
        machine.run()
        step.rank_end = [
            max((step.end[task] for task in tasks), default=starts[rank])
            for rank, tasks in enumerate(self._by_rank)
        ]
        return step


class _Events:
    """What both kinds of ranks have in common: the clock, dependencies and messages."""

    def __init__(
        self,
        graph: Graph,
        step: Step,
        fabric: Fabric,
        by_rank: list[list[int]],
        starts: list[float],
    ) -> None:
        self.graph, self.step, self.fabric = graph, step, fabric
        self.missing = list(graph.missing)
        self.events: list[tuple[float, int, int]] = []  # time, order, what
        self._order = 0
        self._by_rank, self._starts = by_rank, starts
        self._has_begun = [False] * len(by_rank)
        self.first_message = 3 * len(graph.names)
        self.first_start = self.first_message + len(graph.size)
        self.prepare(len(by_rank))

    def prepare(self, ranks: int) -> None:
        raise NotImplementedError

    def ready(self, task: int, time: float) -> None:
        raise NotImplementedError

    def happen(self, what: int, time: float) -> None:
        raise NotImplementedError

    def at(self, time: float, what: int) -> None:
        self._order += 1
        heapq.heappush(self.events, (time, self._order, what))

    def run(self) -> None:
        for rank, time in enumerate(self._starts):
            self.at(time, self.first_start + rank)
        while self.events:
            time, _, what = heapq.heappop(self.events)
            if what >= self.first_start:
                self.begin_rank(what - self.first_start, time)
            elif what >= self.first_message:
                self.arrive(what - self.first_message, time)
            else:
                self.happen(what, time)

    def begin_rank(self, rank: int, time: float) -> None:
        """A rank may work from now on; messages may have come before."""
        self._has_begun[rank] = True
        for task in self._by_rank[rank]:
            if self.missing[task] == 0:
                self.ready(task, time)

    def arrive(self, message: int, time: float) -> None:
        self.step.arrived[message] = time
        self.release(self.graph.user[message], message_cause(message), time)

    def release(self, task: int, cause: int, time: float) -> None:
        self.missing[task] -= 1
        if self.missing[task]:
            return
        self.step.cause[task] = cause
        if self._has_begun[self.graph.rank[task]]:
            self.ready(task, time)

    def finish(self, task: int, time: float) -> None:
        graph, step = self.graph, self.step
        step.end[task] = time
        for message in graph.sends[task]:
            step.sent[message] = time
            sender, receiver = graph.sender[message], graph.receiver[message]
            self.at(
                self.fabric.deliver(time, sender, receiver, graph.size[message]),
                self.first_message + message,
            )
        for other in graph.after[task]:
            self.release(other, task, time)


class _Serial(_Events):
    def prepare(self, ranks: int) -> None:
        self._waiting: list[list[tuple[int, int]]] = [[] for _ in range(ranks)]
        self._running = [_NOTHING] * ranks
        self._last = [_NOTHING] * ranks

    def ready(self, task: int, time: float) -> None:
        rank = self.graph.rank[task]
        heapq.heappush(self._waiting[rank], (self.graph.priority[task], task))
        if self._running[rank] == _NOTHING:
            self._running[rank] = -2  # chosen when all that is ready now is known
            self.at(time, len(self.graph.names) + self._waiting[rank][0][1])

    def happen(self, what: int, time: float) -> None:
        tasks = len(self.graph.names)
        if what < tasks:
            rank = self.graph.rank[what]
            self._last[rank] = what
            self._running[rank] = -2
            self.finish(what, time)
            self._next(rank, time)
        else:
            self._next(self.graph.rank[what - tasks], time)

    def _next(self, rank: int, time: float) -> None:
        if not self._waiting[rank]:
            self._running[rank] = _NOTHING
            return
        graph, step = self.graph, self.step
        task = heapq.heappop(self._waiting[rank])[1]
        self._running[rank] = task
        before = self._last[rank]
        if before != _NOTHING and step.end[before] == time:
            step.cause[task] = before  # it had to wait for the rank
        step.begin[task] = time
        self.at(time + graph.fixed[task] + graph.work[task], task)


class _Streams(_Events):
    """Events of a task: it may start on its stream; its fixed time is over; its work is done."""

    def prepare(self, ranks: int) -> None:
        graph = self.graph
        self._queues: dict[tuple[int, int], list[int]] = {}
        for tasks in self._by_rank:
            for task in reversed(tasks):
                self._queues.setdefault((graph.rank[task], graph.stream[task]), []).append(task)
        self._is_ready = [False] * len(graph.names)
        self._left = list(graph.work)
        self._active: list[list[tuple[int, int]]] = [[] for _ in range(ranks)]
        self._since = [0.0] * ranks

    def ready(self, task: int, time: float) -> None:
        self._is_ready[task] = True
        self._advance_stream((self.graph.rank[task], self.graph.stream[task]), time)

    def _advance_stream(self, key: tuple[int, int], time: float) -> None:
        queue = self._queues[key]
        if queue and self._is_ready[queue[-1]]:
            task = queue[-1]
            self._is_ready[task] = False
            self.step.begin[task] = time
            self.at(time + self.graph.fixed[task], len(self.graph.names) + task)

    def happen(self, what: int, time: float) -> None:
        tasks = len(self.graph.names)
        if what >= 2 * tasks:
            self._work_over(what - 2 * tasks, time)
        elif what >= tasks:
            self._begin_work(what - tasks, time)

    def _progress(self, rank: int, time: float) -> None:
        """Counts what the task in front has done since."""
        if self._active[rank]:
            self._left[self._active[rank][0][1]] -= time - self._since[rank]
        self._since[rank] = time

    def _begin_work(self, task: int, time: float) -> None:
        rank = self.graph.rank[task]
        self._progress(rank, time)
        heapq.heappush(self._active[rank], (self._urgency(task), task))
        self._schedule(rank, time)

    def _urgency(self, task: int) -> int:
        # Streams of a GPU have priorities: halo, main, boundary, side.
        return (1, 3, 0, 2)[self.graph.stream[task]]

    def _schedule(self, rank: int, time: float) -> None:
        if self._active[rank]:
            task = self._active[rank][0][1]
            self.at(time + max(0.0, self._left[task]), 2 * len(self.graph.names) + task)

    def _work_over(self, task: int, time: float) -> None:
        rank = self.graph.rank[task]
        if not self._active[rank] or self._active[rank][0][1] != task:
            return
        self._progress(rank, time)
        if self._left[task] > 1e-9:  # another one went first meanwhile
            self._schedule(rank, time)
            return
        heapq.heappop(self._active[rank])
        key = (rank, self.graph.stream[task])
        self._queues[key].pop()
        self._schedule(rank, time)
        self.finish(task, time)
        self._note_stream(key, task)
        self._advance_stream(key, time)

    def _note_stream(self, key: tuple[int, int], before: int) -> None:
        """The next task of a stream that was ready waited for this one."""
        queue = self._queues[key]
        if queue and self._is_ready[queue[-1]]:
            self.step.cause[queue[-1]] = before
