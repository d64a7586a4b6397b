# SPDX-License-Identifier: Apache-2.0
"""The periodic cell: rows a, b, c in nm, in reduced lower-triangular form.

Reduced means a along x, b in the xy plane, |b_x| <= a_x/2, |c_x| <= a_x/2,
|c_y| <= b_y/2. Every lattice has such a form; fixing it once at load lets
everything after it find nearest images by rounding, component by component.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .checks import numbers

Array = npt.NDArray[np.float64]

_SLACK = 1e-6  # of a box length: how far from reduced a box may be by rounding


def box_from_lengths_angles(lengths: npt.ArrayLike, angles: npt.ArrayLike) -> Array:
    """Box of three edge lengths (nm) and angles alpha, beta, gamma (degrees).

    alpha lies between b and c, beta between a and c, gamma between a and b.
    A truncated octahedron has three angles of 109.4712 degrees.

    Returns
    -------
    (3, 3) array, nm, reduced.

    Raises
    ------
    InputError
        If no box has these lengths and angles.
    """
    edge = np.asarray(lengths, dtype=np.float64)
    angle = np.asarray(angles, dtype=np.float64)
    named = f"box of edges {_words(edge)} nm and angles {_words(angle)} degrees"
    if not (np.isfinite(edge).all() and np.isfinite(angle).all()):
        raise InputError(f"{named}: not all are numbers")
    if (edge <= 0).any() or (angle <= 0).any() or (angle >= 180).any():
        raise InputError(f"{named}: lengths must be positive, angles between 0 and 180")
    cosine = np.where(angle == 90.0, 0.0, np.cos(np.radians(angle)))
    sine_gamma = np.sqrt(1.0 - cosine[2] ** 2)
    c_y = (cosine[0] - cosine[1] * cosine[2]) / sine_gamma
    height = 1.0 - cosine[1] ** 2 - c_y**2
    if height <= 1e-6:
        raise InputError(f"{named}: these angles enclose no volume")
    a = [edge[0], 0.0, 0.0]
    b = [edge[1] * cosine[2], edge[1] * sine_gamma, 0.0]
    c = [edge[2] * cosine[1], edge[2] * c_y, edge[2] * np.sqrt(height)]
    return reduce_box([a, b, c])


def reduce_box(box: npt.ArrayLike) -> Array:
    """Reduced form of a lower-triangular box ((3, 3), nm): the same lattice."""
    rows = np.array(box, dtype=np.float64)
    rows[2] -= rows[1] * np.round(rows[2, 1] / rows[1, 1])
    rows[2] -= rows[0] * np.round(rows[2, 0] / rows[0, 0])
    rows[1] -= rows[0] * np.round(rows[1, 0] / rows[0, 0])
    return rows + 0.0  # -0.0 becomes 0.0, so that equal boxes have equal bytes


def check_box(box: npt.ArrayLike) -> Array:
    """The box as a (3, 3) float64 array, or InputError if it is not in reduced form."""
    rows = np.ascontiguousarray(numbers("box", box, "three vectors, nm", "nm"), dtype=np.float64)
    if rows.shape != (3, 3) or not np.isfinite(rows).all():
        raise InputError("the box must be three finite vectors, shape (3, 3) in nm")
    diagonal = np.diag(rows)
    if (diagonal <= 0).any() or np.triu(rows, 1).any():
        raise InputError("the box must be lower triangular with a positive diagonal")
    bound = (0.5 + _SLACK) * np.array([diagonal[0], diagonal[0], diagonal[1]])
    if (np.abs([rows[1, 0], rows[2, 0], rows[2, 1]]) > bound).any():
        raise InputError("the box is not in reduced form (see quiltmd.description.box.reduce_box)")
    return rows


def lengths_angles(box: Array | None) -> tuple[Array, Array]:
    """Edge lengths (nm) and angles alpha, beta, gamma (degrees) of a box.

    Of none they are 0 and 90, by which files of other programs say so.
    """
    if box is None:
        return np.zeros(3), np.full(3, 90.0)
    lengths = np.linalg.norm(box, axis=1)
    unit = box / lengths[:, None]
    cosines = [unit[1] @ unit[2], unit[0] @ unit[2], unit[0] @ unit[1]]
    return lengths, np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0)))


def _words(values: Array) -> str:
    return " ".join(f"{value:g}" for value in values)


def box_widths(box: Array) -> Array:
    """Distances between opposite faces of the cell (3,), nm."""
    widths: Array = 1.0 / np.linalg.norm(np.linalg.inv(box), axis=0)
    return widths
