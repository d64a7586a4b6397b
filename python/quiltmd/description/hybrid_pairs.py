# SPDX-License-Identifier: Apache-2.0
"""The Lennard-Jones types of a hybrid: those of two systems, and one without interactions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .sigma_epsilon import sigma_epsilon
from .system import System

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]

_SAME = 1e-5  # relative, of coefficients in files


@dataclass(frozen=True, eq=False)
class HybridTypes:
    """Tables and types.

    Attributes
    ----------
    lj_a, lj_b:
        (T, T) of all types.
    of_first, of_last:
        For each atom of each system, its type in these tables.
    none:
        The type of atoms without interactions.
    """

    lj_a: F64
    lj_b: F64
    of_first: I32
    of_last: I32
    none: int

    def differ(self, one: I32, other: I32) -> npt.NDArray[np.bool_]:
        """Whether atoms of two types have different parameters."""
        differ: npt.NDArray[np.bool_] = np.asarray(one != other)
        for table in (self.lj_a, self.lj_b):
            first, last = table[one[differ]], table[other[differ]]
            same = (np.abs(first - last) <= _SAME * np.maximum(first, last)).all(axis=1)
            differ[differ] = ~same
        return differ


def hybrid_types(a: System, b: System) -> HybridTypes:
    """Atom types of two systems with the same combination rule; InputError if the rules differ."""
    for system in (a, b):
        if system.pair_form != "lennard-jones":
            raise InputError(
                f"a hybrid needs Lennard-Jones interactions, and the pair form of this system is "
                f"{system.pair_form!r}"
            )
    own_a = np.concatenate([a.lj_a.diagonal(), b.lj_a.diagonal(), [0.0]])
    own_b = np.concatenate([a.lj_b.diagonal(), b.lj_b.diagonal(), [0.0]])
    count, none = len(a.lj_a), len(own_a) - 1
    for rule in (_lorentz_berthelot, _geometric):
        lj_a, lj_b = rule(own_a, own_b)
        parts = ((slice(0, count), a), (slice(count, none), b))
        if all(
            _alike(lj_a[part, part], system.lj_a) and _alike(lj_b[part, part], system.lj_b)
            for part, system in parts
        ):
            for part, system in parts:
                lj_a[part, part], lj_b[part, part] = system.lj_a, system.lj_b
            return HybridTypes(lj_a, lj_b, a.lj_types, (count + b.lj_types).astype(np.int32), none)
    raise InputError(
        "the Lennard-Jones parameters of the two systems follow neither the Lorentz-Berthelot nor "
        "the geometric combination rule, so those between atoms of both are unknown: take files "
        "of one force field without parameters for single pairs (NBFIX)"
    )


def _alike(one: F64, other: F64) -> bool:
    return bool((np.abs(one - other) <= _SAME * np.maximum(one, other)).all())


def _combined(own_a: F64, own_b: F64, mean: Callable[[F64, F64], F64]) -> tuple[F64, F64]:
    sigma, epsilon = sigma_epsilon(own_a, own_b)
    epsilon = np.where((own_a == 0) & (own_b == 0), 0, epsilon)
    s6 = mean(sigma[:, None], sigma[None]) ** 6
    e = np.sqrt(epsilon[:, None] * epsilon[None])
    return 4 * e * s6**2, 4 * e * s6


def _lorentz_berthelot(own_a: F64, own_b: F64) -> tuple[F64, F64]:
    return _combined(own_a, own_b, lambda one, other: (one + other) / 2)


def _geometric(own_a: F64, own_b: F64) -> tuple[F64, F64]:
    return _combined(own_a, own_b, lambda one, other: np.sqrt(one * other))
