# SPDX-License-Identifier: Apache-2.0
"""Systems without a periodic box, and generalized Born."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import pytest
from boxes import lj_table, relative_rms
from clouds import cloud, flying_apart
from openmm import app, unit
from openmm_reference import energy_and_forces

import quiltmd
from quiltmd import ImplicitSolvent, LangevinMiddle, Nonbonded, Simulation, State, VelocityVerlet
from quiltmd.errors import InputError, QuiltError

pytestmark = pytest.mark.filterwarnings("ignore::quiltmd.QuiltWarning")

MODELS: dict[str, Any] = {
    "hct": app.HCT,
    "obc1": app.OBC1,
    "obc2": app.OBC2,
    "gbn": app.GBn,
    "gbn2": app.GBn2,
}
SOLVENTS = [ImplicitSolvent(model, 0.15, surface="ace") for model in MODELS]  # type: ignore[arg-type]
# By how much ours is larger than Amber's Coulomb constant.
CONSTANTS = dict.fromkeys(("EELEC", "EGB"), 1.0000346)
# OpenMM's Coulomb constant in custom forces is 2e-7 larger than ours.
SAME_CONSTANT = 1e-6


@pytest.fixture(scope="module")
def dipeptide(openmmtools_data: Path) -> tuple[Path, Path]:
    """Alanine dipeptide by itself, 22 atoms, with radii: prmtop and inpcrd."""
    folder = openmmtools_data / "alanine-dipeptide-gbsa"
    return folder / "alanine-dipeptide.prmtop", folder / "alanine-dipeptide.crd"


@pytest.fixture(scope="module")
def lysozyme(openmmtools_data: Path) -> tuple[Path, Path, Path]:
    """A complex of T4 lysozyme, 2,621 atoms: prmtop, inpcrd, and what sander found."""
    folder = openmmtools_data / "T4-lysozyme-L99A-implicit"
    names = ("complex.prmtop", "complex-minimized.crd", "complex-testenergy.sander.out")
    return folder / names[0], folder / names[1], folder / names[2]


def openmm_found(files: tuple[Path, ...], model: Any, **settings: Any) -> tuple[float, Any]:
    """Potential energy and forces by OpenMM's reference platform."""
    method = settings.pop("nonbondedMethod", app.NoCutoff)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # radii that are not those of the model's authors
        system = app.AmberPrmtopFile(str(files[0])).createSystem(
            nonbondedMethod=method, implicitSolvent=model, **settings
        )
    return energy_and_forces(system, app.AmberInpcrdFile(str(files[1])).positions)


@pytest.mark.parametrize("surface", ["none", "ace"])
@pytest.mark.parametrize("salt", [0.0, 0.15])
@pytest.mark.parametrize("model", MODELS)
def test_models_agree_with_openmm(
    dipeptide: tuple[Path, Path], model: Any, salt: float, surface: Any
) -> None:
    solvent = ImplicitSolvent(model, salt, surface=surface)
    system, state = quiltmd.load(*dipeptide, solvent=solvent)
    energy, forces = openmm_found(
        dipeptide,
        MODELS[model],
        implicitSolventSaltConc=salt * unit.molar,
        sasaMethod="ACE" if surface == "ace" else None,
    )
    exact, exact_forces = quiltmd.reference(system, state)
    assert exact["potential"] == pytest.approx(energy, rel=SAME_CONSTANT)
    assert relative_rms(exact_forces, forces) < 1e-6
    assert (exact["surface"] > 1) == (surface == "ace")
    simulation = Simulation(system, state, device="cpu")
    assert simulation.energies()["potential"] == pytest.approx(energy, rel=SAME_CONSTANT)
    assert relative_rms(simulation.forces(), forces) < 2e-6


@pytest.mark.parametrize("salt", [0.0, 0.15])
@pytest.mark.parametrize("model", MODELS)
def test_models_with_a_cutoff_agree_with_openmm(
    dipeptide: tuple[Path, Path], model: Any, salt: float
) -> None:
    """Radii, polarisation, charges and Lennard-Jones end at the cutoff; energies of charges are
    shifted."""
    system, state = quiltmd.load(*dipeptide, solvent=ImplicitSolvent(model, salt))
    energy, forces = openmm_found(
        dipeptide,
        MODELS[model],
        nonbondedMethod=app.CutoffNonPeriodic,
        nonbondedCutoff=0.47 * unit.nanometer,
        implicitSolventSaltConc=salt * unit.molar,
        sasaMethod=None,
    )
    short = Nonbonded(method="cutoff", cutoff=0.47)
    exact, exact_forces = quiltmd.reference(system, state, short)
    assert exact["potential"] == pytest.approx(energy, rel=SAME_CONSTANT)
    assert relative_rms(exact_forces, forces) < 1e-6
    found = [
        Simulation(system, state, short, device="cpu", ranks=ranks).forces() for ranks in (1, 2)
    ]
    assert relative_rms(found[0], forces) < 2e-6
    assert (found[0] == found[1]).all()


