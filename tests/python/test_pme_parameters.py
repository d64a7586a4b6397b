# SPDX-License-Identifier: Apache-2.0
"""A tolerance of PME is what it says: the relative error that forces then have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boxes import relative_rms, water_box

import quiltmd
from quiltmd import Nonbonded, pme_parameters
from quiltmd.engine.core import make_engine
from quiltmd.engine.execution import Execution


@pytest.fixture(scope="module")
def exact(alanine: tuple[Path, Path]) -> Any:
    """A peptide in water and its forces by a converged sum."""
    system, state = quiltmd.load(*alanine)
    tight = Nonbonded(pme_order=5, pme_tolerance=2e-6)
    return system, state, quiltmd.reference(system, state, tight)[1]


@pytest.mark.parametrize("device", ["cuda", "cuda:3"])
def test_a_grid_that_no_gpu_transforms_is_refused_before_one_is_looked_for(device: str) -> None:
    system, state = water_box((6, 6, 6))
    nonbonded = Nonbonded(cutoff=0.6, pme_alpha=3.0, pme_grid=(22, 24, 24))
    with pytest.raises(quiltmd.QuiltError, match=r"even in z; it is 22 x 24 x 24: choose"):
        make_engine(
            system.arrays(),
            nonbonded.resolve(state.box),
            quiltmd.VelocityVerlet().resolve(),
            Execution("cpu").resolve() | {"device": device},
        )


@pytest.mark.parametrize("order", [4, 5])
@pytest.mark.parametrize("tolerance", [1e-3, 5e-4, 1e-4])
def test_forces_are_as_accurate_as_asked(exact: Any, order: Any, tolerance: float) -> None:
    system, state, forces = exact
    settings = Nonbonded(pme_order=order, pme_tolerance=tolerance)
    error = relative_rms(quiltmd.reference(system, state, settings)[1], forces)
    assert 0.3 * tolerance < error < 1.25 * tolerance


def test_more_accurate_than_openmm_at_its_own_tolerance(exact: Any) -> None:
    system, state, forces = exact
    tolerance, cutoff = 5e-4, 0.9
    alpha = float(np.sqrt(-np.log(2 * tolerance)) / cutoff)
    points = np.ceil(2 * alpha * np.diag(state.box) / (3 * tolerance**0.2))
    theirs = Nonbonded(pme_order=5, pme_alpha=alpha, pme_grid=tuple(int(n + n % 2) for n in points))
    errors = [
        relative_rms(quiltmd.reference(system, state, settings)[1], forces)
        for settings in (Nonbonded(pme_tolerance=tolerance), theirs)
    ]
    assert errors[0] < errors[1]


def test_the_default_is_served_by_the_short_polynomial() -> None:
    """A little beyond this product pair kernels take four more terms; see `polynomials_fit`."""
    assert pme_parameters(np.eye(3) * 5.0, 0.9, Nonbonded().pme_tolerance)[0] * 0.9 <= 2.7541


def test_order_5_takes_coarser_grids() -> None:
    box = np.eye(3) * 6.0
    assert Nonbonded().resolve(box)["pme_order"] == 5
    assert Nonbonded().resolve(0.8 * box)["pme_order"] == 4
    assert Nonbonded(pme_tolerance=1e-5).resolve(0.8 * box)["pme_order"] == 5
    for tolerance in (5e-4, 1e-5):
        fine, finer = (pme_parameters(box, 0.9, tolerance, order)[1] for order in (5, 4))
        assert fine < finer
