# SPDX-License-Identifier: Apache-2.0
"""What a user may get wrong in Python: an error that says so, never a crash or silence."""

from __future__ import annotations

import _thread
import copy
import pickle
import threading
import time
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import pytest
from boxes import water_box
from fake_engine import FakeEngine
from openmm import app, unit

import quiltmd
from quiltmd import (
    FunctionReporter,
    InputError,
    LangevinMiddle,
    LogReporter,
    Nonbonded,
    QuiltError,
    Simulation,
    State,
    TrajectoryReporter,
    VelocityRescaling,
    VelocityVerlet,
)
from quiltmd.engine.execution import Execution

pytestmark = pytest.mark.filterwarnings("ignore:a cutoff of:quiltmd.QuiltWarning")

Loaded = tuple[quiltmd.System, quiltmd.State]


@pytest.fixture(scope="module")
def water() -> Loaded:
    return water_box((6, 6, 6))


@pytest.fixture
def simulation(water: Loaded) -> Simulation:
    """On the real core."""
    return Simulation(*water, Nonbonded(cutoff=0.7), device="cpu", threads=1)


@pytest.fixture
def fake(water: Loaded) -> Simulation:
    return Simulation(*water, Nonbonded(cutoff=0.7), device="cpu", engine=FakeEngine)


@pytest.mark.parametrize("name", ["positions", "velocities", "box"])
def test_arrays_of_a_state_are_read_only(water: Loaded, name: str) -> None:
    array = getattr(water[1], name)
    with pytest.raises(ValueError, match="read-only"):
        array[0, 0] = np.nan


@pytest.mark.parametrize("name", ["positions", "velocities", "box"])
def test_arrays_of_a_state_stay_read_only(water: Loaded, name: str) -> None:
    for array in (getattr(water[1], name), water[0].masses, water[0].topology.atom_names):
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.setflags(write=True)


def test_a_system_does_not_follow_the_arrays_it_was_made_from(water: Loaded) -> None:
    masses = water[0].masses.copy()
    view = masses[:]
    view.setflags(write=False)
    system = replace(water[0], masses=view)
    masses[0] = np.nan
    assert np.isfinite(system.masses).all()


@pytest.mark.parametrize("kind", [complex, str, bool, object])
def test_arrays_of_anything_but_numbers_are_refused(water: Loaded, kind: Any) -> None:
    with pytest.raises(InputError, match="velocities must be an array of real numbers"):
        replace(water[1], velocities=water[1].velocities.astype(kind))


@pytest.mark.parametrize("positions", [None, 3.0, "water", [[1, 2, 3], [1, 2]], np.ones(6)])
def test_what_is_no_array_of_positions_is_refused(water: Loaded, positions: Any) -> None:
    with pytest.raises(InputError, match="positions"):
        replace(water[1], positions=positions)


def test_a_state_does_not_follow_the_arrays_it_was_made_from(water: Loaded) -> None:
    positions = water[1].positions.copy()
    state = State(positions, water[1].velocities, water[1].box)
    positions[0] = np.nan
    assert np.isfinite(state.positions).all()


@pytest.mark.parametrize("name", ["positions", "velocities"])
def test_masked_values_are_refused(water: Loaded, name: str) -> None:
    values = getattr(water[1], name)
    assert len(replace(water[1], **{name: np.ma.masked_array(values)}).positions) == len(values)
    mask = np.zeros(values.shape, bool)
    mask[3, 1] = True
    with pytest.raises(InputError, match=f"{name}: some values are masked"):
        replace(water[1], **{name: np.ma.masked_array(values, mask)})
    with pytest.raises(InputError, match="masses: some values are masked"):
        replace(water[0], masses=np.ma.masked_array(water[0].masses, mask[:, 1]))


@pytest.mark.parametrize("atoms", [[[0, 1.5]], [[0, 2**32 + 1]], [["0", "1"]], [[True, False]]])
def test_atoms_that_are_no_whole_numbers_are_refused(water: Loaded, atoms: Any) -> None:
    with pytest.raises(InputError, match=r"system\.exclusions"):
        replace(water[0], exclusions=atoms)


def test_names_are_read_only(water: Loaded) -> None:
    with pytest.raises(ValueError, match="read-only"):
        water[0].topology.atom_names[0] = "Y"


def test_a_state_of_another_system_is_refused(simulation: Simulation, water: Loaded) -> None:
    half = len(water[1].positions) // 2
    other = State(water[1].positions[:half], water[1].velocities[:half], water[1].box)
    with pytest.raises(QuiltError, match=f"the state has {half} atoms, the system {2 * half}"):
        simulation.set_state(other)
    assert np.isfinite(simulation.forces()).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e30])
