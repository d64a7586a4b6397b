# SPDX-License-Identifier: Apache-2.0
"""Alchemical atoms on GPUs: forces, energies of all states and derivatives against double precision
and the CPU; the same bits for any ranks, blocks and stops."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from alchemical_systems import LENGTH, atoms_may_meet, settings, softened, solute_in_water
from hybrid_molecules import ETHANE, MAPPING, METHANOL, molecule
from running import INTEGRATORS, Pair, gpu_count, relative_error, thermal

import quiltmd
from quiltmd.description.decoupling import at_lambdas
from quiltmd.description.soft_cores import FORMS

pytestmark = [
    pytest.mark.gpu,
    *map(
        pytest.mark.filterwarnings,
        ("ignore:a cutoff of 0.7 nm", "ignore:the charge of the system changes"),
    ),
]

STATES = np.array([(0, 0), (0.5, 0), (1, 0), (1, 0.5), (1, 1)])
POINTS = [(0.0, 0.0), (0.37, 0.0), (1.0, 0.3), (1.0, 1.0)]
ENDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "shift": {"potential_shift": True},
    "switch": {"switching": "potential", "switch_distance": 0.6},
}
STEPS = 400
TOGETHER = np.stack([np.linspace(0, 1, 11)] * 2, 1)  # charges and van der Waals interactions


def simulate(system: Any, state: Any, nonbonded: Any, device: str, **others: Any) -> Any:
    return quiltmd.Simulation(system, state, nonbonded, device=device, **others)


@pytest.mark.parametrize("ends", [*ENDS, "prolate"])
@pytest.mark.parametrize("intramolecular", ["keep", "scale"])
def test_energies_of_states_and_derivatives(intramolecular: str, ends: str) -> None:
    """Of a charged solute, against the reference at each state, and the CPU."""
    plain, state = solute_in_water(8, net_charge=1.0)
    nonbonded = (
        quiltmd.Nonbonded(cutoff=0.7) if ends == "prolate" else settings(state, **ENDS[ends])
    )
    system = quiltmd.decouple(
        plain, range(LENGTH), *STATES.T, intramolecular=intramolecular, state=1
    )

    def energy(coulomb: float, vdw: float) -> float:
        here = at_lambdas(system, coulomb, vdw)
        return quiltmd.reference(here, state, nonbonded)[0]["potential"]

    expected = np.array([energy(*row) for row in STATES])
    gpu, cpu = (simulate(system, state, nonbonded, device) for device in ("cuda", "cpu"))
    for number, step in ((1, 0.01), (3, 1e-3)):
        coulomb, vdw = STATES[number]
        for one in (gpu, cpu):
            one.set_conditions(lambda_coulomb=coulomb, lambda_vdw=vdw)
        found = gpu.state_energies()
        np.testing.assert_allclose(found, expected - expected[number], atol=3e-4)
        np.testing.assert_allclose(found, cpu.state_energies(), atol=3e-4)
        np.testing.assert_allclose(gpu.dhdl(), cpu.dhdl(), rtol=1e-6, atol=4e-4)
        by = (step, 0.0) if vdw == 0 else (0.0, step)
        slope = energy(coulomb + by[0], vdw + by[1]) - energy(coulomb - by[0], vdw - by[1])
        assert gpu.dhdl()[int(vdw > 0)] == pytest.approx(slope / (2 * step), rel=2e-5)


@pytest.mark.parametrize("form", FORMS)
def test_soft_cores(form: str) -> None:
    """Of every form, also for charges: energies of all states, derivatives and forces in each."""
    plain, state = solute_in_water()
    system, nonbonded = softened(plain, form, TOGETHER), settings(state)
    gpu, cpu = (simulate(system, state, nonbonded, device) for device in ("cuda", "cpu"))
    found = [quiltmd.reference(at_lambdas(system, *row), state, nonbonded) for row in TOGETHER]
    energies = np.array([one["potential"] for one, _ in found])
    for number, (coulomb, vdw) in enumerate(TOGETHER):
        for one in (gpu, cpu):
            one.set_conditions(lambda_coulomb=coulomb, lambda_vdw=vdw)
        np.testing.assert_allclose(gpu.state_energies(), energies - energies[number], atol=1e-4)
        np.testing.assert_allclose(gpu.dhdl(), cpu.dhdl(), rtol=1e-6, atol=1e-4)
        forces = found[number][1]
        assert np.abs(gpu.forces() - forces)[:LENGTH].max() < 5e-3
        assert relative_error(gpu.forces(), forces) < 2e-5
        assert tuple(gpu._engine.force_sum()) == (0, 0, 0)


@pytest.mark.parametrize("form", FORMS)
def test_bits_of_soft_cores(form: str) -> None:
    plain, state = solute_in_water()
    system = softened(plain, form, TOGETHER, state=4)
    calm = simulate(system, state, settings(state), "cuda:0")
    calm.minimize(1000.0, 20)
    seen = []
    for device in ("cuda:0", "cuda:0,0,0"):
        run = simulate(
            system,
            calm.state(),
            settings(state),
            device,
            integrator=quiltmd.LangevinMiddle(timestep=0.001, seed=3),
        )
        run.run(60)
        energies = np.concatenate([run.state_energies(), run.dhdl()])
        seen.append((quiltmd.digest(run.state()), energies.tobytes()))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("lambdas", POINTS, ids=str)
def test_forces_and_virial(lambdas: tuple[float, float]) -> None:
    plain, state = solute_in_water(8)
    system = at_lambdas(quiltmd.decouple(plain, range(LENGTH)), *lambdas)
    nonbonded = settings(state)
    gpu, cpu = (simulate(system, state, nonbonded, device) for device in ("cuda", "cpu"))
    forces = quiltmd.reference(system, state, nonbonded)[1]
    assert np.abs(gpu.forces() - forces)[:LENGTH].max() < 5e-3
    assert relative_error(gpu.forces(), forces) < 2e-5
    assert np.abs(gpu.virial() - cpu.virial()).max() < 0.2
    assert gpu.energies()["potential"] == pytest.approx(cpu.energies()["potential"], abs=0.1)
    assert tuple(gpu._engine.force_sum()) == (0, 0, 0)


@pytest.mark.parametrize("apart", [1e-5, 1e-7, 0.0])
def test_a_ghost_on_another_atom_has_finite_forces(apart: float) -> None:
    """The kernels of ordinary pairs meet it, too, with parameters that are 0."""
    plain, state = solute_in_water(8)
    positions = np.array(state.positions)
    positions[2] = positions[LENGTH] + [apart, 0, 0]  # on the oxygen of a water
    positions[3] = positions[LENGTH + 1] + [0, apart, 0]  # and on a hydrogen
    together = quiltmd.State.start(plain, positions, state.box)
    for vdw in (0.5, 1.0):
        system = at_lambdas(quiltmd.decouple(plain, range(LENGTH)), 1.0, vdw)
        gpu = simulate(system, together, settings(state), "cuda")
        expected = quiltmd.reference(system, together, settings(state))[1]
        np.testing.assert_allclose(gpu.forces()[LENGTH:], expected[LENGTH:], atol=0.1)
        assert np.isfinite(gpu.forces()).all()
        assert np.isfinite(gpu.energies()["potential"])


@pytest.mark.parametrize("form", FORMS)
def test_softened_atoms_may_meet_others(form: str) -> None:
    atoms_may_meet(form, "cuda")


@pytest.fixture(scope="module")
def residues(dhfr: Pair) -> Pair:
    """Fifty atoms of a protein vanish, those that others are bonded to as well."""
    system, state = dhfr
    chosen = quiltmd.decouple(system, range(200, 250), intramolecular="scale")
    chosen = at_lambdas(chosen, 0.37, 0.0)
    return chosen, thermal(chosen, state)


def test_a_part_of_a_protein(residues: Pair) -> None:
    system, state = residues
    alpha, grid = quiltmd.pme_parameters(state.box, 0.9, 1e-5, order=5)
    nonbonded = quiltmd.Nonbonded(
        pme_order=5, pme_alpha=alpha, pme_grid=(*grid[:2], grid[2] + grid[2] % 2)
    )
    for lambdas in ((0.0, 0.0), (0.37, 0.0), (1.0, 0.5)):
        here = at_lambdas(system, *lambdas)
        forces = quiltmd.reference(here, state, nonbonded)[1]
        gpu, cpu = (simulate(here, state, nonbonded, device) for device in ("cuda", "cpu"))
        assert relative_error(gpu.forces(), forces) < 2e-5
        np.testing.assert_allclose(gpu.state_energies(), cpu.state_energies(), atol=0.02)


def digest_of(pair: Pair, device: str, barostat: Any = None, **where: Any) -> tuple[str, bytes]:
    """Of a run whose lambdas change on the way, and all energies there."""
    system, state = pair
    run = quiltmd.Simulation(
        system, state, integrator=INTEGRATORS["nvt"], barostat=barostat, device=device, **where
    )
    run.run(137)
    run.set_conditions(lambda_coulomb=1.0)
    run.state_energies()
    run.run(STEPS // 2 - 37)
    run.set_conditions(lambda_vdw=0.37)
    run.run(STEPS // 2)
    assert tuple(run._engine.force_sum()) == (0, 0, 0)
    seen = np.concatenate([run.state_energies(), run.dhdl(), [run.energies()["potential"]]])
    return quiltmd.digest(run.state()), seen.tobytes()


BAROSTATS = {
    "none": None,
    "cell rescaling": quiltmd.CellRescaling(3000.0, 0.5, seed=3, every=10),
    "monte carlo": quiltmd.MonteCarloBarostat(9000.0, compressibility=1e-4, seed=3, every=10),
}


@pytest.mark.parametrize("barostat", BAROSTATS)
def test_bits_on_any_ranks(residues: Pair, barostat: str) -> None:
    """On one GPU the host carries messages of ranks, on two kernels write into each other's."""
    expected = digest_of(residues, "cuda:0", BAROSTATS[barostat])
    assert digest_of(residues, "cuda:0", BAROSTATS[barostat]) == expected
    devices = ["cuda:0,0,0"]
    if gpu_count() > 1:
        devices += ["cuda:0,1", "cuda:1,0,1"]
    for device in devices:
        assert digest_of(residues, device, BAROSTATS[barostat]) == expected, device


