# SPDX-License-Identifier: Apache-2.0
"""Ethane and methanol, as files of an all-atom force field have them, in water and alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from boxes import water_box

import quiltmd

# Types: sigma, nm, and epsilon, kJ/mol.
TYPES = {
    "CT": (0.35, 0.276144),
    "HC": (0.25, 0.12552),
    "OH": (0.312, 0.71128),
    "HO": (0.0, 0.0),
    "OW": (0.315061, 0.6364),
    "HW": (0.0, 0.0),
}
# Atoms of each: name, type, charge, mass, place, nm.
ETHANE = [
    ("C1", "CT", -0.18, 12.011, (0.0, 0.0, 0.0)),
    ("H11", "HC", 0.06, 1.008, (-0.0364, 0.1027, 0.0)),
    ("H12", "HC", 0.06, 1.008, (-0.0364, -0.0514, 0.0890)),
    ("H13", "HC", 0.06, 1.008, (-0.0364, -0.0514, -0.0890)),
    ("C2", "CT", -0.18, 12.011, (0.1529, 0.0, 0.0)),
    ("H21", "HC", 0.06, 1.008, (0.1893, -0.1027, 0.0)),
    ("H22", "HC", 0.06, 1.008, (0.1893, 0.0514, 0.0890)),
    ("H23", "HC", 0.06, 1.008, (0.1893, 0.0514, -0.0890)),
]
METHANOL = [
    ("C", "CT", 0.145, 12.011, (1.0, 1.0, 1.0)),
    ("H1", "HC", 0.04, 1.008, (1.0, 0.9636, 1.1027)),
    ("H2", "HC", 0.04, 1.008, (0.9110, 0.9636, 0.9486)),
    ("H3", "HC", 0.04, 1.008, (1.0890, 0.9636, 0.9486)),
    ("O", "OH", -0.683, 15.999, (1.0, 1.1410, 1.0)),
    ("HO", "HO", 0.418, 1.008, (1.0, 1.1710, 0.9090)),
]
# The hydrogen of the hydroxyl group takes the place of one of the second methyl group.
MAPPING = {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 5}
_BONDS = {"CT-CT": (0.1529, 224262.4), "CT-HC": (0.109, 284512.0), "CT-OH": (0.141, 267776.0)}
_BONDS |= {"HO-OH": (0.0945, 462750.4)}
_ANGLES = {"CT-CT-HC": (110.7, 313.8), "HC-CT-HC": (107.8, 276.144), "HC-CT-OH": (109.5, 292.88)}
_ANGLES |= {"CT-OH-HO": (108.5, 460.24)}
_TORSIONS = {"HC-CT-CT-HC": (3, 0.0, 0.6276), "HC-CT-OH-HO": (3, 0.0, 0.9414)}


def molecule(atoms: list[Any], waters: int = 0) -> tuple[Any, Any]:
    """One of the two, alone in a box or in water, with half of the interactions of 1-4 pairs."""
    _, types, charges, masses, places = zip(*atoms, strict=True)
    count = len(atoms)
    heavy = [k for k in range(count) if masses[k] > 2]
    middle = [heavy[0]] * (heavy[1] - 1) + [heavy[1]] * (count - heavy[1] - 1)
    hydrogens = [k for k in range(count) if k not in heavy]
    bonds = [tuple(heavy), *zip(middle, hydrogens, strict=True)]
    near = {k: {j for pair in bonds for j in pair if k in pair and j != k} for k in range(count)}
    angles = [(i, k, j) for k in range(count) for i in near[k] for j in near[k] if i < j]
    one, other = heavy
    torsions = [(i, one, other, j) for i in near[one] - {other} for j in near[other] - {one}]
    pairs = sorted({(min(i, j), max(i, j)) for i, _, _, j in torsions})
    box = np.eye(3) * 2.5
    state_of_water = np.empty((0, 3))
    positions = np.array(places)
    if waters:
        _, water = water_box((waters,) * 3, 3)
        box = water.box
        positions += box.diagonal() / 2 - positions.mean(axis=0)
        apart = np.linalg.norm(water.positions[::3, None] - positions[None], axis=2).min(axis=1)
        kept = np.flatnonzero(apart > 0.28)
        state_of_water = water.positions.reshape(-1, 3, 3)[kept].reshape(-1, 3)
    molecules = len(state_of_water) // 3
    oxygen = count + 3 * np.arange(molecules)
    rigid = np.stack([oxygen, oxygen + 1, oxygen, oxygen + 2, oxygen + 1, oxygen + 2], 1)
    rigid = rigid.reshape(-1, 2)
    kinds = [*types, *["OW", "HW", "HW"] * molecules]
    used = sorted(set(kinds))
    sigma, epsilon = (np.array([TYPES[name][k] for name in used]) for k in (0, 1))
    s = (sigma[:, None] + sigma[None]) / 2
    e = np.sqrt(epsilon[:, None] * epsilon[None])
    excluded = {(i, j) for i in range(count) for j in range(i + 1, count) if _near(near, i, j)}
    system = quiltmd.System.of(
        np.concatenate([masses, np.tile([15.999, 1.008, 1.008], molecules)]),
        np.concatenate([charges, np.tile([-0.834, 0.417, 0.417], molecules)]),
        [used.index(kind) for kind in kinds],
        4 * e * s**12,
        4 * e * s**6,
        bonds=bonds,
        bond_parameters=[_BONDS[_named(types, row)] for row in bonds],
        angles=angles,
        angle_parameters=[
            (np.radians(theta), k) for theta, k in (_ANGLES[_named(types, row)] for row in angles)
        ],
        torsions=torsions,
        torsion_parameters=[_TORSIONS[_named(types, row)] for row in torsions],
        pairs14=pairs,
        pair14_parameters=[
            (
                0.5 * charges[i] * charges[j],
                (TYPES[types[i]][0] + TYPES[types[j]][0]) / 2,
                0.5 * np.sqrt(TYPES[types[i]][1] * TYPES[types[j]][1]),
            )
            for i, j in pairs
        ],
        constraints=rigid,
        constraint_lengths=np.tile([0.09572, 0.09572, 0.15139], molecules),
        exclusions=np.concatenate([np.array(sorted(excluded)), rigid]),
    )
    return system, quiltmd.State.start(system, np.concatenate([positions, state_of_water]), box)


def _near(near: dict[int, set[int]], i: int, j: int) -> bool:
    """Whether three bonds or fewer are between two atoms."""
    reached = {i}
    for _ in range(3):
        reached = reached.union(*(near[k] for k in reached))
    return j in reached


def _named(types: Any, row: Any) -> str:
    names = [types[k] for k in row]
    return "-".join(min(names, names[::-1]))
