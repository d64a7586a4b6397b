# SPDX-License-Identifier: Apache-2.0
"""Forces from outside: the physics of built-in terms, the same bits on any ranks, and faults."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boxes import warm_water

import quiltmd
from quiltmd import (
    CellRescaling,
    ExternalFactory,
    ExternalForce,
    LangevinMiddle,
    Nonbonded,
    QuiltError,
    QuiltWarning,
    Restraint,
    Simulation,
    State,
    System,
    VelocityVerlet,
    read_checkpoint,
    restrain,
)
from quiltmd.commands.energy import evaluate
from quiltmd.engine.external_calls import make_engine_alone
from quiltmd.errors import ExternalForceError
from quiltmd.exchange.config import ExchangeConfig
from quiltmd.exchange.states import temperature_states
from quiltmd.inputs.standard_systems import system_files
from quiltmd.running import config, runner

SMALL = Nonbonded(cutoff=0.6, pme_alpha=4.0, pme_grid=(24, 24, 24))
INTEGRATORS: dict[str, Any] = {
    "langevin": LangevinMiddle(300, 1.0, 0.002, seed=4),
    "verlet": VelocityVerlet(0.002),
}
pytestmark = pytest.mark.filterwarnings("ignore:a cutoff of 0.6 nm is shorter")
SCATTERED = list(range(0, 648, 48))


class Springs(ExternalForce):
    """Harmonic bonds between atoms next to each other in its order, of 0.5 k (r - r0)^2."""

    def __init__(self, atoms: Any = (0, 300, 600, 30), k: float = 500.0, r0: float = 0.9) -> None:
        self.atoms, self.k, self.r0 = list(atoms), k, r0
        self.calls: list[tuple[int, bytes, bytes]] = []

    def compute(self, step: int, positions: Any, box: Any) -> tuple[Any, ...]:
        forces, energy = np.zeros_like(positions), 0.0
        for i, j in itertools.pairwise(range(len(positions))):
            between = positions[j] - positions[i]
            r = np.sqrt(between @ between)
            energy += 0.5 * self.k * (r - self.r0) ** 2
            pull = self.k * (r - self.r0) * between / r
            forces[i] += pull
            forces[j] -= pull
        self.calls.append((step, positions.tobytes(), forces.tobytes()))
        return energy, forces


class Hills(Springs):
    """Springs whose length each update changes by what it sees."""

    update_every = 6

    def __init__(self, atoms: Any = SCATTERED) -> None:
        super().__init__(atoms, k=20.0)
        self.seen: list[tuple[int, bytes]] = []

    def update(self, step: int, positions: Any, box: Any) -> None:
        self.seen.append((step, positions.tobytes()))
        self.r0 += 1e-2 * float(np.sin(positions.sum()))

    def state(self) -> bytes:
        return np.float64(self.r0).tobytes()

    def set_state(self, state: bytes) -> None:
        self.r0 = float(np.frombuffer(state)[0])


def simulation(system: System, state: State, force: Any = None, **where: Any) -> Simulation:
    given: dict[str, Any] = {"device": "cpu", "threads": 1, "integrator": INTEGRATORS["langevin"]}
    external = [] if force is None else [force]
    return Simulation(system, state, SMALL, **{**given, "external": external, **where})


def kicked(state: State) -> State:
    """One molecule so fast that it goes beyond the Verlet buffer: steps are done again."""
    velocities = state.velocities.copy()
    velocities[3:6] += np.array([11.0, 0.0, 0.0])
    return replace(state, velocities=velocities)


@pytest.fixture(scope="module")
def water() -> tuple[System, State]:
    return warm_water((6, 6, 6), 300)


@pytest.mark.parametrize("kind", INTEGRATORS)
def test_it_is_the_built_in_term(water: tuple[System, State], kind: str) -> None:
    """Forces to the last bits of fixed point, and trajectories as close as rounding leaves them."""
    system, state = water
    away = np.linalg.norm(state.positions - state.positions[9], axis=1)
    one_end, other_end = np.flatnonzero((away > 0.5) & (away < 0.7))[[0, -1]]
    atoms = [int(one_end), 9, int(other_end)]

    def restrained(k: float) -> System:
        restraints = [
            Restraint("distance", (f"index {i + 1}", f"index {j + 1}"), k=k, lower=0.9)
            for i, j in itertools.pairwise(atoms)
        ]
        return restrain(system, restraints, state.positions, state.box)

    # Weak ones for the same patches, so that nothing else is rounded differently.
    one = simulation(restrained(500.0), state, integrator=INTEGRATORS[kind])
    two = simulation(restrained(1e-12), state, Springs(atoms), integrator=INTEGRATORS[kind])
    assert np.abs(one.forces() - two.forces()).max() < 2.0**-30
    for run in (one, two):
        run.run(20)
    assert np.abs(one.state().positions - two.state().positions).max() < 1e-9
    assert two.energies()["springs"] == pytest.approx(one.energies()["restraint"], rel=1e-6)


class Bend(ExternalForce):
    """An angle of three atoms, 0.5 k (theta - theta0)^2."""

    def __init__(self, atoms: list[int], k: float, rest: float) -> None:
        self.atoms, self.k, self.rest = atoms, k, rest

    def compute(self, step: int, positions: Any, box: Any) -> tuple[Any, ...]:
        u, v = positions[0] - positions[1], positions[2] - positions[1]
        a, b = np.linalg.norm(u), np.linalg.norm(v)
        cosine = u @ v / (a * b)
        away = np.arccos(cosine) - self.rest
        slope = self.k * away / np.sqrt(1 - cosine**2)
        first = slope * (v / b - cosine * u / a) / a
        last = slope * (u / a - cosine * v / b) / b
        return 0.5 * self.k * away**2, np.array([first, -first - last, last])


class Contact(ExternalForce):
    """A 12-6 potential of two atoms."""

    def __init__(self, atoms: list[int], sigma: float, epsilon: float) -> None:
        self.atoms, self.sigma, self.epsilon = atoms, sigma, epsilon

    def compute(self, step: int, positions: Any, box: Any) -> tuple[Any, ...]:
        between = positions[1] - positions[0]
        r2 = between @ between
        s6 = (self.sigma**2 / r2) ** 3
        push = 24 * self.epsilon * (2 * s6**2 - s6) / r2 * between
        return 4 * self.epsilon * (s6**2 - s6), np.array([-push, push])


def test_angle_and_12_6_potential_are_the_built_in_ones(water: tuple[System, State]) -> None:
    """In the same way."""
    system, state = water
    away = np.linalg.norm(state.positions - state.positions[9], axis=1)
    near, far = (int(np.flatnonzero((away > low) & (away < low + 0.1))[0]) for low in (0.3, 0.45))
    rest, three, two = np.radians(80.0), [near, 9, far], [9, near]

    def bent(strength: float) -> System:
        where = tuple(f"index {i + 1}" for i in three)
        angle = Restraint("angle", where, k=90.0 * strength, angle=80.0)
        return restrain(system, [angle], state.positions, state.box)

    def in_contact(strength: float) -> System:
        pair = [0.0, 0.33, 2.0 * strength]
        return system.with_terms(system.terms["pair14"].joined([two], [pair]))

    cases: list[Any] = [
        ("restraint", bent, Bend(three, 90.0, rest)),
        ("lj14", in_contact, Contact(two, 0.33, 2.0)),
    ]
    for energy, built_in, force in cases:
        # Weak ones for the same patches, so that nothing else is rounded differently.
        weak = built_in(1e-14)
        one, other = simulation(built_in(1.0), state), simulation(weak, state, force)
        pulled = one.forces() - simulation(weak, state).forces()
        assert np.linalg.norm(pulled[force.atoms], axis=1).min() > 1
        assert np.abs(one.forces() - other.forces()).max() < 2.0**-30
        for run in (one, other):
            run.run(20)
        assert np.abs(one.state().positions - other.state().positions).max() < 1e-9
        own = other.energies()[type(force).__name__.lower()]
        assert own == pytest.approx(one.energies()[energy], rel=1e-6)


def test_energy_forces_and_virial_are_those_of_the_function(water: tuple[System, State]) -> None:
    """The virial by a strain of the box, of hydrogen groups, as a pressure has it."""
    system, state = water
    plain, pulled = simulation(system, state), simulation(system, state, Springs())
    expected, forces = Springs().compute(0, state.positions[[0, 300, 600, 30]], None)
    assert pulled.energies()["springs"] == pytest.approx(expected, abs=2.0**-28)
    difference = pulled.forces() - plain.forces()
    assert np.abs(difference[[0, 300, 600, 30]] - forces).max() < 2.0**-31
    others = np.delete(difference, [0, 300, 600, 30], axis=0)
    assert not others.any()
    assert pulled.energies()["potential"] - plain.energies()["potential"] == pytest.approx(
        expected, abs=1e-6
    )
    strain, energies = 1e-5, []
    for sign in (-1, 1):
        moved = simulation(system, state, Springs())
        moved.set_conditions(box=state.box * (1 + sign * strain))
        energies.append(moved.energies()["springs"])
    derivative = (energies[1] - energies[0]) / (2 * strain)
    own = np.trace(pulled.virial()) - np.trace(plain.virial())
    assert own == pytest.approx(-derivative, rel=1e-5)


@pytest.mark.parametrize("kind", INTEGRATORS)
@pytest.mark.parametrize("ranks", [2, 3, 5, 12])
def test_bits_do_not_depend_on_ranks(water: tuple[System, State], kind: str, ranks: int) -> None:
    integrator, forces = INTEGRATORS[kind], (Hills(), Hills())
    runs = [
        simulation(*water, force, ranks=n, integrator=integrator)
        for n, force in zip((1, ranks), forces, strict=True)
    ]
    for run in runs:
        run.run(31)
    assert quiltmd.digest(runs[0].state()) == quiltmd.digest(runs[1].state())
    assert runs[0].energies() == runs[1].energies()
    assert forces[0].seen == forces[1].seen
    assert [step for step, _ in forces[0].seen] == [6, 12, 18, 24, 30]
    assert set(forces[0].calls) == set(forces[1].calls)


class Slow(ExternalForce):
    """Draws all atoms to their centre; rank 0, which calls it, has no time for anything else."""

    def __init__(self) -> None:
        self.kept: list[tuple[Any, bytes]] = []

    def compute(self, step: int, positions: Any, box: Any) -> tuple[Any, ...]:
        time.sleep(3e-4)
        self.kept.append((positions, positions.tobytes()))
        away = positions - positions.mean(axis=0)
        return 0.05 * float((away**2).sum()), -0.1 * away


def test_bits_do_not_depend_on_balance(water: tuple[System, State]) -> None:
    """The rank that calls it hands over its pairs, and has no proxies any more."""
    forces = (Slow(), Slow())
    runs = [
        simulation(*water, force, ranks=n, integrator=INTEGRATORS["verlet"])
        for n, force in zip((1, 3), forces, strict=True)
    ]
    for run in runs:
        run.run(90)
    assert [load["computes"] > 0 for load in runs[1].loads()] == [False, True, True]
    assert quiltmd.digest(runs[0].state()) == quiltmd.digest(runs[1].state())
    assert runs[0].energies() == runs[1].energies()
    assert all(array.tobytes() == seen for array, seen in forces[1].kept)  # each a copy of its own


class Keeps(Springs):
    """Keeps the arrays of its last calls, and writes nonsense into those that it lets go of."""

    def __init__(self, most: int) -> None:
        super().__init__(SCATTERED)
        self.most = most
        self.kept: list[tuple[Any, bytes]] = []

    def compute(self, step: int, positions: Any, box: Any) -> tuple[Any, ...]:
        found = super().compute(step, positions, box)
        self.kept.append((positions, positions.tobytes()))
        while len(self.kept) > self.most:
            self.let_go()
        return found

    def let_go(self) -> None:
        array, seen = self.kept.pop(0)
        assert array.tobytes() == seen
        array[:] = np.nan


def test_arrays_of_positions_may_be_kept_and_changed(water: tuple[System, State]) -> None:
    ends = set()
    for most in (0, 1, 2, 5):
        force = Keeps(most)
        run = simulation(*water, force)
        for steps in (20, 1, 20):
            run.run(steps)
            run.energies()  # with the virial
        ends.add((quiltmd.digest(run.state()), run.virial().tobytes()))
        del run
        while force.kept:
            force.let_go()
    assert len(ends) == 1


def test_messages_of_many_ranks_go_along_a_tree(water: tuple[System, State]) -> None:
    """Rank 0 hears from and tells the other one at the top of the tree, and its seven children."""
    run = simulation(*water, Springs(), ranks=12)
    run.start_profile()
    run.run(4)
    run.stop_profile()
    messages = run.profiled_messages()
    for name, own in (("positions for forces from outside", "to"), ("forces from outside", "from")):
        other = {"to": "from", "from": "to"}[own]
        found = [m for m in messages if m["name"] == name]
        assert {m[other] for m in found} == set(range(1, 12))
        assert {m[other] for m in found if m[own] == 0} == set(range(1, 9))


@pytest.mark.parametrize("kind", INTEGRATORS)
@pytest.mark.parametrize("stop", [12, 17])
def test_a_checkpoint_goes_on_with_the_same_bits(
    water: tuple[System, State], kind: str, stop: int, tmp_path: Path
) -> None:
    whole, parts, after = Hills(), Hills(), Hills()
    integrator = INTEGRATORS[kind]
    run = simulation(*water, whole, integrator=integrator)
    run.run(40)
    first = simulation(*water, parts, integrator=integrator)
    first.run(stop)
    first.save_checkpoint(tmp_path / "c.qmd")
    second = simulation(*water, after, integrator=integrator, ranks=3)
    second.load_checkpoint(tmp_path / "c.qmd")
    second.run(40 - stop)
    assert quiltmd.digest(second.state()) == quiltmd.digest(run.state())
    assert parts.seen + after.seen == whole.seen
    assert after.r0 == whole.r0


@pytest.mark.parametrize("kind", INTEGRATORS)
def test_redone_epochs_update_once_and_in_order(water: tuple[System, State], kind: str) -> None:
    """An atom that moves beyond the buffer has steps done again."""
    system, state = water
    forces = (Hills(), Hills())
    runs = [
        simulation(system, kicked(state), force, ranks=n, integrator=INTEGRATORS[kind])
        for n, force in zip((1, 3), forces, strict=True)
    ]
    for run in runs:
        run.run(30)
    assert runs[0].describe()["early_rebuilds"] > 0
    assert [step for step, _ in forces[0].seen] == [6, 12, 18, 24, 30][: len(forces[0].seen)]
    assert len(forces[0].seen) >= 4
    steps = [step for step, _, _ in forces[0].calls]
    assert len(steps) > len(set(steps))  # some were done again
    assert forces[0].seen == forces[1].seen
    assert quiltmd.digest(runs[0].state()) == quiltmd.digest(runs[1].state())


def test_lists_and_arrays_have_the_same_bits(water: tuple[System, State]) -> None:
    """Arrays are checked by the core, all else in Python."""

    class Lists(Springs):
        name = "springs"

        def compute(self, step: int, positions: Any, box: Any) -> tuple[Any, ...]:
            energy, forces = super().compute(step, positions, box)
            return np.array(energy), forces.tolist()

    runs = [simulation(*water, force) for force in (Springs(), Lists())]
    for run in runs:
        run.run(10)
    assert quiltmd.digest(runs[0].state()) == quiltmd.digest(runs[1].state())
    assert runs[0].energies() == runs[1].energies()
    assert np.abs(runs[0].virial() - runs[1].virial()).max() < 1e-6


def test_minimisation_computes_and_never_updates(water: tuple[System, State]) -> None:
    force = Hills((0, 300))
    run = simulation(*water, force)
    places = run.state().positions[[0, 300]]
    force.k, force.r0 = 5e3, float(np.linalg.norm(places[1] - places[0])) - 0.15
    run.set_state(run.state())
    before = run.energies()["hills"]
    run.minimize(tolerance=10, max_iterations=60)
    assert not force.seen
    assert run.energies()["hills"] < 0.5 * before


def test_a_barostat_feels_it(water: tuple[System, State]) -> None:
    barostat = CellRescaling(1.0, seed=2)
    runs = [
        simulation(*water, Springs(SCATTERED, k=200), barostat=barostat, ranks=n) for n in (1, 3)
    ]
    for run in runs:
        run.run(45)
    assert quiltmd.digest(runs[0].state()) == quiltmd.digest(runs[1].state())


class Held(ExternalForce):
    """One atom at a fixed point."""

    atoms = "index 1"
    outside = True

    def compute(self, step: int, positions: Any, box: Any) -> tuple[Any, ...]:
        return 50.0 * float((positions**2).sum()), -100.0 * positions


def test_atoms_held_from_outside_keep_the_motion_of_the_whole(water: tuple[System, State]) -> None:
    held, free = simulation(*water, Held()), simulation(*water)
    assert held.degrees_of_freedom == held.system.degrees_of_freedom
    assert free.degrees_of_freedom == held.degrees_of_freedom - 3
    held.run(4)
    Held.outside = False
    try:
        with pytest.raises(ExternalForceError, match="add up to"):
            simulation(*water, Held())
    finally:
        Held.outside = True


class Failing(Springs):
    """Springs that return something else from a step on."""

    name = "bad"

    def __init__(self, at: int, what: Any) -> None:
        super().__init__((0, 300))
        self.at, self.what = at, what

    def compute(self, step: int, positions: Any, box: Any) -> tuple[Any, ...]:
        energy, forces = super().compute(step, positions, box)
        if step < self.at:
            return energy, forces
        return self.what(energy, forces)  # type: ignore[no-any-return]


def _raise(energy: Any, forces: Any) -> Any:
    raise ValueError("no model today")


def _sleep(energy: Any, forces: Any) -> Any:
    time.sleep(0.3)
    return energy, forces


FAULTS: dict[str, tuple[Any, str]] = {
    "raises": (_raise, "raised ValueError: no model today"),
    "nan": (lambda e, f: (e, f * np.nan), "the forces are not finite"),
    "energy": (lambda e, f: (np.inf, f), "the energy is not finite"),
    "shape": (lambda e, f: (e, f[:1]), r"the forces have shape \(1, 3\), not \(2, 3\)"),
    "text": (lambda e, f: (e, "forces"), "the forces are not numeric"),
    "none": (lambda e, f: None, "compute returned NoneType"),
    "huge": (lambda e, f: (e, f * 1e9), "the force on atom 1, .* is out of range"),
    "net": (lambda e, f: (e, f + 1), "add up to"),
    "slow": (_sleep, "more than its timeout of 0.1 s"),
}


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_names_force_and_step_and_loses_nothing(
    water: tuple[System, State], fault: str, ranks: int, tmp_path: Path
) -> None:
    what, words = FAULTS[fault]
    force = Failing(13, what)
    force.timeout = 0.1 if fault == "slow" else None
    run = simulation(*water, force, ranks=ranks)
    saved: list[int] = []
    reporter = quiltmd.FunctionReporter(lambda frame: saved.append(frame.step), every=4)
    with pytest.raises(ExternalForceError, match=words) as error:
        run.run(40, [reporter])
    assert str(error.value).startswith("step 13: external force 'bad'")
    assert error.value.step == 13
    assert (fault == "raises") == (error.value.__cause__ is not None)
    assert saved == [4, 8, 12]
    with pytest.raises(QuiltError, match="call set_state first"):
        run.run(1)
    force.at = 1000
    run.set_state(water[1])
    run.run(20)


def test_a_fault_of_an_update(water: tuple[System, State]) -> None:
    force = Hills()
    force.update = _raise  # type: ignore[method-assign]
    run = simulation(*water, force, ranks=2)
    with pytest.raises(ExternalForceError, match="step 6: external force 'hills': "):
        run.run(40)


def test_an_interrupt_in_a_call(water: tuple[System, State]) -> None:
    def interrupt(energy: Any, forces: Any) -> Any:
        raise KeyboardInterrupt

    run = simulation(*water, Failing(5, interrupt), ranks=2)
    with pytest.raises(KeyboardInterrupt):
        run.run(40)


def test_a_step_that_is_undone_has_no_faults(water: tuple[System, State]) -> None:
    """What a force makes of nonsense in steps that never count is nobody's fault."""
    system, state = water
    run = simulation(system, kicked(state), Springs())
    run.run(20)
    assert run.describe()["early_rebuilds"] > 0

    class Fails(Springs):
        """Fails once at a step that is done again."""

        at, failed = 0, False

        def compute(self, step: int, positions: Any, box: Any) -> tuple[Any, ...]:
            if step == self.at and not self.failed:
                self.failed = True
                raise ValueError("nonsense")
            return super().compute(step, positions, box)

    steps = [step for step, _, _ in run._external[0].force.calls]
    again = max(step for step in set(steps) if step > 0 and steps.count(step) > 1)
    force = Fails()
    force.at = again
    other = simulation(system, kicked(state), force)
    other.run(20)
    assert force.failed
    assert quiltmd.digest(other.state()) == quiltmd.digest(run.state())


