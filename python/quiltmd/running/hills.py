# SPDX-License-Identifier: Apache-2.0
"""The hills of metadynamics: added between steps, written to HILLS, and read back on a resume.

A hill is added at steps that are multiples of an interval, from the values of the variables there,
which do not depend on ranks.  Its height is what the file says, so a run that was resumed has the
bits of one that never stopped.  The file has PLUMED's form.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..description.dynamics import heat_bath
from ..description.metadynamics import Metadynamics
from ..description.settings import BOLTZMANN
from ..errors import QuiltError
from ..outputs.files import FileWriter, GrowingFile, Mark
from ..outputs.readout import Readout
from .simulation import Simulation

F64 = npt.NDArray[np.float64]


class Hills(FileWriter):
    """The hills of a simulation, and the file to which they are written.

    Parameters
    ----------
    path:
        The file.
    settings, simulation:
        Settings of metadynamics, and the simulation to which hills are added.
    mark:
        Length and checksum of the file at the checkpoint from which the simulation continues; the
        hills up to this length are added at once.  None: start a new file.
    first:
        Step at which the run began; no hill is added at this step.  By default the present step.

    Raises
    ------
    QuiltError
        If well-tempered metadynamics has no heat bath, or the file is of other variables.
    """

    every = 0  # it reports nothing: hills are added between runs

    def __init__(
        self,
        path: str | os.PathLike[str],
        settings: Metadynamics,
        simulation: Simulation,
        mark: Mark | None = None,
        first: int | None = None,
    ) -> None:
        self.path = Path(path)
        self._settings = settings
        self.variables = settings.variables
        self._axes = settings.axes(simulation.system)
        collective = simulation.system.collective
        assert collective is not None
        self._shown = [collective.named(name).shown for name in settings.variables]
        self._thermal = _thermal(settings, simulation)
        self._rows = np.empty((0, 2 * len(settings.variables) + 3))
        self._last = simulation.step if first is None else first  # step at which none is due
        self._file = GrowingFile.with_header(
            self.path,
            self._header(),
            mark,
            lambda file: self._take_up(simulation, read_hills(path, settings, file.length)),
        )

    def _take_up(self, simulation: Simulation, rows: F64) -> None:
        """Adds earlier hills; the pair lists stay those that the state has, not new ones."""
        state, heat = simulation.state(), simulation.heat()
        self._add(simulation, rows)
        simulation.set_state(state, heat)

    def set_at(self, simulation: Simulation) -> int:
        """Adds the hill of the present step, if one is due; returns the step of the next."""
        every, step = self._settings.every, simulation.step
        if step % every == 0 and step > self._last:
            self._last = step
            self._deposit(simulation)
        return step - step % every + every

    def report(self, frame: Readout, /) -> None:
        """Nothing: hills are added by `set_at`."""

    def _header(self) -> str:
        names = self._settings.variables
        fields = ["time", *names, *(f"sigma_{name}" for name in names), "height", "biasf"]
        lines = (f"FIELDS {' '.join(fields)}", "SET multivariate false", "SET kerneltype gaussian")
        return "".join(f"#! {line}\n" for line in lines)

    def _deposit(self, simulation: Simulation) -> None:
        """Adds a hill where the variables are, and writes it."""
        readings = simulation.collective()
        values = [readings[name].value for name in self._settings.variables]
        height, factor = self._settings.height, self._settings.bias_factor
        if factor is not None:
            height *= math.exp(-self.energy(values) / (self._thermal * (factor - 1)))
            height *= factor / (factor - 1)  # as PLUMED writes it
        inside = np.array([values, self._settings.width]) / self._shown
        row = [simulation.time, *inside.ravel(), height, factor or 1]
        self._file.append((" ".join(repr(float(one)) for one in row) + "\n").encode("ascii"))
        self._add(simulation, np.array([row]))

    def _add(self, simulation: Simulation, rows: F64) -> None:
        self._rows = np.concatenate([self._rows, rows])
        simulation.add_hills(self._axes, _of_core(rows, self._settings))

    def energy(self, values: Sequence[float], before: float = math.inf) -> float:
        """Bias at these values of the variables, from the hills before a time, kJ/mol.

        Values in nm, degrees or contacts; the time in ps.
        """
        count = len(self._settings.variables)
        rows = self._rows[self._rows[:, 0] < before]
        places = [value / shown for value, shown in zip(values, self._shown, strict=True)]
        away = np.array(places) - rows[:, 1 : 1 + count]
        periods = self._axes[:, 1] * self._axes[:, 3]
        away -= np.where(self._axes[:, 4] > 0, periods * np.round(away / periods), 0)
        squares = (away / rows[:, 1 + count : 1 + 2 * count]) ** 2
        heights = _of_core(rows, self._settings)[:, 4]
        return float((heights * np.exp(-0.5 * squares.sum(axis=1))).sum())


def _of_core(rows: F64, settings: Metadynamics) -> F64:
    """(n, 5): two centres and widths, and the height, from rows of HILLS."""
    count, factor = len(settings.variables), settings.bias_factor
    found = np.zeros((len(rows), 5))
    found[:, :count] = rows[:, 1 : 1 + count]
    found[:, 2 : 2 + count] = rows[:, 1 + count : 1 + 2 * count]
    if count == 1:
        found[:, 3] = 1
    scale = 1.0 if factor is None else (factor - 1) / factor
    found[:, 4] = rows[:, 1 + 2 * count] * scale
    return found


def read_hills(
    path: str | os.PathLike[str], settings: Metadynamics, length: int | None = None
) -> F64:
    """The rows of a file HILLS: time (ps), values, widths (nm, rad or contacts), height, biasf.

    Raises
    ------
    QuiltError
        If the file has other variables, or a row that is incomplete.
    """
    lines = Path(path).read_bytes()[:length].decode("ascii", "replace").splitlines()
    wanted = len(settings.variables) * 2 + 3
    rows = []
    for number, line in enumerate(lines, 1):
        words = line.split()
        if (
            words[:2] == ["#!", "FIELDS"]
            and tuple(words[3 : 3 + len(settings.variables)]) != settings.variables
        ):
            raise QuiltError(
                f"{path}: the variables of this file are not {', '.join(settings.variables)}"
            )
        if not words or words[0].startswith("#"):
            continue
        try:
            values = [float(word) for word in words]
        except ValueError:
            values = []
        if len(values) != wanted:
            raise QuiltError(f"{path}, line {number}: expected a hill of {wanted} numbers")
        rows.append(values)
    return np.array(rows).reshape(-1, wanted)


def _thermal(settings: Metadynamics, simulation: Readout) -> float:
    """kT, kJ/mol, of well-tempered metadynamics."""
    if settings.bias_factor is None:
        return 0.0
    bath = heat_bath(simulation.integrator, simulation.thermostat)
    if bath is None or not isinstance(bath.temperature, int | float) or bath.temperature <= 0:
        raise QuiltError("well-tempered metadynamics needs one heat bath, above 0 K")
    return BOLTZMANN * float(bath.temperature)
