# SPDX-License-Identifier: Apache-2.0
"""`quiltmd convert`: a system and its state in other formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..description.nonbonded import Nonbonded
from ..errors import QuiltError
from ..openmm.write import write_openmm, write_openmm_state
from ..running.config import build_config, merge
from ..running.progress import say
from ..running.run_inputs import load_system
from .arguments import InputFiles, with_all_inputs
from .options import Settings, with_settings

_NOTHING: dict[str, Any] = {"run": {"steps": 0}, "output": {"dir": "."}}


@with_settings(
    "system.topology",
    "system.coordinates",
    "system.parameters",
    "system.defines",
    "system.box",
    "system.constraints",
    "system.rigid_water",
    "nonbonded",
    defaults={("system", "constraints"): "none", ("system", "rigid_water"): False},
)
def convert(
    settings: Settings,
    files: InputFiles = None,
    system: Annotated[
        Path | None,
        typer.Option(
            "--system", metavar="OUT.xml", help="Write the system to this OpenMM System XML file."
        ),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(
            "--state", metavar="OUT.xml", help="Write the state to this OpenMM State XML file."
        ),
    ] = None,
    frame: Annotated[
        int,
        typer.Option(help="Frame of a trajectory, counted from 0, or from the end if negative."),
    ] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace existing files.")] = False,
) -> None:
    """Convert a system and its state to OpenMM XML.

    If an energy term cannot be written, the conversion ends with an error that names the term.  By
    default no constraints are added to those of the files.
    """
    if system is None and state is None:
        raise QuiltError("nothing to write: give --system OUT.xml, --state OUT.xml or both")
    for path in (system, state):
        if path is not None and path.exists() and not overwrite:
            raise QuiltError(f"{path} exists: give --overwrite to replace it")
    config = build_config(merge(_NOTHING, with_all_inputs(files, settings)))
    made, place = load_system(config, frame)
    if system is not None:
        chosen: Nonbonded = config.following(made).nonbonded
        write_openmm(system, made, chosen, place.box)
        say(f"{made.atoms} atoms in {system}")
        if chosen.pme_order == 4:
            say("pme_order 4 is not written: splines of OpenMM's PME have order 5")
        if chosen.pme_bandwidth is not None:
            say(
                "pme_bandwidth and pme_grid are not written: OpenMM has no prolate split and "
                f"chooses alpha and grid for an error tolerance of {chosen.pme_tolerance:g}"
            )
    if state is not None:
        write_openmm_state(state, made, place)
        box = " and box" if place.box is not None else ""
        say(f"positions, velocities{box} in {state}")
