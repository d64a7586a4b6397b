# SPDX-License-Identifier: Apache-2.0
"""Waits, critical path, slack, verdict, events and page, of traces made by hand and of runs."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import boxes
import pytest
from command import quiltmd as command

import quiltmd
from quiltmd.analysis.critical_path import critical_path, slack
from quiltmd.analysis.kinds import is_of_messages, kind_of
from quiltmd.analysis.perfetto import events
from quiltmd.analysis.timeline_page import timeline_page
from quiltmd.analysis.trace import Message, Span, Trace, duration, make_trace
from quiltmd.analysis.verdict import findings

MAIN, SIDE, HALO = 0, 1, 2


def by_hand() -> Trace:
    """Rank 0 works 10 s, sends, works 2 s; rank 1 works 3 s, waits, and works 4 s after that."""
    spans = [
        Span(0, MAIN, "integrate", 0.0, 10.0),
        Span(0, HALO, "positions.send", 10.0, 10.5),
        Span(0, SIDE, "pairs.interior", 10.5, 12.5),
        Span(1, MAIN, "integrate", 0.0, 3.0),
        Span(1, MAIN, "wait", 3.0, 6.0),  # ended by a message that lets nothing run
        Span(1, MAIN, "wait", 6.0, 11.0),
        Span(1, SIDE, "pairs.boundary", 11.0, 15.0),
    ]
    messages = [
        Message("sums", 0, 1, 8, 4.0, 6.0, 11.0, MAIN, SIDE),
        Message("positions", 0, 1, 64, 10.25, 11.0, 11.0, HALO, SIDE),
    ]
    return Trace("cpu", 0, 2, spans, messages)


def test_waits_are_named_by_what_ended_them() -> None:
    (wait,) = by_hand().waits
    assert (wait.rank, wait.begin, wait.end) == (1, 3.0, 11.0)
    assert wait.name == "wait for positions of rank 0"


def test_ranks_in_workers_do_one_task_at_a_time_as_others_on_cpus() -> None:
    trace = replace(by_hand(), device="ranks:worker:cpu,worker:cpu")
    assert trace.waits == by_hand().waits
    assert critical_path(trace) == critical_path(by_hand())
    assert replace(trace, device="ranks:ssh:a/cuda:0,ssh:b/cuda:0").side_by_side
    assert not replace(trace, device="ranks:ssh:cuda-1/cpu,ssh:cuda-2/cpu").side_by_side


def test_a_wait_without_a_known_message_has_no_cause() -> None:
    spans = [Span(0, 0, "a", 0, 1), Span(0, 0, "wait", 1, 2), Span(0, 0, "a", 2, 3)]
    (wait,) = Trace("cpu", 0, 1, spans).waits
    assert wait.message is None
    assert wait.name == "wait"


def test_the_critical_path_follows_messages_back() -> None:
    path = critical_path(by_hand())
    assert [(part.kind, part.name, part.rank, part.begin, part.end) for part in path] == [
        ("task", "integrate", 0, 0.0, 10.0),
        ("task", "positions.send", 0, 10.0, 10.25),
        ("message", "positions", 1, 10.25, 11.0),
        ("task", "pairs.boundary", 1, 11.0, 15.0),
    ]


def test_slack_is_what_others_could_be_later() -> None:
    assert slack(by_hand()) == pytest.approx(
        {
            ("integrate", 0): 0.0,
            ("positions.send", 0): 0.0,
            ("pairs.interior", 0): 2.5,
            ("integrate", 1): 8.0,
            ("pairs.boundary", 1): 0.0,
        }
    )


def test_streams_of_a_gpu_run_side_by_side() -> None:
    spans = [
        Span(0, MAIN, "spread_charges", 0.0, 2.0),
        Span(0, SIDE, "pair_forces", 0.0, 7.0),
        Span(0, MAIN, "gather_forces", 2.0, 3.0),
        Span(0, MAIN, "langevin_middle", 7.5, 9.0),
    ]
    trace = Trace("cuda", 0, 1, spans)
    assert [part.name for part in critical_path(trace)] == [
        "pair_forces",
        "between kernels",
        "langevin_middle",
    ]
    assert trace.busy() == [pytest.approx(8.5)]
    assert slack(trace) == {}
    assert "pair_forces on rank 0" in " ".join(f.text for f in findings(trace))


def two_gpus() -> Trace:
    """Rank 1's kernel waits from 4 to 7 s for one of rank 0, and until 6 s pairs run beside it."""
    spans = [
        (0, MAIN, "transform_planes", 0.0, 7.0),
        (0, SIDE, "pair_forces", 0.0, 6.5),
        (1, SIDE, "pair_forces", 0.0, 6.0),
        (1, MAIN, "transform_planes", 0.0, 4.0),
        (1, MAIN, "convolve_lines", 4.0, 9.0),
        (0, MAIN, "convolve_lines", 7.0, 8.0),
    ]
    messages = [
        ("spectrum", 0, 1, 4096, 7.0, 7.0, 7.0),
        ("spectrum", 1, 0, 4096, 4.0, 4.0, 7.0),
    ]
    keys = ("name", "from", "to", "bytes", "sent", "arrived", "used")
    carried = {"from_stream": MAIN, "to_stream": MAIN, "carrier": "kernels"}
    return make_trace(
        {"device": "cuda", "first_step": 0, "steps": 1},
        (
            dict(zip(("rank", "stream", "name", "begin", "end"), span, strict=True))
            for span in spans
        ),
        (dict(zip(keys, message, strict=True)) | carried for message in messages),
    )


