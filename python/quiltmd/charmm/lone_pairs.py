# SPDX-License-Identifier: Apache-2.0
"""Lone pairs of a PSF as virtual sites.

Of the kinds that CHARMM knows, those of force fields: on the line through two atoms, as at halogens
(COLInear), and at a distance, an angle and a dihedral from three (RELAtive), the middle of the last
two in place of the second where the distance is negative (BISEctor), as in TIP4P water.

Source: CHARMM documentation, lonepair.doc; the signs are those of OpenMM's CharmmPsfFile.
"""

from __future__ import annotations

from math import cos, radians, sin

from ..description.sites import Site
from ..reading.units import ANGSTROM
from .psf import LonePair, PsfFile


def sites_of(psf: PsfFile) -> list[Site]:
    """The lone pairs of a PSF.

    Raises
    ------
    InputError
        With file and line: a lone pair of another kind.
    """
    return [_site(psf, pair) for pair in psf.lone_pairs]


def _site(psf: PsfFile, pair: LonePair) -> Site:
    distance, angle, dihedral = pair.values
    if len(pair.hosts) == 2:
        if angle != 0:
            raise psf.lone_pair_error(pair.row, "a colinear lone pair with a scaled distance")
        return Site(pair.atom, pair.hosts, (1, 0), (1, -1), local=(distance * ANGSTROM, 0, 0))
    if len(pair.hosts) != 3 or distance == 0:
        raise psf.lone_pair_error(
            pair.row,
            f"a lone pair of {len(pair.hosts)} atoms at the distance {distance:g}: only colinear, "
            "relative and bisector",
        )
    first, second, third = pair.hosts
    along = (-1.0, 0.0, 1.0) if distance > 0 else (-1.0, 0.5, 0.5)
    r, theta, phi = abs(distance) * ANGSTROM, radians(angle), radians(180 - dihedral)
    local = (r * cos(theta), r * sin(theta) * cos(phi), r * sin(theta) * sin(phi))
    on_axis = abs(sin(theta)) < 1e-10
    return Site(
        pair.atom,
        (first, third, second),
        (1, 0, 0),
        along,
        (0, -1, 1),
        (local[0], 0.0, 0.0) if on_axis else local,
    )
