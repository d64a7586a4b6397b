# SPDX-License-Identifier: Apache-2.0
"""`quiltmd run`: from a configuration to a folder of results, in one run or in several.

A folder holds all that a resume needs: the resolved configuration, checkpoints, and outputs that
can be cut back to a checkpoint's step.  The checkpoint names its inputs by their hashes, so a run
is never carried on with a changed force field by mistake, and inputs may lie elsewhere by then.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..description.overlaps import check_overlaps
from ..description.state import State
from ..description.system import System
from ..engine.core import EngineFactory
from ..errors import QuiltError
from ..outputs.checkpoint import Checkpoint, write_checkpoint
from ..outputs.files import writing
from ..outputs.reporters import CheckpointReporter, Reporter
from ..workers.factory import make_engine
from .before import (
    check_address,
    check_reporters,
    check_selections,
    warn_of_frames,
    warn_of_no_effect,
)
from .chosen_settings import as_begun, state_coulomb_cutoff, state_interval, state_mesh, state_seed
from .config import Config, build_config, merge
from .final import write_final
from .folder import Folder
from .hills import Hills
from .identity import provenance_of, refuse_changes
from .introduction import introduce
from .migration import MigrationRequest
from .one_gpu import OneGpuTrial
from .patch_moves import patch_moves_in_words
from .profiling import Profile, run_profiled
from .progress import MinimizeProgress, RunProgress, say
from .records import Session
from .run_inputs import check_velocities, find_inputs, load_system
from .run_outputs import (
    first_reports,
    make_reporters,
    open_outputs,
    serve_viewers,
    write_selected,
)
from .simulation import Simulation
from .stopping import Stopping
from .walks import Walk, in_last_state, make_walk

MAX_HOURS = ("run", "max_hours")


@dataclass(frozen=True)
class Outcome:
    """Outcome of a run: last step, whether it was interrupted, mean speed, ns/day.

    `signal` is the one that interrupted it; None where its time was up.
    """

    step: int
    interrupted: bool
    speed: float
    signal: signal.Signals | None = None


@dataclass(frozen=True)
class _Run:
    """Data that the parts of a run share; `root` is the folder that `--resume` takes."""

    config: Config
    folder: Folder
    simulation: Simulation
    provenance: dict[str, Any]
    stopping: Stopping
    root: Path
    hills: Hills | None = None
    walk: Walk | None = None


def start(
    config: Config,
    overwrite: bool = False,
    engine: EngineFactory = make_engine,
    begin: State | None = None,
    root: Path | None = None,
    hours: float | None = None,
) -> Outcome:
    """Starts a new run.

    Parameters
    ----------
    config:
        All settings; without a seed one is drawn and recorded.
    overwrite:
        Moves earlier results out of the way, once the new run has loaded.
    engine:
        As for `Simulation`.
    begin:
        The state to begin with, in place of that in the coordinates file.
    root:
        The folder to resume where this run is a stage of another.
    hours:
        After which this command stops, in place of `max_hours`.

    Raises
    ------
    QuiltError
        If its folder has files that it would replace and `overwrite` is not set.
    """
    begun = time.monotonic()
    config = state_interval(state_seed(config))
    folder = Folder(config.output.dir, config.file_names())
    folder.refuse_names(config)
    with folder.owned(), Stopping(_limit(hours, config), begun) as stopping:
        if not overwrite:
            folder.refuse_to_replace()
        system, state = load_system(config)
        config = config.following(system)
        warn_of_no_effect(config, system)
        if begin is None:
            warn_of_frames(config)
            check_velocities(config, state)
        else:
            state = begin
        state = replace(state, step=config.run.first_step)
        config = state_mesh(state_coulomb_cutoff(config, system, state.box), state.box)
        check_overlaps(system, state)
        check_selections(config, system)
        check_reporters(config)
        check_address(config)
        simulation = make_simulation(config, system, state, engine)
        stopping.take_interrupts()
        config = folder.move_aside(config)
        if config.output.copy_inputs:
            config = folder.copy_inputs(config)
        config = folder.copy_checkpoints(config)
        folder.write_config(config)
        introduce(config, simulation)
        provenance = provenance_of(config, state)
        run = _Run(config, folder, simulation, provenance, stopping, root or folder.path)
        return _from_the_start(run, state)


def resume(
    directory: str | os.PathLike[str],
    flags: dict[tuple[str, str], Any] | None = None,
    engine: EngineFactory = make_engine,
    root: Path | None = None,
) -> Outcome:
    """Continues the run in a folder from its checkpoint.

    Parameters
    ----------
    directory:
        The output folder of the run; it may have been moved.
    flags:
        Settings that change: all of [run] but `patch_reach`, `grain` and how it begins, where
        `steps` counts in all; of [output] intervals of checkpoints and `profile`; of [system] new
        paths to the same inputs.  All but `max_hours` are kept for later resumes.
    engine:
        As for `Simulation`.
    root:
        As for `start`.

    Raises
    ------
    QuiltError
        If there is nothing to continue, where inputs or settings that must stay have changed, or
        where log or trajectory are not as the run left them.
    """
    begun = time.monotonic()
    folder = Folder(Path(directory).absolute())
    folder.settings_of_run()  # before a folder is made for nothing
    with folder.owned(), ExitStack() as stack:
        kept = {**(flags or {}), ("output", "dir"): folder.path}
        hours = kept.pop(MAX_HOURS, None)
        settings = merge(folder.settings(), kept)
        config = build_config(settings, str(folder.config))
        folder.refuse_names(config)
        stopping = stack.enter_context(Stopping(_limit(hours, config), begun))
        checkpoint = folder.latest()
        config = as_begun(config, checkpoint.provenance["physics"])
        provenance = _same_run(config, folder, checkpoint)
        system, _ = load_system(config)
        system = in_last_state(config, folder, system, checkpoint)
        check_reporters(config)
        check_address(config)
        simulation = make_simulation(config, system, checkpoint.state, engine)
        config.annealing().set_before(simulation, checkpoint.state.step)
        simulation.set_state(checkpoint.state, checkpoint.heat)
        if checkpoint.stage == "dynamics":
            simulation.set_external_states(checkpoint.external)
        stopping.take_interrupts()
        run = _Run(config, folder, simulation, provenance, stopping, root or folder.path)
        if checkpoint.stage == "dynamics":
            if config.run.minimize and _has_yet_to_move(config, checkpoint.state):
                _give_velocities(run)
            return _run(run, checkpoint)
        folder.write_config(config)
        introduce(config, simulation)
        say("beginning again with the minimisation")
        return _from_the_start(run, checkpoint.state)


def _limit(hours: float | None, config: Config) -> float | None:
    """Hours after which a command stops: its own, or those of the configuration."""
    return config.run.max_hours if hours is None else hours


def _same_run(config: Config, folder: Folder, checkpoint: Checkpoint) -> dict[str, Any]:
    """Inputs of the run; QuiltError if they differ from those of the checkpoint."""
    find_inputs(config, folder)
    provenance = provenance_of(config, checkpoint.state)
    refuse_changes(checkpoint.provenance, provenance, folder.how_to_begin_anew())
    step = checkpoint.state.step
    if config.run.last_step < step:
        raise QuiltError(
            f"the run is already at step {step}, beyond step {config.run.last_step}, the last of "
            f"the requested steps"
        )
    return provenance


def make_simulation(
    config: Config, system: System, state: State, engine: EngineFactory
) -> Simulation:
    """The simulation that a configuration describes, in this state."""
    return Simulation(
        system,
        state,
        config.nonbonded,
        config.make_integrator(),
        thermostat=config.make_thermostat(),
        barostat=config.barostat.build(config.integrator),
        external=config.make_external(),
        engine=engine,
        **config.execution().settings(),
    )


def _from_the_start(run: _Run, state: State) -> Outcome:
    """Minimises where asked, then runs from step 0; both with the conditions of time 0."""
    run.config.annealing().set_at(run.simulation)
    if run.config.run.minimize:
        checkpoint = Checkpoint(state, provenance=run.provenance, stage="minimize")
        with writing(run.folder.checkpoint):
            write_checkpoint(run.folder.checkpoint, checkpoint)
        _minimize(run)
        if run.stopping:
            return _interrupted(run, 0.0, " in the minimisation, which will begin again")
    _give_velocities(run)
    return _run(run, None)


def _minimize(run: _Run) -> None:
    simulation = run.simulation
    potentials: list[float] = []  # the first is that of positions that satisfy the constraints
    with MinimizeProgress() as progress:

        def watch(iteration: int, potential: float, largest_force: float) -> bool:
            potentials.append(potential)
            progress.update(iteration, potential, largest_force)
            return bool(run.stopping)

        asked = run.config.run
        found = simulation.minimize(
            tolerance=asked.minimize_tolerance,
            max_iterations=asked.minimize_iterations,
            watch=watch,
        )
    if run.stopping:
        return
    before = next(iter(potentials), found["potential"])
    end = (
        "converged"
        if found["converged"]
        else "not converged; dynamics can usually start from there"
    )
    say(
        f"minimised in {found['iterations']} iterations: potential {before:.1f} -> "
        f"{found['potential']:.1f} kJ/mol, largest force {found['largest_force']:.0f} kJ/mol/nm "
        f"({end})"
    )


def _give_velocities(run: _Run) -> None:
    """Draws velocities where the input has none that fit; a minimisation alone ends at rest."""
    integrator, stated = run.config.integrator, run.config.run.start_temperature
    if run.config.run.only_minimizes():
        run.simulation.draw_velocities(0.0, integrator.seed)
        return
    if run.config.run.begins_anew() or not run.simulation.state().velocities.any():
        given = integrator.temperature if stated is None and not run.config.bath else stated
        run.simulation.draw_velocities(given, integrator.seed)
        of_baths = "the temperatures of the heat baths"
        drawn = f"velocities drawn at {of_baths if given is None else f'{given:g} K'}"
        say("atoms start at rest" if given == 0 else drawn)
    else:
        say("velocities taken as they are")


def _has_yet_to_move(config: Config, state: State) -> bool:
    """Whether atoms are at rest at the first step, as a minimisation without dynamics left them."""
    return state.step == config.run.first_step and not state.velocities.any()


def _run(run: _Run, resumed: Checkpoint | None) -> Outcome:
    """Runs to the configured step, writing outputs, which go on from the checkpoint."""
    config, folder, simulation = run.config, run.folder, run.simulation
    with ExitStack() as stack:
        run = _with_walk(_with_hills(run, resumed, stack), resumed, stack)
        changes = [one for one in (run.hills, run.walk) if one is not None]
        outputs = [
            *open_outputs(config, folder, simulation, run.hills, resumed, stack),
            *changes,
        ]
        reporters = make_reporters(config, folder, simulation, resumed, stack)
        reporters += serve_viewers(config, folder, simulation, run.stopping, stack)
        checkpoints = CheckpointReporter(
            folder.checkpoint, config.output.checkpoint_every, outputs, run.provenance
        )
        if resumed is None:
            write_selected(config, folder, simulation)
            first_reports(outputs, checkpoints, simulation)
        else:
            checkpoints.last_step = simulation.step
            folder.write_config(config)
            introduce(config, simulation)
            say(f"resuming at step {simulation.step} of {config.run.last_step}")
        session = None
        if resumed is None or simulation.step < config.run.last_step:
            session = Session(folder.sessions, simulation)
        progress = RunProgress(simulation.step, config.run.last_step, config.integrator.timestep)
        try:
            with progress:
                profile = _advance(run, [*outputs, *reporters, checkpoints], checkpoints, progress)
        except QuiltError as error:
            if session is not None:
                session.fail(str(error))
            raise _with_checkpoint(error, folder, checkpoints) from None
        if checkpoints.last_step != simulation.step:
            checkpoints.report(simulation)
        if session is not None:
            session.end(progress.speed())
    if profile is not None:
        profile.show()
    if simulation.step < config.run.last_step:
        return _interrupted(run, progress.speed())
    return _finish(run, progress.speed())


def _advance(
    run: _Run,
    reporters: Sequence[Reporter],
    checkpoints: CheckpointReporter,
    progress: RunProgress,
) -> Profile | None:
    """Runs to the configured step, or to where it is asked to stop; profiles where asked.

    Checkpoints that are due by the clock are written between two stretches.
    """
    simulation, last = run.simulation, run.config.run.last_step
    annealing = run.config.annealing()

    def stretch() -> int:
        """Steps for which conditions and hills stay as they are, which are set here."""
        ends = [last, annealing.set_at(simulation)]
        ends += [one.set_at(simulation) for one in (run.hills, run.walk) if one is not None]
        return min(ends) - simulation.step

    profile = None
    if run.config.output.profile and simulation.step < last:

        def watch_profile(step: int) -> bool:
            progress.update(step)
            return bool(run.stopping)

        profile = run_profiled(simulation, stretch(), reporters, watch_profile)
        profile.write(run.folder, run.folder.path.name)
    interval = 60 * run.config.output.checkpoint_minutes or float("inf")

    request = MigrationRequest(run.folder.path)
    trial = OneGpuTrial(simulation, run.config.execution())

    def is_due() -> bool:
        return time.monotonic() >= checkpoints.written_at + interval

    def watch(step: int) -> bool:
        progress.update(step)
        asked = bool(run.stopping) or is_due() or request.is_pending()
        return trial.is_due(step) or asked

    while simulation.step < last and not run.stopping:
        simulation.run(stretch(), reporters, watch)
        request.carry_out(simulation)
        trial.carry_out(simulation)
        if is_due():
            checkpoints.report(simulation)
    return profile


def _with_hills(run: _Run, resumed: Checkpoint | None, stack: ExitStack) -> _Run:
    """The run with the hills so far, if it has metadynamics."""
    settings, path = run.config.metadynamics, run.folder.hills
    if settings is None:
        return run
    mark = None if resumed is None else resumed.outputs.get(path.name)
    hills = Hills(path, settings, run.simulation, mark, run.config.run.first_step)
    stack.callback(hills.close)
    return replace(run, hills=hills)


def _with_walk(run: _Run, resumed: Checkpoint | None, stack: ExitStack) -> _Run:
    """The run with what changes its alchemical state, if anything does."""
    walk = make_walk(run.config, run.folder, run.simulation, resumed)
    if walk is None:
        return run
    stack.callback(walk.close)
    return replace(run, walk=walk)


def _interrupted(run: _Run, speed: float, where: str = "") -> Outcome:
    step = run.simulation.step
    _tell_layout(run.simulation)
    say(
        f"stopped at step {step}{where} ({run.stopping.reason()}); continue with: "
        f"quiltmd run --resume {run.root}"
    )
    return Outcome(step, True, speed, run.stopping.signal)


def _finish(run: _Run, speed: float) -> Outcome:
    folder, simulation = run.folder, run.simulation
    write_final(run.config.output.final, folder, simulation)
    _tell_layout(simulation)
    steps = f"step {simulation.step}" + (f", {speed:.3g} ns/day" if speed > 0 else "")
    say(f"done: {steps}; results in {folder.path}")
    return Outcome(simulation.step, False, speed)


def _tell_layout(simulation: Simulation) -> None:
    about = simulation.describe()
    if changes := int(about["grid_changes"]):
        patches = " x ".join(f"{about[f'patches_{axis}']:.0f}" for axis in "xyz")
        say(
            f"the box changed so much that it was divided into other patches {changes} time(s), "
            f"last at step {about['grid_changed_at']:.0f} into {patches}"
        )
    if moved := patch_moves_in_words(about):
        say(moved)
    if redone := int(about["early_rebuilds"]):
        say(
            f"{redone} time(s) an atom moved beyond the Verlet buffer; the steps since the pair "
            "lists were built were repeated"
        )


def _with_checkpoint(
    error: QuiltError, folder: Folder, checkpoints: CheckpointReporter
) -> QuiltError:
    """The error, with where the run can go on from."""
    step = "" if checkpoints.last_step is None else f" (step {checkpoints.last_step})"
    what = str(error).removesuffix(".")
    return QuiltError(f"{what}; the last good checkpoint is {folder.checkpoint}{step}")
