# SPDX-License-Identifier: Apache-2.0
"""Virtual sites: where they are, and what the forces on them do, against OpenMM and differences."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import pytest
from boxes import (
    Array,
    constraint_error,
    digest,
    engine,
    lj_table,
    relative_rms,
    state_of,
    through_file,
)
from model_waters import MODELS, model_water
from openmm import unit

import quiltmd
from quiltmd import (
    CellRescaling,
    LangevinMiddle,
    MonteCarloBarostat,
    Nonbonded,
    Simulation,
    State,
    System,
    VelocityVerlet,
)
from quiltmd.description import sites
from quiltmd.description.overlaps import check_overlaps
from quiltmd.description.sites import Site, site_fields
from quiltmd.openmm.write import to_openmm, write_openmm_state
from quiltmd.running import runner
from quiltmd.running.config import build_config

SMALL = Nonbonded(cutoff=0.8, pme_order=5, pme_alpha=3.8, pme_grid=(45, 45, 45))


def of_openmm(made: Any, state: State) -> tuple[float, Array, Array]:
    """Energy, forces and positions of OpenMM's Reference, sites placed."""
    context = openmm.Context(
        made, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference")
    )
    context.setPeriodicBoxVectors(*state.box)
    context.setPositions(state.positions)
    context.computeVirtualSites()
    found = context.getState(getEnergy=True, getForces=True, getPositions=True)
    return (
        found.getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole),
        np.array(found.getForces(asNumpy=True)._value),
        np.array(found.getPositions(asNumpy=True)._value),
    )


def check_against_openmm(made: Any, system: System, simulation: Simulation) -> None:
    state = simulation.state()
    energy, forces, positions = of_openmm(made, state)
    np.testing.assert_allclose(state.positions, positions, atol=1e-14)
    assert simulation.energies()["potential"] == pytest.approx(energy, rel=1e-5)
    with_mass = system.masses > 0
    ours = simulation.forces()
    assert relative_rms(ours[with_mass], forces[with_mass]) < 2e-5
    assert np.all(ours[~with_mass] == 0)


@pytest.mark.parametrize("model", MODELS)
def test_water_models(model: str) -> None:
    """Energy, forces and places after some minimisation, which sites follow."""
    made, start = model_water(model, (6, 6, 6))
    system = System.from_openmm(made)
    simulation = Simulation(system, start, device="cpu", threads=2)
    before = simulation.energies()["potential"]
    simulation.minimize(300.0, 20)
    assert simulation.energies()["potential"] < 10 * before < 0
    assert constraint_error(system, simulation.state().positions) < 1e-5
    check_against_openmm(made, system, simulation)
    forces = quiltmd.reference(system, simulation.state(), system.nonbonded)[1]
    assert relative_rms(simulation.forces(), forces) < 2e-5


@pytest.mark.parametrize("model", MODELS)
def test_files_of_water_models_are_run(model: str, tmp_path: Path) -> None:
    """Sites that lie very near their parents are no overlapping atoms; two oxygens still are."""
    made, start = model_water(model, (6, 6, 6))
    system = System.from_openmm(made)
    (tmp_path / "system.xml").write_text(openmm.XmlSerializer.serialize(made))
    write_openmm_state(tmp_path / "state.xml", system, start)
    files = {"topology": tmp_path / "system.xml", "coordinates": tmp_path / "state.xml"}
    settings = {
        "system": files,
        "run": {"steps": 0, "device": "cpu"},
        "output": {"dir": tmp_path / "out"},
    }
    assert runner.start(build_config(settings)).step == 0
    oxygens = np.flatnonzero(system.masses > 10)
    places = start.positions.copy()
    places[oxygens[1]] = places[oxygens[0]] + 0.01
    first, second = (f"atom {oxygen + 1} " for oxygen in oxygens[:2])
    with pytest.raises(quiltmd.InputError, match=f"overlapping atoms: {first}.*{second}"):
        check_overlaps(system, State(places, start.velocities, start.box))


# ---- Single kinds ---------------------------------------------------------------------------

# Four atoms of a molecule, not in a plane, and ions around it.
ATOMS = np.array([[0.0, 0.0, 0.0], [0.13, 0.02, 0.0], [-0.05, 0.12, 0.01], [-0.04, -0.05, 0.11]])
BOX = 2.15 * np.eye(3)


