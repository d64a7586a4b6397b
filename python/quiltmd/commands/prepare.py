# SPDX-License-Identifier: Apache-2.0
"""`quiltmd prepare`: from a PDB or mmCIF file to files for a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..prepare.files import LOG, RUN
from ..prepare.notes import Note
from ..prepare.steps import Choices
from ..prepare.steps import prepare as prepare_all
from ..running.progress import say
from .prepare_options import with_choices


@with_choices
def prepare(
    choices: Choices,
    structure: Annotated[Path, typer.Argument(metavar="STRUCTURE", help="PDB or mmCIF file.")],
    out: Annotated[Path, typer.Option(help="Folder for the files.")] = Path("system"),
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the files of an earlier preparation.")
    ] = False,
) -> None:
    """Prepare a structure from a PDB or mmCIF file for simulation.

    Adds missing atoms, hydrogens, water, ions and, with --membrane, a membrane, and writes
    run.toml.  If a choice is needed, the command ends with an error that names the residue and the
    options.  prepare.log is a record of all steps.
    """
    _, notes = prepare_all(structure, out, choices, overwrite=overwrite, say=say)
    _tell(out, notes)


def _tell(out: Path, notes: tuple[Note, ...]) -> None:
    """Prints the points to check, the contents of the system, and the next command."""
    for note in notes:
        if note.check:
            say(f"look at: {note.topic}: {note.text}")
    say(f"{out / LOG}: record of all steps")
    say(f"next: quiltmd info {out / RUN}, then quiltmd run {out / RUN}")
