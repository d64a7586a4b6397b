# SPDX-License-Identifier: Apache-2.0
"""Outputs of a run: log, tables, trajectories, and reporters of the user."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

from ..lammps.thermo import ThermoReporter
from ..outputs.checkpoint import Checkpoint
from ..outputs.collective import CollectiveReporter
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
    output = config.output
    after = None if resumed is None else resumed.state.step
    marks = {} if resumed is None else resumed.outputs
    outputs: list[Output] = []
    if output.log_every:
        terms = simulation.terms() if output.log_terms else ()
        mark = marks.get(folder.log.name)
        log = LogReporter(
            folder.log,
            output.log_every,
            after,
            mark,
            terms=terms,
            box=output.log_box,
            groups=len(config.bath),
        )
        log.start_clock(simulation)
        stack.callback(log.close)
        outputs.append(log)
    if output.log_every and output.thermo is not None:
        mark = marks.get(folder.thermo.name)
        thermo = ThermoReporter(folder.thermo, output.log_every, output.thermo, mark)
        stack.callback(thermo.close)
        outputs.append(thermo)
    if output.log_every and simulation.system.collective is not None:
        path = folder.collective
        values = CollectiveReporter(
            path, output.log_every, simulation, after, marks.get(path.name), hills
        )
        stack.callback(values.close)
        outputs.append(values)
    if config.alchemy is not None and config.alchemy.switching is None:
        every = config.alchemy.every
        for path in folder.states:
            walks = config.alchemy.expanded is not None
            states = StateEnergyReporter(
                path, every, simulation, after, marks.get(path.name), walks
            )
            stack.callback(states.close)
            outputs.append(states)
    for name, section in config.trajectories().items():
        frames = TrajectoryReporter(
            folder.path / name,
            section.every,
            simulation,
            after,
            marks.get(name),
            **section.model_dump(exclude={"file", "every"}),
            carried=None if resumed is None else resumed.carried.get(name),
        )
        stack.callback(frames.close)
        outputs.append(frames)
    return outputs


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
    config: Config, simulation: Simulation, stopping: Stopping, stack: ExitStack
) -> list[Reporter]:
    """The reporter that streams frames to viewers, if there is one; closed at the end."""
    if config.imd is None:
        return []
    on_stop = partial(stopping.ask, "a viewer asked for it")
    server = config.imd.serve(simulation, on_stop, say)
    stack.callback(server.close)
    say(server.introduction())
    return [server]


def write_selected(config: Config, folder: Folder, simulation: Simulation) -> None:
    """Writes, for each trajectory of some atoms, a structure of these atoms."""
    for name, section in config.trajectories().items():
        if section.select == "all":
            continue
        fits = pdb_limit(simulation, section.select) is None
        path = folder.path / f"{name}.{'pdb' if fits else 'cif'}"
        (write_pdb if fits else write_cif)(path, simulation, section.select)


def first_reports(
    outputs: list[Output], checkpoints: CheckpointReporter, simulation: Simulation
) -> None:
    """Rows of step 0 of the tables, and a checkpoint to fall back on from the very start."""
    for output in outputs:
        if not isinstance(output, TrajectoryReporter):
            output.report(simulation)
    checkpoints.report(simulation)
