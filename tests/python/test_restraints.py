# SPDX-License-Identifier: Apache-2.0
"""Restraints: from OpenMM's custom forces, by selections, in a box that changes, in runs."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import pytest
from boxes import engine, relative_rms, state_of, water_box
from model_waters import model_water
from test_convert import CHOSEN, by_openmm
from test_inputs_gromacs import BOX, gro, positions, write

import quiltmd
from quiltmd import InputError, QuiltError, Restraint, State, System, restrain
from quiltmd.description.restraints import Held
from quiltmd.inputs import describe
from quiltmd.openmm.write import to_openmm
from quiltmd.running import stages
from quiltmd.running.config import build_config, read_config
from quiltmd.running.identity import provenance_of, refuse_changes

pytestmark = pytest.mark.filterwarnings("ignore:the system has a net charge:quiltmd.QuiltWarning")

CELL = BOX * np.eye(3)


@pytest.fixture
def molecule(tmp_path: Path) -> tuple[System, State]:
    system = describe(write(tmp_path), defines=["CMAP"]).system
    return system, State.start(system, positions(), CELL)


def bare(molecule: tuple[System, State]) -> Any:
    """The molecule for OpenMM, and places beside those of its atoms."""
    system, state = molecule
    return to_openmm(system, CHOSEN), state.positions + np.array([0.03, -0.02, 0.05])


def external(expression: str, k: float | None, places: Any, radius: bool) -> Any:
    """A CustomExternalForce on every third atom; with k as a global parameter, if given."""
    force = openmm.CustomExternalForce(expression)
    names = [*(["k"] if k is None else []), "x0", "y0", "z0", *(["r0"] if radius else [])]
    for name in names:
        force.addPerParticleParameter(name)
    if k is not None:
        force.addGlobalParameter("k", k)
    for atom in range(0, len(places), 3):
        row = [*([500.0 + atom] if k is None else []), *places[atom], *([0.04] if radius else [])]
        force.addParticle(atom, row)
    return force


DISTANCE = "periodicdistance(x, y, z, x0, y0, z0)"


@pytest.mark.parametrize(
    ("expression", "k"),
    [
        (f"k*{DISTANCE}^2", None),
        (f"0.5*k*{DISTANCE}^2;", 700.0),
        (f"(k/2) * {DISTANCE}^2", None),
        ("k*((x-x0)^2+(y-y0)^2+(z-z0)^2)", 900.0),
        (f"0.5*k*max(0, {DISTANCE}-r0)^2", None),
        (f"1000*{DISTANCE}^2", 1.0),
    ],
)
def test_positions_as_openmm_holds_them(
    expression: str, k: float | None, molecule: tuple[System, State]
) -> None:
    made, places = bare(molecule)
    made.addForce(external(expression, k, places, "r0" in expression))
    compare(made, molecule)


def compare(made: Any, molecule: tuple[System, State]) -> System:
    """OpenMM's energy and forces are ours, and the restraints are part of them."""
    read = System.from_openmm(made)
    energies, forces = quiltmd.reference(read, molecule[1], CHOSEN)
    theirs = by_openmm(made, molecule[1])
    assert theirs[0] == pytest.approx(energies["potential"], rel=1e-6)
    assert relative_rms(forces, theirs[1]) < 1e-6
    assert energies.get("restraint", 0.0) > 1.0
    simulation = quiltmd.Simulation(read, molecule[1], CHOSEN, device="cpu")
    assert simulation.energies()["restraint"] == pytest.approx(energies["restraint"])
    return read


@pytest.mark.parametrize(
    "expression",
    [
        "0.5*k*(r-r0)^2",
        "k*(r-r0)^2",
        "k*max(0, r-r0)^2",
        "k*max(0, r0-r)^2",
        "k/2*step(r-r0)*(r-r0)^2",
    ],
)
def test_distances_as_openmm_holds_them(expression: str, molecule: tuple[System, State]) -> None:
    made, _ = bare(molecule)
    force = openmm.CustomBondForce(expression)
    force.setUsesPeriodicBoundaryConditions(True)
    force.addPerBondParameter("r0")
    force.addGlobalParameter("k", 400.0)
    x = molecule[1].positions
    for i, j in ((0, 9), (2, 12), (4, 7)):
        factor = 1.2 if "r0-r)" in expression else 0.8
        force.addBond(i, j, [float(factor * np.linalg.norm(x[i] - x[j]))])
    made.addForce(force)
    compare(made, molecule)
    between = openmm.CustomBondForce(expression)
    between.addPerBondParameter("r0")
    between.addGlobalParameter("k", 400.0)
    between.addBond(0, len(x) - 1, [0.5])
    made.addForce(between)
    with pytest.raises(InputError, match="different molecules"):
        System.from_openmm(made)


