# SPDX-License-Identifier: Apache-2.0
"""Forces of functions in JAX, against the same network in NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from test_model_region import SOLUTE, Network

import quiltmd
from quiltmd import QuiltError, Simulation
from quiltmd.ase import AseForce

jax = pytest.importorskip("jax")
jnp = jax.numpy
from quiltmd.jax import JaxForce  # noqa: E402


def in_jax(network: Network) -> Any:
    """The energy of the network, eV, of positions in angstrom."""
    first, second = network.first, network.second

    def energy(positions: Any) -> Any:
        r = jnp.linalg.norm(positions[first] - positions[second], axis=1)
        layer = jnp.tanh(network.weights @ (1 / r) + network.bias)
        springs = 0.5 * (network.stiffness * (r - network.lengths) ** 2).sum()
        return network.out @ layer + springs

    return energy


def test_a_network_is_that_of_numpy(alanine: tuple[Path, Path]) -> None:
    """In double precision, and the same trajectory in bits on any number of ranks."""
    system, state = quiltmd.load(*alanine, constraints="none")
    region = quiltmd.model_region(system, "solute")
    atoms = Atoms(list(system.topology.elements[:SOLUTE]), 10 * state.positions[:SOLUTE])
    atoms.calc = network = Network(atoms.positions.copy(), None)
    by_jax = JaxForce(in_jax(network), "solute", length="angstrom", unit="eV", name="model")
    by_numpy = AseForce(atoms, "solute", name="model")
    moved = state.positions[:SOLUTE] + np.random.default_rng(1).normal(scale=3e-3, size=(SOLUTE, 3))
    found, expected = by_jax.compute(0, moved, None), by_numpy.compute(0, moved, None)
    assert found[0] == pytest.approx(expected[0], rel=2e-8)  # ASE's eV is of 2014
    np.testing.assert_allclose(found[1], expected[1], rtol=2e-8, atol=1e-6)
    ends = set()
    for ranks in (1, 2):
        sim = Simulation(
            region,
            state,
            integrator=quiltmd.LangevinMiddle(timestep=0.0005, seed=1),
            external=[by_jax],
            device="cpu",
            ranks=ranks,
        )
        sim.draw_velocities(300, 1)
        sim.run(20)
        assert sim.describe()["external"][0]["deterministic"]
        ends.add(sim.positions().tobytes())
    assert len(ends) == 1


def test_units() -> None:
    """Others are refused by name."""
    positions = np.array([[0.1, 0.2, 0.3]])
    for length, size in (("nm", 1.0), ("angstrom", 0.1)):
        for unit, energy in (("kJ/mol", 1.0), ("kcal/mol", 4.184), ("eV", 96.48533212331002)):
            force = JaxForce(lambda x: (x**2).sum(), length=length, unit=unit, outside=True)
            found, forces = force.compute(0, positions, None)
            assert found == pytest.approx(0.14 * energy / size**2)
            np.testing.assert_allclose(forces, -2 * positions * energy / size**2)
    with pytest.raises(QuiltError, match="the unit 'ps' must be nm or angstrom"):
        JaxForce(lambda x: x.sum(), length="ps")


def test_a_function_in_a_file(tmp_path: Path) -> None:
    """With its derivative, in double precision."""

    def energy(positions: Any) -> Any:
        return jnp.sum(positions**4)

    pytest.importorskip("flatbuffers")
    path, positions = tmp_path / "model.jax", np.random.default_rng(1).normal(size=(5, 3))
    with jax.enable_x64(True):
        made = jax.export.export(jax.jit(energy))(jax.ShapeDtypeStruct((5, 3), float))
    path.write_bytes(made.serialize(vjp_order=1))
    found, forces = JaxForce(str(path)).compute(0, positions, None)
    assert found == pytest.approx((positions**4).sum(), rel=1e-14)
    np.testing.assert_allclose(forces, -4 * positions**3, rtol=1e-14)
    path.write_bytes(made.serialize())
    with pytest.raises(QuiltError, match="no derivative"):
        JaxForce(path)
    path.write_bytes(b"nothing")
    with pytest.raises(QuiltError, match="is no file of jax"):
        JaxForce(path)
    with pytest.raises(QuiltError, match="No such file"):
        JaxForce(tmp_path / "other")
