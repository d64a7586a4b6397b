# SPDX-License-Identifier: Apache-2.0
"""Small systems drawn at random: molecules of several kinds in a box of any shape, or in none."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from boxes import H_H, O_H, Array, lj_table, random_box, random_rotations

from quiltmd import System
from quiltmd.description.box import box_from_lengths_angles
from quiltmd.description.sites import Site, average, out_of_plane, site_fields
from quiltmd.description.term_forms import TERM_FORMS

Random = np.random.Generator
# Types of atoms, by number: water's oxygen, what it covers, an ion, a carbon and its hydrogens.
SIGMA = np.array([0.315, 1.0, 0.33, 0.35, 0.22])
EPSILON = np.array([0.636, 0.0, 0.4, 0.3, 0.1])
BORN = np.array([0.15, 0.12, 0.16, 0.17, 0.12])  # radii by type, nm
PARAMETERS = {form.plural: form.parameter_array for form in TERM_FORMS}
LEAST_GAP = 0.26  # nm, between atoms of different molecules, before they are relaxed


@dataclass
class Molecule:
    """One molecule: its atoms, where they are, and terms by name with their parameters."""

    masses: list[float]
    charges: list[float]
    types: list[int]
    shape: Array
    terms: dict[str, tuple[list[tuple[int, ...]], list[tuple[float, ...]]]] = field(
        default_factory=dict
    )
    constraints: list[tuple[int, int]] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)


def ion(charge: float, mass: float) -> Molecule:
    """An atom."""
    return Molecule([mass], [charge], [2], np.zeros((1, 3)))


def water(rigid: bool) -> Molecule:
    """Three atoms."""
    half = np.arcsin(H_H / 2 / O_H)
    arm = O_H * np.array([np.cos(half), np.sin(half), 0])
    made = Molecule(
        [15.999, 1.008, 1.008],
        [-0.834, 0.417, 0.417],
        [0, 1, 1],
        np.array([[0, 0, 0], arm, arm * [1, -1, 1]]),
    )
    if rigid:
        made.constraints = [(0, 1), (0, 2), (1, 2)]
    else:
        made.terms["bonds"] = [(0, 1), (0, 2)], [(O_H, 462750.4)] * 2
        made.terms["angles"] = [(1, 0, 2)], [(2 * half, 836.8)]
    return made


def water_with_sites(pairs: bool) -> Molecule:
    """A rigid water with its negative charge on one site in its plane, or on two out of it."""
    made = water(rigid=True)
    made.charges = [0.0, 0.241, 0.241] if pairs else [0.0, 0.417, 0.417]
    if pairs:
        made.sites = [out_of_plane(k, (0, 1, 2), -0.3, -0.3, c) for k, c in ((3, 6.0), (4, -6.0))]
    else:
        made.sites = [average(3, (0, 1, 2), (0.8, 0.1, 0.1))]
    count = len(made.sites)
    made.masses += [0.0] * count
    made.charges += [-sum(made.charges) / count] * count
    made.types += [1] * count
    made.shape = np.concatenate([made.shape, np.tile(made.shape[:1], (count, 1)) + 0.01])
    return made


def chain(rng: Random, rigid: bool) -> Molecule:
    """Four carbons in a zigzag with two hydrogens at each end, all kinds of bonded terms."""
    step = np.array([0.126, 0.086, 0.0])
    heavy = np.array([step * [k, k % 2, 1] for k in range(4)])
    hydrogens = [(0, [-0.06, 0.0, 0.09]), (0, [-0.06, 0.0, -0.09])]
    hydrogens += [(3, [0.06, 0.0, 0.09]), (3, [0.06, 0.0, -0.09])]
    shape = np.concatenate([heavy, [heavy[of] + np.array(off) for of, off in hydrogens]])
    bonds = [(k, k + 1) for k in range(3)]
    to_hydrogens = [(of, 4 + k) for k, (of, _) in enumerate(hydrogens)]
    charges = rng.normal(0, 0.2, 8)
    made = Molecule(
        [12.0] * 4 + [float(rng.choice([1.008, 3.0]))] * 4,
        list(charges - charges.mean()),
        [3] * 4 + [4] * 4,
        shape,
        constraints=to_hydrogens if rigid else [],
    )
    lengths = [float(np.linalg.norm(shape[a] - shape[b])) for a, b in to_hydrogens]
    springs = [] if rigid else [(length, 284512.0) for length in lengths]
    made.terms = {
        "bonds": (bonds + ([] if rigid else to_hydrogens), [(0.1526, 259408.0)] * 3 + springs),
        "angles": (
            [(0, 1, 2), (1, 2, 3), (4, 0, 1), (5, 0, 1), (6, 3, 2), (7, 3, 2), (4, 0, 5)],
            [(1.95, 520.0)] * 2 + [(1.91, 418.4)] * 4 + [(1.9, 300.0)],
        ),
        "torsions": ([(0, 1, 2, 3), (4, 0, 1, 2)], [(3, 0.0, 5.0), (2, 3.0, 2.0)]),
        "ryckaert_bellemans": ([(1, 2, 3, 6)], [(1.0, 2.0, -1.0, 0.5, 0.2, -0.1)]),
        "urey_bradleys": ([(0, 2)], [(0.26, 5000.0)]),
        "impropers": ([(1, 0, 2, 3)], [(float(rng.uniform(2, 4)), 20.0)]),
        "pairs14": ([(0, 3), (1, 6)], [(0.01, 0.3, 0.2), (-0.02, 0.3, 0.0)]),
    }
    return made


def shapes_of_boxes(rng: Random, shape: str, width: float) -> Array | None:
    """A box whose faces are at least `width` apart, of the shape of this name."""
    angles = {"octahedron": (109.4712206344907,) * 3, "dodecahedron": (60.0, 60.0, 90.0)}
    if shape == "none":
        return None
    if shape == "cube":
        return np.eye(3) * width
    if shape == "brick":
        return np.diag(width * rng.uniform(1, 1.5, 3))
    if shape == "triclinic":
        return random_box(rng, width)
    box = box_from_lengths_angles([width] * 3, angles[shape])
    heights = 1 / np.linalg.norm(np.linalg.inv(box), axis=0)
    return np.ascontiguousarray(box * (width / heights.min()))


def draw_molecules(rng: Random, kinds: tuple[str, ...], count: int) -> list[Molecule]:
    """So many molecules of some kinds: ions in pairs of opposite charge, or one without another."""
    made = {
        "rigid water": lambda: [water(rigid=True)],
        "flexible water": lambda: [water(rigid=False)],
        "water with a site": lambda: [water_with_sites(pairs=False)],
        "water with two sites": lambda: [water_with_sites(pairs=True)],
        "constrained chain": lambda: [chain(rng, rigid=True)],
        "flexible chain": lambda: [chain(rng, rigid=False)],
        "ions": lambda: [ion(1.0, 22.99), ion(-1.0, 35.45)],
        "single ion": lambda: [ion(1.0, 22.99)],
        "argon": lambda: [ion(0.0, 39.95)],
    }
    molecules: list[Molecule] = []
    while len(molecules) < count:
        for kind in kinds:
            molecules += made[kind]()
    rng.shuffle(molecules)  # type: ignore[arg-type]
    return molecules


def build(rng: Random, molecules: list[Molecule], box: Array | None) -> tuple[System, Array]:
    """A System of molecules, and where they are: apart from each other, to be relaxed.

    Those for which there is no room are left out.
    """
    placed, kept = _place(rng, molecules, box)
    start = np.cumsum([0, *(len(one.masses) for one in kept)])
    terms: dict[str, Any] = {}
    lengths: list[float] = []
    exclusions: list[tuple[int, int]] = []
    sites: list[Site] = []
    constraints: list[tuple[int, int]] = []
    for one, first in zip(kept, start, strict=False):
        for name, (atoms, parameters) in one.terms.items():
            rows, values = terms.setdefault(name, ([], []))
            rows += [tuple(int(first) + a for a in row) for row in atoms]
            values += parameters
        for a, b in one.constraints:
            constraints.append((int(first) + a, int(first) + b))
            lengths.append(float(np.linalg.norm(one.shape[a] - one.shape[b])))
        size = len(one.masses)
        exclusions += [(int(first) + a, int(first) + b) for b in range(size) for a in range(b)]
        for site in one.sites:
            parents = tuple(int(first) + p for p in site.parents)
            sites.append(replace(site, atom=int(first) + site.atom, parents=parents))
    types = np.concatenate([one.types for one in kept])
    arrays: dict[str, Any] = {}
    for name, (rows, values) in terms.items():
        arrays[name], arrays[PARAMETERS[name]] = np.array(rows), np.array(values)
    system = System.of(
        np.concatenate([one.masses for one in kept]),
        np.concatenate([one.charges for one in kept]),
        types,
        *lj_table(SIGMA, EPSILON),
        exclusions=exclusions,
        constraints=constraints,
        constraint_lengths=lengths,
        born_radii=BORN[types],
        born_screening=np.full(len(types), 0.8),
        **arrays,
        **(site_fields(sites) if sites else {}),
    )
    return system, placed


def _place(
    rng: Random, molecules: list[Molecule], box: Array | None
) -> tuple[Array, list[Molecule]]:
    """Each on a point of a lattice or thereabouts, turned at random; without a box in a ball."""
    rotations = random_rotations(rng, len(molecules))
    placed: list[Array] = []
    kept: list[Molecule] = []
    edge = 0.5 * (len(molecules) * 0.06) ** (1 / 3)
    for one, turn in zip(molecules, rotations, strict=True):
        shape = one.shape @ turn
        for _ in range(60):
            middle = rng.uniform(size=3) @ box if box is not None else rng.uniform(-edge, edge, 3)
            if _is_free(placed, shape + middle, box):
                placed.append(shape + middle)
                kept.append(one)
                break
    return np.concatenate(placed), kept


def _is_free(placed: list[Array], atoms: Array, box: Array | None) -> bool:
    """Whether no other atom, nor an image of it, is close to these."""
    if not placed:
        return True
    apart = (np.concatenate(placed)[:, None] - atoms).reshape(-1, 3)
    shifts = np.zeros((1, 3))
    if box is not None:
        apart -= np.round(apart @ np.linalg.inv(box)) @ box
        shifts = (np.indices((3, 3, 3)).reshape(3, -1).T - 1.0) @ box
    return bool((np.square(apart[:, None] + shifts).sum(axis=2) > LEAST_GAP**2).all())