def test_recorded_blocks_follow_one_another() -> None:
    """Two of ten and five steps, in the time of two ranks, and what was not recorded."""
    times = [
        (0, 2.0, 3.0, 1, 10),
        (1, 2.5, 4.0, 1, 10),
        (0, 5.0, 6.0, 0, 0),
        (1, 9.0, 10.0, 2, 5),
        (0, 9.5, 12.0, 2, 5),
    ]
    spans = [
        {"rank": r, "stream": MAIN, "name": "pairs", "begin": b, "end": e, "part": p, "steps": n}
        for r, b, e, p, n in times
    ]
    keys = ("name", "from", "to", "bytes", "sent", "arrived", "used")
    carried = {"from_stream": MAIN, "to_stream": MAIN, "carrier": "kernels"}
    messages = [
        dict(zip(keys, ("forces", 1, 0, 64, time, time, time), strict=True)) | carried
        for time in (5.5, 10.0)
    ]
    about = {"device": "cuda", "first_step": 100, "steps": 225}
    trace = make_trace(about, spans, messages)
    assert (trace.steps, trace.stretch, trace.begin, trace.end) == (15, 225, 0.0, 5.0)
    assert trace.steps_in_words == "steps 100 to 325, 15 of them recorded,"
    assert [(s.begin, s.end) for s in trace.work[0]] == [(0.0, 1.0), (3.0, 5.0)]
    assert [(s.begin, s.end) for s in trace.work[1]] == [(0.5, 2.0), (2.0, 3.0)]
    (wait,) = trace.waits
    assert (wait.begin, wait.end) == (2.5, 3.0)
    assert wait.message is not None
    assert wait.message.sent == 3.0
    assert trace.cuts == [2.0]
    marks = [event for event in events(trace) if event["ph"] == "i"]
    assert [(mark["s"], mark["ts"]) for mark in marks] == [("g", 2e6)]
    page = timeline_page(trace, "two GPUs")
    assert '"cuts":[2000000.0]' in page
    assert "Dashed lines" in page
    assert "Dashed lines" not in timeline_page(two_gpus(), "two GPUs")


def test_blocks_recorded_one_after_another_have_no_cut_between() -> None:
    keys = ("rank", "stream", "name", "begin", "end", "part", "steps")
    times = ((1.0, 2.0, 1), (2.1, 3.1, 2), (9.0, 10.0, 3))
    spans = (dict(zip(keys, (0, MAIN, "pairs", b, e, p, 10), strict=True)) for b, e, p in times)
    trace = make_trace({"device": "cuda", "first_step": 0, "steps": 90}, spans)
    assert trace.cuts == pytest.approx([2.0])