@pytest.mark.parametrize("name", ["positions", "velocities"])
def test_numbers_out_of_range_are_refused(water: Loaded, name: str, value: float) -> None:
    array = getattr(water[1], name).copy()
    array[4, 1] = value
    with pytest.raises(InputError, match="atom 5"):
        replace(water[1], **{name: array})


@pytest.mark.parametrize("step", [-1, 1.5, 2**63])
def test_a_step_that_is_none_is_refused(water: Loaded, step: Any) -> None:
    with pytest.raises(QuiltError, match="step"):
        replace(water[1], step=step)


@pytest.mark.parametrize(
    "steps", [-5, float("nan"), float("inf"), 1.5, "10", None, True, [3], np.array([2, 3])]
)
def test_steps_must_be_a_whole_number(fake: Simulation, steps: Any) -> None:
    with pytest.raises(QuiltError, match="steps must be a whole number of at least 0"):
        fake.run(steps)


def test_a_float_that_is_whole_will_do(fake: Simulation) -> None:
    fake.run(1e1)  # type: ignore[arg-type]
    assert fake.step == 10


@pytest.mark.parametrize("steps", [10**30, 2**62])
def test_more_steps_than_can_be_counted(fake: Simulation, steps: int) -> None:
    fake.run(1)
    with pytest.raises(QuiltError, match=r"at most|beyond the last step"):
        fake.run(steps)


@pytest.mark.parametrize("reporter", [print, 3, None])
def test_what_is_no_reporter_is_refused(fake: Simulation, reporter: Any) -> None:
    with pytest.raises(QuiltError, match="FunctionReporter makes a reporter from a function"):
        fake.run(10, [reporter])


def test_parts_of_openmm_are_named_with_ours(water: Loaded, fake: Simulation) -> None:
    integrator: Any = openmm.LangevinMiddleIntegrator(300, 1, 0.002)
    with pytest.raises(
        QuiltError,
        match=r"not openmm\.LangevinMiddleIntegrator: give one of Quilt's "
        "own as integrator=: LangevinMiddle or VelocityVerlet",
    ):
        Simulation(*water, integrator)  # where Simulation of OpenMM has it
    with pytest.raises(QuiltError, match="must be LangevinMiddle or VelocityVerlet, not openmm"):
        Simulation(*water, integrator=integrator)
    reporter: Any = app.StateDataReporter("/dev/null", 1)
    with pytest.raises(
        QuiltError, match=r"openmm\.StateDataReporter reports on .* use LogReporter"
    ):
        fake.run(10, [reporter])


def test_numbers_that_are_none_are_refused(fake: Simulation, water: Loaded) -> None:
    wrong: dict[str, Any] = {
        "temperature": lambda: fake.draw_velocities("3"),  # type: ignore[arg-type]
        "seed": lambda: fake.draw_velocities(300, 10**30),
        "tolerance must be a number": lambda: fake.minimize(float("nan")),
        "tolerance must not be negative": lambda: fake.minimize(-1),
        "a state must be a State": lambda: fake.set_state(None),  # type: ignore[arg-type]
        "heat": lambda: fake.set_state(water[1], float("nan")),
        "State.start.system, positions, box. makes": lambda: Simulation(
            water[0],
            water[1].positions,  # type: ignore[arg-type]
        ),
        "in this order, not of State and System": lambda: Simulation(water[1], water[0]),  # type: ignore[arg-type]
    }
    for message, call in wrong.items():
        with pytest.raises(QuiltError, match=message):
            call()


def test_intervals_must_be_whole_numbers(fake: Simulation, tmp_path: Path) -> None:
    with pytest.raises(QuiltError, match="every must be a whole number"):
        LogReporter(tmp_path / "log.csv", every=-5)
    own = FunctionReporter(print, 5)
    own.every = -5
    with pytest.raises(QuiltError, match="every must be a whole number"):
        fake.run(10, [own])


def test_a_function_can_report(fake: Simulation) -> None:
    steps: list[int] = []
    fake.run(20, [FunctionReporter(lambda frame: steps.append(frame.step), every=5, needs=())])
    assert steps == [5, 10, 15, 20]


