# SPDX-License-Identifier: Apache-2.0
"""Limits of the speed of a run, in words, from its trace.

Each finding says how much of a step it costs, and what it is due to.  A rank that takes longer than
others may have more to do or be slower: times are compared per atom, list entry or call, as far as
the loads of the ranks are known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from math import ceil
from statistics import mean, median

from .critical_path import critical_path, shares
from .kinds import is_of_messages, kind_of
from .trace import CONTENTS, Trace, duration

_MENTIONED = 0.02  # of a step; what costs less is not worth a sentence
_UNEVEN = 1.05  # the busiest rank against the mean
_SLOW = 1.2  # time for the same work against the median of the ranks
_USUAL = 0.9  # of calls; those that take longer may have been interrupted
_MOST = 8  # findings
_PAIRS = "short-range pairs"  # all tasks of them together


class Order(IntEnum):
    """Order of findings: causes, then their effects."""

    CAUSE = 0
    EFFECT = 1


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence, and what it costs, seconds per step."""

    seconds: float
    text: str
    order: Order = Order.EFFECT


def findings(trace: Trace) -> list[Finding]:
    """Limits of the speed: causes, then effects, in both the most expensive first."""
    if not any(trace.work) or trace.seconds <= 0:
        return []
    crowded = _shared_cores(trace)
    slow = {} if crowded else _slow_ranks(trace)
    found = [
        *crowded,
        *slow.values(),
        *_imbalance(trace, set(slow)),
        *_waits(trace),
        *_path(trace),
    ]
    if trace.side_by_side:
        found += _idle_device(trace)
    threshold = _MENTIONED * trace.seconds_per_step
    found = [finding for finding in found if finding.seconds >= threshold]
    return sorted(found, key=lambda finding: (finding.order, -finding.seconds))[:_MOST]


def _shared_cores(trace: Trace) -> list[Finding]:
    if not trace.cores or trace.threads <= trace.cores:
        return []
    lost = trace.seconds_per_step * (1 - trace.cores / trace.threads)
    text = (
        f"The {trace.ranks} ranks have {trace.threads} threads on {trace.cores} cores: tasks, and "
        "messages that have arrived, wait for a core. Run fewer ranks or threads here; what "
        "follows says little."
    )
    return [Finding(lost, text, Order.CAUSE)]


def _slow_ranks(trace: Trace) -> dict[int, Finding]:
    """Ranks that take longer than others for the same work, in most of their tasks.

    Only the shortest nine tenths of the calls of a task are compared: a rank that is interrupted a
    few times is not slow, but a rank that shares a core is.
    """
    ratios: dict[int, list[tuple[float, float, str]]] = defaultdict(list)  # seconds, ratio, task
    for name, times in _typical_times(trace).items():
        work = _work_of(name, trace)
        rates = {r: t / work[r] for r, t in enumerate(times) if t > 0 and work[r] > 0}
        for rank, rate in rates.items():
            if others := [other for r, other in rates.items() if r != rank]:
                ratios[rank].append((times[rank], rate / median(others), name))
    found = {}
    for rank, rows in ratios.items():
        total = sum(seconds for seconds, _, _ in rows)
        without = sum(seconds / ratio for seconds, ratio, _ in rows)
        if total < _SLOW * without:
            continue
        worst = max(rows, key=lambda row: row[0] * (1 - 1 / row[1]))
        text = (
            f"Rank {rank} is slow: the same work takes it {_times(total / without)} as long as the "
            f"other ranks, most of all {worst[2]} ({_times(worst[1])}). Its device or cores may be "
            "shared with something else, or clocked lower."
        )
        found[rank] = Finding((total - without) / trace.steps, text, Order.CAUSE)
    return found


def _times(ratio: float) -> str:
    return f"{ratio:.1f} times" if ratio < 10 else f"{ratio:,.0f} times"


def _typical_times(trace: Trace) -> dict[str, list[float]]:
    """Seconds of all calls by task and rank, if each took the mean time of the shortest calls.

    All tasks of pairs count as one, because only the list entries of a whole rank are known.  Tasks
    of messages are left out, because ranks send and receive different amounts.
    """
    calls: dict[str, list[list[float]]] = defaultdict(lambda: [[] for _ in range(trace.ranks)])
    for rank, spans in enumerate(trace.work):
        for span in spans:
            calls[span.name][rank].append(span.seconds)
    found: dict[str, list[float]] = defaultdict(lambda: [0.0] * trace.ranks)
    for name, of_ranks in calls.items():
        if is_of_messages(name):
            continue
        times = found[_PAIRS if kind_of(name) == "pairs" else name]
        for rank, of_rank in enumerate(of_ranks):
            shortest = sorted(of_rank)[: ceil(_USUAL * len(of_rank))]
            times[rank] += len(of_rank) * mean(shortest or [0.0])
    return found


def _work_of(name: str, trace: Trace) -> list[float]:
    """Amount of work of each rank; equal for all if it is not known."""
    if len(trace.loads) != trace.ranks:
        return [1.0] * trace.ranks
    if name == _PAIRS or name.startswith(("lists", "build_lists")):
        return [float(load["list_entries"]) for load in trace.loads]
    of_tasks = ("pme.spread", "pme.gather", "lj-pme.spread", "lj-pme.gather")
    is_of_grid = (*of_tasks, "spread_charges", "gather_forces")
    if kind_of(name) in ("integrate", "bonded") or name.startswith(is_of_grid):
        return [float(load["atoms"]) for load in trace.loads]
    return [1.0] * trace.ranks