def test_torsions_as_openmm_holds_them(molecule: tuple[System, State]) -> None:
    made, _ = bare(molecule)
    for expression in ("k*(1-cos(theta-theta0))", "k*(theta-theta0)^2"):
        force = openmm.CustomTorsionForce(expression)
        force.addPerTorsionParameter("k")
        force.addGlobalParameter("theta0", 0.0)
        force.addTorsion(0, 1, 2, 3, [35.0])
        made.addForce(force)
    read = System.from_openmm(made)
    energies, forces = quiltmd.reference(read, molecule[1], CHOSEN)
    theirs = by_openmm(made, molecule[1])
    assert theirs[0] == pytest.approx(energies["potential"], rel=1e-6)
    assert relative_rms(forces, theirs[1]) < 1e-6
    made.getForce(made.getNumForces() - 1).setGlobalParameterDefaultValue(0, 3.1)
    with pytest.raises(InputError, match="its energy jumps at 180 degrees"):
        System.from_openmm(made)


RESTRAINTS = (
    Restraint("position", "index 1-6", 300.0),
    Restraint("position", "index 8", (100.0, 0.0, 40.0)),
    Restraint("position", "index 9", 800.0, radius=0.02),
    Restraint("distance", ("index 1", "index 12"), 500.0, lower=0.2, upper=0.3),
    Restraint("distance", ("index 2", "index 31"), 50.0, upper=0.4, linear=0.5),
    Restraint("angle", ("index 1", "index 5", "index 9"), 40.0, angle=70.0, width=5.0),
    Restraint("torsion", ("index 1", "index 5", "index 9", "index 11"), 30.0, angle=200.0),
)


def energy_of(system: System, state: State) -> float:
    return float(quiltmd.reference(system, state, CHOSEN)[0]["restraint"])


@pytest.mark.parametrize("scaling", ["com", "all", "none"])
def test_by_selections(scaling: Any, molecule: tuple[System, State]) -> None:
    """Energies by hand; in a stretched box, the places are where they should be."""
    system, state = molecule
    shifted = np.array([0.06, 0.01, -0.03])
    held = restrain(system, RESTRAINTS[:3], state.positions + shifted, state.box, scaling)
    square = shifted @ shifted
    beyond = np.sqrt(square) - 0.02
    by_hand = 0.5 * (6 * 300 * square + 100 * 0.06**2 + 40 * 0.03**2 + 800 * beyond**2)
    assert energy_of(held, state) == pytest.approx(by_hand)

    stretch = np.array([1.02, 1.0, 0.98])
    atoms = np.array([0, 1, 2, 3, 4, 5, 7, 8])
    places = state.positions[atoms] + shifted
    masses = system.masses[atoms]
    moved = {
        "com": places + (masses @ places / masses.sum()) * (stretch - 1),
        "all": places * stretch,
        "none": places,
    }[scaling]
    x = state.positions.copy()
    x[atoms] = moved
    there = State(x, state.velocities, state.box * stretch)
    assert energy_of(held, there) == pytest.approx(0, abs=1e-9)


def test_selections_that_cannot_be(molecule: tuple[System, State]) -> None:
    system, state = molecule
    for one, words in (
        (Restraint("distance", ("index 1-2", "index 2"), 1.0, upper=1.0), "twice"),
        (Restraint("distance", ("index 1", "index 1"), 1.0, upper=1.0), "twice"),
        (Restraint("position", "resname NONE", 1.0), "has no atoms"),
    ):
        with pytest.raises(QuiltError, match=rf"restraint 1: .*{words}"):
            restrain(system, [one], state.positions, state.box)
    with pytest.raises(QuiltError, match="restraints must be a list, not Restraint: put it in"):
        restrain(system, RESTRAINTS[0], state.positions, state.box)
    for wrong, words in (
        ({"kind": "angle", "select": ("a", "b", "c"), "k": 1.0}, "needs an angle"),
        ({"kind": "position", "select": "all", "k": 1.0, "upper": 1.0}, "has no upper"),
        ({"kind": "torsion", "select": "all", "k": 1.0, "angle": 0.0}, "needs 4 selections"),
        ({"kind": "position", "select": "all", "k": -1.0}, "negative"),
        ({"kind": "distance", "select": ("a", "b"), "k": 1.0}, "needs lower, upper"),
        (
            {"kind": "distance", "select": ("a", "b"), "k": 1.0, "lower": 2.0, "upper": 1.0},
            "ascend",
        ),
    ):
        with pytest.raises(QuiltError, match=words):
            Restraint(**wrong)  # type: ignore[arg-type]


