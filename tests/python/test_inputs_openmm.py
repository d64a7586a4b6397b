# SPDX-License-Identifier: Apache-2.0
"""OpenMM's files: System XML, State XML, PDB and mmCIF with ForceField XML."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import pytest
from command import quiltmd as command
from openmm import app, unit

import quiltmd
from quiltmd import InputError, QuiltWarning, State, System
from quiltmd.commands.system_facts import facts_of_files
from quiltmd.openmm.files import find_force_field
from quiltmd.running import runner
from quiltmd.running.config import build_config, read_config

Files = tuple[Path, Path]


@pytest.fixture(scope="module")
def original(alanine: Files) -> tuple[Any, Any, Any]:
    """OpenMM's System of alanine dipeptide, its topology and its positions."""
    prmtop, inpcrd = app.AmberPrmtopFile(str(alanine[0])), app.AmberInpcrdFile(str(alanine[1]))
    prmtop.topology.setPeriodicBoxVectors(inpcrd.boxVectors)
    system = prmtop.createSystem(
        nonbondedMethod=app.PME, nonbondedCutoff=0.85, constraints=app.HBonds, removeCMMotion=True
    )
    return system, prmtop.topology, inpcrd.positions


@pytest.fixture(scope="module")
def files(original: Any, tmp_path_factory: pytest.TempPathFactory) -> Files:
    """System XML and State XML."""
    system, topology, positions = original
    folder = tmp_path_factory.mktemp("xml")
    system.setDefaultPeriodicBoxVectors(*topology.getPeriodicBoxVectors())
    platform = openmm.Platform.getPlatformByName("Reference")
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), platform)
    context.setPositions(positions)
    context.setVelocitiesToTemperature(300, 1)
    state = context.getState(getPositions=True, getVelocities=True)
    (folder / "system.xml").write_text(openmm.XmlSerializer.serialize(system))
    (folder / "state.xml").write_text(openmm.XmlSerializer.serialize(state))
    return folder / "system.xml", folder / "state.xml"


def assert_same(found: System, expected: System, but: tuple[str, ...] = ()) -> None:
    for name, array in expected.arrays().items():
        if name not in but:
            np.testing.assert_allclose(found.arrays()[name], array, rtol=1e-12, err_msg=name)


def test_system_and_state(original: Any, files: Files) -> None:
    system, state = quiltmd.load(*files)
    assert_same(system, System.from_openmm(original[0]))
    assert system.nonbonded is not None
    assert system.nonbonded.cutoff == 0.85
    expected = State.from_openmm(system, original[2], original[1].getPeriodicBoxVectors())
    np.testing.assert_allclose(state.positions, expected.positions, atol=1e-12)
    np.testing.assert_allclose(state.box, expected.box)
    assert np.abs(state.velocities).max() > 0.1


@pytest.mark.parametrize("suffix", [".pdb", ".cif"])
def test_a_system_without_names_has_those_of_its_coordinates(
    suffix: str, original: Any, files: Files, tmp_path: Path
) -> None:
    _, topology, positions = original
    file = tmp_path / f"names{suffix}"
    writer = app.PDBFile if suffix == ".pdb" else app.PDBxFile
    with open(file, "w") as out:
        writer.writeFile(topology, positions, out)
    system, _ = quiltmd.load(files[0], file)
    found = system.topology
    assert list(found.atom_names) == [atom.name for atom in topology.atoms()]
    assert list(found.residue_of_atom) == [atom.residue.index for atom in topology.atoms()]
    assert list(found.residue_names) == [residue.name for residue in topology.residues()]
    assert list(found.residue_ids) == [int(residue.id) for residue in topology.residues()]
    np.testing.assert_array_equal(found.elements, System.from_openmm(original[0]).topology.elements)
    assert len(quiltmd.select(system, "protein")) == 22
    assert facts_of_files([files[0], file], (), ())["residues"] == topology.getNumResidues()


def test_state_without_positions(files: Files, tmp_path: Path) -> None:
    text = files[1].read_text()
    start, end = text.index("<Positions>"), text.index("</Positions>")
    path = tmp_path / "state.xml"
    path.write_text(text[:start] + text[end + len("</Positions>") :])
    with pytest.raises(InputError, match=r"state\.xml: an OpenMM State without positions"):
        quiltmd.load(files[0], path)


