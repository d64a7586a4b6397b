# SPDX-License-Identifier: Apache-2.0
"""`quiltmd exchange`: replica exchange from a TOML file, on from a folder, or what it did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from ..engine.hosts import started_together
from ..errors import QuiltError
from ..exchange import runner
from ..exchange.analysis import History, read_history
from ..exchange.config import ExchangeConfig
from ..exchange.demux import demultiplex
from ..outputs.files import writing
from ..running.config import build_config_of, merge, read_config
from ..running.progress import say
from ..workers import mpi
from .arguments import INPUTS, split_configuration, with_inputs
from .exchange_page import iterations_in_words
from .run import exit_as_stopped
from .sectioned_command import AsJson
from .tables import out, show_table


def exchange(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[CONFIG] [TOPOLOGY] [COORDINATES]",
            help="Configuration (TOML); topology and coordinates override those of the file.",
        ),
    ] = None,
    topology: Annotated[
        Path | None, typer.Option("--topology", "-p", help="Topology file.")
    ] = None,
    coordinates: Annotated[
        Path | None, typer.Option("--coordinates", "-c", help="Coordinate file.")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Continue the exchange in this folder.")
    ] = None,
    analyse: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Print acceptance and round trips of the exchange in this folder."
        ),
    ] = None,
    demux: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write one trajectory for each replica, for the exchange in this folder.",
        ),
    ] = None,
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite", help="Move earlier results in the folder to its subfolder backup.N."
        ),
    ] = False,
    steps: Annotated[
        int | None,
        typer.Option(min=0, help="With --resume: new total number of steps of each replica."),
    ] = None,
    devices: Annotated[
        str | None,
        typer.Option(
            metavar="DEVICE;...", help="With --resume: new devices, separated by semicolons."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run replica exchange: temperatures, REST2, lambdas or umbrella windows.

    CONFIG is a TOML file as for quiltmd run, with an additional section [exchange].  Exit statuses
    are those of quiltmd run.
    Under mpirun the replicas are assigned to the processes, and the first process reads and writes
    all files.  --analyse prints acceptance and round trips and draws exchange.png.  --demux sorts
    the frames of the states' trajectories into one trajectory for each replica.
    """
    mpi.join()
    options = dict(zip(INPUTS, (topology, coordinates), strict=True))
    named = {place: file for place, file in options.items() if file is not None}
    config, others = split_configuration(files, named)
    if sum(one is not None for one in (config, resume, analyse, demux)) != 1:
        raise QuiltError("give one of: a configuration, --resume DIR, --analyse DIR, --demux DIR")
    if config is None and (others or named):
        raise QuiltError(
            "topology and coordinates are only used with a configuration: leave them out"
        )
    if demux is not None:
        for path in demultiplex(demux):
            print(path)
        return
    if analyse is not None:
        _analyse(analyse, as_json)
        return
    if resume is not None:
        flags: dict[tuple[str, str], Any] = {("run", "steps"): steps}
        flags[("exchange", "devices")] = _devices(devices)
        outcome = runner.resume(resume, flags)
    else:
        if steps is not None or devices is not None:
            raise QuiltError(
                "--steps and --devices are only used with --resume: set them in the configuration"
            )
        assert config is not None
        settings = merge(read_config(config), with_inputs(others, named))
        made = build_config_of(ExchangeConfig, settings, str(config))
        outcome = runner.start(made, overwrite)
    exit_as_stopped(outcome)


def _devices(listed: str | None) -> list[str] | None:
    """Devices that replace those of the configuration; None: no change.  MPI chooses its own."""
    if started_together and listed is None:
        return []
    return None if listed is None else listed.split(";")


def _analyse(folder: Path, as_json: bool) -> None:
    history = read_history(folder)
    summary = history.summary()
    if as_json:
        print(json.dumps(summary))
    else:
        _show(history, summary)
    try:
        with writing(folder / runner.PLOT):
            history.plot(folder / runner.PLOT)
    except QuiltError as error:
        say(str(error))
    else:
        say(f"a picture is in {folder / runner.PLOT}")


def _show(history: History, summary: dict[str, Any]) -> None:
    table = Table(
        "state", "swaps with the next", "mean potential, kJ/mol", "round trips of its first replica"
    )
    for k, name in enumerate(summary["states"]):
        rate = summary["acceptance"][k] if k + 1 < len(summary["states"]) else None
        table.add_row(
            name,
            "" if rate is None else f"{rate:.1%}",
            f"{summary['mean_energy'][k]:.1f}",
            str(summary["round_trips"][k]),
        )
    show_table(table)
    out.print(
        f"{summary['iterations']} iterations; relaxation time of replica positions: "
        f"{iterations_in_words(summary['relaxation'])}",
        markup=False,
    )
