# SPDX-License-Identifier: Apache-2.0
"""PME beside an Ewald sum in NumPy: energy, forces and virial, in cells of all shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from boxes import relative_rms, water_box
from ewald_sum import Array, ewald_sum

import quiltmd
from quiltmd import LangevinMiddle, Nonbonded, Simulation, State, System, VelocityVerlet
from quiltmd.engine.core import make_engine

pytestmark = pytest.mark.filterwarnings("ignore::quiltmd.QuiltWarning")

ATOMS, GAP = 45, 0.12  # nm
CELLS = {
    "flat": np.diag([1.5, 1.3, 1.0]),
    "hexagonal": 1.3 * np.array([[1, 0, 0], [0.5, 0.75**0.5, 0], [0, 0, 1]]),
    "dodecahedron": 1.6 * np.array([[1, 0, 0], [0, 1, 0], [0.5, 0.5, 0.5**0.5]]),
    "octahedron": 1.5
    * np.array([[1, 0, 0], [1 / 3, 8**0.5 / 3, 0], [-1 / 3, 2**0.5 / 3, 6**0.5 / 3]]),
    "most skewed": 1.3 * np.array([[1, 0, 0], [0.49, 1.1, 0], [-0.49, 0.52, 1.2]]),
}


def cloud(box: Array, net: float) -> tuple[Array, Array, list[tuple[int, int]]]:
    """Charges at random, but not too near; pairs that are excluded, neighbours and far ones."""
    rng, inverse = np.random.default_rng(4), np.linalg.inv(box)

    def from_all(point: Array, others: Array) -> Array:
        apart = others - point
        return np.linalg.norm(apart - np.round(apart @ inverse) @ box, axis=1)

    places = np.empty((0, 3))
    while len(places) < ATOMS:
        point = rng.random(3) @ box
        if not (from_all(point, places) < GAP).any():
            places = np.vstack([places, point])
    charges = rng.normal(size=ATOMS)
    widest = 0.48 * (1 / np.linalg.norm(inverse, axis=0)).min()
    pairs = set()
    for atom in range(0, ATOMS, 3):
        distances = from_all(places[atom], places)
        near, far = np.argsort(distances)[1], np.flatnonzero(distances < widest)
        other = int(near if atom % 2 else far[np.argmax(distances[far])])
        pairs.add((min(atom, other), max(atom, other)))
    return places, charges + (net - charges.sum()) / ATOMS, sorted(pairs)


@pytest.mark.parametrize(
    ("shape", "net", "ranks"),
    [
        ("flat", 0, 1),
        ("hexagonal", 3, 2),
        ("dodecahedron", -2, 1),
        ("octahedron", 0, 3),
        ("most skewed", 1, 2),
    ],
)
def test_energy_forces_and_virial(shape: str, net: float, ranks: int) -> None:
    box = CELLS[shape]
    places, charges, excluded = cloud(box, net)
    system = System.of(np.full(ATOMS, 20.0), charges=charges, exclusions=np.array(excluded))
    state = State(places, np.zeros_like(places), box)
    cutoff = 0.38 * (1 / np.linalg.norm(np.linalg.inv(box), axis=0)).min()
    energy, forces, virial = ewald_sum(places, charges, box, excluded)
    scale = np.sqrt((forces**2).sum(axis=1).mean())
    for split, order, error in (("prolate", 5, 2e-6), ("prolate", 4, 5e-5), ("gaussian", 5, 2e-6)):
        settings = Nonbonded(cutoff=cutoff, pme_tolerance=error, pme_order=order, pme_split=split)
        run, engine = simulation(system, state, settings, ranks)
        exact = quiltmd.reference(system, state, settings)[1]  # in double precision
        assert np.sqrt(((exact - forces) ** 2).sum(axis=1).mean()) < 2.5 * error * scale
        off = np.sqrt(((run.forces() - forces) ** 2).sum(axis=1).mean())
        assert off < 5 * error * scale
        assert run.energies()["potential"] == pytest.approx(energy, rel=1.5 * error)
        found = engine.capture(energies=True).tensors()["virial"]
        assert np.abs(found - virial).max() < 2.5 * error * np.abs(virial).max()


def test_windows_of_least_aliasing_are_more_accurate_than_splines() -> None:
    """Of the same order on the same grid, here with a cutoff of 0.7 nm; in liquid water."""
    system, state = water_box((5, 5, 5), seed=1)
    settings = {"cutoff": 0.7, "pme_bandwidth": 10.5, "pme_grid": (8, 8, 8), "pme_order": 5}
    melt = Simulation(
        system, state, Nonbonded(cutoff=0.7), LangevinMiddle(0.002, seed=1), device="cpu", threads=1
    )
    melt.minimize(500.0, 60)
    melt.draw_velocities(300, 1)
    melt.run(500)
    state, charges = melt.state(), np.asarray(system.charges)
    system = System.of(system.masses, charges=charges, exclusions=system.exclusions)
    excluded = [(int(i), int(j)) for i, j in system.exclusions]
    places, box = np.asarray(state.positions), np.asarray(state.box)
    forces = ewald_sum(places, charges, box, excluded, alpha=4.0)[1]

    def error(**window: float) -> float:
        nonbonded = Nonbonded(**settings, **window)
        return relative_rms(quiltmd.reference(system, state, nonbonded)[1], forces)

    assert error() > 1e-3
    assert error(pme_window=box[0, 0] / 8) < 4e-4


def simulation(
    system: System, state: State, settings: Nonbonded, ranks: int
) -> tuple[Simulation, Any]:
    """With its engine, which tells the virial."""
    engines: list[Any] = []

    def keep(*given: Any) -> Any:
        engines.append(make_engine(*given))
        return engines[-1]

    # In single precision the Gaussian split rounds by 1e-5 here, most where patches are wide.
    still = VelocityVerlet(0.001)
    where: dict[str, Any] = {"device": "cpu", "threads": 1, "ranks": ranks, "patch_reach": 2}
    run = Simulation(system, state, settings, still, engine=keep, **where)
    return run, engines[0]
