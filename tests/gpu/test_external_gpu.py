# SPDX-License-Identifier: Apache-2.0
"""External forces on GPUs: those of the function, the same bits however steps are made, faults."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boxes import warm_water, water_box
from running import gpu_count
from test_external_forces import FAULTS, SCATTERED, Failing, Hills, Keeps, Springs, kicked

import quiltmd
from quiltmd import CellRescaling, ExternalForce, LangevinMiddle, Simulation, VelocityVerlet
from quiltmd.errors import ExternalForceError

pytestmark = pytest.mark.gpu
INTEGRATORS: dict[str, Any] = {
    "langevin": LangevinMiddle(300, 1.0, 0.002, seed=4),
    "verlet": VelocityVerlet(0.002),
}


@pytest.fixture(scope="module")
def water() -> tuple[quiltmd.System, quiltmd.State]:
    return warm_water((10, 10, 10), 300)


def simulation(water: Any, *external: ExternalForce, **others: Any) -> Simulation:
    settings = {"device": "cuda", "integrator": INTEGRATORS["langevin"], **others}
    return Simulation(*water, external=list(external), **settings)


def end(run: Simulation, *blocks: int) -> str:
    for steps in blocks:
        run.run(steps)
    return quiltmd.digest(run.state())


class Pulls(ExternalForce):
    """A force on every atom, by its number: more words than a block of threads takes at once."""

    outside = True

    def compute(self, step: int, positions: Any, box: Any) -> tuple[Any, ...]:
        numbers = np.arange(positions.size, dtype=float).reshape(positions.shape)
        return 3.0, 1e-3 * numbers + positions + box.sum()


@pytest.mark.parametrize("force", [Springs(), Pulls()])
def test_energy_forces_and_virial_are_those_of_the_function(water: Any, force: Any) -> None:
    state = water[1]
    plain, pulled = simulation(water), simulation(water, force)
    atoms = slice(None) if force.atoms is None else force.atoms
    positions = state.positions[atoms]
    expected, forces = force.compute(0, positions, state.box)
    difference = pulled.forces() - plain.forces()
    assert np.abs(difference[atoms] - forces).max() < 2.0**-31
    difference[atoms] = 0
    assert not difference.any()
    assert pulled.energies()[force.name or type(force).__name__.lower()] == pytest.approx(
        expected, abs=2.0**-28
    )


def test_forces_of_more_atoms_than_all_blocks_take_at_once() -> None:
    large = water_box((22, 22, 22), seed=1)
    force = Pulls()
    _, forces = force.compute(0, large[1].positions, large[1].box)
    difference = simulation(large, force).forces() - simulation(large).forces()
    assert np.abs(difference - forces).max() < 2.0**-31


@pytest.mark.parametrize("kind", INTEGRATORS)
def test_blocks_and_stops_do_not_matter(water: Any, kind: str) -> None:
    """Blocks that are replayed, those that are not yet, and single steps; updates among them."""
    forces = [Hills(SCATTERED) for _ in range(3)]
    runs = [simulation(water, force, integrator=INTEGRATORS[kind]) for force in forces]
    ends = {end(runs[0], 300), end(runs[1], 1, 32, 100, 167), end(runs[2], *[5] * 60)}
    assert len(ends) == 1
    for force in forces:
        # That of the last step may follow when the run goes on.
        assert [step for step, _ in force.seen][:49] == list(range(6, 300, 6))
        assert force.seen == forces[0].seen
        assert set(force.calls) == set(forces[0].calls)


def test_long_blocks_are_replayed_with_calls(water: Any) -> None:
    forces = [Springs(SCATTERED), Springs(SCATTERED)]
    whole, stopped = (simulation(water, force) for force in forces)
    assert end(whole, 400) == end(stopped, 7, 200, 193)
    assert {step for step, _, _ in forces[0].calls} == set(range(400))


@pytest.mark.parametrize("kind", INTEGRATORS)
def test_redone_epochs_update_once_and_in_order(water: Any, kind: str) -> None:
    forces = [Hills(SCATTERED), Hills(SCATTERED)]
    moving = (water[0], kicked(water[1]))
    runs = [simulation(moving, force, integrator=INTEGRATORS[kind]) for force in forces]
    assert end(runs[0], 60) == end(runs[1], 11, 49)
    assert runs[0].describe()["early_rebuilds"] > 0
    steps = [step for step, _ in forces[0].seen]
    assert steps == list(range(6, 61, 6))[: len(steps)]
    assert forces[0].seen == forces[1].seen


def test_a_barostat_feels_it(water: Any) -> None:
    runs = [
        simulation(water, Springs(SCATTERED, k=200), barostat=CellRescaling(1.0, seed=2, every=10))
        for _ in range(2)
    ]
    assert end(runs[0], 200) == end(runs[1], 1, 32, 100, 67)


def test_a_checkpoint_goes_on_with_the_same_bits(water: Any, tmp_path: Path) -> None:
    whole = simulation(water, Hills())
    first, second = simulation(water, Hills()), simulation(water, Hills())
    first.run(47)
    first.save_checkpoint(tmp_path / "c.qmd")
    second.load_checkpoint(tmp_path / "c.qmd")
    assert end(second, 73) == end(whole, 120)


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_on_one_gpu_do_not_matter(water: Any, ranks: int) -> None:
    several = "cuda:0" + ",0" * (ranks - 1)
    assert end(simulation(water, Hills()), 100) == end(
        simulation(water, Hills(), device=several), 100
    )


@pytest.mark.skipif(gpu_count() < 2, reason="needs two GPUs")
def test_gpus_do_not_matter(water: Any) -> None:
    for force in (Hills, Springs):
        one, two = simulation(water, force()), simulation(water, force(), device="cuda:0,1")
        assert end(one, 400) == end(two, 1, 32, 100, 267)


def test_frames_may_be_dropped_while_the_gpu_waits(water: Any) -> None:
    """Nothing is freed with them, which would wait for the GPU, which waits for Python's lock."""
    kept: list[Any] = []

    def keep(frame: Any) -> None:
        kept.append(frame)
        if len(kept) == 8:
            kept.clear()

    run = simulation(water, Springs(SCATTERED))
    begin = time.monotonic()
    run.run(400, [quiltmd.FunctionReporter(keep, every=4)])
    assert time.monotonic() - begin < 15


