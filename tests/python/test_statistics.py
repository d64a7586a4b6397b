# SPDX-License-Identifier: Apache-2.0
"""Standard errors of means and drifts: as pymbar finds them, and as series of known memory have."""

from __future__ import annotations

import math

import numpy as np
import pytest
from pymbar import timeseries

from quiltmd.running.statistics import drift, inefficiency, mean


def remembering(memory: float, count: int, seed: int) -> np.ndarray:
    """An autoregressive series whose statistical inefficiency is (1 + memory) / (1 - memory)."""
    noise = np.random.default_rng(seed).normal(size=count)
    values = np.empty(count)
    values[0] = noise[0] / math.sqrt(1 - memory**2)
    for k in range(1, count):
        values[k] = memory * values[k - 1] + noise[k]
    return values


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("count", [4, 7, 50, 1001])
def test_the_statistical_inefficiency_is_that_of_pymbar(memory: float, count: int) -> None:
    for seed in range(4):
        values = 300 + remembering(memory, count, seed)
        expected = timeseries.statistical_inefficiency(values)
        assert inefficiency(values) == pytest.approx(expected, rel=1e-6)


def test_errors_are_those_of_many_series() -> None:
    """The scatter of means and slopes of 200 series of a memory of 0.8 (inefficiency 9)."""
    times = np.arange(400.0)
    found = [
        (mean(one), drift(times, one)) for one in (remembering(0.8, 400, k) for k in range(200))
    ]
    for of in zip(*found, strict=True):
        scatter = np.std([one.value for one in of], ddof=1)
        told = np.sqrt(np.mean([one.error**2 for one in of]))
        assert told == pytest.approx(scatter, rel=0.25)


def test_few_and_constant_values() -> None:
    assert mean(np.array([3.0, 3.0])).error == 0
    assert mean(np.array([1.0, 3.0])).value == 2
    assert math.isnan(drift(np.array([0.0, 1.0]), np.array([1.0, 3.0])).error)
    straight = drift(np.arange(9.0), 5 - 2 * np.arange(9.0))
    assert straight.value == pytest.approx(-2)
    assert straight.error == pytest.approx(0, abs=1e-12)
    assert math.isnan(drift(np.zeros(5), np.arange(5.0)).error)
