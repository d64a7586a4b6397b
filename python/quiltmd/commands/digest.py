# SPDX-License-Identifier: Apache-2.0
"""`quiltmd digest`: a checksum of a state, to compare runs bit by bit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..outputs.checkpoint import digest as digest_of
from ..outputs.checkpoint import read_checkpoint
from ..running.folder import Folder


def digest(
    checkpoint: Annotated[
        Path,
        typer.Argument(
            metavar="CHECKPOINT",
            help="Checkpoint file, or folder of a run for its last checkpoint.",
        ),
    ],
) -> None:
    """Print the SHA-256 of the State in a checkpoint."""
    path = checkpoint
    if checkpoint.is_dir():
        folder = Folder(checkpoint.absolute())
        path = folder.checkpoint
        if not path.exists():
            folder.settings_of_run()  # says why there is none
    print(digest_of(read_checkpoint(path).state))
