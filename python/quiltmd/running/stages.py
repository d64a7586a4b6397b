# SPDX-License-Identifier: Apache-2.0
"""Stages: several runs in one configuration, each from where the one before it ended.

A stage is a run like any other, with a folder of its own in that of all, so everything that holds
for runs holds for it: it can be resumed, watched and reported.  What is different in a stage stands
in its [[stage]] table; all else is as in the other sections.  Going on after a stop needs no record
of its own: the first stage whose checkpoint is not at its last step is where to go on.
"""

from __future__ import annotations

import os
import re
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from ..description.impulses import check_impulses
from ..description.restraints import restrain
from ..description.settings import derived_seed
from ..description.state import State
from ..engine.core import EngineFactory
from ..errors import QuiltError
from ..outputs.checkpoint import previous_path, read_latest
from ..outputs.files import remove, replace_file
from ..workers.factory import make_engine
from . import runner
from .before import check_reporters, check_selections
from .chosen_settings import as_begun
from .config import Config, build_config, merge, read_config
from .folder import Folder
from .identity import changed_settings
from .output_sections import stage_folder
from .paths import make_absolute
from .progress import say, warn
from .run_inputs import load_system
from .runner import MAX_HOURS, Outcome
from .setting_fields import as_json, as_spelt, may_change
from .unused import unused_settings

_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")
_BEGINS = {"integrator": "temperature", "barostat": "pressure"}  # what annealing begins with
_ELSEWHERE = {  # what all stages share, or have from the order of stages
    "system": "all stages are of one system",
    "dir": "each stage has its folder in that of the run",
}


@dataclass(frozen=True)
class Stage:
    """A stage: its name, its run, the settings of which this is made.

    `unused` has common settings without effect in the stage, which it leaves out.
    """

    name: str
    config: Config
    settings: dict[str, Any]
    unused: frozenset[str] = frozenset()

    @property
    def folder(self) -> Folder:
        """Folder of its results."""
        return Folder(self.config.output.dir, self.config.file_names())

    def is_done(self) -> bool:
        """Whether it has reached its last step and written its last structures."""
        if not self.is_begun():
            return False
        kinds = [kind for kind in self.config.output.final if kind != "pdb"]  # which may not fit
        return self.is_at_end() and all(self.folder.final(kind).exists() for kind in kinds)

    def is_at_end(self) -> bool:
        """Whether one that has begun has reached its last step."""
        checkpoint, _ = read_latest(self.folder.checkpoint)
        return checkpoint.stage == "dynamics" and checkpoint.state.step >= self.last_step()

    def steps(self) -> int:
        """Number of steps; a stage that was resumed by itself may have more than it began with."""
        path = self.folder.config
        own = self.folder.settings()["run"]["steps"] if path.exists() else 0
        return max(own, self.config.run.steps)

    def last_step(self) -> int:
        """The step at which it ends."""
        return self.config.run.first_step + self.steps()

    def changes(self) -> dict[tuple[str, str], Any]:
        """Present values of the settings that may change on resume."""
        stated = {
            (section, key): value
            for section in ("run", "output", "workers", "imd")
            for key, value in self.settings.get(section, {}).items()
        }
        changed = {at: stated[at] for at in may_change(Config) if at in stated}
        return changed | {("run", "steps"): self.steps()}

    def is_begun(self) -> bool:
        """Whether it has a checkpoint to go on from."""
        path = self.folder.checkpoint
        return path.exists() or previous_path(path).exists()


def start(
    settings: dict[str, Any],
    source: str = "",
    overwrite: bool = False,
    engine: EngineFactory = make_engine,
) -> Outcome:
    """Runs all stages of a new run.

    Parameters
    ----------
    settings:
        Settings of a configuration with [[stage]] tables.
    source, overwrite, engine:
        As for `build_config` and `runner.start`.
    """
    make_absolute(settings, Path.cwd())  # those of options, as config.toml keeps them
    stages = stages_of(settings, source)
    if replaced := replaced_in_all(settings):
        names = ", ".join(f"{key} of [{name}]" if key else f"[[{name}]]" for name, key in replaced)
        warn(f"every stage has its own {names}: none follows that of the run")
    _refuse_later_mistakes(stages)
    for stage in stages:
        stage.folder.refuse_names(stage.config)
    root = stages[0].config.output.dir.parent
    folder = Folder(root, [stage.config.output.dir.name for stage in stages])
    with folder.owned():
        if overwrite:
            moved = folder.move_aside(stages[0].config)
            settings = _with_inputs(settings, moved)
        else:
            folder.refuse_to_replace()
        replace_file(folder.config, _as_toml(settings))
        try:
            return _run(stages_of(settings, source), {}, root, engine)
        except BaseException:
            if not stages[0].folder.config.exists():  # it did not even load
                remove(folder.config)
            raise