def test_a_trajectory_needs_no_simulation_beforehand(fake: Simulation, tmp_path: Path) -> None:
    given = TrajectoryReporter(tmp_path / "given.dcd", 5, fake)
    found = TrajectoryReporter(tmp_path / "found.dcd", 5)
    fake.run(20, [given, found])
    given.close()
    found.close()
    assert (tmp_path / "found.dcd").read_bytes() == (tmp_path / "given.dcd").read_bytes()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LangevinMiddle(temperature=-1), "LangevinMiddle: temperature: .*-1"),
        (lambda: LangevinMiddle(temperatur=1), "temperatur is not a known setting"),
        (lambda: VelocityVerlet(timestep=2), "did you mean 0.002"),
        (lambda: Nonbonded(cutoff=-1), "Nonbonded: cutoff"),
        (lambda: Nonbonded(pme_alpha=3.0), "belong together"),
        (lambda: Nonbonded(pme_alpha=3.0, pme_grid=(32, 32)), "pme_grid: too few values"),  # type: ignore[arg-type]
        (lambda: VelocityRescaling(temperature=-1), "VelocityRescaling: temperature"),
        (lambda: LangevinMiddle(seed=True), "seed: must be a number"),
        (lambda: VelocityRescaling(300, True), "time_constant: must be a number"),
        (lambda: Nonbonded(cutoff=True), "cutoff: must be a number"),
        (lambda: Execution(ranks=True), "ranks: must be a number"),
        (lambda: Execution("gpu"), "device: there is no such device as 'gpu'"),  # type: ignore[arg-type]
    ],
)
def test_bad_settings_are_quilt_errors(make: Any, message: str) -> None:
    with pytest.raises(QuiltError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_openmm_quantities_are_numbers() -> None:
    found = LangevinMiddle(300 * unit.kelvin, 1 / unit.picosecond, 4 * unit.femtosecond)
    assert found == LangevinMiddle(300, 1, 0.004)
    assert Nonbonded(cutoff=9 * unit.angstrom) == Nonbonded(cutoff=0.9)


@pytest.mark.parametrize("name", ["integrator", "thermostat", "nonbonded", "system", "device"])
def test_what_would_be_ignored_cannot_be_set(fake: Simulation, name: str) -> None:
    with pytest.raises(QuiltError, match=f"the {name} of a simulation cannot be changed"):
        setattr(fake, name, VelocityVerlet())


@pytest.mark.parametrize(
    ("name", "value"),
    [("step", 5), ("box", np.eye(3)), ("time", 0), ("temperature", 310), ("friction", 2)],
)
def test_what_follows_from_a_run_cannot_be_set(fake: Simulation, name: str, value: Any) -> None:
    with pytest.raises(QuiltError, match=f"the {name} of a simulation follows from"):
        setattr(fake, name, value)


@pytest.mark.parametrize("name", ["timestep", "run", "temprature"])
def test_what_is_no_setting_cannot_be_set(fake: Simulation, name: str) -> None:
    with pytest.raises(QuiltError, match=f"a simulation has no {name} that could be set"):
        setattr(fake, name, 5)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda part: pickle.loads(pickle.dumps(part))])
def test_copies_are_read_only_too(water: Loaded, again: Any) -> None:
    """A copy that could be written to would reach the core without checks, and crash it."""
    system, state = map(again, water)
    for array in (state.positions, state.box, system.masses, system.topology.residue_of_atom):
        assert not array.flags.writeable
    assert quiltmd.digest(state) == quiltmd.digest(water[1])


def test_a_checkpoint_that_cannot_be_written_is_named(fake: Simulation, tmp_path: Path) -> None:
    target = tmp_path / "missing" / "run.qmd"
    with pytest.raises(QuiltError, match=f"cannot write {target}: No such file"):
        fake.save_checkpoint(target)


def test_parts_in_the_wrong_place_are_named(water: Loaded) -> None:
    with pytest.raises(QuiltError, match="not LangevinMiddle: give it as integrator="):
        Simulation(*water, LangevinMiddle(), engine=FakeEngine)  # type: ignore[arg-type]
    with pytest.raises(
        QuiltError,
        match="integrator must be LangevinMiddle or VelocityVerlet, not",
    ):
        Simulation(*water, integrator=water[0], engine=FakeEngine)  # type: ignore[arg-type]
    with pytest.raises(QuiltError, match=r"barostat must be .*CellRescaling.*, not str"):
        Simulation(*water, barostat="x", engine=FakeEngine)  # type: ignore[arg-type]


def test_a_single_reporter_is_no_list(fake: Simulation, tmp_path: Path) -> None:
    reporter = quiltmd.LogReporter(tmp_path / "log.csv", every=1)
    with pytest.raises(QuiltError, match="must be a list of reporters, not LogReporter"):
        fake.run(1, reporter)  # type: ignore[arg-type]


