# SPDX-License-Identifier: Apache-2.0
"""Extra points of water in Amber topologies (TIP4P, TIP4P-Ew, OPC, TIP5P) as virtual sites.

The file says no more of an extra point than its bond to an atom. What sander makes of that follows
from the atom's other bonds. One point of a water lies on the bisector of the O-H bonds, as far out
as its bond is long. Two lie on the other side, in the plane that stands on that of the atoms, at
half of the tetrahedral angle (54.735 degrees) from the bisector. As in OpenMM the weights that this
takes are those of the equilibrium geometry. Bonded terms of extra points have no effect in sander
and are left out.

Source: Amber manual, "Extra points" (`&ewald`, frameon); tip5p of Mahoney and Jorgensen, J. Chem.
Phys. 112, 8910 (2000).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..description.sites import MOST_PARENTS
from ..description.topology import Topology
from .prmtop_file import POINTERS, PrmtopFile

_Fields = dict[str, Any]
_HALF_TETRAHEDRAL = np.radians(54.735)


def place_extra_points(
    prmtop: PrmtopFile, masses: npt.NDArray[np.float64], topology: Topology, fields: _Fields
) -> _Fields:
    """The fields with sites for the massless atoms, and without bonded terms of these.

    Of `fields`, those of a System, it needs masses, bonds, angles, torsions and 1-4 pairs.

    Raises
    ------
    InputError
        With file, line and section: a massless atom that is no extra point of a water.
    """
    points = np.flatnonzero(masses == 0)
    if prmtop.counts["NUMEXTRA"] > len(points):
        message = f"{prmtop.counts['NUMEXTRA']} extra points, but {len(points)} massless atoms"
        raise prmtop.error("POINTERS", POINTERS.index("NUMEXTRA"), message)
    if len(points) == 0:
        return fields
    is_point = masses == 0
    owner, length = _owners(prmtop, is_point, points, topology, fields)
    waters = _Waters(prmtop, is_point, owner, topology, fields)
    place = np.searchsorted(waters.oxygens, owner)
    side = np.full(len(points), -1)
    side[np.unique(owner, return_index=True)[1]] = 1
    return {**_without(fields, is_point), **waters.sites(points, place, length, side)}


def _owners(
    prmtop: PrmtopFile,
    is_point: npt.NDArray[np.bool_],
    points: npt.NDArray[np.int_],
    topology: Topology,
    fields: _Fields,
) -> tuple[npt.NDArray[np.int_], npt.NDArray[np.float64]]:
    """The atom to which each point is bonded, and how far away it is."""
    bonds, lengths = fields["bonds"], fields["bond_parameters"][:, 0]
    both = np.concatenate([bonds, bonds[:, ::-1]])
    both_lengths = np.concatenate([lengths, lengths])
    chosen = is_point[both[:, 0]]
    count = np.bincount(both[chosen, 0], minlength=len(is_point))[points]
    if (count != 1).any():
        atom = int(points[np.argmax(count != 1)])
        message = f"{topology.describe(atom)} has no mass and {count[count != 1][0]} bonds"
        raise prmtop.error("MASS", atom, f"{message}; extra points have one")
    order = np.argsort(both[chosen, 0])
    return both[chosen, 1][order], both_lengths[chosen][order]


class _Waters:
    """The waters that have points: oxygens ascending, hydrogens, and their shape."""

    def __init__(
        self,
        prmtop: PrmtopFile,
        is_point: npt.NDArray[np.bool_],
        owner: npt.NDArray[np.int_],
        topology: Topology,
        fields: _Fields,
    ) -> None:
        self.oxygens, self.points = np.unique(owner, return_counts=True)
        bonds, lengths = fields["bonds"], fields["bond_parameters"][:, 0]
        real = ~is_point[bonds].any(axis=1)
        both = np.concatenate([bonds[real], bonds[real][:, ::-1]])
        both_lengths = np.concatenate([lengths[real], lengths[real]])
        number = np.full(len(is_point), -1)
        number[self.oxygens] = np.arange(len(self.oxygens))
        chosen = number[both[:, 0]] >= 0
        ends, of, legs = both[chosen, 1], number[both[chosen, 0]], both_lengths[chosen]
        light = topology.elements[ends] == 1
        each = np.bincount(of, minlength=len(self.oxygens))
        hydrogens = np.bincount(of[light], minlength=len(self.oxygens))
        order = np.lexsort((ends, of))
        heavy = topology.elements[self.oxygens] != 8
        wrong = heavy | (each != 2) | (hydrogens != 2) | (self.points > 2)
        if wrong.any():
            atom = int(self.oxygens[np.argmax(wrong)])
            raise prmtop.error(
                "MASS",
                atom,
                f"{topology.describe(atom)} has extra points (virtual sites) and is not a "
                "water; only "
                "one or two of waters are supported",
            )
        self.hydrogens = ends[order].reshape(-1, 2)
        self.legs = legs[order].reshape(-1, 2)
        self.base = self._bases(both, both_lengths, fields)
        unlike = (self.legs[:, 0] != self.legs[:, 1]) | ~(self.base > 0)
        if unlike.any():
            atom = int(self.oxygens[np.argmax(unlike)])
            raise prmtop.error(
                "MASS",
                atom,
                f"{topology.describe(atom)} has extra points, and its bonds and angle are not "
                "those of a water with equal bonds",
            )

    def _bases(
        self, both: npt.NDArray[np.int_], lengths: npt.NDArray[np.float64], fields: _Fields
    ) -> npt.NDArray[np.float64]:
        """The distances of the hydrogens: of their bond, else by the angle."""
        atoms = int(both.max()) + 1
        key = both[:, 0].astype(np.int64) * atoms + both[:, 1]
        order = np.argsort(key)
        wanted = self.hydrogens[:, 0].astype(np.int64) * atoms + self.hydrogens[:, 1]
        at = np.minimum(np.searchsorted(key[order], wanted), len(key) - 1)
        found = key[order][at] == wanted
        theta = np.full(len(fields["masses"]), np.nan)
        theta[fields["angles"][:, 1]] = fields["angle_parameters"][:, 0]
        bent = 2 * self.legs[:, 0] * np.sin(theta[self.oxygens] / 2)
        bases: npt.NDArray[np.float64] = np.where(found, lengths[order][at], bent)
        return bases

    def sites(
        self,
        points: npt.NDArray[np.int_],
        place: npt.NDArray[np.int_],
        length: npt.NDArray[np.float64],
        side: npt.NDArray[np.int_],
    ) -> _Fields:
        """The arrays of sites; `place`: the water of each point, `side` of the plane."""
        leg, base, two = self.legs[place, 0], self.base[place], self.points[place] == 2
        height = np.sqrt(leg**2 - base**2 / 4)
        along = np.where(two, -np.cos(_HALF_TETRAHEDRAL), 1) * length / height
        area = base * height
        across = np.where(two, side * np.sin(_HALF_TETRAHEDRAL) * length / area, 0)
        atoms = np.full((len(points), 1 + MOST_PARENTS), -1, np.int32)
        atoms[:, 0], atoms[:, 1], atoms[:, 2:4] = points, self.oxygens[place], self.hydrogens[place]
        weights = np.zeros((len(points), 3, MOST_PARENTS))
        weights[:, 0, :3] = np.column_stack([1 - along, along / 2, along / 2])
        weights[two, 1, :3], weights[two, 2, :3] = (-1, 1, 0), (-1, 0, 1)
        offsets = np.zeros((len(points), 4))
        offsets[:, 3] = across
        return {"sites": atoms, "site_weights": weights, "site_offsets": offsets}


def _without(fields: _Fields, is_point: npt.NDArray[np.bool_]) -> _Fields:
    """The fields without bonded terms of points."""
    kept = dict(fields)
    for name, parameters in (
        ("bonds", "bond_parameters"),
        ("angles", "angle_parameters"),
        ("torsions", "torsion_parameters"),
        ("pairs14", "pair14_parameters"),
    ):
        real = ~is_point[fields[name]].any(axis=1)
        kept[name], kept[parameters] = fields[name][real], fields[parameters][real]
    return kept
