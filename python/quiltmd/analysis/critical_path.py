# SPDX-License-Identifier: Apache-2.0
"""The critical path of a recorded stretch, and the slack of all that is not on it.

The path is found backwards from the span that ends last: a span that began when a wait ended goes
back to the task that sent the message, any other to the one before it on its rank.  Shortening what
is not on the path gains nothing.  (Böhme et al., SC 2012; Yang and Miller, ICDCS 1988.)

On a GPU, whose streams run side by side, the span before is the one that ended last before this one
began, on whichever stream: what it waited for, or what made room.  A kernel that waited for a
message goes back to the one that wrote it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass
from statistics import median

from .trace import Message, Span, Trace

# Apparent overlap of consecutive spans by the clock of a GPU's events, s.
_GRAIN = 2e-6


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the path: a task on a rank, a message on its way, or time between tasks."""

    kind: str  # "task", "message", "between"
    name: str
    rank: int  # of a message: the receiver
    stream: int
    begin: float
    end: float

    @property
    def seconds(self) -> float:
        """Its length."""
        return self.end - self.begin


def critical_path(trace: Trace) -> list[Part]:
    """The parts of the path, in the order of time; together they are as long as the stretch."""
    if not any(trace.work):
        return []
    return (_Streams(trace) if trace.side_by_side else _Walk(trace)).path()


def shares(path: list[Part]) -> dict[tuple[str, str, int], float]:
    """Seconds on the path by (kind, name, rank), the longest first."""
    found: dict[tuple[str, str, int], float] = defaultdict(float)
    for part in path:
        found[part.kind, part.name, part.rank] += part.seconds
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def slack(trace: Trace) -> dict[tuple[str, int], float]:
    """Slack of each (task, rank), s: how much later its calls could end without delaying the end.

    The mean over its calls.  Of ranks that do one task at a time; nothing for others, of which the
    order between streams is not recorded.
    """
    if trace.side_by_side:
        return {}
    walk = _Walk(trace)
    lag = _typical_lag(trace)
    latest_start: dict[tuple[int, int], float] = {}
    found: dict[tuple[str, int], list[float]] = defaultdict(list)
    order = sorted(
        ((rank, place) for rank, spans in enumerate(trace.work) for place in range(len(spans))),
        key=lambda key: -trace.work[key[0]][key[1]].end,
    )
    for key in order:
        rank, place = key
        span = trace.work[rank][place]
        latest = trace.end
        if place + 1 < len(trace.work[rank]):
            latest = latest_start[rank, place + 1] - walk.between(rank, place + 1)
        for message, user in walk.sends[key]:
            start = latest_start.get(user)
            if start is not None:
                took = walk.delay(user, message)
                latest = min(
                    latest, start - (lag if took is None else took) + _after(span, message)
                )
        latest_start[key] = latest - span.seconds
        found[span.name, rank].append(max(0.0, latest - span.end))
    return {key: sum(values) / len(values) for key, values in found.items()}


def _after(span: Span, message: Message) -> float:
    """Time that the sending task goes on after the message has left."""
    return span.end - message.sent


