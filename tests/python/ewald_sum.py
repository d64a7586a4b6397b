# SPDX-License-Identifier: Apache-2.0
"""A converged Ewald sum in NumPy, by the textbook: an oracle that shares nothing with Quilt.

Ewald, Ann. Phys. 369, 253 (1921); with the uniform background of a net charge.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfc

Array = NDArray[np.float64]
Sum = tuple[float, Array, Array]  # energy, forces (N, 3), virial (3, 3): the sum of r F
COULOMB = 138.935458  # kJ nm/(mol e^2)
_DIGITS = 36.0  # exp(-36): 2e-16


def ewald_sum(
    positions: Array,
    charges: Array,
    box: Array,
    excluded: list[tuple[int, int]],
    alpha: float | None = None,
) -> Sum:
    """Of charges in a cell (rows) of any shape, less the nearest images of excluded pairs.

    It does not depend on alpha, 1/nm, but its time does.
    """
    alpha = alpha or float(np.sqrt(np.pi) / np.cbrt(abs(np.linalg.det(box))))
    parts = [
        _direct(positions, charges, box, alpha),
        _reciprocal(positions, charges, box, alpha),
        _excluded(positions, charges, box, excluded),
    ]
    background = np.pi * charges.sum() ** 2 / (2 * abs(np.linalg.det(box)) * alpha**2)
    own = alpha / np.sqrt(np.pi) * (charges**2).sum()
    return (
        COULOMB * float(sum(energy for energy, _, _ in parts) - own - background),
        COULOMB * sum(forces for _, forces, _ in parts),
        COULOMB * (sum(virial for _, _, virial in parts) - background * np.eye(3)),
    )


def _images(rows: Array, reach: float) -> Array:
    """Multiples (n, 3) of the rows that may be within reach of a point of the cell around 0."""
    heights = 1 / np.linalg.norm(np.linalg.inv(rows), axis=0)
    most = np.ceil(reach / heights).astype(int) + 1
    return np.array(list(itertools.product(*(range(-m, m + 1) for m in most))))


def _direct(positions: Array, charges: Array, box: Array, alpha: float) -> Sum:
    reach = np.sqrt(_DIGITS) / alpha
    energy, forces, virial = 0.0, np.zeros_like(positions), np.zeros((3, 3))
    apart = positions[:, None] - positions[None]
    apart -= np.round(apart @ np.linalg.inv(box)) @ box
    for image in _images(box, reach) @ box:
        i, j = np.nonzero(np.linalg.norm(apart + image, axis=2) < reach)
        other = (i != j) | bool(image.any())
        i, j = i[other], j[other]
        d = apart[i, j] + image
        r = np.linalg.norm(d, axis=1)
        pair = charges[i] * charges[j] * erfc(alpha * r) / r
        slope = charges[i] * charges[j] * 2 * alpha / np.sqrt(np.pi) * np.exp(-((alpha * r) ** 2))
        along = (pair + slope) / r**2
        energy += 0.5 * pair.sum()
        np.add.at(forces, i, along[:, None] * d)
        virial += 0.5 * np.einsum("n,na,nb->ab", along, d, d)
    return energy, forces, virial


def _reciprocal(positions: Array, charges: Array, box: Array, alpha: float) -> Sum:
    reach = 2 * alpha * np.sqrt(_DIGITS)
    rows = 2 * np.pi * np.linalg.inv(box).T
    waves = _images(rows, reach) @ rows
    square = (waves**2).sum(axis=1)
    inside = (square > 0) & (square < reach**2)
    waves, square = waves[inside], square[inside]
    phases = np.exp(1j * positions @ waves.T)
    density = charges @ phases
    weight = 2 * np.pi / abs(np.linalg.det(box)) * np.exp(-square / (4 * alpha**2)) / square
    energies = weight * np.abs(density) ** 2
    field = (phases * (weight * density.conj())).imag @ waves
    shrink = 2 / square + 1 / (2 * alpha**2)
    virial = energies.sum() * np.eye(3) - np.einsum("k,ka,kb->ab", energies * shrink, waves, waves)
    return float(energies.sum()), 2 * charges[:, None] * field, virial


def _excluded(positions: Array, charges: Array, box: Array, excluded: list[tuple[int, int]]) -> Sum:
    energy, forces, virial = 0.0, np.zeros_like(positions), np.zeros((3, 3))
    images = np.array(list(itertools.product((-1, 0, 1), repeat=3))) @ box
    for i, j in excluded:
        d = positions[i] - positions[j]
        d = d - np.round(d @ np.linalg.inv(box)) @ box
        d = min(d + images, key=lambda one: float(one @ one))
        r = float(np.linalg.norm(d))
        force = -charges[i] * charges[j] / r**3 * d
        energy -= charges[i] * charges[j] / r
        forces[i] += force
        forces[j] -= force
        virial += np.outer(d, force)
    return energy, forces, virial
