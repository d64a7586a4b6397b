# SPDX-License-Identifier: Apache-2.0
"""Control files of other programs as settings of a run: mdin, mdp, NAMD's and LAMMPS' scripts.

A format is a module and a row of the table; `Control` says what comes of a file.
"""

from __future__ import annotations

from collections.abc import Callable

from ..amber.mdin import is_mdin, read_mdin
from ..errors import InputError
from ..gromacs.index import read_index
from ..gromacs.mdp import is_mdp, read_mdp
from ..lammps.dynamics import read_script
from ..lammps.script import is_script
from ..lammps.topology import check_commands
from ..namd.configuration import is_namd, read_namd
from ..reading.entries import Control
from ..reading.fixed_width import read_bytes
from ..reading.formats import HEAD, Path

__all__ = ["CONTROL_FILES", "Control", "is_control", "read_control"]


def _read_script(file: str) -> Control:
    control = read_script(file)
    check_commands(control)
    return control


# By the program, as the help names it: how a file is recognised, and its reader.
CONTROL_FILES: dict[str, tuple[Callable[[bytes], bool], Callable[[str], Control]]] = {
    "Amber (mdin)": (is_mdin, read_mdin),
    "GROMACS (mdp)": (is_mdp, read_mdp),
    "NAMD": (is_namd, read_namd),
    "LAMMPS (input script)": (is_script, _read_script),
}


def is_control(path: Path) -> bool:
    """Whether a file is a control file of another program, by how it begins."""
    head = read_bytes(path, limit=HEAD)
    return any(matches(head) for matches, _ in CONTROL_FILES.values())


def read_control(path: Path, index: Path | None = None) -> Control | None:
    """The content of a control file of another program; None where it is not one.

    Parameters
    ----------
    path:
        The file.
    index:
        An index file of GROMACS, whose groups of atoms an mdp names.

    Raises
    ------
    InputError
        With file and line: what is not understood; an index file beside another format.
    """
    head = read_bytes(path, limit=HEAD)
    if index is not None:
        if not is_mdp(head):
            raise InputError(
                "an index file is only used with an mdp file, and this is not one", file=path
            )
        return _checked(read_mdp(str(path), read_index(index)))
    readers = CONTROL_FILES.values()
    reader = next((reader for matches, reader in readers if matches(head)), None)
    return None if reader is None else _checked(reader(str(path)))


def _checked(control: Control) -> Control:
    control.check()
    return control
