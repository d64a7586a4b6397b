# SPDX-License-Identifier: Apache-2.0
"""Collective restraints on GPUs: forces, and the same bits for any ranks, blocks and stops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from collective_systems import restrained_water
from running import gpu_count

import quiltmd

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def water() -> tuple[quiltmd.System, quiltmd.State]:
    return restrained_water((10, 10, 10))


def simulate(water: Any, device: str, **others: Any) -> quiltmd.Simulation:
    others.setdefault("integrator", quiltmd.LangevinMiddle(300.0, 1.0, seed=4))
    return quiltmd.Simulation(*water, device=device, **others)


def same(one: quiltmd.Simulation, other: quiltmd.Simulation) -> None:
    a, b = one.state(), other.state()
    assert np.array_equal(a.positions, b.positions)
    assert np.array_equal(a.velocities, b.velocities)
    assert one.collective() == other.collective()


def test_forces_and_virial(water: Any) -> None:
    gpu, cpu = simulate(water, "cuda"), simulate(water, "cpu")
    energies, forces = quiltmd.reference(*water)
    assert gpu.energies()["restraint"] == pytest.approx(energies["restraint"], rel=1e-7)
    assert gpu.energies()["restraint"] == pytest.approx(cpu.energies()["restraint"], rel=1e-9)
    assert np.abs(gpu.virial() - cpu.virial()).max() < 0.2
    held = np.unique(
        np.concatenate([g.atoms for r in water[0].collective.restraints for g in r.groups])
    )
    assert np.abs(gpu.forces() - forces)[held].max() < 5e-2
    for name, reading in gpu.collective().items():
        assert reading.value == pytest.approx(cpu.collective()[name].value, abs=1e-6)


@pytest.mark.parametrize("barostat", [None, quiltmd.CellRescaling(1.0, every=20, seed=6)])
def test_stops_and_blocks_do_not_matter(water: Any, barostat: Any) -> None:
    whole = simulate(water, "cuda", barostat=barostat)
    whole.run(300)
    first = simulate(water, "cuda", barostat=barostat)
    for steps in (1, 32, 100):
        first.run(steps)
    second = simulate((water[0], first.state()), "cuda", barostat=barostat)
    second.run(300 - 133)
    same(whole, second)


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_on_one_gpu_do_not_matter(water: Any, ranks: int) -> None:
    one, several = simulate(water, "cuda"), simulate(water, "cuda:0" + ",0" * (ranks - 1))
    for simulation in (one, several):
        simulation.run(100)
        simulation.set_conditions(centres={"size": 0.35, "angle_2": 95.0}, restraints=0.7)
        simulation.run(100)
    same(one, several)


@pytest.mark.skipif(gpu_count() < 2, reason="needs two GPUs")
def test_gpus_do_not_matter(water: Any) -> None:
    one, two = simulate(water, "cuda:0"), simulate(water, "cuda:0,1")
    for simulation in (one, two):
        simulation.run(500)
    same(one, two)