def test_bits_do_not_depend_on_ranks() -> None:
    """Of restrained dynamics, with atoms of a restraint half a box apart."""
    system, state = water_box((7, 7, 7), seed=2)
    last = system.atoms
    middle = 3 * 171 + 1
    restraints = [
        Restraint("position", f"index 1-{last // 2}", 500.0),
        Restraint("distance", ("index 1", f"index {middle}"), 100.0, upper=0.8, linear=0.9),
        Restraint("torsion", ("index 1", "index 4", "index 7", "index 10"), 50.0, angle=30.0),
    ]
    held = restrain(system, restraints, state.positions, state.box)
    settings = quiltmd.Nonbonded(cutoff=0.9)
    found = []
    for ranks in (1, 3):
        core = engine(
            held,
            state,
            settings,
            quiltmd.VelocityVerlet(timestep=0.0005),
            ranks=ranks,
            patch_reach=1,
        )
        core.run(20)
        found.append(quiltmd.digest(state_of(core)))
    assert found[0] == found[1]


def test_what_openmm_is_given(molecule: tuple[System, State]) -> None:
    system, state = molecule
    simple = [RESTRAINTS[0], RESTRAINTS[2], RESTRAINTS[3]]
    held = restrain(system, simple, state.positions + 0.04, state.box)
    energies, forces = quiltmd.reference(held, state, CHOSEN)
    theirs = by_openmm(to_openmm(held, CHOSEN, state.box), state)
    assert theirs[0] == pytest.approx(energies["potential"], rel=1e-6)
    assert relative_rms(forces, theirs[1]) < 1e-6
    again = System.from_openmm(to_openmm(held, CHOSEN, state.box))
    assert energy_of(again, state) == pytest.approx(energies["restraint"])
    for one in (RESTRAINTS[1], RESTRAINTS[4], RESTRAINTS[5]):
        with pytest.raises(QuiltError, match="cannot be written for OpenMM"):
            to_openmm(restrain(system, [one], state.positions, state.box), CHOSEN, state.box)


def test_configurations(tmp_path: Path) -> None:
    """All kinds of restraints, as they are read, written and read again, in stages too."""
    path, conf = write(tmp_path), tmp_path / "conf.gro"
    conf.write_text(gro(positions(), describe(path).system.topology.atom_names))
    (tmp_path / "run.toml").write_text(
        f"""
        [system]
        topology = "{path.name}"
        coordinates = "conf.gro"
        reference = "conf.gro"
        constraints = "none"
        [integrator]
        timestep = 0.0001
        [run]
        steps = 3
        device = "cpu"
        [output]
        dir = "out"
        log_terms = true
        [[restraint]]
        kind = "position"
        select = "resname ALA"
        k = [1000, 1000, 0]
        [[restraint]]
        kind = "distance"
        select = ["index 1", "index 12"]
        upper = 0.3
        k = 1000
        [[stage]]
        name = "held"
        [[stage]]
        name = "softer"
        [[stage.restraint]]
        kind = "position"
        select = "resname ALA"
        k = 10
        [[stage]]
        name = "free"
        restraint = []
        """
    )
    stages.start(read_config(tmp_path / "run.toml"))
    found = []
    for name in ("1-held", "2-softer", "3-free"):
        folder = tmp_path / "out" / name
        config = build_config(read_config(folder / "config.toml"))
        assert config.input_files()["reference"] == conf
        with (folder / "log.csv").open() as log:
            row = next(csv.DictReader(log))
        found.append((len(config.restraint), float(row.get("restraint") or 0)))
    assert [count for count, _ in found] == [2, 1, 0]
    assert found[0][1] > found[1][1] > found[2][1] == 0
    settings = read_config(tmp_path / "out" / "1-held" / "config.toml")
    changed = build_config({**settings, "restraint": settings["restraint"][:1]})
    at = State(positions(), np.zeros_like(positions()), CELL)
    before, now = (provenance_of(config, at) for config in (build_config(settings), changed))
    with pytest.raises(QuiltError, match=r"changed restraint.2 \(was .*upper"):
        refuse_changes(before, now, "begin another run")


def held_water() -> tuple[System, State]:
    """Water of which every third molecule is held, rather far from where it is."""
    system, state = water_box((6, 6, 6), seed=3, spacing=0.32)
    restraints = [
        Restraint("position", "index 1-200", 3000.0),
        Restraint("position", "index 201-300", 5000.0, radius=0.03),
        Restraint("distance", ("index 400", "index 500"), 2000.0, upper=0.2),
    ]
    return restrain(system, restraints, state.positions + 0.1, state.box), state