def replaced_in_all(settings: dict[str, Any]) -> list[tuple[str, str]]:
    """Settings of a run (section, key) that every stage replaces; lists of tables have no key."""
    kept: set[tuple[str, str]] = set()
    given = {
        (section, key)
        for section, value in settings.items()
        for key in (value if isinstance(value, dict) else [""])
    }
    for table in settings["stage"]:
        own = {name: dict(value) for name, value in table.items() if isinstance(value, dict)}
        for section, begins in _BEGINS.items():
            if "annealing" in own.get(section, {}):
                own[section].setdefault(begins, None)
        kept |= {
            (section, key)
            for section, key in given
            if section not in table or (key and key not in own.get(section, {}))
        }
    return sorted(given - kept - {("stage", "")})


def _refuse_later_mistakes(stages: list[Stage]) -> None:
    """QuiltError if a stage after the first does not suit the system, before any begins."""
    if len(stages) == 1:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the first stage warns
        own = {"restraint": (), "custom": (), "metadynamics": None}  # of each stage, not shared
        system, state = load_system(stages[0].config.model_copy(update=own))
    for stage in stages:
        with _naming(stage):
            check_reporters(stage.config)
    for stage in stages[1:]:
        with _naming(stage):
            config = stage.config.following(system)
            check_selections(config, system)
            restrained = restrain(system, config.restraint, state.positions, state.box)
            if config.metadynamics is not None:
                config.metadynamics.axes(restrained)
            for force in config.custom:
                force.apply(system)
            config.nonbonded.resolve(state.box)
            if config.nonbonded.method in ("pme", "fmm"):
                check_impulses(config.make_integrator(), system)


def resume(
    directory: str | os.PathLike[str],
    flags: dict[tuple[str, str], Any] | None = None,
    engine: EngineFactory = make_engine,
) -> Outcome:
    """Goes on with the stage at which a run stopped, then with those after it.

    Parameters
    ----------
    directory:
        The folder of all stages.
    flags, engine:
        As for `runner.resume`; the number of steps is that of a stage, and cannot change here.
    """
    flags = flags or {}
    root = Path(directory).absolute()
    if ("run", "steps") in flags:
        raise QuiltError(
            "each stage has its own number of steps: resume the stage itself to change it, "
            f"{root}/1-NAME"
        )
    folder = Folder(root)
    with folder.owned():
        kept = {at: value for at, value in flags.items() if at != MAX_HOURS}
        settings = merge(folder.settings(), {**kept, ("output", "dir"): root})
        stages = stages_of(settings, str(folder.config))
        _refuse_gaps(stages)
        _refuse_edits(stages)
        return _run(stages, flags, root, engine)


def _refuse_gaps(stages: list[Stage]) -> None:
    """QuiltError if a stage has no checkpoint and a later one, which began at its end, has."""
    for stage, following in pairwise(stages):
        if following.is_begun() and not stage.is_begun():
            raise QuiltError(
                f"stage {stage.name} has no checkpoint in {stage.config.output.dir}, but stage "
                f"{following.name}, which began where it ended, has one: put it back; or move "
                "the folders of later stages away to run all from there again; or resume "
                f"{following.config.output.dir} by itself"
            )


