# SPDX-License-Identifier: Apache-2.0
"""A running simulation: descriptions compiled into an engine, and the loop that advances it.

The loop goes from one due report to the next.  There it captures a frame of the simulation, which
another thread writes while the engine continues.  Long stretches are cut into pieces of about half
a second so that Ctrl-C and progress work; since the engine's results do not depend on how steps are
grouped, this changes nothing else.

One thread at a time uses a simulation; a second one gets an error, since waiting for a run could
take days.  Ctrl-C stops a run between two pieces, when all is consistent.
"""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from ..description.alchemy import conditions_of
from ..description.barostats import Barostat
from ..description.box import check_box
from ..description.centre_of_mass import centre_of_mass, centre_of_mass_oddities
from ..description.checks import LAST_STEP, frozen, real_number, whole_number
from ..description.collective import changed_centres
from ..description.constant_pressure import check_cell, with_interval
from ..description.coulomb_cutoff import with_coulomb_cutoff
from ..description.dynamics import heat_bath, resolve_dynamics, with_conditions
from ..description.external_force import ExternalForce
from ..description.impulses import check_impulses
from ..description.integrators import (
    Integrator,
    LangevinMiddle,
)
from ..description.nonbonded import Nonbonded
from ..description.permittivity import without_permittivity
from ..description.plausibility import (
    barostat_oddities,
    oddities,
    step_oddities,
    thermostat_oddities,
)
from ..description.settings import HOTTEST, draw_seed, with_seed
from ..description.state import State, vectors
from ..description.system import System
from ..description.thermostats import Thermostat
from ..engine.core import Engine, EngineFactory, counted_heat
from ..engine.execution import DeviceName, Execution, MeshSharing, PatchReach, Transport
from ..engine.external_calls import (
    external_calls,
    prepare_forces,
    refuse_calls_within,
    set_states,
    states_of,
    tried,
    with_external,
)
from ..engine.external_factory import ExternalFactory
from ..engine.where import RunHere, RunInWorkers
from ..engine.worker_settings import Workers
from ..errors import QuiltError, QuiltWarning
from ..outputs.checkpoint import read_checkpoint, write_checkpoint
from ..outputs.files import writing
from ..outputs.readout import Frame, Readout, read_from
from ..outputs.reporters import Need, Reporter
from ..workers.factory import make_engine
from ..workers.pool import Event
from .interrupts import interrupt_deferred
from .shutdown import core_calls
from .simulation_checks import (
    AtomNames,
    refuse_mismatch,
    refuse_other_kinds,
    refuse_other_than_reporters,
)
from .writer import Writer

_EVERYTHING: tuple[Need, ...] = ("energies", "state")
_COMES_WITH: dict[str, tuple[Need, ...]] = {"tensors": ("energies",), "heat": ()}
_LARGEST_FORCE = 5e5  # kJ/mol/nm; kLargestForce of src/math/fixed.h
_PIECE_SECONDS = 0.5
_FIRST_PIECE = 10  # steps, before the speed is known
_HOLD_SECONDS = 0.01  # between questions whether a run that is held may continue
_FIXED = ("system", "nonbonded", "integrator", "thermostat", "barostat", "device", "ranks")
_FOLLOWS = {  # what changes it
    "step": "run or set_state",
    "time": "run or set_state",
    "positions": "run or set_state",
    "velocities": "run, set_state or draw_velocities",
    "box": "set_state or set_conditions",
    "temperature": "set_conditions or draw_velocities",
    "friction": "set_conditions",
    "pressure": "set_conditions",
    "restraint_strength": "set_conditions",
    "lambdas": "set_conditions",
}