def some_sites(rng: np.random.Generator) -> dict[str, Site]:
    """A site of each kind, atom 4, with random numbers."""
    a, b, c = rng.uniform(-0.5, 0.8, 3)
    three, four = rng.dirichlet(np.ones(3)), rng.normal(scale=0.3, size=(3, 4))
    four -= four.mean(axis=1)[:, None] - [[0.25], [0], [0]]
    place = tuple(rng.uniform(-0.06, 0.06, 3))
    return {
        "2": sites.average(4, (1, 0), (1 - a, a)),
        "3": sites.average(4, (0, 2, 1), three),
        "2fd": sites.at_distance(4, (0, 1), (-1, 1), 0.07),
        "3fd": sites.at_distance(4, (0, 1, 2), (-1, 1 - a, a), -0.06),
        "3fad": sites.at_angle(4, (0, 1, 2), 0.1, 2.0),
        "3out": sites.out_of_plane(4, (0, 1, 2), a, b, 8 * c),
        "4fdn": sites.above_plane(4, (0, 1, 2, 3), 0.7, 1.2, 0.08),
        "n": sites.average(4, (0, 1, 2, 3), four[0]),
        "local": Site(4, (0, 1, 2, 3), *four, place),
        "all": Site(4, (3, 1, 2, 0), *four, place, 4.0),
    }


KINDS = tuple(some_sites(np.random.default_rng(0)))


