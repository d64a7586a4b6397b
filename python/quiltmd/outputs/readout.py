# SPDX-License-Identifier: Apache-2.0
"""Observables of a simulation: of its present state, or of a frame captured earlier.

Reporters, checkpoints and final structures read a `Readout` and need not know which of the two it
is.  The data of a frame are copied from the device while the simulation continues; reading waits
for the data that are read, and for no others.
"""

from __future__ import annotations

import functools
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ..description.alchemy import OF_CORE
from ..description.barostats import Barostat
from ..description.centre_of_mass import CentreOfMass, frictions_of
from ..description.collective import CollectiveReading, read_collective
from ..description.dynamics import groups_with_baths
from ..description.external_force import SUMS
from ..description.heat_baths import BathGroup, baths_of_atoms, degrees_of_freedom
from ..description.integrators import Integrator
from ..description.nonbonded import Nonbonded
from ..description.settings import BOLTZMANN
from ..description.state import State
from ..description.system import System
from ..description.thermostats import Thermostat
from ..engine.core import Captured
from ..errors import QuiltError
from .checkpoint import Checkpoint

AMU_PER_NM3 = 1.66053906660  # kg/m^3
KJ_MOL_PER_NM3 = 16.6053906660  # bar


class Readout(ABC):
    """A simulation at some step.

    Attributes
    ----------
    system, nonbonded, integrator, thermostat, barostat:
        The simulated system and the settings of the simulation.
    centre_of_mass:
        The motion of its centre of mass.
    step:
        Steps done since the start.
    box:
        (3, 3) nm, rows a, b, c; None: no periodic boundary, so no pressure and no density.
    """

    system: System
    nonbonded: Nonbonded
    integrator: Integrator
    thermostat: Thermostat | None
    barostat: Barostat | None
    centre_of_mass: CentreOfMass
    step: int
    box: NDArray[np.float64] | None

    _taken_at: float | None = None  # None: it is as now
    _cache: dict[str, Any]
    _conditions: dict[str, float]  # of the core, that have changed
    _bath_of_atom: NDArray[np.uint8] | None = None

    @property
    def clock(self) -> float:
        """Wall-clock time of this step, s of `time.perf_counter`."""
        return time.perf_counter() if self._taken_at is None else self._taken_at

    @property
    def time(self) -> float:
        """Simulated time since step 0, ps."""
        return self.step * self.integrator.timestep

    @property
    def degrees_of_freedom(self) -> float:
        """Degrees of freedom: 3 N minus constraints, minus those of the centre of mass.

        A degree of freedom is subtracted for each axis along which the motion of the centre of mass
        is removed or never arises (constant energy, a thermostat that scales all velocities alike),
        and along which no restraint or field acts.  The noise of a Langevin integrator, or the
        collisions of Andersen's thermostat, set the centre of mass in motion again: at a time t
        after the removal, exp(-2 friction t) is subtracted instead of 1, where the friction of
        collisions is 1 / `time_constant`.
        """
        if groups_with_baths(self.integrator, self.thermostat):
            return float(self.group_degrees_of_freedom().sum())
        (missing,) = self._missing()
        return max(0.0, self.system.degrees_of_freedom - missing)

    def group_degrees_of_freedom(self) -> NDArray[np.float64]:
        """Degrees of freedom of each group with a separate heat bath: see `group_temperatures`."""
        _, bath = self._baths()
        return degrees_of_freedom(self.system, bath, np.array(self._missing()))

    def _missing(self) -> list[float]:
        """The degrees of freedom that the centre of mass lacks, by heat bath."""
        return [
            self.centre_of_mass.missing(self.step, friction, self.integrator.timestep)
            for friction in frictions_of(self.integrator, self.thermostat)
        ]

    def _baths(self) -> tuple[tuple[BathGroup, ...], NDArray[np.uint8]]:
        """The groups with heat baths of their own, and that of each atom."""
        groups = groups_with_baths(self.integrator, self.thermostat)
        if not groups:
            bath = self.thermostat or self.integrator
            raise QuiltError(f"{type(bath).__name__} has no groups of atoms")
        if self._bath_of_atom is None:
            self._bath_of_atom = baths_of_atoms(self.system, groups)
        return groups, self._bath_of_atom

    def positions(self) -> NDArray[np.float64]:
        """(N, 3) nm, unwrapped, molecules whole, in the order of the input."""
        positions: NDArray[np.float64] = self._read("positions")
        return positions

    def state(self) -> State:
        """Positions, velocities and box, in the order of the input."""
        state: State = self._read("state")
        return state

    def forces(self) -> NDArray[np.float64]:
        """Forces, (N, 3), kJ/mol/nm, in the order of the input."""
        forces: NDArray[np.float64] = self._read("forces")
        return forces

    def energies(self) -> dict[str, float]:
        """Energies, kJ/mol.

        bond, angle, torsion, ryckaert_bellemans, urey_bradley, improper, cmap, restraint, external,
        lj, lj14, coulomb (direct space), coulomb14, pme (reciprocal space, self and background
        terms), dispersion; with implicit solvent polarisation and surface; many-body, of
        embedded atoms and three-body potentials; custom, of custom forces, and the energies of
        those with names of their own; nonbonded (the sum of those from lj to dispersion, and
        many-body), potential, kinetic, total; heat (energy added
        by thermostat and barostat) and conserved = total - heat.
        """
        return dict(self._read("energies"))

    def terms(self) -> tuple[str, ...]:
        """Names of the terms in `energies` whose sum is the potential energy."""
        return tuple(name for name in self.energies() if name not in SUMS)

    def virial(self) -> NDArray[np.float64]:
        """Virial, (3, 3), kJ/mol: the sum of position times force over hydrogen groups.

        Hydrogen groups (atoms joined by constraints, a rigid water for instance; an atom without
        constraints is a group by itself) count with their centres of mass, so that forces of
        constraints have no part in it.  It is symmetric: minus the derivative of the potential
        energy with respect to a strain of box and centres of mass, at fixed Ewald coefficient and
        PME grid, groups keeping their shape and orientation.  The tail correction
        (`dispersion_correction`) adds the mean of position times force beyond the cutoff, and of
        the forces that a switching function removes.  A positive trace contributes a positive
        pressure.
        """
        return np.array(self._read("tensors")["virial"])

    def pressure_tensor(self) -> NDArray[np.float64]:
        """Pressure, (3, 3), bar: (sum of p p / m over hydrogen groups + virial) / volume.

        p and m are momentum and mass of a group.  With `LangevinMiddle`, velocities are those of
        half a step before the positions.  Single values fluctuate by hundreds of bar in a small
        box.
        """
        tensors = self._read("tensors")
        pressure: NDArray[np.float64] = tensors["kinetic"] + tensors["virial"]
        return KJ_MOL_PER_NM3 / self._volume * pressure

    def pressure(self) -> float:
        """Pressure, bar: a third of the trace of `pressure_tensor`."""
        return float(np.trace(self.pressure_tensor())) / 3

    @property
    @abstractmethod
    def lambdas(self) -> dict[str, float]:
        """The lambdas of alchemical atoms, by name; empty without such atoms."""

    def state_energies(self) -> NDArray[np.float64]:
        """(K,) kJ/mol: potential energy in each alchemical state minus the present one.

        One evaluation gives the energies of all states.
        """
        found = self._of_alchemy("state_energies")
        energy = self._restraint_energy()
        if energy is None:
            return found
        alchemy = self.system.alchemy
        assert alchemy is not None
        changed: NDArray[np.float64] = alchemy.states[:, -1] - self.lambdas["lambda_restraint"]
        return found + energy * changed

    def dhdl(self) -> NDArray[np.float64]:
        """Derivatives of the potential energy with respect to the lambdas, kJ/mol.

        In the order of `Alchemy.names`: (2,) for lambda_coulomb and lambda_vdw; more with
        lambda_bonded, if terms change, and with lambda_restraint, if the alchemical atoms have a
        restraint.
        """
        found = self._of_alchemy("dhdl")
        assert self.system.alchemy is not None
        found = found[[name in self.system.alchemy.names for name in OF_CORE]]
        energy = self._restraint_energy()
        return found if energy is None else np.append(found, energy)

    def _restraint_energy(self) -> float | None:
        """kJ/mol, in full, of the restraint of alchemical atoms; None where there is none."""
        alchemy = self.system.alchemy
        if alchemy is None or alchemy.restraint is None:
            return None
        return alchemy.restraint.energy(self.positions(), self.box)

    def _of_alchemy(self, name: str) -> NDArray[np.float64]:
        if self.system.alchemy is None:
            raise QuiltError("the system has no alchemical atoms: see quiltmd.decouple")
        return np.array(self._read("tensors")[name], dtype=np.float64)

    def collective(self) -> dict[str, CollectiveReading]:
        """Values, centres and energies of collective restraints, by their names."""
        if self.system.collective is None:
            return {}
        values = self._read("tensors")["collective"]
        return {
            one.name: read_collective(one, float(value), self.time, self._conditions)
            for one, value in zip(self.system.collective.restraints, values, strict=True)
        }

    def heat(self) -> float:
        """Energy added by thermostat and barostat, kJ/mol.

        Unlike `energies` it evaluates no forces.
        """
        return float(self._read("heat"))

    def temperature(self) -> float:
        """Kinetic temperature, K; 0 where nothing can move."""
        if self.degrees_of_freedom == 0:
            return 0.0
        return 2 * self.energies()["kinetic"] / (self.degrees_of_freedom * BOLTZMANN)

    def group_temperatures(self) -> NDArray[np.float64]:
        """Kinetic temperature of each group with a heat bath, K; 0 where nothing can move.

        A group has 3 degrees of freedom for each atom with mass, minus its constraints, minus those
        of the centre of mass in proportion to the mass of the group.
        """
        degrees = self.group_degrees_of_freedom()
        twice = self.system.masses * (self.state().velocities ** 2).sum(axis=1)
        sums = np.bincount(self._baths()[1], twice, len(degrees))
        found: NDArray[np.float64] = np.zeros(len(degrees))
        return np.divide(sums, BOLTZMANN * degrees, out=found, where=degrees > 0)

    def density(self) -> float:
        """Mass density, kg/m^3."""
        return float(self.system.masses.sum()) / self._volume * AMU_PER_NM3

    def checkpoint(self, provenance: dict[str, Any] | None = None) -> Checkpoint:
        """The data needed to continue from this step."""
        return Checkpoint(
            self.state(), self.heat(), provenance or {}, external=self._external_states()
        )

    def _external_states(self) -> dict[str, bytes]:
        """States of external forces, by name."""
        return {}

    @property
    def _volume(self) -> float:
        if self.box is None:
            raise QuiltError("without a periodic box there is no volume, so no pressure or density")
        return float(np.prod(np.diag(self.box)))

    def _read(self, what: str) -> Any:
        if what not in self._cache:
            self._cache[what] = self._fetch(what)
        return self._cache[what]

    @abstractmethod
    def _fetch(self, what: str) -> Any:
        """Its "positions", "state", "energies", "tensors", "forces" or "heat"."""