@pytest.mark.parametrize("ranks", [1, 2])
def test_strength_is_a_condition(ranks: int) -> None:
    """Forces follow at once, and stay so when the engine gets another state."""
    system, state = held_water()
    free = quiltmd.Simulation(water_box((6, 6, 6), seed=3, spacing=0.32)[0], state, device="cpu")
    held = quiltmd.Simulation(system, state, device="cpu", ranks=ranks)
    without, whole = free.forces(), held.forces()
    energy = held.energies()["restraint"]
    for strength in (0.25, 0.0, 2.0):
        held.set_conditions(restraints=strength)
        assert held.restraint_strength == strength
        assert held.energies()["restraint"] == pytest.approx(strength * energy)
        expected = without + strength * (whole - without)
        assert relative_rms(held.forces(), expected) < 1e-6
    held.set_state(State(state.positions + 0.01, state.velocities, 1.01 * state.box))
    twice = held.energies()["restraint"]
    held.set_conditions(restraints=1.0)
    assert twice == pytest.approx(2 * held.energies()["restraint"])
    for wrong in (-1.0, float("nan")):
        with pytest.raises(QuiltError, match=r"restraints|finite"):
            held.set_conditions(restraints=wrong)


@pytest.mark.parametrize("scaling", ["com", "all", "none"])
def test_the_virial_is_minus_the_slope_of_the_energy(scaling: Any) -> None:
    """By the box: molecules move by their centres of mass, places as their scaling says."""
    water, state = water_box((6, 6, 6), seed=3, spacing=0.32)
    places = state.positions + np.array([0.1, -0.05, 0.02])
    restraints = [Restraint("position", "index 1-200", (3000.0, 1000.0, 0.0))]
    held = restrain(water, restraints, places, state.box, scaling)

    def simulations(box: Any) -> list[quiltmd.Simulation]:
        pair = [quiltmd.Simulation(one, state, CHOSEN, device="cpu") for one in (held, water)]
        for one in pair:
            one.set_conditions(box=box)
        return pair

    strain = 1e-5
    with_restraints, without = simulations(state.box)
    tensor = np.asarray(with_restraints.virial()) - np.asarray(without.virial())
    for axis in range(3):
        energies = []
        for sign in (1, -1):
            box = state.box * (1 + sign * strain * (np.arange(3) == axis))
            energies.append(simulations(box)[0].energies()["restraint"])
        slope = (energies[0] - energies[1]) / (2 * strain)
        assert tensor[axis, axis] == pytest.approx(-slope, rel=1e-4, abs=0.2)


def test_at_constant_pressure() -> None:
    """The places follow the box on every rank alike."""
    system, state = water_box((6, 6, 6), seed=3, spacing=0.32)
    held = restrain(
        system, [Restraint("position", "index 1-300", 2000.0)], state.positions, state.box
    )
    found = []
    for ranks in (1, 2):
        simulation = quiltmd.Simulation(
            held,
            state,
            quiltmd.Nonbonded(cutoff=0.8),
            quiltmd.LangevinMiddle(timestep=0.0005, seed=4),
            barostat=quiltmd.CellRescaling(time_constant=0.5, every=5, seed=5),
            device="cpu",
            ranks=ranks,
        )
        simulation.run(40)
        found.append(simulation.state())
    assert quiltmd.digest(found[0]) == quiltmd.digest(found[1])
    assert not np.allclose(found[0].box, state.box, rtol=1e-6)


@pytest.mark.parametrize("scaling", ["com", "all", "none"])
def test_only_virtual_sites_are_held(scaling: Any) -> None:
    """Whose masses say nothing of where they are: their mean is what follows the box."""
    made, start = model_water("tip4pew", (3, 3, 3))
    system = System.from_openmm(made)
    restraint = Restraint("position", "index 4 8", 100.0)
    held = restrain(system, [restraint], start.positions, start.box, scaling)
    moved = replace(start, positions=start.positions + np.array([0.1, 0.0, 0.0]))
    nonbonded = quiltmd.Nonbonded(method="cutoff", cutoff=0.4)
    energies = quiltmd.reference(held, moved, nonbonded)[0]
    assert energies["restraint"] == pytest.approx(2 * 100 / 2 * 0.1**2)


@pytest.mark.parametrize("constants", [(-10.0, 0.0, 0.0), (-10.0, 5.0, 20.0), (-1.0, -2.0, -3.0)])
def test_negative_constants_are_never_left_out(
    constants: tuple[float, ...], molecule: tuple[System, State]
) -> None:
    system, state = molecule
    with pytest.raises(InputError, match="which is negative"):
        restrain(system, [], state.positions, state.box, held=Held.by_axes([0], [constants]))