class Simulation(Readout):
    """A simulation: a System and its State, advanced in time by an integrator.

    Parameters
    ----------
    system, state:
        The system and its initial state, as returned by `quiltmd.load`.
    nonbonded:
        Nonbonded settings; by default those of the system's input, or if it has none,
        `Nonbonded()`.
    integrator:
        `LangevinMiddle` (NVT, the default) or `VelocityVerlet` (NVE).
    thermostat:
        A `Thermostat`, such as `VelocityRescaling`: for NVT with `VelocityVerlet`.
    barostat:
        A `Barostat`, such as `CellRescaling`: for constant pressure.
    device, ranks, threads, balance, transport, mesh, patch_reach, workers, hosts:
        Where the simulation runs: see `Execution`.  On devices of one kind, only `patch_reach`
        changes the trajectory, because forces are rounded differently.
    external:
        External forces: `ExternalForce` objects, on the CPU and in this process, or
        `ExternalFactory` objects, which also work in workers.
    engine:
        Function that creates the engine; for tests.

    Raises
    ------
    QuiltError
        If the settings do not suit the system, its box or this machine.
    """

    def __init__(
        self,
        system: System,
        state: State,
        nonbonded: Nonbonded | None = None,
        integrator: Integrator | None = None,
        *,
        thermostat: Thermostat | None = None,
        barostat: Barostat | None = None,
        device: DeviceName = "auto",
        ranks: int | None = None,
        threads: int | None = None,
        balance: bool = True,
        transport: Transport = "auto",
        mesh: MeshSharing = "auto",
        patch_reach: PatchReach = 1,
        workers: Workers | None = None,
        hosts: tuple[str, ...] = (),
        external: Sequence[ExternalForce | ExternalFactory] = (),
        engine: EngineFactory = make_engine,
    ) -> None:
        refuse_mismatch(system, state)
        refuse_other_kinds(
            nonbonded=nonbonded, integrator=integrator, thermostat=thermostat, barostat=barostat
        )
        self._lock = threading.RLock()
        self._is_running = False
        self._described = False  # from here on what it is made of stays as it is
        self.system = system
        self.nonbonded = nonbonded or system.nonbonded or Nonbonded.default(state.box)
        self.integrator = with_seed(integrator or LangevinMiddle())
        self.thermostat = with_seed(thermostat)
        self.barostat = with_interval(with_seed(barostat), self.integrator)
        if self.nonbonded.method in ("pme", "fmm"):
            check_impulses(self.integrator, system)
        self._external = external_calls(external, system)
        prepare_forces(self._external, system, self.integrator.timestep, self._one_temperature())
        held = any(calls.force.outside for calls in self._external)
        self.centre_of_mass = centre_of_mass(self.integrator, self.thermostat, system, held)
        self._execution = Execution(
            device,
            ranks,
            threads,
            balance,
            transport,
            mesh,
            patch_reach,
            workers or Workers(),
            hosts,
        )
        self._start(state, engine)
        self._warn(
            tried(self._external, state, self.barostat is not None, self._execution.is_compared())
        )
        self._warn(oddities(system, state, self.nonbonded))
        self._warn(barostat_oddities(self.barostat, system, self.nonbonded))
        self._warn(thermostat_oddities(self.thermostat, system))
        self._warn(centre_of_mass_oddities(self.integrator, self.thermostat, system))

    def _one_temperature(self) -> float | None:
        """Temperature of the heat bath, K; None: there is none, or several."""
        bath = heat_bath(self.integrator, self.thermostat)
        found = [] if bath is None else bath.temperatures()
        return float(found[0]) if len(set(found)) == 1 else None

    def _start(self, state: State, engine: EngineFactory) -> None:
        """Makes the engine and gives it the state."""
        system = self.system
        where = with_external(self._external, self._execution.resolve())
        self.device: str = where.device
        self.ranks: int = where.ranks
        self._make = self._maker(engine, state.box)
        with self._naming_atoms():
            self._engine: Engine = self._make(where)
        self._earlier_faults: list[Event] = []  # of devices that it has left
        self._conditions: dict[str, float] = {}  # that have changed since
        self._hills: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
        self._piece = _FIRST_PIECE
        self._heat_before = 0.0
        self._cache: dict[str, Any] = {}
        self._step_oddities = step_oddities(system, self.integrator)  # found by the first run
        self.step = 0
        self.box = state.box
        self._described = True
        self.set_state(state)
        if system.alchemy is not None and system.alchemy.restraint is not None:
            self.set_conditions(lambda_restraint=float(system.alchemy.start[-1]))
        if self.centre_of_mass.follows_lists:
            every = int(self.describe()["remove_com_every"])
            super().__setattr__("centre_of_mass", self.centre_of_mass.chosen(every))

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_") or not getattr(self, "_described", False):
            super().__setattr__(name, value)
            return
        if name in _FOLLOWS:
            raise QuiltError(f"the {name} of a simulation follows from {_FOLLOWS[name]}")
        if name not in _FIXED:
            raise QuiltError(f"a simulation has no {name} that could be set")
        raise QuiltError(
            f"the {name} of a simulation cannot be changed: make another one with "
            f"Simulation(system, simulation.state(), {name}=...)"
        )

    def __repr__(self) -> str:
        ranks = f", {self.ranks} ranks" if self.ranks > 1 else ""
        return f"<Simulation: {self.system.atoms} atoms at step {self.step}, {self.device}{ranks}>"

    def _maker(
        self, engine: EngineFactory, box: NDArray[np.float64] | None
    ) -> Callable[[RunHere | RunInWorkers], Engine]:
        """Makes engines of this system and these settings, on any device."""
        # A lambda that contains self would keep a dropped simulation alive.
        system, settings = without_permittivity(self.system, self.nonbonded)
        nonbonded = with_coulomb_cutoff(system, settings, box).resolve(box)
        dynamics = resolve_dynamics(
            self.integrator,
            self.thermostat,
            self.barostat,
            system,
            any(calls.force.outside for calls in self._external),
        )
        return lambda where: engine(system.arrays(), nonbonded, dynamics, where)

    def _note(self, step: int, box: NDArray[np.float64] | None = None) -> None:
        """Notes where the engine is now."""
        super().__setattr__("step", step)
        if box is not None:
            super().__setattr__("box", box)

    def _box_now(self) -> NDArray[np.float64] | None:
        """The box of the engine, where a barostat changes it."""
        if self.barostat is None:
            return None
        box = self._engine.capture().box
        return None if box is None else np.asarray(box, dtype=np.float64)

    def set_state(self, state: State, heat: float = 0.0) -> None:
        """Sets the state of the simulation.

        Parameters
        ----------
        state:
            A state of the same atoms.
        heat:
            Heat added by the thermostat so far, kJ/mol, rounded to a multiple of 2^-28 kJ/mol.
        """
        if not isinstance(state, State):
            raise QuiltError(f"a state must be a State, not {type(state).__name__}")
        refuse_mismatch(self.system, state)
        heat = counted_heat(real_number("heat", heat, "kJ/mol"))
        if (state.box is None) != (self.box is None):
            raise QuiltError(
                "a periodic box cannot be added or removed during a simulation: create another "
                "Simulation for this state"
            )
        check_cell(self.barostat, self.system, state)
        self._set_fields(state.arrays(), heat)

    def _set_fields(self, fields: dict[str, Any], heat: float) -> None:
        with self._changing() as engine, self._naming_atoms():
            engine.set_state(**fields)
            self._note(fields["step"], fields["box"])
            self._heat_before = heat

    def place(self, positions: npt.ArrayLike) -> None:
        """Moves the atoms; box, step, velocities and heat do not change.

        For energies and forces at many similar positions, as in an optimisation.  Pair lists are
        kept while all atoms are within 0.4 times the Verlet buffer of their positions at the last
        list build, which are part of the State (`list_positions`): another simulation continues
        bitwise from `state()`.  Otherwise, and without a box, pair lists are built as in
        `set_state`.

        Parameters
        ----------
        positions:
            (N, 3) nm, unwrapped, molecules whole.

        Raises
        ------
        QuiltError
            If these are not finite positions of all atoms.
        """
        places = vectors("positions", positions, self.system.atoms)
        heat = self.heat()
        with self._changing() as engine, self._naming_atoms():
            engine.place_atoms(places)
            self._heat_before = heat

    def fields(self) -> dict[str, Any]:
        """The fields of `state()` from the engine, without checks and copies."""
        with self._owned() as engine:
            fields: dict[str, Any] = engine.read(state=True).state()
        return fields

    def take_over(self, fields: dict[str, Any], heat: float) -> None:
        """Continues from the `fields` of a simulation of the same atoms in the same kind of box.

        As `set_state`, without a `State` in between.
        """
        box = fields["box"]
        fixed = None if box is None else frozen(np.asarray(box, dtype=np.float64))
        self._set_fields({**fields, "box": fixed}, counted_heat(heat))

    def forces(self) -> NDArray[np.float64]:
        """Forces now, (N, 3), kJ/mol/nm, in the order of the input.

        Raises QuiltError, naming the atom, if atoms overlap so much that forces are not correct.
        """
        with self._owned() as engine:
            forces = np.asarray(engine.forces(), dtype=np.float64)
        if not np.abs(forces).max() < _LARGEST_FORCE:
            largest = np.abs(forces).max(axis=1)
            worst = self.system.topology.describe(int(largest.argmax()))
            raise QuiltError(
                f"{worst} overlaps with another atom: the force on it is out of range; minimise or "
                "correct the structure"
            )
        return forces

    def minimize(
        self,
        tolerance: float = 100.0,
        max_iterations: int = 200,
        watch: Callable[[int, float, float], bool] | None = None,
    ) -> dict[str, Any]:
        """Minimises the potential energy by L-BFGS; velocities are not changed.

        Parameters
        ----------
        tolerance:
            Largest force on an atom at which to stop, kJ/mol/nm.
        max_iterations:
            Largest number of iterations.
        watch:
            Called before each iteration with the number of those done, the potential and the
            largest force; True stops there.

        Returns
        -------
        potential, largest_force, iterations, converged.
        """
        iterations = whole_number("max_iterations", max_iterations)
        largest = real_number("tolerance", tolerance, "kJ/mol/nm")
        if largest < 0:
            raise QuiltError(f"tolerance must not be negative, and is {tolerance!r}")
        with self._changing() as engine, self._naming_atoms(), core_calls:
            return engine.minimize(largest, iterations, watch)

    def draw_velocities(self, temperature: float | None = None, seed: int | None = None) -> None:
        """New velocities from the Maxwell-Boltzmann distribution at `temperature` (K).

        They satisfy the constraints, and leave the centre of mass at rest along axes on which it
        has no thermal motion (`degrees_of_freedom`).  At most 1e6 K; None: the temperature of the
        heat bath (of each group).  The same seed gives the same velocities; without a seed they
        differ each time.
        """
        if temperature is None:
            self._draw_of_baths(seed)
            return
        temperature = real_number("temperature", temperature, "K")
        if not 0 <= temperature <= HOTTEST:
            raise QuiltError(f"temperature must be from 0 to {HOTTEST:g} K, not {temperature!r}")
        number = draw_seed() if seed is None else whole_number("seed", seed)
        with self._changing() as engine:
            engine.draw_velocities(temperature, number)

    def _draw_of_baths(self, seed: int | None) -> None:
        """Velocities at the temperatures of the heat baths."""
        bath = heat_bath(self.integrator, self.thermostat)
        if bath is None:
            raise QuiltError("there is no heat bath: give a temperature for the velocities")
        if not bath.groups:
            self.draw_velocities(bath.temperature, seed)
            return
        found = np.array(bath.temperatures())
        self.draw_velocities(found.max(), seed)
        if (found == found.max()).all():
            return
        state, masses = self.state(), self.system.masses[:, None]
        velocities = state.velocities * np.sqrt(found / found.max())[self._baths()[1]][:, None]
        drift = self.centre_of_mass.resting * (masses * velocities).sum(axis=0) / masses.sum()
        velocities -= (masses > 0) * drift
        self.set_state(replace(state, velocities=velocities), self.heat())

    @property
    def restraint_strength(self) -> float:
        """The factor of energies and forces of restraints."""
        return self._conditions.get("restraints", 1.0)

    def set_conditions(
        self,
        *,
        temperature: float | Sequence[float] | None = None,
        friction: float | Sequence[float] | None = None,
        pressure: float | None = None,
        box: npt.ArrayLike | None = None,
        restraints: float | None = None,
        centres: Mapping[str, float] | None = None,
        lambda_coulomb: float | None = None,
        lambda_vdw: float | None = None,
        lambda_bonded: float | None = None,
        lambda_restraint: float | None = None,
    ) -> None:
        """Changes baths, box, restraints or lambdas from the present step on.

        `integrator`, `thermostat`, `barostat` and `restraint_strength` then have the new values.
        Pair lists are rebuilt, with the Verlet buffer of the temperature at which the simulation
        was created.  The result is bitwise the same on any number of ranks.  It is bitwise that of
        a new simulation with these settings if both temperatures are at most 300 K, below which the
        buffer does not depend on the temperature.

        When the box changes, the centres of mass of hydrogen groups (atoms joined by constraints)
        keep their fractional coordinates; shapes, orientations and velocities do not change.
        Neither do the Ewald coefficient and the PME grid, which were chosen for the earlier box:
        for a box of a very different size create another `Simulation`.  The work of the change is
        not part of `heat`.

        Parameters
        ----------
        temperature:
            Temperature of the heat bath, K; with separate heat baths, one for all or one for each
            group.
        friction:
            Friction coefficient, 1/ps; likewise for groups.
        pressure:
            Reference pressure of the barostat, bar.
        box:
            (3, 3) nm, rows a, b, c in reduced lower-triangular form.
        restraints:
            Factor of energies and forces of all restraints, initially 1.  The work of a change is
            not part of `heat`.  A State does not contain the factor: set it again in a simulation
            that starts from one.
        centres:
            Centres of collective restraints by their names, in nm, degrees or contacts; not of
            those that follow a path.  As for the factor, the work is not part of `heat`, and a
            State does not contain them.
        lambda_coulomb, lambda_vdw:
            Lambdas of alchemical atoms, from 0, where they are those of the system, to 1.  As for
            restraints, the work is not part of `heat`, and a State does not contain the lambdas.
        lambda_bonded:
            Lambda of bonded terms that change, if there are any.
        lambda_restraint:
            Lambda of the restraint of alchemical atoms, if they have one, from 0 (none) to 1
            (full).

        Raises
        ------
        QuiltError
            If the integrator or thermostat has no such setting, or the box is too small for the
            cutoff; nothing is changed then.
        """
        conditions = {"temperature": temperature, "friction": friction, "pressure": pressure}
        parts, numbers = with_conditions(
            self.integrator, self.thermostat, self.barostat, conditions
        )
        if restraints is not None:
            numbers["restraints"] = real_number("restraints", restraints)
        numbers |= changed_centres(self.system, centres or {})
        numbers |= self._changed_lambdas(
            lambda_coulomb=lambda_coulomb, lambda_vdw=lambda_vdw, lambda_bonded=lambda_bonded
        )
        numbers |= self._changed_restraint(restraints, lambda_restraint)
        cell = None if box is None else check_box(box)
        with self._changing() as engine, self._naming_atoms(), core_calls:
            engine.set_conditions(numbers, cell)
            self._conditions |= numbers
            if cell is not None:
                self._note(self.step, cell)
        for name, part in parts.items():
            super().__setattr__(name, part)  # not an assignment by the user, which is refused

    def add_hills(self, axes: npt.ArrayLike, hills: npt.ArrayLike) -> None:
        """Adds hills to the bias of collective variables; see `Metadynamics`, which makes both.

        Parameters
        ----------
        axes:
            `Metadynamics.axes`, the same in every call.
        hills:
            (n, 5): two centres and two widths, in nm, rad or contacts, and the height, kJ/mol; with
            one variable the second centre is 0 and the second width 1.

        Raises
        ------
        QuiltError
            If the axes are others, or the engine runs in workers, which have no bias.
        """
        rows = [np.asarray(one, dtype=np.float64).reshape(-1, 5) for one in (axes, hills)]
        with self._changing() as engine, self._naming_atoms(), core_calls:
            _hills_of(engine)(*rows)
        before = [] if self._hills is None else [self._hills[1]]
        self._hills = (rows[0], np.concatenate([*before, rows[1]]))

    @property
    def lambdas(self) -> dict[str, float]:
        """The lambdas of alchemical atoms, as keywords of `set_conditions`."""
        if self.system.alchemy is None:
            return {}
        start = conditions_of(self.system.alchemy.start, self.system.alchemy.names)
        now = {"lambda_restraint": self.restraint_strength, **self._conditions}
        return {name: now.get(name, value) for name, value in start.items()}

    def _changed_lambdas(self, **given: float | None) -> dict[str, float]:
        """The given lambdas, checked."""
        changed = {
            name: real_number(name, value) for name, value in given.items() if value is not None
        }
        if changed and self.system.alchemy is None:
            raise QuiltError(f"{next(iter(changed))}: the system has no alchemical atoms")
        for name in changed.keys() - self.lambdas.keys():
            raise QuiltError(f"{name}: no terms of the system change with lambda")
        return changed

    def _changed_restraint(
        self, strength: float | None, lambda_restraint: float | None
    ) -> dict[str, float]:
        """The strength of restraints that a lambda means, checked."""
        has_lambda = self.system.alchemy is not None and self.system.alchemy.restraint is not None
        if lambda_restraint is not None and not has_lambda:
            raise QuiltError("lambda_restraint: the alchemical atoms have no restraint")
        if strength is not None and has_lambda:
            raise QuiltError("restraints: the only restraint has a lambda; give lambda_restraint")
        if lambda_restraint is None:
            return {}
        value = real_number("lambda_restraint", lambda_restraint)
        if not 0 <= value <= 1:
            raise QuiltError(f"lambda_restraint must be from 0 to 1, not {value:g}")
        return {"restraints": value}

    @property
    def faults(self) -> list[Event]:
        """The failures of devices so far, for simulations with spares or redundant devices."""
        return [*self._earlier_faults, *getattr(self._engine, "events", ())]

    def migrate(self, device: DeviceName) -> None:
        """Continues on another device, bitwise if it is of the same kind.

        If the new device cannot be used, the simulation stays on the present one.

        Raises
        ------
        QuiltError
            If the device cannot be used.
        """
        execution = replace(self._execution, device=device, hosts=())
        where = with_external(self._external, execution.resolve())
        now = self.checkpoint()
        with self._changing():
            engine = self._make(where)
            engine.set_state(**now.state.arrays())
            if self._conditions:
                engine.set_conditions(self._conditions)
            if self._hills is not None:
                _hills_of(engine)(*self._hills)
            self._earlier_faults = self.faults
            self._engine, self._execution = engine, execution
            super().__setattr__("ranks", where.ranks)
            super().__setattr__("device", where.device)
        self.set_state(now.state, now.heat)

    def run(
        self,
        steps: int,
        reporters: Sequence[Reporter] = (),
        watch: Callable[[int], bool] | None = None,
    ) -> None:
        """Advances by `steps` steps.

        Parameters
        ----------
        steps:
            Number of steps.
        reporters:
            Each reports at multiples of its `every`, in the given order, in another thread; all
            reports are complete on return.  The run waits while one of them `holds` it.
        watch:
            Called with the step number about twice a second; returning True stops the run at this
            step, after its reports.

        Raises
        ------
        SimulationError
            If the simulation blows up; the error names the atoms.  Earlier reports are written.
        KeyboardInterrupt
            On Ctrl-C, after the run has stopped at a step and the reports up to it are complete;
            another call continues from there.  A second Ctrl-C acts at once.

        An error in a reporter is raised here soon afterwards; later reports are omitted.
        """
        steps = whole_number("steps", steps)
        if self.step + steps > LAST_STEP:
            raise QuiltError(f"step {self.step + steps} is beyond the last step, {LAST_STEP}")
        refuse_other_than_reporters(reporters)
        with self._running(), interrupt_deferred() as interrupted, Writer() as writer:
            self._warn(self._step_oddities)
            end = self.step + steps  # known only here: another thread's run may have just ended

            def asks_to_stop(step: int) -> bool:
                return (watch is not None and watch(step)) or interrupted()

            try:
                self._run(end, reporters, asks_to_stop, writer)
            except BaseException:
                with suppress(QuiltError):
                    self._note(self._engine.capture().step, self._box_now())
                raise

    def _run(
        self,
        end: int,
        reporters: Sequence[Reporter],
        watch: Callable[[int], bool],
        writer: Writer,
    ) -> None:
        stop = False
        while self.step < end and not stop and not self._hold(reporters, watch, writer.check):
            active = [(one, every) for one in reporters if (every := one.every) > 0]
            next_due = (self.step - self.step % every + every for _, every in active)
            stop = self._advance(min([end, *next_due]), watch, writer.check)
            due = [reporter for reporter, every in active if self.step % every == 0]
            if due:
                writer.wait_for_room()
                writer.put(partial(_report, self._capture(*_needs(due)), due))

    def _hold(
        self, reporters: Sequence[Reporter], watch: Callable[[int], bool], check: Callable[[], None]
    ) -> bool:
        """Waits while a reporter holds the run; whether `watch` asks to stop meanwhile."""
        questions = [holds for one in reporters if callable(holds := getattr(one, "holds", None))]
        while any([holds() for holds in questions]):
            check()
            if watch(self.step):
                return True
            time.sleep(_HOLD_SECONDS)
        return False

    @property
    def external(self) -> tuple[ExternalForce, ...]:
        """The external forces, in the given order."""
        return tuple(calls.force for calls in self._external)

    @property
    def balance(self) -> bool:
        """Whether load balancing between ranks is on."""
        return self._execution.balance

    def describe(self) -> dict[str, Any]:
        """Technical data: patches, pair lists, ranks, devices, PME parameters."""
        with self._owned() as engine:
            found = engine.describe()
        return found | {"external": [calls.describe() for calls in self._external]}

    def profile(self) -> list[dict[str, Any]]:
        """Time spent so far: rank, name, calls and seconds of each task."""
        with self._owned() as engine:
            return engine.profile()

    def start_profile(self) -> None:
        """Starts timing every task, or on a GPU every kernel; results do not change.

        Another call before `stop_profile` starts again.
        """
        with self._owned() as engine:
            engine.start_profile()

    def stop_profile(self) -> list[dict[str, Any]]:
        """Stops timing and returns the calls.

        Returns
        -------
        rank, stream (0 main, 1 side, 2 halo, 3 boundary), name, begin and end, s since the last
        `start_profile`.
        """
        with self._owned() as engine:
            return engine.stop_profile()

    def profiled_messages(self) -> list[dict[str, Any]]:
        """Messages between ranks during the last profile.

        Returns
        -------
        name, from, to (ranks), from_stream, to_stream, bytes, carrier ("host", or "kernels", which
        write into the memory of other GPUs), and s since the `start_profile`: sent, arrived, used.
        """
        with self._owned() as engine:
            return engine.profiled_messages()

    def loads(self) -> list[dict[str, Any]]:
        """Load of each rank: patches, proxies, computes, atoms, list_entries, device_bytes."""
        with self._owned() as engine:
            return engine.loads()

    def save_checkpoint(self, path: str | os.PathLike[str]) -> None:
        """Writes a checkpoint; the previous one is kept beside it."""
        with writing(path):
            write_checkpoint(path, self.checkpoint())

    def load_checkpoint(self, path: str | os.PathLike[str]) -> None:
        """Continues from a checkpoint, bitwise as if the run had never stopped.

        Raises QuiltError if it belongs to another system or another kind of box.
        """
        checkpoint = read_checkpoint(path)
        atoms = len(checkpoint.state.positions)
        if atoms != self.system.atoms:
            raise QuiltError(
                f"{path}: the checkpoint is of another system: it has {atoms} atoms, this "
                f"simulation {self.system.atoms}"
            )
        if self.barostat is None and not _same_box(checkpoint.state.box, self.box):
            raise QuiltError(
                f"{path}: the checkpoint has another box than the one for which the PME grid of "
                f"this simulation was chosen; make a Simulation from the state of read_checkpoint"
            )
        self.set_state(checkpoint.state, checkpoint.heat)
        self.set_external_states(checkpoint.external)

    def set_external_states(self, states: Mapping[str, bytes]) -> None:
        """Restores the variables of external forces from a checkpoint (`ExternalForce.state`).

        Raises QuiltError if the checkpoint lacks the variables of a force, or they cannot be
        restored.
        """
        with self._changing():
            set_states(self._external, states, self.step)

    def _external_states(self) -> dict[str, bytes]:
        return states_of(self._external, self.step)

    def _advance(
        self, target: int, watch: Callable[[int], bool], check: Callable[[], None]
    ) -> bool:
        """Runs a piece, at most up to `target`; whether `watch` asks to stop there.

        Afterwards `check` may raise.
        """
        steps = min(self._piece, target - self.step)
        begin = time.perf_counter()
        self._cache = {}
        with self._naming_atoms(), core_calls:
            self._engine.run(steps)
        seconds = max(time.perf_counter() - begin, 1e-9)
        self._note(self.step + steps, self._box_now())
        if steps == self._piece or seconds > _PIECE_SECONDS:
            self._piece = max(1, min(int(steps * _PIECE_SECONDS / seconds), 10 * self._piece))
        stop = watch(self.step)
        check()
        return stop

    @contextmanager
    def _owned(self) -> Iterator[Engine]:
        """The engine, which belongs to one thread at a time."""
        if not self._lock.acquire(blocking=False):
            raise QuiltError(
                "the simulation is in use by another thread: a reporter may read its frame only, "
                "and a second thread needs a simulation of its own"
            )
        try:
            refuse_calls_within(self._external)
            yield self._engine
        finally:
            self._lock.release()

    @contextmanager
    def _changing(self) -> Iterator[Engine]:
        """The engine, to change the state; not in the middle of a run."""
        with self._owned() as engine:
            if self._is_running:
                raise QuiltError("the simulation is running: `watch` may read it, not change it")
            self._cache = {}
            try:
                yield engine
            finally:
                self._cache = {}

    @contextmanager
    def _running(self) -> Iterator[None]:
        """Keeps the engine from other threads and from changes for the time of a run."""
        with self._changing():
            self._is_running = True
            try:
                yield
            finally:
                self._is_running = False

    def _capture(self, *needs: str) -> Frame:
        """The simulation now."""
        with self._owned() as engine:
            captured = engine.capture(**{need: True for need in needs if need != "forces"})
            forces = self.forces() if "forces" in needs else None
        external = self._external_states() if "state" in needs else None
        return Frame(self, captured, self._heat_before, forces, external)

    def _fetch(self, what: str) -> Any:
        with self._owned() as engine:
            needs = {need: True for need in _COMES_WITH.get(what, (what,))}
            captured = engine.read(**needs)
        return read_from(captured, what, self._heat_before)

    def _warn(self, oddities: Iterable[str]) -> None:
        for text in oddities:
            warnings.warn(QuiltWarning(text), stacklevel=3)

    def _naming_atoms(self) -> AtomNames:
        return AtomNames(self.system)


def _needs(reporters: Sequence[Reporter]) -> set[Need]:
    """All data that these reporters read."""
    return set().union(*(getattr(reporter, "needs", _EVERYTHING) for reporter in reporters))


def _report(frame: Frame, due: Sequence[Reporter]) -> None:
    for reporter in due:
        reporter.report(frame)


def _hills_of(engine: Engine) -> Callable[..., None]:
    """Function of an engine that adds hills."""
    add: Callable[..., None] | None = getattr(engine, "add_hills", None)
    if add is None:
        raise QuiltError(
            "metadynamics runs in this process only, not in workers: choose device cpu or cuda"
        )
    return add


def _same_box(one: NDArray[np.float64] | None, other: NDArray[np.float64] | None) -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)
