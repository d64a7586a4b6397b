# SPDX-License-Identifier: Apache-2.0
"""Atoms without bonds in implicit solvent, at random places."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from boxes import lj_table

from quiltmd import ImplicitSolvent, State, System


def cloud(solvent: ImplicitSolvent, seed: int = 3) -> tuple[Any, Any]:
    """Atoms of many kinds at random places, some inside of another one's sphere."""
    rng = np.random.default_rng(seed)
    atoms = 40
    kinds = rng.integers(0, 3, atoms)
    a, b = lj_table(np.array([0.3, 0.2, 0.34]), np.array([0.1, 0.3, 0.0]))
    system = System.of(np.full(atoms, 12.0), rng.normal(0, 0.4, atoms), kinds, 1e-6 * a, 1e-6 * b)
    elements = rng.choice([1, 6, 7, 8, 15, 16], atoms).astype(np.int32)
    radii = rng.choice([0.1, 0.12, 0.137, 0.155, 0.17, 0.2], atoms)
    system = replace(
        system,
        topology=replace(system.topology, elements=elements),
        born_radii=radii,
        born_screening=rng.choice([0.7, 0.85, 1.3], atoms),
        solvent=solvent,
    )
    places = rng.uniform(0, 0.9, (atoms, 3))
    places[1] = places[0] + [0.04, 0.02, 0.01]  # one within the other
    return system, State.start(system, places, None)


def flying_apart(solvent: ImplicitSolvent) -> tuple[Any, Any]:
    """Atoms that leave in all directions, at 2.5 nm/ps."""
    rng = np.random.default_rng(5)
    system, state = cloud(solvent)
    directions = rng.normal(size=(system.atoms, 3))
    velocities = 2.5 * directions / np.linalg.norm(directions, axis=1)[:, None]
    return system, State.start(system, 3 * state.positions, None, velocities)
