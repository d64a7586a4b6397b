# SPDX-License-Identifier: Apache-2.0
"""Places that terms refer to: without a box they are where they are, however far from the atoms."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from boxes import Array

import quiltmd
from quiltmd import Nonbonded, Restraint, Simulation, State, VelocityVerlet, apply_electric_field
from quiltmd.description.electric_field import ELECTRONVOLT

pytestmark = [
    pytest.mark.filterwarnings("ignore:there is no periodic box:quiltmd.QuiltWarning"),
    pytest.mark.filterwarnings("ignore:the forces of a field:quiltmd.QuiltWarning"),
]
K = 3.0  # kJ/mol/nm^2


def free_atoms(positions: Any, charges: Any = 0.0) -> tuple[Any, Array]:
    """Atoms of 20 amu that do not interact."""
    at = np.array(positions, dtype=float)
    charge = np.broadcast_to(np.array(charges, dtype=float), len(at))
    return quiltmd.System.of(np.full(len(at), 20.0), charge), at


def held(at: Array, places: Any, **restraint: Any) -> Any:
    system, _ = free_atoms(at)
    one = Restraint("position", "all", **({"k": K} | restraint))
    return quiltmd.restrain(system, [one], np.array(places, dtype=float), None)


def both(system: Any, state: State, **settings: Any) -> list[tuple[dict[str, float], Array]]:
    """Energies and forces of the reference and of an engine."""
    run = Simulation(system, state, device="cpu", **settings)
    return [quiltmd.reference(system, state), (run.energies(), run.forces())]


AT = [[0.1, -0.2, 0.3], [0.9, 0.4, -0.5]]


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("distance", [3.0, 5.0, 8.0, 31.0, -31.0])
@pytest.mark.parametrize("method", ["no-cutoff", "cutoff"])
def test_a_restraint_pulls_to_its_place(distance: float, method: Any, ranks: int) -> None:
    at = np.array(AT)
    places = at + np.array([distance, 0.5 * distance, -0.1])
    system = held(at, places)
    state = State.start(system, at, None)
    for energies, forces in both(system, state, nonbonded=Nonbonded(method=method), ranks=ranks):
        assert energies["restraint"] == pytest.approx(0.5 * K * ((places - at) ** 2).sum())
        np.testing.assert_allclose(forces, K * (places - at), rtol=1e-6)


def test_walls_far_away_and_axes_without_a_spring() -> None:
    at, places = np.array(AT), np.array(AT) + np.array([40.0, 0.0, 9.0])
    wall, layer = held(at, places, radius=1.0), held(at, places, k=(0.0, 0.0, K))
    expected = 0.5 * K * 2 * (np.hypot(40.0, 9.0) - 1.0) ** 2
    for energies, _ in both(wall, State.start(wall, at, None)):
        assert energies["restraint"] == pytest.approx(expected)
    state = State.start(layer, at, None)
    for energies, forces in both(layer, state):
        assert energies["restraint"] == pytest.approx(0.5 * K * 2 * 81.0)
        np.testing.assert_allclose(forces, np.tile([0, 0, 9.0 * K], (2, 1)), rtol=1e-6)
    # Where nothing holds it a coordinate may be anywhere.
    flown = State.start(layer, at + np.array([1e4, 0.0, 0.0]), None)
    assert Simulation(layer, flown, device="cpu").energies()["restraint"] == pytest.approx(243.0)


@pytest.mark.parametrize("ranks", [1, 2])
def test_atoms_leave_their_places_and_come_back(ranks: int) -> None:
    """An oscillator of 14 nm about its place, with energy conserved and the right period."""
    k, mass, speed = 0.5, 20.0, 2.2
    at = np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0]])
    system = held(at, at, k=k)
    velocities = np.array([[speed, 0.0, 0.0], [speed, 0.0, 0.0]])
    run = Simulation(
        system,
        State(at, velocities, None),
        integrator=VelocityVerlet(0.02),
        device="cpu",
        ranks=ranks,
    )
    omega = np.sqrt(k / mass)
    for steps in range(200, 1601, 200):
        run.run(200)
        expected = at[:, 0] + speed / omega * np.sin(omega * 0.02 * steps)
        np.testing.assert_allclose(run.positions()[:, 0], expected, atol=0.01)


def test_minimisation_finds_a_place_far_away() -> None:
    at = np.array(AT)
    system = held(at, at + np.array([6.0, -1.5, 0.0]), k=200.0)
    run = Simulation(system, State.start(system, at, None), device="cpu")
    run.minimize(1.0, 1500)
    np.testing.assert_allclose(run.positions(), at + np.array([6.0, -1.5, 0.0]), atol=0.01)


# ---- Constant forces ---------------------------------------------------------------------------

FIELD = np.array([0.3, -0.7, 1.1])  # V/nm


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("shift", [0.0, 0.001, -0.7, 60.0, -5000.0])
def test_the_energy_of_ions_in_a_field_is_that_of_their_coordinates(
    shift: float, ranks: int
) -> None:
    charges = np.array([1.0, -1.0, 2.0])
    plain, at = free_atoms([[0.0, 0.0, 0.0], [0.9, 0.4, -0.5], [-0.2, 0.6, 0.1]], charges)
    system = apply_electric_field(plain, tuple(FIELD))
    moved = at + np.array([shift, 0.0, -shift])
    expected = -ELECTRONVOLT * float((charges[:, None] * FIELD * moved).sum())
    for energies, forces in both(system, State.start(system, moved, None), ranks=ranks):
        assert energies["external"] == pytest.approx(expected, abs=1e-6)
        np.testing.assert_allclose(
            forces - quiltmd.reference(plain, State.start(plain, moved, None))[1],
            ELECTRONVOLT * charges[:, None] * FIELD,
            rtol=1e-5,
        )


def test_an_ion_that_a_field_drives_through_the_origin_keeps_its_energy() -> None:
    plain, at = free_atoms([[-0.4, 0.0, 0.0]], [1.0])
    system = apply_electric_field(plain, (0.2, 0.0, 0.0))
    run = Simulation(
        system, State.start(system, at, None), integrator=VelocityVerlet(0.005), device="cpu"
    )
    start = run.energies()["total"]
    for _ in range(6):
        run.run(200)
        assert run.energies()["total"] == pytest.approx(start, abs=1e-3)
    assert run.positions()[0, 0] > 10


# ---- Terms that are wider than half the box ------------------------------------------------------


def angle_of(at: Array) -> float:
    """Of three points the angle, of four the torsion."""
    b = np.diff(at, axis=0)
    if len(at) == 3:
        return float(np.arccos(-b[0] @ b[1] / np.linalg.norm(b[0]) / np.linalg.norm(b[1])))
    first, second = np.cross(b[0], b[1]), np.cross(b[1], b[2])
    return float(np.arctan2(first @ b[2] * np.linalg.norm(b[1]), first @ second))


@pytest.mark.filterwarnings("ignore:a cutoff of 0.6 nm is shorter:quiltmd.QuiltWarning")
@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("patch_reach", [1, 2])
@pytest.mark.parametrize(("kind", "count"), [("angle", 3), ("torsion", 4)])
def test_angles_and_torsions_wider_than_half_the_box(
    kind: Any, count: int, patch_reach: Any, ranks: int
) -> None:
    """Each atom is near the one before, by an image; the first and the last are not."""
    edge, settings = 3.2, Nonbonded(method="cutoff", cutoff=0.6)
    box = edge * np.eye(3)
    generator = np.random.default_rng(3)
    for _ in range(5):
        ways = generator.uniform(-0.45, 0.45, (count - 1, 3)) * edge
        ways[:, 0] = 0.3 * edge  # one after the other along x
        at = np.array([0.1, 0.2, 0.3]) + np.concatenate([np.zeros((1, 3)), np.cumsum(ways, axis=0)])
        system, _ = free_atoms(at)
        names = tuple(f"index {i + 1}" for i in range(count))
        made = quiltmd.restrain(system, [Restraint(kind, names, 40.0, angle=50.0)], at, box)
        off = (angle_of(at) - np.radians(50.0) + np.pi) % (2 * np.pi) - np.pi
        for image in (at, at % edge, at - 7 * edge):
            state = State.start(made, image, box)
            expected = quiltmd.reference(made, state, settings)
            run = Simulation(
                made, state, settings, device="cpu", ranks=ranks, patch_reach=patch_reach
            )
            assert expected[0]["restraint"] == pytest.approx(20.0 * off**2)
            assert run.energies()["restraint"] == pytest.approx(20.0 * off**2)
            np.testing.assert_allclose(run.forces(), expected[1], rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("ranks", [1, 3])
def test_distances_wider_than_half_a_skewed_box(ranks: int) -> None:
    """By the image that the reference takes, one of the two nearest of all: in the corners of a
    skewed cell the reduction along its edges may find the second."""
    edge, settings = 1.6, Nonbonded(method="cutoff", cutoff=0.6)
    octahedron = [[1.0, 0.0, 0.0], [-1 / 3, 8**0.5 / 3, 0.0], [1 / 3, 2**0.5 / 3, (2 / 3) ** 0.5]]
    box = edge * np.array(octahedron)
    lattice = np.array(list(itertools.product((-2, -1, 0, 1, 2), repeat=3))) @ box
    generator, wide = np.random.default_rng(4), 0
    for _ in range(12):
        at = np.array([[0.1, 0.2, 0.3], generator.uniform(0, 1, 3) @ box])
        distances = np.sort(np.linalg.norm(at[1] - at[0] + lattice, axis=1))
        spring = Restraint("distance", ("index 1", "index 2"), 300.0, upper=0.3)
        made = quiltmd.restrain(free_atoms(at)[0], [spring], at, box)
        state = State.start(made, at, box)
        run = Simulation(made, state, settings, device="cpu", ranks=ranks)
        energies, forces = quiltmd.reference(made, state, settings)
        stated = 150 * (distances - 0.3).clip(0) ** 2
        assert np.abs(stated[:2] - energies["restraint"]).min() < 1e-6
        assert run.energies()["restraint"] == pytest.approx(energies["restraint"], abs=1e-5)
        np.testing.assert_allclose(run.forces(), forces, rtol=1e-5, atol=1e-4)
        wide += distances[0] > box[2, 2] / 2
    assert wide >= 3