def _refuse_edits(stages: list[Stage]) -> None:
    """QuiltError if a stage that has begun is described otherwise now: it would be ignored."""
    for stage, following in zip(stages, [*stages[1:], None], strict=True):
        if not stage.is_begun():
            continue
        checkpoint, _ = read_latest(stage.folder.checkpoint)
        began = build_config(stage.folder.settings(), str(stage.folder.config))
        # Settings that nobody stated may follow from the inputs: they stay as when the stage began.
        config = as_begun(stage.config.over(began.nonbonded), checkpoint.provenance["physics"])
        left = stage.config.open_settings()
        now = {"physics": config.physics(checkpoint.state.box), "outputs": config.outputs()}
        found = [
            {
                group: {key: value for key, value in settings[group].items() if key not in left}
                for group in now.keys() & settings.keys()
            }
            for settings in (checkpoint.provenance, now)
        ]
        changes = changed_settings(*found)
        if following is not None and following.is_begun() and not stage.is_at_end():
            last = stage.last_step()
            changes.append(f"run.steps (stage {following.name} began before step {last})")
        if changes:
            raise QuiltError(
                f"stage {stage.name} began with other settings than config.toml of all stages "
                f"now has: "
                f"{', '.join(changes)}; restore them, or move {config.output.dir} and the folders "
                "of later stages away to run all from there again"
            )


def has_stages(folder: Path) -> bool:
    """Whether the run in a folder has stages."""
    path = Folder(folder).config
    return path.exists() and "stage" in read_config(path)


def stages_of(settings: dict[str, Any], source: str = "") -> list[Stage]:
    """The stages of a configuration; QuiltError names the stage that is at fault."""
    tables = settings.get("stage")
    if not isinstance(tables, list) or not tables:
        raise QuiltError(f"{source}: stages are tables, each headed [[stage]]".lstrip(": "))
    common = {name: section for name, section in settings.items() if name != "stage"}
    stages: list[Stage] = []
    useless: list[set[str]] = []
    for number, table in enumerate(tables, 1):
        name = table.get("name")
        where = f"{source}: [[stage]] {number}".lstrip(": ")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise QuiltError(f"{where}: needs a name, of letters, digits, '-', '_' and '.'")
        if name in [stage.name for stage in stages]:
            raise QuiltError(f"{where}: there are two stages named {name!r}")
        merged = _merged(common, table, where)
        useless.append(_leave_out_unused(merged, table))
        system = merged.get("system")
        if number > 1 and isinstance(system, dict) and "velocities" in system:
            del system["velocities"]  # they are of the start, as the coordinates are
            useless[-1].add("velocities of [system]")
        if isinstance(merged.get("output"), dict) and "dir" in merged["output"]:
            merged["output"]["dir"] = Path(merged["output"]["dir"]) / stage_folder(number, name)
        config = build_config(merged, f"{where} ({name})")
        if "seed" not in table.get("integrator", {}):
            config = _with_other_noise(config, number)
        stages.append(Stage(name, config, merged, frozenset(useless[-1])))
    if names := ", ".join(sorted(set.intersection(*useless))):
        raise QuiltError(f"{source}: no stage uses {names}: leave it out".lstrip(": "))
    return stages


def _merged(common: dict[str, Any], table: dict[str, Any], where: str) -> dict[str, Any]:
    """The settings of a stage: those of the run, and on top of them its own."""
    own = {section: value for section, value in table.items() if section != "name"}
    for section, value in own.items():
        for key in (section, *(value if section == "output" else ())):
            if key in _ELSEWHERE:
                raise QuiltError(f"{where}: leave out {key}: {_ELSEWHERE[key]}")
    merged = as_spelt(merge(common, {}), Config)
    for section, value in as_spelt(own, Config).items():
        before = merged.get(section)
        if isinstance(before, dict) and isinstance(value, dict):
            merged[section] = before | value
        else:
            merged[section] = value
    for section, begins in _BEGINS.items():
        value = own.get(section)
        if isinstance(value, dict) and "annealing" in value and begins not in value:
            merged[section].pop(begins, None)  # that of the run, with which this does not begin
    return merged


def _with_other_noise(config: Config, number: int) -> Config:
    """A stage with a seed of its own that follows from that of the run, but for the first.

    Noise is a function of seed and step, and every stage begins with step 0.
    """
    seed = config.integrator.seed
    if seed is None or number == 1:
        return config
    integrator = config.integrator.model_copy(update={"seed": derived_seed(seed, number)})
    return config.model_copy(update={"integrator": integrator})


