# SPDX-License-Identifier: Apache-2.0
"""Ensembles and properties of water with the PME default, as benchmarks/water.py measures them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import water

pytestmark = [pytest.mark.gpu, pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path: Path = tmp_path_factory.mktemp("water") / "water.npz"
    water.run(path, "cuda")
    return water.check(path)


def test_kinetic_energies_are_canonical(found: dict[str, Any], record_property: Any) -> None:
    """Mean and width at both temperatures, in physical_validation's standard errors."""
    record_property("kinetic_mean_and_width_sigma", found["kinetic_mean_and_width_sigma"])
    assert np.abs(found["kinetic_mean_and_width_sigma"]).max() < 4


def test_total_energies_are_canonical(found: dict[str, Any], record_property: Any) -> None:
    """The ratio of the distributions at 298 and 308 K is that of the Boltzmann factors."""
    record_property("ensemble_sigma", found["ensemble_sigma"])
    assert np.abs(found["ensemble_sigma"]).max() < 4


def test_diffusion(found: dict[str, Any], record_property: Any) -> None:
    """Yeh and Hummer (2004) find 6.1e-9 m^2/s for this water at 298 K."""
    record_property("diffusion_m2_s", found["diffusion_m2_s"])
    assert found["diffusion_m2_s"] == pytest.approx(6.1e-9, abs=0.5e-9)


def test_potential_energy(found: dict[str, Any], record_property: Any) -> None:
    """TIP3P with Ewald sums at 298 K: -40.21 with a finer mesh on an H200, commit db40f00."""
    record_property("potential_kj_mol", found["potential_kj_mol"])
    assert found["potential_kj_mol"] == pytest.approx(-40.21, abs=0.1)
    assert found["standard_error"] < 0.05
