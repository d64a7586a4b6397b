# SPDX-License-Identifier: Apache-2.0
"""Values of collective restraints, and the work of those that move, written during a run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from ..description.checks import whole_number
from ..description.collective import CollectiveReading, read_collective
from ..errors import QuiltError
from .files import FileWriter, GrowingFile, Mark
from .readout import Readout
from .reporters import Need

_LAST_ROW = 65536  # bytes at the end of a file in which its last row is looked for


class Bias(Protocol):
    """A bias of collective variables."""

    variables: tuple[str, ...]

    def energy(self, values: Sequence[float], before: float) -> float:
        """The energy of a point, of what was added before a time, ps."""


class CollectiveReporter(FileWriter):
    """Collective restraints as rows of a CSV file.

    Columns: step; time, ps; then of each restraint NAME, its value (nm, degrees or contacts),
    NAME_centre (its reference value), NAME_energy (kJ/mol), and, if the reference value follows a
    path, NAME_work: the work of moving it since the first row (kJ/mol), the integral of the force
    on it over its path by the trapezoidal rule from row to row.

    Parameters
    ----------
    path:
        The file.
    every:
        Steps between rows.
    simulation:
        Whose rows are written.
    after, mark:
        As for `LogReporter`: a step, and how far the file had been written then; None starts a new
        file.

    bias:
        The hills of metadynamics: the column bias (kJ/mol) is the energy of those before the step.

    Raises
    ------
    QuiltError
        If the system has no collective restraints.
    """

    needs: tuple[Need, ...] = ("energies",)

    def __init__(
        self,
        path: str | os.PathLike[str],
        every: int,
        simulation: Readout,
        after: int | None = None,
        mark: Mark | None = None,
        bias: Bias | None = None,
    ) -> None:
        self.path = Path(path)
        self.every = whole_number("every", every)
        if simulation.system.collective is None:
            raise QuiltError(f"{self.path}: the system has no collective restraints")
        if after is not None and mark is None:
            raise QuiltError(
                f"{self.path}: give the mark of the file (from the checkpoint) to continue it"
            )
        restraints = simulation.system.collective.restraints
        self._moving = [one for one in restraints if one.moves]
        self._columns = ["step", "time"]
        for one in restraints:
            self._columns += [one.name, f"{one.name}_centre", f"{one.name}_energy"]
            self._columns += [f"{one.name}_work"] * one.moves
        self._columns += ["bias"] * (bias is not None)
        self._bias = bias
        self._work = {one.name: 0.0 for one in self._moving}
        self._before: dict[str, CollectiveReading] = {}
        header = ",".join(self._columns) + "\n"
        self._file = GrowingFile.with_header(
            self.path, header, mark, lambda file: self._take_up(file, simulation)
        )

    def _take_up(self, file: GrowingFile, simulation: Readout) -> None:
        """Takes the work so far, and readings, from the last row."""
        begin = max(0, file.length - _LAST_ROW)
        last = file.read(begin, file.length - begin).decode("ascii").splitlines()[-1]
        row = dict(zip(self._columns, last.split(","), strict=True))
        if row["step"] == "step":
            return
        time = int(row["step"]) * simulation.integrator.timestep
        for one in self._moving:
            value = float(row[one.name]) / one.shown
            self._before[one.name] = read_collective(one, value, time, simulation._conditions)
            self._work[one.name] = float(row[f"{one.name}_work"])

    def report(self, frame: Readout, /) -> None:
        """Writes a row."""
        now = frame.collective()
        texts = [str(frame.step), f"{frame.time:.6f}"]
        for name, reading in now.items():
            texts += [repr(reading.value), f"{reading.centre:.9g}", f"{reading.energy:.6f}"]
            if name in self._work:
                self._work[name] += _work(self._before.get(name, reading), reading)
                texts.append(repr(self._work[name]))
        self._before = now
        if self._bias is not None:
            values = [now[name].value for name in self._bias.variables]
            texts.append(f"{self._bias.energy(values, frame.time):.6f}")
        self._file.append((",".join(texts) + "\n").encode("ascii"))


def _work(before: CollectiveReading, now: CollectiveReading) -> float:
    return -0.5 * (before.slope + now.slope) * (now.centre - before.centre)
