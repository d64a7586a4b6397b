# SPDX-License-Identifier: Apache-2.0
"""Structures are prepared for simulation: what is added, kept, refused and written.

The protein is neopetrosiamide (28 residues, three disulphide bonds, of NMR), and what is made of it
here: without atoms, with gaps, alternate locations, heterogens.  The oracle of energies is OpenMM,
that of missing atoms the whole protein, that of boxes geometry.
"""

from __future__ import annotations

import dataclasses
import gzip
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from unittest.mock import Mock

import gemmi
import numpy as np
import pytest
from openmm_reference import energy_and_forces
from terminal import Terminal

from quiltmd import prepare
from quiltmd.commands.prepare_options import OPTIONS
from quiltmd.engine.reference import reference
from quiltmd.errors import QuiltError
from quiltmd.inputs import load
from quiltmd.outputs.formats import check_contents
from quiltmd.prepare.files import refuse_to_replace
from quiltmd.prepare.gaps import treat_gaps
from quiltmd.prepare.hydrogens import note_metals, state_of
from quiltmd.prepare.solvent import box_vectors
from quiltmd.running.stages import replaced_in_all, stages_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

app = pytest.importorskip("openmm.app")
pytest.importorskip("pdbfixer")
Change = Callable[[gemmi.Structure], None]


@pytest.fixture(scope="module")
def amber() -> prepare.ForceField:
    return prepare.read_force_field(["amber14"])


@pytest.fixture
def peptide(tmp_path: Path) -> Callable[..., Path]:
    """A file of the peptide's first model, with methionine 24 reduced, and changed as asked."""
    pytest.importorskip("MDAnalysisTests")
    from MDAnalysisTests.datafiles import PDB_full

    source = Path(PDB_full).parent / "nmr_neopetrosiamide.pdb"

    def made(change: Change = lambda _: None, name: str = "peptide.pdb") -> Path:
        structure = gemmi.read_structure(str(source))
        structure.setup_entities()
        del structure[1:]
        structure.entities[0].full_sequence = [
            "MET" if one == "SME" else one for one in structure.entities[0].full_sequence
        ]
        methionine = structure[0]["A"][23]
        methionine.name = "MET"
        drop(methionine, lambda atom: atom.name == "OE")
        methionine["S"][0].name = "SD"
        change(structure)
        path = tmp_path / name
        if path.suffix == ".cif":
            structure.make_mmcif_document().write_file(str(path))
        else:
            structure.write_pdb(str(path))
        return path

    return made


def drop(residue: gemmi.Residue, drops: Callable[[gemmi.Atom], bool]) -> None:
    for index in reversed(range(len(residue))):
        if drops(residue[index]):
            del residue[index]


def heavy(model: prepare.Model) -> list[tuple[str, set[str]]]:
    """Names and heavy atoms of all residues."""
    return [
        (one.name, {atom.name for atom in one.atoms() if atom.element.symbol != "H"})
        for one in model.topology.residues()
    ]


def checks(notes: tuple[prepare.Note, ...]) -> str:
    return "\n".join(note.text for note in notes if note.check)


def test_one_location_of_each_atom_is_kept(peptide: Callable[..., Path]) -> None:
    def twice(structure: gemmi.Structure) -> None:
        residue = structure[0]["A"][2]
        for atom in [one.clone() for one in residue if one.name in ("CB", "SG")]:
            residue[atom.name][0].altloc = "A"
            residue[atom.name][0].occ = 0.3
            atom.altloc, atom.occ = "B", 0.7
            atom.pos += gemmi.Position(0.5, 0, 0)
            residue.add_atom(atom)

    plain = prepare.read_structure(peptide())
    read = prepare.read_structure(peptide(twice))
    residue, before = read.pieces[0].residues[2], plain.pieces[0].residues[2]
    assert sorted(atom.name for atom in residue) == sorted(atom.name for atom in before)
    moved = {name: residue[name][0].pos.dist(before[name][0].pos) for name in ("CB", "SG", "CA")}
    assert moved == pytest.approx({"CB": 0.5, "SG": 0.5, "CA": 0.0}, abs=0.002)
    assert "CYS A:3 B of AB" in checks(read.notes)


