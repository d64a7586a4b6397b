# SPDX-License-Identifier: Apache-2.0
"""A trace as events of the Chrome trace-event format, which Perfetto and chrome://tracing open.

A process is a rank, a thread a stream; messages are flow arrows from the task that sends to the
task that uses them; a mark across all ranks tells where steps were not recorded and are left out.
"""

from __future__ import annotations

from typing import Any

from .trace import STREAMS, WAIT, Message, Trace

_CATEGORY = "message"  # of the arrows
# A kernel's message is sent at its end; an arrow begins inside of the span, so much earlier, us.
_INSIDE = 0.002


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
        found.append(_complete(wait.rank, wait.stream, wait.name, wait.begin, wait.end))
    mark = {"ph": "i", "s": "g", "pid": 0, "tid": 0, "name": "steps that were not recorded"}
    found += ({**mark, "ts": round(1e6 * cut, 3)} for cut in trace.cuts)
    return found + _arrows(trace)


def _complete(rank: int, stream: int, name: str, begin: float, end: float) -> dict[str, Any]:
    times = {"ts": round(1e6 * begin, 3), "dur": round(1e6 * (end - begin), 3)}
    return {"ph": "X", "pid": rank, "tid": stream, "name": name, **times}


def _arrows(trace: Trace) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for number, message in enumerate(trace.messages):
        arrow = {"cat": _CATEGORY, "name": message.name, "id": number}
        start = {"ph": "s", "pid": message.sender, "tid": message.sent_on, "args": _about(message)}
        end = {"ph": "f", "bp": "e", "pid": message.receiver, "tid": message.used_on}
        left = 1e6 * message.sent - (_INSIDE if message.carrier == "kernels" else 0)
        found.append({**arrow, **start, "ts": round(left, 3)})
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
