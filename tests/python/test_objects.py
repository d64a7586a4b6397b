# SPDX-License-Identifier: Apache-2.0
"""Coordinates from objects of mdtraj and MDAnalysis; functions whose arguments are exchanged."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import MDAnalysis
import mdtraj
import numpy as np
import openmm
import pytest
from fake_engine import FakeEngine

import quiltmd
from quiltmd.inputs import read_coordinates
from quiltmd.reading.formats import Expected

Files = tuple[Path, Path]


@pytest.fixture(scope="module")
def files(openmmtools_data: Path) -> Files:
    folder = openmmtools_data / "alanine-dipeptide-explicit"
    return folder / "alanine-dipeptide.prmtop", folder / "alanine-dipeptide.crd"


@pytest.fixture(scope="module")
def trajectory(files: Files) -> Any:
    """Three frames, each 0.1 nm further along x than the one before."""
    one = mdtraj.load_restrt(str(files[1]), top=str(files[0]))
    shift = np.zeros((3, 1, 3), dtype=np.float32)
    shift[:, 0, 0] = [0, 0.1, 0.2]
    joined = mdtraj.join([one, one, one])
    joined.xyz = joined.xyz + shift
    return joined


def test_a_trajectory_of_mdtraj(files: Files, trajectory: Any) -> None:
    system, wanted = quiltmd.load(*files)
    for frame, shift in ((0, 0.0), (2, 0.2), (-2, 0.1)):
        found = quiltmd.load(files[0], trajectory, frame=frame)[1]
        assert len(found.positions) == system.atoms
        moved = found.positions - wanted.positions
        moved -= np.round(moved @ np.linalg.inv(wanted.box)) @ wanted.box  # type: ignore[arg-type]
        np.testing.assert_allclose(moved, np.broadcast_to([shift, 0, 0], moved.shape), atol=2e-6)
        np.testing.assert_allclose(found.box, wanted.box, atol=1e-6)  # type: ignore[arg-type]
    with pytest.raises(quiltmd.InputError, match="has 3 frames, and none of number 3"):
        quiltmd.load(files[0], trajectory, frame=3)
    with pytest.raises(quiltmd.InputError, match=r"^22 atoms, but the topology has 2269$"):
        quiltmd.load(files[0], trajectory.atom_slice(range(22)))
    trajectory.unitcell_lengths, kept = None, trajectory.unitcell_lengths
    with pytest.raises(quiltmd.InputError, match=r"^no periodic box, but the topology has one"):
        quiltmd.load(files[0], trajectory)
    trajectory.unitcell_lengths = kept


def test_objects_of_mdanalysis(files: Files, trajectory: Any) -> None:
    _, wanted = quiltmd.load(files[0], trajectory, frame=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        universe = MDAnalysis.Universe(str(files[0]), trajectory.xyz * 10, format="MEMORY")
    lengths, angles = trajectory.unitcell_lengths[0] * 10, trajectory.unitcell_angles[0]
    universe.trajectory[1]
    universe.dimensions = [*lengths, *angles]
    for thing in (universe, universe.atoms):
        found = quiltmd.load(files[0], thing)[1]
        np.testing.assert_allclose(found.positions, wanted.positions, atol=2e-6)
        np.testing.assert_allclose(found.box, wanted.box, atol=1e-6)  # type: ignore[arg-type]
        assert not found.velocities.any()
    universe.trajectory.ts.velocities = np.full((2269, 3), 5.0, dtype=np.float32)  # A/ps
    found = quiltmd.load(files[0], universe)[1]
    np.testing.assert_allclose(found.velocities, 0.5)
    with pytest.raises(quiltmd.InputError, match="bring it to frame 2 itself"):
        quiltmd.load(files[0], universe, frame=2)
    with pytest.raises(quiltmd.InputError, match=r"^22 atoms, but the topology has 2269$"):
        quiltmd.load(files[0], universe.select_atoms("not resname WAT"))


def test_a_state_of_openmm(files: Files) -> None:
    from openmm import app

    prmtop = app.AmberPrmtopFile(str(files[0]))
    system = prmtop.createSystem(nonbondedMethod=app.PME)
    _, wanted = quiltmd.load(*files)
    context = openmm.Context(
        system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference")
    )
    assert wanted.box is not None
    context.setPeriodicBoxVectors(*wanted.box)
    context.setPositions(wanted.positions)
    context.setVelocities(np.full((2269, 3), 0.25))
    for velocities in (False, True):
        state = context.getState(getPositions=True, getVelocities=velocities)
        found = quiltmd.load(files[0], state)[1]
        np.testing.assert_allclose(found.positions, wanted.positions, atol=1e-12)
        np.testing.assert_allclose(found.box, wanted.box, atol=1e-12)
        assert (found.velocities == (0.25 if velocities else 0)).all()
    bare = context.getState(getEnergy=True)
    for take in (quiltmd.State.from_openmm, lambda _, state: quiltmd.load(files[0], state)):
        with pytest.raises(quiltmd.InputError, match=r"^an openmm\.State without positions: get"):
            take(quiltmd.load(*files)[0], bare)


def test_structures_of_openmm() -> None:
    from openmm import app

    topology = app.Topology()
    residue = topology.addResidue("AR", topology.addChain())
    for _ in range(2):
        topology.addAtom("AR", app.Element.getBySymbol("Ar"), residue)
    topology.setUnitCellDimensions((2, 3, 4))
    system = quiltmd.System.of([39.95, 39.95], sigma=0.34, epsilon=0.996)
    modeller = app.Modeller(
        topology, np.array([[0.1, 0.2, 0.3], [1, 1, 1]]) * openmm.unit.nanometer
    )
    state = quiltmd.State.from_openmm(system, modeller)
    np.testing.assert_array_equal(state.positions, [[0.1, 0.2, 0.3], [1, 1, 1]])
    np.testing.assert_array_equal(state.box, np.diag([2, 3, 4]))
    modeller.topology.setPeriodicBoxVectors(None)
    assert quiltmd.State.from_openmm(system, modeller).box is None


def test_a_structure_of_openmm_as_coordinates(files: Files, tmp_path: Path) -> None:
    """Names of its atoms are compared with those of the topology, as with a file."""
    from openmm import app

    prmtop, inpcrd = app.AmberPrmtopFile(str(files[0])), app.AmberInpcrdFile(str(files[1]))
    modeller = app.Modeller(prmtop.topology, inpcrd.getPositions())
    modeller.topology.setPeriodicBoxVectors(inpcrd.getBoxVectors())
    state = quiltmd.load(files[0], modeller)[1]
    expected = quiltmd.load(*files)[1]
    np.testing.assert_allclose(state.positions, expected.positions, atol=1e-9)
    np.testing.assert_allclose(state.box, expected.box, atol=1e-6)


def test_files_of_openmm_that_have_no_topology_are_refused(files: Files) -> None:
    from openmm import app

    read = app.AmberInpcrdFile(str(files[1]))
    with pytest.raises(quiltmd.InputError, match=r"not AmberInpcrdFile: give its positions, as"):
        quiltmd.State.from_openmm(quiltmd.load(*files)[0], read)
    with pytest.raises(quiltmd.InputError, match=r"must be a file, .* not openmm\.AmberInpcrdFile"):
        quiltmd.load(files[0], read)


def test_a_box_that_is_not_asked_for_is_left_out(trajectory: Any) -> None:
    assert read_coordinates(trajectory, Expected(2269)).box is not None
    assert read_coordinates(trajectory, Expected(2269, box=False)).box is None


def test_other_objects_are_named(files: Files, trajectory: Any) -> None:
    with pytest.raises(quiltmd.InputError, match=r"not mdtraj\.Topology: it has no force field"):
        quiltmd.load(trajectory.topology, trajectory)
    with pytest.raises(quiltmd.InputError, match=r"not openmm\.System: System\.from_openmm"):
        quiltmd.load(openmm.System(), files[1])  # type: ignore[arg-type]
    with pytest.raises(quiltmd.InputError, match=r"must be a file, .* not builtins\.int"):
        quiltmd.load(files[0], 3)


@pytest.mark.parametrize(
    "name",
    ["write_pdb", "write_cif", "write_gro", "write_restart", "write_rst7", "write_namd"],
)
def test_writers_say_in_which_order_they_take_arguments(
    name: str, files: Files, tmp_path: Path
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        simulation = quiltmd.Simulation(*quiltmd.load(*files), engine=FakeEngine, device="cpu")
    write, path = getattr(quiltmd, name), tmp_path / "file"
    with pytest.raises(quiltmd.QuiltError) as caught:
        write(simulation, path)
    assert str(caught.value) == (
        f"{name} takes a path and then a simulation, {name}('file', simulation), not Simulation "
        f"and {type(path).__name__}"
    )
    with pytest.raises(quiltmd.QuiltError, match="takes a path and then a simulation"):
        write(path, simulation.state())
    assert not list(tmp_path.iterdir())
    write(path, simulation)
    assert list(tmp_path.iterdir())