def test_a_protein_with_a_cutoff_agrees_with_openmm(lysozyme: tuple[Path, Path, Path]) -> None:
    """A cutoff that is short beside the protein, so that whole patches are beyond it."""
    system, state = quiltmd.load(*lysozyme[:2], solvent=ImplicitSolvent("obc2", 0.1))
    energy, forces = openmm_found(
        lysozyme,
        app.OBC2,
        nonbondedMethod=app.CutoffNonPeriodic,
        nonbondedCutoff=1.2 * unit.nanometer,
        implicitSolventSaltConc=0.1 * unit.molar,
        sasaMethod=None,
    )
    short = Nonbonded(method="cutoff", cutoff=1.2)
    simulation = Simulation(system, state, short, device="cpu")
    assert simulation.energies()["potential"] == pytest.approx(energy, rel=2e-6)
    assert relative_rms(simulation.forces(), forces) < 1e-5


def test_a_protein_agrees_with_openmm_and_amber(lysozyme: tuple[Path, Path, Path]) -> None:
    """Atoms in many patches, and several chunks of them."""
    system, state = quiltmd.load(*lysozyme[:2], solvent=ImplicitSolvent("obc1"))
    energy, forces = openmm_found(lysozyme, app.OBC1, sasaMethod=None)
    simulation = Simulation(system, state, device="cpu")
    found = simulation.energies()
    assert found["potential"] == pytest.approx(energy, rel=1e-6)
    assert relative_rms(simulation.forces(), forces) < 1e-5  # small ones, of a minimised structure
    text = lysozyme[2].read_text()
    printed = {
        name: 4.184
        * CONSTANTS.get(name, 1.0)
        * float(re.findall(rf"{name}\s*=\s*(-?[\d.]+)", text)[0])
        for name in ("ANGLE", "DIHED", "VDWAALS", "EELEC", "EGB")
    }
    terms = {"ANGLE": "angle", "DIHED": "torsion", "VDWAALS": "lj"}
    terms |= {"EELEC": "coulomb", "EGB": "polarisation"}
    for name, term in terms.items():
        assert found[term] == pytest.approx(printed[name], rel=1e-6), name


@pytest.mark.parametrize("solvent", SOLVENTS, ids=MODELS)
def test_forces_are_the_gradient(solvent: ImplicitSolvent) -> None:
    system, state = cloud(solvent)
    _, forces = quiltmd.reference(system, state)
    step = 1e-6
    for atom in range(0, system.atoms, 3):
        for axis in range(3):
            energies = []
            for sign in (1, -1):
                moved = state.positions.copy()
                moved[atom, axis] += sign * step
                energies.append(
                    quiltmd.reference(system, replace(state, positions=moved))[0]["potential"]
                )
            slope = (energies[1] - energies[0]) / (2 * step)
            assert slope == pytest.approx(forces[atom, axis], rel=2e-5, abs=2e-3)
    simulation = Simulation(system, state, device="cpu")
    assert relative_rms(simulation.forces(), forces) < 1e-5


def test_a_vacuum(dipeptide: tuple[Path, Path]) -> None:
    system, state = quiltmd.load(*dipeptide)
    assert state.box is None
    assert system.nonbonded == Nonbonded(method="no-cutoff")
    energy, forces = openmm_found(dipeptide, None)
    for far in (0.0, -7.3e3):  # and where the numbers of patches go around many times
        there = replace(state, positions=state.positions + far)
        simulation = Simulation(system, there, device="cpu")
        assert simulation.energies()["potential"] == pytest.approx(energy, rel=1e-6)
        assert relative_rms(simulation.forces(), forces) < 2e-6
    assert "polarisation" not in simulation.energies()


def test_a_vacuum_with_a_cutoff() -> None:
    """By pair lists, as in a periodic box, over more atoms than a list reaches."""
    rng = np.random.default_rng(1)
    grid = np.indices((9, 6, 5)).reshape(3, -1).T * 0.4
    a, b = lj_table(np.array([0.3]), np.array([0.5]))
    atoms = len(grid)
    system = quiltmd.System.of(
        np.full(atoms, 30.0), rng.normal(0, 0.3, atoms), np.zeros(atoms, np.int32), a, b
    )
    state = State.start(system, grid + rng.normal(0, 0.03, grid.shape), None)
    nonbonded = Nonbonded(method="cutoff", cutoff=0.9)
    energies, forces = quiltmd.reference(system, state, nonbonded)
    for ranks in (1, 2):
        simulation = Simulation(system, state, nonbonded, device="cpu", ranks=ranks)
        assert simulation.energies()["potential"] == pytest.approx(energies["potential"], rel=1e-5)
        assert relative_rms(simulation.forces(), forces) < 2e-6


