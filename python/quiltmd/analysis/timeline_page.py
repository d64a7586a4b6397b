# SPDX-License-Identifier: Apache-2.0
"""The page of a profile: timeline, use, tasks, messages, balance and critical path of all ranks.

One HTML file with its script and its data inside, nothing to fetch.  The timeline shows at most
`_MOST_SPANS` spans, from the beginning of the stretch; all numbers are of the whole stretch.
"""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from statistics import mean, median
from typing import Any

from ..pages.html import Html, note, page, table
from .critical_path import critical_path, shares, slack
from .kinds import kind_of
from .trace import CONTENTS, STREAMS, WAIT, Message, Trace, duration
from .verdict import findings

_MOST_SPANS = 120_000
_FIRST_STEPS = 3  # that the timeline shows when it is opened
_TASKS = 24
_PATH_ROWS = 14

# Kinds of spans: words, colour, colour of text on it; in the dark the same.
_KINDS = {
    "pairs": ("short-range pairs", "#0072b2", "#fff"),
    "bonded": ("bonded terms", "#56b4e9", "#000"),
    "pme": ("long-range sum", "#e69f00", "#000"),
    "integrate": ("integration", "#009e73", "#fff"),
    "messages": ("messages", "#cc79a7", "#000"),
    "rebuild": ("lists, layout", "#8a6d3b", "#fff"),
    "other": ("other", "#7f7f7f", "#fff"),
    WAIT: ("waiting", "#c9c9c9", "#000"),
}
_BUTTONS = (
    ("closer", "+"),
    ("wider", "\u2212"),
    ("back", "\u25c0"),
    ("on", "\u25b6"),
    ("step", "one step"),
    ("all", "all"),
)
_LEFT_OUT = (
    "Dashed lines mark gaps of steps that were not recorded. The recorded blocks of steps, each "
    "one pair-list lifetime long, are shown one after another. All numbers are for recorded steps."
)
_STYLE = """
<style>
:root { --path: #d00; } @media (prefers-color-scheme: dark) { :root { --path: #ff6b6b; } }
.timeline { position: relative; } .timeline canvas { width: 100%; display: block;
  touch-action: none; cursor: grab; } .timeline canvas:focus-visible { outline: 2px solid; }
.timeline button { font: inherit; padding: .1rem .6rem; margin-right: .3rem; }
.tip { position: absolute; pointer-events: none; white-space: pre; font-size: 12px; z-index: 2;
  background: var(--paper); color: var(--ink); border: 1px solid var(--soft);
  padding: .3rem .5rem; }
.legend span { margin-right: 1rem; white-space: nowrap; } .legend i { display: inline-block;
  width: .9rem; height: .8rem; margin-right: .3rem; vertical-align: -1px; }
.stack { display: flex; height: 1.1rem; width: min(620px, 100%); }
.stack i { display: block; } ol.findings li { margin: .35rem 0; max-width: 75ch; }
.heat { min-width: 7.5rem; padding: .15rem .4rem; }
.use { display: grid; grid-template-columns: max-content 1fr; gap: 2px .8rem;
  align-items: end; font-size: 12px; color: var(--soft); } .use svg { height: 28px; }
.use .line { vector-effect: non-scaling-stroke; }
.ends { display: flex; justify-content: space-between; }
</style>
"""


def timeline_page(trace: Trace, title: str) -> str:
    """The page of a trace."""
    what = "kernels" if trace.side_by_side else "tasks"
    ranks = "one rank" if trace.ranks == 1 else f"{trace.ranks} ranks"
    summary = [
        f"{trace.steps_in_words} on {ranks} ({trace.device}): {trace.step_in_words}",
        f"{len(trace.spans):,} {what} and waits, {len(trace.messages):,} messages",
    ]
    sections = [
        ("Limits of the speed", _findings(trace)),
        ("Timeline", _timeline(trace)),
        ("Usage over time", _use(trace)),
        ("Balance", _balance(trace)),
        (f"Time of {what}, us per step", _tasks(trace)),
        ("Messages", _messages(trace)),
        ("Critical path", _path(trace)),
    ]
    return page(title, summary, sections)


def _findings(trace: Trace) -> str:
    found = findings(trace)
    if not found:
        return note("No limit found: no rank waits for long, and the load is even.")
    items = "".join(f"<li>{escape(finding.text)}</li>" for finding in found)
    return f'<ol class="findings">{items}</ol>'


# ---- Timeline -----------------------------------------------------------------------------------


