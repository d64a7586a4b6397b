# SPDX-License-Identifier: Apache-2.0
"""Cells whose edges are longer than their heights: PME is as accurate there as in a cube."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from boxes import Array, relative_rms, water_box

import quiltmd
from quiltmd import Nonbonded, Simulation, State, System
from quiltmd.description.box import reduce_box

_SHAPES = {
    "cube": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "dodecahedron": [[1, 0, 0], [0, 1, 0], [0.5, 0.5, 2**-0.5]],
    "octahedron": [[1, 0, 0], [1 / 3, 8**0.5 / 3, 0], [-1 / 3, 2**0.5 / 3, 6**0.5 / 3]],
    "hexagonal": [[1, 0, 0], [-0.5, 0.75**0.5, 0], [0, 0, 0.9]],
    "tilted in one plane": [[1, 0, 0], [0, 0.8, 0], [0.5, 0, 0.8]],
    "as skewed as can be": [[1, 0, 0], [0.5, 1, 0], [0.5, 0.5, 0.75]],
}


@cache
def skewed_water(shape: str) -> tuple[System, State]:
    """TIP3P water at the density of the liquid, relaxed, with edges of some 2.4 nm."""
    cell = np.array(_SHAPES[shape])
    lengths = np.linalg.norm(cell, axis=1)
    molecules = tuple(int(n) for n in np.round(7.5 * lengths))
    system, state = water_box(molecules)  # type: ignore[arg-type]
    volume = np.prod(molecules) * 0.3107**3
    box = reduce_box(cell * (volume / np.linalg.det(cell)) ** (1 / 3))
    oxygens = state.positions[::3] / np.diag(state.box) @ box
    arms = state.positions.reshape(-1, 3, 3) - state.positions[::3, None]
    places = (oxygens[:, None] + arms).reshape(-1, 3)
    state = State.start(system, places, box)
    simulation = Simulation(system, state, Nonbonded(cutoff=0.85), device="cpu")
    simulation.minimize(200.0, 100)
    return system, simulation.state()


def forces(shape: str, **settings: Any) -> Array:
    system, state = skewed_water(shape)
    nonbonded = Nonbonded(cutoff=0.85, **settings)
    return np.asarray(quiltmd.reference(system, state, nonbonded)[1])


@pytest.mark.parametrize("order", [4, 5])
@pytest.mark.parametrize("shape", _SHAPES)
def test_forces_are_as_accurate_as_asked(shape: str, order: int) -> None:
    tolerance = Nonbonded().pme_tolerance
    exact = forces(shape, pme_order=5, pme_tolerance=2e-6)
    error = relative_rms(forces(shape, pme_order=order), exact)
    assert 0.3 * tolerance < error < 1.25 * tolerance


@pytest.mark.parametrize("shape", _SHAPES)
def test_the_mesh_of_the_dispersion_is_as_accurate_as_in_a_cube(shape: str) -> None:
    """By a mesh twice as fine with the same Ewald coefficient."""
    mesh: dict[str, Any] = {"pme_order": 5, "pme_tolerance": 1e-4, "lennard_jones": "pme"}
    chosen = Nonbonded(cutoff=0.85, **mesh).resolve(skewed_water(shape)[1].box)
    stated = {name: chosen[name] for name in ("lj_pme_alpha", "lj_pme_grid")}
    finer = mesh | stated | {"lj_pme_grid": tuple(2 * n for n in chosen["lj_pme_grid"])}
    error = relative_rms(forces(shape, **mesh), forces(shape, **finer))
    assert 4e-6 < error < 1.4e-5
