# SPDX-License-Identifier: Apache-2.0
"""The Amber topology file as named sections of numbers, before any physics.

Two layouts exist. Since Amber 7, every section has a header (%FLAG,
%FORMAT). Before, sections followed one another in fixed formats and a fixed
order, their lengths given by the counts at the top; those files are brought
into the same named sections here, so that nothing later needs to know.

Source of the format: ambermd.org/prmtop.pdf ("Amber file formats").
"""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..reading.fixed_width import Columns, read_bytes

# Names of the counts at the top, in their order.
_POINTERS = (
    "NATOM NTYPES NBONH MBONA NTHETH MTHETA NPHIH MPHIA NHPARM NPARM NNB NRES NBONA NTHETA NPHIA "
    "NUMBND NUMANG NPTRA NATYP NPHB IFPERT NBPER NGPER NDPER MBPER MGPER MDPER IFBOX NMXRS IFCAP "
    "NUMEXTRA NCOPY"
)
POINTERS = _POINTERS.split()

# Columns and their width, of at most two and three digits: a line has 80 characters, or few more.
# Maps have 8(F9.5).
_FORMAT = re.compile(rb"%FORMAT\s*\(\s*([1-9]\d?)\s*\(?([aAiIeEfFgG])([1-9]\d{0,2})(?:\.\d+)?\s*\)")

# Old layout: section, columns per line, column width, and its length as (factor, count).
_TEXT, _INTEGER, _REAL = (20, 4), (12, 6), (5, 16)
_OLD_SECTIONS = (
    ("ATOM_NAME", _TEXT, 1, "NATOM"),
    ("CHARGE", _REAL, 1, "NATOM"),
    ("MASS", _REAL, 1, "NATOM"),
    ("ATOM_TYPE_INDEX", _INTEGER, 1, "NATOM"),
    ("NUMBER_EXCLUDED_ATOMS", _INTEGER, 1, "NATOM"),
    ("NONBONDED_PARM_INDEX", _INTEGER, 1, "NTYPES^2"),
    ("RESIDUE_LABEL", _TEXT, 1, "NRES"),
    ("RESIDUE_POINTER", _INTEGER, 1, "NRES"),
    ("BOND_FORCE_CONSTANT", _REAL, 1, "NUMBND"),
    ("BOND_EQUIL_VALUE", _REAL, 1, "NUMBND"),
    ("ANGLE_FORCE_CONSTANT", _REAL, 1, "NUMANG"),
    ("ANGLE_EQUIL_VALUE", _REAL, 1, "NUMANG"),
    ("DIHEDRAL_FORCE_CONSTANT", _REAL, 1, "NPTRA"),
    ("DIHEDRAL_PERIODICITY", _REAL, 1, "NPTRA"),
    ("DIHEDRAL_PHASE", _REAL, 1, "NPTRA"),
    ("SOLTY", _REAL, 1, "NATYP"),
    ("LENNARD_JONES_ACOEF", _REAL, 1, "NTYPES(NTYPES+1)/2"),
    ("LENNARD_JONES_BCOEF", _REAL, 1, "NTYPES(NTYPES+1)/2"),
    ("BONDS_INC_HYDROGEN", _INTEGER, 3, "NBONH"),
    ("BONDS_WITHOUT_HYDROGEN", _INTEGER, 3, "NBONA"),
    ("ANGLES_INC_HYDROGEN", _INTEGER, 4, "NTHETH"),
    ("ANGLES_WITHOUT_HYDROGEN", _INTEGER, 4, "NTHETA"),
    ("DIHEDRALS_INC_HYDROGEN", _INTEGER, 5, "NPHIH"),
    ("DIHEDRALS_WITHOUT_HYDROGEN", _INTEGER, 5, "NPHIA"),
    ("EXCLUDED_ATOMS_LIST", _INTEGER, 1, "NNB"),
    ("HBOND_ACOEF", _REAL, 1, "NPHB"),
    ("HBOND_BCOEF", _REAL, 1, "NPHB"),
)