def test_arrays_of_positions_may_be_kept_and_changed(water: Any) -> None:
    """Of recorded blocks, too, and beyond the life of the simulation."""
    ends = set()
    for most in (0, 1, 2, 5):
        force = Keeps(most)
        run = simulation(water, force)
        ends.add(end(run, 20, 150, 1, 50))
        del run
        while force.kept:
            force.let_go()
    assert len(ends) == 1


@pytest.mark.slow  # and so alone on the GPU: its kernels hold up those of other tests
def test_a_call_that_makes_the_gpu_wait_too_long_is_named(water: Any) -> None:
    """In a recorded block, whose kernels wait 20 s."""

    class Sleeping(Springs):
        def compute(self, step: int, positions: Any, box: Any) -> tuple[Any, ...]:
            if step == 370:
                time.sleep(21)
            return super().compute(step, positions, box)

    run = simulation(water, Sleeping())
    with pytest.raises(ExternalForceError, match=r"step 370: .*'sleeping'.* than 20 s"):
        run.run(500)


@pytest.mark.parametrize("at", [13, 170])
@pytest.mark.parametrize("fault", ["raises", "nan", "shape", "slow"])
def test_a_fault_names_force_and_step_and_loses_nothing(water: Any, fault: str, at: int) -> None:
    """Whether the block of the step is recorded or not."""
    what, words = FAULTS[fault]
    force = Failing(at, what)
    force.timeout = 0.1 if fault == "slow" else None
    run = simulation(water, force)
    saved: list[int] = []
    reporter = quiltmd.FunctionReporter(lambda frame: saved.append(frame.step), every=4)
    with pytest.raises(ExternalForceError, match=words) as error:
        run.run(200, [reporter])
    assert error.value.step == at
    assert str(error.value).startswith(f"step {at}: external force 'bad'")
    assert saved == list(range(4, at, 4))
    force.at = 1000
    run.set_state(water[1])
    run.run(20)


def test_an_interrupt_in_a_call(water: Any) -> None:
    def interrupt(energy: Any, forces: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulation(water, Failing(105, interrupt)).run(200)
