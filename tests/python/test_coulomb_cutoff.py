# SPDX-License-Identifier: Apache-2.0
"""A Coulomb cutoff shorter than that of Lennard-Jones: the same forces within the tolerance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boxes import digest, engine, relative_rms, state_of, water_box

import quiltmd
from quiltmd import LangevinMiddle, Nonbonded, Simulation, State, System, VelocityVerlet
from quiltmd.description.coulomb_cutoff import with_coulomb_cutoff
from quiltmd.running.chosen_settings import as_begun
from quiltmd.running.config import build_config
from quiltmd.running.identity import changed_settings

MINIMAL = {
    "system": {"topology": "a.prmtop", "coordinates": "a.inpcrd"},
    "run": {"steps": 1},
    "output": {"dir": "out"},
}
SHORT = Nonbonded(cutoff=0.9, coulomb_cutoff=0.7)


@pytest.fixture(scope="module")
def peptide(alanine: tuple[Path, Path]) -> tuple[Any, Any]:
    """A peptide in water, warm."""
    system, state = quiltmd.load(*alanine, constraints="h-bonds", hydrogen_mass=3.024)
    core = engine(system, state, integrator=LangevinMiddle(friction=5, seed=1), threads=2)
    core.minimize(100.0, 60)
    core.draw_velocities(300.0, 1)
    core.run(50)
    warm = state_of(core)
    return system, State(warm.positions, warm.velocities, warm.box)


@pytest.fixture(scope="module")
def exact(peptide: Any) -> tuple[dict[str, float], Any]:
    """Energies and forces by a converged sum with a single cutoff."""
    tight = Nonbonded(cutoff=0.9, pme_order=5, pme_tolerance=2e-6, pme_split="gaussian")
    result: tuple[dict[str, float], Any] = quiltmd.reference(*peptide, tight)
    return result


@pytest.mark.parametrize("tolerance", [1e-3, 5e-4, 1e-4])
def test_forces_are_as_accurate_as_asked(peptide: Any, exact: Any, tolerance: float) -> None:
    settings = Nonbonded(cutoff=0.9, coulomb_cutoff=0.7, pme_tolerance=tolerance)
    energies, forces = quiltmd.reference(*peptide, settings)
    assert 0.3 * tolerance < relative_rms(forces, exact[1]) < 1.25 * tolerance
    assert energies["lj"] == pytest.approx(exact[0]["lj"], rel=1e-12)
    assert energies["dispersion"] == exact[0]["dispersion"]
    assert energies["potential"] == pytest.approx(exact[0]["potential"], abs=1e4 * tolerance)


@pytest.mark.parametrize("settings", [{}, {"potential_shift": True, "pme_order": 5}])
def test_kernels_have_the_forces_of_the_reference(peptide: Any, settings: dict[str, Any]) -> None:
    short = Nonbonded(cutoff=0.9, coulomb_cutoff=0.7, **settings)
    energies, forces = quiltmd.reference(*peptide, short)
    simulation = Simulation(*peptide, nonbonded=short, device="cpu", ranks=2)
    assert relative_rms(simulation.forces(), forces) < 3e-6
    found = simulation.energies()
    for kind in ("lj", "coulomb", "pme", "potential"):
        assert found[kind] == pytest.approx(energies[kind], rel=3e-6)
    virial = quiltmd.reference_virial(*peptide, short)
    np.testing.assert_allclose(simulation.virial(), virial, atol=5e-5 * np.abs(virial).max())


def test_virial_and_forces_are_slopes_of_the_energy() -> None:
    system, state = water_box((6, 6, 6), rigid=False)  # rigid groups would be moved as a whole
    bandwidth, grid, window = quiltmd.prolate_parameters(state.box, 0.7, 5e-4)
    # Energies that jump at the cutoff have slopes that no force knows of.
    short = Nonbonded(
        coulomb_cutoff=0.7,
        potential_shift=True,
        dispersion_correction=False,
        pme_order=5,
        pme_bandwidth=bandwidth,
        pme_grid=grid,
        pme_window=window,
    )
    virial = quiltmd.reference_virial(system, state, short)
    forces = quiltmd.reference(system, state, short)[1]

    def slope(change: Callable[[float], State]) -> float:
        step = 1e-5
        below, above = (
            quiltmd.reference(system, change(way * step), short)[0]["potential"] for way in (-1, 1)
        )
        return float(below - above) / (2 * step)

    for i, j in ((0, 0), (1, 1), (2, 1)):

        def strained(strain: float, i: int = i, j: int = j) -> State:
            bent = np.eye(3)
            bent[i, j] += strain
            return State(state.positions @ bent, state.velocities, state.box @ bent)

        assert slope(strained) == pytest.approx(virial[i, j], rel=2e-4, abs=0.5)
    for atom, d in ((0, 0), (101, 1)):

        def moved(step: float, atom: int = atom, d: int = d) -> State:
            places = np.array(state.positions)
            places[atom, d] += step
            return State(places, state.velocities, state.box)

        assert slope(moved) == pytest.approx(forces[atom, d], rel=2e-4, abs=0.05)


@pytest.mark.parametrize(
    "integrator",
    [
        VelocityVerlet(timestep=0.002, long_range_every=2),
        LangevinMiddle(timestep=0.004, seed=5),
    ],
)
def test_ranks_and_stops_do_not_matter(peptide: Any, integrator: Any) -> None:
    straight = engine(*peptide, SHORT, integrator)
    straight.run(36)
    for ranks in (2, 3, 5):
        core = engine(*peptide, SHORT, integrator, ranks=ranks)
        core.run(36)
        assert digest(core) == digest(straight)
    core = engine(*peptide, SHORT, integrator, ranks=2)
    core.run(17)
    going_on = engine(peptide[0], state_of(core), SHORT, integrator)
    going_on.run(19)
    assert digest(going_on) == digest(straight)


def test_lists_hold_what_moves_into_reach(peptide: Any) -> None:
    """Forces after steps with old lists are those of the reference at the same places."""
    simulation = Simulation(
        *peptide, nonbonded=SHORT, integrator=LangevinMiddle(timestep=0.004, seed=2), device="cpu"
    )
    for _ in range(3):
        simulation.run(7)
        forces = quiltmd.reference(peptide[0], simulation.state(), SHORT)[1]
        assert relative_rms(simulation.forces(), forces) < 5e-6


def test_settings_follow_each_other() -> None:
    box = 3 * np.eye(3)
    assert Nonbonded().resolve(box)["coulomb_cutoff"] == 0.9
    finer = SHORT.resolve(box)
    assert finer["coulomb_cutoff"] == 0.7
    assert finer["cutoff"] == 0.9
    assert finer["pme_grid"][0] > Nonbonded().resolve(box)["pme_grid"][0]
    # What it does not go with ends it, where that is given later.
    for given in (
        {"pme_split": "gaussian"},
        {"lennard_jones": "pme"},
        {"cutoff": 1.0},
        {"switching": "charmm", "switch_distance": 0.7},
        {"method": "fmm"},
    ):
        assert SHORT.overridden(given).coulomb_cutoff is None
    stated = Nonbonded(pme_alpha=3.0, pme_grid=(32, 32, 32))
    assert stated.overridden({"coulomb_cutoff": 0.7}).pme_grid is None


@pytest.fixture(scope="module")
def sea() -> tuple[System, Any]:
    """81,000 atoms of water, and their box."""
    system, state = water_box((6, 6, 6))
    return system.tile(5, 5, 5), 5 * np.asarray(state.box)


def test_large_systems_of_water_have_a_shorter_one_by_default(sea: tuple[System, Any]) -> None:
    system, box = sea
    assert with_coulomb_cutoff(system, Nonbonded(), box).coulomb_cutoff == 0.7
    assert with_coulomb_cutoff(system, Nonbonded(cutoff=1.0), box).coulomb_cutoff == 0.78
    # A shifted potential changes no force, and so no bit.
    shifted = Nonbonded(potential_shift=True)
    assert with_coulomb_cutoff(system, shifted, box).coulomb_cutoff == 0.7
    assert with_coulomb_cutoff(system, Nonbonded(coulomb_cutoff=0.8), box).coulomb_cutoff == 0.8


@pytest.mark.parametrize(
    "settings",
    [
        {"pme_split": "gaussian"},
        {"pme_alpha": 3.0, "pme_grid": (128, 128, 128)},
        {"pme_bandwidth": 10.0, "pme_grid": (128, 128, 128)},
        {"pme_order": 4},
        {"pme_window": 0.0},
        {"pme_tolerance": 1e-5},  # the finer grid would take more than the pairs
        {"switching": "potential", "switch_distance": 0.8},
        {"lennard_jones": "pme"},
        {"method": "reaction-field"},
        {"method": "cutoff"},
        {"method": "fmm"},
    ],
)
def test_settings_that_leave_one_cutoff(sea: tuple[System, Any], settings: dict[str, Any]) -> None:
    nonbonded = Nonbonded(**settings)
    assert with_coulomb_cutoff(sea[0], nonbonded, sea[1]) is nonbonded


def test_systems_that_leave_one_cutoff(sea: tuple[System, Any]) -> None:
    """Small ones, those of atoms with Lennard-Jones, those without a box, stated settings."""
    system, box = sea
    small, state = water_box((6, 6, 6))
    everywhere = replace(system, lj_types=np.zeros_like(system.lj_types))
    assert np.asarray(system.lj_a)[0, 0] > 0
    stated = replace(system, nonbonded=Nonbonded())
    for others in ((small, state.box), (everywhere, box), (system, None), (stated, box)):
        assert with_coulomb_cutoff(others[0], Nonbonded(), others[1]).coulomb_cutoff is None
    # Of a small one in a tiled box its copies count.
    assert with_coulomb_cutoff(small, Nonbonded(), box, copies=125).coulomb_cutoff == 0.7


def test_a_run_states_what_was_chosen_and_goes_on_with_it() -> None:
    begun = build_config(MINIMAL)
    physics = begun.physics(3 * np.eye(3))
    assert physics["nonbonded.coulomb_cutoff"] == 0.9
    assert as_begun(begun, physics).nonbonded.coulomb_cutoff == 0.9
    older = {key: value for key, value in physics.items() if not key.endswith("coulomb_cutoff")}
    assert as_begun(begun, older).nonbonded.coulomb_cutoff == 0.9
    assert changed_settings({"physics": older}, {"physics": physics}) == []
    shorter = {**physics, "nonbonded.coulomb_cutoff": 0.7}
    assert as_begun(begun, shorter).nonbonded.coulomb_cutoff == 0.7
    changes = changed_settings({"physics": physics}, {"physics": shorter})
    assert changes == ["nonbonded.coulomb_cutoff (was 0.9, is 0.7)"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"coulomb_cutoff": 1.0}, "coulomb_cutoff 1 nm must be at most the cutoff, 0.9 nm"),
        ({"coulomb_cutoff": 0.7, "pme_split": "gaussian"}, "cannot be combined with pme_split"),
        (
            {"coulomb_cutoff": 0.7, "pme_alpha": 3.0, "pme_grid": (32, 32, 32)},
            "cannot be combined with pme_alpha",
        ),
        ({"coulomb_cutoff": 0.7, "lennard_jones": "pme"}, "combined with lennard_jones = pme"),
        (
            {"coulomb_cutoff": 0.7, "switching": "potential", "switch_distance": 0.8},
            "combined with switching = potential",
        ),
        ({"coulomb_cutoff": 0.05}, "greater than or equal to 0.1"),
        ({"coulomb_cutoff": 0.7, "method": "fmm"}, "the method fmm has no PME: leave out coulomb"),
        ({"coulomb_cutoff": 0.7, "method": "cutoff"}, "no PME: leave out coulomb_cutoff"),
        ({"coulomb_cutoff": 0.7, "method": "reaction-field"}, "no PME: leave out coulomb_cutoff"),
    ],
)
def test_what_it_does_not_go_with_is_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(quiltmd.QuiltError, match=words):
        Nonbonded(**settings)