@pytest.mark.parametrize("mesh", ["replicated", "distributed"])
def test_bits_however_a_mesh_is_shared(residues: Pair, mesh: str) -> None:
    device = "cuda:0,1" if gpu_count() > 1 else "cuda:0,0"
    assert digest_of(residues, device, mesh=mesh) == digest_of(residues, "cuda:0")


def test_bits_of_restarts_and_blocks(residues: Pair) -> None:
    system, state = residues
    integrator = INTEGRATORS["nvt"]

    def run_of(start: Any, *blocks: int) -> Any:
        run = quiltmd.Simulation(system, start, integrator=integrator, device="cuda:0")
        for steps in blocks:
            run.run(steps)
            run.state_energies()
        return run.state()

    whole = quiltmd.digest(run_of(state, 300))
    assert quiltmd.digest(run_of(state, 7, 31, 1, 111, 150)) == whole
    assert quiltmd.digest(run_of(run_of(state, 113), 187)) == whole


def test_at_the_ends_a_run_is_that_of_the_plain_system(dhfr: Pair) -> None:
    """To rounding, which differs: few steps with hardly a difference."""
    system, state = dhfr
    system_of = {
        "plain": system,
        "alchemical": quiltmd.decouple(system, range(200, 250), intramolecular="scale"),
    }
    start = thermal(system, state)
    ends = {}
    for name, one in system_of.items():
        run = quiltmd.Simulation(
            one, start, integrator=replace(INTEGRATORS["nve"], timestep=0.001), device="cuda"
        )
        run.run(10)
        ends[name] = run.positions()
    np.testing.assert_allclose(ends["plain"], ends["alchemical"], rtol=0, atol=2e-6)


