# SPDX-License-Identifier: Apache-2.0
"""GROMACS' preprocessor: #include, #define and conditions, before anything is understood.

Every line keeps the file and number that it came from, so that errors name the include file.

Source: GROMACS Reference Manual, "File formats: top", section "Preprocessing"; what it leaves open
is as grompp does it: macros are replaced wherever they stand as a word, in the order in which they
were defined, and conditions end with their file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError
from ..reading.fixed_width import read_bytes
from ..reading.record import getenv, is_file

_DEEPEST = 50  # includes within includes; more is a file that includes itself
# Folders of the force fields of a GROMACS installation, after those in the environment.
_INSTALLED = ("/usr/share/gromacs/top", "/usr/local/gromacs/share/gromacs/top")
_WORD = re.compile(r"\w+", re.ASCII)
_QUOTED = re.compile(r"[\"<]([^\"<>]+)(?:[\">]|$)")  # grompp does without the last sign


@dataclass(frozen=True)
class Line:
    """Words of a line that is left after preprocessing, and where it is from."""

    words: list[str]
    file: str
    number: int

    def error(self, message: str) -> InputError:
        """An error about this line."""
        return InputError(message, file=self.file, line=self.number)

    def note(self, message: str) -> str:
        """A warning about this line."""
        return f"{self.file}, line {self.number}: {message}"


class Preprocessor:
    """Reads a topology file and all that it includes.

    Attributes
    ----------
    files:
        Every file that was read, in order.
    used:
        Names that conditions asked for or that were replaced, among those defined.
    macros:
        Defined macros and their texts.
    """

    def __init__(self, file: str, defines: tuple[str, ...]) -> None:
        self.files: list[str] = []
        self.used: set[str] = set()
        self.macros: dict[str, str] = {}
        self._conditions: list[tuple[bool, Line]] = []
        self._root = file
        for define in defines:
            name, _, value = define.removeprefix("-D").partition("=")
            if not name.isidentifier():
                raise InputError(f"'{define}' cannot be defined: give NAME or NAME=value")
            self.macros[name] = value.strip()

    def lines(self) -> Iterator[Line]:
        """The lines that are left, macros replaced."""
        yield from self._read(self._root, 0)

    def _read(self, file: str, depth: int) -> Iterator[Line]:
        self.files.append(file)
        outer = len(self._conditions)
        joined = ""
        for number, text in _logical_lines(file):
            if text.lstrip().startswith("#"):
                included = self._directive(Line(text.split(), file, number), text, outer)
                if included is not None:
                    if depth == _DEEPEST:
                        message = "includes go too deep: does a file include itself?"
                        raise InputError(message, file=file, line=number)
                    yield from self._read(included, depth + 1)
            elif self._holds():
                text = self._replaced(text)
                joined += text.removesuffix("\\") + " "
                if not text.endswith("\\"):
                    yield from _words(joined, file, number)
                    joined = ""
        yield from _words(joined, file, number)
        if len(self._conditions) > outer:
            raise self._conditions[-1][1].error("this condition has no #endif in its file")

    def _holds(self) -> bool:
        return all(holds for holds, _ in self._conditions)

    def _directive(self, line: Line, text: str, outer: int) -> str | None:
        """Executes a directive; the file to be read where it is an #include."""
        name, *others = text.strip().removeprefix("#").split(None, 1) or [""]
        rest = others[0].strip() if others else ""
        if name in ("ifdef", "ifndef"):
            asked = self._name(name, rest, line)
            self.used.add(asked)
            self._conditions.append(((asked in self.macros) == (name == "ifdef"), line))
        elif name in ("else", "endif"):
            if len(self._conditions) == outer:
                raise line.error(f"#{name} without #ifdef or #ifndef before it in this file")
            holds, opening = self._conditions.pop()
            if name == "else":
                self._conditions.append((not holds, opening))
        elif not self._holds():
            return None
        elif name == "define" and rest:
            self._define(rest, line)
        elif name == "undef":
            self.macros.pop(self._name(name, rest, line), None)
        elif name == "include" and (quoted := _QUOTED.match(rest)):
            return self._found(quoted[1], line)
        else:
            raise line.error(f"'{text.strip()}' is not understood")
        return None

    def _name(self, directive: str, rest: str, line: Line) -> str:
        """The name that a directive takes."""
        name, *others = rest.split(";", 1)[0].split() or [""]
        if others or not name:
            raise line.error(f"#{directive} takes one name, found {len(others) + bool(name)}")
        if ";" in rest and name in self.macros:
            raise line.error(
                f"grompp reads this comment as part of the name, which is then not {name}: put the "
                "comment on a separate line"
            )
        return name

    def _define(self, rest: str, line: Line) -> None:
        name, *value = rest.split(None, 1)
        if value and not _WORD.fullmatch(name):
            raise line.error(f"the macro {name} is no word of letters, digits and underscores")
        self.macros[name] = value[0] if value else ""

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

    def _replaced(self, text: str) -> str:
        """The line with one macro after the other replaced, in the order of their definition."""
        if self.macros.keys().isdisjoint(_WORD.findall(text)):
            return text
        for name, value in self.macros.items():
            if value and name in text:
                parts = re.split(rf"(?a:(?<!\w){name}(?!\w))", text)
                text = value.join(parts)
                if len(parts) > 1:
                    self.used.add(name)
        return text


def _logical_lines(file: str) -> Iterator[tuple[int, str]]:
    """Lines and their numbers; those of a directive that ends in a backslash joined with the next.

    grompp does not join these, but then the part that is left has no place where it could stand.
    """
    lines = enumerate(read_bytes(file).decode("latin-1").split("\n"), start=1)
    for number, line in lines:
        text = line.rstrip()
        while text.lstrip().startswith("#") and text.endswith("\\"):
            number, more = next(lines, (number, ""))
            text = f"{text[:-1]} {more.strip()}"
        yield number, text


def _words(text: str, file: str, number: int) -> Iterator[Line]:
    """The line, where anything but a comment is on it."""
    words = text.split(";", 1)[0].split()
    if words:
        yield Line(words, file, number)