def test_other_bits_for_the_same_input_are_told(water: tuple[System, State]) -> None:
    noise = np.random.default_rng(1)

    class Random(Springs):
        def compute(self, step: int, positions: Any, box: Any) -> tuple[Any, ...]:
            energy, forces = super().compute(step, positions, box)
            return energy, forces * (1 + 1e-9 * noise.normal())

    with pytest.warns(QuiltWarning, match="'random' gives different results for the same input"):
        run = simulation(*water, Random())
    assert run.describe()["external"] == [{"name": "random", "atoms": 4, "deterministic": False}]


def test_what_depends_on_the_box_needs_a_virial(water: tuple[System, State]) -> None:
    class Periodic(Springs):
        uses_box = True

    with pytest.raises(QuiltError, match="returns no virial, which a barostat needs"):
        simulation(*water, Periodic(), barostat=CellRescaling(1.0))
    with pytest.warns(QuiltWarning, match="pressures lack its part"):
        simulation(*water, Periodic())


def _named(name: str) -> ExternalForce:
    force = Springs()
    force.name = name
    return force


def _updating(every: int) -> ExternalForce:
    force = Hills()
    force.update_every = every
    return force


@pytest.mark.parametrize(
    ("external", "words"),
    [
        ([Springs((0, 648))], "different indices from 0 to 647"),
        ([Springs((5, 5))], "different indices"),
        ([Springs(())], "different indices"),
        ([_named("lj")], "there is an energy of this name"),
        ([_named("bond")], "there is an energy of this name"),
        ([_named("total")], "there is an energy of this name"),
        ([Springs(), Springs()], "there is an energy of this name"),
        ([_named("a b")], "letters, digits and _"),
        ([_updating(2)], "update_every must be 0 or at least 4"),
        ([print], "is not one: derive its class from ExternalForce"),
    ],
)
def test_settings_that_do_not_go_together(
    water: tuple[System, State], external: Any, words: str
) -> None:
    with pytest.raises(QuiltError, match=words):
        simulation(*water, external=external)