@pytest.mark.parametrize("write", [quiltmd.write_cif, quiltmd.write_pdb, quiltmd.write_rst7])
def test_a_structure_that_cannot_be_written_is_named(
    fake: Simulation, tmp_path: Path, write: Any
) -> None:
    target = tmp_path / "missing" / "x"
    with pytest.raises(QuiltError, match=f"cannot write {target}: No such file"):
        write(target, fake)


def test_descriptions_print_in_a_line(water: Loaded, fake: Simulation) -> None:
    for part in (*water, water[0].topology):
        assert len(repr(part)) < 100
    assert repr(fake) == f"<Simulation: {water[0].atoms} atoms at step 0, cpu>"


def test_absurd_temperatures_are_refused(fake: Simulation) -> None:
    for temperature in (-1, float("nan"), 1e30):
        with pytest.raises(QuiltError, match="temperature"):
            fake.draw_velocities(temperature)


def test_the_package_is_typed() -> None:
    assert (files("quiltmd") / "py.typed").is_file()


def test_a_second_thread_gets_an_error(simulation: Simulation) -> None:
    """Of three threads that run at once one does, the others are told; nothing is lost."""
    errors: list[str] = []
    barrier = threading.Barrier(3)

    def work() -> None:
        barrier.wait()
        try:
            simulation.run(60)
        except QuiltError as error:
            errors.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert simulation.step == 60 * (3 - len(errors))
    assert all("in use by another thread" in error for error in errors)
    assert simulation.state().step == simulation.step


def test_a_reporter_cannot_run_the_simulation(simulation: Simulation) -> None:
    with pytest.raises(QuiltError, match="a reporter may read its frame only"):
        simulation.run(20, [FunctionReporter(lambda frame: simulation.run(5), every=5)])
    simulation.run(5)
    assert simulation.state().step == simulation.step


def test_a_watcher_may_read_but_not_run(fake: Simulation) -> None:
    energies: list[float] = []

    def watch(step: int) -> bool:
        energies.append(fake.energies()["total"])
        fake.run(5)
        return False

    with pytest.raises(QuiltError, match="`watch` may read it"):
        fake.run(20, watch=watch)
    assert energies


def test_an_interrupt_leaves_a_run_that_can_go_on(water: Loaded) -> None:
    """Ctrl-C at any time: reports are those of the steps done, and the bits are the same."""
    bath = LangevinMiddle(seed=3)
    whole, parts = (Simulation(*water, Nonbonded(cutoff=0.7), bath, device="cpu") for _ in "ab")
    for one in (whole, parts):
        one.draw_velocities(300, seed=1)
    steps: list[int] = []
    reporter = FunctionReporter(lambda frame: steps.append(frame.step), every=3, needs=())
    interrupts = 0
    for delay in (0.02, 0.1, 0.3):
        timer = threading.Timer(delay, _thread.interrupt_main)
        timer.start()
        try:
            parts.run(1_000_000, [reporter])
        except KeyboardInterrupt:
            interrupts += 1
        timer.join()
        assert parts.state().step == parts.step
    assert interrupts == 3
    parts.run(3, [reporter])
    assert steps == list(range(3, parts.step + 1, 3))
    whole.run(parts.step)
    assert quiltmd.digest(whole.state()) == quiltmd.digest(parts.state())


def test_a_second_interrupt_acts_at_once(fake: Simulation) -> None:
    def watch(step: int) -> bool:
        for _ in range(2):
            _thread.interrupt_main()
            time.sleep(0.05)
        raise AssertionError("the second interrupt was late")

    with pytest.raises(KeyboardInterrupt):
        fake.run(100, watch=watch)
    assert fake.state().step == fake.step


def test_more_atoms_than_can_all_meet() -> None:
    """Tiles of all pairs are counted in 32 bits."""
    line = np.arange(128) * 0.4
    places = np.stack(np.meshgrid(line, line, line), axis=-1).reshape(-1, 3)
    atoms = len(places)
    ones, one = np.ones(atoms), np.ones((1, 1))
    system = quiltmd.System.of(40 * ones, 0 * ones, np.zeros(atoms, int), 1e-5 * one, 1e-3 * one)
    with pytest.raises(
        QuiltError,
        match=r"its 2097152 atoms take \d+ slots, and at most \d+ are possible; choose a cutoff",
    ):
        Simulation(system, State(places, 0 * places, None), device="cpu").energies()
