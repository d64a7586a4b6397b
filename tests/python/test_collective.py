# SPDX-License-Identifier: Apache-2.0
"""Collective restraints: OpenMM's energies and forces, virials, ranks, centres that move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import pytest
from boxes import Array
from collective_systems import of_water, restrained_water
from openmm_reference import energy_and_forces

import quiltmd
from quiltmd import LangevinMiddle, Nonbonded, QuiltError, Restraint, Simulation, State, System
from quiltmd.outputs.collective import CollectiveReporter

CUTOFF = Nonbonded(method="cutoff", cutoff=0.9, dispersion_correction=False)
BOX = np.array([[3.0, 0, 0], [0.4, 3.2, 0], [-0.3, 0.5, 3.4]])
SIZES = (14, 9, 11, 6)  # atoms of the groups A, B, C, D
STARTS = np.cumsum((0, *SIZES))
GROUPS = [range(a, b) for a, b in pairwise(STARTS)]


def named(group: int) -> str:
    return f"index {STARTS[group] + 1}-{STARTS[group + 1]}"


@pytest.fixture(scope="module")
def dust() -> tuple[System, Array]:
    """Particles that do not interact, in four clouds across the boundary of the box, whole."""
    rng = np.random.default_rng(7)
    masses = rng.uniform(1, 40, STARTS[-1])
    middles = np.array([[0.1, 0.0, 3.3], [0.9, 0.4, 3.1], [1.2, 1.3, 2.6], [0.6, 1.9, 2.9]])
    where = np.repeat(middles, SIZES, axis=0)
    return System.of(masses), where + rng.normal(0, 0.15, where.shape)


def scattered(positions: Array) -> State:
    """Each atom in another image of the box."""
    shifts = np.random.default_rng(3).integers(-2, 3, positions.shape)
    return State(positions=positions + shifts @ BOX, velocities=0 * positions, box=BOX)


A, B, C, D = map(named, range(4))
REFERENCE_NOISE = 0.1  # nm
RESTRAINTS = {
    "distance": Restraint("distance", (A, B), 900.0, lower=0.3, upper=0.5),
    "linear": Restraint("distance", (A, C), 900.0, upper=0.7, lower=0.5, linear=0.9),
    "distance of atom": Restraint("distance", ("index 1", D), 500.0, lower=1.0, weights="equal"),
    "angle": Restraint("angle", (A, B, C), 300.0, angle=50.0, width=5.0),
    "torsion": Restraint("torsion", (A, B, C, D), 200.0, angle=-170.0, width=10.0),
    "gyration": Restraint("gyration", A, 4000.0, upper=0.1),
    "rmsd": Restraint("rmsd", A, 5000.0, lower=0.3, weights="equal"),
    "coordination": Restraint("coordination", (A, B), 3.0, lower=12.0, contact=0.5),
}


def pairs_force(expression: str, pairs: Any, weights: Array | None) -> Any:
    force = openmm.CustomBondForce(expression)
    force.setUsesPeriodicBoundaryConditions(True)
    force.addPerBondParameter("w")
    for i, j in pairs:
        force.addBond(i, j, [1.0 if weights is None else float(weights[i] * weights[j])])
    return force


def centroids(expression: str, groups: list[Any], weights: list[float] | None = None) -> Any:
    force = openmm.CustomCentroidBondForce(len(groups), expression)
    force.setUsesPeriodicBoundaryConditions(True)
    for atoms in groups:
        if weights is None:
            force.addGroup(list(atoms))
        else:
            force.addGroup(list(atoms), weights[: len(atoms)])
    force.addBond(list(range(len(groups))), [])
    return force


def by_variable(expression: str, force: Any) -> Any:
    made = openmm.CustomCVForce(expression)
    made.addCollectiveVariable("q", force)
    return made


def theirs(name: str, system: System, reference: Array) -> Any:
    """OpenMM's force of a restraint."""
    a, b, c, d = GROUPS
    flat = "u=max(0, abs({q})-{width})"
    weights = system.masses[list(a)] / system.masses[list(a)].sum()
    rad = np.pi / 180
    turned = "d-6.283185307179586*floor(d/6.283185307179586+0.5)"
    contact = "1/(1+(r/0.5)^6)*w"
    forces: dict[str, Callable[[], Any]] = {
        "distance": lambda: centroids(
            f"450*u^2; {flat.format(q='distance(g1,g2)-0.4', width=0.1)}", [a, b]
        ),
        "linear": lambda: centroids(
            "900*s*(u-s/2); s=min(u,0.2); u=max(0, distance(g1,g2)-0.7)", [a, c]
        ),
        "distance of atom": lambda: centroids(
            "250*(distance(g1,g2)-1.0)^2", [[0], d], [1.0] * len(d)
        ),
        "angle": lambda: centroids(
            f"150*u^2; {flat.format(q=f'angle(g1,g2,g3)-{50 * rad}', width=5 * rad)}", [a, b, c]
        ),
        "torsion": lambda: centroids(
            f"100*u^2; {flat.format(q=turned, width=10 * rad)};"
            f"d=-dihedral(g1,g2,g3,g4)-{170 * rad}",
            [a, b, c, d],
        ),
        "gyration": lambda: by_variable(
            "2000*(sqrt(q)-0.1)^2", pairs_force("w*r^2", combinations(a, 2), weights)
        ),
        "rmsd": lambda: by_variable(
            "2500*(q-0.3)^2", openmm.RMSDForce(reference.tolist(), list(a))
        ),
        "coordination": lambda: by_variable(
            "1.5*(q-12)^2", pairs_force(contact, product(a, b), None)
        ),
    }
    return forces[name]()


