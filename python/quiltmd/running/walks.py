# SPDX-License-Identifier: Apache-2.0
"""Runs that change their alchemical state at steps that are multiples of an interval.

The step number and a table, which the checkpoint marks, say in which state a run is, so a run that
was resumed has the bits of one that never stopped.  Energies of states and random numbers do not
depend on ranks, and so neither do states nor work.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..description.alchemy import Alchemy
from ..description.checks import LAST_STEP
from ..description.settings import BOLTZMANN
from ..description.system import System
from ..errors import QuiltError
from ..outputs.checkpoint import Checkpoint
from ..outputs.files import FileWriter, GrowingFile, Mark, read_file, reading
from ..outputs.free_energy import bath_temperature
from ..outputs.readout import Readout
from .config import Config
from .folder import Folder
from .simulation import Simulation
from .walk_sections import ExpandedSection, SwitchingSection

F64 = npt.NDArray[np.float64]
_STREAM = 2  # last word of the counters of random numbers; 1 is that of derived seeds


class Walk(FileWriter):
    """What changes the state of a simulation, and the table of its changes.

    Parameters
    ----------
    path:
        The table.
    simulation:
        The simulation that changes its state.
    mark:
        Length and checksum of the table at the checkpoint from which the simulation continues; it
        is in the state that the table says (`in_last_state`).  None: start a new file.
    """

    every = 0  # it reports nothing: states change between runs

    def __init__(
        self, path: str | os.PathLike[str], simulation: Simulation, mark: Mark | None = None
    ) -> None:
        self.path = Path(path)
        alchemy = simulation.system.alchemy
        if alchemy is None:
            raise QuiltError(f"{self.path}: the system has no alchemical atoms")
        self._alchemy: Alchemy = alchemy
        header = ",".join(self._columns()) + "\n"
        self._file = GrowingFile.with_header(
            self.path,
            header,
            mark,
            lambda file: self._take_up(_last_row(file.read(0, file.length))),
        )

    def report(self, frame: Readout, /) -> None:
        """Nothing: states change in `set_at`."""

    @abstractmethod
    def set_at(self, simulation: Simulation) -> int:
        """Makes the change that is due at the present step; returns the step of the next."""

    @property
    @abstractmethod
    def state(self) -> int:
        """The state of the simulation, counted from 0."""

    @abstractmethod
    def _columns(self) -> list[str]:
        """Names of the columns of the table."""

    @abstractmethod
    def _take_up(self, row: Sequence[str] | None) -> None:
        """Continues after the last row of the table."""

    def _enter(self, simulation: Simulation, state: int) -> None:
        conditions: dict[str, Any] = self._alchemy.state(state)
        simulation.set_conditions(**conditions)

    def _write(self, row: Sequence[int | float]) -> None:
        texts = [repr(float(one)) if isinstance(one, float) else str(int(one)) for one in row]
        self._file.append((",".join(texts) + "\n").encode("ascii"))


class Switching(Walk):
    """Goes through all states in order, in one direction, and sums up the work.

    The work of a change is the potential energy in the new state less that in the old one, at the
    same positions.

    Parameters
    ----------
    path, simulation, mark:
        As for `Walk`.
    section:
        Direction and steps in each state.
    first:
        Step at which the run began.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        simulation: Simulation,
        section: SwitchingSection,
        mark: Mark | None = None,
        first: int = 0,
    ) -> None:
        alchemy = simulation.system.alchemy
        count = 0 if alchemy is None else len(alchemy.states)
        order = range(count)
        self._order = order if section.direction == "forwards" else order[::-1]
        self._begin, self._every = first + section.equilibration, section.every
        self._done = 0  # changes
        self.work = 0.0  # kJ/mol
        super().__init__(path, simulation, mark)

    @property
    def state(self) -> int:
        """The state of the simulation, counted from 0."""
        return self._order[self._done]

    def set_at(self, simulation: Simulation) -> int:
        """Makes the change that is due at the present step; returns the step of the next."""
        if self._done + 1 < len(self._order) and simulation.step == self._next():
            new = self._order[self._done + 1]
            change = float(simulation.state_energies()[new])
            self._done += 1
            self.work += change
            self._write([simulation.step, simulation.time, new, change, self.work])
            self._enter(simulation, new)
        return self._next() if self._done + 1 < len(self._order) else LAST_STEP

    def _next(self) -> int:
        return self._begin + self._done * self._every

    def _columns(self) -> list[str]:
        return ["step", "time", "state", "change", "work"]

    def _take_up(self, row: Sequence[str] | None) -> None:
        if row is not None:
            self._done = self._order.index(int(row[2]))
            self.work = float(row[4])


@dataclass(frozen=True)
class Weights:
    """Weights of the states of an expanded ensemble, and how Wang-Landau changes them.

    Attributes
    ----------
    values:
        (K,) kJ/mol.
    visits:
        (K,) since the increment was last reduced.
    increment:
        kT; 0 where the weights stay fixed.
    """

    values: F64
    visits: npt.NDArray[np.int64]
    increment: float

    def visited(self, state: int, section: ExpandedSection, thermal: float) -> Weights:
        """After a visit of a state (Wang and Landau, Phys. Rev. Lett. 86, 2050 (2001))."""
        if self.increment == 0:
            return self
        values, visits = self.values.copy(), self.visits.copy()
        values[state] -= self.increment * thermal
        visits[state] += 1
        values -= values[0]
        if visits.min() < section.flatness * visits.mean():
            return Weights(values, visits, self.increment)
        smaller = self.increment * section.scale
        return Weights(values, 0 * visits, smaller if smaller >= section.last_increment else 0.0)


