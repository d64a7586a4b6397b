# SPDX-License-Identifier: Apache-2.0
"""Forces of models in PyTorch, against the same network in NumPy; files of models; faults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quiltmd
from quiltmd import QuiltError, Simulation
from quiltmd.errors import ExternalForceError
from quiltmd.running.external_section import ExternalSection

torch = pytest.importorskip("torch")
from torch_models import Network  # noqa: E402

from quiltmd.torch import TorchForce  # noqa: E402

SOLUTE = 22
EV = 96.48533212331002


@pytest.fixture(scope="module")
def molecule(alanine: tuple[Path, Path]) -> Any:
    """System, state, and the network of its solute."""
    system, state = quiltmd.load(*alanine, constraints="none")
    return system, state, Network(10 * state.positions[:SOLUTE])


def force_of(model: Any, **options: Any) -> TorchForce:
    given = {"length": "angstrom", "unit": "eV", "name": "model", "device": "cpu", **options}
    return TorchForce(model, "solute", **given)


def moved(state: quiltmd.State) -> Any:
    noise = np.random.default_rng(1).normal(scale=3e-3, size=(SOLUTE, 3))
    return state.positions[:SOLUTE] + noise


def in_numpy(network: Network, positions: Any) -> tuple[float, Any]:
    energy, forces = network.in_numpy(10 * positions)
    return EV * energy, 10 * EV * forces


def test_a_cuda_graph_needs_a_gpu(molecule: Any) -> None:
    with pytest.raises(QuiltError, match="cuda_graph = True needs a model on a GPU"):
        force_of(molecule[2], cuda_graph=True)


def test_a_network_is_that_of_numpy(molecule: Any) -> None:
    """And the trajectory has the same bits on any number of ranks."""
    system, state, network = molecule
    region = quiltmd.model_region(system, "solute")
    positions = moved(state)
    force = force_of(network)
    found, expected = force.compute(0, positions, None), in_numpy(network, positions)
    assert found[0] == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-9, atol=1e-8)
    ends = set()
    for ranks in (1, 2):
        run = Simulation(
            region,
            state,
            integrator=quiltmd.LangevinMiddle(timestep=0.0005, seed=1),
            external=[force],
            device="cpu",
            ranks=ranks,
        )
        run.draw_velocities(300, 1)
        run.run(20)
        assert run.describe()["external"][0]["deterministic"]
        ends.add(run.positions().tobytes())
    assert len(ends) == 1


def test_a_model_in_single_precision(molecule: Any) -> None:
    _, state, network = molecule
    positions = moved(state)
    single = Network(10 * state.positions[:SOLUTE], torch.float32)
    energy, forces = force_of(single).compute(0, positions, None)
    expected = in_numpy(network, positions)
    assert forces.dtype == np.float64
    assert energy == pytest.approx(expected[0], rel=1e-4)
    assert 0 < np.abs(forces - expected[1]).max() < 1e-4 * np.abs(expected[1]).max()


def test_models_that_return_forces(molecule: Any) -> None:
    _, state, network = molecule

    def both(positions: Any) -> Any:
        positions = positions.detach().requires_grad_()
        energy = network(positions)
        return energy, -torch.autograd.grad(energy, positions)[0]

    positions = moved(state)
    found = force_of(both).compute(0, positions, None)
    np.testing.assert_array_equal(found[1], force_of(network).compute(0, positions, None)[1])


@pytest.mark.parametrize("kind", ["script", "export"])
def test_models_in_files(molecule: Any, kind: str, tmp_path: Path) -> None:
    """Also as [[external]] names them."""
    _, state, network = molecule
    path, example = tmp_path / "model.pt2", (torch.tensor(10 * state.positions[:SOLUTE]),)
    if kind == "script":
        torch.jit.save(torch.jit.script(network), path)
    else:
        torch.export.save(torch.export.export(network, example), path)
    positions = moved(state)
    expected = in_numpy(network, positions)
    section = ExternalSection(
        kind="torch",
        file=path,
        options={"length": "angstrom", "unit": "eV", "device": "cpu", "atoms": "solute"},
    )
    force = section.build().make()
    assert force.atoms == "solute"
    for _ in range(4):  # optimisers would act after two
        energy, forces = force.compute(0, positions, None)
        assert energy == pytest.approx(expected[0], rel=1e-12)
        np.testing.assert_allclose(forces, expected[1], rtol=1e-9, atol=1e-8)


@pytest.mark.slow  # it is compiled for some 20 s
def test_a_package_of_aotinductor(molecule: Any, tmp_path: Path) -> None:
    """It has no gradients, and so returns forces as well."""
    _, state, _ = molecule

    class Chain(torch.nn.Module):  # type: ignore[misc]
        def forward(self, positions: Any) -> Any:
            between = positions[1:] - positions[:-1]
            none = torch.zeros_like(between[:1])
            return 0.5 * between.square().sum(), torch.cat([between, none]) - torch.cat(
                [none, between]
            )

    positions, path = moved(state), tmp_path / "chain.pt2"
    example = (torch.tensor(positions),)
    torch._inductor.aoti_compile_and_package(
        torch.export.export(Chain(), example), package_path=str(path)
    )
    energy, forces = TorchForce(path, "solute", device="cpu").compute(0, positions, None)
    between = np.diff(positions, axis=0)
    expected = np.pad(between, ((0, 1), (0, 0))) - np.pad(between, ((1, 0), (0, 0)))
    assert energy == pytest.approx(0.5 * (between**2).sum(), rel=1e-12)
    np.testing.assert_allclose(forces, expected, rtol=1e-12)


def test_files_without_a_model(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    torch.save({"weights": torch.zeros(3)}, path)
    for file in (path, tmp_path / "missing.pt", Path(__file__)):
        with pytest.raises(QuiltError, match=r"the model .* cannot be loaded .* torch\.jit\.save"):
            TorchForce(file, device="cpu")
    with pytest.raises(QuiltError, match="the unit 'ps' must be nm or angstrom"):
        TorchForce(lambda x: x.sum(), length="ps")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (lambda x: (x**2).sum(1), "an energy of shape"),
        (lambda x: ((x**2).sum(), x[:1]), r"forces of shape \(1, 3\), not \(22, 3\)"),
        (lambda x: x.sum() * float("nan"), "not finite"),
        (lambda x: 1 / 0, "raised ZeroDivisionError"),
    ],
)
def test_faults_have_a_name(molecule: Any, model: Any, words: str) -> None:
    system, state, _ = molecule
    with pytest.raises(ExternalForceError, match=f"step 0: external force 'model': .*{words}"):
        Simulation(system, state, external=[force_of(model, outside=True)], device="cpu")
