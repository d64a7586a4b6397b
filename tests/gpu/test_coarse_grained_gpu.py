# SPDX-License-Identifier: Apache-2.0
"""Terms of Martini, GROMOS and polymers, and steps of 20 fs, on a GPU."""

from __future__ import annotations

from pathlib import Path

import coarse_grained
import numpy as np
import pytest

import quiltmd
from quiltmd import LangevinMiddle, Nonbonded, Simulation, State, System

pytestmark = pytest.mark.gpu

CHOSEN = Nonbonded(
    cutoff=1.1,
    method="reaction-field",
    relative_permittivity=15,
    dielectric=0,
    potential_shift=True,
    dispersion_correction=False,
)


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
