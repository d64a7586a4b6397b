# SPDX-License-Identifier: Apache-2.0
"""Constraints that hold more than eight atoms together, on a GPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import helices
import numpy as np
import pytest
from running import all_gpus, gpu_count
from test_large_groups import (
    BATH,
    BEADS,
    bits,
    check_light_atoms_between_heavy_ones,
    off_lengths,
    simulated,
    unfolding,
)

from quiltmd import (
    CellRescaling,
    LangevinMiddle,
    MonteCarloBarostat,
    Nonbonded,
    Simulation,
    VelocityVerlet,
    load,
)

pytestmark = pytest.mark.gpu


@pytest.fixture
def warm(tmp_path: Path) -> Any:
    edges = np.array([8.6, 4.6, 4.6])  # helices become longer in a longer run
    system, state = load(*helices.write(tmp_path, edges=edges), rigid_water=False)
    simulation = Simulation(system, state, nonbonded=BEADS, integrator=BATH, device="cuda")
    simulation.minimize(max_iterations=50)
    simulation.draw_velocities(310, seed=1)
    simulation.run(500)
    assert simulation.temperature() == pytest.approx(310, rel=0.1)
    return system, simulation.state()


def test_energy_is_conserved_and_lengths_hold(warm: Any) -> None:
    system, state = warm
    settings = {"nonbonded": BEADS, "integrator": VelocityVerlet(0.01), "device": "cuda"}
    simulation = Simulation(system, state, **settings)
    simulation.run(100)
    totals = []
    for _ in range(10):
        simulation.run(1000)
        found = simulation.energies()
        totals.append(found["potential"] + found["kinetic"])
    assert off_lengths(system, simulation.state()) < 2e-8
    assert abs(totals[-1] - totals[0]) < 3e-3 * found["kinetic"]


def test_the_first_steps_are_those_of_a_cpu(warm: Any) -> None:
    system, state = warm
    ours, theirs = (simulated(system, state, 10, device=device) for device in ("cuda", "cpu"))
    moved = theirs.positions - state.positions
    assert np.abs(ours.positions - theirs.positions).max() < 1e-4 * np.abs(moved).max()


@pytest.mark.parametrize(
    "barostat",
    [
        None,
        CellRescaling(1.0, time_constant=2.0, compressibility=3e-4, seed=3),
        MonteCarloBarostat(1.0, every=10, seed=3),
    ],
    ids=["nvt", "rescaling", "monte carlo"],
)
def test_no_bit_depends_on_ranks_or_restarts(warm: Any, barostat: Any) -> None:
    system, state = warm
    one = simulated(system, state, 300, device="cuda:0", barostat=barostat)
    assert off_lengths(system, one) < 2e-6
    assert bits(simulated(system, state, 300, device="cuda:0,0", barostat=barostat)) == bits(one)
    half = simulated(system, state, 137, device="cuda:0,0,0", barostat=barostat)
    assert bits(simulated(system, half, 163, device="cuda:0", barostat=barostat)) == bits(one)


@pytest.mark.skipif(gpu_count() < 2, reason="needs two GPUs")
def test_gpus_do_not_matter(warm: Any) -> None:
    system, state = warm
    barostat = CellRescaling(1.0, time_constant=2.0, compressibility=3e-4, seed=3)
    in_processes = "ranks:worker:cuda:0,worker:cuda:1"
    one, several, three, processes = (
        bits(simulated(system, state, 300, device=device, barostat=barostat))
        for device in ("cuda:0", all_gpus(), "cuda:0,1,1", in_processes)
    )
    assert one == several == three == processes


def test_patches_become_wider_for_a_group_that_unfolds() -> None:
    system, state = unfolding()
    settings = {
        "nonbonded": Nonbonded(cutoff=0.7, method="cutoff", dispersion_correction=False),
        "integrator": VelocityVerlet(0.005),
    }
    simulation = Simulation(system, state, device="cuda", **settings)
    simulation.run(200)
    assert simulation.describe()["grid_changes"] > 0
    assert off_lengths(system, simulation.state()) < 2e-8
    assert bits(simulated(system, state, 200, device="cuda:0,0", **settings)) == bits(
        simulation.state()
    )


def test_light_atoms_between_heavy_ones() -> None:
    check_light_atoms_between_heavy_ones("cuda")


def test_all_bonds_with_impulses_of_the_long_range_force(alanine: tuple[Path, Path]) -> None:
    """A peptide in water: the first steps are those of a CPU, and no bit depends on ranks."""
    system, state = load(*alanine, constraints="all-bonds")
    chosen = Nonbonded(cutoff=0.9)
    bath = LangevinMiddle(300, 5.0, 0.002, seed=3)
    simulation = Simulation(system, state, nonbonded=chosen, integrator=bath, device="cuda")
    simulation.minimize(max_iterations=30)
    simulation.draw_velocities(300, seed=1)
    simulation.run(500)
    start = replace(simulation.state(), step=0)
    verlet = VelocityVerlet(0.002, long_range_every=4)
    settings: Any = {"nonbonded": chosen, "integrator": verlet}
    theirs = simulated(system, start, 8, device="cpu", **settings)
    ours = simulated(system, start, 8, device="cuda", **settings)
    moved = np.abs(theirs.positions - start.positions).max()
    assert np.abs(ours.positions - theirs.positions).max() < 1e-4 * moved
    one, two, three = (
        simulated(system, start, 300, device=device, **settings)
        for device in ("cuda:0", "cuda:0,0", "cuda:0,0,0")
    )
    assert bits(one) == bits(two) == bits(three)
    assert off_lengths(system, one) < 2e-8