def _leave_out_unused(merged: dict[str, Any], own: dict[str, Any]) -> set[str]:
    """Leaves out common settings without effect in a stage, such as those of a barostat.

    Returns their names.  What the stage itself states stays, and is refused.
    """
    found = set()
    sections = {name: value for name, value in merged.items() if isinstance(value, dict)}
    for unused in unused_settings(merged, Config):
        section, stated = sections.get(unused.section, {}), own.get(unused.section, {})
        for key in unused.among([key for key in section if key not in stated]):
            del section[key]
            found.add(f"{key} of [{unused.section}]")
    return found


def _run(
    stages: list[Stage], flags: dict[tuple[str, str], Any], root: Path, engine: EngineFactory
) -> Outcome:
    """Runs the stages that are not done."""
    begun = time.monotonic()
    outcome = Outcome(0, False, 0.0)
    before: Stage | None = None
    for number, stage in enumerate(stages, 1):
        if stage.is_done():
            say(f"stage {number} of {len(stages)}, {stage.name}: done before")
        else:
            say(f"stage {number} of {len(stages)}, {stage.name}")
            with _naming(stage):
                outcome = _go(stage, before, flags, _hours_left(stage, flags, begun), root, engine)
        if outcome.interrupted:
            return outcome
        before = stage
    return outcome


def _go(
    stage: Stage,
    before: Stage | None,
    flags: dict[tuple[str, str], Any],
    hours: float | None,
    root: Path,
    engine: EngineFactory,
) -> Outcome:
    """One stage, from its checkpoint or from the end of the stage before it."""
    if stage.is_begun():
        changes = stage.changes() | flags | {MAX_HOURS: hours}
        return runner.resume(stage.config.output.dir, changes, engine, root)
    begin = None if before is None else _end_of(before, stage)
    # Files without a checkpoint were left by a stop before the first step.
    return runner.start(
        stage.config, overwrite=True, engine=engine, begin=begin, root=root, hours=hours
    )


def _end_of(before: Stage, stage: Stage) -> State:
    """State that a stage takes from the end of the previous stage."""
    last = read_latest(before.folder.checkpoint)[0].state
    if last.step == before.config.run.first_step and before.config.run.minimize:
        # Nothing has moved with its velocities: they give way to those of this stage's temperature.
        return State(last.positions, np.zeros_like(last.velocities), last.box)
    goes_on = not stage.config.run.begins_anew() and _chain(stage) == _chain(before)
    variables = last.variables if goes_on else {}
    return State(last.positions, last.velocities, last.box, variables=variables)


def _chain(stage: Stage) -> tuple[Any, ...]:
    """Settings on which thermostat variables depend; temperature and time step may change."""
    thermostat = stage.config.thermostat
    groups = [(group.select, group.time_constant) for group in stage.config.make_groups()]
    return thermostat.kind, thermostat.time_constant, thermostat.chain_length, groups


def _hours_left(stage: Stage, flags: dict[tuple[str, str], Any], begun: float) -> float | None:
    """Hours left of `max_hours`, which limits all stages together."""
    hours = flags.get(MAX_HOURS, stage.config.run.max_hours)
    return None if hours is None else max(hours - (time.monotonic() - begun) / 3600, 1e-9)


@contextmanager
def _naming(stage: Stage) -> Iterator[None]:
    """Errors inside say of which stage they are."""
    try:
        yield
    except QuiltError as error:
        raise QuiltError(f"stage {stage.name}: {error}") from None


def _with_inputs(settings: dict[str, Any], moved: Config) -> dict[str, Any]:
    """Settings with inputs where they are now."""
    system = moved.system
    names = ("topology", "coordinates", "velocities", "reference")
    flags: dict[tuple[str, str], Any] = {("system", name): getattr(system, name) for name in names}
    if system.parameters:
        flags["system", "parameters"] = list(system.parameters)
    if moved.second is not None:
        flags["alchemy", "second"] = as_json(moved.second)
    return merge(settings, flags)


def _as_toml(settings: dict[str, Any]) -> bytes:
    head = "# The stages of this run, which are in folders beside this file; read by --resume.\n\n"
    return (head + tomli_w.dumps(_plain(settings))).encode()


def _plain(value: Any) -> Any:
    """A value as TOML can have it."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value
