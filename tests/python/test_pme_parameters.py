# SPDX-License-Identifier: Apache-2.0
"""A tolerance of PME is what it says: the relative error that forces then have."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boxes import relative_rms, warm_water, water_box

import quiltmd
from quiltmd import Nonbonded, System, pme_parameters, prolate_parameters
from quiltmd.description.dynamics import resolve_dynamics
from quiltmd.description.plausibility import oddities
from quiltmd.engine.core import make_engine
from quiltmd.engine.execution import Execution


@pytest.fixture(scope="module")
def exact(alanine: tuple[Path, Path]) -> Any:
    """A peptide in water and its forces by a converged sum."""
    system, state = quiltmd.load(*alanine)
    tight = Nonbonded(pme_order=5, pme_tolerance=2e-6, pme_split="gaussian")
    return system, state, quiltmd.reference(system, state, tight)[1]


@pytest.mark.parametrize("device", ["cuda", "cuda:3"])
def test_a_grid_that_no_gpu_transforms_is_refused_before_one_is_looked_for(device: str) -> None:
    system, state = water_box((6, 6, 6))
    nonbonded = Nonbonded(cutoff=0.6, pme_alpha=3.0, pme_grid=(22, 24, 24))
    with pytest.raises(quiltmd.QuiltError, match=r"even along z; the grid is 22 x 24 x 24: choose"):
        make_engine(
            system.arrays(),
            nonbonded.resolve(state.box),
            resolve_dynamics(quiltmd.VelocityVerlet(), None),
            replace(Execution("cpu").resolve_here(), device=device),
        )


@pytest.mark.parametrize("split", [{}, {"pme_window": 0.0}, {"pme_split": "gaussian"}])
@pytest.mark.parametrize("order", [4, 5])
@pytest.mark.parametrize("tolerance", [1e-3, 5e-4, 1e-4, 1e-5])
def test_forces_are_as_accurate_as_asked(
    exact: Any, order: Any, tolerance: float, split: Any
) -> None:
    system, state, forces = exact
    settings = Nonbonded(pme_order=order, pme_tolerance=tolerance, **split)
    error = relative_rms(quiltmd.reference(system, state, settings)[1], forces)
    assert 0.3 * tolerance < error < 1.25 * tolerance


def test_the_splits_have_the_same_forces_and_energy(exact: Any) -> None:
    """Two sums with nothing in common but the charges; with a net charge the background counts."""
    system, state, _ = exact
    charges = np.array(system.charges)
    charges[0] += 3
    charged = replace(system, charges=charges)
    tight = {"pme_order": 5, "pme_tolerance": 1e-6}
    energies, forces = zip(
        *(
            quiltmd.reference(charged, state, Nonbonded(**tight, pme_split=split))
            for split in ("prolate", "gaussian")
        ),
        strict=True,
    )
    assert relative_rms(forces[0], forces[1]) < 3e-6
    assert energies[0]["potential"] == pytest.approx(energies[1]["potential"], rel=1e-6)
    assert abs(energies[0]["pme"] - energies[1]["pme"]) > 1000


@pytest.mark.parametrize("cutoff", [0.7, 1.2])
def test_other_cutoffs_are_served_as_well(exact: Any, cutoff: float) -> None:
    system, state, _ = exact
    plain = {"cutoff": cutoff, "dispersion_correction": False}
    forces = [
        quiltmd.reference(system, state, Nonbonded(pme_tolerance=tolerance, **plain))[1]
        for tolerance in (5e-4, 3e-6)
    ]
    assert 0.3 * 5e-4 < relative_rms(*forces) < 1.25 * 5e-4


@pytest.mark.parametrize(
    ("split", "order", "cutoff", "tolerance"),
    [
        ("prolate", 4, 0.3, 1e-4),
        ("prolate", 4, 0.45, 1e-5),
        ("gaussian", 4, 0.45, 5e-4),
        ("gaussian", 4, 0.45, 1e-5),
        ("gaussian", 5, 0.45, 1e-5),
        ("gaussian", 4, 0.6, 1e-5),
        ("gaussian", 5, 0.6, 1e-5),
    ],
)
def test_short_cutoffs_are_served_as_well(
    split: Any, order: Any, cutoff: float, tolerance: float
) -> None:
    """Of charges alone: Lennard-Jones interactions change with the cutoff."""
    system, state = warm_water((6, 6, 6), 300)
    charged = System.of(system.masses, charges=system.charges, exclusions=system.exclusions)
    tight = Nonbonded(pme_order=5, pme_tolerance=1e-6)
    forces = quiltmd.reference(charged, state, tight)[1]
    settings = Nonbonded(cutoff=cutoff, pme_order=order, pme_tolerance=tolerance, pme_split=split)
    error = relative_rms(quiltmd.reference(charged, state, settings)[1], forces)
    assert error < 2.2 * tolerance


def test_a_split_and_its_parameters_are_stated_one_way() -> None:
    box = 3 * np.eye(3)
    assert 10 < Nonbonded().resolve(box)["pme_bandwidth"] < 10.5
    assert Nonbonded().resolve(box)["pme_alpha"] == 0
    assert Nonbonded(pme_split="gaussian").resolve(box)["pme_bandwidth"] == 0
    stated = Nonbonded(pme_bandwidth=9.5, pme_grid=(20, 20, 20))
    assert stated.resolve(box)["pme_bandwidth"] == 9.5
    # What replaces them brings back the rule.
    assert stated.overridden({"pme_split": "gaussian"}).resolve(box)["pme_alpha"] > 3
    theirs = Nonbonded(pme_alpha=3.0, pme_grid=(32, 32, 32))
    assert theirs.resolve(box)["pme_alpha"] == 3.0
    assert theirs.overridden({"pme_split": "prolate"}).resolve(box)["pme_bandwidth"] > 9
    other = {"pme_bandwidth": 11.0, "pme_grid": (24, 24, 24)}
    assert theirs.overridden(other).resolve(box)["pme_alpha"] == 0


def test_windows_are_those_of_the_grid_unless_stated() -> None:
    """With a stated grid there are B-splines, as in files that knew no others, and with order 4."""
    box = np.diag([3.0, 3.1, 3.3])
    assert Nonbonded(pme_order=4).resolve(box)["pme_window"] == 0
    chosen = Nonbonded(pme_order=5).resolve(box)
    spacing = (np.diag(box) / chosen["pme_grid"]).max()
    assert chosen["pme_window"] == pytest.approx(spacing, abs=1e-4)
    stated = Nonbonded(pme_bandwidth=9.5, pme_grid=(20, 20, 20))
    assert stated.resolve(box)["pme_window"] == 0
    assert replace(stated, pme_window=0.16).resolve(box)["pme_window"] == 0.16
    assert Nonbonded(pme_split="gaussian").resolve(box)["pme_window"] == 0
    splines = Nonbonded(pme_order=5, pme_window=0.0).resolve(box)
    assert splines["pme_window"] == 0
    assert np.prod(splines["pme_grid"]) > 1.3 * np.prod(chosen["pme_grid"])
    assert replace(stated, pme_window=0.16).overridden({"pme_tolerance": 1e-3}).pme_window is None


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"pme_bandwidth": 9.0}, "pme_bandwidth and pme_grid belong together"),
        (
            {"pme_bandwidth": 9.0, "pme_alpha": 3.0, "pme_grid": (32, 32, 32)},
            "without pme_alpha: give these two or neither",
        ),
        ({"pme_bandwidth": 2.0, "pme_grid": (32, 32, 32)}, "greater than or equal to 4"),
        (
            {"pme_split": "gaussian", "pme_bandwidth": 9.0, "pme_grid": (32, 32, 32)},
            "give either pme_split, which sets the grid by the tolerance, or pme_grid",
        ),
        ({"pme_window": 0.2}, "pme_window is the spacing of pme_grid, and needs it"),
        (
            {"pme_alpha": 3.0, "pme_grid": (32, 32, 32), "pme_window": 0.2},
            "pme_window is for the prolate split",
        ),
        ({"pme_split": "gaussian", "pme_window": 0.0}, "pme_window is for the prolate split"),
        ({"method": "cutoff", "pme_window": 0.0}, "has no PME: leave out pme_window"),
        ({"method": "cutoff", "pme_split": "prolate"}, "has no PME: leave out pme_split"),
    ],
)
def test_parameters_of_splits_that_are_refused(settings: Any, words: str) -> None:
    with pytest.raises(quiltmd.QuiltError, match=words):
        Nonbonded(**settings)


@pytest.mark.parametrize("cutoff", [0.1, 0.3, 0.9])
def test_the_tolerance_that_is_offered_in_place_of_an_impossible_one_is_possible(
    cutoff: float,
) -> None:
    box = 0.3 * np.eye(3)
    with pytest.raises(quiltmd.QuiltError, match=f"with a cutoff of {cutoff:g} nm") as refused:
        prolate_parameters(box, cutoff, 1e-9)
    offered = float(re.findall(r"choose (\S+) or more", str(refused.value))[0])
    assert prolate_parameters(box, cutoff, offered)[0] > 19
    with pytest.raises(quiltmd.QuiltError, match="cannot be reached in single precision"):
        prolate_parameters(box, cutoff, 0.8 * offered)


@pytest.mark.parametrize(
    ("split", "words"),
    [
        ({"pme_bandwidth": 14.0}, r"is too coarse for pme_bandwidth = 14 with a cutoff of 0.9 nm"),
        ({"pme_alpha": 3.0}, r"is coarse for pme_alpha = 3 1/nm"),
    ],
)
def test_a_stated_grid_that_is_too_coarse_is_told(exact: Any, split: Any, words: str) -> None:
    """A warning comes where forces are wrong by more than 5e-3, as a converged sum has it."""
    system, state, forces = exact
    warned, wrong = [], []
    for points in (8, 20):
        settings = Nonbonded(**split, pme_grid=(points, points, points))
        told = [line for line in oddities(system, state, settings) if "pme_grid" in line]
        assert all(re.search(words, line) for line in told)
        warned.append(bool(told))
        error = relative_rms(quiltmd.reference(system, state, settings)[1], forces)
        wrong.append(error > 5e-3)
    assert warned == wrong == [True, False]


def test_a_window_for_another_grid_is_told(exact: Any) -> None:
    system, state, _ = exact
    chosen = Nonbonded(pme_order=5).resolve(state.box)
    mesh = {name: chosen[name] for name in ("pme_bandwidth", "pme_grid", "pme_order")}
    for factor, told in ((1.0, 0), (0.7, 1), (1.4, 1)):
        settings = Nonbonded(**mesh, pme_window=factor * chosen["pme_window"])
        lines = [line for line in oddities(system, state, settings) if "pme_window" in line]
        assert len(lines) == told
        assert all(f"or give {chosen['pme_window']:.4g} nm" in line for line in lines)


def test_a_grid_of_the_dispersion_that_is_too_coarse_is_told(exact: Any) -> None:
    system, state, _ = exact
    settings = Nonbonded(lennard_jones="pme", lj_pme_alpha=3.0, lj_pme_grid=(8, 8, 8))
    told = [line for line in oddities(system, state, settings) if "lj_pme_grid 8 x 8 x 8" in line]
    assert len(told) == 1
    assert "is coarse for lj_pme_alpha = 3 1/nm" in told[0]


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


def test_the_default_is_served_by_short_polynomials() -> None:
    """Beyond these numbers pair kernels take more terms: see test_nonbonded.cpp."""
    box, tolerance = np.eye(3) * 5.0, Nonbonded().pme_tolerance
    for order in (4, 5):
        assert pme_parameters(box, 0.9, tolerance, order)[0] * 0.9 <= 2.7541
        for cutoff in (0.8, 0.9, 1.2):
            assert prolate_parameters(box, cutoff, tolerance, order)[0] <= 10.4


def test_order_5_takes_coarser_grids() -> None:
    box = np.eye(3) * 9.0
    assert Nonbonded().resolve(box)["pme_order"] == 5
    assert Nonbonded().resolve(0.9 * box)["pme_order"] == 4
    assert Nonbonded(pme_tolerance=1e-5).resolve(0.9 * box)["pme_order"] == 5
    for tolerance in (5e-4, 1e-5):
        fine, finer = (pme_parameters(box, 0.9, tolerance, order)[1] for order in (5, 4))
        assert fine < finer
