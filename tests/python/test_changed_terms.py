# SPDX-License-Identifier: Apache-2.0
"""Bonded terms with two states: energies, forces and derivatives at any lambda, bits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import openmm
import pytest
from openmm_reference import energy_and_forces

import quiltmd
from quiltmd import QuiltError
from quiltmd.description.alchemy import Alchemy, ChangedTerms
from quiltmd.description.decoupling import at_lambdas

LENGTH = 6  # atoms of the molecule, the first ones of the system
STATES = np.array([(0, 0, 0), (0.2, 0.5, 0.37), (1, 0.3, 0.7), (1, 1, 1)])
HERE = (0.2, 0.5, 0.37)
# Form: atoms, parameters at lambda 0 and 1.  Some terms are off at one end; phases differ.
TERMS: dict[str, list[tuple[tuple[int, ...], tuple[float, ...], tuple[float, ...]]]] = {
    "bond": [
        ((0, 1), (0.135, 2e5), (0.147, 3e5)),
        ((1, 2), (0.135, 2e5), (0.135, 2e5)),
        ((2, 3), (0.14, 2.5e5), (0.133, 1e5)),
        ((3, 4), (0.135, 2e5), (0.135, 2e5)),
        ((4, 5), (0.135, 2e5), (0.15, 2e5)),
    ],
    "angle": [
        ((0, 1, 2), (1.9, 400.0), (2.1, 300.0)),
        ((1, 2, 3), (1.9, 400.0), (1.9, 0.0)),
        ((2, 3, 4), (1.9, 0.0), (1.8, 500.0)),
        ((3, 4, 5), (1.9, 400.0), (1.9, 400.0)),
    ],
    "torsion": [
        ((0, 1, 2, 3), (3, 0.0, 5.0), (3, 0.0, -2.0)),
        ((0, 1, 2, 3), (1, 0.3, 4.0), (1, 2.7, 6.0)),
        ((1, 2, 3, 4), (2, np.pi, 10.0), (2, np.pi, 0.0)),
    ],
    "ryckaert_bellemans": [
        ((2, 3, 4, 5), (9.0, 12.0, -13.0, -3.0, 26.0, -31.0), (2.0, 1.0, 0.0, -4.0, 0.0, 0.0))
    ],
    "urey_bradley": [((0, 2), (0.22, 5e3), (0.25, 9e3))],
    "improper": [((1, 0, 2, 3), (0.5, 40.0), (0.9, 10.0))],
    "pair14": [
        ((0, 3), (0.1, 0.3, 0.4), (-0.2, 0.35, 0.2)),
        ((1, 4), (0.1, 0.3, 0.4), (0.0, 0.3, 0.0)),
    ],
}
_ENERGY = {
    "bond": ("k/2*(r-length)^2", ("length", "k")),
    "angle": ("k/2*(theta-theta0)^2", ("theta0", "k")),
    "torsion": ("k*(1+cos(n*theta-phase))", ("n", "phase", "k")),
    "ryckaert_bellemans": (
        "c0-c1*cos(theta)+c2*cos(theta)^2-c3*cos(theta)^3+c4*cos(theta)^4-c5*cos(theta)^5",
        tuple(f"c{k}" for k in range(6)),
    ),
    "urey_bradley": ("k/2*(r-length)^2", ("length", "k")),
    "improper": ("k/2*min(d,2*pi-d)^2; d=abs(theta-phi); pi=3.141592653589793", ("phi", "k")),
    "pair14": ("4*e*((s/r)^12-(s/r)^6)+138.93545764438198*q/r", ("q", "s", "e")),
}
_FORCES: dict[int, Any] = {
    2: openmm.CustomBondForce,
    3: openmm.CustomAngleForce,
    4: openmm.CustomTorsionForce,
}


def molecule() -> tuple[Any, Any]:
    """A chain, and single ions around it, with the terms as they are at lambda 0."""
    random = np.random.default_rng(5)
    chain = np.array([(0.11 * k, 0.07 * (k % 2), 0.03 * (k // 2)) for k in range(LENGTH)])
    grid = np.stack(np.meshgrid(*[np.arange(4.0)] * 3), axis=-1).reshape(-1, 3)
    ions = 0.5 * grid + 0.3 + 0.02 * random.standard_normal(grid.shape)
    middle = np.array([1.0, 1.05, 1.1])
    placed = chain - chain.mean(axis=0) + middle
    ions = ions[np.linalg.norm(ions[:, None] - placed[None], axis=2).min(axis=1) > 0.3]
    ions = ions[: len(ions) // 2 * 2]
    count = LENGTH + len(ions)
    near = [(k, m) for k in range(LENGTH) for m in range(k + 1, min(k + 4, LENGTH))]
    system = quiltmd.System.of(
        np.concatenate([np.full(LENGTH, 12.0), np.full(len(ions), 30.0)]),
        np.concatenate([[0.2, -0.1, 0.1, -0.2, 0.15, -0.15], np.tile([0.4, -0.4], len(ions) // 2)]),
        sigma=np.full(count, 0.28),
        epsilon=np.full(count, 0.3),
        terms={
            form: ([atoms for atoms, _, _ in rows], [first for _, first, _ in rows])
            for form, rows in TERMS.items()
        },
        exclusions=near,
    )
    return system, quiltmd.State.start(system, np.concatenate([placed, ions]), np.eye(3) * 2.1)


def two_states(system: Any, **others: Any) -> Any:
    """With all terms at both ends; charges and types of atoms stay."""
    changed = tuple(
        ChangedTerms(form, np.arange(len(rows)), [last for _, _, last in rows])
        for form, rows in TERMS.items()
    )
    alchemy = Alchemy(
        [0],
        STATES,
        np.array(HERE),
        last_charges=system.charges[:1],
        last_types=system.lj_types[:1],
        changed_terms=changed,
        **others,
    )
    return replace(system, alchemy=alchemy)


def settings() -> quiltmd.Nonbonded:
    return quiltmd.Nonbonded(cutoff=0.8, pme_grid=(32,) * 3, pme_alpha=3.5)


def simulate(system: Any, state: Any, **others: Any) -> quiltmd.Simulation:
    given = {"device": "cpu", "ranks": 1, "threads": 1, **others}
    return quiltmd.Simulation(system, state, settings(), **given)


def by_openmm(state: Any, coulomb: float, vdw: float, bonded: float) -> tuple[float, Any]:
    """Energy and forces of the terms alone, parameters interpolated by OpenMM's expressions."""
    made = openmm.System()
    for _ in state.positions:
        made.addParticle(1.0)
    for form, rows in TERMS.items():
        energy, names = _ENERGY[form]
        own = {"q": coulomb, "s": vdw, "e": vdw} if form == "pair14" else {}
        texts = [f"{name}=(1-l{name})*{name}A+l{name}*{name}B" for name in names]
        force = _FORCES[len(rows[0][0])]("; ".join([energy, *texts]))
        for name in names:
            force.addGlobalParameter(f"l{name}", own.get(name, bonded))
        for end in "AB":
            for name in names:
                getattr(force, f"addPer{_kind(force)}Parameter")(f"{name}{end}")
        for atoms, first, last in rows:
            getattr(force, f"add{_kind(force)}")(*atoms, [*first, *last])
        made.addForce(force)
    return energy_and_forces(made, state.positions)


