# SPDX-License-Identifier: Apache-2.0
"""`quiltmd exchange`: from a configuration to a folder of results, in one run or in several.

The folder has one for each state, with its log, trajectories and checkpoints, and what `record.py`
is about.  Where, on how many devices, and in how many runs it was made shows in none of them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..description.overlaps import check_overlaps
from ..description.selection import select
from ..description.state import State
from ..description.system import System
from ..engine.core import EngineFactory
from ..errors import QuiltError
from ..outputs.collective import CollectiveReporter
from ..outputs.files import make_folder, read_file, reading, writing
from ..outputs.free_energy import StateEnergyReporter
from ..outputs.reporters import LogReporter, Output, TrajectoryReporter
from ..running.before import warn_of_no_effect
from ..running.chosen_settings import as_begun, state_coulomb_cutoff, state_seed
from ..running.config import build_config_of, merge
from ..running.final import write_final
from ..running.folder import Folder
from ..running.identity import provenance_of, refuse_changes
from ..running.progress import RunProgress, say
from ..running.run_inputs import check_velocities, load_system
from ..running.runner import Outcome
from ..running.simulation import Simulation
from ..running.stopping import Stopping
from ..workers.factory import make_engine
from .config import ExchangeConfig
from .iterations import Iteration
from .record import (
    ENERGIES,
    MANIFEST,
    PREVIOUS,
    WALKERS,
    Generation,
    Tables,
    read_generation,
    replica_name,
    state_name,
    write_generation,
)
from .replicas import ReplicaExchange
from .states import describe_state

PLOT = "exchange.png"
AHEAD = 3  # iterations that a replica may be ahead of the slowest one


@dataclass(frozen=True)
class _Run:
    """Data that the parts of a run share."""

    config: ExchangeConfig
    folder: Folder
    exchange: ReplicaExchange
    provenance: dict[str, Any]
    stopping: Stopping


def start(
    config: ExchangeConfig, overwrite: bool = False, engine: EngineFactory = make_engine
) -> Outcome:
    """Starts a new replica exchange; arguments as for `quiltmd.running.runner.start`."""
    begun = time.monotonic()
    config = _seeded(config)
    count = len(config.states())
    folder = Folder(config.output.dir, _names(count))
    folder.refuse_names(config)
    with folder.owned(), Stopping(config.run.max_hours, begun) as stopping:
        if not overwrite:
            folder.refuse_to_replace()
        system, state = load_system(config)
        config = _with(config, config.following(system))
        config = _with(config, state_coulomb_cutoff(config, system, state.box))
        warn_of_no_effect(config, system)
        check_velocities(config, state)
        check_overlaps(system, state)
        made = _exchange(config, system, state, engine)
        stopping.take_interrupts()
        config = _with(config, folder.move_aside(config))
        if config.output.copy_inputs:
            config = _with(config, folder.copy_inputs(config))
        config = _with(config, folder.copy_checkpoints(config))
        folder.write_config(config)
        provenance = provenance_of(config, state)
        _prepare(config, made)
        return _run(_Run(config, folder, made, provenance, stopping), None)


def resume(
    directory: str | os.PathLike[str],
    flags: dict[tuple[str, str], Any] | None = None,
    engine: EngineFactory = make_engine,
) -> Outcome:
    """Goes on with the replica exchange in a folder from its last generation.

    Parameters
    ----------
    directory:
        The folder.
    flags:
        Settings that change: steps, which count in all, and where it runs.
    engine:
        As for `Simulation`.
    """
    begun = time.monotonic()
    path = Path(directory).absolute()
    folder = Folder(path)
    folder.settings()
    with folder.owned(), ExitStack() as stack:
        settings = merge(folder.settings(), {**(flags or {}), ("output", "dir"): path})
        config = build_config_of(ExchangeConfig, settings, str(folder.config))
        folder.refuse_names(config)
        stopping = stack.enter_context(Stopping(config.run.max_hours, begun))
        generation = read_generation(path)
        first = generation.checkpoints[0]
        config = as_begun(config, first.provenance["physics"])
        provenance = provenance_of(config, first.state)
        refuse_changes(first.provenance, provenance, "")
        if config.run.steps < first.state.step:
            raise QuiltError(
                f"the exchange is already at step {first.state.step}, beyond the "
                f"{config.run.steps} steps asked for"
            )
        system, _ = load_system(config)
        states = [checkpoint.state for checkpoint in generation.checkpoints]
        made = _exchange(config, system, states, engine)
        heats = [checkpoint.heat for checkpoint in generation.checkpoints]
        made.go_on(generation.iteration, generation.walkers, states, heats)
        stopping.take_interrupts()
        return _run(_Run(config, folder, made, provenance, stopping), generation)


def steps_of_exchange(folder: Path) -> int:
    """Steps of each replica that an exchange has done: by its table of swaps, 0 without one."""
    path = folder / WALKERS
    if not path.exists():
        return 0
    with reading(path):
        lines = read_file(path).decode("ascii", "replace").split("\n")
    rows = [line.split(",") for line in lines[1:-1]]  # the last is empty, or still being written
    return int(rows[-1][1]) if rows and rows[-1][1:2] and rows[-1][1].isdecimal() else 0


def _exchange(
    config: ExchangeConfig, system: System, state: State | list[State], engine: EngineFactory
) -> ReplicaExchange:
    section, execution = config.exchange, config.execution().settings()
    del execution["device"]  # one of several
    return ReplicaExchange(
        system,
        state,
        config.states(),
        every=section.every,
        seed=config.integrator.seed,
        solute=select(system, section.solute) if section.kind == "rest2" else None,
        integrator=config.make_integrator(),
        thermostat=config.make_thermostat(),
        devices=config.devices(),
        together=section.together,
        all_energies=section.all_energies,
        nonbonded=config.nonbonded,
        engine=engine,
        **execution,
    )


def _prepare(config: ExchangeConfig, exchange: ReplicaExchange) -> None:
    """Minimises where asked, one replica for all, and draws velocities where there are none."""
    first = exchange.simulations[0]
    if config.run.minimize:
        found = first.minimize(config.run.minimize_tolerance, config.run.minimize_iterations)
        say(f"minimised in {found['iterations']} iterations to {found['potential']:.1f} kJ/mol")
        minimum = first.state()
        for simulation in exchange.simulations[1:]:
            simulation.set_state(minimum)
    if config.run.begins_anew() or not first.state().velocities.any():
        exchange.draw_velocities()


def _run(run: _Run, resumed: Generation | None) -> Outcome:
    config, exchange = run.config, run.exchange
    count = len(exchange.states)
    with ExitStack() as stack:
        tables = Tables(run.folder.path, count, None if resumed is None else resumed.files)
        stack.callback(tables.close)
        outputs = [_outputs(run, k, resumed, stack) for k in range(count)]
        if resumed is None:
            _save(run, tables, outputs)
        else:
            run.folder.write_config(config)
        _introduce(run, resumed)
        step, timestep = exchange.simulations[0].step, config.integrator.timestep
        with RunProgress(step, config.run.steps, timestep) as progress:
            saving = _Saving(run, tables, progress)
            try:
                while (iterations := saving.iterations()) and not run.stopping:
                    exchange.run(iterations, outputs, saving.record, AHEAD)
                    if saving.is_due():
                        _save(run, tables, outputs)
                        saving.saved()
            except QuiltError as error:
                what = str(error).removesuffix(".")
                raise QuiltError(
                    f"{what}; the results up to iteration {saving.saved_at} are kept: 'quiltmd "
                    f"exchange --resume {run.folder.path}' continues from there"
                ) from error
        if saving.saved_at != exchange.iteration:
            _save(run, tables, outputs)
    return _finish(run, progress.speed())


class _Saving:
    """Rows of the tables, and when a generation is due, for which all are to be at one step."""

    def __init__(self, run: _Run, tables: Tables, progress: RunProgress) -> None:
        self._run, self._tables, self._progress = run, tables, progress
        self.saved()

    def saved(self) -> None:
        """Notes that a generation was saved just now."""
        self.saved_at = self._run.exchange.iteration
        self._saved_step, self._saved_time = self._step(), time.monotonic()

    def iterations(self) -> int:
        """Up to where a generation is due by its step, or to the end."""
        config, step = self._run.config, self._step()
        left = config.run.steps - step
        if every := config.output.checkpoint_every:
            left = min(left, self._saved_step + every - step + config.exchange.every - 1)
        return left // config.exchange.every

    def record(self, iteration: Iteration) -> bool:
        """Takes note of an iteration; whether to stop, or to save."""
        self._tables.add(iteration)
        self._progress.update(iteration.step)
        return bool(self._run.stopping) or self._is_due_by_time()

    def is_due(self) -> bool:
        """Whether a generation is."""
        every = self._run.config.output.checkpoint_every
        by_steps = every and self._step() >= self._saved_step + every
        return bool(by_steps) or self._is_due_by_time()

    def _is_due_by_time(self) -> bool:
        seconds = 60 * self._run.config.output.checkpoint_minutes
        return bool(seconds and time.monotonic() >= self._saved_time + seconds)

    def _step(self) -> int:
        return self._run.exchange.simulations[0].step


def _save(run: _Run, tables: Tables, outputs: list[list[Output]]) -> None:
    """A generation, once all that it relies on is on the disk."""
    exchange = run.exchange
    checkpoints = []
    for simulation, own in zip(exchange.simulations, outputs, strict=True):
        for output in own:
            output.sync()
        marks = {output.path.name: output.mark() for output in own}
        checkpoints.append(replace(simulation.checkpoint(run.provenance), outputs=marks))
    write_generation(
        run.folder.path,
        Generation(
            exchange.iteration,
            exchange.walkers.tolist(),
            exchange.seed,
            tables.marks(),
            checkpoints,
        ),
    )


def _outputs(run: _Run, k: int, resumed: Generation | None, stack: ExitStack) -> list[Output]:
    """Log, energies of states and trajectories of a state."""
    output, simulation = run.config.output, run.exchange.simulations[k]
    folder = run.folder.path / state_name(k)
    with writing(folder):
        make_folder(folder)
    after = None if resumed is None else resumed.checkpoints[k].state.step
    marks = {} if resumed is None else resumed.checkpoints[k].outputs
    outputs: list[Output] = []
    if output.log_every:
        log = folder / "log.csv"
        terms = simulation.terms() if output.log_terms else ()
        outputs.append(
            LogReporter(
                log, output.log_every, after, marks.get(log.name), terms=terms, box=output.log_box
            )
        )
    if output.log_every and simulation.system.collective is not None:
        path = Folder(folder).collective
        outputs.append(
            CollectiveReporter(path, output.log_every, simulation, after, marks.get(path.name))
        )
    if run.config.alchemy is not None:
        for path in Folder(folder).states:
            every = run.config.alchemy.every
            outputs.append(
                StateEnergyReporter(path, every, simulation, after, marks.get(path.name))
            )
    for name, section in run.config.trajectories().items():
        settings = section.model_dump(exclude={"file", "every"})
        outputs.append(
            TrajectoryReporter(
                folder / name, section.every, simulation, after, marks.get(name), **settings
            )
        )
    for one in outputs:
        stack.callback(one.close)
    return outputs


def _introduce(run: _Run, resumed: Generation | None) -> None:
    exchange = run.exchange
    ends = exchange.states[0], exchange.states[-1]
    say(
        f"{len(exchange.states)} replicas of {exchange.simulations[0].system.atoms} atoms from "
        f"{describe_state(ends[0])} to {describe_state(ends[1])}, swaps every {exchange.every} "
        f"steps, seed {exchange.seed}"
    )
    for name in dict.fromkeys(simulation.device for simulation in exchange.simulations):
        own = [str(k) for k, one in enumerate(exchange.simulations) if one.device == name]
        say(f"on {name}: {', '.join(own)}")
    if idle := run.config.devices()[len(exchange.states) :]:
        say(f"without a replica: {', '.join(idle)}")
    if resumed is not None:
        step = exchange.simulations[0].step
        say(f"resuming at iteration {exchange.iteration}, step {step} of {run.config.run.steps}")


def _finish(run: _Run, speed: float) -> Outcome:
    path, step = run.folder.path, run.exchange.simulations[0].step
    total = speed * len(run.exchange.states)
    if step < run.config.run.steps:
        say(
            f"stopped at step {step} ({run.stopping.reason()}); continue with: "
            f"quiltmd exchange --resume {path}"
        )
        return Outcome(step, True, speed, run.stopping.signal)
    for k, simulation in enumerate(run.exchange.simulations):
        _write_last(run, k, simulation)
    say(f"done: step {step}, {speed:.3g} ns/day each, {total:.3g} in all; results in {path}")
    return Outcome(step, False, speed)


def _write_last(run: _Run, k: int, simulation: Simulation) -> None:
    write_final(run.config.output.final, Folder(run.folder.path / state_name(k)), simulation)


def _seeded(config: ExchangeConfig) -> ExchangeConfig:
    return _with(config, state_seed(config))


def _with(config: ExchangeConfig, changed: Any) -> ExchangeConfig:
    """Result of a method of `Config`, which has the class of `config`."""
    assert isinstance(changed, ExchangeConfig)
    return changed


def _names(count: int) -> Sequence[str]:
    """Names of all files that an exchange, and `--demux` later, write to its folder."""
    folders = [name(k) for name in (state_name, replica_name) for k in range(count)]
    return [MANIFEST, PREVIOUS, WALKERS, ENERGIES, PLOT, *folders]