NVT = LangevinMiddle(300, 2.0, 0.002, seed=9, remove_com_every=10)
NVE = VelocityVerlet(0.001)


def digest(simulation: Any) -> str:
    found: str = quiltmd.digest(simulation.state())
    return found


@pytest.mark.parametrize("integrator", [NVT, NVE], ids=["nvt", "nve"])
def test_ranks_and_stops_do_not_matter(dipeptide: tuple[Path, Path], integrator: Any) -> None:
    system, state = quiltmd.load(*dipeptide, solvent=SOLVENTS[4], constraints="h-bonds")

    def begun(ranks: int) -> Any:
        simulation = Simulation(system, state, integrator=integrator, device="cpu", ranks=ranks)
        simulation.draw_velocities(300, 1)
        return simulation

    digests = set()
    for ranks in (1, 2, 3):
        simulation = begun(ranks)
        simulation.run(90)
        digests.add(digest(simulation))
    stopped = begun(2)
    stopped.run(37)
    restarted = Simulation(system, stopped.state(), integrator=integrator, device="cpu", ranks=3)
    restarted.run(53)
    digests.add(digest(restarted))
    assert len(digests) == 1


def test_atoms_that_spread_get_room() -> None:
    """The cell of the engine grows, at the same steps on any number of ranks and after a stop."""
    system, state = flying_apart(SOLVENTS[2])
    digests, patches = set(), set()
    for ranks in (1, 2, 3):
        simulation = Simulation(system, state, integrator=NVE, device="cpu", ranks=ranks)
        first = simulation.state().patches
        simulation.run(2000)
        digests.add(digest(simulation))
        patches.add(simulation.state().patches)
    (last,) = patches
    assert first is not None
    assert last is not None
    assert min(last) > max(first)
    exact, forces = quiltmd.reference(system, simulation.state())
    assert simulation.energies()["potential"] == pytest.approx(exact["potential"], rel=1e-5)
    assert relative_rms(simulation.forces(), forces) < 1e-5
    stopped = Simulation(system, state, integrator=NVE, device="cpu")
    stopped.run(1111)
    restarted = Simulation(system, stopped.state(), integrator=NVE, device="cpu", ranks=2)
    restarted.run(889)
    digests.add(digest(restarted))
    assert len(digests) == 1


def test_energy_is_conserved(dipeptide: tuple[Path, Path]) -> None:
    system, state = quiltmd.load(*dipeptide, solvent=SOLVENTS[4])
    simulation = Simulation(system, state, integrator=VelocityVerlet(0.0005), device="cpu")
    simulation.minimize(10.0, 100)
    simulation.draw_velocities(300, 2)
    simulation.run(100)
    begin = simulation.energies()["total"]
    ends = []
    for _ in range(10):
        simulation.run(200)
        ends.append(simulation.energies()["total"])
    assert np.abs(np.array(ends) - begin).max() < 0.5  # kJ/mol, of 60 kJ/mol kinetic energy


