# SPDX-License-Identifier: Apache-2.0
"""GPUs in workers: the same bits, GPUs that are lost or wrong, replicas that share one."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from output_files import contents, outputs
from running import Pair

import quiltmd
from quiltmd import LangevinMiddle, ReplicaExchange, Simulation, Workers

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore::quiltmd.QuiltWarning")]
STEPS = 2000


def simulation(pair: Pair, device: str = "cuda:0", **workers: Any) -> Simulation:
    return Simulation(
        *pair,
        integrator=LangevinMiddle(timestep=0.004, seed=3),
        device=device,
        workers=Workers(**workers),
    )


@pytest.fixture(scope="module")
def expected(warm: Pair) -> str:
    """Digest of an undisturbed run."""
    run = simulation(warm)
    run.run(STEPS)
    return quiltmd.digest(run.state())


def test_a_worker_has_the_same_bits_at_the_same_speed(
    warm: Pair, expected: str, record_property: Any
) -> None:
    digests = []
    for device in ("cuda:0", "worker:cuda:0", "forward:worker:cuda:0"):
        run = simulation(warm, device)
        run.run(STEPS)
        digests.append(quiltmd.digest(run.state()))
        begin = time.perf_counter()
        run.run(10 * STEPS)
        run.state()
        record_property(f"us_per_step {device}", 1e6 * (time.perf_counter() - begin) / 10 / STEPS)
    assert digests == [expected] * 3


def test_a_process_that_is_killed_leaves_no_trace(warm: Pair, expected: str) -> None:
    run = simulation(warm, spares=("cuda:0",), inject_fault=("kill@1234",))
    run.run(STEPS)
    assert quiltmd.digest(run.state()) == expected


@pytest.mark.parametrize(
    ("fault", "said"), [("sticky@1234", "illegal memory access"), ("hang@1234", "hangs")]
)
def test_a_gpu_that_fails_leaves_no_trace(
    warm: Pair, expected: str, record_property: Any, fault: str, said: str
) -> None:
    """Lost for its process, or busy for ever: the same GPU goes on in another process."""
    run = simulation(warm, spares=("cuda:0",), inject_fault=(fault,), patience=5.0)
    run.run(STEPS // 2)
    begin = time.perf_counter()
    with pytest.warns(quiltmd.QuiltWarning, match=f"{said}.*continuing on worker:cuda:0"):
        run.run(STEPS // 2)
    record_property("seconds", time.perf_counter() - begin)
    assert quiltmd.digest(run.state()) == expected


@pytest.mark.parametrize("kind", ["kill", "sticky"])
def test_files_are_those_of_an_undisturbed_run(warm: Pair, tmp_path: Path, kind: str) -> None:
    calm = simulation(warm)
    calm.run(400, outputs(calm, tmp_path / "calm"))
    disturbed = simulation(warm, spares=("cuda:0",), inject_fault=(f"{kind}@234",))
    with pytest.warns(quiltmd.QuiltWarning, match="continuing on worker:cuda:0"):
        disturbed.run(400, outputs(disturbed, tmp_path / "disturbed"))
    assert contents(tmp_path / "disturbed") == contents(tmp_path / "calm")


def run_and_read(run: Simulation, steps: int) -> None:
    """States are compared by the time that something of them is read."""
    run.run(steps, [])
    run.energies()


@pytest.mark.parametrize("buffer", ["positions", "velocities", "list_positions"])
def test_a_flipped_bit_is_found(warm: Pair, expected: str, buffer: str) -> None:
    fault = f"flip@1234:1:{buffer}:{64 * 5000 + 40}"
    run = simulation(warm, "redundant:cuda:0,cuda:0", inject_fault=(fault,))
    with pytest.warns(quiltmd.QuiltWarning, match="transient error of worker:cuda:0"):
        run_and_read(run, 1236)
    run.run(STEPS - 1236)
    assert quiltmd.digest(run.state()) == expected


def test_a_simulation_migrates(warm: Pair, expected: str) -> None:
    run = simulation(warm)
    for device in ("worker:cuda:0", "cuda:0"):
        run.run(STEPS // 4)
        run.migrate(device)
    run.run(STEPS // 2)
    assert quiltmd.digest(run.state()) == expected


def test_replicas_share_a_gpu(warm: Pair, record_property: Any) -> None:
    """One after the other, two at a time, and in workers."""
    system, state = warm
    digests = []
    for settings in ({}, {"together": 2}, {"devices": ("worker:cuda:0", "cuda:0")}):
        exchange = ReplicaExchange(
            system,
            state,
            quiltmd.temperature_states((300.0, 302.0, 304.0, 306.0)),
            every=250,
            seed=7,
            integrator=LangevinMiddle(timestep=0.004),
            **{"devices": ("cuda:0",), **settings},
        )
        exchange.run(4)
        begin = time.perf_counter()
        exchange.run(8)
        seconds = time.perf_counter() - begin
        record_property(f"us_per_step {settings}", 1e6 * seconds / (8 * 250 * 4))
        digests.append([quiltmd.digest(one.state()) for one in exchange.simulations])
    assert digests[0] == digests[1] == digests[2]
