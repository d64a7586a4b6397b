# SPDX-License-Identifier: Apache-2.0
"""`quiltmd run`: a configuration becomes a folder of results, in one go or in several.

A folder holds all that a resume needs: the resolved configuration, checkpoints, and outputs that
can be cut back to a checkpoint's step.  The checkpoint names its inputs by their hashes, so a run
is never carried on with a changed force field by mistake.
"""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..description.overlaps import check_overlaps
from ..description.state import State
from ..description.system import System
from ..engine.core import EngineFactory, make_engine
from ..errors import QuiltError
from ..inputs import load
from ..outputs.checkpoint import Checkpoint, CheckpointError, previous_path, read_latest
from ..outputs.files import writing
from ..outputs.reporters import (
    CheckpointReporter,
    LogReporter,
    Output,
    Reporter,
    TrajectoryReporter,
)
from ..outputs.structures import write_pdb, write_restart
from .config import REPARTITIONED_HYDROGEN_MASS, Config, build_config, file_hash, merge, read_config
from .profiling import Profile, run_profiled
from .progress import RunProgress, say, warn
from .simulation import Simulation


class Folder:
    """Where the files of a run lie."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = path / "config.toml"
        self.log = path / "log.csv"
        self.trajectory = path / "trajectory.dcd"
        self.checkpoint = path / "checkpoint.qmd"
        self.final_pdb = path / "final.pdb"
        self.final_restart = path / "final.rst7"
        self.profile = path / "profile.csv"
        self.timeline = path / "timeline.json"

    def clear(self) -> None:
        """Removes what an earlier run left."""
        outputs = (self.config, self.log, self.trajectory, self.final_pdb, self.final_restart)
        profiles = (self.profile, self.timeline)
        checkpoints = (self.checkpoint, previous_path(self.checkpoint))
        for path in (*outputs, *profiles, *checkpoints):
            with writing(path):
                path.unlink(missing_ok=True)


@dataclass(frozen=True)
class Outcome:
    """How a run ended: the step it reached, whether it was interrupted, its mean speed, ns/day."""

    step: int
    interrupted: bool
    speed: float


def start(config: Config, overwrite: bool = False, engine: EngineFactory = make_engine) -> Outcome:
    """Starts a new run; QuiltError where its folder holds one and `overwrite` is not set."""
    folder = Folder(config.output.dir)
    if folder.checkpoint.exists() and not overwrite:
        raise QuiltError(
            f"{folder.path} already holds a run: carry it on with 'quiltmd run --resume "
            f"{folder.path}', choose another folder, or give --overwrite"
        )
    system, state = _load(config)
    check_overlaps(system, state)
    simulation = _simulation(config, system, state, engine)
    with _owning(folder.path):
        folder.clear()
        with writing(folder.config):
            config.write(folder.config)
        _introduce(config, simulation)
        _prepare(config, simulation)
        return _run(config, folder, simulation, _provenance(config, state), after=None)


def resume(
    directory: str | os.PathLike[str],
    flags: dict[tuple[str, str], Any] | None = None,
    engine: EngineFactory = make_engine,
) -> Outcome:
    """Carries on the run in a folder from its checkpoint.

    Parameters
    ----------
    directory:
        The output folder of the run.
    flags:
        Settings of [run] that change: steps (in all), ranks, threads, device, balance.
    engine:
        As for `Simulation`.

    Raises
    ------
    QuiltError
        Where there is nothing to carry on, or where inputs or physical settings have changed.
    """
    folder = Folder(Path(directory).absolute())
    if not folder.config.exists():
        raise QuiltError(f"{folder.path} holds no run to resume: {folder.config.name} is missing")
    settings = merge(read_config(folder.config), {**(flags or {}), ("output", "dir"): folder.path})
    config = build_config(settings, str(folder.config))
    with _owning(folder.path):
        checkpoint = _latest(folder)
        provenance = _provenance(config, checkpoint.state)
        _refuse_changes(checkpoint.provenance, provenance)
        if config.run.steps < checkpoint.state.step:
            raise QuiltError(
                f"the run is already at step {checkpoint.state.step}, beyond the "
                f"{config.run.steps} steps asked for"
            )
        system, _ = _load(config)
        simulation = _simulation(config, system, checkpoint.state, engine)
        simulation.set_state(checkpoint.state, checkpoint.heat)
        with writing(folder.config):
            config.write(folder.config)
        _introduce(config, simulation)
        say(f"resuming at step {simulation.step} of {config.run.steps}")
        return _run(config, folder, simulation, provenance, after=simulation.step)


def _load(config: Config) -> tuple[System, State]:
    return load(
        config.system.topology,
        config.system.coordinates,
        constraints=config.system.constraints,
        hydrogen_mass=REPARTITIONED_HYDROGEN_MASS if config.system.hmr else None,
    )


def _simulation(config: Config, system: System, state: State, engine: EngineFactory) -> Simulation:
    run = config.run
    return Simulation(
        system,
        state,
        config.nonbonded,
        config.integrator.build(),
        device=run.device,
        ranks=run.ranks,
        threads=run.threads,
        balance=run.balance,
        engine=engine,
    )


def _introduce(config: Config, simulation: Simulation) -> None:
    if warning := config.run.execution().warning():
        warn(warning)
    names = dict.fromkeys(str(found["name"]) for found in simulation.describe()["devices"])
    integrator = config.integrator
    bath = f" at {integrator.temperature:g} K" if integrator.ensemble == "nvt" else ""
    say(
        f"{simulation.system.atoms} atoms, {integrator.ensemble.upper()}{bath}, "
        f"{integrator.timestep * 1000:g} fs steps, on {simulation.device} ({', '.join(names)}), "
        f"{config.run.ranks} rank(s)"
    )


def _prepare(config: Config, simulation: Simulation) -> None:
    """Minimises where asked; draws velocities where the input has none that still fit."""
    if config.run.minimize:
        before = simulation.energies()["potential"]
        simulation.minimize()
        after = simulation.energies()["potential"]
        say(f"minimised: potential {before:.1f} -> {after:.1f} kJ/mol")
    integrator = config.integrator
    if config.run.minimize or not simulation.state().velocities.any():
        simulation.draw_velocities(integrator.temperature, integrator.seed)
        say(f"velocities drawn at {integrator.temperature:g} K")
    else:
        say("velocities taken from the coordinates file")


def _run(
    config: Config,
    folder: Folder,
    simulation: Simulation,
    provenance: dict[str, Any],
    after: int | None,
) -> Outcome:
    """Runs to the configured step, writing outputs; `after` is the step that they go on from."""
    with ExitStack() as stack:
        outputs = _open_outputs(config, folder, simulation, after, stack)
        checkpoints = CheckpointReporter(
            folder.checkpoint, config.output.checkpoint_every, outputs, provenance
        )
        checkpoints.last_step = after
        if after is None:
            _first_reports(outputs, checkpoints, simulation)
        stop = stack.enter_context(_stop_signals())
        progress = RunProgress(simulation.step, config.run.steps, config.integrator.timestep)

        def watch(step: int) -> bool:
            progress.update(step)
            return bool(stop)

        try:
            with progress:
                profile = _advance(config, folder, simulation, [*outputs, checkpoints], watch)
        except QuiltError as error:
            raise _with_checkpoint(error, folder, checkpoints) from None
        if checkpoints.last_step != simulation.step:
            checkpoints.report(simulation)
    if profile is not None:
        profile.show()
    return _finish(config, folder, simulation, progress.speed())


def _advance(
    config: Config,
    folder: Folder,
    simulation: Simulation,
    reporters: Sequence[Reporter],
    watch: Callable[[int], bool],
) -> Profile | None:
    """Runs to the configured step, or to where `watch` asks to stop; profiles where asked."""
    left = config.run.steps - simulation.step
    profile = None
    if config.output.profile and left > 0:
        profile = run_profiled(simulation, left, reporters, watch)
        _write_profile(profile, folder)
        if watch(simulation.step):
            return profile
    simulation.run(config.run.steps - simulation.step, reporters, watch)
    return profile


def _write_profile(profile: Profile, folder: Folder) -> None:
    with writing(folder.profile):
        profile.write_table(folder.profile)
    with writing(folder.timeline):
        profile.write_timeline(folder.timeline)


def _open_outputs(
    config: Config, folder: Folder, simulation: Simulation, after: int | None, stack: ExitStack
) -> list[Output]:
    outputs: list[Output] = []
    if config.output.log_every:
        with writing(folder.log):
            log = LogReporter(folder.log, config.output.log_every, after)
        log.start_clock(simulation)
        stack.callback(log.close)
        outputs.append(log)
    if config.output.trajectory_every:
        with writing(folder.trajectory):
            frames = TrajectoryReporter(
                folder.trajectory, config.output.trajectory_every, simulation, after
            )
        stack.callback(frames.close)
        outputs.append(frames)
    return outputs


def _first_reports(
    outputs: list[Output], checkpoints: CheckpointReporter, simulation: Simulation
) -> None:
    """The log's row of step 0, and a checkpoint to fall back on from the very start."""
    for output in outputs:
        if isinstance(output, LogReporter):
            output.report(simulation)
    checkpoints.report(simulation)


