# SPDX-License-Identifier: Apache-2.0
"""Terms of Martini, GROMOS and polymers, and steps of 20 fs, on a GPU."""

from __future__ import annotations

from pathlib import Path

import coarse_grained
import numpy as np
import pytest
from many_body import chains

import quiltmd
from quiltmd import LangevinMiddle, Nonbonded, Simulation, State, System

pytestmark = pytest.mark.gpu

CHOSEN = coarse_grained.nonbonded(1.1)


@pytest.fixture
def beads(tmp_path: Path) -> tuple[System, State]:
    return quiltmd.load(*coarse_grained.write(tmp_path), rigid_water=False)


def test_forces_and_energies_are_those_of_double_precision(beads: tuple[System, State]) -> None:
    system, state = beads
    energies, forces = quiltmd.reference(system, state, CHOSEN)
    simulation = Simulation(system, state, nonbonded=CHOSEN, device="cuda")
    found = simulation.forces()
    assert np.sqrt(((found - forces) ** 2).mean() / (forces**2).mean()) < 2e-5
    ours = simulation.energies()
    for name, expected in energies.items():
        assert ours[name] == pytest.approx(expected, rel=1e-5, abs=0.01), name


def test_bits_do_not_depend_on_ranks(beads: tuple[System, State]) -> None:
    system, state = beads
    found = []
    for device in ("cuda:0", "cuda:0,0"):
        simulation = Simulation(
            system,
            state,
            nonbonded=CHOSEN,
            integrator=LangevinMiddle(300, 2.0, 0.02, seed=1),
            device=device,
        )
        simulation.run(200)
        assert simulation.temperature() < 500
        found.append(simulation.state().positions.tobytes())
    assert found[0] == found[1]


def test_bonds_of_kremer_and_grest_are_those_of_double_precision() -> None:
    """A chain of beads on a line that winds through the box; half of its bonds are repelled."""
    count, sigma = 216, 0.34
    corners = np.indices((6, 6, 6)).reshape(3, -1).T
    shifts = np.random.default_rng(2).uniform(-0.03, 0.03, (count, 3))
    places = corners * 1.1 * sigma + shifts
    bonds = [[k, k + 1] for k in range(count - 1) if k % 6 != 5]
    values = [1.5 * sigma, 30 * 0.996 / sigma**2, sigma, 0.996]
    system = System.of(
        np.full(count, 39.948),
        sigma=sigma,
        epsilon=0.996,
        terms={"fene": (bonds, [values] * len(bonds))},
    )
    state = State.start(system, places, np.eye(3) * 6.6 * sigma)
    chosen = Nonbonded(cutoff=1.12 * sigma, method="cutoff", potential_shift=True)
    energies, forces = quiltmd.reference(system, state, chosen)
    simulation = Simulation(system, state, nonbonded=chosen, device="cuda")
    assert np.sqrt(((simulation.forces() - forces) ** 2).mean() / (forces**2).mean()) < 2e-5
    assert simulation.energies()["bond"] == pytest.approx(energies["bond"], rel=1e-5)


def test_bits_do_not_depend_on_the_number_of_patches_of_a_rank() -> None:
    """Of many patches chunks are summed up before they are laid out."""
    case = chains(32_000)
    found = []
    for device in ("cuda:0", "cuda:0,0"):
        simulation = Simulation(
            case.system,
            case.state,
            nonbonded=case.nonbonded,
            integrator=case.integrator,
            device=device,
        )
        assert 2048 < simulation.describe()["patches"] < 2 * 2048
        simulation.draw_velocities(case.kelvin, seed=1)
        simulation.run(100)
        found.append(quiltmd.digest(simulation.state()))
    assert found[0] == found[1]