def test_mmcif_and_compressed_files_are_read_alike(
    peptide: Callable[..., Path], tmp_path: Path
) -> None:
    files = [peptide(), peptide(name="peptide.cif"), tmp_path / "peptide.pdb.gz"]
    files[2].write_bytes(gzip.compress(files[0].read_bytes()))
    found = [prepare.read_structure(file) for file in files]
    bridges = {frozenset(bond) for bond in found[0].bonds if bond[0][2] == bond[1][2] == "SG"}
    assert len(bridges) == 3
    for other in found[1:]:
        assert [one.name for _, one in other.residues()] == [
            one.name for _, one in found[0].residues()
        ]
        assert other.pieces[0].sequence == found[0].pieces[0].sequence
        assert bridges <= {frozenset(bond) for bond in other.bonds}


def test_elements_are_told_by_names_where_a_file_has_none(
    peptide: Callable[..., Path], tmp_path: Path
) -> None:
    """As in files of CHARMM, whose names do not stand in the columns that tell CA from calcium."""
    plain = peptide()
    ions = "".join(
        f"HETATM{900 + k:5d} {name:4s} {name:3s} B{200 + k:4d}    {9.0 * k:8.3f}  90.000  90.000\n"
        for k, name in enumerate(("NA", "CLA", "Cl", "POT", "ZN"))
    )
    lines = [
        f"{line[:12]}{line[12:16].strip():4s}{line[16:66]}\n"
        for line in plain.read_text().splitlines()
        if line.startswith(("ATOM", "HETATM"))
    ]
    bare = tmp_path / "bare.pdb"
    bare.write_text("".join(lines) + "TER\n" + ions)

    def elements(file: Path) -> list[str]:
        residues = prepare.read_structure(file).residues()
        return [atom.element.name for _, residue in residues for atom in residue]

    assert elements(bare) == [*elements(plain), "Na", "Cl", "Cl", "K", "Zn"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"model": 2}, "no model 2: the file has 1"), ({"chains": ["B"]}, "no chain B; it has A")],
)
def test_what_a_file_has_not_is_refused(
    peptide: Callable[..., Path], arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(QuiltError, match=message):
        prepare.read_structure(peptide(), **arguments)  # type: ignore[arg-type]


def test_missing_atoms_are_added_and_others_stay(
    peptide: Callable[..., Path], amber: prepare.ForceField
) -> None:
    whole = prepare.repair(prepare.read_structure(peptide()))

    def without(structure: gemmi.Structure) -> None:
        drop(structure[0]["A"][9], lambda atom: atom.name not in ("N", "CA", "C", "O", "CB", "HA"))
        drop(structure[0]["A"][27], lambda atom: atom.name == "OXT")

    mended = prepare.repair(prepare.read_structure(peptide(without)))
    assert heavy(mended) == heavy(whole)
    assert "A:10" in checks(mended.notes)
    kept = [
        {(a.residue.id, a.name): m.positions[a.index] for a in m.topology.atoms()}
        for m in (whole, mended)
    ]
    assert all(
        kept[0][place] == position
        for place, position in kept[1].items()
        if place[0] not in ("10", "28")
    )
    amber.create_system(prepare.add_hydrogens(mended).topology)  # every residue has a template


def test_disulphide_bonds_and_states_are_told(peptide: Callable[..., Path]) -> None:
    model = prepare.add_hydrogens(prepare.repair(prepare.read_structure(peptide())))
    bonded = {frozenset(pair) for pair in prepare.find_disulphides(model)}
    assert bonded == {
        frozenset({"A:3", "A:26"}),
        frozenset({"A:7", "A:12"}),
        frozenset({"A:18", "A:28"}),
    }
    states = Counter(state_of(one) for one in model.topology.residues() if one.name == "CYS")
    assert states == {"CYX, disulphide bond": 6}


def protonated(file: Path, states: dict[str, str], ph: float = 7.0) -> prepare.Model:
    return prepare.add_hydrogens(
        prepare.repair(prepare.remove_hydrogens(prepare.read_structure(file))),
        ph=ph,
        protonation=states,
    )


def as_histidine(structure: gemmi.Structure) -> None:
    """Residues 10 and 14 become acid and histidine, whose atoms are then missing."""
    for index, name in ((9, "ASP"), (13, "HIS"), (19, "HIE")):
        residue = structure[0]["A"][index]
        residue.name = name
        drop(residue, lambda atom: atom.name not in ("N", "CA", "C", "O", "CB"))
    structure.entities.clear()


def test_states_of_protonation_are_chosen(
    peptide: Callable[..., Path], amber: prepare.ForceField
) -> None:
    model = protonated(peptide(as_histidine), {"A:14": "HIP", "A:10": "ASH"})
    found = {model.key(one): state_of(one) for one in model.topology.residues()}
    chosen = {place: found[place] for place in ("A:10", "A:14", "A:20")}
    assert chosen == {"A:10": "ASH, neutral", "A:14": "HIP, charge +1", "A:20": "HIE"}
    amber.create_system(model.topology)
    assert "HIP, charge +1: A:14" in checks(model.notes)


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ({"A:99": "HIE"}, "no residue A:99 to protonate"),
        ({"A:14": "ASH"}, "HIS A:14 has no state ASH: it has HID, HIE"),
        ({"A:1": "HIE"}, "PHE A:1 has no state HIE: its protonation cannot be chosen"),
    ],
)
def test_states_that_are_not_are_refused(
    peptide: Callable[..., Path], states: dict[str, str], message: str
) -> None:
    model = prepare.repair(prepare.read_structure(peptide(as_histidine)))
    with pytest.raises(QuiltError, match=message):
        prepare.add_hydrogens(model, protonation=states)