def _timeline(trace: Trace) -> str:
    data, is_cut = _data(trace)
    script = files(__package__.rsplit(".", 1)[0] + ".pages").joinpath("timeline.js").read_text()
    colours = "".join(
        f"--kind-{kind}: {colour}; --on-{kind}: {on}; " for kind, (_, colour, on) in _KINDS.items()
    )
    legend = "".join(
        f'<span><i style="background:{colour}"></i>{escape(words)}</span>'
        for words, colour, _ in _KINDS.values()
    )
    buttons = "".join(f'<button data-do="{do}">{words}</button>' for do, words in _BUTTONS)
    cut = note("The end of the profile is not shown, to limit the size of the page.")
    # "<" could end the script element early.
    payload = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return (
        f"{_STYLE}<p class=legend>{legend}"
        '<span><i style="background:var(--path);height:3px"></i>critical path</span></p>'
        f'<figure class="timeline" style="{colours}"><p>{buttons}'
        '<label><input type="checkbox" class="arrows" checked> messages</label> '
        '<span class="soft hint"></span></p>'
        '<canvas tabindex="0" role="img" aria-label="Timeline of all ranks and streams">'
        "</canvas><div class=tip hidden></div></figure>"
        + note(
            "Drag to move, turn the wheel or press + and \u2212 to zoom. Point at a bar, or at the "
            "dot at the end of a message, for its name and times."
        )
        + (cut if is_cut else "")
        + (note(_LEFT_OUT) if trace.cuts else "")
        + f"<script>{script}\nshowTimeline(document.querySelector('.timeline'), {payload});"
        + "</script>"
    )


def _data(trace: Trace) -> tuple[dict[str, Any], bool]:
    """Data for the script of the page, and whether a part of them was left out."""
    shown = [(s.rank, s.stream, s.name, s.begin, s.end) for s in trace.spans if s.name != WAIT]
    shown += [(w.rank, w.stream, w.name, w.begin, w.end) for w in trace.waits]
    shown.sort(key=lambda row: row[3])
    is_cut = len(shown) > _MOST_SPANS
    shown = shown[:_MOST_SPANS]
    end = max((row[4] for row in shown), default=trace.begin)
    names: dict[str, int] = {}
    tracks: dict[tuple[int, int], list[float]] = {key: [] for key in sorted({r[:2] for r in shown})}
    for rank, stream, name, begin, stop in shown:
        number = names.setdefault(name, len(names))
        row = (_us(begin, trace), round(1e6 * (stop - begin), 2), number)
        tracks[rank, stream] += row
    numbers = {key: place for place, key in enumerate(tracks)}
    messages = _message_rows(trace, end, names, numbers)
    path: list[float] = []
    for part in critical_path(trace):
        track = numbers.get((part.rank, part.stream))
        if part.kind == "task" and part.end <= end and track is not None:
            path += (track, _us(part.begin, trace), _us(part.end, trace))
    step = 1e6 * trace.seconds_per_step
    return {
        "names": list(names),
        "kinds": [kind_of(name) for name in names],
        "tracks": [
            {"label": f"rank {rank} {STREAMS[stream]}", "rank": rank, "spans": spans}
            for (rank, stream), spans in tracks.items()
        ],
        "messages": messages,
        "path": path,
        "cuts": [_us(cut, trace) for cut in trace.cuts if cut <= end],
        "length": _us(end, trace),
        "first": round(_FIRST_STEPS * step, 2),
        "step": round(step, 2),
    }, is_cut


def _us(time: float, trace: Trace) -> float:
    return round(1e6 * (time - trace.begin), 2)


def _message_rows(
    trace: Trace, end: float, names: dict[str, int], tracks: dict[tuple[int, int], int]
) -> list[float]:
    found: list[float] = []
    for m in trace.messages:
        sender, user = tracks.get((m.sender, m.sent_on)), tracks.get((m.receiver, m.used_on))
        if m.used > end or sender is None or user is None:
            continue
        name = names.setdefault(m.name, len(names))
        times = (_us(m.arrived, trace), _us(m.used, trace))
        found += (name, sender, _us(m.sent, trace), user, *times, m.bytes)
    return found


# ---- Numbers ------------------------------------------------------------------------------------

_COLUMNS, _HEIGHT = 240, 100  # of the plot of a rank's use


def _use(trace: Trace) -> str:
    """Areas of the fraction of time that each rank works, over the profiled steps."""
    what = "a kernel runs" if trace.side_by_side else "a task runs"
    rows = "".join(_use_of(rank, trace) for rank in range(trace.ranks))
    ends = f'<span></span><div class="ends"><span>0</span>{duration(trace.seconds)}</div>'
    words = (
        f"Fraction of time in which {what}, in {_COLUMNS} intervals of the profile, and the mean."
    )
    return note(words) + f'<div class="use">{rows}{ends}</div>'


