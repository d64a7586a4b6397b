# SPDX-License-Identifier: Apache-2.0
"""A rank that is slow on purpose is named by the analysis of what the executors recorded."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from quiltmd.analysis.critical_path import critical_path, shares, slack
from quiltmd.analysis.timeline_page import timeline_page
from quiltmd.analysis.trace import make_trace
from quiltmd.analysis.verdict import findings

SLOW, OTHERS = 1, (0, 2)


@pytest.mark.timeout(1800)  # the first one compiles the programs
def test_a_slow_rank_is_named(built: Path) -> None:
    command = [built / "unit" / "test_message_events", "json"]
    recorded = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    about = {"device": "cpu", "first_step": 0, "steps": recorded["steps"]}
    trace = make_trace(about, recorded["spans"], recorded["messages"])

    # The others wait for its positions, and it waits for nobody.
    waited = [sum(wait.seconds for wait in trace.waits if wait.rank == r) for r in range(3)]
    assert all(waited[rank] > 0.25 * trace.seconds for rank in OTHERS), waited
    assert waited[SLOW] < 0.5 * min(waited[rank] for rank in OTHERS)
    long = [wait for wait in trace.waits if wait.seconds > 1e-4]
    assert long
    senders = {wait.message.sender for wait in long if wait.message is not None}
    assert SLOW in senders

    path = critical_path(trace)
    assert sum(part.seconds for part in path) == pytest.approx(trace.end - path[0].begin, rel=1e-6)
    of_slow = sum(s for (kind, _, rank), s in shares(path).items() if rank == SLOW)
    assert of_slow > 0.5 * trace.seconds
    spare = slack(trace)
    assert spare["pairs.interior", SLOW] < min(spare["pairs.interior", r] for r in OTHERS)

    first = findings(trace)[0].text
    assert first.startswith(f"Rank {SLOW} is slow"), first
    assert not any("unevenly" in f.text for f in findings(trace))  # it has no more to do
    assert not any(f"Rank {rank} is slow" in f.text for rank in OTHERS for f in findings(trace))
    assert f"Rank {SLOW} is slow" in timeline_page(trace, "A slow rank")
