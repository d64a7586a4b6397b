# SPDX-License-Identifier: Apache-2.0
"""When the motion of the centre of mass is removed, and which degrees of freedom are counted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boxes import BOLTZMANN, Array, free_waters

import quiltmd
from quiltmd import (
    BathGroup,
    BerendsenThermostat,
    CellRescaling,
    ImplicitSolvent,
    LangevinMiddle,
    MonteCarloBarostat,
    Nonbonded,
    NoseHooverChain,
    Restraint,
    Simulation,
    State,
    VelocityRescaling,
    VelocityVerlet,
    apply_electric_field,
    restrain,
)
from quiltmd.description.centre_of_mass import centre_of_mass, centre_of_mass_oddities
from quiltmd.description.plausibility import thermostat_oddities

pytestmark = pytest.mark.filterwarnings(
    "ignore:there is no periodic box:quiltmd.QuiltWarning",
    "ignore:a cutoff of 0.6 nm is shorter:quiltmd.QuiltWarning",
    "ignore:the Berendsen:quiltmd.QuiltWarning",
    "ignore:position restraints hold every atom:quiltmd.QuiltWarning",
)
KT = BOLTZMANN * 300
EVERYWHERE, ALONG_Z = 500.0, (0.0, 0.0, 500.0)
HALVES = tuple(BathGroup(text, 300, time_constant=0.1) for text in ("index 1-4", "index 5-8"))
SCALING: dict[str, Any] = {
    "rescaling": VelocityRescaling(300, 0.2, seed=1),
    "chain": NoseHooverChain(300, 0.1, every=2),
    "berendsen": BerendsenThermostat(300, 0.2),
    "rescaling groups": VelocityRescaling(groups=HALVES, seed=1),
    "chain groups": NoseHooverChain(groups=HALVES, every=2),
}


def gas(count: int, charge: float = 0.0) -> tuple[Any, Array]:
    """Atoms of 20 and 40 amu that do not interact, apart from each other."""
    masses = np.where(np.arange(count) % 2, 40.0, 20.0)
    charges = np.full(count, charge)
    places = np.random.default_rng(1).uniform(-1, 1, (count, 3))
    return quiltmd.System.of(masses, charges), places


def held(count: int, k: Any = EVERYWHERE) -> tuple[Any, State]:
    """Such atoms, each held to its place."""
    system, places = gas(count)
    held_system = restrain(system, [Restraint("position", "all", k)], places, None)
    return held_system, State.start(held_system, places, None)


def simulation(made: tuple[Any, State], integrator: Any = None, **settings: Any) -> Simulation:
    given = integrator or VelocityVerlet(0.004)
    return Simulation(*made, integrator=given, device="cpu", threads=1, **settings)


def energies_of(run: Simulation, steps: int) -> tuple[float, float, float]:
    """Means of kinetic and potential energy in kT, and of the temperature."""
    rows: list[Any] = []

    class Rows:
        every = 10
        needs = ("energies",)

        def report(self, frame: Any) -> None:
            found = frame.energies()
            rows.append((found["kinetic"] / KT, found["potential"] / KT, frame.temperature()))

    run.run(steps, [Rows()])
    kinetic, potential, temperature = np.mean(rows, axis=0)
    return kinetic, potential, temperature


@pytest.mark.parametrize("every", [None, 0])
@pytest.mark.parametrize("kind", SCALING)
def test_restrained_atoms_have_all_their_degrees_of_freedom(kind: str, every: int | None) -> None:
    """Each has 3 of motion and 3 of position: the means of K and U are 3/2 kT an atom."""
    run = simulation(
        held(8), VelocityVerlet(0.004, remove_com_every=every), thermostat=SCALING[kind]
    )
    assert run.degrees_of_freedom == pytest.approx(24)
    run.draw_velocities(300, seed=3)
    run.run(2000)
    kinetic, potential, temperature = energies_of(run, 12000)
    assert kinetic == pytest.approx(12, rel=0.1)
    assert potential == pytest.approx(12, rel=0.1)
    assert temperature == pytest.approx(300 * kinetic / 12)


def test_one_restrained_atom_samples_all_of_its_potential() -> None:
    """With the momentum removed it would have 1.06 of 1.5 kT."""
    bath = LangevinMiddle(300, 10, 0.004, seed=5)
    run = simulation(held(1), bath)
    assert run.degrees_of_freedom == 3
    run.draw_velocities(300, seed=1)
    kinetic, potential, temperature = energies_of(run, 100_000)
    assert kinetic == pytest.approx(1.5, rel=0.1)
    assert potential == pytest.approx(1.5, rel=0.1)
    assert temperature == pytest.approx(300, rel=0.1)


def test_atoms_held_along_z_drift_along_x_and_y_alone() -> None:
    run = simulation(held(8, ALONG_Z), thermostat=SCALING["rescaling"])
    assert run.centre_of_mass.resting == (True, True, False)
    assert run.degrees_of_freedom == 22
    assert simulation(held(8, ALONG_Z), thermostat=SCALING["chain groups"]).degrees_of_freedom == 22
    run.draw_velocities(300, seed=1)
    drift = run.system.masses @ run.state().velocities
    assert np.abs(drift[:2]).max() < 1e-6 < 1 < abs(drift[2])
    state = run.state()
    moved = replace(state, velocities=state.velocities + 0.3)
    run.set_state(moved)
    run.run(100)
    drift = run.system.masses @ run.state().velocities
    assert np.abs(drift[:2]).max() < 1e-6
    assert abs(drift[2]) > 1


@pytest.mark.parametrize(
    "restraint",
    [
        Restraint("position", "all", EVERYWHERE, radius=5.0),
        Restraint("position", "index 1", EVERYWHERE),
    ],
    ids=["wall", "one atom"],
)
def test_whatever_holds_an_atom_holds_the_system(restraint: Restraint) -> None:
    system, places = gas(8)
    made = restrain(system, [restraint], places, None)
    run = simulation((made, State.start(made, places, None)))
    assert run.centre_of_mass.every == 0
    assert run.degrees_of_freedom == 24


@pytest.mark.parametrize(
    "restraint",
    [
        Restraint("position", "all", 0.0),
        Restraint("distance", ("index 1", "index 2"), 100.0, upper=1.0),
    ],
    ids=["of no strength", "between atoms"],
)
def test_what_holds_nothing_from_outside_changes_nothing(restraint: Restraint) -> None:
    system, places = gas(8)
    box = np.eye(3) * 4
    made = restrain(system, [restraint], places, box)
    plain = Nonbonded(method="cutoff", cutoff=0.6)
    run = simulation((made, State.start(made, places, box)), nonbonded=plain)
    assert 90 < run.centre_of_mass.every < 110
    assert run.degrees_of_freedom == 21


def test_what_is_asked_for_where_atoms_are_held_is_warned_about() -> None:
    asked = VelocityVerlet(0.004, remove_com_every=50)
    with pytest.warns(quiltmd.QuiltWarning, match="no effect along z, where position restraints"):
        run = simulation(held(8, ALONG_Z), asked)
    assert run.centre_of_mass == replace(run.centre_of_mass, every=50)
    with pytest.warns(quiltmd.QuiltWarning, match="no effect along x and y and z"):
        run = simulation(held(8), asked)
    assert run.centre_of_mass.every == 0


def test_what_acts_along_some_axes_is_not_advised_against() -> None:
    asked = VelocityVerlet(0.004, remove_com_every=50)
    along_z, everywhere = (
        list(centre_of_mass_oddities(asked, None, held(8, k)[0])) for k in (ALONG_Z, EVERYWHERE)
    )
    assert along_z[0].endswith("it acts along x and y alone")
    assert everywhere[0].endswith("leave remove_com_every out")


@pytest.mark.parametrize("friction", [0.0, 1.0])
def test_without_friction_langevin_is_constant_energy(friction: float) -> None:
    system, _ = gas(4, charge=1.0)
    made = apply_electric_field(system, (0.1, 0.0, 0.0))
    groups = (
        BathGroup("index 1-2", 300, friction=friction),
        BathGroup("index 3-4", 300, friction=0.0),
    )
    for bath in (LangevinMiddle(300, friction, seed=1), LangevinMiddle(seed=1, groups=groups)):
        told = list(centre_of_mass_oddities(bath, None, made))
        assert bool(told) == (friction == 0)
        still = replace(bath, remove_com_every=0)
        run = simulation(moving(None, 4), still)
        assert run.degrees_of_freedom == pytest.approx(12 if friction else 9)
        if friction == 0:
            run.draw_velocities(300, seed=1)
            run.run(20)
            assert np.abs(run.system.masses @ run.state().velocities).max() < 1e-6


def test_an_ion_drifts_in_a_field() -> None:
    """Its velocity is force over mass and friction; removed momentum would slow it down."""
    system, places = gas(1, charge=1.0)
    made = apply_electric_field(system, (0.0, 0.0, 0.4))
    run = simulation(
        (made, State.start(made, places, None)), LangevinMiddle(1.0, 5.0, 0.004, seed=1)
    )
    assert run.centre_of_mass.resting == (True, True, False)
    run.run(1000)
    expected = 0.4 * 96.48533 / (20.0 * 5.0)
    assert run.state().velocities[0, 2] == pytest.approx(expected, rel=0.25)


def test_a_field_that_nothing_brakes_is_warned_about() -> None:
    system, places = gas(4, charge=1.0)
    made = apply_electric_field(system, (0.1, 0.0, 0.0))
    with pytest.warns(quiltmd.QuiltWarning, match="along x: the whole system is accelerated"):
        simulation((made, State.start(made, places, None)), thermostat=SCALING["rescaling"])


def test_a_neutral_system_is_free_in_a_field() -> None:
    system, places = gas(8)
    charges = np.where(np.arange(8) % 2, 1.0, -1.0 + 1e-6)
    made = apply_electric_field(replace(system, charges=charges), (0.1, 0.0, 0.0))
    run = simulation((made, State.start(made, places, None)))
    assert (run.centre_of_mass.every, run.degrees_of_freedom) == (100, 21)


def test_an_ion_counts_among_however_many_charges() -> None:
    system, _ = gas(30_001)
    charges = np.where(np.arange(30_001) % 2, 1.0, -1.0)
    made = apply_electric_field(replace(system, charges=charges), (0.1, 0.0, 0.0))
    assert centre_of_mass(VelocityVerlet(0.004), None, made).resting == (False, True, True)


@pytest.mark.parametrize(
    "restraint",
    [Restraint("position", "all", EVERYWHERE, radius=0.5), Restraint("position", "all", ALONG_Z)],
    ids=["wall", "z"],
)
def test_atoms_that_may_move_freely_are_no_oscillators(restraint: Restraint) -> None:
    system, places = gas(8)
    made = restrain(system, [restraint], places, None)
    assert list(thermostat_oddities(SCALING["chain"], made)) == []
    assert len(list(thermostat_oddities(SCALING["chain"], held(8)[0]))) == 1


# ---- When it is removed ------------------------------------------------------------------------


def moving(box: Array | None, count: int = 8) -> tuple[Any, State]:
    system, places = gas(count)
    velocities = np.random.default_rng(2).normal(0.3, 0.3, (count, 3))
    at = places if box is None else places % np.diag(box)
    return system, State(at, velocities, box)


@pytest.mark.parametrize("every", [7, 20, 100, 130])
@pytest.mark.parametrize("boxed", [False, True], ids=["vacuum", "box"])
@pytest.mark.parametrize("verlet", [False, True], ids=["langevin", "verlet"])
def test_momentum_is_removed_at_multiples(every: int, boxed: bool, verlet: bool) -> None:
    """Langevin-middle removes it before the next step, velocity Verlet within the step itself."""
    made = moving(np.eye(3) * 4 if boxed else None)
    bath = {"timestep": 0.001, "remove_com_every": every}
    integrator = VelocityVerlet(**bath) if verlet else LangevinMiddle(0, 0, seed=1, **bath)
    plain = Nonbonded(method="cutoff", cutoff=0.6)
    run = simulation(made, integrator, nonbonded=plain)
    drift = lambda: np.abs(run.system.masses @ run.state().velocities).max()  # noqa: E731
    first = every if verlet else every + 1
    run.run(first - 1)
    assert drift() > 10
    run.run(1)
    assert drift() < 1e-6


@pytest.mark.parametrize("solvent", [None, "obc2"])
@pytest.mark.parametrize(("every", "friction"), [(20, 20.0), (100, 5.0)])
def test_temperatures_without_a_box(
    openmmtools_data: Path, solvent: Any, every: int, friction: float
) -> None:
    """The degrees of freedom in use are those of the momentum that is there, at any step."""
    folder = openmmtools_data / "alanine-dipeptide-gbsa"
    system, state = quiltmd.load(
        folder / "alanine-dipeptide.prmtop",
        folder / "alanine-dipeptide.crd",
        constraints="h-bonds",
        solvent=solvent and ImplicitSolvent(solvent),
    )
    bath = LangevinMiddle(300, friction, 0.001, seed=2, remove_com_every=every)
    run = simulation((system, state), bath)
    run.minimize()
    run.draw_velocities(300, seed=1)
    run.run(500)
    rows: list[tuple[float, float]] = []

    def note(frame: Any) -> None:
        momentum = system.masses @ frame.state().velocities
        centre = (momentum @ momentum) / (2 * system.masses.sum()) / (1.5 * KT)
        rows.append((3 * centre, frame.degrees_of_freedom))

    run.run(25_000, [quiltmd.FunctionReporter(note, every=5)])
    in_motion, counted = np.mean(rows, axis=0)
    internal = system.degrees_of_freedom - 3
    lifetimes = 25 * friction if every * 0.001 * friction > 1 else 25 / (every * 0.001)
    error = in_motion * np.sqrt(2 / 3 / lifetimes)
    assert counted - internal == pytest.approx(in_motion, abs=4 * error)


@pytest.mark.parametrize("ways", ["loaded", "minimised"])
def test_a_state_without_lists_at_a_multiple_has_its_drift_removed(ways: str) -> None:
    system, state = moving(None)
    bath = LangevinMiddle(0, 0, 0.001, seed=1, remove_com_every=20)
    run = simulation((system, replace(state, step=40)), bath)
    drift = lambda: np.abs(system.masses @ run.state().velocities).max()  # noqa: E731
    assert drift() > 10
    if ways == "minimised":
        run.minimize()
    run.run(1)
    assert drift() < 1e-6


def test_a_barostat_acts_at_a_multiple_after_all_that_ends_lists() -> None:
    """The same boxes as of a run that goes on, whatever is done to it where the barostat acts."""
    system, state = free_waters()
    plain = Nonbonded(method="cutoff", cutoff=0.6)
    bath = LangevinMiddle(300, 1, 0.002, seed=1)
    settings = {"nonbonded": plain, "barostat": CellRescaling(50.0, every=20, seed=2)}
    run = simulation((system, state), bath, **settings)
    run.run(40)
    middle = run.state()
    run.run(5)
    anew = replace(middle, list_positions=None)
    loaded, changed = (simulation((system, anew), bath, **settings) for _ in range(2))
    loaded.run(5)
    changed.set_state(middle)
    changed.set_conditions(temperature=300)
    changed.run(5)
    for other in (loaded, changed):
        np.testing.assert_allclose(other.box, run.box, rtol=1e-9)
        assert not np.allclose(other.box, middle.box, rtol=1e-6)


def rebuilds(run: Simulation, steps: int) -> int:
    """How often atoms are laid out anew in so many steps."""
    count = lambda: sum(row["calls"] for row in run.profile() if row["name"] == "layout.place")  # noqa: E731
    before = count()
    run.run(steps)
    return count() - before


@pytest.mark.parametrize("timestep", [0.001, 0.002, 0.004])
@pytest.mark.parametrize("barostat", [None, MonteCarloBarostat(1.0, every=60, seed=3)])
def test_by_default_no_lists_are_built_for_the_drift(timestep: float, barostat: Any) -> None:
    made = moving(np.eye(3) * 4)
    plain = Nonbonded(method="cutoff", cutoff=0.6)
    counts = {}
    for every in (None, 0):
        bath = LangevinMiddle(300, 1, timestep, seed=1, remove_com_every=every)
        run = simulation(made, bath, nonbonded=plain, barostat=barostat)
        counts[every] = rebuilds(run, 1000)
        if every is None:
            interval, life = run.centre_of_mass.every, int(run.describe()["list_life"])
            assert run.describe()["remove_com_every"] == interval
            assert interval % (60 if barostat else life) == 0
            assert 70 <= interval <= 130
    assert counts[None] == counts[0]


# ---- Counting ----------------------------------------------------------------------------------


@pytest.mark.parametrize("every", [0, 50])
@pytest.mark.parametrize(
    ("settings", "resting_without_removal"),
    [
        ({"integrator": VelocityVerlet}, 3),
        ({"integrator": LangevinMiddle}, 0),
        ({"integrator": VelocityVerlet, "thermostat": SCALING["rescaling"]}, 3),
        ({"integrator": VelocityVerlet, "thermostat": SCALING["chain"]}, 3),
        ({"integrator": VelocityVerlet, "thermostat": SCALING["rescaling groups"]}, 0),
        (
            {
                "integrator": VelocityVerlet,
                "thermostat": VelocityRescaling(groups=(BathGroup("all", 300),), seed=1),
            },
            3,
        ),
    ],
    ids=["nve", "langevin", "rescaling", "chain", "groups", "one group"],
)
def test_what_a_free_system_lacks(
    settings: dict[str, Any], resting_without_removal: int, every: int
) -> None:
    """Drawn velocities have the temperature that is then reported, whatever removes momentum."""
    integrator = settings["integrator"](timestep=0.002, remove_com_every=every)
    run = simulation(moving(None, 8), integrator, thermostat=settings.get("thermostat"))
    resting = 3 if every else resting_without_removal
    assert run.degrees_of_freedom == pytest.approx(24 - resting)
    found = []
    for seed in range(300):
        run.draw_velocities(300, seed)
        found.append(run.temperature())
    assert np.mean(found) == pytest.approx(300, abs=5 * 300 * np.sqrt(2 / 21 / 300))


def test_drawn_velocities_of_groups_rest_where_they_should() -> None:
    hot = (BathGroup("index 1-4", 300), BathGroup("index 5-8", 900))
    for every, rests in ((100, True), (0, False)):
        bath = LangevinMiddle(groups=hot, timestep=0.002, seed=1, remove_com_every=every)
        run = simulation(moving(None), bath)
        run.draw_velocities(seed=4)
        drift = np.abs(run.system.masses @ run.state().velocities)
        assert (drift.max() < 1e-6) == rests


def test_each_group_regains_what_its_own_friction_sets_moving() -> None:
    """A time t after the removal exp(-2 friction t) of its share of the centre of mass is missing.

    Halves of four atoms have half of the mass, and so a share of 3/2.
    """
    baths = (BathGroup("index 1-4", 300, friction=0), BathGroup("index 5-8", 300, friction=20))
    bath = LangevinMiddle(groups=baths, timestep=0.002, seed=1, remove_com_every=100)
    run = simulation(moving(None, 8), bath)
    run.draw_velocities(seed=4)
    run.run(25)
    missing = [1.5, 1.5 * np.exp(-2 * 20 * 25 * 0.002)]
    assert run.group_degrees_of_freedom() == pytest.approx([12 - one for one in missing])


@pytest.mark.parametrize("barostat", [CellRescaling(1.0, seed=1), MonteCarloBarostat(1.0, seed=1)])
def test_barostats_leave_the_count_alone(barostat: Any) -> None:
    system, state = free_waters()
    plain = Nonbonded(method="cutoff", cutoff=0.6)
    for integrator, missing in (
        (LangevinMiddle(seed=1), 3),
        (LangevinMiddle(seed=1, remove_com_every=0), 0),
    ):
        run = simulation((system, state), integrator, nonbonded=plain, barostat=barostat)
        assert run.degrees_of_freedom == pytest.approx(6 * 512 - missing)


def test_minimisation_leaves_momentum_alone() -> None:
    run = simulation(held(4))
    run.draw_velocities(300, seed=2)
    before = run.state().velocities
    run.minimize()
    assert np.array_equal(run.state().velocities, before)


def test_the_core_counts_as_readouts_do() -> None:
    for made in (held(8), held(8, ALONG_Z), moving(None)):
        for every in (None, 0):
            run = simulation(
                made,
                VelocityVerlet(0.004, remove_com_every=every),
                thermostat=SCALING["rescaling"],
            )
            assert run.describe()["degrees_of_freedom"] == run.degrees_of_freedom
