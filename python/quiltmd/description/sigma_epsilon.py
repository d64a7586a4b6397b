# SPDX-License-Identifier: Apache-2.0
"""Sigma and epsilon of the coefficients of a Lennard-Jones interaction."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]

# Sigma, nm, where one of the two parts is missing: so far or so near that the part that must not
# be there is below 1e-12 of the other at 0.1 to 1 nm.
_NO_ATTRACTION, _NO_REPULSION = 100.0, 1e-3


def sigma_epsilon(a: npt.ArrayLike, b: npt.ArrayLike) -> tuple[F64, F64]:
    """Sigma (nm) and epsilon (kJ/mol) of an energy a/r^12 - b/r^6.

    Parameters
    ----------
    a, b:
        Coefficients of repulsion (kJ/mol nm^12) and attraction (kJ/mol nm^6), not negative, of
        one shape.

    Returns
    -------
    Of that shape.  Where only one part is there, the other is made too small to matter.
    """
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    both = (a > 0) & (b > 0)
    ratio = np.divide(a, b, out=np.ones_like(a), where=both)
    sigma = np.where(both, ratio ** (1 / 6), np.where(a > 0, _NO_ATTRACTION, _NO_REPULSION))
    by_attraction = b / (4 * sigma**6)
    epsilon = np.where(b > 0, by_attraction, a / (4 * sigma**12))
    return sigma, epsilon
