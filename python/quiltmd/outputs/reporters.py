# SPDX-License-Identifier: Apache-2.0
"""Reporters: energy log, trajectory and checkpoints, written during a run.

Every reporter can start a new file or continue one after a checkpoint, which removes what was
written after the checkpoint's step, so that nothing is ever there twice.  A checkpoint's marks tell
whether a file is the one that the run wrote.  Log rows are plain CSV: a million rows are still
small, and every tool reads them.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ..description.checks import real_number, whole_number
from ..description.selection import select
from ..errors import QuiltError
from .checkpoint import write_checkpoint
from .files import FileWriter, GrowingFile, Mark, writing
from .formats import check_contents, open_trajectory
from .readout import Readout
from .trajectory import Layout, Snapshot, TrajectoryWriter
from .wrapping import MoleculeUnwrapper, MoleculeWrapper

LOG_COLUMNS = (
    "step",
    "time",
    "potential",
    "kinetic",
    "total",
    "conserved",
    "temperature",
    "pressure",
    "density",
)
BOX_COLUMNS = ("a_x", "b_x", "b_y", "c_x", "c_y", "c_z")
LOG_SPEED = "ns/day"
_DAY = 86400.0


def group_column(number: int) -> str:
    """The column of a log with the temperature of a group that has a heat bath, from 1."""
    return f"temperature_{number}"


Need = Literal["energies", "positions", "state", "forces"]
_Place = Callable[[NDArray[np.float64], NDArray[np.float64] | None], NDArray[np.float64]]
_Opened = tuple[TrajectoryWriter, Any, _Place | None]  # with the atoms that are written


class Reporter(Protocol):
    """An object that is called at multiples of `every` steps; 0: never.

    It may also have the attribute `needs`, the data that it reads: some of "energies" (with the
    virial), "positions", "state" (which has the positions) and "forces", for which the simulation
    waits; other data are then not copied from the device.  Without it, the frame has all but
    forces.  If it has a method `holds`, the run asks before each stretch and waits while it returns
    True.  `every` may change during a run.
    """

    @property
    def every(self) -> int:
        """Steps between reports."""

    def report(self, frame: Readout, /) -> None:
        """Reports on the simulation as it was at `frame.step`.

        Called in a separate thread, after earlier reports, while the simulation may have advanced
        further; it must not run or change the simulation.
        """


class LogReporter(FileWriter):
    """Writes energies, pressure and speed as rows of a CSV file.

    Columns: step; time, ps; potential, kinetic, total and conserved energy (total minus the heat
    added by thermostat and barostat), kJ/mol; temperature, K; pressure, bar; density, kg/m^3; then,
    if requested, terms of the energy and the box; finally the speed since the previous row, ns/day
    (0 in the first row).

    Parameters
    ----------
    path:
        The file.
    every:
        Steps between rows.
    after:
        None: start a new file; a step: continue an existing file, without the rows after this step.
    mark:
        From the checkpoint at that step: length and checksum of the file; a file that is shorter or
        ends differently is refused.
    terms:
        Further energies to write, by their names in `Readout.energies` ("bond", "pme");
        `Readout.terms` has all.
    box:
        Whether to write the box: a_x, b_x, b_y, c_x, c_y, c_z, nm; the other components are zero.
    groups:
        Number of groups with separate heat baths: columns temperature_1, ..., K, after the terms.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        every: int,
        after: int | None = None,
        mark: Mark | None = None,
        *,
        terms: Sequence[str] = (),
        box: bool = False,
        groups: int = 0,
    ) -> None:
        self.path = Path(path)
        self.every = whole_number("every", every)
        self._terms, self._box, self._groups = tuple(terms), box, groups
        self.needs: tuple[Need, ...] = ("energies", "state") if groups else ("energies",)
        of_groups = tuple(group_column(number) for number in range(1, groups + 1))
        of_box = BOX_COLUMNS if box else ()
        header = ",".join((*LOG_COLUMNS, *self._terms, *of_groups, *of_box, LOG_SPEED))
        self._mark: tuple[int, float] | None = None
        new = after is None or (mark is not None and mark.length == 0)
        self._file = GrowingFile(self.path, new)
        try:
            if new or after is None:
                self._write(header)
            elif mark is not None:
                self._file.carry_on(mark.length, mark.tail)
            else:
                self._file.carry_on(_end_of_row(self._file, header, after, every))
        except BaseException:
            self._file.close()
            raise

    def start_clock(self, now: Readout) -> None:
        """Starts the clock for the speed in the next row."""
        self._mark = (now.step, now.clock)

    def report(self, frame: Readout, /) -> None:
        """Writes a row."""
        energies = frame.energies()
        values = [energies[name] for name in ("potential", "kinetic", "total", "conserved")]
        texts = [f"{value:.6f}" for value in (frame.time, *values)]
        volume = frame.box is not None
        pressure, density = (frame.pressure(), frame.density()) if volume else (math.nan, math.nan)
        state = (frame.temperature(), pressure, density)
        texts += [f"{value:.4f}" for value in state]
        texts += [f"{energies[name]:.6f}" for name in self._terms]
        if self._groups:
            texts += [f"{value:.4f}" for value in frame.group_temperatures()]
        if self._box:
            box = np.full((3, 3), math.nan) if frame.box is None else frame.box
            texts += [f"{value:.6f}" for value in box[np.tril_indices(3)]]
        self._write(f"{frame.step},{','.join(texts)},{self._speed(frame):.4g}")
        self.start_clock(frame)

    def _write(self, row: str) -> None:
        self._file.append(f"{row}\n".encode("ascii"))

    def _speed(self, frame: Readout) -> float:
        if self._mark is None:
            return 0.0
        step, begin = self._mark
        nanoseconds = (frame.step - step) * frame.integrator.timestep * 1e-3
        return nanoseconds * _DAY / max(frame.clock - begin, 1e-9)


