# SPDX-License-Identifier: Apache-2.0
"""Parameter offsets of OpenMM's NonbondedForce: what of it depends on global parameters.

A parameter of a particle or an exception is that of the force plus a scale times a global
parameter; it is taken here at values of these that then stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError

F64 = npt.NDArray[np.float64]


def global_values(force: Any, given: Mapping[str, float] | None) -> dict[str, float]:
    """The global parameters of a NonbondedForce: those that are given, or their default values."""
    values = {
        force.getGlobalParameterName(k): float(force.getGlobalParameterDefaultValue(k))
        for k in range(force.getNumGlobalParameters())
    }
    for name, value in (given or {}).items():
        if name not in values:
            known = ", ".join(sorted(values)) or "none"
            raise InputError(f"NonbondedForce has no global parameter {name}, only {known}")
        if not np.isfinite(value):
            raise InputError(f"the global parameter {name} must be a number, not {value}")
        values[name] = float(value)
    return values


def has_offsets(force: Any) -> bool:
    """Whether any parameter depends on a global one."""
    return bool(force.getNumParticleParameterOffsets() or force.getNumExceptionParameterOffsets())


def particle_offsets(force: Any, values: Mapping[str, float], count: int) -> F64:
    """(count, 3): what is added to charge, sigma and epsilon of each particle."""
    rows = map(force.getParticleParameterOffset, range(force.getNumParticleParameterOffsets()))
    return _sums(rows, values, count)


def exception_offsets(force: Any, values: Mapping[str, float], count: int) -> F64:
    """(count, 3): what is added to product of charges, sigma and epsilon of each exception."""
    rows = map(force.getExceptionParameterOffset, range(force.getNumExceptionParameterOffsets()))
    return _sums(rows, values, count)


def _sums(rows: Any, values: Mapping[str, float], count: int) -> F64:
    sums = np.zeros((count, 3))
    for name, index, *scales in rows:
        if not 0 <= index < count:
            raise InputError(f"NonbondedForce: an offset by {name} names number {index} of {count}")
        sums[index] += values[name] * np.array([float(scale) for scale in scales])
    return sums
