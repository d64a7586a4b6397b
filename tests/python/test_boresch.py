# SPDX-License-Identifier: Apache-2.0
"""Boresch restraints: energies, the free energy of releasing a ligand, choice of anchors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from alchemical_systems import LENGTH, settings, solute_in_water

import quiltmd
from quiltmd import BoreschRestraint, QuiltError
from quiltmd.description.settings import BOLTZMANN
from quiltmd.outputs.free_energy import StateEnergyReporter
from quiltmd.running.alchemy_section import AlchemySection

NO_PAIRS = quiltmd.Nonbonded(method="no-cutoff")
SOFT: dict[str, Any] = {
    "k_distance": 200.0,
    "k_angles": (8.0, 10.0),
    "k_torsions": (6.0, 5.0, 7.0),
}


def restraint(**changes: Any) -> BoreschRestraint:
    given = {
        "anchors": (4, 2, 0, 5, 6, 7),
        "distance": 0.6,
        "angles": (70.0, 100.0),
        "torsions": (-170.0, 40.0, 95.0),
        **changes,
    }
    return BoreschRestraint(**given)


def test_the_energy_is_that_of_the_core() -> None:
    rng = np.random.default_rng(1)
    system = quiltmd.System.of(np.full(9, 12.0))
    for box in (None, np.eye(3) * 4.0):
        positions = rng.random((9, 3)) * 1.5
        state = quiltmd.State.start(system, positions, box)
        held = quiltmd.apply_boresch(system, restraint())
        settings = NO_PAIRS if box is None else quiltmd.Nonbonded(method="cutoff")
        energies = quiltmd.reference(held, state, settings)[0]
        assert energies["restraint"] == pytest.approx(restraint().energy(positions, box), rel=1e-9)


def poses(count: int, radius: float) -> np.ndarray:
    """Anchors with a fixed receptor, and a rigid ligand anywhere in a sphere, however turned."""
    rng = np.random.default_rng(7)
    receptor = np.array([[0, 0, 0], [0.15, 0, 0], [0.22, 0.13, 0]])
    ligand = np.array([[0, 0, 0], [0.14, 0, 0], [0.2, 0.12, 0]])
    twist = rng.normal(size=(count, 4))
    twist /= np.linalg.norm(twist, axis=1)[:, None]
    w, x, y, z = twist.T
    turns = np.stack(
        [
            *(1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
            *(2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
            *(2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
        ],
        -1,
    ).reshape(count, 3, 3)
    way = rng.normal(size=(count, 3))
    way *= (radius * rng.random(count) ** (1 / 3) / np.linalg.norm(way, axis=1))[:, None]
    placed = way[:, None] + ligand @ turns.transpose(0, 2, 1)
    return np.concatenate([np.broadcast_to(receptor, (count, 3, 3)), placed], axis=1)


def test_releasing_is_the_integral_over_poses() -> None:
    """By Monte Carlo over places and orientations of a rigid ligand, whose torsions are its own."""
    temperature, radius = 300.0, 1.3
    one = restraint(anchors=range(6), **SOFT)
    values, constants = one._values, one._constants
    away = quiltmd.description.boresch.coordinates_of(poses(200_000, radius), None) - values
    away[:, 1:] = np.radians(away[:, 1:])
    away[:, 3:] = (away[:, 3:] + np.pi) % (2 * np.pi) - np.pi
    weights = np.exp(-0.5 * away**2 @ constants / (BOLTZMANN * temperature))
    sphere = 4 / 3 * np.pi * radius**3
    volume = quiltmd.description.boresch.STANDARD_VOLUME
    expected = -BOLTZMANN * temperature * np.log(volume / (sphere * weights.mean()))
    error = BOLTZMANN * temperature * weights.std() / weights.mean() / np.sqrt(len(weights))
    assert error < 0.1
    assert one.release(temperature) == pytest.approx(expected, abs=4 * error)


def test_the_equation_is_the_integral_for_stiff_restraints() -> None:
    """The number is the equation's, worked out by hand."""
    found = restraint().release_by_equation(298.15)
    thermal = 8.314462618e-3 * 298.15
    sines = np.sin(np.radians(70)) * np.sin(np.radians(100))
    product = 8 * np.pi**2 * 1.6605 * np.sqrt(4184 * 41.84**5)
    by_hand = -thermal * np.log(product / (0.36 * sines * (2 * np.pi * thermal) ** 3))
    assert found == pytest.approx(by_hand, abs=1e-3)
    assert found == pytest.approx(restraint().release(298.15), abs=0.15)
    stiff = restraint(k_distance=1e6, k_angles=(1e4,) * 2, k_torsions=(1e4,) * 3)
    assert stiff.release_by_equation(298.15) == pytest.approx(stiff.release(298.15), abs=1e-3)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"anchors": (1, 2, 3, 4, 5)}, "six different atoms"),
        ({"anchors": (1, 2, 3, 4, 5, 5)}, "six different atoms"),
        ({"angles": (20.0, 90.0)}, "the angle b-a-A is 20 degrees"),
        ({"angles": (90.0, 151.0)}, "the angle a-A-B is 151 degrees"),
        ({"torsions": (1.0, 2.0)}, "torsions must be"),
        ({"distance": 0.0}, "must be positive"),
        ({"k_torsions": (1.0, 1.0, -1.0)}, "must be positive"),
    ],
    ids=str,
)
def test_nonsense_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(QuiltError, match=words):
        restraint(**given)


