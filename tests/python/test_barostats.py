# SPDX-License-Identifier: Apache-2.0
"""Barostats: the ensemble, what is conserved, ranks and stops, patches that follow the box."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boxes import BAR, BOLTZMANN, through_file, water_box

import quiltmd
from quiltmd import (
    BerendsenBarostat,
    BoxError,
    CellRescaling,
    LangevinMiddle,
    MonteCarloBarostat,
    Nonbonded,
    QuiltError,
    QuiltWarning,
    Simulation,
    State,
    VelocityRescaling,
    VelocityVerlet,
)
from quiltmd.running import runner
from quiltmd.running.config import build_config

PME = Nonbonded(cutoff=0.66, pme_alpha=4.5, pme_grid=(24, 24, 24), pme_order=5)
LANGEVIN = LangevinMiddle(300.0, 5.0, timestep=0.002, seed=5, remove_com_every=10)
VERLET = VelocityVerlet(timestep=0.002, remove_com_every=10)
BATH = VelocityRescaling(300.0, time_constant=0.1, seed=5, every=4)
# It squeezes the box so fast that patches become fewer within some steps.
SQUEEZE = CellRescaling(6000.0, time_constant=0.1, seed=7, every=8)
# Its Verlet buffer is larger, its cutoff is smaller: the patches are the same.
FOR_VERLET = replace(PME, cutoff=0.61, pme_alpha=4.7)
DYNAMICS: dict[str, dict[str, Any]] = {
    "langevin": {"integrator": LANGEVIN},
    "verlet": {"integrator": VERLET, "thermostat": BATH},
}
BOTH = pytest.mark.parametrize("dynamics", ["langevin", "verlet"])


@pytest.fixture(scope="module")
def water() -> tuple[Any, State]:
    """729 waters, in a box that is cut into three patches, just, along x."""
    system, state = water_box((9, 9, 9), seed=1, spacing=0.3107)
    simulation = Simulation(system, state, PME, LANGEVIN, device="cpu")
    simulation.minimize(500.0, 10)
    simulation.draw_velocities(300.0, 1)
    simulation.run(20)
    warm = simulation.state()
    return system, State(warm.positions, warm.velocities, warm.box)


def make(water: tuple[Any, State], dynamics: str, barostat: Any, **more: Any) -> Simulation:
    system, state = water
    nonbonded = FOR_VERLET if dynamics == "verlet" else PME
    settings = {"device": "cpu", "threads": 1, **DYNAMICS[dynamics], **more}
    return Simulation(system, state, nonbonded, barostat=barostat, **settings)


# ---- Ranks, stops, patches -------------------------------------------------------------------


@pytest.fixture(scope="module")
def squeezed(water: tuple[Any, State]) -> dict[str, list[State]]:
    """States of a run that is squeezed, one every 7 steps."""
    found: dict[str, list[State]] = {}
    for dynamics in DYNAMICS:
        simulation = make(water, dynamics, SQUEEZE)
        found[dynamics] = []
        for _ in range(8):
            simulation.run(7)
            found[dynamics].append(simulation.state())
    return found


def same(a: State, b: State) -> bool:
    return quiltmd.digest(a) == quiltmd.digest(b) and a.patches == b.patches


@BOTH
def test_patches_follow_the_box(squeezed: dict[str, list[State]], dynamics: str) -> None:
    states = squeezed[dynamics]
    assert states[0].patches == (3, 3, 3)
    assert states[-1].patches == (2, 2, 2)
    lengths = [state.box[0, 0] for state in states]
    assert lengths[-1] < 0.98 * lengths[0]
    assert all(np.allclose(state.box, state.box[0, 0] * np.eye(3)) for state in states)


@BOTH
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_ranks_and_stops_do_not_matter(
    water: tuple[Any, State], squeezed: dict[str, list[State]], dynamics: str, ranks: int
) -> None:
    """Without a stop on the way, where the states above have one every 7 steps."""
    simulation = make(water, dynamics, SQUEEZE, ranks=ranks)
    simulation.run(56)
    about = simulation.describe()
    assert about["grid_changes"] == 1
    assert 0 < about["grid_changed_at"] < 56
    assert same(simulation.state(), squeezed[dynamics][-1])
    assert np.array_equal(simulation.box, squeezed[dynamics][-1].box)


@BOTH
@pytest.mark.parametrize("processes", [2, 3])
def test_ranks_in_processes_do_not_matter(
    water: tuple[Any, State], squeezed: dict[str, list[State]], dynamics: str, processes: int
) -> None:
    """The patches become fewer on the way; then the box changes by hand as well."""
    end = squeezed[dynamics][-1]
    runs = []
    for settings in (
        {"device": "cpu"},
        {"device": "ranks:" + ",".join(processes * ["worker:cpu"])},
    ):
        simulation = make(water, dynamics, SQUEEZE, **settings)
        simulation.run(56)
        assert same(simulation.state(), end)
        assert np.array_equal(simulation.box, end.box)
        assert simulation.describe()["patches"] == 8
        simulation.set_conditions(pressure=-3000.0, box=1.01 * end.box)
        simulation.run(20)
        runs.append((simulation.state(), simulation.energies(), simulation.box.tobytes()))
    assert same(runs[0][0], runs[1][0])
    assert runs[0][1:] == runs[1][1:]


@BOTH
def test_a_run_goes_on_from_a_checkpoint(
    water: tuple[Any, State], squeezed: dict[str, list[State]], dynamics: str, tmp_path: Path
) -> None:
    states = squeezed[dynamics]
    for first, ranks in ((0, 2), (3, 1), (5, 3)):
        begun = through_file(states[first], tmp_path)
        simulation = make((water[0], begun), dynamics, SQUEEZE, ranks=ranks)
        simulation.run(7 * (7 - first))
        assert same(simulation.state(), states[-1])


@BOTH
def test_steps_that_are_redone_leave_no_trace(water: tuple[Any, State], dynamics: str) -> None:
    """Waters so hot that they move beyond the Verlet buffer, on ranks and in processes."""
    system, state = water
    hot = (system, State(state.positions, 2.2 * state.velocities, state.box))
    ends = []
    for where in ({"ranks": 1}, {"ranks": 2}, {"device": "ranks:worker:cpu,worker:cpu"}):
        simulation = make(hot, dynamics, replace(SQUEEZE, time_constant=2.0), **where)
        simulation.run(40)
        assert simulation.describe()["early_rebuilds"] > 0
        ends.append((simulation.state(), simulation.energies()))
    for state, energies in ends[1:]:
        assert same(state, ends[0][0])
        assert energies == ends[0][1]


# ---- What is conserved -----------------------------------------------------------------------


@BOTH
def test_the_work_on_the_box_is_counted(water: tuple[Any, State], dynamics: str) -> None:
    """Thousands of kJ/mol of work, fewer patches on the way, and the heat bath beside it."""
    barostat = CellRescaling(20000.0, time_constant=0.5, seed=3, every=5)
    short = {"integrator": replace(DYNAMICS[dynamics]["integrator"], timestep=0.0005)}
    alone = make(water, dynamics, None, **short)
    simulation = make(water, dynamics, barostat, **short)
    before = simulation.energies()
    for made in (alone, simulation):
        made.run(120)
    after = simulation.energies()
    error = after["conserved"] - before["conserved"]
    usual = alone.energies()["conserved"] - before["conserved"]
    assert after["heat"] - alone.energies()["heat"] > 80
    assert abs(error - usual) < 6
    assert simulation.box[0, 0] < 0.99 * water[1].box[0, 0]


# ---- The ensemble ----------------------------------------------------------------------------


def ideal_gas(atoms: int, pressure: float) -> tuple[Any, State]:
    """Atoms that do not interact, at the mean volume of a pressure (bar) and 300 K."""
    system = quiltmd.System.of(np.full(atoms, 20.0))
    length = ((atoms + 1) * BOLTZMANN * 300 / (pressure / BAR)) ** (1 / 3)
    rng = np.random.default_rng(2)
    return system, State.start(system, rng.uniform(0, length, (atoms, 3)), length * np.eye(3))


def test_volumes_of_an_ideal_gas() -> None:
    """P(V) is proportional to V^N exp(-P V / kT): mean and variance by five standard errors."""
    atoms, pressure, timestep, time_constant = 256, 300.0, 0.04, 2.0
    system, state = ideal_gas(atoms, pressure)
    barostat = CellRescaling(pressure, time_constant, compressibility=1 / pressure, seed=1, every=1)
    simulation = Simulation(
        system,
        state,
        Nonbonded(cutoff=1.0, method="cutoff"),
        LangevinMiddle(300.0, 5.0, timestep, seed=2, remove_com_every=0),
        barostat=barostat,
        device="cpu",
        threads=1,
    )
    simulation.draw_velocities(300.0, 3)
    volumes = []
    for _ in range(2500):
        simulation.run(4)
        volumes.append(np.prod(np.diag(simulation.box)))
    thermal = BOLTZMANN * 300 / (pressure / BAR)
    samples = len(volumes) * 4 * timestep / (2 * time_constant)  # independent ones
    variance = (atoms + 1) * thermal**2
    assert np.mean(volumes) == pytest.approx(
        (atoms + 1) * thermal, abs=5 * np.sqrt(variance / samples)
    )
    assert np.var(volumes) == pytest.approx(variance, rel=5 * np.sqrt(2 / samples))


# ---- Settings --------------------------------------------------------------------------------


def test_axes_are_scaled_in_their_sets(water: tuple[Any, State]) -> None:
    start = np.diag(water[1].box)
    ratios = {}
    choices: dict[str, dict[str, Any]] = {
        "semi": {"coupling": "semi-isotropic"},
        "fixed": {"coupling": "semi-isotropic", "compressibility": (4.5e-5, 0.0)},
        "tension": {"coupling": "semi-isotropic", "surface_tension": 3e4},
        "each": {"coupling": "anisotropic"},
    }
    for name, settings in choices.items():
        simulation = make(
            water, "langevin", replace(SQUEEZE, pressure=1.0, time_constant=1.0, **settings)
        )
        simulation.run(20)
        ratios[name] = np.diag(simulation.box) / start
    semi, fixed, tension, each = ratios.values()
    assert semi[0] == semi[1] != semi[2] != 1
    assert fixed[0] == fixed[1] != 1 == fixed[2]
    assert tension[0] > 1.005 * semi[0]
    assert len(set(each)) == 3


def test_the_pressure_can_change(water: tuple[Any, State]) -> None:
    simulation = make(water, "langevin", replace(SQUEEZE, pressure=1.0, time_constant=1.0))
    simulation.run(16)
    before = simulation.box[0, 0]
    simulation.set_conditions(pressure=30000.0)
    assert simulation.barostat is not None
    assert simulation.barostat.pressure == 30000.0
    simulation.run(16)
    assert simulation.box[0, 0] < 0.995 * before
    alone = make(water, "langevin", None)
    with pytest.raises(QuiltError, match="no barostat"):
        alone.set_conditions(pressure=1.0)


@pytest.mark.parametrize(
    ("time_constant", "timestep", "impulse", "every"),
    [
        (5.0, 0.004, 1, 25),
        (5.0, 0.002, 1, 50),
        (5.0, 0.004, 2, 24),
        (0.1, 0.004, 2, 2),
        (1e300, 0.004, 2, 2**31 - 2),
    ],
)
def test_actions_are_a_fiftieth_of_the_time_constant_apart(
    water: tuple[Any, State], time_constant: float, timestep: float, impulse: int, every: int
) -> None:
    integrator = LangevinMiddle(timestep=timestep, long_range_every=impulse)
    for kind in (CellRescaling, BerendsenBarostat):
        run = make(water, "langevin", kind(time_constant=time_constant), integrator=integrator)
        assert run.barostat is not None
        assert run.barostat.every == every


@pytest.mark.parametrize(("impulse", "every"), [(1, 100), (3, 99), (4, 100), (101, 101)])
def test_proposals_fit_impulses_by_default(
    water: tuple[Any, State], impulse: int, every: int
) -> None:
    integrator = LangevinMiddle(timestep=1e-5, long_range_every=impulse)
    run = make(water, "langevin", MonteCarloBarostat(), integrator=integrator)
    assert run.barostat is not None
    assert run.barostat.every == every


def test_an_interval_of_proposals_that_is_no_multiple_is_refused(water: tuple[Any, State]) -> None:
    integrator = LangevinMiddle(timestep=1e-5, long_range_every=3)
    with pytest.raises(QuiltError, match="every = 100 must be a multiple of long_range_every"):
        make(water, "langevin", MonteCarloBarostat(every=100), integrator=integrator)


def test_what_does_not_go_together_is_refused(water: tuple[Any, State]) -> None:
    with pytest.raises(QuiltError, match="need a temperature"):
        make(water, "langevin", CellRescaling(), integrator=VERLET)
    impulses = replace(LANGEVIN, long_range_every=3)
    with pytest.raises(QuiltError, match="multiple of long_range_every"):
        make(water, "langevin", CellRescaling(every=10), integrator=impulses)
    with pytest.raises(QuiltError, match="every: input should be less than or equal to"):
        CellRescaling(every=2**32 + 1)  # 1 in 32 bits
    with pytest.raises(QuiltError, match="remove_com_every: input should be less than or equal to"):
        LangevinMiddle(remove_com_every=2**32)
    with pytest.raises(QuiltError, match="2 values for 1 set"):
        CellRescaling(compressibility=(1e-5, 1e-5))
    with pytest.raises(QuiltError, match="surface_tension needs"):
        CellRescaling(surface_tension=100.0)
    with pytest.raises(QuiltError, match="BerendsenBarostat: seed is not a known setting"):
        BerendsenBarostat(seed=1)  # type: ignore[call-arg]
    with pytest.warns(QuiltWarning, match="no known ensemble"):
        make(water, "langevin", BerendsenBarostat())


def test_a_box_that_runs_away_is_an_error(water: tuple[Any, State]) -> None:
    simulation = make(water, "langevin", CellRescaling(1e5, time_constant=0.01, seed=1))
    with pytest.raises(BoxError, match=r"^step \d+: .*more than 2 % at once") as caught:
        simulation.run(100)
    assert 0 <= caught.value.step <= 100


# ---- Runs --------------------------------------------------------------------------------------


def run_settings(files: tuple[Path, Path], out: Path, steps: int) -> dict[str, Any]:
    return {
        "system": {"topology": files[0], "coordinates": files[1]},
        "integrator": {"ensemble": "npt", "timestep": 0.002, "seed": 1},
        "barostat": {"pressure": 2000.0, "time_constant": 0.2, "every": 10},
        "run": {"steps": steps, "device": "cpu", "threads": 1},
        "output": {"dir": out, "log_every": 10, "log_box": True, "trajectory_every": 20},
    }


def test_a_run_is_resumed_with_another_box(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    """The PME grid stays that of the box at the start; the log has the box of each frame."""
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    runner.start(build_config(run_settings(alanine, whole, 40)))
    runner.start(build_config(run_settings(alanine, cut, 25)))
    runner.resume(cut, {("run", "steps"): 40})
    states = [quiltmd.read_checkpoint(folder / "checkpoint.qmd").state for folder in (whole, cut)]
    assert same(*states)
    rows = [np.genfromtxt(folder / "log.csv", delimiter=",", names=True) for folder in (whole, cut)]
    lengths = rows[0]["a_x"]
    assert np.array_equal(lengths, rows[1]["a_x"])
    assert lengths[-1] == pytest.approx(states[0].box[0, 0], abs=1e-6)
    assert len(set(lengths)) == len(lengths) - 1  # the barostat first acts after step 10
    assert np.ptp(rows[0]["density"] * rows[0]["a_x"] ** 3) < 1e-3 * rows[0]["density"][0]


@pytest.mark.filterwarnings("ignore::quiltmd.QuiltWarning")
def test_a_run_tells_of_other_patches(
    alanine: tuple[Path, Path], tmp_path: Path, capsys: Any
) -> None:
    settings = run_settings(alanine, tmp_path, 60)
    settings["nonbonded"] = {"cutoff": 0.75}  # 3 patches along each axis at first
    settings["barostat"] |= {"kind": "berendsen", "pressure": 8000.0}
    runner.start(build_config(settings))
    told = capsys.readouterr().err
    state = quiltmd.read_checkpoint(tmp_path / "checkpoint.qmd").state
    assert state.patches == (2, 2, 2)
    words = r"divided into other patches 2 time\(s\), last at step (\d+) into 2 x 2 x 2"
    found = re.search(words, " ".join(told.split()))
    assert found
    assert 10 < int(found[1]) < 60


def test_a_barostat_without_its_ensemble_is_refused(
    alanine: tuple[Path, Path], tmp_path: Path
) -> None:
    settings = run_settings(alanine, tmp_path, 10)
    settings["integrator"]["ensemble"] = "nvt"
    with pytest.raises(QuiltError, match="the ensemble nvt has no barostat"):
        build_config(settings)
    settings["integrator"]["ensemble"] = "npt"
    settings["barostat"] = {"compressibility": [4.5e-5, 0.0]}
    with pytest.raises(QuiltError, match="2 values for 1 set"):
        build_config(settings)