def a_hybrid(forward: bool, form: str = "beutler") -> Pair:
    first, last = (ETHANE, METHANOL) if forward else (METHANOL, ETHANE)
    mapping = MAPPING if forward else {there: here for here, there in MAPPING.items()}
    return quiltmd.hybrid(
        molecule(first, 8),
        molecule(last),
        mapping,
        soft_core=form,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("forward", [True, False], ids=["atoms vanish", "atoms appear"])
def test_a_hybrid_of_two_molecules(forward: bool, form: str) -> None:
    """Charges with soft cores, atoms of both ends, bonded terms with two states."""
    system, state = a_hybrid(forward, form)
    for point in (0.0, 0.37, 1.0):
        here = at_lambdas(system, point, point, point)
        gpu, cpu = (simulate(here, state, settings(state), device) for device in ("cuda", "cpu"))
        forces = quiltmd.reference(here, state, settings(state))[1]
        assert relative_error(gpu.forces(), forces) < 2e-5
        assert np.abs(gpu.forces() - forces)[:6].max() < 0.02
        np.testing.assert_allclose(gpu.state_energies(), cpu.state_energies(), atol=1e-3)
        np.testing.assert_allclose(gpu.dhdl(), cpu.dhdl(), rtol=2e-5, atol=2e-3)
        assert tuple(gpu._engine.force_sum()) == (0, 0, 0)


def test_bits_of_a_hybrid() -> None:
    system, state = a_hybrid(True)
    calm = simulate(at_lambdas(system, 0.37, 0.37, 0.37), state, settings(state), "cuda")
    calm.minimize(1000.0, 20)
    calm.draw_velocities(300, 1)
    start, seen = calm.state(), []
    for ranks in (1, 2, 3):
        run = simulate(
            calm.system,
            start,
            settings(state),
            "cuda:0" + ",0" * (ranks - 1),
            integrator=quiltmd.LangevinMiddle(timestep=0.001, seed=3),
        )
        run.run(60)
        run.set_conditions(lambda_coulomb=0.5, lambda_vdw=0.6, lambda_bonded=0.2)
        run.run(60)
        energies = np.concatenate([run.state_energies(), run.dhdl()])
        seen.append((quiltmd.digest(run.state()), energies.tobytes()))
    assert seen[0] == seen[1] == seen[2]
