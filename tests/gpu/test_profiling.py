# SPDX-License-Identifier: Apache-2.0
"""Profiles on a GPU: every kernel of recorded blocks is there, and the bits stay."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from running import Run, gpu_count, thermal

import quiltmd
from quiltmd.running.profiling import run_profiled

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore:a time step of 4 fs is long:quiltmd.QuiltWarning"),
]

Pair = tuple[quiltmd.System, quiltmd.State]
GRAIN = 2e-6  # s, of the GPU's clock
LATE = 5e-5  # s, of a span's end
INTEGRATOR = quiltmd.LangevinMiddle(timestep=0.004, seed=3)


def test_kernels_of_every_step(peptide: Pair) -> None:
    system, state = peptide
    simulation = quiltmd.Simulation(
        system, thermal(system, state), integrator=INTEGRATOR, device="cuda"
    )
    life = int(simulation.describe()["list_life"])
    profile = run_profiled(simulation, 10**6)
    assert profile.trace.stretch == 150 * life
    # One block of ten lists in 15; the drift is removed every 100 steps, where a list ends early.
    assert 9 * life < profile.steps <= 11 * life
    assert simulation.step == 208 * life
    assert profile.trace.plain_step > 0
    calls = {row.name: row.calls for row in profile.rows()}
    assert sum(count == profile.steps for count in calls.values()) >= 5, calls
    assert all(row.us_per_call > 0 for row in profile.rows())
    for stream in (0, 1):
        spans = [span for span in profile.trace.spans if span.stream == stream]
        assert len(spans) >= profile.steps
        spans.sort(key=lambda span: (span.begin, span.end))
        assert spans[0].begin >= 0
        overlaps = [(a, b) for a, b in pairwise(spans) if a.end > b.begin + GRAIN]
        assert overlaps == []


@pytest.mark.parametrize("mesh", ["distributed", "replicated"])
def test_messages_that_kernels_write(dhfr: Pair, mesh: str) -> None:
    """Each step's are seen, from the kernel that writes them to the one that waits for them."""
    if gpu_count() < 2:
        pytest.skip("this machine has one GPU")
    system, state = dhfr
    warm = thermal(system, state)
    simulation = quiltmd.Simulation(
        system, warm, integrator=INTEGRATOR, device="cuda:0,1", mesh=mesh
    )
    profile = run_profiled(simulation, 10**6)
    trace = profile.trace
    of_steps = {"positions", "forces", "charges"}
    if mesh == "distributed":
        of_steps |= {"spectrum", "spectrum back", "potential"}
    for name in of_steps:
        for sender in (0, 1):
            found = [m for m in trace.messages if (m.name, m.sender) == (name, sender)]
            assert len(found) == profile.steps, (name, sender)
    assert {message.carrier for message in trace.messages} == {"kernels"}
    assert all(m.sent == m.arrived <= m.used and m.bytes > 16 for m in trace.messages)
    assert trace.waits
    assert all(wait.message is not None for wait in trace.waits)
    ends = {
        (rank, stream): np.array([s.end for s in spans if s.stream == stream])
        for rank, spans in enumerate(trace.work)
        for stream in range(4)
    }
    late = [np.abs(ends[m.sender, m.sent_on] - m.sent).min() for m in trace.messages]
    assert np.median(late) < GRAIN
    assert max(late) < LATE


def test_a_profile_changes_no_bit(peptide: Pair) -> None:
    warm = peptide[0], thermal(*peptide)
    run = Run(*warm, INTEGRATOR).advance(60)
    run.engine.start_profile()
    run.advance(100)
    assert run.engine.stop_profile()
    run.advance(140)
    assert run.digest() == Run(*warm, INTEGRATOR).advance(300).digest()
    assert run.engine.stop_profile() == []