def test_a_kernel_waits_until_the_one_that_writes_its_message_ends() -> None:
    trace = two_gpus()
    (wait,) = trace.waits
    assert (wait.rank, wait.stream, wait.begin, wait.end) == (1, MAIN, 4.0, 7.0)
    assert wait.name == "wait for spectrum of rank 0"
    assert trace.by_task()["convolve_lines"] == [1.0, 2.0]
    assert trace.busy() == [8.0, 8.0]
    assert trace.idle() == [0.0, 1.0]
    expected = (
        "Rank 1 waits 3,000 ms of the 9,000 ms of a step for PME's transpose, from rank 0, "
        "1,000 ms of it without other work."
    )
    texts = [finding.text for finding in findings(trace)]
    assert expected in texts
    idle = "device has no kernel on any stream"
    assert [text for text in texts if idle in text] == [f"Rank 0's {idle} for 1,000 ms of a step."]


def test_a_step_is_told_recorded_and_not() -> None:
    trace = replace(two_gpus(), plain_step=5.0)
    assert trace.step_in_words == "9,000 ms a step while recorded, 5,000 ms before"
    assert trace.step_in_words in timeline_page(trace, "two")
    assert two_gpus().step_in_words == "9,000 ms a step"


def test_the_critical_path_follows_messages_of_kernels_back() -> None:
    path = critical_path(two_gpus())
    assert [(part.kind, part.name, part.rank, part.begin, part.end) for part in path] == [
        ("task", "transform_planes", 0, 0.0, 7.0),
        ("message", "spectrum", 1, 7.0, 7.0),
        ("task", "convolve_lines", 1, 7.0, 9.0),
    ]


