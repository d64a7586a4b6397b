# SPDX-License-Identifier: Apache-2.0
"""A running simulation: descriptions compiled into an engine, and its state.

It is in three parts: the engine and who may use it (`engine_access.py`), conditions that change
between steps (`set_conditions.py`), and the loop that advances it (`run_loop.py`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from ..description.barostats import Barostat
from ..description.centre_of_mass import centre_of_mass, centre_of_mass_oddities
from ..description.checks import frozen, real_number, whole_number
from ..description.constant_pressure import check_cell, with_interval
from ..description.coulomb_cutoff import with_coulomb_cutoff
from ..description.dynamics import heat_bath, resolve_dynamics
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
from ..engine.execution import DeviceName, Execution, Grain, MeshSharing, PatchReach, Transport
from ..engine.external_calls import (
    check_custom_names,
    external_calls,
    prepare_forces,
    set_states,
    tried,
    with_external,
)
from ..engine.external_factory import ExternalFactory
from ..engine.where import RunHere, RunInWorkers
from ..engine.worker_settings import Workers
from ..errors import QuiltError
from ..outputs.checkpoint import read_checkpoint, write_checkpoint
from ..outputs.files import writing
from ..workers.factory import make_engine
from .run_loop import RunLoop
from .set_conditions import Conditions, hills_of
from .shutdown import core_calls
from .simulation_checks import (
    refuse_mismatch,
    refuse_other_kinds,
)

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


class Simulation(Conditions, RunLoop):
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
    device, ranks, threads, balance, transport, mesh, patch_reach, workers, hosts, grain:
        Where the simulation runs: see `Execution`.  On devices of one kind, only `patch_reach` and
        `grain` change the trajectory, because forces are rounded differently.
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
        grain: Grain = "patch",
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
        check_custom_names(system, self._external)
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
            grain,
        )
        self._start(state, engine)
        self._warn(
            tried(self._external, state, self.barostat is not None, self._execution.is_compared())
        )
        self._warn(oddities(system, state, self.nonbonded))
        self._warn(barostat_oddities(self.barostat, system, self.nonbonded))
        self._warn(thermostat_oddities(self.thermostat, system))
        self._warn(centre_of_mass_oddities(self.integrator, self.thermostat, system, held))

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
            self._engine = self._make(where)
        self._earlier_faults = []
        self._conditions = {}  # that have changed since
        self._hills = None
        self._heat_before = 0.0
        self._cache = {}
        self._step_oddities = step_oddities(system, self.integrator)
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

    def take_over(self, fields: dict[str, Any], heat: float) -> None:
        """Continues from the `fields` of a simulation of the same atoms in the same kind of box.

        As `set_state`, without a `State` in between.
        """
        box = fields["box"]
        fixed = None if box is None else frozen(np.asarray(box, dtype=np.float64))
        self._set_fields({**fields, "box": fixed}, counted_heat(heat))

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
                hills_of(engine)(*self._hills)
            self._earlier_faults = self.faults
            self._engine, self._execution = engine, execution
            super().__setattr__("ranks", where.ranks)
            super().__setattr__("device", where.device)
        self.set_state(now.state, now.heat)

    @property
    def balance(self) -> bool:
        """Whether load balancing between ranks is on."""
        return self._execution.balance

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


def _same_box(one: NDArray[np.float64] | None, other: NDArray[np.float64] | None) -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)
