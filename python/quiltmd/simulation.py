# SPDX-License-Identifier: Apache-2.0
"""A running simulation: descriptions compiled into an engine, and the loop that advances it.

The loop goes from one due report to the next; between reports the engine runs undisturbed.  Long
stretches are cut into pieces of about half a second so that Ctrl-C and progress work; since the
engine's results do not depend on how steps are grouped, this changes nothing else.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from .engine import DeviceName, Engine, EngineFactory, Execution, make_engine
from .errors import QuiltError, SimulationError
from .integrators import Integrator, LangevinMiddle
from .nonbonded import Nonbonded
from .state import State
from .system import System

BOLTZMANN = 0.00831446261815324  # kJ/mol/K
AMU_PER_NM3 = 1.66053906660  # kg/m^3
KJ_MOL_PER_NM3 = 16.6053906660  # bar
_PIECE_SECONDS = 0.5
_FIRST_PIECE = 10  # steps, before the speed is known
_CORE_ATOM = re.compile(r"\batom (\d+)")


class Reporter(Protocol):
    """Something to be done every `every` steps; 0 means never."""

    @property
    def every(self) -> int:
        """Steps between reports."""

    def report(self, simulation: Simulation) -> None:
        """Reports on the simulation as it is now."""


class Simulation:
    """A System in motion.

    Parameters
    ----------
    system, state:
        What is simulated and where it starts, as `quiltmd.load` gives them.
    nonbonded:
        Cutoff and PME settings.
    integrator:
        `LangevinMiddle` (NVT, the default) or `VelocityVerlet` (NVE).
    device, ranks, threads, balance, away:
        Where it runs: see `Execution`.  They never change the trajectory.
    engine:
        Makes the engine; tests put a toy here.

    Raises
    ------
    QuiltError
        Where the settings do not fit the system, its box or this machine.
    """

    def __init__(
        self,
        system: System,
        state: State,
        nonbonded: Nonbonded | None = None,
        integrator: Integrator | None = None,
        *,
        device: DeviceName = "auto",
        ranks: int = 1,
        threads: int | None = None,
        balance: bool = True,
        away: int = 1,
        engine: EngineFactory = make_engine,
    ) -> None:
        if len(state.positions) != system.atoms:
            raise QuiltError(
                f"the state has {len(state.positions)} atoms, the system {system.atoms}"
            )
        self.system = system
        self.nonbonded = nonbonded or Nonbonded()
        self.integrator = integrator or LangevinMiddle()
        execution = Execution(device, ranks, threads, balance, 2 if away == 2 else 1).resolve()
        self.device: str = execution["device"]
        self._engine: Engine = engine(
            system.arrays(),
            self.nonbonded.resolve(state.box),
            self.integrator.resolve(),
            execution,
        )
        self._piece = _FIRST_PIECE
        self._heat_before = 0.0
        self._cache: dict[str, Any] = {}
        self.step = 0
        self.set_state(state)

    @property
    def time(self) -> float:
        """Simulated time since step 0, ps."""
        return self.step * self.integrator.timestep

    @property
    def degrees_of_freedom(self) -> int:
        """Of the kinetic energy: 3 N minus constraints, minus 3 where drift is removed."""
        drift = 3 if self.integrator.remove_com_every else 0
        return self.system.degrees_of_freedom - drift

    def set_state(self, state: State, heat: float = 0.0) -> None:
        """Puts the simulation at `state`.

        Parameters
        ----------
        state:
            Of the same atoms and box shape.
        heat:
            Heat of the thermostat up to there, kJ/mol; goes on from this value.
        """
        self._engine.set_state(
            state.step,
            state.box,
            state.positions,
            state.velocities,
            state.list_step,
            state.list_positions,
        )
        self.step = state.step
        self._volume = float(np.prod(np.diag(state.box)))
        self._changed()
        self._heat_before = 0.0
        self._heat_before = heat - self.energies()["heat"]

    def state(self) -> State:
        """Positions, velocities and box now, in the order of the input."""
        if "state" not in self._cache:
            self._cache["state"] = State(**self._engine.state())
        state: State = self._cache["state"]
        return state

    def energies(self) -> dict[str, float]:
        """Energies now, kJ/mol.

        bond, angle, torsion, lj, lj14, coulomb (direct space), coulomb14, pme (reciprocal space,
        self and background terms), dispersion; nonbonded (the sum of the last six), potential,
        kinetic, total; heat (what the thermostat has put in) and conserved = total - heat.
        """
        if "energies" not in self._cache:
            self._cache["energies"] = self._sum_energies(self._engine.energies())
        return dict(self._cache["energies"])

    def forces(self) -> NDArray[np.float64]:
        """Forces now, (N, 3), kJ/mol/nm, in the order of the input."""
        return np.asarray(self._engine.forces(), dtype=np.float64)

    def virial(self) -> NDArray[np.float64]:
        """Virial now, (3, 3), kJ/mol: the sum of position times force over hydrogen groups.

        Hydrogen groups (atoms joined by constraints, a rigid water for instance; an atom without
        constraints is a group by itself) count with their centres of mass, so that forces of
        constraints have no part in it.  It is symmetric: minus the derivative of the potential
        energy by a strain of box and centres of mass, at fixed Ewald coefficient and PME grid,
        groups keeping their shape and orientation.  The tail of the Lennard-Jones potential
        (`dispersion_correction`) brings the mean of position times force beyond the cutoff.
        A positive trace pushes the box apart.
        """
        return np.array(self._tensors()["virial"])

    def pressure_tensor(self) -> NDArray[np.float64]:
        """Pressure now, (3, 3), bar: (sum of p p / m over hydrogen groups + virial) / volume.

        p and m are momentum and mass of a group.  Velocities are as stored: of `LangevinMiddle`
        those of half a step before.  Single values fluctuate by hundreds of bar in a small box.
        """
        tensors = self._tensors()
        pressure: NDArray[np.float64] = tensors["motion"] + tensors["virial"]
        return KJ_MOL_PER_NM3 / self._volume * pressure

    def pressure(self) -> float:
        """Pressure now, bar: a third of the trace of `pressure_tensor`."""
        return float(np.trace(self.pressure_tensor())) / 3

    def temperature(self) -> float:
        """Kinetic temperature now, K."""
        return 2 * self.energies()["kinetic"] / (self.degrees_of_freedom * BOLTZMANN)

    def density(self) -> float:
        """Mass density now, kg/m^3."""
        return float(self.system.masses.sum()) / self._volume * AMU_PER_NM3

    def minimize(self, tolerance: float = 100.0, max_iterations: int = 200) -> dict[str, Any]:
        """Moves the atoms to a nearby minimum of the potential; velocities are left as they are.

        Parameters
        ----------
        tolerance:
            Largest force on an atom at which to stop, kJ/mol/nm.
        max_iterations:
            When to stop in any case.

        Returns
        -------
        potential, largest_force, iterations, converged.
        """
        with self._naming_atoms():
            outcome = self._engine.minimize(tolerance, max_iterations)
        self._changed()
        return outcome

    def draw_velocities(self, temperature: float, seed: int = 0) -> None:
        """New velocities from the Maxwell-Boltzmann distribution at `temperature` (K).

        They satisfy the constraints and leave the centre of mass at rest.
        """
        self._engine.draw_velocities(temperature, seed)
        self._changed()

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
            How many.
        reporters:
            Each reports at the steps that are multiples of its `every`, in the order given.
        watch:
            Called with the step number about twice a second; True asks the run to stop there, after
            the reports that are due.

        Raises
        ------
        SimulationError
            If the simulation blows up; names the atoms.
        """
        end = self.step + steps
        active = [reporter for reporter in reporters if reporter.every > 0]
        stop = False
        while self.step < end and not stop:
            due = (self.step - self.step % r.every + r.every for r in active)
            stop = self._advance(min([end, *due]), watch)
            for reporter in active:
                if self.step % reporter.every == 0:
                    reporter.report(self)

    def describe(self) -> dict[str, Any]:
        """How the engine has laid the simulation out: patches, lists, ranks, devices, PME."""
        return self._engine.describe()

    def profile(self) -> list[dict[str, Any]]:
        """Time spent so far: rank, name, calls and seconds of each task."""
        return self._engine.profile()

    def start_profile(self) -> None:
        """From here on every task, on a GPU every kernel, is timed; results do not change.

        Called again before `stop_profile`, it forgets what was timed so far.
        """
        self._engine.start_profile()

    def stop_profile(self) -> list[dict[str, Any]]:
        """Ends the timing and gives what took place.

        Returns
        -------
        rank, lane (0 main, 1 long range), name, begin and end, s since the last `start_profile`.
        """
        return self._engine.stop_profile()

    def checkpoint(self, provenance: dict[str, Any] | None = None) -> Checkpoint:
        """All that is needed to carry on from here."""
        return Checkpoint(self.state(), self.energies()["heat"], provenance or {})

    def save_checkpoint(self, path: str | os.PathLike[str]) -> None:
        """Writes a checkpoint; the one before it is kept beside it."""
        write_checkpoint(path, self.checkpoint())

    def load_checkpoint(self, path: str | os.PathLike[str]) -> None:
        """Carries on from a checkpoint with the same bits as if never stopped."""
        checkpoint = read_checkpoint(path)
        if len(checkpoint.state.positions) != self.system.atoms:
            raise QuiltError(f"{path}: the checkpoint is of another system")
        self.set_state(checkpoint.state, checkpoint.heat)

    def _advance(self, target: int, watch: Callable[[int], bool] | None) -> bool:
        """Runs up to `target`, or to where `watch` asks to stop, which it then returns."""
        stop = False
        while self.step < target and not stop:
            steps = min(self._piece, target - self.step)
            begin = time.perf_counter()
            with self._naming_atoms():
                self._engine.run(steps)
            seconds = max(time.perf_counter() - begin, 1e-9)
            self.step += steps
            self._changed()
            if steps == self._piece or seconds > _PIECE_SECONDS:
                self._piece = max(1, min(int(steps * _PIECE_SECONDS / seconds), 10 * self._piece))
            stop = watch is not None and watch(self.step)
        return stop

    def _tensors(self) -> dict[str, Any]:
        if "tensors" not in self._cache:
            self._cache["tensors"] = self._engine.tensors()
        tensors: dict[str, Any] = self._cache["tensors"]
        return tensors

    def _changed(self) -> None:
        self._cache = {}

    def _sum_energies(self, parts: dict[str, float]) -> dict[str, float]:
        terms = ("lj", "lj14", "coulomb", "coulomb14", "pme", "dispersion")
        heat = parts["heat"] + self._heat_before
        total = parts["potential"] + parts["kinetic"]
        return {
            **parts,
            "nonbonded": sum(parts[term] for term in terms),
            "total": total,
            "heat": heat,
            "conserved": total - heat,
        }

    def _naming_atoms(self) -> _AtomNames:
        return _AtomNames(self.system)


class _AtomNames:
    """Turns the core's atom indices in a SimulationError into names of atoms and residues."""

    def __init__(self, system: System) -> None:
        self._system = system

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, SimulationError):
            message = str(error).removeprefix(f"step {error.step}: ")
            raise SimulationError(error.step, _CORE_ATOM.sub(self._name, message)) from None

    def _name(self, match: re.Match[str]) -> str:
        index = int(match[1])
        return self._system.topology.describe(index) if index < self._system.atoms else match[0]
