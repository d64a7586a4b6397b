# SPDX-License-Identifier: Apache-2.0
"""`quiltmd run`: a simulation from a TOML file, from options, or on from a checkpoint."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated, Any

import typer

from ..engine.hosts import started_together
from ..errors import QuiltError
from ..inputs.control_files import CONTROL_FILES, read_control
from ..running import runner, stages
from ..running.config import Config, build_config, merge, read_config
from ..running.folder import Folder
from ..running.progress import say
from ..running.setting_fields import may_change, required_settings
from ..running.stopping import INTERRUPTED, STOPPED
from ..workers import mpi
from .arguments import IndexFile, split_configuration, with_inputs, with_structure
from .options import Settings, flag_of, naming_options, with_settings

*_MOST, _LAST = CONTROL_FILES
_LISTED = 5  # of what a control file asks for and cannot have; `quiltmd info` lists all


@with_settings(
    "system",
    "nonbonded",
    "solvent",
    "integrator",
    "thermostat",
    "barostat",
    "restraints",
    "run",
    "workers",
    "output",
    "imd.port",
)
def run(
    settings: Settings,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[CONFIG] [TOPOLOGY] [COORDINATES]",
            help="Configuration: TOML, or a control file of "
            f"{', '.join(_MOST)} or {_LAST}; options override it. Topology and coordinates: "
            "same as the options -p and -c.",
        ),
    ] = None,
    index: IndexFile = None,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Continue the run in this folder from its checkpoint."),
    ] = None,
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite", help="Move earlier results in the folder to its subfolder backup.N."
        ),
    ] = False,
) -> None:
    """Run a simulation, or continue one from its checkpoint.

    Settings come from a file, from options, or from both; options override the file,
    except settings in its [[stage]] tables.

    A control file of another program is translated: settings that have no effect in Quilt are
    listed, and unsupported settings are refused.

    With --resume only these options are accepted: OPTIONS, and the settings of workers; FILES give
    the new paths of input files that have moved.

    Under mpirun each process is a rank of the simulation; the first process reads and writes all
    files.

    Exit status: 0 when all steps are done, 130 after Ctrl-C, 75 when stopped by another signal
    (SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU) or by --max-hours; --resume continues such a run.
    """
    mpi.join()
    if started_together:
        settings = _on_the_hosts_of_the_launcher(settings)
    if resume is not None:
        _refuse_with_resume(resume, files or [], settings, overwrite, index)
        carry_on = stages.resume if stages.has_stages(resume.absolute()) else runner.resume
        outcome = carry_on(resume, settings)
    else:
        config, inputs = split_configuration(files, settings)
        outcome = _start(config, index, with_inputs(inputs, settings), overwrite)
    exit_as_stopped(outcome)


def _say_what_may_change(text: str) -> str:
    """The help with the options that may be given with --resume."""
    for word, sections in (("OPTIONS", ("run", "output", "imd")), ("FILES", ("system",))):
        flags = [flag_of(at) for at in may_change(Config) if at[0] in sections]
        text = text.replace(word, ", ".join(flags))
    return text


run.__doc__ = _say_what_may_change(str(run.__doc__))


def _start(
    config: Path | None, index: Path | None, options: Settings, overwrite: bool
) -> runner.Outcome:
    """A new run, in stages where the configuration has some."""
    if config is None and index is not None:
        raise QuiltError("leave out --index: it is only used with an mdp file")
    in_file = _settings_of(config, index) if config is not None else {}
    source = str(config) if config is not None else ""
    merged = merge(in_file, options if config is not None else with_structure(options))
    if config is None or config.suffix != ".toml":
        _refuse_if_incomplete(merged, source)
    with naming_options(options):
        if "stage" not in merged:
            return runner.start(build_config(merged, source), overwrite)
        _refuse_without_effect(merged, options)
        return stages.start(merged, source, overwrite)


def _refuse_if_incomplete(settings: dict[str, Any], source: str) -> None:
    """QuiltError that names the options without which there is nothing to run.

    Control files of other programs may leave topology and coordinates to options, as there.
    """
    sections = ("system", "run", "output")
    places = [(name, key) for name in sections for key in required_settings(name, Config)]
    missing = ", ".join(flag_of(at) for at in places if at[1] not in settings.get(at[0], {}))
    if missing and source:
        raise QuiltError(f"{source}: give also {missing}")
    if missing:
        raise QuiltError(f"nothing to run: give a configuration file, or also {missing}")


def _refuse_without_effect(merged: dict[str, Any], options: Settings) -> None:
    """QuiltError if every stage has its own of what an option sets."""
    replaced = [flag_of(at) for at in stages.replaced_in_all(merged) if at in options]
    if replaced:
        names = ", ".join(replaced)
        raise QuiltError(
            f"each stage sets {names}, and an option does not override it: leave the option out, "
            f"and edit the stages"
        )


def _on_the_hosts_of_the_launcher(settings: Settings) -> Settings:
    """Hosts of the configuration do not hold; that a run is started where it is says which do."""
    if ("run", "hosts") in settings:
        raise QuiltError("leave out --hosts: the MPI launcher chooses the hosts")
    return {**settings, ("run", "hosts"): ()}


def exit_as_stopped(outcome: runner.Outcome) -> None:
    """The exit status of a run that stopped before its last step, if it did."""
    if outcome.interrupted:
        raise typer.Exit(INTERRUPTED if outcome.signal == signal.SIGINT else STOPPED)


def _settings_of(path: Path, index: Path | None = None) -> dict[str, Any]:
    """Settings of a TOML file, or of a control file of another program."""
    control = read_control(path, index) if path.suffix != ".toml" else None
    if control is None:
        if index is not None:
            raise QuiltError(
                f"leave out --index: it is only used with an mdp file, and {path} is not one"
            )
        return read_config(path)
    if control.refused:
        faults = "; ".join(control.refused[:_LISTED])
        if len(control.refused) > _LISTED:
            more = len(control.refused) - _LISTED
            faults += f"; and {more} more, which 'quiltmd info {path}' lists"
        raise QuiltError(f"{path}: not supported: {faults}")
    for note in control.notes:
        say(f"{path}: {note}")
    control.settings.setdefault("output", {}).setdefault("dir", f"{path.stem}-quilt")
    return control.settings


def _refuse_with_resume(
    resume: Path, files: list[Path], settings: Settings, overwrite: bool, index: Path | None
) -> None:
    """A resumed run takes its settings from its folder; saying otherwise is a mistake."""
    changeable = may_change(Config)
    given = [flag_of(place) for place in settings if place not in changeable]
    given += map(str, files)
    if overwrite:
        given.append("--overwrite")
    if index is not None:
        given.append("--index")
    if given:
        names = ", ".join(given)
        anew = Folder(resume.absolute()).how_to_begin_anew()
        raise QuiltError(
            f"--resume takes its settings from the run's folder; leave out {names}{anew}"
        )