def restrained(dust: tuple[System, Array], *names: str) -> tuple[System, Array]:
    """The system with restraints, and reference positions of those that have some."""
    system, positions = dust
    noise = np.random.default_rng(1).normal(0, REFERENCE_NOISE, positions.shape)
    reference = positions + noise
    restraints = [RESTRAINTS[name] for name in names]
    return quiltmd.restrain(system, restraints, scattered(reference).positions, BOX), reference


@pytest.mark.parametrize("name", RESTRAINTS)
def test_energies_and_forces_are_those_of_openmm(name: str, dust: tuple[System, Array]) -> None:
    system, reference = restrained(dust, name)
    made = openmm.System()
    for mass in system.masses:
        made.addParticle(float(mass))
    made.addForce(theirs(name, system, reference))
    made.setDefaultPeriodicBoxVectors(*BOX)
    energy, forces = energy_and_forces(made, dust[1])
    assert energy > 1
    state = scattered(dust[1])
    found, of_reference = quiltmd.reference(system, state, CUTOFF)
    assert found["restraint"] == pytest.approx(energy, rel=2e-6)
    size = np.abs(forces).max()
    assert of_reference == pytest.approx(forces, abs=5e-6 * size)
    simulation = Simulation(system, state, CUTOFF, device="cpu", ranks=1, threads=1)
    assert simulation.energies()["restraint"] == pytest.approx(found["restraint"], rel=1e-8)
    assert simulation.forces() == pytest.approx(of_reference, abs=1e-8 * size)
    (reading,) = simulation.collective().values()
    assert reading.energy == pytest.approx(energy, rel=2e-6)


def test_values_and_energy_are_those_of_gromacs(dust: tuple[System, Array]) -> None:
    """Umbrella potentials of the pull code of gmx 2022.5, with these atoms as origins."""
    restraints = [
        Restraint("distance", (A, B), 900.0, lower=0.3),
        Restraint("angle", (A, B, C), 300.0, angle=50.0),
        Restraint("torsion", (A, B, C, D), 200.0, angle=-170.0),
    ]
    origins = [f"index {atom}" for atom in (8, 19, 29, 37)]
    restraints = [replace(one, origin=tuple(origins[: len(one.select)])) for one in restraints]
    state = scattered(dust[1])
    system = quiltmd.restrain(dust[0], restraints, state.positions, BOX)
    found = Simulation(system, state, CUTOFF, device="cpu", ranks=1, threads=1)
    values = [reading.value for reading in found.collective().values()]
    assert values == pytest.approx([0.943062, 137.110, 39.9836], rel=4e-6)
    assert found.energies()["restraint"] == pytest.approx(1218.35, rel=1e-5)


