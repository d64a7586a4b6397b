# SPDX-License-Identifier: Apache-2.0
"""Outputs of a run: log, tables, trajectories, and reporters of the user."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from itertools import chain
from pathlib import Path

from ..lammps.thermo import ThermoReporter
from ..outputs.checkpoint import Checkpoint
from ..outputs.collective import CollectiveReporter
from ..outputs.files import Mark
from ..outputs.free_energy import StateEnergyReporter
from ..outputs.reporters import (
    CheckpointReporter,
    LogReporter,
    Output,
    Reporter,
    TrajectoryReporter,
)
from ..outputs.structures import pdb_limit, write_cif, write_pdb
from .config import Config
from .folder import Folder
from .hills import Hills
from .progress import say
from .simulation import Simulation
from .stopping import Stopping


def open_outputs(
    config: Config,
    folder: Folder,
    simulation: Simulation,
    hills: Hills | None,
    resumed: Checkpoint | None,
    stack: ExitStack,
) -> list[Output]:
    """Log, tables, and trajectories; continued where a run is resumed."""
    outputs: list[Output] = []
    for output in chain(
        _logs(config, folder, simulation, hills, resumed),
        _state_energies(config, folder, simulation, resumed),
        _trajectories(config, folder, simulation, resumed),
    ):
        stack.callback(output.close)
        outputs.append(output)
    return outputs


def _logs(
    config: Config,
    folder: Folder,
    simulation: Simulation,
    hills: Hills | None,
    resumed: Checkpoint | None,
) -> Iterator[Output]:
    """Tables at the interval of the log."""
    output, every = config.output, config.output.log_every
    after, marks = _end_of(resumed)
    if not every:
        return
    log = LogReporter(
        folder.log,
        every,
        after,
        marks.get(folder.log.name),
        terms=simulation.terms() if output.log_terms else (),
        box=output.log_box,
        groups=len(config.bath),
    )
    log.start_clock(simulation)
    yield log
    if output.thermo is not None:
        yield ThermoReporter(folder.thermo, every, output.thermo, marks.get(folder.thermo.name))
    if simulation.system.collective is not None:
        path = folder.collective
        yield CollectiveReporter(path, every, simulation, after, marks.get(path.name), hills)


def _state_energies(
    config: Config, folder: Folder, simulation: Simulation, resumed: Checkpoint | None
) -> Iterator[Output]:
    """Energies of alchemical states."""
    alchemy = config.alchemy
    if alchemy is None or alchemy.switching is not None:
        return
    after, marks = _end_of(resumed)
    walks = alchemy.expanded is not None
    for path in folder.states:
        mark = marks.get(path.name)
        yield StateEnergyReporter(path, alchemy.every, simulation, after, mark, walks)


def _trajectories(
    config: Config, folder: Folder, simulation: Simulation, resumed: Checkpoint | None
) -> Iterator[Output]:
    after, marks = _end_of(resumed)
    for name, section in config.trajectories().items():
        yield TrajectoryReporter(
            folder.path / name,
            section.every,
            simulation,
            after,
            marks.get(name),
            **section.model_dump(exclude={"file", "every"}),
            carried=None if resumed is None else resumed.carried.get(name),
        )


def _end_of(resumed: Checkpoint | None) -> tuple[int | None, dict[str, Mark]]:
    """The step after which a resumed run continues, and the ends of its files by name."""
    return (None, {}) if resumed is None else (resumed.state.step, resumed.outputs)


def make_reporters(
    config: Config,
    folder: Folder,
    simulation: Simulation,
    resumed: Checkpoint | None,
    stack: ExitStack,
) -> list[Reporter]:
    """Reporters of [[reporter]]; those with a method `close` are closed at the end."""
    after = None if resumed is None else resumed.state.step
    made = []
    for section in config.reporter:
        made.append(section.make(simulation, folder.path, after))
        if callable(close := getattr(made[-1], "close", None)):
            stack.callback(close)
    return made


def serve_viewers(
    config: Config, folder: Folder, simulation: Simulation, stopping: Stopping, stack: ExitStack
) -> list[Reporter]:
    """The reporter that streams frames to viewers, if there is one; closed at the end.

    First it writes a structure of the atoms that are streamed, which receivers need.
    """
    if config.imd is None:
        return []
    structure = _write_structure(folder.stream, simulation, config.imd.select)
    on_stop = partial(stopping.ask, "a viewer asked for it")
    server = config.imd.serve(simulation, on_stop, say)
    stack.callback(server.close)
    say(f"{server.introduction()}; {structure.name} has their atoms")
    return [server]


def write_selected(config: Config, folder: Folder, simulation: Simulation) -> None:
    """Writes, for each trajectory of some atoms, a structure of these atoms."""
    for name, section in config.trajectories().items():
        if section.select != "all":
            _write_structure(folder.path / name, simulation, section.select)


def _write_structure(name: Path, simulation: Simulation, select: str) -> Path:
    """Writes a structure of some atoms as PDB where they fit, else as mmCIF; returns its path."""
    fits = pdb_limit(simulation, select) is None
    path = name.with_name(f"{name.name}.{'pdb' if fits else 'cif'}")
    (write_pdb if fits else write_cif)(path, simulation, select)
    return path


def first_reports(
    outputs: list[Output], checkpoints: CheckpointReporter, simulation: Simulation
) -> None:
    """Rows of step 0 of the tables, and a checkpoint to fall back on from the very start."""
    for output in outputs:
        if not isinstance(output, TrajectoryReporter):
            output.report(simulation)
    checkpoints.report(simulation)