class Frame(Readout):
    """The data of a simulation at the step of the frame.

    It has the data that its reporters need (see `Reporter`); reading other data raises QuiltError.
    It holds device memory: keep the data that it returns, not the frame.
    """

    def __init__(
        self,
        of: Readout,
        captured: Captured,
        heat_before: float,
        forces: NDArray[np.float64] | None = None,
        external: dict[str, bytes] | None = None,
    ) -> None:
        self._external = external or {}
        self.system, self.nonbonded = of.system, of.nonbonded
        self.integrator, self.thermostat = of.integrator, of.thermostat
        self.barostat, self.centre_of_mass = of.barostat, of.centre_of_mass
        self.step = captured.step
        box = captured.box
        self.box = None if box is None else np.asarray(box, dtype=np.float64)
        self._lambdas = of.lambdas
        self._conditions = dict(of._conditions)
        self._taken_at = time.perf_counter()
        self._cache = {} if forces is None else {"forces": forces}
        self._captured = captured
        self._heat_before = heat_before
        self._bath_of_atom = of._bath_of_atom

    def _external_states(self) -> dict[str, bytes]:
        return self._external

    @property
    def lambdas(self) -> dict[str, float]:
        """The lambdas at the step of the frame."""
        return self._lambdas

    def _fetch(self, what: str) -> Any:
        if what == "forces":
            raise QuiltError(f"the frame of step {self.step} was captured without forces")
        return read_from(self._captured, what, self._heat_before)