def chain(atoms: int, start: np.ndarray) -> np.ndarray:
    """A zigzag of bonds of 0.15 nm."""
    steps = np.array([[0.12, 0.09 * (-1) ** k, 0.02 * k] for k in range(atoms - 1)])
    return start + np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)])


def test_anchors_are_those_that_move_least() -> None:
    """Only atoms 1, 2, 3 of the receptor and 9, 10, 11 of the ligand stay in place."""
    rng = np.random.default_rng(3)
    place = np.concatenate([chain(8, np.zeros(3)), chain(6, np.array([0.2, 0.5, 0.4]))])
    bonds = [(k, k + 1) for k in range(13) if k != 7]
    system = quiltmd.System.of(
        np.full(14, 12.0), bonds=bonds, bond_parameters=[(0.15, 1e5)] * len(bonds)
    )
    loose = np.ones((14, 1))
    loose[[1, 2, 3, 9, 10, 11]] = 0.05
    frames = place + 0.02 * loose * rng.normal(size=(40, 14, 3))
    found = quiltmd.choose_boresch(system, frames, "index 9-14", "index 1-8", k_distance=1000.0)
    assert sorted(found.anchors[:3]) == [1, 2, 3]
    assert sorted(found.anchors[3:]) == [9, 10, 11]
    assert found.k_distance == 1000.0
    means = np.array([found.distance, *found.angles, *found.torsions])
    assert np.abs(found.coordinates(place) - means).max() < 2.0
    single = quiltmd.choose_boresch(system, place, "index 9-14", "index 1-8")
    assert single.energy(place) == pytest.approx(0, abs=1e-9)
    with pytest.raises(QuiltError, match="no three consecutively bonded heavy atoms"):
        quiltmd.choose_boresch(system, place, "index 9-10", "index 1-8")


def restrained_solute() -> tuple[quiltmd.System, quiltmd.State, BoreschRestraint]:
    """A molecule that vanishes, held by a water, as it is then but for a little."""
    plain, state = solute_in_water(6)
    water = LENGTH + 60
    anchors = (water, water + 1, water + 2, 0, 1, 2)
    here = restraint(anchors=anchors).coordinates(state.positions, state.box)
    angles = np.clip(here[1:3] + 4, 30, 150)
    held = restraint(anchors=anchors, distance=here[0] + 0.03, angles=angles, torsions=here[3:] - 5)
    system = quiltmd.decouple(
        plain,
        range(LENGTH),
        (0, 1, 1),
        (0, 0, 0.5),
        state=1,
        restraint=held,
        restraint_lambdas=(0, 0.25, 1),
    )
    return system, state, held