@pytest.mark.parametrize("name", RESTRAINTS)
def test_virials_are_derivatives_by_strain(name: str, dust: tuple[System, Array]) -> None:
    system, _ = restrained(dust, name)
    state = scattered(dust[1])
    simulation = Simulation(system, state, CUTOFF, device="cpu", ranks=1, threads=1)
    virial = simulation.virial()
    numerical = np.zeros((3, 3))
    for i, j in product(range(3), repeat=2):
        energies = []
        for step in (1e-4, -1e-4):
            strain = np.eye(3)
            strain[i, j] += step / 2
            strain[j, i] += step / 2
            q, r = np.linalg.qr((BOX @ strain).T)  # back into reduced form
            rotation = q * np.sign(np.diagonal(r))
            box = np.tril(BOX @ strain @ rotation)
            moved = replace(state, positions=state.positions @ strain @ rotation, box=box)
            energies.append(quiltmd.reference(system, moved, CUTOFF)[0]["restraint"])
        numerical[i, j] = -(energies[0] - energies[1]) / 2e-4
    assert virial == pytest.approx(numerical, abs=2e-5 * np.abs(numerical).max())


@pytest.fixture(scope="module")
def water() -> tuple[System, State]:
    return restrained_water((8, 8, 8))


def steps(water: tuple[System, State], ranks: int, many: int = 60, **others: Any) -> Simulation:
    made = Simulation(
        *water,
        integrator=others.pop("integrator", LangevinMiddle(300.0, 1.0, seed=4)),
        device="cpu",
        ranks=ranks,
        threads=1,
        **others,
    )
    made.run(many)
    return made


def same(one: Simulation, other: Simulation) -> None:
    a, b = one.state(), other.state()
    assert np.array_equal(a.positions, b.positions)
    assert np.array_equal(a.velocities, b.velocities)
    assert one.collective() == other.collective()
    for term in ("potential", "kinetic", "restraint"):
        assert one.energies()[term] == other.energies()[term]


@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_ranks_do_not_matter(water: tuple[System, State], ranks: int) -> None:
    one = steps(water, 1)
    assert one.collective()["distance_1"].centre == pytest.approx(0.7 + 0.2 * 0.0)
    same(one, steps(water, ranks))
    assert one.energies()["restraint"] == pytest.approx(
        sum(reading.energy for reading in one.collective().values()), abs=1e-6
    )


def test_a_restart_goes_on_as_if_there_had_been_none(water: tuple[System, State]) -> None:
    barostat = quiltmd.CellRescaling(1.0, every=20, seed=6)
    whole = steps(water, 1, barostat=barostat)
    first = steps(water, 2, 33, barostat=barostat)
    again = steps(water, 3, 0, barostat=barostat)  # with the mesh of the first box
    again.set_state(first.state())
    again.run(27)
    same(whole, again)


def test_centres_are_conditions(water: tuple[System, State]) -> None:
    made = steps(water, 2, 30)
    made.set_conditions(centres={"angle_2": 90.0, "size": 0.35})
    assert made.collective()["angle_2"].centre == pytest.approx(90)
    made.run(30)
    restraints = [
        replace(one, angle=90.0) if one.kind == "angle" else one for one in of_water(water[1])
    ]
    restraints = [replace(one, upper=0.35) if one.name == "size" else one for one in restraints]
    bare = replace(water[0], collective=None)
    changed = quiltmd.restrain(bare, restraints, water[1].positions, water[1].box)
    other = steps((changed, steps(water, 1, 30).state()), 1, 30)
    assert np.array_equal(made.state().positions, other.state().positions)
    for wrong, text in (
        ({"distance_1": 1.0}, "follows a path"),
        ({"none": 1.0}, "no collective restraint 'none'"),
        ({"size": float("nan")}, "size"),
    ):
        with pytest.raises(QuiltError, match=text):
            made.set_conditions(centres=wrong)