def _finish(config: Config, folder: Folder, simulation: Simulation, speed: float) -> Outcome:
    interrupted = simulation.step < config.run.steps
    if interrupted:
        again = f"quiltmd run --resume {folder.path}"
        say(f"interrupted at step {simulation.step}; carry on with: {again}")
    else:
        with writing(folder.final_pdb):
            write_pdb(folder.final_pdb, simulation)
        with writing(folder.final_restart):
            write_restart(folder.final_restart, simulation)
        _tell_redone(simulation)
        say(f"done: step {simulation.step}, {speed:.3g} ns/day; results in {folder.path}")
    return Outcome(simulation.step, interrupted, speed)


def _tell_redone(simulation: Simulation) -> None:
    redone = int(simulation.describe()["early_rebuilds"])
    if redone:
        say(
            f"{redone} times an atom outran the pair lists; the steps since their build were redone"
        )


def _with_checkpoint(
    error: QuiltError, folder: Folder, checkpoints: CheckpointReporter
) -> QuiltError:
    """The error, with where the run can go on from."""
    step = "" if checkpoints.last_step is None else f" (step {checkpoints.last_step})"
    return QuiltError(f"{error}; the last good checkpoint is {folder.checkpoint}{step}")


def _provenance(config: Config, state: State) -> dict[str, Any]:
    return {
        "topology": file_hash(config.system.topology),
        "coordinates": file_hash(config.system.coordinates),
        "physics": config.physics(state.box),
    }


