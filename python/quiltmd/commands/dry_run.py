# SPDX-License-Identifier: Apache-2.0
"""Dry run of a configuration, for `quiltmd info CONFIG`; no file is written."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..description.restraints import acts_between_groups
from ..description.state import State
from ..description.system import System
from ..errors import QuiltError
from ..exchange.config import ExchangeConfig
from ..exchange.states import describe_state
from ..inputs.control_files import read_control
from ..running.before import check_reporters, check_selections, warn_of_no_effect
from ..running.chosen_settings import state_coulomb_cutoff
from ..running.config import Config, build_config, build_config_of, merge, read_config
from ..running.estimate import Estimate, estimate
from ..running.folder import Folder
from ..running.introduction import alchemical, cutoffs, what
from ..running.run_inputs import check_velocities, load_system
from ..running.spans import clock, span
from ..running.stages import stages_of
from .arguments import INPUTS
from .options import Settings
from .system_facts import system_facts


@dataclass(frozen=True)
class _Part:
    """A run, or one of its stages: its name, and the settings that it leaves out."""

    config: Config
    name: str = ""
    ignored: tuple[str, ...] = ()

    def line(self) -> str:
        """The stage in one line."""
        run = self.config.run
        least = f"a minimisation of at most {run.minimize_iterations} iterations"
        done = [least] if run.minimize else []
        if run.steps:
            length = span(run.steps * self.config.integrator.timestep)
            done.append(f"{what(self.config)}: {run.steps} steps, {length}")
        elif not run.minimize:
            done.append("no steps")
        return (f"{self.name}: " if self.name else "") + ", then ".join(done)

    def files(self, system: System) -> list[str]:
        """Output files and their intervals."""
        steps, found = self.config.run.steps, []
        if every := self.config.output.log_every:
            between = any(acts_between_groups(system, one) for one in self.config.restraint)
            further = {"thermo.log": self.config.output.thermo, "collective.csv": between}
            logs = ["log.csv", *(name for name, is_there in further.items() if is_there)]
            found += [f"{log}: {_counted(steps // every + 1, 'row')}" for log in logs]
        if (meta := self.config.metadynamics) is not None and steps >= meta.every:
            found.append(f"HILLS: {_counted(steps // meta.every, 'hill')}")
        for name, section in self.config.trajectories().items():
            if frames := steps // section.every:
                found.append(f"{name}: {_counted(frames, 'frame')}")
        return [f"{self.name}/{one}" if self.name else one for one in found]


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def facts_of_configuration(path: Path, index: Path | None, options: Settings) -> dict[str, Any]:
    """The runs, the ignored settings, and the estimated duration on this machine.

    Of a control file of another program also its settings here, what is not taken over, and what is
    refused; of one that does not name its topology, as mdp files, no more than that.

    Parameters
    ----------
    path:
        TOML, or a control file of another program.
    index:
        An index file of GROMACS, for an mdp.
    options:
        Topology and coordinates, where the file does not name them.

    Raises
    ------
    QuiltError
        What is wrong with the settings or the inputs, as `quiltmd run` says it.
    """
    control = None if path.suffix == ".toml" else read_control(path, index)
    if control is None:
        return _dry_run(merge(read_config(path), options), str(path))
    facts: dict[str, Any] = {
        "settings": control.settings,
        "without effect or replaced": control.notes,
        "refused": control.refused,
    }
    settings = merge(control.settings, options)
    settings["output"] = {"dir": f"{path.stem}-quilt", **settings.get("output", {})}
    if control.refused or any(key not in settings.get(name, {}) for name, key in INPUTS):
        return facts
    return facts | _dry_run(settings, str(path))


def _dry_run(settings: dict[str, Any], source: str) -> dict[str, Any]:
    parts = _parts(settings, source)
    first = parts[0].config
    system, state = load_system(first)
    parts = [
        replace(
            part,
            config=state_coulomb_cutoff(part.config.following(system), system, state.box),
        )
        for part in parts
    ]
    warn_of_no_effect(parts[0].config, system)
    check_velocities(first, state)
    for part in parts:
        _check(part, system)
    facts: dict[str, Any] = {"would run": [part.line() for part in parts]}
    if isinstance(first, ExchangeConfig):
        states = first.states()
        ends = f"from {describe_state(states[0])} to {describe_state(states[-1])}"
        facts["replicas"] = f"{len(states)}, {ends}, swaps every {first.exchange.every} steps"
    elif alchemical(first, system):
        facts["alchemy"] = list(dict.fromkeys(alchemical(part.config, system) for part in parts))
    if words := cutoffs(parts[0].config.nonbonded):
        facts["cutoffs"] = words
    facts["ignored"] = [f"{part.name}: {one}" for part in parts for one in part.ignored]
    facts["results"] = _results(first.output.dir if not parts[0].name else first.output.dir.parent)
    facts["files"] = [line for part in parts for line in part.files(system)]
    facts["system"] = system_facts(system)
    facts["on this machine"] = _time(parts, system, state)
    return facts


def _check(part: _Part, system: System) -> None:
    """QuiltError if a part does not suit the system; of a stage it has its name."""
    try:
        check_selections(part.config, system)
        check_reporters(part.config)
    except QuiltError as error:
        raise QuiltError(f"stage {part.name}: {error}" if part.name else str(error)) from None


def _parts(settings: dict[str, Any], source: str) -> list[_Part]:
    if "exchange" in settings:
        return [_Part(build_config_of(ExchangeConfig, settings, source))]
    if "stage" not in settings:
        return [_Part(build_config(settings, source))]
    stages = stages_of(settings, source)
    return [_Part(one.config, one.folder.path.name, tuple(sorted(one.unused))) for one in stages]


def _results(path: Path) -> str:
    """Output folder, and earlier results in it."""
    folder = Folder(path)
    try:
        folder.refuse_to_replace()
    except QuiltError as error:
        return str(error)
    return str(path)


def _time(parts: list[_Part], system: System, state: State) -> str:
    """Estimated duration, from a few steps of the first part that has steps."""
    first = next((number for number, part in enumerate(parts) if part.config.run.steps), 0)
    timed = parts[first].config
    changes: dict[str, Any] = {}
    if any(part.config.run.minimize for part in parts[:first]):
        changes["minimize"] = True  # else overlaps heat the system, which takes longer
    replicas = 1
    if isinstance(timed, ExchangeConfig):
        replicas = len(timed.states())
        changes["device"] = timed.devices()[0]
    timed = timed.model_copy(update={"run": timed.run.model_copy(update=changes)})
    try:
        found: Estimate = estimate(timed, system, state)
    except QuiltError as error:
        return f"not measured: {error}"
    seconds = replicas * sum(found.seconds(part.config) for part in parts)
    of_each = f", one replica after another on {found.device}" if replicas > 1 else ""
    return (
        f"about {clock(seconds)} at {found.speed(timed):.3g} ns/day on {found.device}{of_each}, by "
        "a few steps just now"
    )
