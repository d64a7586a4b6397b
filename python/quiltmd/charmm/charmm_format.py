# SPDX-License-Identifier: Apache-2.0
"""Parameter (par, prm), topology (top, rtf) and stream (str) files of CHARMM.

Of topology files only the MASS statements matter here, since the PSF has the molecules.

Source: CHARMM documentation, parmfile.doc, rtop.doc and io.doc.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..errors import InputError
from ..reading.fixed_width import read_bytes
from .nonbonded_options import take_options
from .parameters import Parameters, numbers, whole

# Sections by the first four letters of their header.
_SECTIONS = {
    **dict.fromkeys(("ATOM", "MASS"), "atoms"),
    "BOND": "bonds",
    **dict.fromkeys(("ANGL", "THET"), "angles"),
    **dict.fromkeys(("DIHE", "PHI"), "torsions"),
    **dict.fromkeys(("IMPR", "IMPH"), "impropers"),
    "CMAP": "maps",
    **dict.fromkeys(("NONB", "NBON"), "nonbonded"),
    "NBFI": "pairs",
    "HBON": "hydrogen bonds",
    **dict.fromkeys(("NBTH", "THOL"), "thole"),
}
# Commands of stream files without a meaning for parameters.
_COMMANDS = (
    *("SET", "IF", "ELSE", "ENDI", "LABE", "GOTO", "RETU", "ECHO"),
    *("IOFO", "BOMB", "BOML", "WRNL", "PRNL", "CALC", "INCR", "DECR"),
)


class _Reader:
    """Reads one file into `Parameters`."""

    def __init__(self, file: str, into: Parameters) -> None:
        self._file, self._into = file, into
        self._section = ""  # a value of _SECTIONS, "rtf", or outside of any
        self._map: tuple[tuple[str, ...], int, list[float]] | None = None
        self._lines: dict[str, Callable[[list[str], int], None]] = {
            "atoms": self._mass,
            "bonds": self._bond,
            "angles": self._angle,
            "torsions": self._torsion,
            "impropers": self._improper,
            "maps": self._map_line,
            "nonbonded": self._type,
            "pairs": self._pair,
            "hydrogen bonds": self._hydrogen_bond,
            "thole": lambda words, line: (
                None
            ),  # between Drude particles; a PSF with these is refused
        }

    def read(self) -> None:
        for words, line in _statements(self._file):
            self._statement(words, line)
        self._end_map(-1)

    def _statement(self, words: list[str], line: int) -> None:
        key = words[0].upper()[:4]
        if self._section == "rtf":
            if key == "MASS":
                self._mass(words, line)
            elif key == "END" or (key == "READ" and words[1:2]):
                self._section = ""
            else:
                return
        if key == "END":
            self._end_map(line)
            self._section = ""
        elif key == "READ":
            self._end_map(line)
            what = words[1].upper()[:4] if len(words) > 1 else ""
            if what not in ("RTF", "PARA", "PARM"):
                raise self._error(line, f"'{' '.join(words)}' is not supported")
            self._section = "rtf" if what == "RTF" else ""
        elif self._is_header(words):
            self._end_map(line)
            self._section = _SECTIONS[key]
            self._header(words, line)
        elif self._section in self._lines:
            self._lines[self._section](words, line)
        elif self._section == "" and _opens_topology(words):
            self._section = "rtf"
            self._statement(words, line)
        elif self._section == "" and key not in _COMMANDS:
            raise self._error(
                line, f"'{words[0]}' is not known, and ignoring it might change terms"
            )

    def _is_header(self, words: list[str]) -> bool:
        """A section's name; alone, or with options where it takes them."""
        key = words[0].upper()[:4]
        if key not in _SECTIONS or (key == "MASS") or not words[0].isalpha():
            return False
        return len(words) == 1 or _SECTIONS[key] in ("nonbonded", "hydrogen bonds")

    def _header(self, words: list[str], line: int) -> None:
        if self._section != "nonbonded":
            return
        take_options(iter(words[1:]), self._into, self._file, line)

    def _mass(self, words: list[str], line: int) -> None:
        if words[0].upper()[:4] != "MASS" or len(words) < 4:
            raise self._error(line, "expected MASS, number, type, mass")
        self._into.names[words[1]] = words[2].upper()
        self._into.types.add(words[2].upper())

    def _bond(self, words: list[str], line: int) -> None:
        types, values = self._parts(words, 2, (2,), line)
        self._into.add_bond(types, *values)

    def _angle(self, words: list[str], line: int) -> None:
        types, values = self._parts(words, 3, (2, 4), line)
        self._into.add_angle(types, values[0], values[1], values[2:])

    def _torsion(self, words: list[str], line: int) -> None:
        types, (k, n, phase) = self._parts(words, 4, (3,), line)
        self._into.add_torsion(types, k, whole(n, self._file, line), phase)

    def _improper(self, words: list[str], line: int) -> None:
        types, (k, n, phase) = self._parts(words, 4, (3,), line)
        self._into.add_improper(types, k, whole(n, self._file, line), phase)

    def _map_line(self, words: list[str], line: int) -> None:
        if self._map is None:
            types, (size,) = self._parts(words, 8, (1,), line)
            self._map = (types, whole(size, self._file, line), [])
            return
        types, size, energies = self._map
        energies += numbers(words, self._file, line)
        if len(energies) >= size**2:
            self._end_map(line)

    def _end_map(self, line: int) -> None:
        """Ends the map that was being read; an incomplete one is an error."""
        if self._map is None:
            return
        types, size, energies = self._map
        if len(energies) != size**2:
            message = f"the map of {'-'.join(types)} has {len(energies)} of {size**2} energies"
            raise InputError(message, file=self._file, line=line if line > 0 else None)
        self._into.add_map(types, np.array(energies).reshape(size, size))
        self._map = None

    def _type(self, words: list[str], line: int) -> None:
        (name,), values = self._parts(words, 1, (3, 6), line)
        four = [-values[1], values[2]]
        four += [-values[4], values[5]] if len(values) == 6 else four
        if four[0] < 0 or four[2] < 0:
            message = "a positive EMIN (polarizabilities, Slater-Kirkwood) is not supported"
            raise self._error(line, message)
        self._refuse_negative_radii(four, line)
        self._into.add_type(name, four)

    def _pair(self, words: list[str], line: int) -> None:
        types, values = self._parts(words, 2, (2, 4), line)
        four = [-values[0], values[1]]
        four += [-values[2], values[3]] if len(values) == 4 else four
        if four[0] < 0 or four[2] < 0:
            raise self._error(line, "EMIN of a pair (NBFIX) must not be positive")
        self._refuse_negative_radii(four, line)
        self._into.add_pair(types, four)

    def _refuse_negative_radii(self, four: list[float], line: int) -> None:
        if min(four[1::2]) < 0:
            raise self._error(line, "RMIN, the distance of least energy, must not be negative")

    def _hydrogen_bond(self, words: list[str], line: int) -> None:
        raise self._error(line, "hydrogen-bond terms (HBOND) are not supported")

    def _parts(
        self, words: list[str], arity: int, counts: tuple[int, ...], line: int
    ) -> tuple[tuple[str, ...], list[float]]:
        """Types and numbers of a line; of as many numbers as one of `counts`."""
        types, rest = tuple(word.upper() for word in words[:arity]), words[arity:]
        if len(rest) not in counts:
            expected = " or ".join(map(str, counts))
            message = f"{self._section}: expected {arity} types and {expected} numbers"
            raise self._error(line, f"{message}, found '{' '.join(words)}'")
        return types, numbers(rest, self._file, line)

    def _error(self, line: int, message: str) -> InputError:
        return InputError(message, file=self._file, line=line)


def read_charmm(file: str, into: Parameters) -> None:
    """Adds what a CHARMM parameter, topology or stream file says.

    Raises
    ------
    InputError
        With file and line: what is not understood.
    """
    _Reader(file, into).read()


def _opens_topology(words: list[str]) -> bool:
    """The version numbers or the first MASS of a topology file."""
    return words[0].upper() in ("MASS", "DECL") or all(word.isdecimal() for word in words)


def _statements(file: str) -> Iterator[tuple[list[str], int]]:
    """Words and line of each statement; comments and titles left out, continued lines joined."""
    words: list[str] = []
    for line, raw in enumerate(read_bytes(file).decode("latin-1").split("\n"), start=1):
        text = raw.split("!", 1)[0].strip()
        if not text or text.startswith("*"):
            continue
        continued = text.endswith("-") and (len(text) == 1 or text[-2].isspace())
        words += (text[:-1] if continued else text).split()
        if not continued and words:
            yield words, line
            words = []
    if words:
        yield words, line