def _refuse_changes(before: dict[str, Any], now: dict[str, Any]) -> None:
    files = ("topology", "coordinates")
    changes = [f"the {name} file" for name in files if before[name] != now[name]]
    keys = sorted(before["physics"].keys() | now["physics"].keys())
    for key in keys:
        old, new = before["physics"].get(key), now["physics"].get(key)
        if old != new:
            changes.append(f"{key} (was {old}, is {new})")
    if changes:
        names = ", ".join(changes)
        raise QuiltError(f"cannot resume, the run would not be the same: changed {names}")


def _latest(folder: Folder) -> Checkpoint:
    """The last good checkpoint; where it is the previous one, it takes the damaged one's place."""
    try:
        checkpoint, fault = read_latest(folder.checkpoint)
    except CheckpointError as error:
        raise QuiltError(f"cannot resume: {error}") from None
    if fault is not None:
        warn(f"{fault}; falling back to the previous checkpoint, step {checkpoint.state.step}")
        os.replace(previous_path(folder.checkpoint), folder.checkpoint)
    return checkpoint


@contextmanager
def _owning(folder: Path) -> Iterator[None]:
    """Makes the folder and locks it against a second run, for as long as this process lives."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise QuiltError(f"{folder} is in use by another run") from None
    except OSError:
        pass  # a file system without locks: go on without
    try:
        yield
    finally:
        os.close(handle)


@contextmanager
def _stop_signals() -> Iterator[list[int]]:
    """Collects the first Ctrl-C or termination request; the run stops at its next piece.

    A second Ctrl-C acts at once, as usual.
    """
    received: list[int] = []
    kinds = (signal.SIGINT, signal.SIGTERM)
    before = {kind: signal.getsignal(kind) for kind in kinds}

    def note(kind: int, frame: object) -> None:
        received.append(kind)
        signal.signal(kind, before[signal.Signals(kind)])

    for kind in kinds:
        signal.signal(kind, note)
    try:
        yield received
    finally:
        for kind in kinds:
            signal.signal(kind, before[kind])