class TrajectoryReporter:
    """Writes the frames of a trajectory; molecules are whole.

    Parameters
    ----------
    path:
        The file; its suffix names the format: .dcd, .xtc, .nc (NetCDF by Amber's conventions),
        .h5md.
    every:
        Steps between frames; the first is of step `every`.
    simulation:
        The simulation whose atoms are written; without it the file is opened at the first report.
    after:
        None: start a new file; a step: continue an existing file, without the frames after this
        step.
    mark:
        As for `LogReporter`.
    select:
        The atoms to write: a selection, as for `quiltmd.select`.
    center:
        A selection that is kept in the middle of the cell; None: the cell begins at the origin.
    wrap:
        Whether whole molecules are shifted so that their centres are in the cell.  False: molecules
        are followed across periodic boundaries, as needed for diffusion; changes of the box do not
        displace them (`MoleculeUnwrapper`), so each frame depends on the previous ones.
    velocities, forces:
        Whether frames contain them (.nc, .h5md).
    precision:
        Resolution of positions, nm, for .xtc (0.001).
    carried:
        When an existing file is continued: the value of `carried` at the checkpoint.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        every: int,
        simulation: Readout | None = None,
        after: int | None = None,
        mark: Mark | None = None,
        *,
        select: str = "all",
        center: str | None = None,
        wrap: bool = True,
        velocities: bool = False,
        forces: bool = False,
        precision: float | None = None,
        carried: NDArray[np.float64] | None = None,
    ) -> None:
        self.path = Path(path)
        self.every = whole_number("every", every)
        self.needs: tuple[Need, ...] = ("state" if velocities else "positions",)
        self.needs += ("forces",) if forces else ()
        if precision is not None:
            precision = real_number("precision", precision, "nm")
        check_contents(self.path.name, velocities, forces, precision)
        if center is not None and not wrap:
            raise QuiltError(f"{self.path.name}: center needs wrap = true")
        self._after, self._mark, self._before = after, mark, carried
        self._select, self._center, self._wrap = select, center, wrap
        self._velocities, self._forces, self._precision = velocities, forces, precision
        self._unwrapper: MoleculeUnwrapper | None = None
        self._opened = None if simulation is None else self._open(simulation)

    def report(self, frame: Readout, /) -> None:
        """Writes a frame."""
        if self._opened is None:
            self._opened = self._open(frame)
        writer, atoms, place = self._opened
        positions = frame.positions()
        if place is not None:
            positions = place(positions, frame.box)
        snapshot = Snapshot(
            frame.step,
            frame.time,
            frame.box,
            positions[atoms],
            frame.state().velocities[atoms] if self._velocities else None,
            frame.forces()[atoms] if self._forces else None,
        )
        with writing(self.path):
            writer.write(snapshot)

    def sync(self) -> None:
        """Returns when all frames are on the disk; QuiltError if the file was removed."""
        if self._opened is not None:
            self._opened[0].sync()

    def mark(self) -> Mark:
        """Length and checksum of the file now."""
        if self._opened is None:
            raise QuiltError(
                f"{self.path}: a trajectory that checkpoints rely on needs its `simulation` from "
                "the start"
            )
        return self._opened[0].mark()

    @property
    def carried(self) -> NDArray[np.float64] | None:
        """The data besides the state on which the next frame depends; None: none."""
        return None if self._unwrapper is None else self._unwrapper.carried

    def close(self) -> None:
        """Closes the file; one without frames is removed."""
        if self._opened is not None:
            self._opened[0].close()

    def _open(self, simulation: Readout) -> _Opened:
        system = simulation.system
        atoms: Any = slice(None)
        count = system.atoms
        if self._select != "all":
            atoms = select(system, self._select)
            count = len(atoms)
        layout = Layout(
            count,
            self.every,
            simulation.integrator.timestep,
            self._velocities,
            self._forces,
            self._precision,
        )
        writer = open_trajectory(self.path, layout, self._after, self._mark)
        return writer, atoms, self._place(simulation, writer.frames > 0)

    def _place(self, simulation: Readout, goes_on: bool) -> _Place | None:
        """Function that places molecules; None: positions of the engine."""
        system = simulation.system
        if self._wrap:
            middle = None if self._center is None else select(system, self._center)
            return MoleculeWrapper(system.molecules, middle).wrap
        if simulation.barostat is None:
            return None
        if goes_on and self._before is None:
            raise QuiltError(
                f"{self.path}: unwrapped frames with a barostat depend on earlier frames: to "
                f"continue the file, give the `carried` of its reporter, which checkpoints of a "
                f"run contain"
            )
        self._unwrapper = MoleculeUnwrapper(system.molecules, self._before if goes_on else None)
        return self._unwrapper.unwrap


class Output(Reporter, Protocol):
    """A file that a resumed run goes on with."""

    path: Path

    def sync(self) -> None:
        """Returns when all of it is on the disk."""

    def mark(self) -> Mark:
        """Length and checksum of the file now."""

    def close(self) -> None:
        """Closes it."""


class CheckpointReporter:
    """Writes checkpoints, after the outputs that they refer to.

    The reporter must come after these outputs.  It syncs them before it writes a checkpoint, so
    that rows and frames up to the step of a checkpoint are on disk before the checkpoint.

    Parameters
    ----------
    path:
        The file; the previous checkpoint is kept with the suffix `.prev`.
    every:
        Steps between checkpoints.
    relies_on:
        Outputs that a resumed run will continue.
    provenance:
        Stored in the checkpoint, and compared on resume.
    """

    needs: tuple[Need, ...] = ("state",)

    def __init__(
        self,
        path: str | os.PathLike[str],
        every: int,
        relies_on: Sequence[Output] = (),
        provenance: dict[str, Any] | None = None,
    ) -> None:
        self.path = Path(path)
        self.every = whole_number("every", every)
        self.last_step: int | None = None
        self.written_at = time.monotonic()
        self._relies_on = relies_on
        self._provenance = provenance or {}

    def report(self, frame: Readout, /) -> None:
        """Writes a checkpoint."""
        for output in self._relies_on:
            output.sync()
        marks = {output.path.name: output.mark() for output in self._relies_on}
        frames = [one for one in self._relies_on if isinstance(one, TrajectoryReporter)]
        carried = {one.path.name: found for one in frames if (found := one.carried) is not None}
        checkpoint = replace(frame.checkpoint(self._provenance), outputs=marks, carried=carried)
        with writing(self.path):
            write_checkpoint(self.path, checkpoint)
        self.last_step = frame.step
        self.written_at = time.monotonic()


class FunctionReporter:
    """A reporter that calls a function with the frame.

    Parameters
    ----------
    function:
        Called with a `Readout`, the data of the simulation at the step of the report.
    every:
        Steps between calls.
    needs:
        The data that the function reads: some of "energies", "positions", "state" and "forces"; see
        `Reporter`.
    """

    def __init__(
        self,
        function: Callable[[Readout], object],
        every: int,
        needs: Sequence[Need] = ("energies", "state"),
    ) -> None:
        self.every = whole_number("every", every)
        self.needs = tuple(needs)
        self._function = function

    def report(self, frame: Readout, /) -> None:
        """Calls the function."""
        self._function(frame)


def _end_of_row(file: GrowingFile, columns: str, step: int, every: int) -> int:
    """End of the last row up to `step`; an incomplete row does not count."""
    header, *rows = file.read(0, file.size()).split(b"\n")[:-1] or [b""]
    if header.rstrip().decode("ascii", "replace") != columns:
        raise QuiltError(f"{file.path}: not a log that this run wrote")
    end, last = len(header) + 1, -1.0
    for row in rows:
        if _step_of(row) > step:
            break
        end, last = end + len(row) + 1, _step_of(row)
    if last < step - step % every:
        raise QuiltError(
            f"{file.path}: the row of step {step - step % every} is missing; rows were lost, so "
            "the run cannot be continued"
        )
    return end


def _step_of(line: bytes) -> float:
    """The step of a row; of a damaged row, a step later than any."""
    first = line.split(b",", 1)[0]
    return int(first) if first.isdigit() else float("inf")