def broken(structure: gemmi.Structure) -> None:
    """Without residues 14 and 15, and without the first one."""
    chain = structure[0]["A"]
    for index in (14, 13, 0):
        del chain[index]


def test_gaps_are_found_built_capped_or_refused(
    peptide: Callable[..., Path], amber: prepare.ForceField
) -> None:
    read = prepare.read_structure(peptide(broken))
    sequence = read.pieces[0].sequence
    start, inside = prepare.find_gaps(read)
    assert (start.end, start.names) == (True, sequence[:1])
    assert (inside.end, inside.names) == (False, sequence[13:15])
    built = prepare.repair(read)
    assert [name for name, _ in heavy(built)] == list(sequence[1:])
    cut = prepare.repair(read, gaps="cap")
    caps = ["NME", "ACE"]
    assert [name for name, _ in heavy(cut)] == [*sequence[1:13], *caps, *sequence[15:]]
    amber.create_system(prepare.add_hydrogens(cut).topology)
    with pytest.raises(QuiltError, match=r"between \w+ A:13 and \w+ A:16.*--gaps build"):
        treat_gaps(read, "refuse")
    with pytest.raises(QuiltError, match="more than the 1 that are built: cut the chain"):
        treat_gaps(read, "build", 1)


def test_a_gap_of_unknown_residues_is_refused(peptide: Callable[..., Path]) -> None:
    def unknown(structure: gemmi.Structure) -> None:
        broken(structure)
        structure.entities.clear()

    with pytest.raises(QuiltError, match=r"does not tell which residues are missing.*--gaps cap"):
        treat_gaps(prepare.read_structure(peptide(unknown)), "build")


def test_termini_are_capped(peptide: Callable[..., Path], amber: prepare.ForceField) -> None:
    model = prepare.repair(prepare.read_structure(peptide()), termini="capped")
    names = [name for name, _ in heavy(model)]
    assert (names[0], names[-1], len(names)) == ("ACE", "NME", 30)
    amber.create_system(prepare.add_hydrogens(model).topology)


def with_glycerol(structure: gemmi.Structure) -> None:
    structure[0]["A"][23].name = "MSE"
    structure[0]["A"][23]["SD"][0].name = "SE"
    residue = gemmi.Residue()
    residue.name, residue.seqid = "GOL", gemmi.SeqId("101")
    for number, name in enumerate(("C1", "C2", "C3", "O1", "O2", "O3")):
        atom = gemmi.Atom()
        atom.name, atom.element = name, gemmi.Element(name[0])
        atom.pos = gemmi.Position(40 + number, 0, 0)
        residue.add_atom(atom)
    residue.het_flag = "H"
    structure[0]["A"].add_residue(residue)


