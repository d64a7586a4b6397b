# SPDX-License-Identifier: Apache-2.0
"""Restraints of a ligand's place and orientation, and what they cost in free energy.

Boresch, Tettinger, Leitgeb and Karplus, J. Phys. Chem. B 107, 9535 (2003): one distance, two angles
and three torsions of three atoms of a receptor (a, b, c) and three of a ligand (A, B, C) hold the
ligand, so that it stays where it binds while its interactions vanish.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .box import check_box
from .checks import numbers, real_number
from .settings import BOLTZMANN

F64 = npt.NDArray[np.float64]

STANDARD_VOLUME = 1.66053907  # nm^3 a molecule, at 1 mol/l
# Places of the anchors a, b, c, A, B, C among the six.
_A, _B, _C, _LA, _LB, _LC = range(6)
DISTANCE = (_A, _LA)
ANGLES = ((_B, _A, _LA), (_A, _LA, _LB))
TORSIONS = ((_C, _B, _A, _LA), (_B, _A, _LA, _LB), (_A, _LA, _LB, _LC))
_INNER_ANGLES = ((_C, _B, _A), (_LA, _LB, _LC))  # within receptor and ligand
# Limits beyond which torsions of nearly collinear atoms are undefined, and the restraint fails.
_LEAST_ANGLE, _WIDEST_ANGLE = 30.0, 150.0  # degrees
_POINTS = 4001  # of an integral
_UNITS = {
    **{"distance": "nm", "angles": "degree", "torsions": "degree", "k_distance": "kJ/mol/nm^2"},
    **dict.fromkeys(("k_angles", "k_torsions"), "kJ/mol/rad^2"),
}


@dataclass(frozen=True, eq=False)
class BoreschRestraint:
    """Six springs, k/2 (x - x0)^2 each, between three atoms of a receptor and three of a ligand.

    Attributes
    ----------
    anchors:
        (6,) indices from 0: atoms a, b, c of the receptor, then A, B, C of the ligand.
    distance:
        Reference distance a-A, nm.
    angles:
        (2,) reference angles b-a-A and a-A-B, degrees, 30 to 150.
    torsions:
        (3,) reference torsions c-b-a-A, b-a-A-B and a-A-B-C, degrees.
    k_distance:
        Force constant of the distance, kJ/mol/nm^2.
    k_angles, k_torsions:
        (2,) and (3,) force constants, kJ/mol/rad^2.

    Raises
    ------
    InputError
        If an atom is named twice, a value makes no sense, or an angle is near 0 or 180 degrees.
    """

    anchors: Sequence[int]
    distance: float
    angles: Sequence[float]
    torsions: Sequence[float]
    k_distance: float = 4184.0
    k_angles: Sequence[float] = (41.84, 41.84)
    k_torsions: Sequence[float] = (41.84, 41.84, 41.84)

    def __post_init__(self) -> None:
        anchors = tuple(int(atom) for atom in self.anchors)
        if len(anchors) != 6 or len(set(anchors)) != 6 or min(anchors) < 0:
            raise InputError("anchors must be six different atoms: a, b, c, then A, B, C")
        object.__setattr__(self, "anchors", anchors)
        for name, unit in _UNITS.items():
            value = getattr(self, name)
            if "distance" in name:
                found: float | tuple[float, ...] = real_number(name, value, unit)
            else:
                found = tuple(map(float, numbers(name, value, f"numbers, {unit}", unit).flat))
                if len(found) != (3 if "torsions" in name else 2):
                    raise InputError(f"{name} must be two angles, or three torsions")
            object.__setattr__(self, name, found)
        if min(self.distance, self.k_distance, *self.k_angles, *self.k_torsions) <= 0:
            raise InputError("the distance and the force constants must be positive")
        for name, angle in zip(("b-a-A", "a-A-B"), self.angles, strict=True):
            if not _LEAST_ANGLE <= angle <= _WIDEST_ANGLE:
                raise InputError(
                    f"the angle {name} is {angle:g} degrees: choose anchors whose angles are from "
                    f"{_LEAST_ANGLE:g} to {_WIDEST_ANGLE:g}, or torsions become undefined"
                )

    def coordinates(self, positions: npt.ArrayLike, box: npt.ArrayLike | None = None) -> F64:
        """(6,) distance (nm), two angles and three torsions (degrees) at (N, 3) positions (nm).

        `box`: (3, 3) nm, reduced rows; distances are those of nearest images.  None: no box.
        """
        return coordinates_of(places(positions)[list(self.anchors)], box)

    def energy(self, positions: npt.ArrayLike, box: npt.ArrayLike | None = None) -> float:
        """Energy at (N, 3) positions (nm), kJ/mol; see `coordinates` for `box`."""
        away = self.coordinates(positions, box) - self._values
        away[1:] = np.radians(away[1:])
        away[3:] = (away[3:] + np.pi) % (2 * np.pi) - np.pi
        return float(0.5 * self._constants @ away**2)

    def release(self, temperature: float, volume: float = STANDARD_VOLUME) -> float:
        """Free energy of releasing a ligand without interactions into a volume, kJ/mol.

        By integrals over distance, angles and torsions, exact for a rigid ligand; usually negative.

        Parameters
        ----------
        temperature:
            K.
        volume:
            nm^3; by default that of a molecule at the standard concentration of 1 mol/l.
        """
        thermal, volume = self._conditions(temperature, volume)
        width = 10 * np.sqrt(thermal / self.k_distance)
        r = np.linspace(max(self.distance - width, 0.0), self.distance + width, _POINTS)
        integrals = [_integral(r, r**2, self.distance, self.k_distance / thermal)]
        angle, turn = np.linspace(0, np.pi, _POINTS), np.linspace(-np.pi, np.pi, _POINTS)
        for centre, k in zip(np.radians(self.angles), self.k_angles, strict=True):
            integrals.append(_integral(angle, np.sin(angle), centre, k / thermal))
        for k in self.k_torsions:
            integrals.append(_integral(turn, np.ones_like(turn), 0.0, k / thermal))
        return float(-thermal * np.log(8 * np.pi**2 * volume / np.prod(integrals)))

    def _conditions(self, temperature: float, volume: float) -> tuple[float, float]:
        """kT, kJ/mol, and the volume, nm^3; QuiltError if they are not positive."""
        checked = [
            real_number("temperature", temperature, "K"),
            real_number("volume", volume, "nm^3"),
        ]
        if min(checked) <= 0:
            raise InputError("temperature and volume must be positive")
        return BOLTZMANN * checked[0], checked[1]

    def release_by_equation(self, temperature: float, volume: float = STANDARD_VOLUME) -> float:
        """The result of `release` by equation 32 of Boresch et al. (2003), for stiff restraints.

        -kT ln(8 pi^2 V sqrt(product of the six k) / (r^2 sin(tA) sin(tB) (2 pi kT)^3)): with
        41.84 kJ/mol/rad^2 and angles of 70 and 100 degrees 0.14 kJ/mol more than `release`.
        """
        thermal, volume = self._conditions(temperature, volume)
        sines = np.prod(np.sin(np.radians(self.angles)))
        ratio = 8 * np.pi**2 * volume * np.sqrt(np.prod(self._constants))
        ratio /= self.distance**2 * sines * (2 * np.pi * thermal) ** 3
        return float(-thermal * np.log(ratio))

    @property
    def _values(self) -> F64:
        return np.array([self.distance, *self.angles, *self.torsions])

    @property
    def _constants(self) -> F64:
        return np.array([self.k_distance, *self.k_angles, *self.k_torsions])


def _integral(x: F64, weight: F64, centre: float, stiffness: float) -> float:
    """Integral of a weight times exp(-stiffness/2 (x - centre)^2), by the trapezoidal rule."""
    values = weight * np.exp(-0.5 * stiffness * (x - centre) ** 2)
    return float(np.sum((values[1:] + values[:-1]) / 2 * np.diff(x)))


def places(positions: npt.ArrayLike) -> F64:
    """Positions as float64, nm."""
    return numbers("positions", positions, "numbers, nm", "nm").astype(np.float64)


class _Sites:
    """Anchors, (..., 6, 3) nm, and the box whose nearest images count."""

    def __init__(self, sites: F64, box: npt.ArrayLike | None) -> None:
        self._sites = sites
        self._box = None if box is None else check_box(box)

    def between(self, i: int, j: int) -> F64:
        way: F64 = self._sites[..., j, :] - self._sites[..., i, :]
        if self._box is not None:
            for axis in (2, 1, 0):
                turns = np.round(way[..., axis, None] / self._box[axis, axis])
                way = way - turns * self._box[axis]
        return way

    def angle(self, i: int, j: int, k: int) -> F64:
        one, other = self.between(j, i), self.between(j, k)
        across = np.linalg.norm(np.cross(one, other), axis=-1)
        found: F64 = np.degrees(np.arctan2(across, np.sum(one * other, axis=-1)))
        return found

    def torsion(self, i: int, j: int, k: int, m: int) -> F64:
        first, axis, last = self.between(i, j), self.between(j, k), self.between(k, m)
        n, o = np.cross(first, axis), np.cross(axis, last)
        sine = np.sum(np.cross(n, o) * axis, axis=-1) / np.linalg.norm(axis, axis=-1)
        found: F64 = np.degrees(np.arctan2(sine, np.sum(n * o, axis=-1)))
        return found


def coordinates_of(sites: F64, box: npt.ArrayLike | None) -> F64:
    """Distance, angles and torsions of (..., 6, 3) anchors: (..., 6), nm and degrees."""
    s = _Sites(sites, box)
    columns = [np.linalg.norm(s.between(*DISTANCE), axis=-1)]
    columns += [s.angle(*places) for places in ANGLES]
    columns += [s.torsion(*places) for places in TORSIONS]
    return np.stack(columns, axis=-1)


def is_usable(sites: F64, box: npt.ArrayLike | None) -> npt.NDArray[np.bool_]:
    """Whether the angles of (..., 6, 3) anchors leave the torsions well defined."""
    s = _Sites(sites, box)
    angles = np.stack([s.angle(*places) for places in (*ANGLES, *_INNER_ANGLES)], axis=-1)
    inside = (angles >= _LEAST_ANGLE) & (angles <= _WIDEST_ANGLE)
    usable: npt.NDArray[np.bool_] = np.asarray(inside.all(axis=-1))
    return usable
