# SPDX-License-Identifier: Apache-2.0
"""A small charged molecule in water, part of which alchemy is tried on."""

from __future__ import annotations

from typing import Any

import numpy as np
from boxes import water_box
from numpy.typing import ArrayLike

from quiltmd import Nonbonded, Simulation, State, System, decouple
from quiltmd.description.decoupling import at_lambdas
from quiltmd.description.soft_cores import FORMS

SIGMA = np.array([0.31507, 0.1, 0.35, 0.25])  # O, H, C, polar H of the molecule
EPSILON = np.array([0.6364, 0.0, 0.4, 0.1])
CHARGES = np.array([0.3, -0.5, 0.45, -0.35, 0.25])
TYPES = np.array([2, 2, 3, 2, 3])
LENGTH = 5  # atoms of the molecule, the first ones of the system


def settings(state: State, **others: Any) -> Nonbonded:
    """PME that is exact enough for any comparison here."""
    given = {"cutoff": 0.7, "pme_grid": (48, 48, 48), "pme_alpha": 4.6, **others}
    return Nonbonded(**given)


def softened(plain: System, form: str, states: ArrayLike, **others: Any) -> System:
    """The molecule vanishes with a soft core of this form; charges (first) are softened as well."""
    coulomb, vdw = np.array(states).T
    return decouple(
        plain,
        range(LENGTH),
        coulomb.tolist(),
        vdw.tolist(),
        soft_core=form,  # type: ignore[arg-type]
        alpha_coulomb=FORMS[form].alpha_coulomb,
        **others,
    )


def atoms_may_meet(form: str, device: str) -> None:
    """Checks an alchemical atom on another atom: forces are finite, and without direction there.

    Energies of all states, and derivatives, are those of atoms close by.
    """
    plain, state = solute_in_water()
    path = np.linspace([0, 0], [1, 1], 11)
    here = at_lambdas(softened(plain, form, path), 0.5, 0.7)
    found = []
    for apart in (0.0, 1e-6):
        positions = np.array(state.positions)
        positions[2] = positions[LENGTH] + [apart, 0, 0]
        positions[3] = positions[LENGTH + 1]
        together = State.start(plain, positions, state.box)
        run = Simulation(here, together, settings(state), device=device, ranks=1, threads=1)  # type: ignore[arg-type]
        assert np.isfinite(run.forces()).all()
        found.append([*run.state_energies()[1:], *run.dhdl()])
    assert np.isfinite(found).all()
    np.testing.assert_allclose(*found, rtol=1e-3)


def solute_in_water(waters: int = 6, net_charge: float = 0.0) -> tuple[System, State]:
    """A chain of five atoms: bonds, angles, a 1-4 pair, and a pair of its ends; then waters."""
    _, start = water_box((waters, waters, waters), 3)
    middle = start.box.diagonal() / 2
    chain = middle + np.array(
        [[-0.2, 0, 0], [-0.1, 0.09, 0], [0, 0, 0.02], [0.1, 0.09, 0.06], [0.2, 0, 0]]
    )
    apart = np.linalg.norm(start.positions[::3, None] - chain[None], axis=2).min(axis=1)
    kept = np.flatnonzero(apart > 0.3)
    water = start.positions.reshape(-1, 3, 3)[kept].reshape(-1, 3)
    count = len(kept)
    oxygen = LENGTH + 3 * np.arange(count)
    bonds = [(k, k + 1) for k in range(4)]
    pairs = np.stack([oxygen, oxygen + 1, oxygen, oxygen + 2, oxygen + 1, oxygen + 2], 1)
    constraints = pairs.reshape(-1, 2)
    angles = [(k, k + 1, k + 2) for k in range(3)]
    near = [(k, m) for k in range(5) for m in range(k + 1, 5) if m - k < 4]
    charges = np.concatenate([CHARGES, np.tile([-0.834, 0.417, 0.417], count)])
    charges[0] += net_charge - CHARGES.sum()
    types = np.concatenate([TYPES, np.tile([0, 1, 1], count)])
    s = (SIGMA[:, None] + SIGMA[None]) / 2
    e = np.sqrt(EPSILON[:, None] * EPSILON[None])
    system = System.of(
        np.concatenate([np.full(LENGTH, 12.0), np.tile([15.999, 1.008, 1.008], count)]),
        charges,
        types,
        4 * e * s**12,
        4 * e * s**6,
        bonds=bonds,
        bond_parameters=[(0.135, 2e5)] * 4,
        angles=angles,
        angle_parameters=[(1.9, 400.0)] * 3,
        pairs14=[(0, 3), (1, 4)],
        pair14_parameters=[(0.02, 0.3, 0.1), (-0.03, 0.28, 0.2)],
        constraints=constraints,
        constraint_lengths=np.tile([0.09572, 0.09572, 0.15139], count),
        exclusions=np.concatenate([near, constraints]),
    )
    return system, State.start(system, np.concatenate([chain, water]), start.box)