def test_minimisation_may_spread_atoms() -> None:
    system, state = cloud(ImplicitSolvent("hct"))
    squeezed = replace(
        system, charges=np.full(system.atoms, 1.0), lj_a=1e6 * system.lj_a, lj_b=0 * system.lj_b
    )
    simulation = Simulation(squeezed, state, device="cpu")
    before = simulation.energies()["potential"]
    found = simulation.minimize(1.0, 300)
    exact, _ = quiltmd.reference(squeezed, simulation.state())
    assert found["potential"] < before
    assert simulation.energies()["potential"] == pytest.approx(exact["potential"], rel=1e-5)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda s, x: Simulation(s, x, Nonbonded()), "PME needs a periodic box"),
        (
            lambda s, x: Simulation(s, x, Nonbonded(method="fmm"), device="cpu"),
            "fast multipole method cannot be combined with an implicit solvent",
        ),
        (
            lambda s, x: Simulation(
                s, replace(x, box=4 * np.eye(3)), Nonbonded(method="no-cutoff")
            ),
            "for systems without a periodic box",
        ),
        (
            lambda s, x: Simulation(s, replace(x, box=4 * np.eye(3)), Nonbonded(method="cutoff")),
            "implicit solvent cannot be used in a periodic box",
        ),
        (
            lambda s, x: Simulation(s, x, barostat=quiltmd.CellRescaling()),
            "a barostat needs a periodic box",
        ),
        (lambda s, x: Simulation(s, x).pressure(), "no volume"),
        (
            lambda s, x: Simulation(s, x).set_conditions(box=3 * np.eye(3)),
            "so its box cannot be changed",
        ),
        (
            lambda s, x: Simulation(s, x).set_state(replace(x, box=4 * np.eye(3))),
            "cannot be added or removed during a simulation",
        ),
        (lambda s, x: replace(s, born_radii=()), "no radii for implicit solvent"),
        (lambda s, x: replace(s, born_screening=()), "no screening factors"),
        (lambda s, x: replace(s, born_radii=s.born_radii[1:]), "are not those of all"),
        (lambda s, x: replace(s, born_radii=s.born_radii - 0.15), "needs more than 0.009 nm"),
        (
            lambda s, x: replace(s, solvent=ImplicitSolvent("gbn"), born_radii=0.5 * s.born_radii),
            "needs 0.1 to 0.2 nm",
        ),
        (lambda s, x: ImplicitSolvent("gb"), "model"),
        (lambda s, x: ImplicitSolvent(salt_concentration=-1), "salt_concentration"),
        (lambda s, x: ImplicitSolvent(salt_concentration=1e9), "salt_concentration"),
        (lambda s, x: ImplicitSolvent(dielectric=1e300), "dielectric"),
    ],
)
def test_refusals(dipeptide: tuple[Path, Path], make: Any, words: str) -> None:
    system, state = quiltmd.load(*dipeptide, solvent=ImplicitSolvent("obc2"))
    with pytest.raises((QuiltError, InputError), match=words):
        make(system, state)


# ---- Of OpenMM Systems -------------------------------------------------------------------------


def agrees_with(system: Any, topology: Any, positions: Any) -> quiltmd.System:
    read = quiltmd.System.from_openmm(system, topology)
    plain = np.array(positions.value_in_unit(unit.nanometer))
    energy, forces = energy_and_forces(system, positions)
    simulation = Simulation(read, State.start(read, plain, None), device="cpu")
    assert simulation.energies()["potential"] == pytest.approx(energy, rel=SAME_CONSTANT)
    assert relative_rms(simulation.forces(), forces) < 2e-6
    return read


@pytest.mark.parametrize("surface", ["ACE", None])
@pytest.mark.parametrize("salt", [0.0, 0.15])
@pytest.mark.parametrize("model", [*MODELS, None])
def test_systems_of_openmm(
    dipeptide: tuple[Path, Path], model: Any, salt: float, surface: Any
) -> None:
    prmtop = app.AmberPrmtopFile(str(dipeptide[0]))
    settings: Any = {"sasaMethod": surface, "implicitSolvent": MODELS[model]} if model else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        system = prmtop.createSystem(
            nonbondedMethod=app.NoCutoff, implicitSolventSaltConc=salt * unit.molar, **settings
        )
    places = app.AmberInpcrdFile(str(dipeptide[1])).positions
    read = agrees_with(system, prmtop.topology, places)
    if model is None:
        assert read.solvent is None
        return
    assert read.solvent is not None
    assert read.solvent.model == model
    assert read.solvent.salt_concentration == pytest.approx(salt, rel=1e-9)
    assert read.solvent.surface == ("ace" if surface else "none")


