# SPDX-License-Identifier: Apache-2.0
"""A relative permittivity: smaller charges, with every method, and what is written for OpenMM."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from boxes import relative_rms
from openmm_reference import energy_and_forces

import quiltmd
from quiltmd import Nonbonded, QuiltError, Simulation, State, System
from quiltmd.openmm.write import to_openmm


def charged() -> tuple[System, State]:
    """Chains of four charges, of which the outer ones are a 1-4 pair."""
    rng = np.random.default_rng(7)
    chains = 20
    first = 4 * np.arange(chains)
    bonds = np.concatenate([np.stack([first + k, first + k + 1], axis=1) for k in range(3)])
    pairs = np.stack([first, first + 3], axis=1)
    charges = np.tile([0.4, -0.3, 0.3, -0.4], chains)
    system = System.of(
        np.full(4 * chains, 24.0),
        charges,
        sigma=0.3,
        epsilon=0.4,
        terms={
            "bond": (bonds, np.tile([0.2, 1e4], (len(bonds), 1))),
            "pair14": (pairs, np.tile([-0.16, 0.25, 0.3], (chains, 1))),
        },
    )
    corners = np.stack(np.meshgrid(*[np.arange(3)] * 3), -1).reshape(-1, 3)[:chains]
    zigzag = np.tile([[0.14, 0.1, 0.08], [0.14, -0.1, 0.08]], (2, 1))
    steps = np.cumsum(zigzag, axis=0)
    places = (corners[:, None] * 0.9 + steps).reshape(-1, 3) + rng.normal(0, 0.02, (4 * chains, 3))
    return system, State(places, 0 * places, 2.7 * np.eye(3))


METHODS = [
    Nonbonded(cutoff=1.2, method="reaction-field", dielectric=60),
    Nonbonded(cutoff=1.2, method="reaction-field", dielectric=0),
    Nonbonded(cutoff=1.2, method="cutoff", potential_shift=True),
    Nonbonded(cutoff=1.2, pme_tolerance=1e-5),
    Nonbonded(cutoff=1.2, method="fmm"),
]


@pytest.mark.filterwarnings("ignore::quiltmd.QuiltWarning")
@pytest.mark.parametrize("chosen", METHODS, ids=lambda one: f"{one.method}-{one.dielectric:g}")
def test_a_dielectric_constant_is_smaller_charges(chosen: Nonbonded) -> None:
    """Charges of 1/3, products of 1/9, and a medium beyond the cutoff with 1/9 of its constant."""
    system, state = charged()
    pairs = system.terms["pair14"]
    thin = replace(
        system.with_terms(replace(pairs, parameters=pairs.parameters * [1 / 9, 1, 1])),
        charges=system.charges / 3,
    )
    beyond = {"dielectric": chosen.dielectric / 9} if chosen.dielectric == 60 else {}
    expected, forces = quiltmd.reference(thin, state, replace(chosen, **beyond))
    within = replace(chosen, relative_permittivity=9.0)
    found, same = quiltmd.reference(system, state, within)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(same, forces, rtol=1e-9, atol=1e-9)
    simulation = Simulation(system, state, nonbonded=within, device="cpu", threads=1)
    assert simulation.energies()["potential"] == pytest.approx(expected["potential"], rel=1e-5)
    assert found["coulomb14"] != 0


@pytest.mark.parametrize("chosen", METHODS[:2] + METHODS[3:4], ids=["60", "conductor", "pme"])
def test_a_dielectric_constant_is_written_for_openmm(chosen: Nonbonded) -> None:
    system, state = charged()
    chosen = replace(chosen, relative_permittivity=15.0, dispersion_correction=False)
    if chosen.method == "reaction-field":
        chosen = replace(chosen, reaction_field_on_exclusions=False)
    made = to_openmm(system, chosen, state.box)
    energy, forces = energy_and_forces(made, state.positions)
    ours, here = quiltmd.reference(system, state, chosen)
    assert ours["potential"] == pytest.approx(energy, rel=1e-5)
    assert relative_rms(here, forces) < 1e-4


def test_an_infinite_one_leaves_no_charges() -> None:
    system, state = charged()
    for chosen in METHODS[1:4]:
        none = replace(chosen, relative_permittivity=0.0)
        found, _ = quiltmd.reference(system, state, none)
        assert found["coulomb"] == found["pme"] == found["coulomb14"] == 0


def test_what_has_no_dielectric_constant() -> None:
    with pytest.raises(QuiltError, match="at least 15, not 4"):
        Nonbonded(method="reaction-field", dielectric=4, relative_permittivity=15)
    with pytest.raises(QuiltError, match="relative_permittivity"):
        Nonbonded(relative_permittivity=-1)
    system, state = charged()
    solvated = replace(
        system,
        solvent=quiltmd.ImplicitSolvent("obc2"),
        born_radii=np.full(80, 0.17),
        born_screening=np.full(80, 0.8),
    )
    state = State(state.positions, state.velocities, None)
    chosen = Nonbonded(method="no-cutoff", relative_permittivity=2)
    for use in (quiltmd.reference, lambda *given: Simulation(given[0], given[1], nonbonded=chosen)):
        with pytest.raises(QuiltError, match="leave out relative_permittivity"):
            use(solvated, state, chosen)