class PrmtopFile:
    """Sections of an Amber topology file.

    Attributes
    ----------
    file:
        Its path, for messages.
    sections:
        Name -> columns, as they stand in the file; with none per line where
        the %FORMAT is not understood, an error if that section is needed.
    counts:
        The POINTERS by name; counts that an old file lacks are 0.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.file = os.fspath(path)
        lines = read_bytes(path).split(b"\n")
        self._new = any(line.startswith((b"%FLAG", b"%VERSION")) for line in lines[:20])
        if self._new:
            self.sections = _flagged_sections(self.file, lines)
            self.counts = self._read_counts()
        else:
            pointers = Columns(self.file, "POINTERS", 2, lines[1:4], 12, 6)
            self.sections = {"POINTERS": pointers}
            self.counts = self._read_counts()
            self.sections |= _old_sections(self.file, lines, self.counts)

    @property
    def chamber(self) -> bool:
        """Whether the file holds CHARMM's force field (CHAMBER): its title is a CTITLE."""
        return "CTITLE" in self.sections

    def integers(self, name: str, count: int) -> npt.NDArray[np.int64]:
        """A section of whole numbers, (count,)."""
        return self._section(name).numbers(count, int)

    def reals(self, name: str, count: int) -> npt.NDArray[np.float64]:
        """A section of real numbers, (count,)."""
        return self._section(name).numbers(count, float)

    def texts(self, name: str, count: int) -> npt.NDArray[np.str_]:
        """A section of names, (count,), without blanks around them."""
        stripped = np.char.strip(self._section(name).texts(count))
        return np.char.decode(stripped, "latin-1")

    def error(self, name: str, index: int, message: str) -> InputError:
        """An error about value `index` of a section."""
        return InputError(f"{name}: {message}", file=self.file, line=self.line_of(name, index))

    def line_of(self, name: str, index: int) -> int:
        """Line of value `index` of a section."""
        return self._section(name).line_of(index)

    def _section(self, name: str) -> Columns:
        if name not in self.sections:
            raise InputError(
                f"section {name} is missing; the file is truncated or not an Amber topology",
                file=self.file,
            )
        if self.sections[name].per_line == 0:
            line = self.sections[name].line - 1
            message = f"the %FORMAT of section {name} is not understood"
            raise InputError(message, file=self.file, line=line)
        return self.sections[name]

    def _read_counts(self) -> dict[str, int]:
        known = len(POINTERS) if self._new else 30
        given = min(self._section("POINTERS").count(), known)
        try:
            values = self.integers("POINTERS", given).tolist()
        except InputError:
            if self._new:
                raise
            values = []
        if len(values) < 30 or min(values[:20]) < 0 or values[0] < 1:
            where = "section POINTERS" if self._new else "line 2"
            raise InputError(
                f"not an Amber topology: {where} does not hold the counts that one begins with",
                file=self.file,
            )
        return dict.fromkeys(POINTERS, 0) | dict(zip(POINTERS, values, strict=False))


def _flagged_sections(file: str, lines: list[bytes]) -> dict[str, Columns]:
    sections: dict[str, Columns] = {}
    starts = [number for number, line in enumerate(lines) if line.startswith(b"%FLAG")]
    ends = [*starts[1:], len(lines)]
    for start, end in zip(starts, ends, strict=False):
        words = lines[start].decode("latin-1").split()
        if len(words) < 2:
            raise InputError("%FLAG without a name", file=file, line=start + 1)
        if words[1] in sections:
            message = f"section {words[1]} occurs a second time"
            raise InputError(message, file=file, line=start + 1)
        first = start + 1
        layout = (1, 80)
        while first < end and lines[first].startswith(b"%"):
            if lines[first].startswith(b"%FORMAT"):
                match = _FORMAT.match(lines[first])
                layout = (int(match[1]), int(match[3])) if match else (0, 0)
            first += 1
        sections[words[1]] = Columns(file, words[1], first + 1, lines[first:end], *layout)
    return sections


def _old_sections(file: str, lines: list[bytes], counts: dict[str, int]) -> dict[str, Columns]:
    types = counts["NTYPES"]
    lengths: dict[str, Any] = counts | {
        "NTYPES^2": types**2,
        "NTYPES(NTYPES+1)/2": types * (types + 1) // 2,
    }
    sections: dict[str, Columns] = {}
    at = 4
    for name, (per_line, width), factor, count in _OLD_SECTIONS:
        used = max(1, -(-factor * lengths[count] // per_line))  # an empty one is a blank line
        sections[name] = Columns(file, name, at + 1, lines[at : at + used], per_line, width)
        at += used
    return sections
