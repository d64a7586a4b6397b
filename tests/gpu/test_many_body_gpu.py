# SPDX-License-Identifier: Apache-2.0
"""Many-body potentials on GPUs: forces, and the same bits for any ranks, blocks and stops."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boxes import relative_rms
from lammps_figures import METALS
from many_body_checks import check_conservation, check_restart, check_tiled
from many_body_systems import metal
from running import all_gpus, gpu_count

import quiltmd
from quiltmd import Simulation, VelocityVerlet
from quiltmd.engine.reference import reference_virial

pytestmark = pytest.mark.gpu


def simulate(crystal: Any, device: str = "cuda", **others: Any) -> Simulation:
    others.setdefault("integrator", VelocityVerlet(timestep=0.002))
    return Simulation(*crystal, device=device, **others)


def same(one: Simulation, other: Simulation) -> None:
    assert quiltmd.digest(one.state()) == quiltmd.digest(other.state())
    assert one.energies() == other.energies()
    assert np.array_equal(one.forces(), other.forces())
    assert np.array_equal(one.virial(), other.virial())


@pytest.mark.parametrize("name", METALS)
def test_energy_forces_and_virial_of_metals(tmp_path: Path, name: str) -> None:
    crystal = metal(tmp_path, name, cells=4)
    gpu, cpu = simulate(crystal), simulate(crystal, "cpu")
    energies, forces = quiltmd.reference(*crystal)
    assert gpu.energies()["many-body"] == pytest.approx(energies["potential"], rel=1e-6)
    assert gpu.energies()["many-body"] == pytest.approx(cpu.energies()["many-body"], rel=1e-7)
    assert relative_rms(gpu.forces(), forces) < 5e-6
    assert relative_rms(gpu.virial(), reference_virial(*crystal)) < 1e-6


def test_charges_and_pairs_act_beside_embedding(tmp_path: Path) -> None:
    system, state = metal(tmp_path, "setfl", cells=4)
    charges = np.where(np.arange(system.atoms) % 2, 0.1, -0.1)
    both = replace(system, charges=charges, lj_a=np.full((1, 1), 1e-6))
    found = simulate((both, state))
    energies, forces = quiltmd.reference(both, state)
    for term in ("many-body", "coulomb", "lj"):
        assert found.energies()[term] == pytest.approx(energies[term], rel=1e-5)
    assert relative_rms(found.forces(), forces) < 1e-5


@pytest.mark.parametrize("devices", ["cuda:0,0", "cuda:0,0,0"])
def test_ranks_on_one_gpu_do_not_matter(tmp_path: Path, devices: str) -> None:
    crystal = metal(tmp_path, "setfl", cells=7, displaced=0.3)
    one, several = simulate(crystal, "cuda:0"), simulate(crystal, devices)
    for simulation in (one, several):
        simulation.run(60)
    same(one, several)


@pytest.mark.skipif(gpu_count() < 2, reason="needs two GPUs")
def test_gpus_do_not_matter(tmp_path: Path) -> None:
    crystal = metal(tmp_path, "setfl", cells=10, displaced=0.3)
    one, several = simulate(crystal, "cuda:0"), simulate(crystal, all_gpus())
    for simulation in (one, several):
        simulation.run(500)
    same(one, several)


def ranks_of_a_gpu(ranks: int) -> dict[str, Any]:
    return {"device": "cuda:" + ",".join("0" * ranks)}


def test_a_restart_at_constant_pressure_goes_on(tmp_path: Path) -> None:
    check_restart(*metal(tmp_path, "setfl", cells=4), 0.002, tmp_path, ranks_of_a_gpu)


def test_energy_is_conserved(tmp_path: Path) -> None:
    crystal = metal(tmp_path, "funcfl", cells=4, displaced=0.2)
    check_conservation(*crystal, 0.001, settle=200, device="cuda")


def test_tiled_crystals_have_the_energy_of_their_cells(tmp_path: Path) -> None:
    check_tiled(*metal(tmp_path, "setfl"), within=1e-7, device="cuda")