def molecule(site: Site, ions: int = 20, **changed: Any) -> tuple[System, State]:
    """Four bonded atoms with a charged site, and ions."""
    rng = np.random.default_rng(3)
    count = 5 + ions
    grid = (np.indices((3, 3, 3)).reshape(3, -1).T + 0.5) * 0.6
    around = grid[np.linalg.norm(grid - 0.9, axis=1) > 0.45][:ions]
    positions = np.concatenate([ATOMS + 0.9, [[0.9, 0.9, 0.9]], around])
    charges = np.concatenate([[-0.3, 0.2, 0.3, 0.3, -0.5], rng.permutation([1, -1] * (ions // 2))])
    bonds = np.array([[0, 1], [0, 2], [0, 3]])
    lengths = np.linalg.norm(ATOMS[bonds[:, 0]] - ATOMS[bonds[:, 1]], axis=1) - 0.002
    system = System.of(
        changed.pop("masses", np.concatenate([[12, 1, 14, 16, 0], np.full(ions, 23)])),
        charges,
        np.zeros(count),
        *lj_table(np.array([0.25]), np.array([0.4])),
        bonds=bonds,
        bond_parameters=np.column_stack([lengths, np.full(3, 3e5)]),
        exclusions=[[i, j] for j in range(5) for i in range(j)],
        **(site_fields([site]) | changed),
    )
    return system, State.start(system, positions, BOX)


def to_openmm_site(site: Site) -> Any:
    """The kind of OpenMM's that it is, if any."""
    first, more = site.parents, [list(w) for w in (site.origin, site.x, site.y)]
    if len(site.x) == 0 and len(first) == 2:
        return openmm.TwoParticleAverageSite(*first, *site.origin)
    if len(site.x) == 0 and len(first) == 3:
        return openmm.ThreeParticleAverageSite(*first, *site.origin)
    if site.cross and len(first) == 3:
        return openmm.OutOfPlaneSite(*first, *site.origin[1:], site.cross)
    return openmm.LocalCoordinatesSite(list(first), *more, openmm.Vec3(*site.local))


@pytest.mark.parametrize("kind", ["2", "3", "3out", "local", "3fad", "4fdn"])
@pytest.mark.parametrize("seed", [1, 2])
def test_kinds_of_openmm(kind: str, seed: int) -> None:
    site = some_sites(np.random.default_rng(seed))[kind]
    plain, state = molecule(site)
    made = to_openmm(
        replace(
            plain,
            sites=[],
            site_weights=[],
            site_offsets=[],
            masses=np.where(plain.masses == 0, 1, plain.masses),
        ),
        SMALL,
    )
    made.setParticleMass(4, 0)
    made.setVirtualSite(4, to_openmm_site(site))
    system = System.from_openmm(made)
    np.testing.assert_array_equal(system.sites, plain.sites)
    np.testing.assert_allclose(system.site_weights, plain.site_weights, atol=1e-15)
    check_against_openmm(made, system, Simulation(system, state, device="cpu"))


@pytest.mark.parametrize("kind", KINDS)
def test_written_for_openmm(kind: str) -> None:
    """Those that OpenMM has, whatever weights they are given by."""
    system, state = molecule(some_sites(np.random.default_rng(4))[kind])
    if kind in ("2fd", "all"):
        with pytest.raises(quiltmd.QuiltError, match=r"atom 5 .* cannot be written for OpenMM"):
            to_openmm(system, SMALL)
        return
    made = to_openmm(system, SMALL)
    check_against_openmm(made, system, Simulation(system, state, SMALL, device="cpu"))
    again = Simulation(System.from_openmm(made), state, SMALL, device="cpu")
    before = quiltmd.reference(system, state, SMALL)[0]["potential"]
    assert again.energies()["potential"] == pytest.approx(before, rel=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_forces_are_derivatives(kind: str) -> None:
    site = some_sites(np.random.default_rng(1))[kind]
    system, state = molecule(site)
    forces = Simulation(system, state, SMALL, device="cpu").forces()
    exact = quiltmd.reference(system, state, SMALL)[1]
    assert relative_rms(forces, exact) < 2e-5

    def energy(positions: Array) -> float:
        there = replace(state, positions=positions)
        return float(quiltmd.reference(system, there, SMALL)[0]["potential"])

    step = 1e-5
    for atom in range(4):
        for axis in range(3):
            move = np.zeros_like(state.positions)
            move[atom, axis] = step
            slope = energy(state.positions + move) - energy(state.positions - move)
            assert exact[atom, axis] == pytest.approx(-slope / (2 * step), rel=1e-5, abs=1e-3)


def test_places_are_those_of_gromacs() -> None:
    """As the reference manual has them."""
    rng = np.random.default_rng(1)
    a, b, c = rng.uniform(-0.5, 0.8, 3)
    i, j, k, m = ATOMS + 0.9
    ij, ik, jk = j - i, k - i, k - j
    across = jk - ij * (ij @ jk) / (ij @ ij)
    plane = ij + a * jk
    normal = np.cross(0.7 * ik - ij, 1.2 * (m - i) - ij)
    expected = {
        "2": (1 - a) * j + a * i,
        "2fd": i + 0.07 * ij / np.linalg.norm(ij),
        "3fd": i - 0.06 * plane / np.linalg.norm(plane),
        "3fad": i
        + 0.1 * np.cos(2.0) * ij / np.linalg.norm(ij)
        + 0.1 * np.sin(2.0) * across / np.linalg.norm(across),
        "3out": i + a * ij + b * ik + 8 * c * np.cross(ij, ik),
        "4fdn": i + 0.08 * normal / np.linalg.norm(normal),
    }
    for kind, place in expected.items():
        system, state = molecule(some_sites(np.random.default_rng(1))[kind])
        found = Simulation(system, state, SMALL, device="cpu").state().positions[4]
        np.testing.assert_allclose(found, place, atol=1e-14, err_msg=kind)


# ---- Runs -----------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["tip4pew", "tip5p"])
def water(request: pytest.FixtureRequest) -> tuple[System, State]:
    """Warm water in motion."""
    made, start = model_water(request.param, (8, 6, 6))
    system = replace(System.from_openmm(made), nonbonded=Nonbonded(cutoff=0.8))
    simulation = Simulation(system, start, integrator=LangevinMiddle(0.001, seed=2), device="cpu")
    simulation.minimize(300.0, 50)
    simulation.draw_velocities(300, 1)
    simulation.run(200)
    now = simulation.state()
    assert np.all(now.velocities[system.masses == 0] == 0)
    return system, State(now.positions, now.velocities, now.box)


def test_energy_is_conserved(water: tuple[System, State]) -> None:
    settings = Nonbonded(cutoff=0.8, pme_order=5, pme_tolerance=1e-5, potential_shift=True)
    simulation = Simulation(*water, settings, VelocityVerlet(0.001), device="cpu", threads=2)
    energies = []
    for _ in range(10):
        energies.append(simulation.energies())
        simulation.run(50)
    total = np.array([one["conserved"] for one in energies])
    potential = np.array([one["potential"] for one in energies])
    assert np.ptp(total) < 0.03 * np.ptp(potential)


INTEGRATORS: Any = {
    "nve": VelocityVerlet(0.002, remove_com_every=10),
    "nvt": LangevinMiddle(0.002, seed=5, remove_com_every=10),
    "nve-3": VelocityVerlet(0.001, long_range_every=3),
}


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_bits_do_not_depend_on_ranks_and_stops(
    water: tuple[System, State], integrator: str, tmp_path: Path
) -> None:
    """With lists whose buffer atoms leave, so that epochs are redone."""
    dynamics = INTEGRATORS[integrator]
    hasty: dict[str, Any] = {"list_life": 20, "list_buffer": 0.05}
    found = []
    for ranks, threads in ((1, 1), (1, 2), (2, 1), (3, 1)):
        core = engine(*water, integrator=dynamics, ranks=ranks, threads=threads, **hasty)
        core.run(48)
        assert core.describe()["early_rebuilds"] > 0
        found.append((digest(core), core.forces().tobytes(), core.energies()))
    assert all(one == found[0] for one in found)
    core = engine(*water, integrator=dynamics, **hasty)
    core.run(17)
    core = engine(
        water[0], through_file(state_of(core), tmp_path), integrator=dynamics, ranks=2, **hasty
    )
    core.run(31)
    assert digest(core) == found[0][0]


@pytest.mark.parametrize(
    "barostat",
    [CellRescaling(time_constant=0.5, seed=1), MonteCarloBarostat(every=10, seed=1)],
    ids=["c", "mc"],
)
def test_sites_follow_barostats(water: tuple[System, State], barostat: Any) -> None:
    system, start = water
    found = []
    for ranks in (1, 2):
        simulation = Simulation(
            *water,
            Nonbonded(cutoff=0.8),
            INTEGRATORS["nvt"],
            barostat=barostat,
            device="cpu",
            ranks=ranks,
        )
        simulation.run(60)
        found.append(simulation.state())
    assert quiltmd.digest(found[0]) == quiltmd.digest(found[1])
    now = found[0]
    assert np.abs(now.box - start.box).max() > 1e-6
    placed = Simulation(system, State(now.positions, now.velocities, now.box), device="cpu")
    np.testing.assert_allclose(now.positions, placed.state().positions, atol=1e-13)
    assert np.all(now.velocities[system.masses == 0] == 0)


def test_forces_within_the_system_cancel(water: tuple[System, State]) -> None:
    """Short-range forces are spread as integers: their sum stays zero."""
    core = engine(*water, Nonbonded(cutoff=0.8))
    core.forces()
    assert tuple(core.force_sum()) == (0, 0, 0)


def test_degrees_of_freedom(water: tuple[System, State]) -> None:
    system, state = water
    waters = int((system.masses > 10).sum())
    assert system.degrees_of_freedom == 6 * waters
    assert len(np.unique(system.molecules)) == waters
    core = engine(system, state, integrator=INTEGRATORS["nvt"])
    assert core.describe()["degrees_of_freedom"] == 6 * waters - 3
    simulation = Simulation(system, state, device="cpu")
    simulation.draw_velocities(300, 4)
    assert simulation.temperature() == pytest.approx(300, rel=0.1)


def test_rough_places_are_corrected(water: tuple[System, State]) -> None:
    """Places of sites in the input do not matter, nor their velocities, nor periodic images."""
    system, state = water
    site = system.masses == 0
    moved, pushed = state.positions.copy(), state.velocities.copy()
    moved[site] += np.random.default_rng(1).normal(scale=0.01, size=(site.sum(), 3))
    moved[np.flatnonzero(site)[::2]] += state.box[0]
    pushed[site] = 1.0
    rough = State.start(system, moved, state.box, pushed)
    found = Simulation(system, rough, device="cpu").state()
    np.testing.assert_allclose(found.positions, state.positions, atol=1e-13)
    np.testing.assert_array_equal(found.velocities, state.velocities)


def test_sites_follow_a_start_whose_constraints_are_broken(water: tuple[System, State]) -> None:
    """A minimisation restores lengths before anything else, and sites go along."""
    system, state = water
    positions = state.positions.copy()
    hydrogen = (system.masses > 0) & (system.masses < 2)
    positions[hydrogen] += 0.003
    simulation = Simulation(
        system, State(positions, state.velocities, state.box), SMALL, device="cpu"
    )
    simulation.minimize(1.0, 0)
    now = simulation.state()
    assert constraint_error(system, now.positions) < 1e-5
    placed = Simulation(system, State(now.positions, now.velocities, now.box), SMALL, device="cpu")
    np.testing.assert_allclose(now.positions, placed.state().positions, atol=1e-13)


def test_copies(water: tuple[System, State]) -> None:
    system, state = water
    twice, there = system.tile(2, 1, 1), state.tile(2, 1, 1)
    settings = Nonbonded(cutoff=0.8, method="cutoff", dispersion_correction=False)
    once = Simulation(system, state, settings, device="cpu").energies()["potential"]
    both = Simulation(twice, there, settings, device="cpu").energies()["potential"]
    assert both == pytest.approx(2 * once, rel=1e-5)


# ---- Refusals -------------------------------------------------------------------------------

SIMPLE = sites.average(4, (0, 1), (0.5, 0.5))


@pytest.mark.parametrize(
    ("site", "changed", "words"),
    [
        (SIMPLE, {"masses": [12, 1, 14, 16, 0.5]}, "atom 5 .* has a mass"),
        (SIMPLE, {"masses": [12, 1, 0, 16, 0]}, "atom 3 .* mass 0 and is no virtual site"),
        (
            sites.average(4, (0, 5), (0.5, 0.5)),
            {},
            "system.sites.0. is not an atom and one to 7 parents",
        ),
        (sites.average(4, (0, 1), (0.5, 0.6)), {}, "whose sum is not 1"),
        (sites.average(4, (0, 0), (0.5, 0.5)), {}, "names an atom twice"),
        (Site(4, (0, 1), (1, 0), (), (), (0.1, 0, 0)), {}, "in a direction that no weights"),
        (
            SIMPLE,
            {"constraints": [[0, 4]], "constraint_lengths": [0.1]},
            "a constraint acts on a virtual site",
        ),
    ],
)
def test_what_cannot_be(site: Site, changed: dict[str, Any], words: str) -> None:
    with pytest.raises(quiltmd.InputError, match=words):
        molecule(site, ions=0, **changed)


def test_sites_of_sites() -> None:
    system, _ = molecule(SIMPLE)
    both = [SIMPLE, sites.average(5, (0, 4), (0.5, 0.5))]
    masses = system.masses.copy()
    masses[5] = 0
    with pytest.raises(quiltmd.InputError, match=r"atom 6 .* is a virtual site itself: atom 5"):
        replace(system, masses=masses, **site_fields(both))


def test_parents_that_nothing_holds() -> None:
    system, state = molecule(sites.average(4, (0, 6), (0.5, 0.5)))
    with pytest.raises(quiltmd.QuiltError, match="no bonds or constraints connect atom"):
        Simulation(system, state, SMALL, device="cpu")


def test_a_site_in_a_large_group() -> None:
    """Eleven atoms: a chain of constraints, and the mean place of four of them."""
    chain = np.stack([np.arange(9), np.arange(1, 10)], axis=1)
    site = sites.average(10, (2, 4, 6, 8), (0.25, 0.25, 0.25, 0.25))
    zigzag = np.array([[0.1 * k, 0.06 * (k % 2), 0.03 * (k % 3)] for k in range(10)])
    positions = 1.5 + np.concatenate([zigzag, zigzag[2:9:2].mean(axis=0, keepdims=True)])
    lengths = np.linalg.norm(np.diff(zigzag, axis=0), axis=1)
    system = System.of(
        np.append(np.full(10, 12.0), 0),
        exclusions=[[i, j] for j in range(11) for i in range(j)],
        constraints=chain,
        constraint_lengths=lengths,
        **site_fields([site]),
    )
    state = State(positions, np.zeros((11, 3)), 6 * np.eye(3))
    ends = []
    for ranks in (1, 2):
        run = Simulation(
            system,
            state,
            Nonbonded(cutoff=0.6, method="cutoff", dispersion_correction=False),
            integrator=quiltmd.VelocityVerlet(0.002),
            device="cpu",
            ranks=ranks,
        )
        run.draw_velocities(300, seed=1)
        run.run(50)
        ends.append(run.state().positions)
    now = np.linalg.norm(np.diff(ends[0][:10], axis=0), axis=1)
    np.testing.assert_allclose(now, lengths, rtol=2e-8)
    np.testing.assert_allclose(ends[0][10], ends[0][2:9:2].mean(axis=0), atol=1e-6)
    assert np.abs(ends[0] - positions).max() > 0.02
    assert ends[0].tobytes() == ends[1].tobytes()


def test_unknown_kinds_of_openmm() -> None:
    made, _ = model_water("tip4pew", (3, 3, 3))
    if not hasattr(openmm, "SymmetrySite"):
        pytest.skip("this OpenMM has no kind that is not known")
    rows = (openmm.Vec3(1, 0, 0), openmm.Vec3(0, 1, 0), openmm.Vec3(0, 0, 1), openmm.Vec3(0, 0, 0))
    made.setVirtualSite(3, openmm.SymmetrySite(0, *rows, False))
    with pytest.raises(
        quiltmd.InputError, match=r"atom 4: .* supported are .*LocalCoordinatesSite"
    ):
        System.from_openmm(made)
