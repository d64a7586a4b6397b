# SPDX-License-Identifier: Apache-2.0
"""Custom forces on GPUs: OpenMM's energies and forces, parameters, and bits of any ranks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import test_custom_forces as forces_of
import test_custom_parameters as parameters_of
from openmm_reference import energy_and_forces
from running import gpu_count

import quiltmd
from quiltmd import CellRescaling, CustomBond, CustomCompound, LangevinMiddle, Simulation
from quiltmd.openmm.write import to_openmm

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore:there is no periodic box"),
]


LANGEVIN = LangevinMiddle(300.0, 1.0, seed=4, timestep=0.001)


def run_of(system: Any, state: Any = None, device: str = "cuda", **others: Any) -> Simulation:
    return Simulation(
        system, state or forces_of.state_of(), forces_of.CUTOFF, device=device, **others
    )


@pytest.mark.parametrize(
    ("name", "box"), [*((name, forces_of.BOX) for name in forces_of.CASES), ("compound", None)]
)
def test_terms_are_those_of_openmm(name: str, box: Any) -> None:
    system = quiltmd.add_forces(forces_of.DUST, forces_of.CASES[name].ours())
    positions = forces_of.POSITIONS if box is not None else forces_of.PLACES
    energy, forces = energy_and_forces(forces_of.in_openmm(system, box), positions)
    state = forces_of.state_of(positions, box)
    gpu, cpu = run_of(system, state), run_of(system, state, "cpu")
    size = np.abs(forces).max()
    assert gpu.energies()["custom"] == pytest.approx(energy, rel=1e-8, abs=1e-7)
    assert gpu.forces() == pytest.approx(forces, abs=1e-8 * size)
    virial = cpu.virial()
    assert gpu.virial() == pytest.approx(virial, abs=1e-7 * np.abs(virial).max())


@pytest.mark.parametrize("name", ["one", "three periodic", "pairs of whole numbers"])
def test_tabulated_functions_are_those_of_openmm(name: str) -> None:
    energy, function = parameters_of.TABLES[name]
    kind: Any = CustomBond if "r" in energy and "distance" not in energy else CustomCompound
    chain = parameters_of.CHAIN
    parameters = {"n": np.arange(len(chain)) % 5} if "n)" in energy or "n," in energy else {}
    force = kind(energy, chain, parameters, functions={"f": function})
    system = quiltmd.add_forces(parameters_of.DUST, force)
    theirs = to_openmm(system, parameters_of.OPEN)
    expected, forces = energy_and_forces(theirs, parameters_of.POSITIONS)
    run = parameters_of.simulation(system, device="cuda")
    assert run.energies()["custom"] == pytest.approx(expected, rel=1e-7, abs=1e-7)
    assert run.forces() == pytest.approx(forces, abs=1e-7 * np.abs(forces).max())


def test_parameters_change_as_conditions() -> None:
    """Between recorded blocks, without another kernel."""
    changed = parameters_of.simulation(parameters_of.springs(900.0), device="cuda")
    changed.run(200)
    new = parameters_of.simulation(parameters_of.springs(400.0), device="cuda")
    new.set_state(changed.state())
    changed.set_conditions(parameters={"k": 400.0})
    assert changed.energies()["potential"] == new.energies()["potential"]
    for run in (changed, new):
        run.run(200)
    assert changed.positions().tobytes() == new.positions().tobytes()
    changed.set_conditions(parameters={"k": 900.0, "c": 0.0})
    assert changed.energies()["pairs"] == 0


def test_an_energy_that_is_no_number_ends_the_run() -> None:
    falls = quiltmd.add_forces(
        forces_of.DUST,
        quiltmd.CustomExternal("-1000*x*step(x)+sqrt(9-x)", [0], {}, "cliff"),
    )
    free = replace(forces_of.state_of(), positions=forces_of.PLACES)
    with pytest.raises(quiltmd.SimulationError, match="cliff"):
        run_of(falls, free, integrator=quiltmd.VelocityVerlet(timestep=0.002)).run(4000)


def steps(device: str, *blocks: int, start: Any = None) -> Simulation:
    """All kinds of terms, with a barostat."""
    made = run_of(
        forces_of.whole(),
        start or forces_of.start(),
        device,
        integrator=LANGEVIN,
        barostat=CellRescaling(1.0, every=20, seed=6),
    )
    if start is None:
        made.minimize(max_iterations=20)
    for many in blocks:
        made.run(many)
    return made


def of_openmm(name: str) -> tuple[Any, Any, Any]:
    """OpenMM's system with pairs, the same of ours, and a state."""
    original = forces_of.gas(forces_of.PAIR_CASES[name](), lj=name == "groups")
    moved = forces_of.GAS + np.array([0.3, 0, 0])
    state = quiltmd.State(positions=moved, velocities=0 * moved, box=forces_of.CUBE)
    return original, quiltmd.System.from_openmm(original), state