def _kind(force: Any) -> str:
    return type(force).__name__.removeprefix("Custom").removesuffix("Force")


def terms_of_reference(system: Any, state: Any) -> tuple[float, Any]:
    """Energy and forces that the terms have beside all else."""
    found = quiltmd.reference(system, state, settings())
    bare = replace(system, alchemy=None, terms={})
    rest = quiltmd.reference(bare, state, settings())
    return found[0]["potential"] - rest[0]["potential"], found[1] - rest[1]


@pytest.mark.parametrize("step", range(11))
def test_energies_and_forces_are_those_of_openmm(step: int) -> None:
    system, state = molecule()
    lambdas = (1 - step / 10, (step / 10) ** 2, step / 10)
    at = at_lambdas(two_states(system), *lambdas)
    expected, forces = by_openmm(state, *lambdas)
    energy, found = terms_of_reference(at, state)
    assert energy == pytest.approx(expected, abs=1e-4)
    np.testing.assert_allclose(found, forces, atol=1e-4)
    simulation = simulate(at, state)
    reference = quiltmd.reference(at, state, settings())
    assert simulation.energies()["potential"] == pytest.approx(reference[0]["potential"], abs=1e-2)
    np.testing.assert_allclose(simulation.forces(), reference[1], atol=0.05)


def test_ends_are_the_plain_systems() -> None:
    system, state = molecule()
    last = {
        form: ([a for a, _, _ in rows], [b for _, _, b in rows]) for form, rows in TERMS.items()
    }
    ends = ((system, (0, 0, 0)), (replace(system, terms=last), (1, 1, 1)))
    for plain, lambdas in ends:
        here = quiltmd.reference(at_lambdas(two_states(system), *lambdas), state, settings())
        there = quiltmd.reference(plain, state, settings())
        assert here[0]["potential"] == pytest.approx(there[0]["potential"], rel=1e-12)
        np.testing.assert_allclose(here[1], there[1], atol=1e-8)


