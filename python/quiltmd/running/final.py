# SPDX-License-Identifier: Apache-2.0
"""Files of the last structure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from ..amber.write import write_restart, write_rst7
from ..errors import FormatLimitError
from ..gromacs.write import write_gro
from ..namd.write import write_namd
from ..outputs.readout import Readout
from ..outputs.structures import pdb_limit, write_cif, write_pdb
from .folder import Folder
from .progress import say

_WRITERS: dict[str, Callable[[Path, Readout], None]] = {
    "cif": write_cif,
    "pdb": write_pdb,
    "gro": write_gro,
    "ncrst": write_restart,
    "rst7": write_rst7,
    "namd": write_namd,
}


def write_final(kinds: Iterable[str], folder: Folder, simulation: Readout) -> None:
    """Writes the last structure in each of these formats, and says where it does not fit."""
    for kind in kinds:
        limit = pdb_limit(simulation) if kind == "pdb" else None
        if limit is not None:
            say(f"no {folder.final(kind).name}: {limit}; mmCIF has room ('cif' in final)")
            continue
        try:
            _WRITERS[kind](folder.final(kind), simulation)
        except FormatLimitError as error:
            say(f"no {folder.final(kind).name}: {error}")