@pytest.mark.parametrize("name", forces_of.PAIR_CASES)
def test_pairs_are_those_of_openmm(name: str) -> None:
    original, system, state = of_openmm(name)
    energy, forces = energy_and_forces(original, forces_of.GAS)
    gpu = Simulation(system, state, device="cuda")
    cpu = Simulation(system, state, device="cpu", ranks=1, threads=1)
    size = np.abs(forces).max()
    assert gpu.energies()["potential"] == pytest.approx(energy, rel=1e-6)
    assert gpu.energies()["custom"] == pytest.approx(cpu.energies()["custom"], rel=1e-6)
    assert gpu.forces() == pytest.approx(forces, abs=2e-6 * size)
    virial = cpu.virial()
    assert gpu.virial() == pytest.approx(virial, abs=4e-6 * np.abs(virial).max())


@pytest.mark.parametrize("name", ["switched", "groups"])
def test_pairs_do_not_depend_on_ranks_and_energies(name: str) -> None:
    _, system, state = of_openmm(name)
    one, other = (
        Simulation(system, state, integrator=LANGEVIN, device=device)
        for device in ("cuda", "cuda:0,0,0")
    )
    one.run(200)
    for _ in range(10):
        other.run(20)
        other.energies()
    forces_of.same(one, other)


def test_tables_and_parameters_of_pairs() -> None:
    """A tabulated function, and a parameter that changes between recorded blocks."""
    distances = np.linspace(0.1, 1.0, 400)
    table = quiltmd.Tabulated(np.exp(-3 * distances) / distances, [(0.1, 1.0)])
    given = {"c": 2.0, "q": forces_of.EPSILON}
    pair = quiltmd.CustomPairs("c*q1*q2*f(r)", 0.9, given, functions={"f": table})
    system = quiltmd.add_forces(quiltmd.System.of(np.full(216, 40.0)), pair)
    state = quiltmd.State(forces_of.GAS, 0 * forces_of.GAS, forces_of.CUBE)
    runs = [run_of(system, state, device) for device in ("cuda", "cpu")]
    for changed in (None, {"c": 3.0}):
        if changed:
            for run in runs:
                run.set_conditions(parameters=changed)
        gpu, cpu = runs
        assert gpu.energies()["custom"] == pytest.approx(cpu.energies()["custom"], rel=2e-6)
        size = np.abs(cpu.forces()).max()
        assert gpu.forces() == pytest.approx(cpu.forces(), abs=5e-6 * size)


def test_a_pair_that_is_no_number_ends_the_run() -> None:
    pair = quiltmd.CustomPairs("1e-3*sqrt(r-0.3)", 0.9, name="far")
    system = quiltmd.add_forces(quiltmd.System.of(np.full(216, 40.0)), pair)
    state = quiltmd.State(forces_of.GAS, 0 * forces_of.GAS, forces_of.CUBE)
    with pytest.raises(quiltmd.SimulationError, match="far"):
        run_of(system, state).run(1)


def test_a_run_conserves_energy() -> None:
    made = run_of(
        forces_of.whole(), forces_of.start(), integrator=quiltmd.VelocityVerlet(timestep=0.0005)
    )
    made.minimize(max_iterations=50)
    before = made.energies()
    made.run(400)
    after = made.energies()
    assert after["kinetic"] > 10
    assert after["total"] == pytest.approx(before["total"], abs=1e-2 * after["kinetic"])


def test_ranks_blocks_and_restarts_do_not_matter() -> None:
    one = steps("cuda", 300)
    forces_of.same(one, steps("cuda:0,0", 300))
    forces_of.same(one, steps("cuda:0,0,0", 1, 32, 267))
    first = steps("cuda", 133)
    forces_of.same(one, steps("cuda", 167, start=first.state()))


@pytest.mark.skipif(gpu_count() < 2, reason="needs two GPUs")
@pytest.mark.parametrize("device", ["cuda:0,1", "ranks:worker:cuda:0,worker:cuda:1"])
def test_gpus_do_not_matter(device: str) -> None:
    """Of one process, and each in a process of its own."""
    forces_of.same(steps("cuda:0", 300), steps(device, 300))
    _, system, state = of_openmm("groups")
    one, two = (
        Simulation(system, state, integrator=LANGEVIN, device=where) for where in ("cuda:0", device)
    )
    for run in (one, two):
        run.run(200)
    forces_of.same(one, two)