def test_box_of_the_system_where_coordinates_have_none(
    original: Any, files: Files, tmp_path: Path
) -> None:
    path = tmp_path / "atoms.pdb"
    with open(path, "w") as file:
        app.PDBFile.writeFile(original[1], original[2], file)
    lines = [line for line in path.read_text().splitlines() if not line.startswith("CRYST1")]
    path.write_text("\n".join(lines))
    _, state = quiltmd.load(files[0], path)
    np.testing.assert_allclose(state.box, quiltmd.load(*files)[1].box)
    _, state = quiltmd.load(files[0], path, box=[3, 4, 5])
    np.testing.assert_allclose(state.box, np.diag([3, 4, 5]))
    with pytest.raises(InputError, match="box: give three lengths"):
        quiltmd.load(files[0], path, box=[3, 4])


def pull_of_two_atoms() -> Any:
    """On the centre of a group, which is no spring between groups."""
    force = openmm.CustomCentroidBondForce(1, "x1")
    force.addGroup([0, 1])
    force.addBond([0])
    return force


FORCES = {
    "GayBerneForce": openmm.GayBerneForce,
    "DrudeForce": openmm.DrudeForce,
    "MonteCarloBarostat": lambda: openmm.MonteCarloBarostat(1, 300),
    "AmoebaMultipoleForce": openmm.AmoebaMultipoleForce,
    "CustomHbondForce": lambda: openmm.CustomHbondForce("distance(a1,d1)"),
    "CustomCentroidBondForce": pull_of_two_atoms,
    "CustomCVForce": lambda: openmm.CustomCVForce("1"),
    "CustomNonbondedForce": lambda: openmm.CustomNonbondedForce("r"),
    "RMSDForce": lambda: openmm.RMSDForce([[0, 0, 0]]),
}


@pytest.mark.parametrize("name", FORCES)
def test_each_other_force_is_named(name: str, files: Files, tmp_path: Path) -> None:
    system = openmm.XmlSerializer.deserialize(files[0].read_text())
    system.addForce(FORCES[name]())
    path = tmp_path / "more.xml"
    path.write_text(openmm.XmlSerializer.serialize(system))
    why = "must be periodic" if name == "CustomNonbondedForce" else "not supported"
    with pytest.raises(InputError, match=rf"more\.xml: .*{name}.* {why}"):
        quiltmd.load(path, files[1])


def test_damaged_files(files: Files, tmp_path: Path) -> None:
    text = files[0].read_text()
    path = tmp_path / "bad.xml"
    path.write_text(text.replace("HarmonicBondForce", "SpringForce"))
    with pytest.raises(InputError, match=r"bad\.xml: OpenMM cannot read it"):
        quiltmd.load(path, files[1])
    # OpenMM itself takes a file that ends after a force, and leaves out those that follow.
    ends = [found.end() for found in re.finditer("</Force>", text)]
    for end in (300, *ends, -2000, text.rindex("</System>")):
        path.write_text(text[:end])
        with pytest.raises(InputError, match=r"bad\.xml, line \d+: the XML is damaged"):
            quiltmd.load(path, files[1])
    with pytest.raises(InputError, match=r"has coordinates \(OpenMM State XML\), and no topology"):
        quiltmd.load(files[1], files[1])


def test_parameters_for_a_format_without(files: Files) -> None:
    with pytest.raises(InputError, match="takes no parameter files"):
        quiltmd.load(*files, parameters=["amber14-all.xml"])