def next_state(
    now: int, energies: F64, weights: F64, thermal: float, draws: Sequence[float]
) -> int:
    """The state after a Metropolised Gibbs move (Liu; Chodera and Shirts 2011, section II.C).

    Another state is proposed with its probability among all others, and accepted by a ratio that
    makes the probability of each state proportional to exp((weight - energy) / kT).

    Parameters
    ----------
    now:
        The present state.
    energies, weights:
        (K,) kJ/mol.
    thermal:
        kT, kJ/mol.
    draws:
        Two random numbers from 0 to below 1.
    """
    exponents = (weights - energies) / thermal
    with np.errstate(over="ignore"):  # where the present state is far more likely than others
        likely = np.exp(exponents - np.delete(exponents, now).max())
    others = likely.copy()
    others[now] = 0
    total = others.sum()
    proposed = int(np.searchsorted(np.cumsum(others), draws[0] * total, side="right"))
    proposed = min(proposed, int(np.flatnonzero(others)[-1]))
    rest = np.delete(likely, proposed).sum()  # all but the proposed one
    return proposed if draws[1] * rest < total else now


class ExpandedEnsemble(Walk):
    """Moves between all states at random; weights are given, or found by Wang-Landau.

    Parameters
    ----------
    path, simulation, mark:
        As for `Walk`.
    section:
        Interval and weights.
    start:
        State at the beginning.
    seed:
        Of the random numbers of the moves.
    first:
        Step at which the run began, where no move is made.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        simulation: Simulation,
        section: ExpandedSection,
        mark: Mark | None = None,
        start: int = 0,
        seed: int = 0,
        first: int = 0,
    ) -> None:
        alchemy = simulation.system.alchemy
        count = 0 if alchemy is None else len(alchemy.states)
        values = np.array(section.weights or [0.0] * count)
        self.weights = Weights(values, np.zeros(count, np.int64), section.increment)
        self._section, self._seed, self._first, self._state = section, seed, first, start
        self._thermal = BOLTZMANN * bath_temperature(simulation, "an expanded ensemble")
        self._done = -1  # step of the last move
        super().__init__(path, simulation, mark)

    @property
    def state(self) -> int:
        """The state of the simulation, counted from 0."""
        return self._state

    def set_at(self, simulation: Simulation) -> int:
        """Makes the move that is due at the present step; returns the step of the next."""
        every, step = self._section.every, simulation.step
        if step % every == 0 and step > max(self._first, self._done):
            self._done = step
            self._move(simulation)
        return step - step % every + every

    def _move(self, simulation: Simulation) -> None:
        raw = np.random.Philox(key=self._seed, counter=[simulation.step, 0, 0, _STREAM])
        draws = (raw.random_raw(2) >> np.uint64(11)) * 2.0**-53
        energies = simulation.state_energies()
        new = next_state(self._state, energies, self.weights.values, self._thermal, draws.tolist())
        self.weights = self.weights.visited(new, self._section, self._thermal)
        found = self.weights
        row = [simulation.step, simulation.time, new, float(found.increment)]
        self._write([*row, *found.visits.tolist(), *found.values.tolist()])
        if new != self._state:
            self._state = new
            self._enter(simulation, new)

    def _columns(self) -> list[str]:
        states = range(len(self._alchemy.states))
        names = [f"{what}_{k}" for what in ("visits", "weight") for k in states]
        return ["step", "time", "state", "increment", *names]

    def _take_up(self, row: Sequence[str] | None) -> None:
        if row is None:
            return
        count = len(self._alchemy.states)
        visits = np.array([int(one) for one in row[4 : 4 + count]])
        values = np.array([float(one) for one in row[4 + count :]])
        self._done, self._state = int(row[0]), int(row[2])
        self.weights = replace(self.weights, values=values, visits=visits, increment=float(row[3]))


def _last_row(table: bytes) -> list[str] | None:
    lines = table.decode("ascii", "replace").splitlines()
    return lines[-1].split(",") if len(lines) > 1 else None


def in_last_state(config: Config, folder: Folder, system: System, resumed: Checkpoint) -> System:
    """The system of a run that is resumed, in the state in which it was at the checkpoint."""
    for path in (folder.work, folder.moves):
        mark = resumed.outputs.get(path.name)
        if mark is None or config.alchemy is None or system.alchemy is None:
            continue
        with reading(path):
            row = _last_row(read_file(path, mark.length))
        if row is not None:
            start = system.alchemy.states[int(row[2])]
            return replace(system, alchemy=replace(system.alchemy, start=start))
    return system


def make_walk(
    config: Config, folder: Folder, simulation: Simulation, resumed: Checkpoint | None
) -> Walk | None:
    """What changes the state in a run, if anything does."""
    section = config.alchemy
    if section is None or not (section.switching or section.expanded):
        return None
    outputs = {} if resumed is None else resumed.outputs
    first = config.run.first_step
    if section.switching is not None:
        mark = outputs.get(folder.work.name)
        return Switching(folder.work, simulation, section.switching, mark, first)
    assert section.expanded is not None
    seed = config.integrator.seed
    assert seed is not None
    path, mark = folder.moves, outputs.get(folder.moves.name)
    return ExpandedEnsemble(path, simulation, section.expanded, mark, section.state, seed, first)
