# SPDX-License-Identifier: Apache-2.0
"""Input files of a run: their contents, and what topologies include."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ..inputs import included_files
from ..outputs.files import hash_file, reading


def file_hash(path: Path) -> str:
    """SHA-256 of an input, in hexadecimal; QuiltError where it cannot be read."""
    with reading(path):
        return hash_file(path)


def files_beside(topology: Path, defines: Sequence[str]) -> dict[str, Path]:
    """Files that a topology includes from its own folder, by their names there."""
    folder = Path(os.path.abspath(topology)).parent
    found = (Path(os.path.abspath(file)) for file in included_files(topology, tuple(defines)))
    return {str(file.relative_to(folder)): file for file in found if folder in file.parents}