def _imbalance(trace: Trace, slow: set[int]) -> list[Finding]:
    """A rank that has more to do than others; one that is slow is reported as such."""
    busy = trace.busy()
    if trace.ranks < 2 or mean(busy) <= 0:
        return []
    most = max(range(trace.ranks), key=lambda rank: busy[rank])
    if most in slow or busy[most] < _UNEVEN * mean(busy):
        return []
    task, excess = max(
        ((name, s[most] - mean(s)) for name, s in trace.by_task().items()), key=lambda row: row[1]
    )
    text = (
        f"Work is shared unevenly: rank {most} works {duration(busy[most] / trace.steps)} of a "
        f"step, {busy[most] / mean(busy):.2g} times the mean; {duration(excess / trace.steps)} of "
        f"the difference are in {task}."
    )
    if len(trace.loads) == trace.ranks:
        text += _loads_of(trace, most, busy[most] / mean(busy))
    return [Finding((busy[most] - mean(busy)) / trace.steps, text, Order.CAUSE)]


def _loads_of(trace: Trace, rank: int, busier: float) -> str:
    """Whether a rank whose work is this multiple of the mean has more to do."""
    ratios = {}
    for key, words in (("atoms", "atoms"), ("list_entries", "entries of pair lists")):
        average = mean(load[key] for load in trace.loads)
        if average > 0:
            ratios[words] = trace.loads[rank][key] / average
    if all(ratio - 1 < (busier - 1) / 2 for ratio in ratios.values()):
        return (
            " It has hardly more atoms or entries of pair lists than the others: something else "
            "may have used its device or cores now and then."
        )
    parts = (f"{ratio:.2f} times as many {words}" for words, ratio in ratios.items())
    return f" It has {' and '.join(parts)} as the mean."


def _waits(trace: Trace) -> list[Finding]:
    """Waits by rank, message and sender."""
    rows: dict[tuple[int, str, int], float] = defaultdict(float)
    alone: dict[tuple[int, str, int], float] = defaultdict(float)
    for wait, idle in zip(trace.waits, trace.idle_in_waits(), strict=True):
        if wait.message is not None:
            rows[wait.rank, wait.message.name, wait.message.sender] += wait.seconds
            alone[wait.rank, wait.message.name, wait.message.sender] += idle
    step = trace.seconds_per_step
    found = []
    for (rank, name, sender), seconds in rows.items():
        per_step, idle = seconds / trace.steps, alone[rank, name, sender] / trace.steps
        text = (
            f"Rank {rank} waits {duration(per_step)} of the {duration(step)} of a step for "
            f"{CONTENTS.get(name, name)}, from rank {sender}"
        )
        meanwhile = f", {duration(idle)} of it without other work" if trace.side_by_side else ""
        found.append(Finding(idle, f"{text}{meanwhile}."))
    return found


def _path(trace: Trace) -> list[Finding]:
    """Parts of the critical path that no shorter path avoids."""
    path = critical_path(trace)
    by_share = shares(path)
    total = sum(by_share.values())
    step = trace.seconds_per_step
    if total <= 0:
        return []

    def part(chosen: Callable[[str, str], bool]) -> float:
        seconds = sum(s for (kind, name, _), s in by_share.items() if chosen(kind, name))
        return seconds / trace.steps

    found = []
    pme = part(lambda kind, name: kind == "task" and kind_of(name) == "pme")
    if pme > 0.25 * step:
        found.append(
            Finding(
                pme,
                f"The long-range sum takes {duration(pme)} of the {duration(step)} of a step on "
                "the critical path: its tasks follow each other, so more ranks shorten it less "
                "than the rest.",
            )
        )
    flight = part(lambda kind, _: kind == "message")
    if flight > 0:
        found.append(
            Finding(
                flight,
                f"Messages in flight take {duration(flight)} of the {duration(step)} of a step on "
                "the critical path, including the time until a rank that waits for one goes on.",
            )
        )
    between = part(lambda kind, _: kind == "between")
    if between > 0:
        what = "kernels" if trace.side_by_side else "tasks"
        found.append(
            Finding(
                between,
                f"Gaps between {what} take {duration(between)} of the {duration(step)} of a step "
                "on the critical path: launches, and what the host does from one step to the next.",
            )
        )
    (kind, name, rank), seconds = next(iter(by_share.items()))
    if kind == "task":
        found.append(
            Finding(
                seconds / trace.steps,
                f"The longest part of the critical path is {name} on rank {rank}: "
                f"{duration(seconds / trace.steps)} of the {duration(step)} of a step.",
            )
        )
    return found


def _idle_device(trace: Trace) -> list[Finding]:
    found = []
    for rank, (busy, waits) in enumerate(zip(trace.busy(), trace.idle(), strict=True)):
        idle = (trace.seconds - busy - waits) / trace.steps
        text = f"Rank {rank}'s device has no kernel on any stream for {duration(idle)} of a step."
        found.append(Finding(idle, text))
    return found
