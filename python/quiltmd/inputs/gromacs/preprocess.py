# SPDX-License-Identifier: Apache-2.0
"""GROMACS' preprocessor: #include, #define and conditions, before anything is understood.

Every line keeps the file and number that it came from, so that errors name the include file.

Source: GROMACS Reference Manual, "File formats: top", section "Preprocessing".
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...errors import InputError
from ..fixed_width import read_bytes
from ..record import getenv, is_file

_DEEPEST = 50  # includes within includes; more is a file that includes itself
# Where a GROMACS installation has its force fields, after what the environment says.
_INSTALLED = ("/usr/share/gromacs/top", "/usr/local/gromacs/share/gromacs/top")


@dataclass(frozen=True)
class Line:
    """Words of a line that is left after preprocessing, and where it is from."""

    words: list[str]
    file: str
    number: int

    def error(self, message: str) -> InputError:
        """An error about this line."""
        return InputError(message, file=self.file, line=self.number)


class Preprocessor:
    """Reads a topology file and all that it includes.

    Attributes
    ----------
    files:
        Every file that was read, in order.
    used:
        Names that conditions asked for or that were replaced, among those defined.
    """

    def __init__(self, file: str, defines: tuple[str, ...]) -> None:
        self.files: list[str] = []
        self.used: set[str] = set()
        self._macros: dict[str, list[str]] = {}
        self._conditions: list[tuple[bool, Line]] = []
        self._root = file
        for define in defines:
            name, _, value = define.removeprefix("-D").partition("=")
            if not name.isidentifier():
                raise InputError(f"'{define}' cannot be defined: give NAME or NAME=value")
            self._macros[name] = value.split()

    def lines(self) -> Iterator[Line]:
        """The lines that are left, macros replaced."""
        yield from self._read(self._root, 0)
        if self._conditions:
            raise self._conditions[-1][1].error("this condition has no #endif")

    def _read(self, file: str, depth: int) -> Iterator[Line]:
        self.files.append(file)
        for line in _joined(file):
            word = line.words[0]
            if word.startswith("#"):
                included = self._directive(line)
                if included is not None:
                    if depth == _DEEPEST:
                        raise line.error("includes go too deep: does a file include itself?")
                    yield from self._read(included, depth + 1)
            elif all(holds for holds, _ in self._conditions):
                yield Line(list(self._replaced(line.words)), line.file, line.number)

    def _directive(self, line: Line) -> str | None:
        """Executes a directive; the file to be read where it is an #include."""
        name, *rest = " ".join(line.words).removeprefix("#").split()
        if name in ("ifdef", "ifndef"):
            if len(rest) != 1:
                raise line.error(f"#{name} takes one name, found {len(rest)}")
            self.used.add(rest[0])
            self._conditions.append(((rest[0] in self._macros) == (name == "ifdef"), line))
        elif name == "else" or name == "endif":
            if not self._conditions:
                raise line.error(f"#{name} without #ifdef or #ifndef before it")
            holds, opening = self._conditions.pop()
            if name == "else":
                self._conditions.append((not holds, opening))
        elif not all(holds for holds, _ in self._conditions):
            return None
        elif name == "define" and rest:
            self._macros[rest[0]] = rest[1:]
        elif name == "undef" and len(rest) == 1:
            self._macros.pop(rest[0], None)
        elif name == "include" and rest:
            return self._found(" ".join(rest).strip("\"'<>"), line)
        else:
            raise line.error(f"'{' '.join(line.words)}' is not understood")
        return None

    def _found(self, name: str, line: Line) -> str:
        """The file of an #include: beside the file that asks for it, else in GROMACS' folders."""
        folders = [os.path.dirname(line.file) or ".", os.path.dirname(self._root) or "."]
        folders += getenv("GMXLIB", "").split(":")
        folders += [os.path.join(getenv("GMXDATA", "/none"), "top"), *_INSTALLED]
        for folder in filter(None, folders):
            path = Path(folder, name)
            if is_file(path):
                return str(path)
        raise line.error(
            f"the include file {name} is not beside the topology nor where GROMACS is installed "
            "(GMXLIB, GMXDATA/top)"
        )

    def _replaced(self, words: list[str]) -> Iterator[str]:
        for word in words:
            if word in self._macros:
                self.used.add(word)
                yield from self._macros[word]
            else:
                yield word


def _joined(file: str) -> Iterator[Line]:
    """Lines without comments, those that end in a backslash joined with the next."""
    words: list[str] = []
    for number, raw in enumerate(read_bytes(file).decode("latin-1").split("\n"), start=1):
        text = raw.split(";", 1)[0].rstrip()
        continued = text.endswith("\\")
        words += text.rstrip("\\").split()
        if words and not continued:
            yield Line(words, file, number)
        words = words if continued else []
    if words:
        yield Line(words, file, number)