def test_pulling_does_the_work_that_is_written(dust: tuple[System, Array], tmp_path: Path) -> None:
    """The conserved energy grows by the work, with which a file that is resumed goes on."""
    one = Restraint("distance", (A, B), 5000.0, path=((0.0, 0.9), (0.1, 0.5)), name="pull")
    state = scattered(dust[1])
    system = quiltmd.restrain(dust[0], [one], state.positions, BOX)
    integrator = quiltmd.VelocityVerlet(timestep=0.0005)
    made = Simulation(system, state, CUTOFF, integrator, device="cpu", ranks=1, threads=1)
    before = made.energies()["conserved"]
    path = tmp_path / "collective.csv"
    reporter = CollectiveReporter(path, 2, made)
    reporter.report(made)
    made.run(100, [reporter])
    reporter.sync()
    mark = reporter.mark()
    reporter.close()
    reporter = CollectiveReporter(path, 2, made, made.step, mark)
    made.run(100, [reporter])
    reporter.close()
    rows = np.genfromtxt(path, delimiter=",", names=True)
    assert len(rows) == 101
    assert rows["pull_centre"][-1] == pytest.approx(0.5)
    work = rows["pull_work"]
    assert work[-1] > 5
    gained = made.energies()["conserved"] - before
    assert gained == pytest.approx(work[-1], rel=2e-3)


def test_what_makes_no_sense_is_refused(dust: tuple[System, Array]) -> None:
    system, positions = dust
    refused: list[tuple[dict[str, Any], str]] = [
        ({"kind": "gyration", "select": "name XX", "lower": 1.0}, "no atoms"),
        ({"kind": "distance", "select": (A, "index 3-20"), "lower": 1.0}, "twice"),
        ({"kind": "distance", "select": (A, B)}, "lower, upper, or both"),
        ({"kind": "gyration", "select": (A, B), "lower": 1.0}, "1 selections, found 2"),
        ({"kind": "coordination", "select": (A, B), "lower": 1.0}, "contact"),
        ({"kind": "rmsd", "select": "index 1-2", "lower": 0.0}, "at least three"),
        ({"kind": "rmsd", "select": A, "lower": 0.0, "contact": 0.3}, "has no contact"),
        ({"kind": "distance", "select": (A, B), "path": ((1, 1), (1, 2))}, "ascend"),
        ({"kind": "angle", "select": (A, B, C), "path": ((0, 1), (1, 2)), "angle": 3}, "path"),
        ({"kind": "gyration", "select": A, "lower": 1.0, "origin": B}, "one atom of its group"),
        ({"kind": "gyration", "select": A, "lower": 1.0, "name": "a b"}, "name"),
    ]
    for settings, text in refused:
        with pytest.raises((QuiltError, ValueError), match=text):
            quiltmd.restrain(system, [Restraint(k=1.0, **settings)], positions, BOX)
    twice = [Restraint("gyration", A, 1.0, lower=1.0, name="same")] * 2
    with pytest.raises(QuiltError, match="two restraints have the name 'same'"):
        quiltmd.restrain(system, twice, positions, BOX)


def test_a_molecule_wider_than_half_the_box_is_refused() -> None:
    bonds = np.array([[i, i + 1] for i in range(19)])
    system = System.of(np.ones(20), bonds=bonds, bond_parameters=np.tile([0.2, 1000.0], (19, 1)))
    positions = np.outer(np.arange(20), [0.15, 0.0, 0.0])
    box = 3.2 * np.eye(3)
    one = Restraint("gyration", "all", 10.0, lower=1.0)
    assert quiltmd.restrain(system, [one], positions, box).collective is not None
    with pytest.raises(QuiltError, match="wider than half the box"):
        quiltmd.restrain(system, [replace(one, origin="index 2")], positions, box)
    massless = System.of(
        [1.0, 1.0, 0.0],
        sites=[[2, 0, 1, -1, -1, -1, -1, -1]],
        site_weights=[[[0.5, 0.5, *[0] * 5], [0] * 7, [0] * 7]],
        site_offsets=[[0.0] * 4],
    )
    with pytest.raises(QuiltError, match="has no mass"):
        quiltmd.restrain(massless, [one], positions[:3], box)
