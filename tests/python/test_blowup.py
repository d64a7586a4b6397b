# SPDX-License-Identifier: Apache-2.0
"""Bad starts: minimisation mends overlaps, dynamics that cannot go on say why and where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boxes import constraint_error, engine, lj_table, water_box
from command import quiltmd as run_quiltmd

import quiltmd
from quiltmd import LangevinMiddle, Nonbonded, Simulation, SimulationError, State, VelocityVerlet


def squeezed(distance: float) -> tuple[Any, Any]:
    """Water in which the second molecule sits on the first, `distance` nm off."""
    system, state = water_box((7, 7, 7), seed=4)
    positions = state.positions.copy()
    positions[3:6] += positions[0] - positions[3] + [distance, 0, 0]
    return system, State(positions, state.velocities, state.box)


@pytest.mark.parametrize("distance", [0.15, 0.05, 0.01])
@pytest.mark.parametrize("ranks", [1, 3])
def test_minimisation_resolves_overlaps(distance: float, ranks: int) -> None:
    system, state = squeezed(distance)
    simulation = Simulation(system, state, device="cpu", ranks=ranks)
    before = simulation.energies()["potential"]
    outcome = simulation.minimize(tolerance=500.0, max_iterations=400)
    after = simulation.energies()["potential"]
    assert after < before
    assert after < -9000  # water at rest: about -46 kJ/mol for each of 343 molecules
    assert outcome["potential"] == pytest.approx(after, abs=0.5)
    positions = simulation.state().positions
    assert constraint_error(system, positions) < 1e-6
    assert np.linalg.norm(positions[3] - positions[0]) > 0.2
    simulation.draw_velocities(300, 1)
    simulation.run(50)


def test_minimisation_does_not_depend_on_ranks() -> None:
    system, state = squeezed(0.15)
    digests = set()
    for ranks in (1, 2, 5):
        core = engine(system, state, ranks=ranks)
        core.minimize(200.0, 60)
        digests.add(core.state()["positions"].tobytes())
    assert len(digests) == 1


def test_a_minimum_is_where_the_force_vanishes() -> None:
    """Two argon-like atoms come to rest at 2^(1/6) sigma."""
    a, b = lj_table(np.array([0.34]), np.array([1.0]))
    system = quiltmd.System.of([40.0, 40.0], [0.0, 0.0], [0, 0], a, b)
    positions = np.array([[0.0, 0, 0], [0.31, 0, 0]])
    state = State(positions, np.zeros((2, 3)), np.eye(3) * 3)
    simulation = Simulation(system, state, Nonbonded(cutoff=1.2, method="cutoff"), device="cpu")
    outcome = simulation.minimize(tolerance=0.01, max_iterations=500)
    assert outcome["converged"]
    end = simulation.state().positions
    assert np.linalg.norm(end[1] - end[0]) == pytest.approx(2 ** (1 / 6) * 0.34, abs=1e-4)
    assert outcome["largest_force"] <= 0.01


@pytest.mark.parametrize(
    "integrator", [VelocityVerlet(), LangevinMiddle(seed=0)], ids=["nve", "nvt"]
)
@pytest.mark.parametrize("ranks", [1, 3])
def test_a_blow_up_names_atoms_and_can_be_left_behind(integrator: Any, ranks: int) -> None:
    system, state = squeezed(0.06)
    simulation = Simulation(system, state, integrator=integrator, device="cpu", ranks=ranks)
    with pytest.raises(SimulationError, match="blew up") as caught:
        simulation.run(200)
    assert 1 <= caught.value.step <= 200
    message = str(caught.value)
    assert "\n" not in message
    assert "closest" in message
    culprits = {system.topology.describe(atom) for atom in range(6)}
    assert any(name in message for name in culprits)
    with pytest.raises(quiltmd.QuiltError, match="an error ended an earlier call"):
        simulation.run(1)
    simulation.set_state(state)  # it can be used again
    assert quiltmd.digest(simulation.state()) == quiltmd.digest(state)
    simulation.minimize()
    simulation.run(10)


def test_a_fast_atom_is_named() -> None:
    a, b = lj_table(np.array([0.3]), np.array([0.5]))
    rng = np.random.default_rng(3)
    positions = np.indices((5, 5, 5)).reshape(3, -1).T * 0.5 + 0.01 * rng.normal(size=(125, 3))
    velocities = np.zeros_like(positions)
    velocities[77] = [900.0, 0, 0]
    system = quiltmd.System.of(np.full(125, 20.0), lj_a=a, lj_b=b)
    state = State(positions, velocities, np.eye(3) * 2.5)
    simulation = Simulation(
        system, state, integrator=VelocityVerlet(remove_com_every=0), device="cpu", ranks=2
    )
    with pytest.raises(SimulationError, match="A77"):
        simulation.run(100)


_BOND = {"bonds": [[0, 1]], "bond_parameters": [[0.1, 1e8]], "exclusions": [[0, 1]]}
_ALONE = ["no non-bonded neighbour", "no bonded force acted on it"]
_DIMER = ["no non-bonded neighbour", "came from a bond"]
# Atoms, speed of the last one (nm/ps), terms, and words of the message.
_LONELY: dict[str, tuple[int, float, dict[str, Any], list[str]]] = {
    "a single atom": (1, 900.0, {}, _ALONE),
    "a dimer": (2, 0.0, _BOND, _DIMER),
    "a fast dimer": (2, 900.0, _BOND, _DIMER),
    "two atoms": (2, 900.0, {}, ["neighbour was", "no bonded force acted on it"]),
}


@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("name", _LONELY)
def test_what_is_not_there_is_not_named(name: str, periodic: bool) -> None:
    """Systems without nonbonded neighbours, or without bonds."""
    count, speed, terms, words = _LONELY[name]
    a, b = lj_table(np.array([0.3]), np.array([0.5]))
    system = quiltmd.System.of([20.0] * count, [0.0] * count, [0] * count, a, b, **terms)
    velocities = np.zeros((count, 3))
    velocities[-1, 0] = speed if periodic else 1e3 * speed
    state = State(np.arange(count)[:, None] * [0.4, 0, 0], velocities, np.eye(3) * 3)
    nonbonded = Nonbonded(cutoff=0.9, method="cutoff" if periodic else "no-cutoff")
    state = state if periodic else State(state.positions, state.velocities, None)
    verlet = VelocityVerlet(timestep=0.02, remove_com_every=0)
    with pytest.raises(SimulationError, match="blew up at atom") as caught:
        Simulation(system, state, nonbonded, verlet, device="cpu").run(100)
    message = str(caught.value)
    assert all(word in message for word in words)
    assert "atom -1" not in message
    assert "000000" not in message
    assert ("overlapping" in message) == ("neighbour was" in message)


@pytest.mark.parametrize("ranks", [1, 3])
def test_atoms_beyond_the_verlet_buffer_are_no_blow_up(ranks: int) -> None:
    """Atoms that meet unseen, since they left the Verlet buffer before, are thrown apart: such
    steps are repeated."""
    system, start = water_box((5, 5, 5), seed=7)
    bath = LangevinMiddle(600.0, 5.0, 0.004, 3)
    core = engine(system, start, Nonbonded(cutoff=0.6), bath, ranks=ranks, list_life=160,
                  list_buffer=0.01)  # fmt: skip
    core.minimize(100.0, 100)
    core.draw_velocities(300.0, 3)
    core.run(400)
    assert core.state()["step"] == 400


def test_long_runs_have_long_step_numbers() -> None:
    """Beyond 2^31 steps, a GPU's day, atoms beyond the Verlet buffer are still detected."""
    system, start = water_box((5, 5, 5), seed=7)
    first = 2**31 + 5
    state = State(start.positions, start.velocities, start.box, step=first)
    bath = LangevinMiddle(600.0, 5.0, 0.002, 3)
    core = engine(system, state, Nonbonded(cutoff=0.6), bath, list_life=20, list_buffer=0.02)
    core.minimize(100.0, 100)
    core.draw_velocities(600.0, 3)
    core.run(100)
    assert core.state()["step"] == first + 100
    assert core.describe()["early_rebuilds"] > 0


def test_the_command_stops_with_a_message(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    """A time step that is far too long; the checkpoint from before is good."""
    outcome = run_quiltmd(
        *("run", "--topology", str(alanine[0]), "--coordinates", str(alanine[1])),
        *("--ensemble", "nve", "--timestep", "0.02", "--steps", "400", "--checkpoint-every", "1"),
        *("--device", "cpu", "--out", str(tmp_path / "out")),
    )
    assert outcome.returncode not in (0, None)
    assert "blew up" in outcome.stderr
    assert "Traceback" not in outcome.stderr
    kept = quiltmd.read_checkpoint(tmp_path / "out" / "checkpoint.qmd").state
    assert np.isfinite(kept.positions).all()