@pytest.mark.filterwarnings("ignore:a cutoff of 0.7 nm")
def test_lambda_multiplies_the_energy_of_the_restraint(tmp_path: Path) -> None:
    system, state, held = restrained_solute()
    simulation = quiltmd.Simulation(system, state, settings(state), device="cpu", threads=1)
    full = held.energy(state.positions, state.box)
    assert full > 1
    names = ("lambda_coulomb", "lambda_vdw", "lambda_restraint")
    assert tuple(simulation.lambdas) == names
    alone = quiltmd.decouple(solute_in_water(6)[0], range(LENGTH), (0, 1, 1), (0, 0, 0.5), state=1)
    without = quiltmd.Simulation(alone, state, settings(state), device="cpu", threads=1)
    for number, lambdas in enumerate(system.alchemy.states):
        simulation.set_conditions(**dict(zip(names, lambdas, strict=True)))
        without.set_conditions(**dict(zip(names[:2], lambdas[:2], strict=True)))
        assert simulation.lambdas == system.alchemy.state(number)
        energies = simulation.energies()
        assert energies["restraint"] == pytest.approx(lambdas[2] * full, abs=1e-4)
        changes = (system.alchemy.states[:, 2] - lambdas[2]) * full
        expected = without.state_energies() + changes
        np.testing.assert_allclose(simulation.state_energies(), expected, atol=1e-6)
        np.testing.assert_allclose(simulation.dhdl(), [*without.dhdl(), full], atol=1e-6)
    table = StateEnergyReporter(tmp_path / "dhdl.csv", 5, simulation)
    simulation.run(10, [table])
    table.close()
    head, *rows = (tmp_path / "dhdl.csv").read_text().splitlines()
    assert head == (
        "step,time,lambda_coulomb,lambda_vdw,lambda_restraint,potential,"
        "dhdl_coulomb,dhdl_vdw,dhdl_restraint,u_0,u_1,u_2"
    )
    last = np.array(rows[-1].split(","), float)
    assert last[8] == pytest.approx(held.energy(simulation.positions(), simulation.box), abs=1e-5)
    with pytest.raises(QuiltError, match="lambda_restraint"):
        simulation.set_conditions(restraints=0.5)
    with pytest.raises(QuiltError, match="from 0 to 1"):
        simulation.set_conditions(lambda_restraint=1.5)
    with pytest.raises(QuiltError, match="have no restraint"):
        without.set_conditions(lambda_restraint=0.5)


@pytest.mark.filterwarnings("ignore:a cutoff of 0.7 nm")
def test_the_restraint_pulls_and_replicas_exchange_its_lambdas() -> None:
    """Forces are lambda times the derivative of the energy."""
    system, state, held = restrained_solute()
    forces = []
    for value in (0.0, 1.0):
        one = quiltmd.Simulation(system, state, settings(state), device="cpu", threads=1)
        one.set_conditions(lambda_restraint=value)
        forces.append(one.forces())
    pull = (forces[1] - forces[0])[0]
    by_hand = []
    for d in range(3):
        moved = [np.array(state.positions) for _ in range(2)]
        for sign, place in zip((1, -1), moved, strict=True):
            place[0, d] += sign * 1e-5
        up, down = (held.energy(place, state.box) for place in moved)
        by_hand.append(-(up - down) / 2e-5)
    np.testing.assert_allclose(pull, by_hand, rtol=1e-3, atol=0.2)
    states = quiltmd.alchemical_states(system.alchemy, 300.0)
    assert [one.lambdas for one in states] == [(0, 0, 0), (1, 0, 0.25), (1, 0.5, 1)]
    exchange = quiltmd.ReplicaExchange(
        system, state, states, every=2, nonbonded=settings(state), devices=["cpu"], threads=1
    )
    exchange.run(1)
    for one, simulation in zip(states, exchange.simulations, strict=True):
        assert tuple(simulation.lambdas.values()) == one.lambdas


def test_a_lambda_needs_the_only_restraint() -> None:
    plain, _ = solute_in_water(6)
    held = restraint(anchors=(60, 61, 62, 0, 1, 2))
    with pytest.raises(QuiltError, match="a distance restraint: a restraint with a lambda"):
        quiltmd.decouple(quiltmd.apply_boresch(plain, held), range(LENGTH), restraint=held)
    with pytest.raises(QuiltError, match="2 lambdas of the restraint and 15"):
        quiltmd.decouple(plain, range(LENGTH), restraint=held, restraint_lambdas=(0, 1))
    with pytest.raises(QuiltError, match="without a restraint"):
        quiltmd.decouple(plain, range(LENGTH), restraint_lambdas=(0, 1))


def test_a_section_says_the_same() -> None:
    section = AlchemySection.model_validate(
        {
            "atoms": "index 1-5",
            "coulomb": [0, 1],
            "vdw": [0, 0],
            "restraint": [0.5, 1],
            "boresch": {
                "anchors": [f"index {k}" for k in (61, 62, 63, 1, 2, 3)],
                "distance": 0.6,
                "angles": [70, 100],
                "torsions": [-170, 40, 95],
            },
        }
    )
    system = section.apply(solute_in_water(6)[0])
    assert system.alchemy.states.tolist() == section.states.tolist() == [[0, 0, 0.5], [1, 0, 1]]
    assert system.alchemy.restraint.anchors == (60, 61, 62, 0, 1, 2)
    assert system.alchemy.restraint.k_angles == (41.84, 41.84)
    with pytest.raises(ValueError, match="without"):
        AlchemySection.model_validate({"atoms": "all", "restraint": [0.5] * 15})
