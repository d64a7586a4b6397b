# SPDX-License-Identifier: Apache-2.0
"""Chains of Nose-Hoover thermostats against their equations of motion, solved otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boxes import through_file, water_box
from numpy.typing import NDArray

import quiltmd
from quiltmd import (
    BathGroup,
    LangevinMiddle,
    Nonbonded,
    NoseHooverChain,
    QuiltError,
    Simulation,
    State,
    VelocityRescaling,
    VelocityVerlet,
)
from quiltmd.description.settings import BOLTZMANN

TEMPERATURE, TIMESTEP = 300.0, 0.001
FORCE_CONSTANTS = np.array([4e4, 9e4, 2e4])  # kJ/mol/nm^2
MASSES = np.array([12.0, 16.0, 14.0, 14.0, 30.0, 8.0])


@pytest.fixture(scope="module")
def oscillators() -> tuple[Any, State]:
    """Three pairs of atoms, each joined by a spring of length 0, in a large box."""
    rng = np.random.default_rng(3)
    atoms = len(MASSES)
    pairs = np.arange(atoms).reshape(-1, 2)
    system = quiltmd.System.of(
        MASSES,
        bonds=pairs,
        bond_parameters=np.stack([np.zeros(3), FORCE_CONSTANTS], axis=1),
        exclusions=pairs,
    )
    positions = np.repeat(1.0 + np.arange(3), 2)[:, None] + rng.normal(scale=0.01, size=(atoms, 3))
    velocities = rng.normal(size=(atoms, 3)) * np.sqrt(BOLTZMANN * 400 / MASSES)[:, None]
    velocities -= MASSES @ velocities / MASSES.sum()
    return system, State(positions, velocities, 4.0 * np.eye(3))


def simulation(start: tuple[Any, State], thermostat: Any, **where: Any) -> Simulation:
    integrator = VelocityVerlet(TIMESTEP, remove_com_every=0)
    nonbonded = Nonbonded(method="cutoff", cutoff=0.9)
    return Simulation(*start, nonbonded, integrator, thermostat=thermostat, device="cpu", **where)


def forces(positions: NDArray[np.float64]) -> NDArray[np.float64]:
    pull = FORCE_CONSTANTS[:, None] * (positions[1::2] - positions[::2])
    return np.stack([pull, -pull], axis=1).reshape(-1, 3)


def chain_for(
    time: float,
    length: int,
    freedom: float,
    tau: float,
    atoms: slice = slice(None),
    temperature: float = TEMPERATURE,
) -> Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]:
    """Equations 2.9 of Martyna, Klein and Tuckerman by Runge and Kutta, velocities among them."""
    kt, of_atoms = BOLTZMANN * temperature, MASSES[atoms]
    masses = kt * tau**2 * np.array([freedom] + (length - 1) * [1])

    def slope(y: NDArray[np.float64]) -> NDArray[np.float64]:
        u, v = y[length : 2 * length], y[2 * length :].reshape(-1, 3)
        scattered = of_atoms @ (v**2).sum(axis=1) - freedom * kt
        twice = np.concatenate([[scattered], masses * u**2 - kt])
        du = twice[:-1] / masses
        du[:-1] -= u[:-1] * u[1:]
        return np.concatenate([u, du, (-u[0] * v).ravel()])

    def advance(chain: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64]:
        y, steps = np.concatenate([chain, v.ravel()]), 8
        h = time / steps
        for _ in range(steps):
            a = slope(y)
            b = slope(y + h / 2 * a)
            c = slope(y + h / 2 * b)
            y = y + h / 6 * (a + 2 * b + 2 * c + slope(y + h * c))
        return y

    return advance


@pytest.mark.parametrize(("length", "every"), [(1, 1), (3, 1), (3, 4), (5, 2)])
def test_trajectory_of_its_equations(
    oscillators: tuple[Any, State], length: int, every: int
) -> None:
    """200 steps of velocity Verlet with the equations of the chain solved between them."""
    state, tau = oscillators[1], 0.02
    run = simulation(
        oscillators, NoseHooverChain(TEMPERATURE, tau, chain_length=length, every=every)
    )
    run.run(200)
    x, v, chain = state.positions.copy(), state.velocities.copy(), np.zeros(2 * length)
    advance = chain_for(every * TIMESTEP, length, 3 * len(MASSES) - 3, tau)
    for step in range(1, 201):
        v = v + TIMESTEP / 2 * forces(x) / MASSES[:, None]
        x = x + TIMESTEP * v
        v = v + TIMESTEP / 2 * forces(x) / MASSES[:, None]
        if step % every == 0:
            y = advance(chain, v)
            chain, v = y[: 2 * length], y[2 * length :].reshape(-1, 3)
    found = run.state()
    assert np.abs(found.positions - x).max() < 1e-6
    assert np.abs(found.velocities - v).max() < 1e-4 * np.abs(v).max()
    names = [
        f"nose_hoover.{what}_{k + 1}" for what in ("position", "velocity") for k in range(length)
    ]
    assert sorted(found.variables) == sorted(names)
    np.testing.assert_allclose(
        [found.variables[name] for name in names], chain, rtol=1e-4, atol=1e-4 * np.abs(chain).max()
    )


@pytest.mark.parametrize("remove_com_every", [0, 2])
def test_trajectory_of_a_chain_for_each_group(
    oscillators: tuple[Any, State], remove_com_every: int
) -> None:
    """One pair and two pairs, at other temperatures with other time constants.

    Without removal all of the kinetic energy is shared; with it each group has its part by mass of
    the three degrees of freedom of the centre of mass.
    """
    length, every, state = 3, 2, oscillators[1]
    groups = slice(0, 2), slice(2, 6)
    kelvin, taus = (200.0, 450.0), (0.02, 0.03)
    baths = (
        BathGroup(f"index {group.start + 1}-{group.stop}", temperature, time_constant=tau)
        for group, temperature, tau in zip(groups, kelvin, taus, strict=True)
    )
    run = Simulation(
        *oscillators,
        Nonbonded(method="cutoff", cutoff=0.9),
        VelocityVerlet(TIMESTEP, remove_com_every=remove_com_every),
        thermostat=NoseHooverChain(groups=tuple(baths), every=every, chain_length=length),
        device="cpu",
    )
    x, v = state.positions.copy(), state.velocities.copy()
    chains = [np.zeros(2 * length) for _ in groups]
    steps = 200 if not remove_com_every else every  # then lists would have to be built as often
    run.run(steps)
    for step in range(1, steps + 1):
        v = v + TIMESTEP / 2 * forces(x) / MASSES[:, None]
        x = x + TIMESTEP * v
        v = v + TIMESTEP / 2 * forces(x) / MASSES[:, None]
        if step % every:
            continue
        for k, group in enumerate(groups):
            resting = 3 * MASSES[group].sum() / MASSES.sum() if remove_com_every else 0
            freedom = 3 * len(MASSES[group]) - resting
            advance = chain_for(every * TIMESTEP, length, freedom, taus[k], group, kelvin[k])
            y = advance(chains[k], v[group])
            chains[k], v[group] = y[: 2 * length], y[2 * length :].reshape(-1, 3)
    found = run.state()
    assert np.abs(found.positions - x).max() < 1e-6
    assert np.abs(found.velocities - v).max() < 1e-4 * np.abs(v).max()
    for number, chain in enumerate(chains, 1):
        names = [
            f"nose_hoover.bath_{number}_{what}_{k + 1}"
            for what in ("position", "velocity")
            for k in range(length)
        ]
        values = [found.variables[name] for name in names]
        np.testing.assert_allclose(values, chain, rtol=1e-4, atol=1e-4 * np.abs(chain).max())
    assert len(found.variables) == 4 * length


def test_the_energy_of_the_chain_is_the_heat(oscillators: tuple[Any, State]) -> None:
    """What is conserved is of the extended system: minus the heat is the energy of the chain."""
    tau, freedom, kt = 0.02, 3 * len(MASSES) - 3, BOLTZMANN * TEMPERATURE
    run = simulation(oscillators, NoseHooverChain(TEMPERATURE, tau, every=1))
    energies, wanted = [run.energies()], [0.0]
    for _ in range(40):
        run.run(25)
        energies.append(run.energies())
        chain = run.state().variables
        position = [chain[f"nose_hoover.position_{k}"] for k in (1, 2, 3)]
        velocity = [chain[f"nose_hoover.velocity_{k}"] for k in (1, 2, 3)]
        shared = np.array([freedom, 1, 1])
        wanted.append(kt * shared @ (np.array(position) + 0.5 * (tau * np.array(velocity)) ** 2))
    heat = np.array([one["heat"] for one in energies])
    np.testing.assert_allclose(-heat, wanted, atol=1e-5)
    conserved = np.array([one["conserved"] for one in energies])
    total = np.array([one["total"] for one in energies])
    assert np.ptp(conserved) < 0.05 * np.ptp(total)


def test_energies_of_oscillators_are_canonical(oscillators: tuple[Any, State]) -> None:
    """Distribution of the kinetic energy of 15 degrees of freedom over 400 ps."""
    import physical_validation as pv

    run = simulation(oscillators, NoseHooverChain(TEMPERATURE, 0.02, every=2))
    kinetic = []

    class Series:
        every = 100
        needs = ("energies",)

        def report(self, frame: Any) -> None:
            kinetic.append(frame.energies()["kinetic"])

    run.run(400_000, [Series()])
    found = pv.data.SimulationData(
        units=pv.data.UnitData.units("GROMACS"),
        ensemble=pv.data.EnsembleData(
            "NVT", natoms=len(MASSES), volume=64.0, temperature=TEMPERATURE
        ),
        system=pv.data.SystemData(
            natoms=len(MASSES), nconstraints=0, ndof_reduction_tra=3, ndof_reduction_rot=0
        ),
        observables=pv.data.ObservableData(kinetic_energy=np.array(kinetic[100:])),
    )
    np.random.seed(1)  # physical_validation draws its bootstrap from numpy's global state
    mean, width = pv.kinetic_energy.distribution(found, strict=False, verbosity=0)
    assert abs(mean) < 4
    assert abs(width) < 4


@pytest.fixture(scope="module")
def water() -> tuple[Any, State]:
    """125 waters in motion."""
    system, state = water_box((5, 5, 5), seed=1)
    warm = Simulation(
        system, state, Nonbonded(cutoff=0.7), LangevinMiddle(friction=10, seed=1), device="cpu"
    )
    warm.minimize(500.0, 60)
    warm.draw_velocities(300, 1)
    warm.run(50)
    return system, replace(warm.state(), step=0, list_positions=None, list_step=0)


def in_water(water: tuple[Any, State], ranks: int = 1) -> Simulation:
    return Simulation(
        *water,
        Nonbonded(cutoff=0.7),
        VelocityVerlet(),
        thermostat=NoseHooverChain(350.0, 0.05, every=3),
        device="cpu",
        ranks=ranks,
    )


def test_a_stop_at_any_step(water: tuple[Any, State], tmp_path: Path) -> None:
    """At each of seven steps in turn, before, at and after an action, with other ranks after it."""
    whole = in_water(water)
    whole.run(28)
    state, heat = water[1], 0.0
    for k, steps in enumerate((1, 2, 3, 4, 5, 6, 7)):
        part = in_water(water, ranks=1 + k % 3)
        part.set_state(state, heat)
        part.run(steps)
        state, heat = through_file(part.state(), tmp_path), part.heat()
    assert state.variables == whole.state().variables
    assert quiltmd.digest(state) == quiltmd.digest(whole.state())
    assert heat == pytest.approx(whole.heat(), abs=1e-6)


def test_another_chain_takes_what_it_has(water: tuple[Any, State]) -> None:
    """A thermostat of a longer chain begins at rest; one without variables has none."""
    first = in_water(water)
    first.run(6)
    state = first.state()
    longer = NoseHooverChain(350.0, 0.05, every=3, chain_length=4)
    for thermostat, extra in ((longer, 2), (VelocityRescaling(seed=1), -6)):
        other = Simulation(
            water[0],
            state,
            Nonbonded(cutoff=0.7),
            VelocityVerlet(),
            thermostat=thermostat,
            device="cpu",
        )
        found = other.state().variables
        assert len(found) == 6 + extra
        for name, value in found.items():
            assert value == state.variables.get(name, 0.0)
    assert quiltmd.digest(state) != quiltmd.digest(other.state())


def test_nonsense_is_refused(water: tuple[Any, State]) -> None:
    with pytest.raises(QuiltError, match="chain_length"):
        NoseHooverChain(chain_length=0)
    with pytest.raises(QuiltError, match="seed"):
        NoseHooverChain(seed=1)  # type: ignore[call-arg]
    for settings, words in (
        ({"temperature": 0.0}, "the temperature must be positive"),
        ({"time_constant": 0.05, "every": 10}, "lower 'every', or raise 'time_constant'"),
    ):
        with pytest.raises(QuiltError, match=words):
            Simulation(
                *water,
                Nonbonded(cutoff=0.7),
                VelocityVerlet(),
                thermostat=NoseHooverChain(**settings),  # type: ignore[arg-type]
                device="cpu",
            )
    for variables, words in (
        ({"a": float("nan")}, r"variables\['a'\] must be"),
        ({1: 2.0}, "variables must be numbers by name"),
        ([1.0], "variables must be numbers by name"),
    ):
        with pytest.raises(QuiltError, match=words):
            replace(water[1], variables=variables)
