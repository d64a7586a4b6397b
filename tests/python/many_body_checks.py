# SPDX-License-Identifier: Apache-2.0
"""What tests of all many-body potentials check: derivatives, pressure, ranks, restarts, energy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boxes import BAR, digest, engine, stopped_and_not

import quiltmd
from quiltmd import CellRescaling, LangevinMiddle, Simulation, State, System, VelocityVerlet
from quiltmd.engine.reference import reference_virial

# Lists that live as long as they are meant to, and lists whose buffer atoms leave again and again:
# their life, and a buffer for each potential.
CALM, HASTY = 8, 20


def check_pressure(system: System, state: State, expected: Any, within: float) -> None:
    """Of the core and of the reference, as LAMMPS writes its six parts, in bar."""
    volume = np.prod(np.diag(state.box))
    for virial in (Simulation(system, state).virial(), reference_virial(system, state)):
        found = (virial * BAR / volume)[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        assert found == pytest.approx(expected, abs=within)


def check_derivatives(
    system: System, state: State, coordinates: tuple[tuple[int, int], ...], within: float = 1e-12
) -> None:
    """Forces on some coordinates, and the trace of the virial, of the reference."""
    _, forces = quiltmd.reference(system, state)
    step = 1e-5

    def energy(positions: Any, box: Any = state.box) -> float:
        return quiltmd.reference(system, State.start(system, positions, box))[0]["potential"]

    for atom, axis in coordinates:
        moved = np.zeros_like(state.positions)
        moved[atom, axis] = step
        slope = (energy(state.positions + moved) - energy(state.positions - moved)) / (2 * step)
        assert -slope == pytest.approx(forces[atom, axis], rel=1e-6, abs=within)
    strained = [energy(state.positions * (1 + by), state.box * (1 + by)) for by in (step, -step)]
    trace = np.trace(reference_virial(system, state))
    assert -(strained[0] - strained[1]) / (2 * step) == pytest.approx(trace, rel=1e-6)


def check_ranks(system: System, state: State, life: int, buffer: float) -> None:
    """The same bits on 1, 2, 3 and 5 ranks."""
    cores = [
        engine(
            system,
            state,
            system.nonbonded,
            VelocityVerlet(timestep=0.002),
            ranks=ranks,
            list_life=life,
            list_buffer=buffer,
        )
        for ranks in (1, 2, 3, 5)
    ]
    for core in cores:
        core.run(45)
    assert (cores[0].describe()["early_rebuilds"] > 0) == (life == HASTY)
    assert len({digest(core) for core in cores}) == 1
    for core in cores[1:]:
        assert core.energies() == cores[0].energies()
        assert (core.forces() == cores[0].forces()).all()
    assert cores[-1].force_sum() == (0, 0, 0)


def ranks_of_cpu(ranks: int) -> dict[str, Any]:
    """Arguments of a Simulation."""
    return {"device": "cpu", "ranks": ranks}


def check_restart(
    system: System,
    state: State,
    timestep: float,
    folder: Path,
    where: Callable[[int], dict[str, Any]] = ranks_of_cpu,
) -> None:
    """At constant pressure, on any ranks."""

    def made(ranks: int) -> Simulation:
        return Simulation(
            system,
            state,
            integrator=LangevinMiddle(temperature=300, timestep=timestep, seed=3),
            barostat=CellRescaling(pressure=1.0, compressibility=1e-6, seed=4, every=4),
            **where(ranks),
        )

    whole, _ = stopped_and_not(made, folder)
    assert (np.asarray(whole.state().box) != np.asarray(state.box)).any()


def check_conservation(
    system: System, state: State, timestep: float, settle: int, device: str = "cpu"
) -> None:
    """The total energy per atom of a crystal that is warm after `settle` steps, over 0.6 ps."""
    integrator = VelocityVerlet(timestep=timestep)
    simulation = Simulation(system, state, integrator=integrator, device=device)
    simulation.run(settle)
    before = simulation.energies()
    simulation.run(round(0.6 / timestep))
    assert before["kinetic"] / system.atoms > 1
    assert abs(simulation.energies()["total"] - before["total"]) / system.atoms < 1e-3


def check_tiled(system: System, state: State, within: float, device: str = "cpu") -> None:
    """Two copies have twice the energy."""
    once = Simulation(system, state, device=device).energies()["many-body"]
    twice = Simulation(system.tile(2, 1, 1), state.tile(2, 1, 1), device=device)
    larger = twice.energies()["many-body"]
    assert larger == pytest.approx(2 * once, rel=within)