def test_residues_without_parameters_are_named_with_remedies(
    peptide: Callable[..., Path], amber: prepare.ForceField
) -> None:
    read = prepare.read_structure(peptide(with_glycerol))
    with pytest.raises(QuiltError) as refused:
        prepare.refuse_unknown_residues(read, amber)
    for part in ("MSE A:24", "GOL A:101", "--replace MSE=MET", "--remove GOL"):
        assert part in str(refused.value)
    mended = prepare.replace_residues(prepare.remove_residues(read, ["GOL"]), {"MSE": "MET"})
    prepare.refuse_unknown_residues(mended, amber)
    names, atoms = zip(*heavy(prepare.repair(mended)), strict=True)
    assert names[23] == "MET"
    assert atoms[23] == {"N", "CA", "C", "O", "CB", "CG", "SD", "CE"}
    with pytest.raises(QuiltError, match="no residue SO4 to remove; it has "):
        prepare.remove_residues(read, ["SO4"])


def test_a_residue_that_fits_no_template_is_named(
    peptide: Callable[..., Path], amber: prepare.ForceField
) -> None:
    """By its place in the input, with what can be done: here a hydrogen has an unknown name."""

    def misnamed(structure: gemmi.Structure) -> None:
        structure[0]["A"][8]["HA"][0].name = "QX9"

    model = prepare.add_hydrogens(prepare.repair(prepare.read_structure(peptide(misnamed))))
    name = prepare.read_structure(peptide()).pieces[0].residues[8].name
    with pytest.raises(QuiltError, match=rf"no template for {name} A:9 as .*--hydrogens rebuild"):
        amber.create_system(model.topology)


def test_residues_that_bind_metals_are_told(peptide: Callable[..., Path]) -> None:
    def with_zinc(structure: gemmi.Structure) -> None:
        as_histidine(structure)
        structure.connections.clear()
        residue = gemmi.Residue()
        residue.name, residue.seqid, residue.het_flag = "ZN", gemmi.SeqId("101"), "H"
        atom = gemmi.Atom()
        atom.name, atom.element = "ZN", gemmi.Element("Zn")
        atom.pos = structure[0]["A"][6]["SG"][0].pos + gemmi.Position(0, 2.3, 0)
        residue.add_atom(atom)
        structure[0]["A"].add_residue(residue)

    model = note_metals(protonated(peptide(with_zinc), {}))
    assert "ZN A:101 is bound by A:7 (CY" in checks(model.notes)


@pytest.mark.parametrize(
    ("shape", "volume"), [("cube", 1.0), ("dodecahedron", 0.5**0.5), ("octahedron", 4 / 27**0.5)]
)
def test_images_are_as_far_apart_as_boxes_say(shape: str, volume: float) -> None:
    box = box_vectors(shape, 3.0)  # type: ignore[arg-type]
    assert np.linalg.det(box) == pytest.approx(27 * volume)
    steps = np.stack(np.meshgrid(*[range(-2, 3)] * 3), axis=-1).reshape(-1, 3)
    distances = np.linalg.norm(steps @ box, axis=1)
    assert sorted(distances)[1] == pytest.approx(3.0)


