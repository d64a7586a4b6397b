# SPDX-License-Identifier: Apache-2.0
"""The same bits on one GPU and on several ranks, however messages travel and PME is shared."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from running import BAROSTATS, INTEGRATORS, Pair, gpu_count, thermal

import quiltmd
from quiltmd.engine.libraries import NCCL

pytestmark = pytest.mark.gpu

STEPS = 400
NVT, NVE = ({"integrator": INTEGRATORS[name]} for name in ("nvt", "nve"))
PLANS: dict[str, dict[str, Any]] = {
    "nvt": NVT,
    "nve": NVE,
    "impulses": {"integrator": quiltmd.LangevinMiddle(timestep=0.002, long_range_every=2, seed=3)},
    "rescaled": {**NVE, "thermostat": quiltmd.VelocityRescaling(300, seed=5)},
    "chain": {**NVE, "thermostat": quiltmd.NoseHooverChain(300, 0.2, every=5)},
    **{name: {**NVT, "barostat": barostat} for name, barostat in BAROSTATS.items()},
    "lj-pme": {
        "integrator": quiltmd.LangevinMiddle(timestep=0.002, long_range_every=2, seed=3),
        "nonbonded": quiltmd.Nonbonded(lennard_jones="pme"),
    },
    "two cutoffs": {**NVT, "nonbonded": quiltmd.Nonbonded(coulomb_cutoff=0.7)},
    "fmm": {**NVT, "nonbonded": quiltmd.Nonbonded(method="fmm")},
    "fmm with impulses": {
        "integrator": quiltmd.LangevinMiddle(timestep=0.002, long_range_every=2, seed=3),
        "nonbonded": quiltmd.Nonbonded(method="fmm"),
    },
}
plans = pytest.mark.parametrize("plan", PLANS)
on_one = pytest.mark.parametrize("device", ["cuda:0,0", "cuda:0,0,0"])
on_two = pytest.mark.parametrize("device", ["cuda:0,1", "cuda:1,0,1"])
PROCESSES = "ranks:worker:cuda:0,worker:cuda:1"
Digest = Callable[[str], str]


@pytest.fixture
def two_gpus() -> None:
    if gpu_count() < 2:
        pytest.skip("this machine has one GPU")


def simulation(pair: Pair, plan: str, device: str, **where: Any) -> quiltmd.Simulation:
    return quiltmd.Simulation(*pair, **PLANS[plan], device=device, **where)


def digest_of(pair: Pair, plan: str, device: str, **where: Any) -> str:
    """Of a run with a stop on the way."""
    run = simulation(pair, plan, device, **where)
    run.run(STEPS // 2 - 3)
    run.energies()
    run.run(STEPS // 2 + 3)
    return quiltmd.digest(run.state())


@pytest.fixture(scope="module")
def expected(warm: Pair) -> Digest:
    found: dict[str, str] = {}

    def digest(plan: str) -> str:
        if plan not in found:
            found[plan] = digest_of(warm, plan, "cuda:0")
        return found[plan]

    return digest


@plans
@on_one
def test_ranks_on_one_gpu(warm: Pair, expected: Digest, plan: str, device: str) -> None:
    """The host carries their messages."""
    assert digest_of(warm, plan, device) == expected(plan)


@pytest.mark.parametrize("shape", ["rectangular", "skewed"])
def test_fmm_around_the_atoms_has_the_bits_of_all_points(peptide: Pair, shape: str) -> None:
    """In a box with empty space one rank evaluates the former, several the latter."""
    system, state = peptide
    box = np.diag([6.5, 7.0, 9.0])
    if shape == "skewed":
        box[1, 0], box[2, 1] = 2.0, -1.5
    wide = quiltmd.State.start(system, state.positions - [1.0, 1.5, 0.2], box)
    settings = quiltmd.Nonbonded(method="fmm")
    found = set()
    for device in ("cuda:0", "cuda:0,0,0"):
        run = quiltmd.Simulation(
            system, wide, settings, quiltmd.VelocityVerlet(0.001), device=device
        )
        run.run(60)
        found.add(quiltmd.digest(run.state()))
    assert len(found) == 1


@plans
@on_two
@pytest.mark.parametrize("mesh", ["distributed", "replicated"])
@pytest.mark.usefixtures("two_gpus")
def test_two_gpus(warm: Pair, expected: Digest, plan: str, device: str, mesh: str) -> None:
    """Kernels exchange messages between GPUs; of two ranks on one, the host carries them."""
    assert digest_of(warm, plan, device, mesh=mesh) == expected(plan)


@plans
@pytest.mark.usefixtures("two_gpus")
def test_messages_by_the_host(warm: Pair, expected: Digest, plan: str) -> None:
    assert digest_of(warm, plan, "cuda:0,1", transport="staged") == expected(plan)


@plans
def test_restart_on_another_number_of_ranks(warm: Pair, expected: Digest, plan: str) -> None:
    system, _ = warm
    run = simulation(warm, plan, "cuda:0")
    run.run(137)
    rest = simulation((system, run.state()), plan, "cuda:0,0")
    rest.run(STEPS - 137)
    assert quiltmd.digest(rest.state()) == expected(plan)


def test_energies_are_those_of_one_rank(warm: Pair) -> None:
    one, two = (simulation(warm, "nvt", device) for device in ("cuda:0", "cuda:0,0"))
    shared = simulation(warm, "nvt", "cuda:0,0", mesh="replicated")
    assert two.energies() == one.energies() == shared.energies()
    assert (two.forces() == one.forces()).all()


def test_minimisation_is_that_of_one_rank(warm: Pair) -> None:
    digests = set()
    for device in ("cuda:0", "cuda:0,0"):
        run = simulation(warm, "nvt", device)
        run.minimize(max_iterations=60)
        digests.add(quiltmd.digest(run.state()))
    assert len(digests) == 1


@pytest.mark.usefixtures("two_gpus")
def test_both_ways_to_share_pme_are_tried(warm: Pair) -> None:
    """A long run tries them; its bits are those of one GPU all the same."""
    digests = set()
    for device in ("cuda:0", "cuda:0,1"):
        run = simulation(warm, "nvt", device)
        run.run(1500)
        digests.add(quiltmd.digest(run.state()))
    assert len(digests) == 1
    assert run.describe()["mesh"] in ("distributed", "replicated")


@pytest.mark.usefixtures("two_gpus")
def test_energies_on_two_gpus(warm: Pair) -> None:
    one, two = (simulation(warm, "nvt", device) for device in ("cuda:0", "cuda:0,1"))
    shared = simulation(warm, "nvt", "cuda:0,1", mesh="distributed")
    assert two.energies() == one.energies() == shared.energies()
    assert (two.forces() == one.forces()).all()
    assert (shared.forces() == one.forces()).all()


@pytest.mark.usefixtures("two_gpus")
def test_planes_larger_than_a_multiprocessor(warm: Pair) -> None:
    """They are transformed in tiles of rows and of columns."""
    fine = quiltmd.Nonbonded(pme_alpha=3.0, pme_grid=(64, 256, 252))
    digests = []
    for device in ("cuda:0", "cuda:0,1"):
        run = quiltmd.Simulation(
            *warm,
            fine,
            **NVT,
            device=device,
            mesh="distributed" if "," in device else "auto",
        )
        run.run(60)
        digests.append(quiltmd.digest(run.state()))
    assert digests[0] == digests[1]


@plans
@pytest.mark.parametrize("transport", ["peer", "nccl", "unix"])
@pytest.mark.usefixtures("two_gpus")
def test_two_gpus_in_processes_of_their_own(
    warm: Pair, expected: Digest, plan: str, transport: str
) -> None:
    """Messages go from GPU to GPU; or to the host, by a socket to the other process, to its GPU."""
    assert digest_of(warm, plan, PROCESSES, transport=transport) == expected(plan)


@pytest.mark.usefixtures("two_gpus")
def test_processes_take_the_fastest_way(warm: Pair, expected: Digest) -> None:
    run = simulation(warm, "nvt", PROCESSES)
    run.run(STEPS)
    about = run.describe()
    assert (about["route"], about["why_not_faster"]) == ("peer", "")
    assert quiltmd.digest(run.state()) == expected("nvt")


WITH_WINDOWS = 22902  # the version of NCCL that tells the host where windows of other ranks are


def nccl_has_windows() -> bool:
    version = ctypes.c_int()
    assert ctypes.CDLL(NCCL.path() or NCCL.name).ncclGetVersion(ctypes.byref(version)) == 0
    return version.value >= WITH_WINDOWS


@pytest.mark.parametrize("windows", [True, False])
@pytest.mark.usefixtures("two_gpus")
def test_kernels_write_by_windows_of_nccl_where_it_has_them(
    warm: Pair, expected: Digest, windows: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if windows and not nccl_has_windows():
        pytest.skip("this version of NCCL has no windows")
    monkeypatch.setenv("NCCL_WIN_ENABLE", str(int(windows)))
    for mesh in ("distributed", "replicated"):
        run = simulation(warm, "nvt", PROCESSES, transport="nccl", mesh=mesh)
        run.run(STEPS)
        assert run.describe()["route"] == ("nccl windows" if windows else "nccl")
        assert quiltmd.digest(run.state()) == expected("nvt")


def test_two_processes_on_one_gpu_go_by_the_host_and_say_so(warm: Pair, expected: Digest) -> None:
    run = simulation(warm, "nvt", "ranks:worker:cuda:0,worker:cuda:0")
    run.run(STEPS)
    about = run.describe()
    assert about["route"] == "host"
    assert "ranks 0 and 1 share a GPU" in about["why_not_faster"]
    assert quiltmd.digest(run.state()) == expected("nvt")
    with pytest.raises(quiltmd.QuiltError, match=r"'nccl' cannot be used: .* share a GPU"):
        simulation(warm, "nvt", "ranks:worker:cuda:0,worker:cuda:0", transport="nccl").run(1)


@pytest.mark.parametrize("transport", ["peer", "nccl", "unix"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.usefixtures("two_gpus")
def test_a_process_that_ends_or_stops_ends_all(
    warm: Pair, transport: str, how: signal.Signals
) -> None:
    """In the middle of recorded blocks: soon, with its name, and nothing stays behind."""
    workers = quiltmd.Workers(silence=6.0)
    run: Any = simulation(warm, "nvt", PROCESSES, transport=transport, workers=workers)
    run.run(STEPS)
    victim, other = (connection.process for connection in run._engine._connections)
    threading.Timer(0.5, os.kill, (victim, how)).start()
    start = time.monotonic()
    with pytest.raises(
        quiltmd.QuiltError, match=r"killed by SIGKILL|rank 0 has not|nothing was heard"
    ):
        run.run(10**7)
    assert time.monotonic() - start < 15
    run._engine.close()
    end = time.monotonic() + 10
    while any(Path(f"/proc/{process}").exists() for process in (victim, other)):
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.usefixtures("two_gpus")
def test_atoms_that_leave_the_verlet_buffer(warm: Pair) -> None:
    """Epochs are redone on both GPUs."""
    system, state = warm
    hot = system, thermal(system, state, 2500.0)
    integrator = quiltmd.LangevinMiddle(temperature=300.0, timestep=0.002, seed=3)
    digests = set()
    for device in ("cuda:0", "cuda:0,1"):
        run = quiltmd.Simulation(*hot, integrator=integrator, device=device)
        run.run(200)
        digests.add(quiltmd.digest(run.state()))
    assert len(digests) == 1


@pytest.mark.usefixtures("two_gpus")
def test_a_blow_up_is_told_once(warm: Pair) -> None:
    system, state = warm
    velocities = state.velocities.copy()
    velocities[100] = [900.0, 0, 0]
    state = replace(state, velocities=velocities)
    messages = set()
    for device in ("cuda:0", "cuda:0,1"):
        with pytest.raises(quiltmd.QuiltError) as failed:
            quiltmd.Simulation(system, state, device=device).run(100)
        messages.add(str(failed.value))
    assert len(messages) == 1
