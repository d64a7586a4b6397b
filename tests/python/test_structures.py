# SPDX-License-Identifier: Apache-2.0
"""Structures and trajectories as other programs read them: gemmi, mdtraj and MDAnalysis."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import gemmi
import MDAnalysis
import mdtraj
import numpy as np
import pytest
from boxes import water_box
from fake_engine import FakeEngine

import quiltmd
from quiltmd import LangevinMiddle, Simulation, TrajectoryReporter
from quiltmd.outputs.structures import pdb_limit, write_cif

pytestmark = [
    pytest.mark.filterwarnings("ignore:a cutoff of:quiltmd.QuiltWarning"),
    pytest.mark.filterwarnings("ignore:the system has a net charge:quiltmd.QuiltWarning"),
    pytest.mark.filterwarnings(
        "ignore:DCDReader currently makes independent timesteps:DeprecationWarning"
    ),
]


def simulate(system: Any, state: Any) -> Simulation:
    settings = quiltmd.Nonbonded(cutoff=0.4)
    bath = LangevinMiddle(seed=0)
    return Simulation(system, state, settings, bath, device="cpu", engine=FakeEngine)


@pytest.fixture(scope="module")
def dhfr(openmmtools_data: Path) -> Any:
    """Without atomic numbers, and with masses moved to hydrogens."""
    files = openmmtools_data / "dhfr/JAC.prmtop", openmmtools_data / "dhfr/JAC.inpcrd"
    return quiltmd.load(*files, constraints="h-bonds")


@pytest.mark.parametrize("suffix", ["pdb", "cif"])
def test_elements_do_not_depend_on_repartitioned_masses(
    dhfr: Any, tmp_path: Path, suffix: str
) -> None:
    simulation = simulate(*dhfr)
    assert pdb_limit(simulation) is None
    write = {"pdb": quiltmd.write_pdb, "cif": write_cif}[suffix]
    write(tmp_path / f"x.{suffix}", simulation)
    model = gemmi.read_structure(str(tmp_path / f"x.{suffix}"))[0]
    atoms = [site.atom for site in model.all()]
    assert len(atoms) == simulation.system.atoms
    assert {atom.element.name for atom in atoms} == {"H", "C", "N", "O", "S"}
    wrong = [atom.name for atom in atoms if atom.element.name != atom.name.lstrip("123")[0]]
    assert not wrong


def test_large_systems_are_read_as_they_are(tmp_path: Path) -> None:
    system, state = water_box((22, 22, 22))  # 10,648 waters
    topology = system.topology
    residues = np.arange(system.atoms // 3, dtype=np.int32)
    named = type(topology)(
        np.tile(["O", "H1", "H2"], len(residues)),
        np.tile(np.array([8, 1, 1], np.int32), len(residues)),
        np.repeat(residues, 3),
        np.full(len(residues), "WAT"),
        residues + 1,
        np.full(len(residues), ""),
    )
    object.__setattr__(system, "topology", named)
    simulation = simulate(system, state)
    assert "9999 residues" in str(pdb_limit(simulation))
    write_cif(tmp_path / "x.cif", simulation)
    structure = gemmi.read_structure(str(tmp_path / "x.cif"))
    found = [residue for chain in structure[0] for residue in chain]
    assert len(found) == len(residues)
    assert [residue.seqid.num for residue in found] == list(range(1, len(residues) + 1))
    assert [atom.name for atom in found[-1]] == ["O", "H1", "H2"]
    places = np.array([[*atom.pos] for residue in found for atom in residue]) / 10
    shift = (places - simulation.state().positions) @ np.linalg.inv(state.box)
    np.testing.assert_allclose(shift, np.round(shift), atol=1e-5)
    assert structure.cell.a == pytest.approx(10 * state.box[0, 0], abs=1e-4)


def test_mdtraj_knows_the_restart_by_its_name(alanine: Any, tmp_path: Path) -> None:
    system, state = quiltmd.load(*alanine)
    simulation = simulate(system, replace(state, step=1500))  # 3 ps
    simulation.draw_velocities(300, 1)
    quiltmd.write_restart(tmp_path / "final.ncrst", simulation)
    read = mdtraj.load(str(tmp_path / "final.ncrst"), top=mdtraj.load_prmtop(str(alanine[0])))
    np.testing.assert_allclose(read.xyz[0], simulation.positions(), atol=1e-6)
    np.testing.assert_allclose(read.time, [3.0])


@pytest.mark.parametrize("begin", [0, 1000, 1003])
def test_frames_have_the_time_at_which_they_were_taken(tmp_path: Path, begin: int) -> None:
    system, state = water_box((3, 3, 3))
    simulation = simulate(system, state)
    simulation.run(begin)
    path = tmp_path / "x.dcd"
    reporter = TrajectoryReporter(path, 10, simulation)
    simulation.run(35, [reporter])
    reporter.close()
    steps = [step for step in range(begin + 1, begin + 51) if step % 10 == 0]
    times = 0.002 * np.array(steps)
    first = times[: sum(step <= begin + 35 for step in steps)]
    np.testing.assert_allclose(read_times(path, system.atoms), first, rtol=1e-5)
    reporter = TrajectoryReporter(path, 10, simulation, after=simulation.step)
    simulation.run(15, [reporter])
    reporter.close()
    np.testing.assert_allclose(read_times(path, system.atoms), times, rtol=1e-5)


def read_times(path: Path, atoms: int) -> list[float]:
    universe = MDAnalysis.Universe.empty(atoms, trajectory=True)
    universe.load_new(str(path))
    return [step.time for step in universe.trajectory]


def test_a_trajectory_without_frames_leaves_no_file(tmp_path: Path) -> None:
    simulation = simulate(*water_box((3, 3, 3)))
    reporter = TrajectoryReporter(tmp_path / "x.dcd", 1000, simulation)
    simulation.run(10, [reporter])
    reporter.close()
    assert not (tmp_path / "x.dcd").exists()


def test_restarts_for_other_programs(alanine: Any, tmp_path: Path) -> None:
    """MDAnalysis and our own readers find what was written; molecules may be in other cells."""
    system, start = quiltmd.load(*alanine)
    simulation = simulate(system, replace(start, step=1500))  # 3 ps
    simulation.draw_velocities(300, 1)
    state = simulation.state()
    quiltmd.write_rst7(tmp_path / "x.rst7", simulation)
    quiltmd.write_namd(tmp_path / "x.coor", simulation)
    quiltmd.write_gro(tmp_path / "x.gro", simulation)

    def in_cell(positions: Any) -> None:
        shift = (positions - state.positions) @ np.linalg.inv(state.box)
        np.testing.assert_allclose(shift, np.round(shift), atol=2e-3)

    _, text = quiltmd.load(alanine[0], tmp_path / "x.rst7")
    in_cell(text.positions)
    assert float((tmp_path / "x.rst7").read_text().splitlines()[1].split()[1]) == 3.0
    np.testing.assert_allclose(text.velocities, state.velocities, atol=3e-7 * 2)
    np.testing.assert_allclose(text.box, state.box, atol=1e-6)
    namd = MDAnalysis.coordinates.NAMDBIN.NAMDBINReader(str(tmp_path / "x.coor"))
    in_cell(namd.ts.positions / 10)
    speeds = np.fromfile(tmp_path / "x.vel", dtype="<f8", offset=4).reshape(-1, 3)
    np.testing.assert_allclose(speeds * 20.45482706 / 10, state.velocities, atol=1e-12)
    cell = [float(word) for word in (tmp_path / "x.xsc").read_text().splitlines()[2].split()]
    assert cell[0] == 1500
    np.testing.assert_allclose(np.reshape(cell[1:10], (3, 3)), state.box * 10, atol=1e-6)
    np.testing.assert_allclose(cell[10:], state.box.sum(axis=0) * 5, atol=1e-6)  # its middle
    gro = MDAnalysis.Universe(str(tmp_path / "x.gro"))
    in_cell(gro.atoms.positions / 10)
    np.testing.assert_allclose(gro.atoms.velocities / 10, state.velocities, atol=6e-5)
    np.testing.assert_allclose(gro.dimensions[:3] / 10, np.diag(state.box), atol=1e-5)
    assert gro.atoms.names[:3].tolist() == simulation.system.topology.atom_names[:3].tolist()


def test_gro_of_a_triclinic_box(tmp_path: Path) -> None:
    system, state = water_box((3, 3, 3))
    box = np.array([[1.0, 0, 0], [0.25, 1.1, 0], [-0.3, 0.2, 1.2]])
    simulation = simulate(system, quiltmd.State(state.positions, state.velocities, box))
    quiltmd.write_gro(tmp_path / "x.gro", simulation)
    found = mdtraj.formats.GroTrajectoryFile(str(tmp_path / "x.gro")).read()[2]
    np.testing.assert_allclose(found[0], box, atol=1e-5)


@pytest.mark.parametrize("suffix", ["pdb", "cif"])
def test_a_structure_of_some_atoms(alanine: Any, tmp_path: Path, suffix: str) -> None:
    simulation = simulate(*quiltmd.load(*alanine))
    write = {"pdb": quiltmd.write_pdb, "cif": write_cif}[suffix]
    write(tmp_path / f"x.{suffix}", simulation, "backbone")
    model = gemmi.read_structure(str(tmp_path / f"x.{suffix}"))[0]
    names = [site.atom.name for site in model.all()]
    atoms = quiltmd.select(simulation.system, "backbone")
    assert names == simulation.system.topology.atom_names[atoms].tolist()