@pytest.fixture(scope="module")
def factory(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Makes springs of a module that lies in a folder of its own; `k` or a fault as options."""
    folder = tmp_path_factory.mktemp("modules")
    (folder / "springs_of_workers.py").write_text(
        "import numpy as np\nimport quiltmd\n\n\n"
        "class Pull(quiltmd.ExternalForce):\n"
        "    atoms = [0, 300]\n\n"
        "    def __init__(self, k=200.0, fails_at=10**9, update_every=0):\n"
        "        self.k, self.fails_at, self.update_every = k, fails_at, update_every\n\n"
        "    def compute(self, step, positions, box):\n"
        "        if step >= self.fails_at:\n"
        "            raise ValueError('no model today')\n"
        "        pull = self.k * (positions[1] - positions[0])\n"
        "        return 0.5 * float(pull @ pull) / self.k, np.array([pull, -pull])\n\n"
        "    def update(self, step, positions, box):\n"
        "        pass\n"
    )

    def make(**options: Any) -> ExternalFactory:
        return ExternalFactory("springs_of_workers:Pull", str(folder), options)

    return make


WORKERS: dict[str, dict[str, Any]] = {
    "worker": {"device": "worker:cpu", "ranks": 2},
    "unix": {"device": "ranks:worker:cpu,worker:cpu,worker:cpu", "transport": "unix"},
    "tcp": {"device": "ranks:worker:cpu,worker:cpu", "transport": "tcp"},
}


@pytest.mark.parametrize("where", WORKERS)
def test_workers_make_it_by_a_factory(
    water: tuple[System, State], factory: Any, where: str
) -> None:
    """In processes of their own, by every transport: the same bits; a fault has name and step."""
    here = simulation(*water, factory())
    there = simulation(*water, factory(), **WORKERS[where])
    for run in (here, there):
        run.run(15)
    assert quiltmd.digest(there.state()) == quiltmd.digest(here.state())
    assert there.energies() == here.energies()
    failing = simulation(*water, factory(fails_at=5), **WORKERS[where])
    with pytest.raises(QuiltError, match=r"step 5: external force 'pull': .*no model today"):
        failing.run(40)


def test_what_workers_would_lose_is_refused(water: tuple[System, State], factory: Any) -> None:
    with pytest.raises(QuiltError, match="'pull' has update_every = 10"):
        simulation(*water, factory(update_every=10), device="worker:cpu")


def test_served_devices_run_no_code_of_clients() -> None:
    run = replace(quiltmd.Execution("cpu").resolve_here(), external=({"factory": "os:system"},))
    with pytest.raises(QuiltError, match="runs no functions of its clients"):
        make_engine_alone({}, {}, {}, run)


def test_engines_elsewhere_are_refused_by_name(water: tuple[System, State]) -> None:
    with pytest.raises(QuiltError, match="'springs' is an object of this process"):
        simulation(*water, Springs(), device="worker:cpu")


PULLING = """
import numpy as np
import quiltmd


class Pull(quiltmd.ExternalForce):
    update_every = 10
    atoms = "index 5 15"

    def __init__(self, k):
        self.k, self.r0 = k, 0.5

    def compute(self, step, positions, box):
        between = positions[1] - positions[0]
        r = np.linalg.norm(between)
        pull = self.k * (r - self.r0) * between / r
        return 0.5 * self.k * (r - self.r0) ** 2, np.array([pull, -pull])

    def update(self, step, positions, box):
        self.r0 += 1e-3

    def state(self):
        return np.float64(self.r0).tobytes()

    def set_state(self, state):
        self.r0 = float(np.frombuffer(state)[0])


def none(k):
    return 3
"""
CONFIG = """
[system]
topology = "{topology}"
coordinates = "{coordinates}"
constraints = "h-bonds"
[run]
steps = 35
device = "cpu"
threads = 1
draw_velocities = true
[integrator]
seed = 1
[output]
dir = "{out}"
log_every = 5
log_terms = true
trajectory_every = 0
checkpoint_every = 15
[[external]]
kind = "python"
factory = "pulling:{factory}"
options = {{k = 300.0}}
"""


def configured(folder: Path, out: str, factory: str = "Pull") -> Path:
    topology, coordinates = system_files("alanine")
    (folder / "pulling.py").write_text(PULLING)
    path = folder / f"{out}.toml"
    names = {"topology": topology, "coordinates": coordinates, "out": out, "factory": factory}
    path.write_text(CONFIG.format(**names))
    return path


def test_a_configuration_names_it_and_a_resume_remembers(tmp_path: Path) -> None:
    """Its energy is in the log; a run that was stopped has the bits of one that was not."""
    runner.start(config.build_config(config.read_config(configured(tmp_path, "whole"))))
    settings = config.read_config(configured(tmp_path, "parts"))
    runner.start(config.build_config(config.merge(settings, {("run", "steps"): 17})))
    runner.resume(tmp_path / "parts", {("run", "steps"): 35})
    whole, parts = (
        read_checkpoint(tmp_path / name / "checkpoint.qmd") for name in ("whole", "parts")
    )
    assert whole.state.step == 35
    assert np.frombuffer(whole.external["pull"]) == pytest.approx([0.503])
    assert parts.external == whole.external
    assert quiltmd.digest(parts.state) == quiltmd.digest(whole.state)
    rows = (tmp_path / "whole" / "log.csv").read_text().splitlines()
    assert any("pull" in row for row in rows[:3])


def test_a_function_that_makes_no_force_is_named(tmp_path: Path) -> None:
    settings = config.read_config(configured(tmp_path, "no", "none"))
    with pytest.raises(QuiltError, match="external factory 'pulling:none': it returns int"):
        runner.start(config.build_config(settings))


def test_replica_exchange_refuses_it(tmp_path: Path) -> None:
    settings = config.read_config(configured(tmp_path, "x"))
    settings["run"]["steps"] = 40
    settings["exchange"] = {"kind": "temperature", "temperatures": [300.0, 310.0], "every": 10}
    with pytest.raises(QuiltError, match=r"leave out \[\[external\]\]"):
        config.build_config_of(ExchangeConfig, settings, "x.toml")
    system, state = quiltmd.load(*system_files("alanine"))
    with pytest.raises(QuiltError, match="leave out `external`"):
        quiltmd.ReplicaExchange(
            system, state, temperature_states([300, 310]), external=[Springs()], device="cpu"
        )


def test_the_energy_of_a_configuration_has_it(tmp_path: Path) -> None:
    found = evaluate(config.build_config(config.read_config(configured(tmp_path, "e"))))
    _, state = quiltmd.load(*system_files("alanine"))
    places = state.positions[[4, 14]]
    expected = 150.0 * (np.linalg.norm(places[1] - places[0]) - 0.5) ** 2
    assert found["energy"]["pull"] == pytest.approx(expected, rel=1e-6)