def test_what_a_system_leaves_flexible_is_told(original: Any, alanine: Files, files: Files) -> None:
    with pytest.raises(InputError, match="this file contains the masses"):
        quiltmd.load(*files, hydrogen_mass=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quiltmd.load(*files, constraints="h-bonds")


def test_flexible_system_is_told(alanine: Files, files: Files, tmp_path: Path) -> None:
    system = app.AmberPrmtopFile(str(alanine[0])).createSystem(nonbondedMethod=app.PME)
    path = tmp_path / "flexible.xml"
    path.write_text(openmm.XmlSerializer.serialize(system))
    with pytest.warns(QuiltWarning, match="12 bonds to hydrogen are flexible and stay so"):
        quiltmd.load(path, files[1], constraints="h-bonds")


@pytest.fixture(scope="module")
def structures(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A small box of water as PDB and as mmCIF, triclinic."""
    field = app.ForceField("tip3p.xml")
    modeller = app.Modeller(app.Topology(), [] * unit.nanometer)
    modeller.addSolvent(field, boxShape="dodecahedron", boxSize=None, numAdded=200)
    folder = tmp_path_factory.mktemp("structures")
    with open(folder / "water.pdb", "w") as file:
        app.PDBFile.writeFile(modeller.topology, modeller.positions, file)
    with open(folder / "water.cif", "w") as file:
        app.PDBxFile.writeFile(modeller.topology, modeller.positions, file)
    return folder / "water.pdb", folder / "water.cif"


def test_structures_with_force_field(structures: Files) -> None:
    systems = {}
    for path in structures:
        field = Path(app.__file__).parent / "data" / "tip3p.xml"
        system, state = quiltmd.load(path, path, parameters=[field], constraints="h-bonds")
        assert system.atoms == 600
        assert len(system.constraints) == 600
        assert system.nonbonded is None
        assert state.box[2, 0] != 0
        simulation = quiltmd.Simulation(system, state, quiltmd.Nonbonded(cutoff=0.8), device="cpu")
        systems[path.suffix] = simulation.energies()["potential"]
    assert systems[".pdb"] == pytest.approx(systems[".cif"], rel=1e-3)  # digits of the files


def test_force_field_by_its_name_in_openmm(structures: Files) -> None:
    found = command(
        "energy", structures[0], structures[0], "--parameters", "tip3p.xml", "--cutoff", "0.8"
    )
    assert "600 atoms" in found.stdout


def test_force_field_that_does_not_fit(structures: Files, tmp_path: Path) -> None:
    data = Path(app.__file__).parent / "data"
    with pytest.raises(InputError, match=r"water\.pdb: a PDB or mmCIF file has no force field"):
        quiltmd.load(structures[0], structures[0])
    with pytest.raises(InputError, match=r"water\.pdb: OpenMM: No template found for residue [01]"):
        quiltmd.load(structures[0], structures[0], parameters=[data / "amber14" / "DNA.OL15.xml"])
    with pytest.raises(InputError, match=r"missing 1 extra (site|particle)"):
        quiltmd.load(structures[0], structures[0], parameters=[data / "tip4pew.xml"])
    with pytest.raises(InputError, match=r"not an OpenMM ForceField XML, whose root"):
        quiltmd.load(structures[0], structures[0], parameters=[structures[1]])


def test_coordinates_with_other_names_or_atoms(structures: Files, files: Files) -> None:
    with pytest.raises(InputError, match=r"water\.pdb: 600 atoms, but the topology has 2269"):
        quiltmd.load(files[0], structures[0])


def test_names_that_differ_are_told(alanine: Files, original: Any, tmp_path: Path) -> None:
    path = tmp_path / "atoms.pdb"
    with open(path, "w") as file:
        app.PDBFile.writeFile(original[1], original[2], file)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, state = quiltmd.load(alanine[0], path)
    np.testing.assert_allclose(state.positions, quiltmd.load(*alanine)[1].positions, atol=1.1e-4)
    path.write_text(path.read_text().replace(" CB  ALA", " NB  ALA"))
    with pytest.warns(
        QuiltWarning, match=r"1 atoms have names of other elements .* NB for atom 11 \(CB of"
    ):
        quiltmd.load(alanine[0], path)


def test_a_run_follows_the_settings_of_the_file(files: Files, tmp_path: Path) -> None:
    out = tmp_path / "run"
    settings = {
        "system": {"topology": files[0], "coordinates": files[1]},
        "run": {"steps": 2, "device": "cpu"},
        "output": {"dir": out, "copy_inputs": True},
    }
    runner.start(build_config(settings))
    written = read_config(out / "config.toml")
    assert written["nonbonded"]["cutoff"] == 0.85
    assert (out / "inputs" / "topology-system.xml").read_text() == files[0].read_text()
    runner.resume(out, {("run", "steps"): 4})
    given = build_config({**settings, "nonbonded": {"cutoff": 0.8, "pme_tolerance": 1e-3}})
    system = System.from_openmm(openmm.XmlSerializer.deserialize(files[0].read_text()))
    followed = given.following(system).nonbonded
    assert followed == replace(system.nonbonded, cutoff=0.8, pme_tolerance=1e-3)


def test_a_run_with_parameter_files(structures: Files, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    field = tmp_path / "here" / "water.xml"
    field.write_text((Path(app.__file__).parent / "data" / "tip3p.xml").read_text())
    (tmp_path / "run.toml").write_text(
        f'''
        [system]
        topology = "{structures[0]}"
        coordinates = "{structures[0]}"
        parameters = ["here/water.xml"]
        [nonbonded]
        cutoff = 0.8
        [run]
        minimize = true  # Modeller leaves waters in contact, others each time
        steps = 2
        device = "cpu"
        [output]
        dir = "out"
        copy_inputs = true
        '''
    )
    runner.start(build_config(read_config(tmp_path / "run.toml")))
    out = tmp_path / "out"
    field.unlink()
    assert read_config(out / "config.toml")["system"]["parameters"] == [
        str(out / "inputs" / "parameters-1-water.xml")
    ]
    runner.resume(out, {("run", "steps"): 4})
    copy = out / "inputs" / "parameters-1-water.xml"
    copy.write_text(copy.read_text() + " ")
    with pytest.raises(quiltmd.QuiltError, match="changed the parameters file"):
        runner.resume(out, {("run", "steps"): 6})
    copy.unlink()
    with pytest.raises(quiltmd.QuiltError, match=r"inputs .* missing .* --parameters FILE"):
        runner.resume(out, {("run", "steps"): 6})


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_rhombic_dodecahedron(ranks: int, tmp_path: Path) -> None:
    """Water and ions in one, through a PDB: no pair and no image of one is missed or doubled."""
    box = 2.8 * np.array([[1, 0, 0], [0, 1, 0], [0.5, 0.5, np.sqrt(0.5)]])
    names = ("amber14-all.xml", "amber14/tip3p.xml")
    modeller = app.Modeller(app.Topology(), [])
    vectors = tuple(openmm.Vec3(*row) for row in box) * unit.nanometer
    salt = 0.3 * unit.molar
    modeller.addSolvent(app.ForceField(*names), boxVectors=vectors, ionicStrength=salt)
    pdb = tmp_path / "dodecahedron.pdb"
    with open(pdb, "w") as file:
        app.PDBFile.writeFile(modeller.topology, modeller.positions, file)
    parameters = [find_force_field(Path(name)) for name in names]
    system, state = quiltmd.load(pdb, pdb, parameters=parameters)
    lattice = np.linalg.solve(box.T, state.box.T)  # the same one by other vectors
    np.testing.assert_allclose(lattice, np.round(lattice), atol=1e-3)
    chosen = quiltmd.Nonbonded(cutoff=0.9)
    simulation = quiltmd.Simulation(system, state, chosen, device="cpu", ranks=ranks)
    expected = lennard_jones(system, state, 0.9)
    assert simulation.energies()["lj"] == pytest.approx(expected, rel=3e-6)


def lennard_jones(system: System, state: State, cutoff: float) -> float:
    """The energy of all pairs of atoms of different molecules, over all images, one by one."""
    some = np.flatnonzero(np.diag(system.lj_a)[system.lj_types] > 0)  # one of each molecule
    types, x = system.lj_types[some], state.positions[some]
    x = x - np.floor(x @ np.linalg.inv(state.box)) @ state.box
    a, b = (table[np.ix_(types, types)] for table in (system.lj_a, system.lj_b))
    total = 0.0
    for image in np.ndindex(5, 5, 5):
        shift = (np.array(image) - 2) @ state.box
        square = ((x[:, None] - x - shift) ** 2).sum(axis=-1)
        near = (square > 0) & (square < cutoff**2)
        total += float((a[near] / square[near] ** 6 - b[near] / square[near] ** 3).sum()) / 2
    return total


def test_force_fields_are_found_in_their_folders(tmp_path: Path) -> None:
    for name in ("nowhere/tip3p.xml", "amber14-all.xml,amber14/tip3p.xml"):
        assert find_force_field(tmp_path / name) == tmp_path / name
    for name in ("amber14/tip3p.xml", "tip3p.xml", "amber14-all.xml"):
        found = find_force_field(tmp_path / name)
        assert found.is_file()
        assert found.parts[-len(Path(name).parts) - 1 :] == ("data", *Path(name).parts)


@pytest.mark.parametrize("model", [None, app.OBC2])
def test_a_system_without_a_periodic_box(
    openmmtools_data: Path, tmp_path: Path, model: Any
) -> None:
    """OpenMM writes boxes of 2 nm into both files, which mean nothing where no force uses them."""
    folder = openmmtools_data / "alanine-dipeptide-gbsa"
    prmtop = app.AmberPrmtopFile(str(folder / "alanine-dipeptide.prmtop"))
    made = prmtop.createSystem(implicitSolvent=model)
    platform = openmm.Platform.getPlatformByName("Reference")
    context = openmm.Context(made, openmm.VerletIntegrator(0.001), platform)
    context.setPositions(app.AmberInpcrdFile(str(folder / "alanine-dipeptide.crd")).positions)
    found = context.getState(getPositions=True, getEnergy=True)
    files = tmp_path / "system.xml", tmp_path / "state.xml"
    files[0].write_text(openmm.XmlSerializer.serialize(made))
    files[1].write_text(openmm.XmlSerializer.serialize(found))
    system, state = quiltmd.load(*files)
    assert state.box is None
    facts = facts_of_files(list(files), (), ())
    assert facts["box"] is None
    assert facts["stated settings"] == {"method": "no-cutoff"}
    energy = quiltmd.Simulation(system, state, device="cpu").energies()["potential"]
    expected = found.getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole)
    assert energy == pytest.approx(expected, abs=1e-3)
    boxed = quiltmd.load(*files, box=(3.0, 3.0, 3.0))[1]
    assert boxed.box is not None
