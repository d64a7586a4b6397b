# SPDX-License-Identifier: Apache-2.0
"""Trajectories of replicas, which go from state to state, from those of the states.

A frame at a step at which swaps were tried is of the time before them.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from ..description.selection import select
from ..errors import QuiltError
from ..inputs.frames import TrajectoryFrame, read_frames
from ..outputs.files import writing
from ..outputs.formats import open_trajectory
from ..outputs.trajectory import Layout, Snapshot
from ..running.config import build_config_of, read_resolved
from ..running.output_sections import TrajectorySection
from ..running.run_inputs import load_system
from .analysis import History, read_history
from .config import ExchangeConfig
from .record import replica_name, state_name


def demultiplex(folder: str | os.PathLike[str]) -> list[Path]:
    """Writes the trajectories of each replica of an exchange, from those of its states.

    Parameters
    ----------
    folder:
        Folder of the exchange, which may still be running; the frames written so far are used.

    Returns
    -------
    The files, replica-00/... and so on in the folder, of the same names and formats; earlier ones
    are replaced.  They have positions alone.

    Raises
    ------
    QuiltError
        If there is no exchange or no trajectory, or MDAnalysis is not installed.
    """
    path = Path(folder)
    history = read_history(path)
    config = build_config_of(ExchangeConfig, read_resolved(path / "config.toml"), str(path))
    sections = [
        section
        for section in config.trajectories().values()
        if all((path / state_name(k) / section.file).exists() for k in range(len(history.states)))
    ]
    if not sections:
        raise QuiltError(
            f"{path}: not every state of this exchange has a trajectory; [[trajectory]] in "
            "its configuration, or trajectory_every in [output], writes one"
        )
    system, _ = load_system(config)
    written = []
    for section in sections:
        layout = Layout(
            len(select(system, section.select)),
            section.every,
            config.integrator.timestep,
            precision=section.precision,
        )
        written += sort_frames(path, history, section, config.exchange.every, layout)
    return written


def sort_frames(
    folder: Path, history: History, section: TrajectorySection, swaps_every: int, layout: Layout
) -> list[Path]:
    """Writes one trajectory of all replicas; swaps were tried each `swaps_every` steps."""
    count = len(history.states)
    sources = [folder / state_name(k) / section.file for k in range(count)]
    targets = [folder / replica_name(k) / section.file for k in range(count)]
    with ExitStack() as stack:
        frames = [stack.enter_context(closing(_frames(path, layout.atoms))) for path in sources]
        writers = []
        for path in targets:
            path.parent.mkdir(exist_ok=True)
            writers.append(stack.enter_context(closing(open_trajectory(path, layout))))
        for step, walkers, of_states in _steps(history, section.every, swaps_every, frames):
            for walker, frame in zip(walkers, of_states, strict=True):
                snapshot = Snapshot(step, step * layout.timestep, frame.box, frame.positions)
                with writing(targets[walker]):
                    writers[walker].write(snapshot)
    return targets


def _frames(path: Path, atoms: int) -> Generator[TrajectoryFrame]:
    yield from read_frames(path, atoms)


def _steps(
    history: History, every: int, swaps_every: int, frames: Sequence[Iterator[TrajectoryFrame]]
) -> Iterator[tuple[int, Sequence[int], tuple[TrajectoryFrame, ...]]]:
    """Steps of frames that all states have, with the replica that each state had, and its frame."""
    walkers = [*history.before().tolist(), history.walkers[-1].tolist()]
    for number, of_states in enumerate(zip(*frames, strict=False), 1):
        iteration = (number * every - 1) // swaps_every
        if iteration >= len(walkers):
            return
        yield number * every, walkers[iteration], of_states
