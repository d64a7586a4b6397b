# SPDX-License-Identifier: Apache-2.0
"""Files given as arguments of commands: a configuration, a topology, coordinates.

All commands take them in the same form, `TOPOLOGY COORDINATES`, or as the options -p and -c.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import QuiltError
from ..inputs import is_structure, topology_format
from ..inputs.control_files import is_control
from ..running.folder import Folder
from ..running.setting_fields import Place
from .options import Settings, flag_of

INPUTS: tuple[Place, ...] = (("system", "topology"), ("system", "coordinates"))
InputFiles = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[TOPOLOGY] [COORDINATES]", help="Same as the options -p and -c."),
]

IndexFile = Annotated[
    Path | None,
    typer.Option(
        "--index",
        "-n",
        metavar="FILE",
        help="GROMACS index file with the groups that an mdp file names.",
    ),
]


def with_inputs(files: list[Path] | None, settings: Settings) -> Settings:
    """Settings with a topology and coordinates that are arguments.

    Where an option has named the topology, a single file is the coordinates; so is the folder of a
    run, which goes on from its end.

    Raises
    ------
    QuiltError
        If there are more files than these, or one of them is no input.
    """
    files = files or []
    free = [place for place in INPUTS if place not in settings]
    if len(files) == 1 and files[0].is_dir():
        free = free[-1:]
    if len(files) > len(free):
        named = " and ".join(flag_of(place) for place in INPUTS if place in settings)
        beside = f" beside {named}" if named else ""
        raise QuiltError(
            f"expected a topology and coordinates, found {len(files)} files{beside}; parameter "
            "files are given by --parameters"
        )
    for file in files:
        if file.suffix == ".toml":
            raise QuiltError(
                f"{file} is a configuration, for 'quiltmd run' and 'quiltmd info': give a topology "
                "and coordinates"
            )
    return {**settings, **dict(zip(free, files, strict=False))}


def with_all_inputs(files: list[Path] | None, settings: Settings) -> Settings:
    """The same; a wrong use of the command where topology or coordinates are missing."""
    found = with_structure(with_inputs(files, settings))
    missing = [f"{place[1]} ({flag_of(place)})" for place in INPUTS if place not in found]
    if missing:
        raise typer.BadParameter(f"give a topology and coordinates: no {' and no '.join(missing)}")
    return found


def with_structure(settings: Settings) -> Settings:
    """Settings in which a file alone is both topology and coordinates: PDB, mmCIF, LAMMPS."""
    topology, coordinates = INPUTS
    if coordinates in settings or topology not in settings or not is_structure(settings[topology]):
        return settings
    return {**settings, coordinates: settings[topology]}


def split_configuration(
    files: list[Path] | None, settings: Settings
) -> tuple[Path | None, list[Path]]:
    """The configuration among files, if there is one, and the others, which are inputs.

    A single file that is neither a topology, nor coordinates of a topology that an option names,
    counts as a configuration.

    Raises
    ------
    QuiltError
        If there are two of them, or the folder of a run stands in the place of one.
    """
    files = files or []
    found = [file for file in files if is_configuration(file)]
    others = [file for file in files if file not in found]
    if len(found) > 1:
        raise QuiltError(f"two configurations, {found[0]} and {found[1]}: give one of them")
    if found or len(others) != 1 or INPUTS[0] in settings:
        return (found[0] if found else None), others
    file = others[0]
    if file.is_dir() and Folder(file).config.exists():
        raise QuiltError(
            f"{file} is the folder of a run: continue it with 'quiltmd run --resume {file}', or "
            f"start a new run from its end with a topology and '--coordinates {file}'"
        )
    is_topology = file.is_file() and topology_format(file) is not None
    return (None, others) if is_topology else (file, [])


def is_configuration(file: Path) -> bool:
    """Whether a file is a configuration: TOML by its name, others by how they begin."""
    return file.suffix == ".toml" or (file.is_file() and is_control(file))