def _use_of(rank: int, trace: Trace) -> str:
    width = trace.seconds / _COLUMNS if trace.seconds > 0 else 1.0
    share = [0.0] * _COLUMNS
    until = float("-inf")
    for span in trace.work[rank]:
        _spread(share, max(span.begin, until) - trace.begin, span.end - trace.begin, width)
        until = max(until, span.end)
    points = " ".join(
        f"{place + 0.5},{_HEIGHT * (1 - min(value, 1)):.1f}" for place, value in enumerate(share)
    )
    return (
        f"<span>rank {rank}: {mean(share):.0%}</span>"
        f'<svg viewBox="0 0 {_COLUMNS} {_HEIGHT}" preserveAspectRatio="none" role="img" '
        f'aria-label="Fraction of time that rank {rank} works, over the profile">'
        f'<polygon class="range" points="0,{_HEIGHT} {points} {_COLUMNS},{_HEIGHT}"/>'
        f'<polyline class="line" points="{points}"/></svg>'
    )


def _spread(share: list[float], begin: float, end: float, width: float) -> None:
    """Adds a span to the columns that it covers."""
    if end <= begin:
        return
    for column in range(max(0, int(begin / width)), min(len(share), int(end / width) + 1)):
        covered = min(end, (column + 1) * width) - max(begin, column * width)
        share[column] += max(0.0, covered) / width


def _stack(parts: list[tuple[float, str, str]], style: str = "") -> Html:
    """Shares of 1 as a bar of colours, each with its words."""
    bars = "".join(
        f'<i style="width:{share:.2%};background:{colour}" title="{escape(words)}"></i>'
        for share, colour, words in parts
    )
    return Html(f'<div class="stack" style="{style}">{bars}</div>')


def _balance(trace: Trace) -> str:
    if trace.ranks < 2:
        return note("One rank: no load balancing.")
    busy = trace.busy()
    waited = trace.idle()
    headings = ["rank", "", *(f"{does}, us per step" for does in ("work", "waiting", "neither"))]
    before = trace.busy_before
    if before:
        headings.insert(2, "work before load balancing, us per step")
    rows = []
    for rank in range(trace.ranks):
        parts = [
            (busy[rank] / trace.seconds, "var(--line)", "works"),
            (waited[rank] / trace.seconds, "var(--rest)", "waits"),
        ]
        bar = _stack(parts, "width:150px;border:1px solid var(--soft)")
        rest = max(0.0, trace.seconds - busy[rank] - waited[rank])
        cells = [str(rank), bar, *(_per_step(s, trace) for s in (busy[rank], waited[rank], rest))]
        if before:
            cells.insert(2, f"{1e6 * before[rank]:,.1f}")
        rows.append(cells)
    text = _spread_of(
        "After load balancing, the" if before else "The", [b / trace.steps for b in busy]
    )
    if before:
        text = _spread_of("Before load balancing, the", before) + " " + text
    if trace.patch_moves:
        text += f" Before the profile ended, {trace.patch_moves}."
    text += " Bars: work (coloured), waiting for messages (grey), neither (empty)."
    return note(text) + table(headings, rows, 1) + _loads(trace)


def _loads(trace: Trace) -> str:
    """Loads: the data and computes of each rank."""
    if not trace.loads:
        return ""
    columns = ("patches", "proxies", "computes", "atoms", "list_entries")
    rows = [
        [str(rank), *(f"{load[column]:,}" for column in columns)]
        for rank, load in enumerate(trace.loads)
    ]
    words = (
        "A rank owns patches of the box; proxies are copies of patches of other ranks. A compute "
        "is the interactions of a patch with itself and with half of its neighbours."
    )
    headings = ["rank", *(column.replace("_", " ") for column in columns)]
    return note(words) + table(headings, rows, 1)


def _spread_of(when: str, seconds: list[float]) -> str:
    average = mean(seconds) or 1.0
    return (
        f"{when} busiest rank has {max(seconds) / average:.2f} times the mean work, the "
        f"least busy rank {min(seconds) / average:.2f} times."
    )


def _per_step(seconds: float, trace: Trace) -> str:
    return f"{1e6 * seconds / max(trace.steps, 1):,.1f}"


def _tasks(trace: Trace) -> str:
    rows = []
    for name, seconds in list(trace.by_task().items())[:_TASKS]:
        average = mean(seconds)
        most = f"{max(seconds) / average:.2f}" if average > 0 and trace.ranks > 1 else ""
        words = _KINDS[kind_of(name)][0]
        rows.append([name, words, *(_per_step(s, trace) for s in seconds), most])
    what = "kernel" if trace.side_by_side else "task"
    headings = [what, "part of", *(f"rank {rank}" for rank in range(trace.ranks))]
    return table([*headings, "most / mean" if trace.ranks > 1 else ""], rows, 2)


