# SPDX-License-Identifier: Apache-2.0
"""GROMACS' index files (.ndx): groups of atoms by name.

Source: GROMACS Reference Manual, "File formats", ndx.
"""

from __future__ import annotations

from itertools import groupby

from ..errors import InputError
from ..reading.fixed_width import read_bytes
from ..reading.formats import Path
from ..reading.words import natural_number


def read_index(path: Path) -> dict[str, list[int]]:
    """Numbers of atoms, from 1 and as written, by the names of the groups in lower case.

    Raises
    ------
    InputError
        With file and line: what is not an atom number, or stands before the first group.
    """
    groups: dict[str, list[int]] = {}
    atoms: list[int] | None = None
    for number, raw in enumerate(read_bytes(path).decode("latin-1").split("\n"), start=1):
        line = raw.split(";", 1)[0].strip()
        if line.startswith("[") and line.endswith("]"):
            atoms = []
            groups.setdefault(line[1:-1].strip().lower(), atoms)  # GROMACS takes the first, too
            continue
        words = line.split()
        if words and atoms is None:
            raise InputError(
                f"'{words[0]}' stands before the first group: in an index file (.ndx) a line "
                "'[ name ]' begins each group, and its atom numbers follow",
                file=path,
                line=number,
            )
        for word in words:
            atom = natural_number(word)
            if not atom:
                raise InputError(
                    f"'{word}' is not an atom number: expected whole numbers from 1, or a line "
                    "'[ name ]', which begins a group",
                    file=path,
                    line=number,
                )
            assert atoms is not None
            atoms.append(atom)
    if not groups:
        raise InputError(
            "there are no groups: in an index file (.ndx) a line '[ name ]' begins each group, and "
            "its atom numbers follow",
            file=path,
        )
    return groups


def as_selection(atoms: list[int]) -> str:
    """The words of a selection that has these atoms, as runs of consecutive numbers."""
    numbers = sorted(set(atoms))
    runs = []
    for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        members = [atom for _, atom in run]
        runs.append(f"{members[0]}-{members[-1]}" if len(members) > 1 else str(members[0]))
    return f"index {' '.join(runs)}"