class _Walk:
    """Spans that send and use messages, by (rank, place in the rank's order)."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._begins = [[span.begin for span in spans] for spans in trace.work]
        self._wait_before = {
            (wait.rank, bisect_left(self._begins[wait.rank], wait.end)): wait.message
            for wait in trace.waits
            if wait.message is not None
        }
        self.sends: dict[tuple[int, int], list[tuple[Message, tuple[int, int]]]] = defaultdict(list)
        for message in trace.messages:
            user = (message.receiver, self._place(message.receiver, message.used))
            self.sends[self._sender(message)].append((message, user))

    def _place(self, rank: int, time: float) -> int:
        """The last span of a rank that has begun by then."""
        return bisect_right(self._begins[rank], time) - 1

    def _sender(self, message: Message) -> tuple[int, int]:
        return message.sender, self._place(message.sender, message.sent)

    def delay(self, user: tuple[int, int], message: Message) -> float | None:
        """From the sending of a message that was waited for to the task that uses it."""
        if self._wait_before.get(user) is not message:
            return None
        return self.trace.work[user[0]][user[1]].begin - message.sent

    def between(self, rank: int, place: int) -> float:
        """Time between a span and the one before, where nothing was waited for."""
        if (rank, place) in self._wait_before:
            return 0.0
        return max(0.0, self._begins[rank][place] - self.trace.work[rank][place - 1].end)

    def path(self) -> list[Part]:
        """The path, as `critical_path` returns it."""
        work = self.trace.work
        rank = max(range(len(work)), key=lambda r: work[r][-1].end if work[r] else -1.0)
        place, until = len(work[rank]) - 1, self.trace.end
        found: list[Part] = []
        while True:
            span = work[rank][place]
            found.append(Part("task", span.name, rank, span.stream, span.begin, until))
            message = self._wait_before.get((rank, place))
            if message is not None and message.sent < span.begin:
                sender, sent_by = self._sender(message)
                if sent_by < 0:
                    break
                found.append(
                    Part("message", message.name, rank, span.stream, message.sent, span.begin)
                )
                rank, place, until = sender, sent_by, message.sent
                continue
            if place == 0:
                break
            place -= 1
            before = work[rank][place]
            if before.end < span.begin:
                found.append(
                    Part("between", "between tasks", rank, span.stream, before.end, span.begin)
                )
            until = min(before.end, span.begin)
        return found[::-1]


def _typical_lag(trace: Trace) -> float:
    """From sending to arrival, where the receiver stood waiting: the median, s."""
    lags = [
        wait.message.arrived - max(wait.message.sent, wait.begin)
        for wait in trace.waits
        if wait.message is not None and wait.message.sent >= wait.begin
    ]
    return median(lags) if lags else 0.0


class _Streams:
    """Spans of ranks whose streams run side by side, and the messages that kernels waited for."""

    def __init__(self, trace: Trace) -> None:
        self._by_end = [sorted(spans, key=lambda span: span.end) for spans in trace.work]
        self._ends = [[span.end for span in spans] for spans in self._by_end]
        self._wait_before = {
            (wait.rank, wait.stream, wait.end): wait.message
            for wait in trace.waits
            if wait.message is not None
        }

    def path(self) -> list[Part]:
        """The path, as `critical_path` returns it."""
        span = max((spans[-1] for spans in self._by_end if spans), key=lambda span: span.end)
        until = span.end
        found: list[Part] = []
        while True:
            place = (span.rank, span.stream)
            found.append(Part("task", span.name, *place, span.begin, until))
            message = self._wait_before.get((*place, span.begin))
            before = self._sender(message) if message is not None else None
            if message is not None and before is not None and before.begin < span.begin:
                found.append(Part("message", message.name, *place, message.sent, span.begin))
                span, until = before, message.sent
                continue
            before = self._before(span)
            if before is None:
                return found[::-1]
            if before.end < span.begin:
                found.append(Part("between", "between kernels", *place, before.end, span.begin))
            span, until = before, min(before.end, span.begin)

    def _before(self, span: Span) -> Span | None:
        """The one that ended last before this one began, on whichever stream of its rank."""
        by_end = self._by_end[span.rank]
        for place in range(bisect_right(self._ends[span.rank], span.begin + _GRAIN) - 1, -1, -1):
            if by_end[place].begin < span.begin:
                return by_end[place]
        return None

    def _sender(self, message: Message) -> Span | None:
        """The kernel that wrote a message: it ended when that was sent."""
        by_end = self._by_end[message.sender]
        for place in range(bisect_left(self._ends[message.sender], message.sent), len(by_end)):
            span = by_end[place]
            if span.end > message.sent:
                return None
            if span.stream == message.sent_on:
                return span
        return None