def test_what_is_written_has_the_energies_of_openmm(
    peptide: Callable[..., Path], amber: prepare.ForceField, tmp_path: Path
) -> None:
    """In a rhombic dodecahedron, neutral, with the salt that was asked for; read by Quilt."""
    model = prepare.add_hydrogens(prepare.repair(prepare.read_structure(peptide())))
    model = prepare.add_water(
        model, amber, shape="dodecahedron", padding=0.4, concentration=0.3, cation="K+"
    )
    names = Counter(one.name for one in model.topology.residues())
    assert names["K"] == pytest.approx(0.3 / 55.4 * names["HOH"], abs=5)
    prepare.write_system(model, amber, tmp_path / "out")
    file = tmp_path / "out" / "system.cif"
    system, state = load(file, file, parameters=amber.files, rigid_water=False)
    assert system.charges.sum() == pytest.approx(0, abs=1e-6)
    # The same System by OpenMM, at the positions of the file, without a mesh.
    made = amber.create_system(
        model.topology, nonbondedMethod=app.CutoffPeriodic, nonbondedCutoff=0.8
    )
    oracle = type(system).from_openmm(made, model.topology)
    made.setDefaultPeriodicBoxVectors(*state.box)
    energy, forces = energy_and_forces(made, state.positions)
    energies, found = reference(system, state, oracle.nonbonded)
    assert energies["potential"] == pytest.approx(energy, rel=1e-6)
    assert np.abs(found - forces).max() < 1e-6 * np.abs(forces).max()


def test_from_a_structure_to_a_run_at_a_terminal(
    peptide: Callable[..., Path], tmp_path: Path
) -> None:
    def short(structure: gemmi.Structure) -> None:
        del structure[0]["A"][6:]

    out = tmp_path / "system"
    prepared = (
        "prepare",
        peptide(short),
        "--out",
        out,
        "--padding",
        "0.4",
        "--nanoseconds",
        "4e-5",
    )
    with Terminal("-m", "quiltmd", *prepared) as terminal:
        terminal.wait_for(r"next: quiltmd info \S+run.toml")
        assert terminal.process.wait() == 0
    text = (out / "run.toml").read_text()
    for long, short in (("50000", "10"), ("125000", "10"), ("[100, 300]", "[0.02, 300]")):
        assert long in text
        text = text.replace(long, short)
    text = text.replace("minimize = true", "minimize = true, minimize_iterations = 10")
    (out / "run.toml").write_text(text.replace("[500, 0]", "[0.04, 0]"))
    with Terminal("-m", "quiltmd", "run", out / "run.toml", "--threads", "1") as terminal:
        terminal.wait_for("stage 5 of 5, produce")
        assert terminal.process.wait() == 0
    assert (out / "run" / "5-produce" / "final.pdb").exists()
    with pytest.raises(QuiltError, match=r"exists: choose another --out, or give --overwrite"):
        refuse_to_replace(out)