def test_states_and_derivatives_are_differences_of_energies() -> None:
    system, state = molecule()
    both = two_states(system)

    def energy(lambdas: Any) -> float:
        return float(
            quiltmd.reference(at_lambdas(both, *lambdas), state, settings())[0]["potential"]
        )

    simulation = simulate(both, state)
    now = energy(HERE)
    expected = np.array([energy(row) - now for row in STATES])
    np.testing.assert_allclose(simulation.state_energies(), expected, atol=1e-4)
    slopes, h = [], 2e-3
    for which in range(3):
        way = np.eye(3)[which] * h
        near, far = (energy(HERE + k * way) - energy(HERE - k * way) for k in (1, 2))
        slopes.append((8 * near - far) / (12 * h))
    np.testing.assert_allclose(simulation.dhdl(), slopes, rtol=1e-6)
    simulation.set_conditions(lambda_coulomb=1.0, lambda_vdw=0.3, lambda_bonded=0.7)
    np.testing.assert_allclose(simulation.state_energies(), expected - expected[2], atol=1e-4)
    there = quiltmd.reference(at_lambdas(both, 1.0, 0.3, 0.7), state, settings())
    np.testing.assert_allclose(simulation.forces(), there[1], atol=0.05)


def run_of(system: Any, state: Any, **where: Any) -> tuple[Any, Any]:
    """A run whose lambdas change on the way: its end, and all energies there."""
    dynamics = quiltmd.LangevinMiddle(timestep=0.001, seed=4)
    simulation = simulate(system, state, integrator=dynamics, **where)
    simulation.run(13)
    simulation.set_conditions(lambda_bonded=0.8)
    simulation.run(30)
    assert simulation._engine.force_sum() == (0, 0, 0)
    energies = simulation.energies()
    seen = np.concatenate([simulation.state_energies(), simulation.dhdl(), [energies["potential"]]])
    return simulation.state(), seen


def test_bits_do_not_depend_on_ranks_and_restarts() -> None:
    system, state = molecule()
    both = two_states(system)
    calm = simulate(both, state)
    calm.minimize(100.0, 50)
    calm.draw_velocities(300, 1)
    start = calm.state()
    end, seen = run_of(both, start)
    for where in ({"ranks": 2}, {"ranks": 3}, {"ranks": 5}, {"threads": 2}):
        other, others = run_of(both, start, **where)
        np.testing.assert_array_equal(end.positions, other.positions)
        np.testing.assert_array_equal(end.velocities, other.velocities)
        np.testing.assert_array_equal(seen, others)
    dynamics = quiltmd.LangevinMiddle(timestep=0.001, seed=2)
    whole = simulate(both, start, integrator=dynamics)
    whole.run(17)
    half = simulate(both, whole.state(), integrator=dynamics)
    whole.run(20)
    half.run(20)
    np.testing.assert_array_equal(whole.positions(), half.positions())
    np.testing.assert_array_equal(whole.state_energies(), half.state_energies())


def test_a_system_whose_terms_do_not_change_has_no_lambda_of_them() -> None:
    system, state = molecule()
    decoupled = quiltmd.decouple(system, [LENGTH])
    simulation = simulate(decoupled, state)
    assert simulation.lambdas == {"lambda_coulomb": 0.0, "lambda_vdw": 0.0}
    with pytest.raises(QuiltError, match="no terms of the system change with lambda"):
        simulation.set_conditions(lambda_bonded=0.5)


@pytest.mark.parametrize(
    ("form", "terms", "parameters", "words"),
    [
        ("cmap", [0], [[0.0]], "a torsion map \\(CMAP\\) cannot have two states"),
        ("position_restraint", [0], [[0.0] * 11], "a position restraint cannot have two states"),
        ("bond", [7], [[0.1, 1e5]], "the system has 5 bonds, and the alchemy names others"),
        ("bond", [0, 0], [[0.1, 1e5]] * 2, "a number of its own"),
        ("bond", [0], [[0.1]], "bond_parameters has shape"),
        ("torsion", [0], [[2, 0.0, 5.0]], "a torsion cannot change its periodicity"),
    ],
)
def test_what_cannot_change_is_refused_by_name(
    form: str, terms: list[int], parameters: list[list[float]], words: str
) -> None:
    system, _ = molecule()

    def change() -> None:
        changed = (ChangedTerms(form, terms, parameters),)
        replace(system, alchemy=Alchemy([0], STATES, STATES[0], changed_terms=changed))

    with pytest.raises(QuiltError, match=words):
        change()
