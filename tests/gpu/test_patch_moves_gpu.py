# SPDX-License-Identifier: Apache-2.0
"""A GPU that another program uses gives patches to the other one, and the bits stay."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
from running import INTEGRATORS, Pair, gpu_count

import quiltmd

pytestmark = pytest.mark.gpu

_OCCUPIES = """
import time
from quiltmd import _core
_core.occupy_gpu(0)
print("busy", flush=True)
time.sleep(300)
"""


@pytest.fixture
def two_gpus() -> None:
    if gpu_count() < 2:
        pytest.skip("this machine has one GPU")


@pytest.fixture
def other_program() -> Iterator[None]:
    """A process whose kernels never end on the first GPU; they take turns with others."""
    other = subprocess.Popen([sys.executable, "-c", _OCCUPIES], stdout=subprocess.PIPE)
    assert other.stdout is not None
    assert other.stdout.readline() == b"busy\n"
    yield
    other.kill()
    other.wait()


def on(pair: Pair, device: str) -> quiltmd.Simulation:
    return quiltmd.Simulation(*pair, integrator=INTEGRATORS["nvt"], device=device)


def looks(simulation: quiltmd.Simulation, count: int) -> int:
    """Steps until balancing has looked so often: after four times a hundred lives of lists."""
    return (400 * count + 100) * int(simulation.describe()["list_life"])


def test_gpus_that_are_alike_keep_their_patches(warm: Pair, two_gpus: None) -> None:
    run = on(warm, "cuda:0,1")
    before = [load["atoms"] for load in run.loads()]
    run.run(looks(run, 1))
    assert run.describe()["patch_moves"] == 0
    assert [load["atoms"] for load in run.loads()] == before


@pytest.mark.parametrize("device", ["cuda:0,1", "ranks:worker:cuda:0,worker:cuda:1"])
def test_a_gpu_that_is_shared_gets_fewer_atoms(
    warm: Pair, two_gpus: None, other_program: None, device: str
) -> None:
    alone, run = on(warm, "cuda:1"), on(warm, device)
    steps = looks(run, 1)
    alone.run(steps)
    run.run(steps)
    assert run.describe()["patch_moves"] >= 1
    first, second = (load["atoms"] for load in run.loads())
    assert first < 0.8 * second
    assert quiltmd.digest(run.state()) == quiltmd.digest(alone.state())