def _messages(trace: Trace) -> str:
    if not trace.messages:
        return note("No messages were sent." if trace.ranks > 1 else "One rank: no messages.")
    matrix: dict[tuple[int, int], list[int]] = {}
    kinds: dict[str, list[Message]] = {}
    for message in trace.messages:
        matrix.setdefault((message.sender, message.receiver), []).append(message.bytes)
        kinds.setdefault(message.name, []).append(message)
    most = max(sum(sizes) for sizes in matrix.values())
    rows = []
    for sender in range(trace.ranks):
        cells: list[str] = [f"from {sender}"]
        for receiver in range(trace.ranks):
            sizes = matrix.get((sender, receiver), [])
            share = sum(sizes) / most if most else 0
            count = f"{len(sizes) / trace.steps:.3g}"
            count += " message" if count == "1" else " messages"
            text = f"{sum(sizes) / trace.steps:,.0f} bytes<br>{count}"
            colour = f"color-mix(in srgb, var(--line) {60 * share:.0f}%, transparent)"
            shown = f'<div class="heat" style="background:{colour}">{text}</div>'
            cells.append(Html(shown if sizes else ""))
        rows.append(cells)
    headings = ["", *(f"to {rank}" for rank in range(trace.ranks))]
    words = note("Bytes and messages per step between each pair of ranks.")
    by_kind = note("By kind of message; times are medians.")
    return words + table(headings, rows, 1) + by_kind + table(*_kinds_table(trace, kinds), 2)


def _kinds_table(
    trace: Trace, kinds: dict[str, list[Message]]
) -> tuple[list[str], list[list[str]]]:
    headings = [
        "message",
        "contents",
        "messages per step",
        "bytes per message",
        "sent to arrived, us",
        "arrived to used, us",
    ]
    waited: dict[str, float] = {}
    for wait in trace.waits:
        if wait.message is not None:
            waited[wait.message.name] = waited.get(wait.message.name, 0.0) + wait.seconds
    rows = []
    for name, found in sorted(kinds.items(), key=lambda item: -waited.get(item[0], 0.0)):
        rows.append(
            [
                name,
                CONTENTS.get(name, ""),
                f"{len(found) / trace.steps:.3g}",
                f"{median(m.bytes for m in found):,.0f}",
                f"{1e6 * median(m.arrived - m.sent for m in found):,.1f}",
                f"{1e6 * median(m.used - m.arrived for m in found):,.1f}",
                _per_step(waited.get(name, 0.0), trace),
            ]
        )
    return [*headings, "waiting for it, us per step, all ranks"], rows


def _path(trace: Trace) -> str:
    path = shares(critical_path(trace))
    total = sum(path.values())
    if total <= 0:
        return note("Nothing was recorded.")
    spare = slack(trace) if trace.ranks > 1 else {}  # of one rank all tasks are on the path
    rows, bar = [], []
    for (kind, name, rank), seconds in list(path.items())[:_PATH_ROWS]:
        what = f"{name}, in flight" if kind == "message" else name
        free = spare.get((name, rank)) if kind == "task" else None
        cells = (_per_step(seconds, trace), f"{seconds / total:.1%}")
        rows.append([what, str(rank), *cells, "" if free is None else f"{1e6 * free:,.1f}"])
        colour = _KINDS["messages" if kind == "message" else kind_of(name)][1]
        bar.append((seconds / total, colour, f"{what}, rank {rank}: {seconds / total:.1%}"))
    rest = sum(list(path.values())[_PATH_ROWS:])
    if rest > 0:
        rows.append(["all other", "", _per_step(rest, trace), f"{rest / total:.1%}", ""])
    words = note(
        "The chain of tasks and messages that ends last; each waits for the previous one. Only "
        "shorter tasks or messages on it make the run faster. "
        "A message has the rank of its receiver."
    )
    headings = ["part", "rank", "us per step", "share"]
    if not spare:
        return words + _stack(bar) + table(headings, [row[:-1] for row in rows], 1)
    return words + _stack(bar) + table([*headings, "mean slack, us"], rows, 1) + _slack(spare)


def _slack(spare: dict[tuple[str, int], float]) -> str:
    most = sorted(spare.items(), key=lambda item: -item[1])[:_PATH_ROWS]
    rows = [[name, str(rank), f"{1e6 * seconds:,.1f}"] for (name, rank), seconds in most]
    words = (
        "The slack of a task is how much later its calls could end, on average, without making the "
        "profile longer; it is 0 if all calls are on the path. Tasks with the largest slack:"
    )
    return note(words) + table(("task", "rank", "mean slack, us"), rows, 1)
