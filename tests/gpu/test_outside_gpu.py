# SPDX-License-Identifier: Apache-2.0
"""Forces of other packages on GPUs: PLUMED, ASE, JAX, viewers, compiled models of PyTorch."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boxes import warm_water

import quiltmd
from quiltmd import ExternalForce, ImdServer, LangevinMiddle, Nonbonded, Simulation, ViewerForce

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX would take most of the memory
pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore:a cutoff of 0.6 nm is shorter")]
ATOMS = list(range(0, 648, 81))
STIFF, LENGTH = 30.0, 0.5  # kJ/mol/nm^2, nm; of springs between neighbours in ATOMS


@pytest.fixture(scope="module")
def water() -> tuple[quiltmd.System, quiltmd.State]:
    return warm_water((6, 6, 6), 300)


def simulation(water: Any, *external: ExternalForce, **others: Any) -> Simulation:
    cut = Nonbonded(cutoff=0.6, pme_alpha=4.0, pme_grid=(24, 24, 24))
    settings = {"device": "cuda", **others}
    langevin = LangevinMiddle(300, 1.0, 0.002, seed=4)
    return Simulation(*water, cut, langevin, external=list(external), **settings)


def springs(positions: Any) -> tuple[float, Any]:
    """Energy and forces of the springs, in NumPy."""
    between = np.diff(positions, axis=0)
    r = np.linalg.norm(between, axis=1, keepdims=True)
    pull = STIFF * (r - LENGTH) * between / r
    forces = np.zeros_like(positions)
    forces[:-1] += pull
    forces[1:] -= pull
    return 0.5 * STIFF * float(((r - LENGTH) ** 2).sum()), forces


def by_plumed(folder: Path) -> ExternalForce:
    plumed = pytest.importorskip("plumed")
    kernel = getattr(plumed, "BUNDLED_KERNEL_PATH", None)
    if kernel is None:
        pytest.skip("there is no kernel of PLUMED")
    os.environ["PLUMED_KERNEL"] = str(kernel)
    lines = [
        f"d{k}: DISTANCE ATOMS={a + 1},{b + 1} NOPBC\n"
        f"r{k}: RESTRAINT ARG=d{k} KAPPA={STIFF} AT={LENGTH}\n"
        for k, (a, b) in enumerate(itertools.pairwise(ATOMS))
    ]
    path = folder / "plumed.dat"
    path.write_text("".join(lines))
    return quiltmd.Plumed(path, atoms=ATOMS)


def by_ase(folder: Path) -> ExternalForce:
    ase = pytest.importorskip("ase")
    from ase.calculators.calculator import Calculator

    from quiltmd.ase import AseForce

    class Springs(Calculator):  # type: ignore[misc]
        implemented_properties = ("energy", "forces")

        def calculate(self, atoms: Any = None, *others: Any) -> None:
            super().calculate(atoms, *others)
            energy, forces = springs(atoms.positions / 10)
            per_mole = ase.units.kJ / ase.units.mol
            self.results = {"energy": energy * per_mole, "forces": forces * per_mole / 10}

    template = ase.Atoms(f"O{len(ATOMS)}", np.zeros((len(ATOMS), 3)))
    template.calc = Springs()
    return AseForce(template, ATOMS)


def by_jax(folder: Path) -> ExternalForce:
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX has no GPU")
    from quiltmd.jax import JaxForce

    def energy(positions: Any) -> Any:
        r = jax.numpy.linalg.norm(positions[1:] - positions[:-1], axis=1)
        return 0.5 * STIFF / 100 * ((r - 10 * LENGTH) ** 2).sum()

    class OnGpu(JaxForce):
        def compute(self, step: int, positions: Any, box: Any) -> Any:
            assert step == 0  # the trials at the start
            return super().compute(step, positions, box)

    return OnGpu(energy, ATOMS, length="angstrom")


def by_compiled_torch(folder: Path) -> ExternalForce:
    torch = pytest.importorskip("torch")
    from quiltmd.torch import TorchForce

    class Energy(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, positions: Any) -> Any:
            r = torch.linalg.vector_norm(positions[1:] - positions[:-1], dim=1)
            return 0.5 * STIFF * ((r - LENGTH) ** 2).sum()

    return TorchForce(torch.compile(Energy()), ATOMS)


@pytest.mark.parametrize("kind", [by_plumed, by_ase, by_jax, by_compiled_torch])
def test_forces_are_those_of_numpy_and_stops_do_not_matter(
    water: Any, kind: Callable[[Path], ExternalForce], tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    plain, pulled = simulation(water), simulation(water, kind(tmp_path))
    energy, forces = springs(water[1].positions[ATOMS])
    difference = pulled.forces() - plain.forces()
    np.testing.assert_allclose(difference[ATOMS], forces, rtol=1e-7, atol=1e-6)
    difference[ATOMS] = 0
    assert not difference.any()
    name = pulled.describe()["external"][0]["name"]
    assert pulled.energies()[name] == pytest.approx(energy, rel=1e-7)
    stopped = simulation(water, kind(tmp_path))
    pulled.run(150)
    for steps in (1, 32, 117):
        stopped.run(steps)
    assert quiltmd.digest(pulled.state()) == quiltmd.digest(stopped.state())


def test_a_viewer_pulls_at_atoms(water: Any) -> None:
    """By bytes as a viewer sends them, from the next update on."""
    from test_imd import Viewer, until

    force = ViewerForce(ATOMS, every=4)
    pulled, plain = simulation(water, force), simulation(water)
    server = ImdServer(pulled, 10, port=0, force=force, tell=lambda text: None)
    with Viewer(server.port) as viewer:
        viewer.pull([ATOMS[2], ATOMS[5]], [[0, 30, 0], [40, 0, 30]])  # kJ/mol/angstrom
        until(lambda: force._next is not None)
        pulled.run(105, [server])
        plain.set_state(pulled.state())
        expected = np.zeros((648, 3))
        expected[ATOMS[2]], expected[ATOMS[5]] = [0, 300, 0], [400, 0, 300]
        np.testing.assert_allclose(pulled.forces() - plain.forces(), expected, atol=2e-3)
    server.close()
