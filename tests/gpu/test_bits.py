# SPDX-License-Identifier: Apache-2.0
"""The same bits: each time, for blocks of any length, across stops and restarts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import benchmark_systems
import pytest
from running import AT_PRESSURE, INTEGRATORS, Pair, Run, both_ensembles, relaxed, stated, thermal

import quiltmd

pytestmark = pytest.mark.gpu
methods = pytest.mark.parametrize("method", ["pme", "fmm"])


@pytest.fixture(scope="module")
def skewed() -> Pair:
    """Water in a truncated octahedron, relaxed."""
    system, state = benchmark_systems.water(4.5, truncated_octahedron=True)
    return system, relaxed(system, state)


@both_ensembles
def test_each_time(warm: Pair, ensemble: str) -> None:
    digests = {Run(*warm, INTEGRATORS[ensemble]).advance(1000).digest() for _ in range(3)}
    assert len(digests) == 1


@both_ensembles
def test_any_blocks(warm: Pair, ensemble: str) -> None:
    """Blocks of 1, 10, 100 steps, of all at once, and of lengths that fit nothing."""
    plans = [(300,), (100,) * 3, (10,) * 30, (1,) * 300, (7, 31, 1, 111, 150)]
    digests = [Run(*warm, INTEGRATORS[ensemble]).advance(*plan).digest() for plan in plans]
    assert len(set(digests)) == 1, digests


@both_ensembles
def test_any_blocks_in_a_skewed_box(skewed: Pair, ensemble: str) -> None:
    plans = [(200,), (10,) * 20, (1,) * 60 + (140,), (33, 167)]
    digests = [Run(*skewed, INTEGRATORS[ensemble]).advance(*plan).digest() for plan in plans]
    assert len(set(digests)) == 1, digests


@both_ensembles
def test_looking_changes_nothing(warm: Pair, ensemble: str) -> None:
    """Energies, forces and states on the way leave the trajectory alone."""
    run = Run(*warm, INTEGRATORS[ensemble])
    for _ in range(12):
        run.advance(25)
        run.engine.energies()
        run.engine.forces()
        run.state()
    assert run.digest() == Run(*warm, INTEGRATORS[ensemble]).advance(300).digest()


@both_ensembles
def test_frames_that_follow_their_steps(warm: Pair, ensemble: str) -> None:
    """Frames captured before the steps are known to hold are those captured afterwards."""
    one, other = (Run(*warm, INTEGRATORS[ensemble]) for _ in range(2))
    for steps in (25, 15, 1, 0, 34, 25):
        frame = one.engine.run_and_capture(steps, energies=True, state=True)
        assert quiltmd.digest(quiltmd.State(**frame.state())) == other.advance(steps).digest()
        assert frame.energies() == other.engine.energies()
    assert one.advance(100).digest() == other.advance(100).digest()


@both_ensembles
@pytest.mark.parametrize("stop", [1, 37, 100, 199])
def test_restart(warm: Pair, ensemble: str, stop: int) -> None:
    whole = Run(*warm, INTEGRATORS[ensemble]).advance(200)
    first = Run(*warm, INTEGRATORS[ensemble]).advance(stop)
    second = Run(warm[0], first.state(), INTEGRATORS[ensemble]).advance(200 - stop)
    assert second.digest() == whole.digest()
    first.place(first.state())  # and the same engine, set to where it is
    assert first.advance(200 - stop).digest() == whole.digest()


@both_ensembles
@methods
@pytest.mark.parametrize("by", [1.004, 0.97, 1.08])
def test_another_box(warm: Pair, ensemble: str, by: float, method: Any) -> None:
    """Blocks go on in another box, with the same patches or others, as in a new engine."""
    nonbonded = stated(method, warm[1].box)
    run = Run(*warm, INTEGRATORS[ensemble], nonbonded).advance(150)
    run.engine.set_conditions({}, by * warm[1].box)
    run.engine.minimize(1e4, 20)
    relaxed = run.state()
    again = Run(warm[0], relaxed, INTEGRATORS[ensemble], nonbonded)
    assert run.advance(150).digest() == again.advance(150).digest()


@methods
@pytest.mark.parametrize("dynamics", AT_PRESSURE)
def test_constant_pressure(warm: Pair, dynamics: str, method: Any) -> None:
    """Any blocks and stops; the box is found on the device, and calls for other patches."""
    nonbonded = stated(method, warm[1].box)
    squeezed = AT_PRESSURE[dynamics]
    plans = [(300,), (100,) * 3, (1,) * 60 + (240,), (7, 31, 1, 111, 150)]
    runs = [Run(*warm, squeezed, nonbonded).advance(*plan) for plan in plans]
    first = Run(*warm, squeezed, nonbonded).advance(137)
    runs.append(Run(warm[0], first.state(), squeezed, nonbonded).advance(163))
    assert len({run.digest() for run in runs}) == 1
    before, after = warm[1].box[0, 0], runs[0].state().box[0, 0]
    assert 0.9 < after / before < 0.999
    assert first.engine.energies()["heat"] != 0


@both_ensembles
@pytest.mark.parametrize(
    "nonbonded", [quiltmd.Nonbonded(lennard_jones="pme"), quiltmd.Nonbonded(method="fmm")]
)
def test_other_long_range_sums(warm: Pair, ensemble: str, nonbonded: quiltmd.Nonbonded) -> None:
    """A second mesh in every step, or levels: in blocks of any length, and across a stop."""
    plans = [(200,), (10,) * 20, (1,) * 60 + (140,), (33, 167)]
    runs = [Run(*warm, INTEGRATORS[ensemble], nonbonded).advance(*plan) for plan in plans]
    first = Run(*warm, INTEGRATORS[ensemble], nonbonded).advance(77)
    runs.append(Run(warm[0], first.state(), INTEGRATORS[ensemble], nonbonded).advance(123))
    assert len({run.digest() for run in runs}) == 1


@both_ensembles
def test_restart_from_a_checkpoint(warm: Pair, ensemble: str, tmp_path: Any) -> None:
    whole = Run(*warm, INTEGRATORS[ensemble]).advance(150)
    middle = Run(*warm, INTEGRATORS[ensemble]).advance(70).state()
    quiltmd.write_checkpoint(tmp_path / "state.chk", quiltmd.Checkpoint(middle))
    read = quiltmd.read_checkpoint(tmp_path / "state.chk").state
    assert Run(warm[0], read, INTEGRATORS[ensemble]).advance(80).digest() == whole.digest()


@both_ensembles
@pytest.mark.parametrize("every", [2, 3])
def test_impulses(warm: Pair, ensemble: str, every: int) -> None:
    """The long-range force every so many steps: a run of 1000, and one with stops between them."""
    integrator = replace(INTEGRATORS[ensemble], timestep=0.002, long_range_every=every)
    whole = Run(*warm, integrator).advance(1000)
    run = Run(*warm, integrator).advance(1, 7, 31, 100, 1, 159)
    run.engine.energies()
    run = Run(warm[0], run.state(), integrator).advance(1, 400)
    assert run.advance(*(1,) * 20, *(10,) * 20, 80).digest() == whole.digest()
    every_step = replace(integrator, long_range_every=1)
    assert whole.digest() != Run(*warm, every_step).advance(1000).digest()


def test_hot_atoms_leave_the_verlet_buffer(skewed: Pair) -> None:
    """At ten times the temperature atoms move beyond the Verlet buffer; any blocks still do."""
    system, state = skewed
    hot = thermal(system, state, 3000.0)
    integrator = quiltmd.LangevinMiddle(temperature=300.0, timestep=0.002, seed=3)
    runs = [Run(system, hot, integrator).advance(*plan) for plan in ((200,), (1,) * 50 + (150,))]
    assert runs[0].engine.describe()["early_rebuilds"] > 0
    assert runs[0].digest() == runs[1].digest()


@pytest.mark.slow
@both_ensembles
def test_ten_thousand_steps(warm: Pair, ensemble: str) -> None:
    digests = [Run(*warm, INTEGRATORS[ensemble]).advance(*plan).digest()
               for plan in ((10000,), (10000,), (100,) * 100, (10,) * 1000)]  # fmt: skip
    middle = Run(*warm, INTEGRATORS[ensemble]).advance(4321).state()
    digests.append(Run(warm[0], middle, INTEGRATORS[ensemble]).advance(5679).digest())
    assert len(set(digests)) == 1, digests


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_thousand_steps_of_a_million_atoms(warm: Pair) -> None:
    """Blocks of 1, 10 and 100 steps among them, and a stop."""
    system, state = warm[0].tile(3, 3, 5), warm[1].tile(3, 3, 5)
    run = Run(system, state, INTEGRATORS["nvt"]).advance(1000)
    digests = [run.digest()]
    run.place(state)
    run.advance(1, 9, *(10,) * 19, *(100,) * 3)
    middle = run.state()
    digests.append(run.advance(*(100,) * 5).digest())
    run.place(middle)
    digests.append(run.advance(500).digest())
    assert len(set(digests)) == 1, digests
