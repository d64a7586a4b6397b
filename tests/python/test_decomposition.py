# SPDX-License-Identifier: Apache-2.0
"""Every pair within the cutoff counts exactly once, whatever the box and however many ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from boxes import COULOMB, Array, engine, lj_table, random_box, relative_rms, water_box
from hypothesis import given, settings
from hypothesis import strategies as st

import quiltmd
from quiltmd import Nonbonded, State, VelocityVerlet

CUTOFF = 0.6
PLAIN = Nonbonded(cutoff=CUTOFF, method="cutoff", dispersion_correction=False)


def pairs_within(positions: Array, box: Array, cutoff: float) -> tuple[Any, Any, Array]:
    """i, j and vectors from j to i of all pairs and images within the cutoff, by brute force."""
    i, j = np.triu_indices(len(positions), 1)
    shifts = (np.indices((5, 5, 5)).reshape(3, -1).T - 2) @ box
    vectors = positions[i] - positions[j]
    vectors -= np.floor(vectors @ np.linalg.inv(box) + 0.5) @ box
    images = vectors[:, None] + shifts
    which, image = np.nonzero(np.sum(images**2, axis=2) < cutoff**2)
    return i[which], j[which], images[which, image]


def brute_force(system: Any, positions: Array, box: Array) -> tuple[float, float, Array]:
    """Lennard-Jones energy, Coulomb energy and forces with a plain cutoff."""
    i, j, d = pairs_within(positions, box, CUTOFF)
    r = np.linalg.norm(d, axis=1)
    types = system.lj_types
    a, b = system.lj_a[types[i], types[j]], system.lj_b[types[i], types[j]]
    qq = COULOMB * system.charges[i] * system.charges[j]
    slope = (12 * a / r**14 - 6 * b / r**8 + qq / r**3)[:, None] * d
    forces = np.zeros_like(positions)
    np.add.at(forces, i, slope)
    np.add.at(forces, j, -slope)
    return float(np.sum(a / r**12 - b / r**6)), float(np.sum(qq / r)), forces


def scattered(rng: np.random.Generator, box: Array, atoms: int, apart: float = 0.22) -> Array:
    """Points in the cell that keep a distance; then moved by whole cells, some of them far."""
    points: list[Array] = []
    inverse = np.linalg.inv(box)
    for _ in range(40 * atoms):
        point = rng.random(3) @ box
        d = np.array(points).reshape(-1, 3) - point
        d -= np.floor(d @ inverse + 0.5) @ box
        if len(points) == 0 or np.sum(d**2, axis=1).min() > apart**2:
            points.append(point)
        if len(points) == atoms:
            break
    found = np.array(points)
    return found + rng.integers(-3, 4, found.shape) @ box


def gas(rng: np.random.Generator, atoms: int, mixing: bool) -> Any:
    """Charged atoms of two kinds; `mixing` tells whether Lorentz-Berthelot rules hold."""
    a, b = lj_table(np.array([0.22, 0.3]), np.array([0.4, 0.2]))
    if not mixing:
        a = a * np.array([[1, 1.7], [1.7, 1]])
    return quiltmd.System.of(
        rng.uniform(10, 20, atoms), rng.normal(size=atoms), rng.integers(0, 2, atoms), a, b
    )


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    width=st.floats(1.21, 3.5),
    skew=st.sampled_from([0.0, 0.7, 1.0]),
    atoms=st.integers(1, 260),
    ranks=st.integers(1, 9),
    patch_reach=st.sampled_from([1, 2, "x", "xy"]),
    mixing=st.booleans(),
)
def test_every_pair_counts_once(
    seed: int, width: float, skew: float, atoms: int, ranks: int, patch_reach: Any, mixing: bool
) -> None:
    """No two pairs have the same charges and distance, so a pair lost or doubled shows."""
    rng = np.random.default_rng(seed)
    box = random_box(rng, width, skew)
    positions = scattered(rng, box, atoms)
    system = gas(rng, len(positions), mixing)
    state = State(positions, np.zeros_like(positions), box)
    core = engine(system, state, PLAIN, ranks=ranks, patch_reach=patch_reach, list_buffer=0.05)
    lj, coulomb, forces = brute_force(system, positions, box)
    scale = 1e-6 * (1 + np.abs(forces).sum())
    energies = core.energies()
    assert energies["lj"] == pytest.approx(lj, rel=2e-6, abs=1e-3 * scale + 1e-5)
    assert energies["coulomb"] == pytest.approx(coulomb, rel=2e-6, abs=scale + 1e-5)
    found = core.forces()
    assert np.abs(found - forces).max() <= 2e-5 * max(1.0, float(np.abs(forces).max()))
    assert core.force_sum() == (0, 0, 0)
    if ranks > 1:
        alone = engine(system, state, PLAIN, patch_reach=patch_reach, list_buffer=0.05)
        assert alone.energies() == energies
        assert (alone.forces() == found).all()


@settings(max_examples=10, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    ranks=st.integers(2, 6),
    patch_reach=st.sampled_from([1, 2, "x", "xy"]),
)
def test_moving_atoms_are_never_lost(seed: int, ranks: int, patch_reach: Any) -> None:
    """Hot atoms that cross patches: all are still there, and where one rank has them."""
    rng = np.random.default_rng(seed)
    box = random_box(rng, 1.9)
    positions = scattered(rng, box, 120)
    system = gas(rng, len(positions), mixing=True)
    velocities = rng.normal(size=positions.shape)
    state = State(positions, velocities - velocities.mean(axis=0), box)
    runs = []
    for count in (1, ranks):
        core = engine(
            system,
            state,
            PLAIN,
            VelocityVerlet(0.0005),
            ranks=count,
            patch_reach=patch_reach,
            list_life=4,
        )
        core.run(30)
        runs.append(core.state())
    assert (runs[0]["positions"] == runs[1]["positions"]).all()
    assert (runs[0]["velocities"] == runs[1]["velocities"]).all()


def ions(scale: float = 1.0) -> tuple[Any, Any]:
    """64 ions near a grid of 0.6 nm."""
    rng = np.random.default_rng(1)
    grid = np.indices((4, 4, 4)).reshape(3, -1)
    charges = np.where(grid.sum(axis=0) % 2, 1.0, -1.0)
    a, b = lj_table(np.array([0.25, 0.44]), np.array([0.36, 0.42]))
    system = quiltmd.System.of(np.full(64, 30.0), scale * charges, (charges < 0).astype(int), a, b)
    state = State(
        grid.T * 0.6 + rng.normal(size=(64, 3)) * 0.03, np.zeros((64, 3)), np.eye(3) * 2.4
    )
    return system, state


def in_box(made: tuple[Any, Any], box: Any) -> tuple[Any, Any]:
    system, state = made
    return system, State(state.positions, state.velocities, box)


def on_faces() -> tuple[Any, Any]:
    """Atoms on the faces and corners of patches, a hair below them, and far outside the cell."""
    system, state = ions()
    positions = np.round(state.positions / 0.6) * 0.6
    positions[::3] -= 1e-16
    positions[5] += 0.05
    positions[::7] -= [2400.0, 240.0, -24.0]
    return system, State(positions, state.velocities, state.box)


def charged(made: tuple[Any, Any]) -> tuple[Any, Any]:
    system, state = made
    return (
        quiltmd.System.of(
            system.masses, 0.1 * np.abs(system.charges), system.lj_types, system.lj_a, system.lj_b
        ),
        state,
    )


ODD = {
    "one patch": (lambda: water_box((6, 6, 6)), Nonbonded(cutoff=0.9)),
    "one patch in two dimensions": (lambda: water_box((6, 6, 20)), Nonbonded(cutoff=0.9)),
    "two patches": (lambda: water_box((9, 9, 9), rigid=False), Nonbonded(cutoff=0.9)),
    "droplet in vacuum": (
        lambda: in_box(water_box((4, 4, 4)), np.diag([5.0, 6.0, 7.0])),
        Nonbonded(cutoff=0.9),
    ),
    "long cutoff": (
        lambda: in_box(water_box((4, 4, 4)), np.diag([5.0, 6.0, 7.0])),
        Nonbonded(cutoff=2.4),
    ),
    "ions only": (ions, Nonbonded(cutoff=0.9)),
    "net charge": (lambda: charged(ions()), Nonbonded(cutoff=0.9)),
    "neutral": (lambda: ions(0.0), Nonbonded(cutoff=0.9)),
    "on faces": (on_faces, Nonbonded(cutoff=0.9)),
    "shifted": (ions, Nonbonded(cutoff=1.1, method="cutoff", potential_shift=True)),
    "shifted pme": (lambda: water_box((6, 6, 6)), Nonbonded(cutoff=0.9, potential_shift=True)),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_systems(name: str) -> None:
    """Few patches, empty patches, more ranks than patches, nothing bonded: as the reference."""
    make, nonbonded = ODD[name]
    system, state = make()
    expected, forces = quiltmd.reference(system, state, nonbonded)
    alone = engine(system, state, nonbonded)
    assert relative_rms(alone.forces(), forces) < 2e-5
    energies = alone.energies()
    size = 1 + max(map(abs, expected.values()))
    for term, value in expected.items():
        assert energies[term] == pytest.approx(value, rel=2e-6, abs=2e-6 * size), term
    for ranks in (3, 40):
        core = engine(system, state, nonbonded, ranks=ranks)
        assert core.energies() == energies
        assert core.force_sum() == (0, 0, 0)


def test_a_lone_atom_flies_straight() -> None:
    system = quiltmd.System.of([10.0], sigma=0.3, epsilon=0.5)
    state = State(np.zeros((1, 3)), np.array([[1.0, -2.0, 3.0]]), np.eye(3) * 2.0)
    core = engine(system, state, integrator=VelocityVerlet(0.002, remove_com_every=0), ranks=2)
    core.run(500)
    np.testing.assert_allclose(core.state()["positions"], state.velocities, rtol=1e-12)
