# SPDX-License-Identifier: Apache-2.0
"""The benchmark of ensembles at constant pressure: what it finds for known distributions, and that
its runs sample."""

from __future__ import annotations

from dataclasses import replace

import ensembles
import numpy as np
import pytest
from boxes import water_box

from quiltmd import Nonbonded

GAS, BAR = 0.00831446261815324, 0.0602214076  # kJ/mol/K, kJ/mol/nm^3
TOLERANT = Nonbonded(cutoff=0.6, pme_tolerance=5e-3)


@pytest.fixture(scope="module")
def case() -> ensembles.Case:
    return ensembles.Case(*water_box((4, 4, 4), seed=1), 0.002, 0.4, 306.0, 500.0, TOLERANT)


def known(case: ensembles.Case, temperature: float, pressure: float, seed: int) -> ensembles.Run:
    """Normal volumes and energies, and gamma-distributed kinetic energies, of this ensemble."""
    random = np.random.default_rng(seed)
    beta, base = 1 / (GAS * temperature), 1 / (GAS * ensembles.TEMPERATURE)
    volume_width, energy_width, degrees, count = 0.02, 40.0, 381, 3000
    squeezed = beta * pressure - base * ensembles.PRESSURE
    volume = random.normal(2 - volume_width**2 * squeezed * BAR, volume_width, count)
    potential = random.normal(-2600 - energy_width**2 * (beta - base), energy_width, count)
    kinetic = random.gamma(degrees / 2, 1 / beta, count)
    return ensembles.Run(
        case.system, temperature, pressure, 0.002, degrees, volume, potential, kinetic
    )


def test_known_ensembles_are_told_from_others(case: ensembles.Case) -> None:
    first = known(case, ensembles.TEMPERATURE, ensembles.PRESSURE, 1)
    squeezed = known(case, ensembles.TEMPERATURE, case.squeezed, 2)
    warmer = known(case, case.warmer, ensembles.PRESSURE, 3)
    found = ensembles.deviations(first, squeezed, warmer)
    assert ensembles.largest(found) < ensembles.LIMIT
    wrong = replace(squeezed, volume=2 * squeezed.volume - first.volume.mean())
    assert abs(ensembles.deviations(first, wrong, warmer)["pressures_sigma"][0]) > ensembles.LIMIT
    hot = replace(warmer, kinetic=1.02 * warmer.kinetic)
    assert ensembles.largest(ensembles.deviations(first, squeezed, hot)) > ensembles.LIMIT


@pytest.mark.filterwarnings("ignore:a cutoff of 0.6 nm:quiltmd.QuiltWarning")
@pytest.mark.parametrize("kind", ensembles.BAROSTATS)
def test_runs_sample_volumes_and_energies(
    case: ensembles.Case, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ensembles, "EQUILIBRATE", 0.2)
    start = ensembles.warmed(case, "cpu")
    runs = ensembles.runs(case, kind, start, 1.0, "cpu")
    divided = ensembles.runs(case, kind, start, 0.5, "cpu")
    for run, twice in zip(runs, divided, strict=True):
        np.testing.assert_array_equal(twice.kinetic, 2 * run.kinetic)
        assert len(run.volume) == 2 == len(run.potential) == len(run.kinetic)
        assert run.volume[0] == pytest.approx(np.prod(np.diag(start.box)), rel=0.1)
        assert 6 * 64 - 3 <= run.degrees_of_freedom <= 6 * 64


@pytest.mark.filterwarnings("ignore:a cutoff of 0.6 nm:quiltmd.QuiltWarning")
def test_kinetic_energy_at_constant_volume(
    case: ensembles.Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Near what the temperature demands: eight records of a small box, hardly settled."""
    monkeypatch.setattr(ensembles, "EQUILIBRATE", 0.2)
    start = ensembles.warmed(case, "cpu")
    assert ensembles.kinetic_ratio(case, start, "cpu") == pytest.approx(1, abs=0.3)
