# SPDX-License-Identifier: Apache-2.0
"""Free energies of short runs: a cycle closes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import quiltmd
from quiltmd.description.settings import BOLTZMANN

pymbar = pytest.importorskip("pymbar")
pytestmark = pytest.mark.filterwarnings("ignore:a cutoff of 0.7 nm")

TEMPERATURE = 300.0
KT = BOLTZMANN * TEMPERATURE
ARGON, SMALL, LARGE = (0.34, 1.0), (0.3, 0.4), (0.42, 1.6)  # sigma, nm, and epsilon, kJ/mol
EDGE, ATOMS = 1.8, 4  # of the box, nm, and of atoms along it
SETTINGS = quiltmd.Nonbonded(cutoff=0.7, pme_grid=(8, 8, 8), pme_alpha=4.0)
LAMBDAS = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
SAMPLES = 300  # of each state


def solution(solute: tuple[float, float], count: int) -> tuple[quiltmd.System, quiltmd.State]:
    """One atom, and argon around it."""
    sigma, epsilon = np.array([solute, *[ARGON] * (count - 1)]).T
    system = quiltmd.System.of(
        np.full(count, 39.948), np.zeros(count), sigma=sigma, epsilon=epsilon
    )
    grid = np.stack(np.meshgrid(*[np.arange(ATOMS)] * 3), -1).reshape(-1, 3)[:count]
    return system, quiltmd.State.start(system, grid * EDGE / ATOMS, np.eye(3) * EDGE)


def free_energy(system: quiltmd.System, state: quiltmd.State) -> tuple[float, float]:
    """Of the last state less the first, by MBAR, and its standard error."""
    assert system.alchemy is not None
    integrator = quiltmd.LangevinMiddle(TEMPERATURE, 2.0, timestep=0.01, seed=1)
    run = quiltmd.Simulation(system, state, SETTINGS, integrator, device="cpu", ranks=1, threads=1)
    run.draw_velocities(TEMPERATURE, 1)
    samples: list[Any] = []
    sample = quiltmd.FunctionReporter(
        lambda frame: samples.append(frame.state_energies()), 15, ("energies",)
    )
    states = len(system.alchemy.states)
    for number in range(states):
        run.set_conditions(**system.alchemy.state(number))
        run.run(100)
        run.run(SAMPLES * sample.every, [sample])
    found = pymbar.MBAR(np.array(samples).T / KT, [SAMPLES] * states)
    free = found.compute_free_energy_differences()
    return KT * free["Delta_f"][0, -1], KT * free["dDelta_f"][0, -1]


def test_a_change_is_the_difference_of_two_that_vanish() -> None:
    """One atom becomes another in argon, and both vanish there: the cycle closes."""
    small, place = solution(SMALL, ATOMS**3)
    large, _ = solution(LARGE, ATOMS**3)
    turned, start = quiltmd.hybrid((small, place), solution(LARGE, 1), {0: 0}, *[LAMBDAS] * 3)
    without_charges = [1.0] * len(LAMBDAS)
    rows = [
        free_energy(turned, start),
        free_energy(quiltmd.decouple(small, [0], without_charges, LAMBDAS), place),
        free_energy(quiltmd.decouple(large, [0], without_charges, LAMBDAS), place),
    ]
    change, of_small, of_large = (value for value, _ in rows)
    error = float(np.linalg.norm([error for _, error in rows]))
    assert error < 0.4
    assert abs(change) > 6 * error
    assert change == pytest.approx(of_small - of_large, abs=3.5 * error)
