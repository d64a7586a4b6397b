# SPDX-License-Identifier: Apache-2.0
"""A trace as events of the Chrome trace-event format, which Perfetto and chrome://tracing open.

A process is a rank, a thread a stream; messages are flow arrows from the task that sends to the
task that uses them.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from .trace import STREAMS, WAIT, Message, Span, Trace

_SYSTEM = "message"  # category of the arrows


def events(trace: Trace) -> list[dict[str, Any]]:
    """All events; times in microseconds."""
    tracks = sorted({(span.rank, span.stream) for span in trace.spans})
    found: list[dict[str, Any]] = []
    for rank, stream in tracks:
        track = {"ph": "M", "pid": rank, "tid": stream}
        rank_name = f"rank {rank} ({trace.device})"
        found.append({**track, "name": "process_name", "args": {"name": rank_name}})
        found.append({**track, "name": "thread_name", "args": {"name": STREAMS[stream]}})
    found += (
        _complete(span.rank, span.stream, span.name, span.begin, span.end)
        for span in trace.spans
        if span.name != WAIT
    )
    for wait in trace.waits:
        found.append(_complete(wait.rank, 0, wait.name, wait.begin, wait.end))
    return found + _arrows(trace)


def _complete(rank: int, stream: int, name: str, begin: float, end: float) -> dict[str, Any]:
    times = {"ts": round(1e6 * begin, 3), "dur": round(1e6 * (end - begin), 3)}
    return {"ph": "X", "pid": rank, "tid": stream, "name": name, **times}


def _arrows(trace: Trace) -> list[dict[str, Any]]:
    begins = [[span.begin for span in spans] for spans in trace.work]

    def at(rank: int, time: float) -> Span | None:
        place = bisect_right(begins[rank], time) - 1
        return trace.work[rank][place] if place >= 0 else None

    found: list[dict[str, Any]] = []
    for number, message in enumerate(trace.messages):
        sender, user = at(message.sender, message.sent), at(message.receiver, message.used)
        if sender is None or user is None:
            continue
        arrow = {"cat": _SYSTEM, "name": message.name, "id": number}
        start = {"ph": "s", "pid": sender.rank, "tid": sender.stream, "args": _about(message)}
        end = {"ph": "f", "bp": "e", "pid": user.rank, "tid": user.stream}
        found.append({**arrow, **start, "ts": round(1e6 * message.sent, 3)})
        found.append({**arrow, **end, "ts": round(1e6 * message.used, 3)})
    return found


def _about(message: Message) -> dict[str, Any]:
    return {
        "from": message.sender,
        "to": message.receiver,
        "bytes": message.bytes,
        "sent": round(1e6 * message.sent, 3),
        "arrived": round(1e6 * message.arrived, 3),
        "used": round(1e6 * message.used, 3),
    }
