# SPDX-License-Identifier: Apache-2.0
"""Means and drifts of a series of correlated values, with their standard errors.

The statistical inefficiency g, 1 + 2 tau with tau the integrated autocorrelation time in rows, says
how many rows are worth one that is independent.

Source: Chodera, Swope, Pitera, Seok and Dill, J. Chem. Theory Comput. 3, 26 (2007), as in pymbar's
`timeseries.statistical_inefficiency`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_F64 = NDArray[np.float64]
_LEAST = 3  # rows apart, over which the sum of correlations goes in any case
_CONSTANT = 1e-12  # of the mean: a scatter below this is rounding


@dataclass(frozen=True)
class Estimated:
    """A number and its standard error, which is nan where the values do not tell it."""

    value: float
    error: float


def inefficiency(values: _F64) -> float:
    """The statistical inefficiency of a series, at least 1; 1 where all values are alike."""
    count = len(values)
    deviations = values - values.mean()
    variance = float((deviations**2).mean())
    if count <= _LEAST or variance <= (_CONSTANT * abs(float(values.mean()))) ** 2:
        return 1.0
    length = 1 << (2 * count - 1).bit_length()
    power = np.abs(np.fft.rfft(deviations, length)) ** 2
    lags = np.arange(1, count - 1)
    correlation = np.fft.irfft(power, length)[lags] / (count - lags) / variance
    ends = np.flatnonzero((correlation <= 0) & (lags > _LEAST))
    used = slice(0, ends[0] if len(ends) else len(lags))
    return max(1.0, float(1 + 2 * (correlation[used] * (1 - lags[used] / count)).sum()))


def mean(values: _F64) -> Estimated:
    """The mean of a series of two values or more, with its standard error."""
    average = float(values.mean())
    deviation = float(values.std(ddof=1))
    if deviation <= _CONSTANT * abs(average):
        return Estimated(average, 0.0)
    return Estimated(average, deviation * math.sqrt(inefficiency(values) / len(values)))


def drift(times: _F64, values: _F64) -> Estimated:
    """Slope of the line through a series, per unit of time, with its standard error.

    The error is that of least squares, with residuals as correlated as they are.
    """
    centred = times - times.mean()
    spread = float((centred**2).sum())
    if spread == 0:
        return Estimated(0.0, math.nan)
    slope = float((centred * (values - values.mean())).sum() / spread)
    residuals = values - values.mean() - slope * centred
    if len(values) <= _LEAST:
        return Estimated(slope, math.nan)
    scatter = float((residuals**2).sum()) / (len(values) - 2)
    if math.sqrt(scatter) <= _CONSTANT * abs(float(values.mean())):
        return Estimated(slope, 0.0)
    return Estimated(slope, math.sqrt(scatter * inefficiency(residuals) / spread))
