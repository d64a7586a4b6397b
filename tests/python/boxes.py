# SPDX-License-Identifier: Apache-2.0
"""Small systems made on the spot, and engines on them with settings that users do not have."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

import quiltmd
from quiltmd import _core
from quiltmd.description.dynamics import resolve_dynamics
from quiltmd.description.sites import site_links
from quiltmd.engine.execution import REACHES, PatchReach

Array = NDArray[np.float64]

O_H, H_H = 0.09572, 0.15139  # nm, TIP3P
COULOMB = 138.93545764  # kJ/mol nm / e^2
BAR = 16.6053906660  # kJ/mol/nm^3 in bar
BOLTZMANN = 0.00831446261815324  # kJ/mol/K


def lj_table(sigma: Array, epsilon: Array) -> tuple[Array, Array]:
    """Lorentz-Berthelot tables a and b of some types."""
    s = (sigma[:, None] + sigma[None]) / 2
    e = np.sqrt(epsilon[:, None] * epsilon[None])
    return 4 * e * s**12, 4 * e * s**6


def random_rotations(rng: np.random.Generator, count: int) -> Array:
    """(count, 3, 3) rotations."""
    q, r = np.linalg.qr(rng.normal(size=(count, 3, 3)))
    rotation: Array = q * np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None, :]
    return rotation


def water_box(
    molecules: tuple[int, int, int], seed: int = 0, spacing: float = 0.3107, rigid: bool = True
) -> tuple[Any, Any]:
    """TIP3P water on a grid, randomly turned; to be minimised before it moves."""
    rng = np.random.default_rng(seed)
    count = int(np.prod(molecules))
    grid = np.indices(molecules).reshape(3, -1).T * spacing
    half = np.arcsin(H_H / 2 / O_H)
    arm = O_H * np.array([np.cos(half), np.sin(half), 0])
    shape = np.array([[0, 0, 0], arm, arm * [1, -1, 1]])
    positions = grid[:, None] + shape @ random_rotations(rng, count)
    a, b = lj_table(np.array([0.315075, 1.0]), np.array([0.635968, 0.0]))
    first = 3 * np.arange(count)[:, None]
    sides = (first[:, None] + np.array([[0, 1], [0, 2], [1, 2]])).reshape(-1, 2)
    terms: dict[str, Any] = {"exclusions": sides}
    if rigid:
        terms |= {"constraints": sides, "constraint_lengths": np.tile([O_H, O_H, H_H], count)}
    else:
        terms |= {
            "bonds": (first[:, None] + np.array([[0, 1], [0, 2]])).reshape(-1, 2),
            "bond_parameters": np.tile([O_H, 462750.4], (2 * count, 1)),
            "angles": first + np.array([[1, 0, 2]]),
            "angle_parameters": np.tile([2 * half, 836.8], (count, 1)),
        }
    system = quiltmd.System.of(
        np.tile([15.999, 1.008, 1.008], count),
        np.tile([-0.834, 0.417, 0.417], count),
        np.tile([0, 1, 1], count),
        a,
        b,
        **terms,
    )
    box = np.diag(np.array(molecules) * spacing)
    return system, quiltmd.State.start(system, positions.reshape(-1, 3), box)


def warm_water(
    molecules: tuple[int, int, int], temperature: float
) -> tuple[quiltmd.System, quiltmd.State]:
    """TIP3P water, relaxed, with velocities of this temperature, K."""
    system, state = water_box(molecules, seed=1)
    simulation = quiltmd.Simulation(system, state, device="cpu")
    simulation.minimize(500.0, 60)
    simulation.draw_velocities(temperature, 1)
    return system, simulation.state()


def random_box(rng: np.random.Generator, width: float, skew: float = 1.0) -> Array:
    """A triclinic cell in reduced form whose faces are at least `width` apart."""
    box = np.diag(rng.uniform(1.0, 1.8, 3))
    limits = np.array([box[0, 0], box[0, 0], box[1, 1]]) / 2
    box[1, 0], box[2, 0], box[2, 1] = skew * rng.uniform(-limits, limits)
    widths = 1 / np.linalg.norm(np.linalg.inv(box), axis=0)
    return np.ascontiguousarray(box * (width / widths.min()))


def engine(
    system: Any,
    state: Any,
    nonbonded: Any = None,
    integrator: Any = None,
    *,
    ranks: int = 1,
    threads: int = 1,
    patch_reach: PatchReach = 1,
    grain: str = "patch",
    balance: bool = True,
    mesh: str = "auto",
    list_life: int = 0,
    list_buffer: float = 0.0,
    **process: Any,
) -> Any:
    """A core engine at a state, with the settings of lists that `Simulation` leaves alone.

    `integrator` may be something that has one and a thermostat.  `process`: rank, sockets and
    patience, where others have the other ranks.
    """
    integrator = integrator or quiltmd.VelocityVerlet()
    thermostat = getattr(integrator, "thermostat", None)
    integrator = getattr(integrator, "integrator", integrator)
    core = _core.Engine(
        system.arrays(),
        (nonbonded or quiltmd.Nonbonded()).resolve(state.box),
        resolve_dynamics(integrator, thermostat, system=system),
        {
            "ranks": ranks,
            "threads": threads,
            "device": "cpu",
            "patch_reach": REACHES[patch_reach],
            "grain": grain,
            "balance": balance,
            "transport": "auto",
            "mesh": mesh,
            "list_life": list_life,
            "list_buffer": list_buffer,
            **process,
        },
    )
    core.set_state(**state.arrays())
    return core


def state_of(core: Any) -> Any:
    """An engine's state."""
    return quiltmd.State(**core.state())


