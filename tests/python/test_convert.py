# SPDX-License-Identifier: Apache-2.0
"""`quiltmd convert` and `quiltmd info FILES`; systems that OpenMM's readers of other files made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import pytest
from boxes import relative_rms
from command import quiltmd as command
from invented_parameters import Parameters
from openmm import app, unit
from openmm_reference import energy_and_forces
from test_inputs_gromacs import BOX, gro, positions, write

import quiltmd
from quiltmd import InputError, Nonbonded, QuiltError, State, System
from quiltmd.commands.system_facts import facts_of_files, system_facts
from quiltmd.description.term_forms import TERM_FORMS, TermForm
from quiltmd.inputs import describe
from quiltmd.openmm.write import to_openmm, write_openmm, write_openmm_state

Files = tuple[Path, Path]
CHOSEN = Nonbonded(cutoff=0.9, pme_alpha=3.0, pme_grid=(32, 32, 32), pme_order=5)


def both(system: System, state: State, settings: Nonbonded) -> tuple[Any, Any]:
    energies, forces = quiltmd.reference(system, state, settings)
    return energies["potential"], forces


def by_openmm(made: Any, state: State) -> tuple[Any, Any]:
    made.setDefaultPeriodicBoxVectors(*state.box)
    return energy_and_forces(made, state.positions)


def cases(name: str, folder: Path, mdanalysis_files: Path) -> tuple[System, State]:
    if name == "gromacs":
        system = describe(write(folder), defines=["CMAP"]).system
        return system, State.start(system, positions(), BOX * np.eye(3))
    psf = mdanalysis_files / "parmed_ala3.psf"
    made_up = Parameters(psf)
    files = [folder / "made_up.rtf", folder / "made_up.prm"]
    files[0].write_text(made_up.rtf())
    files[1].write_text(made_up.prm(nbfix=name == "nbfix"))
    system = describe(psf, files).system
    rng = np.random.default_rng(4)
    walk = np.cumsum(rng.normal(0, 0.06, (33, 3)) + np.array([0.1, 0, 0]), axis=0)
    return system, State.start(system, walk, BOX * np.eye(3))


@pytest.mark.parametrize("form", TERM_FORMS, ids=[form.name for form in TERM_FORMS])
def test_every_form_is_written_or_refused(form: TermForm) -> None:
    """A term that is left out in silence would be an energy that is missing."""
    bare = System.of(np.ones(6))
    values = np.full((1, form.columns), not form.shared, dtype=float)
    shared = np.ones((1, 4, 4)) if form.shared else []
    terms = {form.name: ([list(range(form.atoms))], values, shared)}
    system = replace(bare, terms=terms, exclusions=[[0, 1]] if form.part == "pair" else [])
    written = xml_or_refusal(system)
    refused = "cannot be written for OpenMM" in written
    assert refused or written.count("<") > xml_or_refusal(bare).count("<")


def xml_or_refusal(system: System) -> str:
    try:
        return str(openmm.XmlSerializer.serialize(to_openmm(system, box=np.eye(3))))
    except QuiltError as error:
        return str(error)


@pytest.mark.parametrize("name", ["gromacs", "charmm", "nbfix"])
@pytest.mark.parametrize("switched", [False, True])
def test_written_for_openmm_and_read_again(
    name: str, switched: bool, tmp_path: Path, mdanalysis_files: Path
) -> None:
    system, state = cases(name, tmp_path, mdanalysis_files)
    chosen = CHOSEN
    if switched:
        chosen = Nonbonded(
            cutoff=0.9,
            pme_alpha=3.0,
            pme_grid=(32, 32, 32),
            pme_order=5,
            switching="potential",
            switch_distance=0.7,
            dispersion_correction=False,
        )
    energy, forces = both(system, state, chosen)
    theirs = by_openmm(to_openmm(system, chosen), state)
    assert theirs[0] == pytest.approx(energy, rel=1e-6)
    assert relative_rms(theirs[1], forces) < 1e-6
    vectors = to_openmm(system, chosen, state.box).getDefaultPeriodicBoxVectors()
    found = [vector.value_in_unit(unit.nanometer) for vector in vectors]
    np.testing.assert_allclose(found, state.box)
    write_openmm(tmp_path / "system.xml", system, chosen, state.box)
    write_openmm_state(tmp_path / "state.xml", system, state)
    again, place = quiltmd.load(tmp_path / "system.xml", tmp_path / "state.xml")
    assert again.nonbonded == chosen
    np.testing.assert_allclose(place.positions, state.positions, atol=1e-12)
    same = both(again, place, chosen)
    assert same[0] == pytest.approx(energy, rel=1e-9)
    assert relative_rms(same[1], forces) < 1e-9


def test_systems_that_openmm_made_of_charmm_files(tmp_path: Path, mdanalysis_files: Path) -> None:
    """With the custom forces of its reader: impropers, pairs by types."""
    psf = mdanalysis_files / "parmed_ala3.psf"
    system, state = cases("nbfix", tmp_path, mdanalysis_files)
    files = [str(tmp_path / name) for name in ("made_up.rtf", "made_up.prm")]
    made = app.CharmmPsfFile(str(psf), unitCellDimensions=[BOX] * 3 * unit.nanometer).createSystem(
        app.CharmmParameterSet(*files, permissive=True),
        nonbondedMethod=app.PME,
        nonbondedCutoff=0.9,
        switchDistance=0.7,
        constraints=None,
        rigidWater=False,
    )
    read = System.from_openmm(made)
    assert read.nonbonded is not None
    assert read.nonbonded.switching == "potential"
    assert len(read.impropers) == len(system.impropers) > 0
    ours, direct = both(read, state, CHOSEN), both(system, state, CHOSEN)
    assert ours[0] == pytest.approx(direct[0], rel=1e-6)
    assert relative_rms(ours[1], direct[1]) < 1e-6


def is_read_as_an_expression(made: Any, state: State) -> None:
    """Pairs that are no pair form have OpenMM's energies and forces all the same."""
    energy, forces = by_openmm(made, state)
    read = System.from_openmm(made)
    assert read.custom is not None
    assert read.custom.pairs
    assert read.nonbonded is not None
    exact, ours = quiltmd.reference(read, state, read.nonbonded)
    assert exact["custom"] != 0
    assert exact["potential"] == pytest.approx(energy, rel=1e-6)
    assert np.abs(ours - forces).max() < 1e-5 * np.abs(forces).max()


