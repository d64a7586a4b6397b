# SPDX-License-Identifier: Apache-2.0
"""Free energies of short runs: cycles close, and harmonic bonds have those of their integrals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import quiltmd
from quiltmd.description.alchemy import Alchemy, ChangedTerms
from quiltmd.description.settings import BOLTZMANN

pymbar = pytest.importorskip("pymbar")
pytestmark = pytest.mark.filterwarnings("ignore:a cutoff of 0.7 nm")

TEMPERATURE = 300.0
KT = BOLTZMANN * TEMPERATURE
ARGON, SMALL, LARGE = (0.34, 1.0), (0.3, 0.4), (0.42, 1.6)  # sigma, nm, and epsilon, kJ/mol
EDGE, ATOMS = 1.8, 4  # of the box, nm, and of atoms along it
SETTINGS = quiltmd.Nonbonded(cutoff=0.7, pme_grid=(8, 8, 8), pme_alpha=4.0)
LAMBDAS = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)


def solution(solute: tuple[float, float], count: int) -> tuple[quiltmd.System, quiltmd.State]:
    """One atom, and argon around it."""
    sigma, epsilon = np.array([solute, *[ARGON] * (count - 1)]).T
    system = quiltmd.System.of(
        np.full(count, 39.948), np.zeros(count), sigma=sigma, epsilon=epsilon
    )
    grid = np.stack(np.meshgrid(*[np.arange(ATOMS)] * 3), -1).reshape(-1, 3)[:count]
    return system, quiltmd.State.start(system, grid * EDGE / ATOMS, np.eye(3) * EDGE)


def free_energy(
    system: quiltmd.System, state: quiltmd.State, integrator: Any, counts: Sequence[int]
) -> tuple[float, float]:
    """Of the last state less the first, by MBAR, and its standard error.

    `counts`: steps before the samples of a state, samples of a state, and steps between them.
    """
    assert system.alchemy is not None
    before, count, apart = counts
    run = quiltmd.Simulation(system, state, SETTINGS, integrator, device="cpu", ranks=1, threads=1)
    run.draw_velocities(TEMPERATURE, 1)
    samples: list[Any] = []
    sample = quiltmd.FunctionReporter(
        lambda frame: samples.append(frame.state_energies()), apart, ("energies",)
    )
    states = len(system.alchemy.states)
    for number in range(states):
        run.set_conditions(**system.alchemy.state(number))
        run.run(before)
        run.run(count * apart, [sample])
    found = pymbar.MBAR(np.array(samples).T / KT, [count] * states)
    free = found.compute_free_energy_differences()
    return KT * free["Delta_f"][0, -1], KT * free["dDelta_f"][0, -1]


def test_a_change_is_the_difference_of_two_that_vanish() -> None:
    """One atom becomes another in argon, and both vanish there: the cycle closes."""
    count = ATOMS**3
    small, place = solution(SMALL, count)
    large, _ = solution(LARGE, count)
    alone = solution(LARGE, 1)
    turned, start = quiltmd.hybrid((small, place), alone, {0: 0}, *[LAMBDAS] * 3)
    rows = []
    for system, state in (
        (turned, start),
        (quiltmd.decouple(small, [0], [1.0] * len(LAMBDAS), LAMBDAS), place),
        (quiltmd.decouple(large, [0], [1.0] * len(LAMBDAS), LAMBDAS), place),
    ):
        integrator = quiltmd.LangevinMiddle(TEMPERATURE, 2.0, timestep=0.01, seed=1)
        rows.append(free_energy(system, state, integrator, (100, 300, 15)))
    change, of_small, of_large = (value for value, _ in rows)
    error = float(np.linalg.norm([error for _, error in rows]))
    assert error < 0.4
    assert abs(change) > 6 * error
    assert change == pytest.approx(of_small - of_large, abs=3.5 * error)


def test_bonds_have_the_free_energy_of_their_integral() -> None:
    """Molecules of two atoms without other interactions, whose bonds change length and strength."""
    count, first, last = 6, (0.12, 4000.0), (0.13, 9000.0)
    atoms = np.arange(2 * count)
    bonds = atoms.reshape(-1, 2)
    plain = quiltmd.System.of(
        np.full(2 * count, 12.0),
        np.zeros(2 * count),
        sigma=np.full(2 * count, 0.3),
        epsilon=np.zeros(2 * count),
        bonds=bonds,
        bond_parameters=[first] * count,
        exclusions=bonds,
    )
    states = np.repeat(np.linspace(0, 1, 5)[:, None], 3, axis=1)
    changed = ChangedTerms("bond", np.arange(count), np.array([last] * count))
    system = replace(plain, alchemy=Alchemy(atoms, states, states[0], changed_terms=(changed,)))
    places = np.stack([atoms * 0.12, atoms * 0.0, atoms * 0.0], 1)
    state = quiltmd.State.start(system, places, np.eye(3) * EDGE)
    integrator = quiltmd.LangevinMiddle(TEMPERATURE, 20.0, timestep=0.001, seed=2)
    value, error = free_energy(system, state, integrator, (200, 400, 50))
    r = np.linspace(0.02, 0.3, 20001)
    parts = [
        np.trapezoid(r**2 * np.exp(-k * (r - length) ** 2 / (2 * KT)), r)
        for length, k in (first, last)
    ]
    exact = -count * KT * np.log(parts[1] / parts[0])
    assert error < 0.1 * abs(exact)
    assert value == pytest.approx(exact, abs=3.5 * error)