def read_from(captured: Captured, what: str, heat_before: float) -> Any:
    """Data of a frame, with the heat before the engine began to count."""
    fetched = getattr(captured, what)()
    if what == "state":
        return State(**fetched)
    if what == "energies":
        return _sums(fetched, heat_before)
    return fetched + heat_before if what == "heat" else fetched


def _sums(parts: dict[str, float], heat_before: float) -> dict[str, float]:
    terms = ("lj", "lj14", "coulomb", "coulomb14", "pme", "dispersion", "many-body")
    heat = parts["heat"] + heat_before
    total = parts["potential"] + parts["kinetic"]
    return {
        **parts,
        "nonbonded": sum(parts.get(term, 0.0) for term in terms),
        "total": total,
        "heat": heat,
        "conserved": total - heat,
    }


_Write = TypeVar("_Write", bound=Callable[..., None])


def path_first(write: _Write) -> _Write:
    """Has a function that writes a simulation to a path refuse its arguments in another order."""
    name = write.__name__

    @functools.wraps(write)
    def checked(path: Any, simulation: Any, *rest: Any, **named: Any) -> None:
        if not isinstance(path, str | os.PathLike) or not isinstance(simulation, Readout):
            found = f"{type(path).__name__} and {type(simulation).__name__}"
            raise QuiltError(
                f"{name} takes a path and then a simulation, {name}('file', simulation), not "
                f"{found}"
            )
        write(path, simulation, *rest, **named)

    return cast(_Write, checked)