@pytest.mark.parametrize(
    "change",
    [
        lambda pairs: pairs.setCutoffDistance(0.8),
        lambda pairs: pairs.setEnergyFunction("1e-3*a^2/r^9; a=acoef(type1,type2)"),
        lambda pairs: pairs.addInteractionGroup(set(range(20)), set(range(10, 33))),
    ],
)
def test_other_pairs_are_expressions(change: Any, tmp_path: Path, mdanalysis_files: Path) -> None:
    system, state = cases("nbfix", tmp_path, mdanalysis_files)
    made = to_openmm(system, CHOSEN)
    (force,) = (f for f in made.getForces() if isinstance(f, openmm.CustomNonbondedForce))
    change(force)
    is_read_as_an_expression(made, state)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda pairs, torsions: pairs.setUseSwitchingFunction(True), "the switching distance"),
        (lambda pairs, torsions: pairs.setEnergyFunction("1/r"), "does not converge"),
        (lambda pairs, torsions: pairs.addExclusion(0, 30), "other pairs are excluded"),
        (lambda pairs, torsions: torsions.setEnergyFunction("k*(theta-theta1)^4"), "theta1"),
        (lambda pairs, torsions: torsions.setEnergyFunction("scale*k*theta^2"), "scale"),
        (lambda pairs, torsions: torsions.setEnergyFunction("k*(1-cos(theta-phi))"), "phi"),
    ],
)
def test_other_custom_forces_are_refused(
    change: Any, words: str, tmp_path: Path, mdanalysis_files: Path
) -> None:
    made = to_openmm(cases("nbfix", tmp_path, mdanalysis_files)[0], CHOSEN)
    forces = {type(force).__name__: force for force in made.getForces()}
    change(forces["CustomNonbondedForce"], forces["CustomTorsionForce"])
    with pytest.raises(InputError, match=words):
        System.from_openmm(made)


def test_what_cannot_be_written(tmp_path: Path, mdanalysis_files: Path) -> None:
    system, _ = cases("gromacs", tmp_path, mdanalysis_files)
    for changed in (
        {"switching": "charmm", "switch_distance": 0.7},
        {"potential_shift": True},
    ):
        with pytest.raises(QuiltError, match="cannot be written for OpenMM"):
            to_openmm(system, Nonbonded(**changed))


def test_facts_of_files(tmp_path: Path) -> None:
    path = write(tmp_path)
    conf = tmp_path / "conf.gro"
    conf.write_text(gro(positions(), describe(path).system.topology.atom_names))
    facts = facts_of_files([path, conf], (), ())
    assert facts["atoms"] == 31
    assert facts["molecules"] == {"SOL (3 atoms)": 5, "protein, 2 residues (8 atoms)": 2}
    assert facts["terms"]["ryckaert_bellemans"] == 6
    assert facts["box"] == [3, 3, 3, 90, 90, 90]
    with pytest.raises(QuiltError, match="found 3 files"):
        facts_of_files([path, conf, conf], (), ())
    path.write_text(path.read_text().replace("[ pairs ]", "[ orientation_restraints ]"))
    with pytest.raises(InputError, match="orientation restraints are not supported"):
        facts_of_files([path], (), ())


