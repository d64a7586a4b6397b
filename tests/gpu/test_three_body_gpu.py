# SPDX-License-Identifier: Apache-2.0
"""Stillinger-Weber and Tersoff potentials on GPUs."""

from __future__ import annotations

from pathlib import Path

import pytest
from boxes import relative_rms
from lammps_crystals import STYLES
from many_body_checks import check_conservation, check_restart, check_tiled
from many_body_systems import mixed
from running import all_gpus, gpu_count
from test_many_body_gpu import ranks_of_a_gpu, same, simulate

import quiltmd
from quiltmd import State
from quiltmd.engine.reference import reference_virial

pytestmark = pytest.mark.gpu
styles = pytest.mark.parametrize("style", STYLES)


@styles
def test_energy_forces_and_virial(tmp_path: Path, style: str) -> None:
    crystal = mixed(tmp_path, style, cells=3)
    gpu = simulate(crystal)
    energies, forces = quiltmd.reference(*crystal)
    assert gpu.energies()["many-body"] == pytest.approx(energies["potential"], rel=1e-9)
    assert relative_rms(gpu.forces(), forces) < 1e-8
    assert relative_rms(gpu.virial(), reference_virial(*crystal)) < 1e-8


@styles
@pytest.mark.parametrize("devices", ["cuda:0,0", "cuda:0,0,0"])
def test_ranks_on_one_gpu_do_not_matter(tmp_path: Path, style: str, devices: str) -> None:
    crystal = mixed(tmp_path, style, cells=4)
    one, several = simulate(crystal, "cuda:0"), simulate(crystal, devices)
    for simulation in (one, several):
        simulation.run(60)
    same(one, several)


@pytest.mark.skipif(gpu_count() < 2, reason="needs two GPUs")
@styles
def test_gpus_do_not_matter(tmp_path: Path, style: str) -> None:
    crystal = mixed(tmp_path, style, cells=6)
    one, several = simulate(crystal, "cuda:0"), simulate(crystal, all_gpus())
    for simulation in (one, several):
        simulation.run(500)
    same(one, several)


@styles
def test_a_restart_at_constant_pressure_goes_on(tmp_path: Path, style: str) -> None:
    check_restart(*mixed(tmp_path, style, cells=3), 0.001, tmp_path, ranks_of_a_gpu)


@styles
def test_energy_is_conserved(tmp_path: Path, style: str) -> None:
    check_conservation(*mixed(tmp_path, style), 0.00025, settle=400, device="cuda")


def test_more_neighbours_than_there_is_room_for(tmp_path: Path) -> None:
    system, state = mixed(tmp_path, "sw", cells=3)
    dense = State.start(system, state.positions * 0.7, state.box * 0.7)
    energies, forces = quiltmd.reference(system, dense)
    simulation = simulate((system, dense))
    assert simulation.energies()["many-body"] == pytest.approx(energies["potential"], rel=1e-9)
    assert relative_rms(simulation.forces(), forces) < 1e-8


@styles
def test_tiled_crystals_have_the_energy_of_their_cells(tmp_path: Path, style: str) -> None:
    check_tiled(*mixed(tmp_path, style), within=1e-10, device="cuda")
