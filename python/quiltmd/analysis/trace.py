# SPDX-License-Identifier: Apache-2.0
"""A stretch of a run as it was recorded: what every rank did, and the messages between ranks.

Times are seconds since the beginning of the stretch, of one clock for all ranks.  On a CPU a span
is a task, and a rank does one at a time, whatever its stream; on a GPU it is a kernel, and streams
run side by side.

Where kernels write messages into the memory of other GPUs, and others wait for them, the waiting
is a span of its own: until the kernel that writes the message has ended.

On a GPU some blocks of steps are recorded, and those between them are not, since the host takes
longer to send off a recorded block than a GPU takes for a small one.  The trace has the recorded
blocks one right after the other.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ..engine.execution import is_gpu

STREAMS = ("main", "side", "halo", "boundary")
WAIT = "wait"  # the name of spans in which a rank has nothing to run

# Contents of messages, by the name of their edge, in the words of the page.
CONTENTS = {
    "positions": "positions of the halo",
    "forces": "forces on the halo",
    "charges": "PME's charges",
    "spectrum": "PME's transpose",
    "spectrum back": "PME's transpose back",
    "potential": "PME's potential",
    "dispersion": "Lennard-Jones PME's coefficients",
    "dispersion spectrum": "Lennard-Jones PME's transpose",
    "dispersion spectrum back": "Lennard-Jones PME's transpose back",
    "dispersion potential": "Lennard-Jones PME's potential",
    "migrants": "atoms that change their rank",
    "proxies": "the layout of the halo",
    "values": "values of the halo",
    "agreement": "the agreement of all ranks",
    "sums": "sums over all ranks",
}


def duration(seconds: float) -> str:
    """In the unit in which it is easy to read."""
    ms = 1e3 * seconds
    if ms < 1:
        return f"{1e3 * ms:.1f} us"
    return f"{ms:.2f} ms" if ms < 100 else f"{ms:,.0f} ms"


@dataclass(frozen=True, slots=True)
class Span:
    """A task, or on a GPU a kernel; or a wait."""

    rank: int
    stream: int
    name: str
    begin: float
    end: float

    @property
    def seconds(self) -> float:
        """Duration, s."""
        return self.end - self.begin


@dataclass(frozen=True, slots=True)
class Message:
    """A message: handed over at `sent`, with the receiver at `arrived`, read at `used`.

    `sent_on` and `used_on` are the streams of the tasks, or kernels, that send and use it.  A
    message that kernels carry is sent, and has arrived, when the kernel that writes it ends.
    """

    name: str
    sender: int
    receiver: int
    bytes: int
    sent: float
    arrived: float
    used: float
    sent_on: int = 0
    used_on: int = 0
    carrier: str = "host"  # or "kernels"


@dataclass(frozen=True, slots=True)
class Wait:
    """Time in which a rank, or a stream of a GPU, had nothing to run.

    `message` is what ended it, if known.
    """

    rank: int
    begin: float
    end: float
    message: Message | None
    stream: int = 0

    @property
    def seconds(self) -> float:
        """Duration, s."""
        return self.end - self.begin

    @property
    def name(self) -> str:
        """Name of the message for which the rank waited."""
        if self.message is None:
            return WAIT
        return f"wait for {self.message.name} of rank {self.message.sender}"


@dataclass(frozen=True)
class Trace:
    """The record of some steps.

    Attributes
    ----------
    device:
        The device as it is named: "cpu", "cuda:0,1", "ranks:worker:cpu,worker:cpu", ...
    first_step, stretch:
        First profiled step, and number of steps from the first to the last.
    steps:
        Number of recorded steps.
    stretch_seconds:
        Time of all these steps by the clock of the host; 0 if unknown.
    spans:
        Tasks and waits of all ranks.
    messages:
        Messages that were used in the profiled steps.
    loads:
        Loads of each rank: patches, proxies, atoms, list_entries.
    patch_moves:
        What load balancing did with patches, in words; empty: nothing.
    busy_before:
        Seconds per step that each rank worked before the stretch, when work had not been balanced.
    plain_step:
        Seconds of a step just before, while nothing was recorded; 0 where that is not known.
    cuts:
        Times at which blocks of steps were not recorded.
    threads, cores:
        Threads of all ranks and the cores that they share; 0 where ranks have other devices.
    """

    device: str
    first_step: int
    steps: int
    spans: list[Span]
    messages: list[Message] = field(default_factory=list)
    loads: list[dict[str, Any]] = field(default_factory=list)
    patch_moves: str = ""
    busy_before: list[float] = field(default_factory=list)
    plain_step: float = 0.0
    stretch: int = 0
    stretch_seconds: float = 0.0
    cuts: list[float] = field(default_factory=list)
    threads: int = 0
    cores: int = 0

    @cached_property
    def ranks(self) -> int:
        """Number of ranks."""
        seen = max((span.rank for span in self.spans), default=0) + 1
        return max(seen, len(self.loads))

    @property
    def side_by_side(self) -> bool:
        """Whether streams of a rank run at once."""
        return is_gpu(self.device)

    @cached_property
    def begin(self) -> float:
        """When the first span began."""
        return min((span.begin for span in self.spans), default=0.0)

    @cached_property
    def end(self) -> float:
        """When the last span ended."""
        return max((span.end for span in self.spans), default=0.0)

    @property
    def seconds(self) -> float:
        """Length of the stretch."""
        return self.end - self.begin

    @property
    def seconds_per_step(self) -> float:
        """Length of a step."""
        return self.seconds / max(self.steps, 1)

    @property
    def step_in_words(self) -> str:
        """Time of a step, with and without recording."""
        words = f"{duration(self.seconds_per_step)} a step"
        others = []
        if self.steps < self.stretch and self.stretch_seconds:
            others.append(f"{duration(self.stretch_seconds / self.stretch)} over the whole stretch")
        if self.plain_step:
            others.append(f"{duration(self.plain_step)} before")
        return ", ".join([words + " while recorded", *others]) if others else words

    @property
    def steps_in_words(self) -> str:
        """The profiled steps, in words."""
        last = self.first_step + max(self.stretch, self.steps)
        some = f", {self.steps:,} of them recorded," if self.steps < self.stretch else ""
        return f"steps {self.first_step:,} to {last:,}{some}"

    @cached_property
    def work(self) -> list[list[Span]]:
        """The spans of work of each rank, in order."""
        found: list[list[Span]] = [[] for _ in range(self.ranks)]
        for span in self.spans:
            if span.name != WAIT:
                found[span.rank].append(span)
        for spans in found:
            spans.sort(key=lambda span: (span.begin, span.end))
        return found

    @cached_property
    def waits(self) -> list[Wait]:
        """Waits of all ranks; those with nothing between them are one."""
        if self.side_by_side:
            return self._waits_of_kernels()
        ended_by: dict[int, list[Message]] = defaultdict(list)
        for message in sorted(self.messages, key=lambda message: message.arrived):
            ended_by[message.receiver].append(message)
        found: list[Wait] = []
        for rank in range(self.ranks):
            spans = sorted(
                (span for span in self.spans if span.rank == rank), key=lambda span: span.begin
            )
            found += _waits_of(rank, spans, ended_by[rank])
        return found

    def _waits_of_kernels(self) -> list[Wait]:
        ended_by = {(m.receiver, m.used_on, m.used): m for m in self.messages}
        return [
            Wait(s.rank, s.begin, s.end, ended_by.get((s.rank, s.stream, s.end)), s.stream)
            for s in self.spans
            if s.name == WAIT
        ]

    def busy(self) -> list[float]:
        """Seconds in which each rank worked: on several streams at once they count once."""
        return [_covered(spans) for spans in self.work]

    def idle(self) -> list[float]:
        """Seconds in which each rank waited and did nothing else."""
        waits: list[list[Span]] = [[] for _ in range(self.ranks)]
        for span in self.spans:
            if span.name == WAIT:
                waits[span.rank].append(span)
        found = []
        for waiting, working in zip(waits, self.work, strict=True):
            both = sorted(waiting + working, key=lambda span: span.begin)
            found.append(_covered(both) - _covered(working))
        return found

    def idle_in_waits(self) -> list[float]:
        """Seconds of each of `waits` during which the rank did no other work."""
        work = [_merged(spans) for spans in self.work]
        return [wait.seconds - _overlap(wait, work[wait.rank]) for wait in self.waits]

    def by_task(self) -> dict[str, list[float]]:
        """Seconds of each task on each rank, the longest task first."""
        found: dict[str, list[float]] = defaultdict(lambda: [0.0] * self.ranks)
        for spans in self.work:
            for span in spans:
                found[span.name][span.rank] += span.seconds
        return dict(sorted(found.items(), key=lambda item: -sum(item[1])))


def make_trace(
    about: Mapping[str, Any],
    spans: Iterable[Mapping[str, Any]],
    messages: Iterable[Mapping[str, Any]] = (),
) -> Trace:
    """A trace from what `Simulation.stop_profile` and `profiled_messages` give.

    `about` has the other fields of `Trace`; `steps` in it are those of the stretch.
    """
    rows = list(spans)
    found = [Span(s["rank"], s["stream"], s["name"], s["begin"], s["end"]) for s in rows]
    sent = [
        Message(
            *(m["name"], m["from"], m["to"], m["bytes"], m["sent"], m["arrived"], m["used"]),
            *(m["from_stream"], m["to_stream"], m["carrier"]),
        )
        for m in messages
    ]
    steps = recorded = about["steps"]
    cuts: list[float] = []
    parts = [s.get("part", 0) for s in rows]
    if any(parts):
        recorded = sum({s["part"]: s["steps"] for s in rows if s["part"]}.values())
        found, sent, cuts = _joined(parts, found, sent)
    about = {**about, "steps": recorded, "stretch": steps, "cuts": cuts}
    trace = Trace(**about, spans=found, messages=sent)
    if trace.side_by_side:
        trace = replace(trace, spans=_apart_from_waits(found, sent))
    return trace


def _joined(
    parts: list[int], spans: list[Span], messages: list[Message]
) -> tuple[list[Span], list[Message], list[float]]:
    """Entries of the numbered parts; each part begins at the end of the previous one.

    And where something was left out: before parts that begin later than just after the one before.
    """
    windows: dict[int, tuple[float, float]] = {}
    for part, span in zip(parts, spans, strict=True):
        begin, end = windows.get(part, (span.begin, span.end))
        windows[part] = min(begin, span.begin), max(end, span.end)
    windows.pop(0, None)
    earlier: dict[int, float] = {}  # by part
    cuts: list[float] = []
    end, before = 0.0, None
    for part, window in sorted(windows.items()):
        if before is not None and window[0] - before[1] > before[1] - before[0]:
            cuts.append(end)
        before = window
        earlier[part] = window[0] - end
        end += window[1] - window[0]
    found = [
        replace(span, begin=span.begin - earlier[part], end=span.end - earlier[part])
        for part, span in zip(parts, spans, strict=True)
        if part
    ]
    begins = [(window[0], part) for part, window in sorted(windows.items())]
    sent = []
    for m in messages:
        at = bisect_right(begins, m.used, key=lambda begin: begin[0]) - 1
        if at < 0 or m.used > windows[begins[at][1]][1]:
            continue
        by = earlier[begins[at][1]]
        sent.append(replace(m, sent=m.sent - by, arrived=m.arrived - by, used=m.used - by))
    return found, sent, cuts


def _apart_from_waits(spans: list[Span], messages: list[Message]) -> list[Span]:
    """Spans, with those of kernels that wait for messages in two: a wait, and the rest."""
    tracks: dict[tuple[int, int], list[int]] = defaultdict(list)
    for place in sorted(range(len(spans)), key=lambda place: spans[place].begin):
        tracks[spans[place].rank, spans[place].stream].append(place)
    begins = {key: [spans[place].begin for place in track] for key, track in tracks.items()}
    until: dict[int, float] = {}  # by place of the kernel
    for message in messages:
        if message.carrier != "kernels":
            continue
        key = message.receiver, message.used_on
        at = bisect_right(begins.get(key, []), message.used) - 1
        if at >= 0 and message.used <= spans[tracks[key][at]].end:
            place = tracks[key][at]
            until[place] = max(until.get(place, message.used), message.used)
    found = list(spans)
    for place, end in until.items():
        kernel = spans[place]
        if end > kernel.begin:
            found[place] = replace(kernel, begin=end)
            found.append(replace(kernel, name=WAIT, end=end))
    return found


def _waits_of(rank: int, spans: list[Span], arrivals: list[Message]) -> list[Wait]:
    found: list[Wait] = []
    begin: float | None = None
    next_arrival = 0
    for place, span in enumerate(spans):
        if span.name != WAIT:
            continue
        begin = span.begin if begin is None else begin
        goes_on = place + 1 < len(spans) and spans[place + 1].name == WAIT
        if goes_on:
            continue
        last = None
        while next_arrival < len(arrivals) and arrivals[next_arrival].arrived <= span.end:
            last = arrivals[next_arrival]
            next_arrival += 1
        ended_it = last if last is not None and last.arrived >= begin else None
        found.append(Wait(rank, begin, span.end, ended_it))
        begin = None
    return found


def _merged(spans: list[Span]) -> list[tuple[float, float]]:
    """The time that spans, in the order of their begin, cover: intervals in order."""
    found: list[tuple[float, float]] = []
    for span in spans:
        if found and span.begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], span.end)
        else:
            found.append((span.begin, span.end))
    return found


def _covered(spans: list[Span]) -> float:
    return sum(end - begin for begin, end in _merged(spans))


def _overlap(wait: Wait, intervals: list[tuple[float, float]]) -> float:
    first = bisect_right(intervals, wait.begin, key=lambda interval: interval[1])
    total = 0.0
    for begin, end in intervals[first:]:
        if begin >= wait.end:
            break
        total += min(end, wait.end) - max(begin, wait.begin)
    return total