def test_command(tmp_path: Path) -> None:
    path = write(tmp_path)
    conf, out = tmp_path / "conf.gro", tmp_path / "out.xml"
    conf.write_text(gro(positions(), describe(path).system.topology.atom_names))
    call = ("convert", path, conf, "--system", out, "--state", tmp_path / "state.xml")
    found = command(*call, "--cutoff", "1.0")
    assert found.returncode == 0, found.stderr
    assert "pme_order" not in found.stderr
    system, state = quiltmd.load(out, tmp_path / "state.xml")
    assert system.nonbonded is not None
    assert system.nonbonded.cutoff == 1.0
    assert len(system.constraints) == 15
    np.testing.assert_allclose(state.positions, positions(), atol=1e-3)
    assert "give --overwrite" in " ".join(command(*call).stderr.split())
    order = command(*call, "--overwrite", "--pme-order", "4")
    assert "pme_order 4 is not written" in " ".join(order.stderr.split())


def test_facts_of_a_system_without_names(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    """An OpenMM System has no names of residues; waters are known by their elements."""
    system, state = quiltmd.load(*alanine, rigid_water=False)
    write_openmm(tmp_path / "system.xml", system, Nonbonded(), state.box)
    assert facts_of_files([tmp_path / "system.xml"], (), ())["waters"] == 749


def test_facts_say_what_is_refused(alanine: Files, tmp_path: Path) -> None:
    """A set of 65 atoms, where 64 can be; the atom is named by a run."""
    system, state = quiltmd.load(*alanine, rigid_water=False)
    chain = np.column_stack([np.arange(64), np.arange(1, 65)])
    line = replace(state, positions=0.02 * np.arange(system.atoms)[:, None] * [1, 0, 0])
    for count, refused in ((63, False), (64, True)):
        held = replace(system, constraints=chain[:count], constraint_lengths=np.full(count, 0.02))
        facts = system_facts(held)
        assert ("refused" in facts) is refused
        if refused:
            assert "1 set(s) of more than 64 atoms" in facts["refused"][0]
            with pytest.raises(QuiltError, match=r"^atom 1 \(HH31 of ACE 1\) is in a set of 65"):
                quiltmd.Simulation(held, line, device="cpu", threads=1)
        else:
            quiltmd.Simulation(held, line, device="cpu", threads=1)


def test_facts_say_that_there_is_no_box(openmmtools_data: Path) -> None:
    folder = openmmtools_data / "alanine-dipeptide-gbsa"
    files = [folder / "alanine-dipeptide.prmtop", folder / "alanine-dipeptide.crd"]
    assert facts_of_files(files, (), ())["box"] is None
    assert "box" not in facts_of_files(files[:1], (), ())
    assert "box: none\n" in command("info", *files).stdout


@pytest.mark.parametrize("name", ["gromacs", "nbfix"])
def test_written_and_read_again_without_a_box(
    name: str, tmp_path: Path, mdanalysis_files: Path
) -> None:
    """No force of the written System is periodic or ends at a cutoff."""
    system, boxed = cases(name, tmp_path, mdanalysis_files)
    held = [
        quiltmd.Restraint("distance", ["index 1", "index 12"], lower=0.2, upper=0.3, k=500.0),
        quiltmd.Restraint("position", "index 3", k=50.0),
    ]
    places = boxed.positions
    system = quiltmd.restrain(system, held, places, None)
    settings = Nonbonded(method="no-cutoff")
    moved = State(places + np.linspace(0, 0.1, places.size).reshape(-1, 3), 0 * places, None)
    energy, forces = both(system, moved, settings)
    made = to_openmm(system, settings)
    assert not made.usesPeriodicBoundaryConditions()
    context = openmm.Context(
        made, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference")
    )
    context.setPositions(moved.positions)
    found = context.getState(getEnergy=True).getPotentialEnergy()
    assert found.value_in_unit(unit.kilojoule_per_mole) == pytest.approx(energy, rel=1e-6)
    write_openmm(tmp_path / "system.xml", system, settings)
    write_openmm_state(tmp_path / "state.xml", system, moved)
    again, place = quiltmd.load(tmp_path / "system.xml", tmp_path / "state.xml")
    assert place.box is None
    same = both(again, place, settings)
    assert same[0] == pytest.approx(energy, rel=1e-9)
    assert relative_rms(same[1], forces) < 1e-9


def test_pairs_by_types_end_as_charges_do(tmp_path: Path, mdanalysis_files: Path) -> None:
    system, _ = cases("nbfix", tmp_path, mdanalysis_files)
    for settings, others in (
        (Nonbonded(method="no-cutoff"), "CutoffPeriodic"),
        (CHOSEN, "NoCutoff"),
    ):
        made = to_openmm(system, settings)
        (force,) = (f for f in made.getForces() if isinstance(f, openmm.CustomNonbondedForce))
        force.setNonbondedMethod(getattr(force, others))
        with pytest.raises(InputError, match="must be periodic where NonbondedForce is"):
            System.from_openmm(made)