@pytest.mark.parametrize(("periodic", "membrane"), [(True, False), (True, True), (False, False)])
def test_a_protocol_runs_with_what_preparing_needs(
    periodic: bool, membrane: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the libraries of other extras, as MDAnalysis for XTC files."""
    monkeypatch.setitem(sys.modules, "MDAnalysis", None)
    text = prepare.write_protocol(
        "system.cif", ["amber14-all.xml"], periodic=periodic, membrane=membrane, nanoseconds=2
    )
    settings = tomllib.loads(text)
    assert replaced_in_all(settings) == []  # settings that no stage follows
    stages = stages_of(settings, "run.toml")
    names = [stage.folder.path.name.split("-")[1] for stage in stages]
    assert names == ["minimise", "heat", "release", "equilibrate", "produce"]
    made = stages[-1].config
    assert made.run.steps * made.integrator.timestep == pytest.approx(2000)
    assert made.restraint == ()
    assert made.integrator.ensemble == ("npt" if periodic else "nvt")
    assert made.barostat.coupling == ("semi-isotropic" if membrane else "isotropic")
    for stage in stages:
        for name in stage.config.trajectories():
            check_contents(name, velocities=False, forces=False, precision=None)


PACKAGES = "conda install -c conda-forge openmmforcefields openff-toolkit ambertools"


def openff_that_lacks(
    monkeypatch: pytest.MonkeyPatch, *, reads: Exception | None, parametrises: Exception
) -> None:
    """An OpenFF whose steps raise these errors, as its parts are imported when first used."""
    molecule = SimpleNamespace(conformers=[[0, 0, 0]], atoms=[])
    monkeypatch.setitem(sys.modules, "openff", ModuleType("openff"))
    toolkit = Mock(spec_set=["Molecule"])
    toolkit.Molecule.from_file = Mock(side_effect=reads, return_value=molecule)
    generators = Mock(spec_set=["SMIRNOFFTemplateGenerator"])
    generators.SMIRNOFFTemplateGenerator.side_effect = parametrises
    monkeypatch.setitem(sys.modules, "openff.toolkit", toolkit)
    monkeypatch.setitem(sys.modules, "openmmforcefields", ModuleType("openmmforcefields"))
    monkeypatch.setitem(sys.modules, "openmmforcefields.generators", generators)


def test_parts_of_openff_that_are_missing_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "ligand.sdf"
    file.touch()
    nameless = ImportError()
    nameless.__cause__ = ModuleNotFoundError("No module named 'networkx'")
    missing = rf"cannot be imported \(No module named 'networkx'\): {PACKAGES}"
    openff_that_lacks(monkeypatch, reads=nameless, parametrises=nameless)
    with pytest.raises(QuiltError, match=missing):
        prepare.read_ligand(file)
    openff_that_lacks(monkeypatch, reads=None, parametrises=nameless)
    with pytest.raises(QuiltError, match=missing):
        prepare.read_ligand(file)
    openff_that_lacks(monkeypatch, reads=None, parametrises=ValueError("no charges " * 100))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(QuiltError, match=f"antechamber is not in PATH: {PACKAGES}") as refused:
        prepare.read_ligand(file)
    assert len(str(refused.value)) < 700
    (tmp_path / "antechamber").touch(mode=0o755)
    with pytest.raises(QuiltError, match=r"no charges no charges .* \.\.\.$"):
        prepare.read_ligand(file)


def test_missing_libraries_are_named(
    peptide: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "openff.toolkit", None)
    (tmp_path / "ligand.sdf").touch()
    with pytest.raises(QuiltError, match=PACKAGES):
        prepare.read_ligand(tmp_path / "ligand.sdf")
    monkeypatch.setitem(sys.modules, "pdbfixer", None)
    with pytest.raises(QuiltError, match=r"PDBFixer.*pip install 'quiltmd\[prepare\]'"):
        prepare.prepare(peptide(), tmp_path / "out")


def test_an_option_for_each_choice() -> None:
    assert set(OPTIONS) == {field.name for field in dataclasses.fields(prepare.Choices)}


def test_a_ligand_has_the_energies_of_openff(peptide: Callable[..., Path], tmp_path: Path) -> None:
    """Alone, by Quilt from the file that is written, and by the System that OpenFF makes of it."""
    toolkit = pytest.importorskip("openff.toolkit", reason="OpenFF is not installed")
    pytest.importorskip("openmmforcefields")
    molecule = toolkit.Molecule.from_smiles("CCO")
    molecule.generate_conformers(n_conformers=1)
    made = molecule.conformers.pop()
    molecule.add_conformer(made + 50 * made.units)  # away from the peptide
    molecule.to_file(str(tmp_path / "ethanol.sdf"), "SDF")
    choices = prepare.Choices(ligands=(str(tmp_path / "ethanol.sdf"),), box="none")
    _, notes = prepare.prepare(peptide(), tmp_path / "out", choices)
    assert "9 atoms, charge +0, parameters of openff-2.2.1" in checks(notes)

    topology = molecule.to_topology()
    openff = toolkit.ForceField("openff_unconstrained-2.2.1.offxml")
    expected = openff.create_openmm_system(topology)
    places = np.array(molecule.conformers[0].m_as("nanometer"))
    written = app.ForceField(str(tmp_path / "out" / "LIG.xml"))
    found = written.createSystem(topology.to_openmm())
    energies = [energy_and_forces(system, places)[0] for system in (found, expected)]
    assert energies[0] == pytest.approx(energies[1], abs=1e-2)
    assert abs(energies[0]) > 1


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_membrane_is_built(
    peptide: Callable[..., Path], amber: prepare.ForceField, tmp_path: Path
) -> None:
    choices = prepare.Choices(membrane="POPC", padding=0.5)
    _, notes = prepare.prepare(peptide(), tmp_path, choices)
    assert "POPC in the xy plane" in checks(notes)
    assert "semi-isotropic" in (tmp_path / "run.toml").read_text()