@pytest.mark.parametrize("salt", [0.0, 0.15])
@pytest.mark.parametrize("model", MODELS)
def test_systems_of_openmm_with_a_cutoff(
    dipeptide: tuple[Path, Path], model: str, salt: float
) -> None:
    """OBC2 without salt is a GBSAOBCForce, all others are a CustomGBForce."""
    prmtop = app.AmberPrmtopFile(str(dipeptide[0]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        system = prmtop.createSystem(
            nonbondedMethod=app.CutoffNonPeriodic,
            nonbondedCutoff=4.7 * unit.angstrom,
            implicitSolvent=MODELS[model],
            implicitSolventSaltConc=salt * unit.molar,
        )
    places = app.AmberInpcrdFile(str(dipeptide[1])).positions
    read = agrees_with(system, prmtop.topology, places)
    assert read.nonbonded is not None
    assert read.nonbonded.method == "cutoff"
    assert read.nonbonded.cutoff == pytest.approx(0.47, rel=1e-12)
    for force in system.getForces():
        if isinstance(force, (openmm.GBSAOBCForce, openmm.CustomGBForce)):
            force.setCutoffDistance(0.5)
    with pytest.raises(InputError, match="with the same cutoff"):
        quiltmd.System.from_openmm(system, prmtop.topology)


@pytest.mark.parametrize("model", MODELS)
def test_force_fields_of_openmm(dipeptide: tuple[Path, Path], model: str) -> None:
    """implicit/*.xml"""
    topology = app.AmberPrmtopFile(str(dipeptide[0])).topology
    files = ("amber14/protein.ff14SB.xml", f"implicit/{model}.xml")
    system = app.ForceField(*files).createSystem(topology, nonbondedMethod=app.NoCutoff)
    agrees_with(system, topology, app.AmberInpcrdFile(str(dipeptide[1])).positions)


def custom_force(system: Any) -> Any:
    return next(force for force in system.getForces() if isinstance(force, openmm.CustomGBForce))


def with_particle(force: Any, column: int, value: float) -> None:
    row = list(force.getParticleParameters(3))
    row[column] = value
    force.setParticleParameters(3, row)


def with_value(force: Any, which: int, old: str, new: str) -> None:
    name, text, kind = force.getComputedValueParameters(which)
    assert old in text
    force.setComputedValueParameters(which, name, text.replace(old, new), kind)


def with_term(force: Any, which: int, old: str, new: str) -> None:
    text, kind = force.getEnergyTermParameters(which)
    assert old in text
    force.setEnergyTermParameters(which, text.replace(old, new), kind)


def with_table(force: Any, which: int) -> None:
    table = force.getTabulatedFunction(which)
    across, down, values = table.getFunctionParameters()
    table.setFunctionParameters(across, down, [1.01 * value for value in values])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.setNonbondedMethod(1), "only the method NoCutoff"),
        (lambda f: with_particle(f, 0, 0.123), "charge is not that in NonbondedForce"),
        (lambda f: with_particle(f, 1, 0.13), "parameters are not those of gbn2"),
        (lambda f: with_particle(f, 2, 0.1), "parameters are not those of gbn2"),
        (lambda f: with_particle(f, 3, 0.9), "parameters are not those of gbn2"),
        (lambda f: with_particle(f, 5, 0.9), "parameters are not those of gbn2"),
        (lambda f: with_particle(f, 6, 1.0), "its table getd0 is not that"),
        (lambda f: with_value(f, 0, "neckCut=0.68", "neckCut=0.7"), "expressions are not"),
        (lambda f: with_value(f, 0, "0.826836", "0.8"), "expressions are not"),
        (lambda f: with_value(f, 1, "beta*psi^2", "beta*psi^3"), "expressions are not"),
        (lambda f: with_term(f, 0, "138.935485", "138.9"), "expressions are not"),
        (lambda f: with_term(f, 0, "=78.5", "=80"), "expressions are not"),
        (lambda f: with_term(f, 1, "0.14", "0.15"), "expressions are not"),
        (lambda f: with_term(f, 1, "offset=0.0195141", "offset=0.009"), "expressions are not"),
        (lambda f: f.addGlobalParameter("more", 1.0), "expressions are not"),
        (lambda f: f.addExclusion(0, 1), "expressions are not"),
        (lambda f: f.addEnergyTerm("B", f.SingleParticle), "expressions are not"),
        (lambda f: with_table(f, 0), "its table getd0 is not that"),
        (lambda f: with_table(f, 1), "its table getm0 is not that"),
    ],
)
def test_other_custom_forces_are_refused(
    dipeptide: tuple[Path, Path], change: Any, words: str
) -> None:
    prmtop = app.AmberPrmtopFile(str(dipeptide[0]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        system = prmtop.createSystem(
            nonbondedMethod=app.NoCutoff, implicitSolvent=app.GBn2, sasaMethod="ACE"
        )
    change(custom_force(system))
    with pytest.raises(InputError, match=words):
        quiltmd.System.from_openmm(system, prmtop.topology)


def test_other_dielectric_constants(dipeptide: tuple[Path, Path]) -> None:
    prmtop = app.AmberPrmtopFile(str(dipeptide[0]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        systems = [
            prmtop.createSystem(
                nonbondedMethod=app.NoCutoff, implicitSolvent=app.HCT, **{f"{kind}Dielectric": 4.0}
            )
            for kind in ("solvent", "solute")
        ]
    places = app.AmberInpcrdFile(str(dipeptide[1])).positions
    assert agrees_with(systems[0], prmtop.topology, places).solvent == ImplicitSolvent(
        "hct", dielectric=4.0, surface="ace"
    )
    with pytest.raises(InputError, match="soluteDielectric 4 is not supported, only 1"):
        quiltmd.System.from_openmm(systems[1], prmtop.topology)