def digest(core: Any) -> str:
    """Digest of an engine's state."""
    return quiltmd.digest(state_of(core))


def through_file(state: Any, folder: Path) -> Any:
    """The state after a stop: written to a checkpoint and read back."""
    path = folder / f"{os.getpid()}.qmd"
    quiltmd.write_checkpoint(path, quiltmd.Checkpoint(state))
    return quiltmd.read_checkpoint(path).state


def stopped_and_not(
    simulation: Callable[[int], quiltmd.Simulation], folder: Path
) -> tuple[quiltmd.Simulation, quiltmd.Simulation]:
    """Two simulations after 45 steps that must agree, which this checks of State and heat.

    One of two ranks goes through; the other stops after 18 steps of one rank, between two actions
    of a thermostat that acts every 4 or 10 steps, and goes on from its checkpoint on three.
    `simulation` makes them, given the number of ranks.
    """
    whole, first, second = simulation(2), simulation(1), simulation(3)
    whole.run(45)
    first.run(18)
    first.save_checkpoint(folder / "c.qmd")
    second.load_checkpoint(folder / "c.qmd")
    second.run(27)
    assert quiltmd.digest(whole.state()) == quiltmd.digest(second.state())
    assert whole.heat() == second.heat()
    return whole, second


def relative_rms(values: Any, expected: Any) -> float:
    """rms of the difference over rms of what is expected."""
    return float(np.sqrt(np.sum((values - expected) ** 2) / np.sum(np.square(expected))))


def constraint_error(system: Any, positions: Any) -> float:
    """Largest relative error of a constrained length."""
    ends = positions[system.constraints]
    lengths = np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1)
    return float(np.abs(lengths / system.constraint_lengths - 1).max())


def residual_stretch(system: Any, state: Any) -> float:
    """Largest relative velocity along a constraint, nm/ps."""
    x, v = state.positions[system.constraints], state.velocities[system.constraints]
    along = np.sum((x[:, 0] - x[:, 1]) * (v[:, 0] - v[:, 1]), axis=1)
    return float(np.abs(along / system.constraint_lengths).max())


def momentum(system: Any, velocities: Any) -> float:
    """Speed of the centre of mass, nm/ps."""
    return float(np.linalg.norm(system.masses @ velocities) / system.masses.sum())


def free_waters() -> tuple[Any, Any]:
    """512 rigid waters without charges and Lennard-Jones."""
    system, state = water_box((8, 8, 8))
    free = quiltmd.System.of(
        system.masses,
        exclusions=system.exclusions,
        constraints=system.constraints,
        constraint_lengths=system.constraint_lengths,
    )
    return free, state


def centres_of_groups(system: Any, values: Any) -> tuple[Any, Any]:
    """The hydrogen group of each atom; for each group the mean of values by mass."""
    pairs = np.concatenate([system.constraints, site_links(system.sites)])
    links = coo_matrix((np.ones(len(pairs)), pairs.T), shape=(system.atoms, system.atoms))
    group = connected_components(links, directed=False)[1]
    sums = [np.bincount(group, system.masses * value) for value in values.T]
    return group, np.transpose(sums) / np.bincount(group, system.masses)[:, None]


def strained(system: Any, state: quiltmd.State, strain: Any) -> quiltmd.State:
    """Box and centres of groups strained, groups as they are."""
    group, centre = centres_of_groups(system, state.positions)
    box = state.box @ (np.eye(3) + strain)
    turn, upper = np.linalg.qr(box.T)
    turn = turn * np.sign(np.diag(upper))
    moved = state.positions + (centre @ strain)[group]
    return quiltmd.State(moved @ turn, state.velocities, np.tril(box @ turn))
