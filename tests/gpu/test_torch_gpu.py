# SPDX-License-Identifier: Apache-2.0
"""Models in PyTorch that compute in the memory of the GPU: forces, bits, no host copies, faults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from running import gpu_count

import quiltmd
from quiltmd import Simulation
from quiltmd.errors import ExternalForceError, QuiltError

torch = pytest.importorskip("torch")
from torch_models import Network  # noqa: E402

from quiltmd.torch import TorchForce  # noqa: E402

pytestmark = pytest.mark.gpu
SOLUTE, EV = 22, 96.48533212331002


class Watched(TorchForce):
    """Counts calls on the host; what happens on the GPU from a step on is `change`."""

    host_calls = 0
    change: Any = None
    at = 10**9

    def compute(self, step: int, positions: Any, box: Any) -> tuple[Any, ...]:
        self.host_calls += 1
        return super().compute(step, positions, box)

    def compute_on_gpu(self, step: int, *arrays: Any) -> None:
        super().compute_on_gpu(step, *arrays)
        if step >= self.at:
            self.change(*arrays)


@pytest.fixture(scope="module")
def molecule(alanine: tuple[Path, Path]) -> Any:
    """The System without inner forces of the solute, a State, and a network for these."""
    system, state = quiltmd.load(*alanine, constraints="none")
    return quiltmd.model_region(system, "solute"), state


def simulation(molecule: Any, device: str = "cuda", **options: Any) -> tuple[Simulation, Watched]:
    system, state = molecule
    network = Network(10 * state.positions[:SOLUTE])
    force = Watched(network, "solute", length="angstrom", unit="eV", name="model", **options)
    run = Simulation(
        system,
        state,
        integrator=quiltmd.LangevinMiddle(timestep=0.0005, seed=1),
        external=[force],
        device=device,
    )
    run.draw_velocities(300, 1)
    return run, force


def test_energy_and_forces(molecule: Any) -> None:
    system, state = molecule
    run, force = simulation(molecule)
    plain = Simulation(system, state, integrator=run.integrator, device="cuda")
    network = Network(10 * state.positions[:SOLUTE])
    energy, forces = network.in_numpy(10 * state.positions[:SOLUTE])
    assert run.energies()["model"] == pytest.approx(EV * energy, rel=1e-9, abs=1e-7)
    difference = run.forces() - plain.forces()
    np.testing.assert_allclose(difference[:SOLUTE], 10 * EV * forces, rtol=1e-9, atol=1e-6)
    assert not difference[SOLUTE:].any()
    own = run.virial() - plain.virial()
    expected = state.positions[:SOLUTE].T @ (10 * EV * forces)
    np.testing.assert_allclose(own, (expected + expected.T) / 2, atol=1e-2)
    assert force.host_calls == 2  # of the check at the start


def test_stops_do_not_matter_and_nothing_is_copied(molecule: Any) -> None:
    (whole, force), (parts, _) = simulation(molecule), simulation(molecule)
    whole.run(100)
    for steps in (1, 32, 67):
        parts.run(steps)
    assert quiltmd.digest(whole.state()) == quiltmd.digest(parts.state())
    assert force.host_calls == 2


def test_a_graph_gives_the_same_bits(molecule: Any) -> None:
    (plain, _), (graph, force) = simulation(molecule), simulation(molecule, cuda_graph=True)
    for run in (plain, graph):
        run.run(100)
    assert force._recorded is not None
    assert quiltmd.digest(plain.state()) == quiltmd.digest(graph.state())


def test_a_model_that_waits_for_the_gpu_is_not_recorded(molecule: Any) -> None:
    system, state = molecule
    force = TorchForce(
        lambda x: (x**2).sum() * x[0, 0].item(), "solute", outside=True, cuda_graph=True
    )
    with pytest.raises(QuiltError, match="cannot be recorded as a CUDA graph"):
        Simulation(system, state, external=[force], device="cuda").run(2)


def test_the_cpu_gives_the_same_forces(molecule: Any) -> None:
    gpu, _ = simulation(molecule)
    cpu, force = simulation(molecule, "cpu")
    assert np.abs(gpu.forces() - cpu.forces())[:SOLUTE].max() < 0.05
    assert gpu.energies()["model"] == pytest.approx(cpu.energies()["model"], rel=1e-9, abs=1e-7)
    assert force.host_calls > 2


def test_ranks_on_one_gpu_do_not_matter(molecule: Any) -> None:
    ends = set()
    for device in ("cuda", "cuda:0,0"):
        run, _ = simulation(molecule, device)
        run.run(40)
        ends.add(quiltmd.digest(run.state()))
    assert len(ends) == 1


@pytest.mark.skipif(gpu_count() < 2, reason="needs two GPUs")
def test_gpus_do_not_matter(molecule: Any) -> None:
    ends = set()
    for device in ("cuda:0", "cuda:0,1"):
        run, _ = simulation(molecule, device)
        run.run(100)
        ends.add(quiltmd.digest(run.state()))
    assert len(ends) == 1


def _nan(positions: Any, forces: Any, energy: Any, stream: int) -> None:
    _fill(forces, stream, float("nan"))


def _huge(positions: Any, forces: Any, energy: Any, stream: int) -> None:
    _fill(forces, stream, 1e7)


def _infinite(positions: Any, forces: Any, energy: Any, stream: int) -> None:
    _fill(energy, stream, float("inf"))


def _fill(array: Any, stream: int, value: float) -> None:
    with torch.cuda.stream(torch.cuda.ExternalStream(stream)):
        torch.from_dlpack(array).fill_(value)


def _raise(*arrays: Any) -> None:
    raise ValueError("no model today")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_nan, "the forces are not finite"),
        (_huge, "a force is out of range"),
        (_infinite, "the energy is not finite"),
        (_raise, "compute_on_gpu raised ValueError: no model today"),
    ],
)
def test_a_fault_names_force_and_step(molecule: Any, change: Any, words: str) -> None:
    run, force = simulation(molecule)
    force.change, force.at = change, 13
    with pytest.raises(ExternalForceError, match=f"step 13: external force 'model': {words}"):
        run.run(60)
    force.at = 10**9
    run.set_state(molecule[1])
    run.run(20)