def test_messages_of_kernels_are_arrows_between_their_spans() -> None:
    found = events(two_gpus())
    for arrow, name in (("s", "transform_planes"), ("f", "convolve_lines")):
        for end in (event for event in found if event["ph"] == arrow):
            track = (end["pid"], end["tid"])
            spans = [e for e in found if e["ph"] == "X" and (e["pid"], e["tid"]) == track]
            (span,) = (e for e in spans if e["ts"] <= end["ts"] < e["ts"] + e["dur"])
            assert span["name"] == name


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(4.65e-5, "46.5 us"), (1.22e-4, "122.0 us"), (2.5e-3, "2.50 ms"), (1.5, "1,500 ms")],
)
def test_durations_are_told_in_readable_units(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_slack_is_told_where_there_may_be_some() -> None:
    assert "mean slack, us" in timeline_page(by_hand(), "two ranks")
    alone = Trace("cpu", 0, 1, [Span(0, MAIN, "integrate", 0.0, 1.0)])
    assert "slack" not in timeline_page(alone, "one rank")
    assert "slack" not in timeline_page(two_gpus(), "two GPUs")


def test_the_page_says_what_messages_carry_and_adds_up_the_path() -> None:
    page = timeline_page(by_hand(), "two ranks")
    assert re.search("<td[^>]*>positions</td><td[^>]*>positions of the halo</td>", page)
    path = page[page.index("<h2>Critical path") :]
    path = path[: path.index("</table>")]
    parts = [float(share) for share in re.findall(r">([0-9.]+)%</td>", path)]
    assert sum(parts) == pytest.approx(100, abs=0.5)


def test_what_holds_back_is_said_in_words() -> None:
    texts = [finding.text for finding in findings(by_hand())]
    expected = (
        "Rank 1 waits 4,000 ms of the 7,500 ms of a step for positions of the halo, from rank 0."
    )
    assert expected in texts
    assert texts[0].startswith("Rank 0 is slow: the same work takes it 1.7 times as long")
    assert "most of all integrate (3.3 times)" in texts[0]
    assert not any("unevenly" in text for text in texts)  # a slow rank has no more to do


def test_a_rank_with_more_to_do_is_not_slow() -> None:
    loads = [{"atoms": 1000, "list_entries": 2000}, {"atoms": 300, "list_entries": 4000}]
    trace = by_hand()
    texts = [f.text for f in findings(Trace("cpu", 0, 2, trace.spans, trace.messages, loads))]
    assert texts[0].startswith("Work is shared unevenly: rank 0 works 6,250 ms of a step")
    assert "It has 1.54 times as many atoms" in texts[0]
    assert not any("is slow" in text for text in texts)


def test_more_threads_than_cores_come_first() -> None:
    trace = by_hand()
    crowded = Trace("cpu", 0, 2, trace.spans, trace.messages, threads=8, cores=2)
    texts = [finding.text for finding in findings(crowded)]
    assert texts[0].startswith("The 2 ranks have 8 threads on 2 cores")
    assert not any("is slow" in text for text in texts)  # none can be told from one without a core


def test_a_rank_whose_messages_take_longer_is_not_slow() -> None:
    """It may have more of them, or larger ones."""
    spans = [
        Span(rank, MAIN, name, begin, begin + seconds)
        for rank, send in ((0, 50.0), (1, 0.1))
        for name, begin, seconds in (("integrate", 0.0, 10.0), ("forces.send", 10.0, send))
    ]
    texts = [finding.text for finding in findings(Trace("cpu", 0, 1, spans))]
    assert not any("is slow" in text for text in texts), texts


def test_interior_and_boundary_pairs_are_compared_together() -> None:
    """Which rank has how many of either is not known, only how many list entries it has."""
    times = {0: (8.0, 2.0), 1: (2.0, 8.0)}
    spans = [
        Span(rank, SIDE, name, 10.0 * place, 10.0 * place + seconds)
        for rank, of_rank in times.items()
        for place, (name, seconds) in enumerate(
            zip(("pairs.interior", "pairs.boundary"), of_rank, strict=True)
        )
    ]
    loads = [{"atoms": 100, "list_entries": 1000}] * 2
    texts = [finding.text for finding in findings(Trace("cpu", 0, 1, spans, [], loads))]
    assert not any("is slow" in text for text in texts), texts


def test_a_slow_rank_is_told_in_plain_numbers() -> None:
    spans = [Span(0, MAIN, "integrate", 0.0, 300.0), Span(1, MAIN, "integrate", 0.0, 1.0)]
    text = findings(Trace("cpu", 0, 1, spans))[0].text
    assert text.startswith("Rank 0 is slow: the same work takes it 300 times as long")
    assert "integrate (300 times)" in text


def test_pme_of_gpus_is_found_by_all_its_kernels() -> None:
    """Kernels that write into each other's grids have names of their own."""
    names = ("spread_charges", "transform_planes.direct", "convolve_lines.direct", "pair_forces")
    spans = [Span(0, MAIN, name, place, place + 1.0) for place, name in enumerate(names)]
    texts = [finding.text for finding in findings(Trace("cuda", 0, 1, spans))]
    assert any(text.startswith("The long-range sum takes 3,000 ms of the 4,000") for text in texts)


def test_nothing_recorded_is_no_error() -> None:
    nothing = Trace("cpu", 0, 0, [])
    assert findings(nothing) == []
    assert critical_path(nothing) == []
    assert "Nothing was recorded" in timeline_page(nothing, "empty")


def test_messages_are_arrows_in_trace_events() -> None:
    found = events(by_hand())
    arrows = [event for event in found if event.get("id") == 1]
    assert [event["ph"] for event in arrows] == ["s", "f"]
    start, end = arrows
    assert (start["pid"], start["tid"], start["ts"]) == (0, HALO, 10.25e6)
    assert (end["pid"], end["tid"], end["ts"]) == (1, SIDE, 11e6)
    assert start["args"]["bytes"] == 64
    waits = [event["name"] for event in found if event["name"].startswith("wait")]
    assert waits == ["wait for positions of rank 0"]


def test_every_task_has_a_kind() -> None:
    names = {"pairs.interior": "pairs", "pme.charges.send": "pme", "integrate": "integrate"}
    names |= {"forces.send": "messages", "lists.build": "rebuild", "terms": "bonded"}
    names |= {"wait for sums of rank 2": "wait", "gather_forces": "pme", "redo": "other"}
    names |= {"forces.clear": "integrate", "spread_site_forces": "integrate", "sites": "integrate"}
    names |= {"terms.place": "rebuild", "place_groups": "rebuild", "place_sites": "integrate"}
    names |= {"all_pair_forces": "pairs", "values.send": "messages", "kinetic": "integrate"}
    names |= {"gather_forces.direct": "pme", "send_grid": "messages", "clear_forces": "integrate"}
    assert {name: kind_of(name) for name in names} == names


def test_tasks_of_messages_are_told_from_transforms() -> None:
    messages = ("positions.receive", "pme.spectrum.return", "pme.spectrum.back", "send_grid")
    assert all(is_of_messages(name) for name in messages)
    others = ("pme.rows.back", "pme.inverse", "forces.clear", "pairs.boundary", "gather_forces")
    assert not any(is_of_messages(name) for name in others)


def test_a_page_needs_no_network_and_cannot_be_broken_out_of() -> None:
    trace = by_hand()
    evil = [*trace.spans, Span(0, 0, "</script><b>", 12.5, 13.0)]
    page = timeline_page(Trace("cpu", 0, 2, evil, trace.messages), "<title> & co")
    assert "&lt;title&gt; &amp; co" in page
    assert page.count("</script>") == 1
    assert not re.search(r"(src|href)\s*=|https?://|@import|url\(", page)


@pytest.fixture(scope="module")
def two_ranks() -> Trace:
    """Ten steps of water on two ranks, in which no lists are built."""
    system, state = boxes.water_box((14, 7, 7))
    core = boxes.engine(system, state, ranks=2, list_life=20)
    core.run(3)
    core.start_profile()
    core.run(10)
    about = {"device": "cpu", "first_step": 3, "steps": 10}
    spans = core.stop_profile()
    return make_trace(about | {"loads": core.loads()}, spans, core.profiled_messages())


def test_messages_of_a_run(two_ranks: Trace) -> None:
    assert {m.name for m in two_ranks.messages} >= {"positions", "forces", "spectrum", "charges"}
    for name in ("positions", "forces"):
        found = [m for m in two_ranks.messages if m.name == name]
        assert len(found) in range(10, 24), name  # a message a step, one direction or both
    for m in two_ranks.messages:
        assert m.sender != m.receiver
        assert m.bytes > 0
        assert m.bytes % 16 == 0
        assert two_ranks.begin <= m.sent <= m.arrived <= m.used <= two_ranks.end
    assert all(wait.message is not None for wait in two_ranks.waits)


def test_loads_of_a_run(two_ranks: Trace) -> None:
    loads = two_ranks.loads
    assert sum(load["atoms"] for load in loads) == 3 * 14 * 7 * 7
    assert all(load["list_entries"] > 0 for load in loads)
    assert sum(load["computes"] for load in loads) == sum(load["patches"] for load in loads)


def test_the_path_of_a_run_is_as_long_as_the_run(two_ranks: Trace) -> None:
    path = critical_path(two_ranks)
    length = two_ranks.end - path[0].begin
    assert sum(part.seconds for part in path) == pytest.approx(length, rel=1e-6)
    begins = [min(s.begin for s in two_ranks.spans if s.rank == rank) for rank in (0, 1)]
    assert path[0].begin in begins
    spare = slack(two_ranks)
    assert all(value >= 0 for value in spare.values())


def test_quiltmd_profile_leaves_the_run_alone(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = command(
        "run", "--topology", alanine[0], "--coordinates", alanine[1], "--device", "cpu",
        "--steps", 4, "--threads", 1, "--timestep", 0.001, "--seed", 1, "--out", run,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    done = command("profile", run, "--steps", 6, "--ranks", 2)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()) == run / "timeline.html"
    after = {path.name: path.read_bytes() for path in run.iterdir()}
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) == {"timeline.html", "timeline.json", "profile.csv"}
    document: dict[str, Any] = json.loads(after["timeline.json"])
    assert document["otherData"]["steps"] == 6
    assert {event["pid"] for event in document["traceEvents"]} == {0, 1}
    done = command("profile", tmp_path / "nothing")
    assert done.returncode == 1
    assert "nothing" in done.stderr


def test_a_profiled_simulation_tells_of_messages() -> None:
    system, state = boxes.water_box((7, 7, 7))
    simulation = quiltmd.Simulation(system, state, device="cpu")
    assert simulation.profiled_messages() == []
    assert len(simulation.loads()) == 1
