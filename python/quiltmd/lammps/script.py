# SPDX-License-Identifier: Apache-2.0
"""Commands of LAMMPS input scripts.

Understood are commands with their words, comments, quotes, lines continued by "&", and variables
that stand for a word or a number.  Loops and other files are refused, since what they do would have
to be guessed.

Source: https://docs.lammps.org/Commands_parse.html.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import InputError
from ..reading.entries import Control, number_of
from ..reading.fixed_width import read_bytes
from ..reading.words import natural_number
from .units import UNITS
from .variables import VariableError, Variables

_LANGUAGE = ("if", "jump", "label", "next", "include", "shell", "python", "clear")
_WORD = re.compile(r"\"([^\"]*)\"|'([^']*)'|([^\s\"']+)")
_SIGNS = (
    rb"(?m)^\s*(units|read_restart)\s+\S",
    rb"(?m)^\s*(atom_style|pair_style|read_data|lattice|boundary)\s",
)


def is_script(head: bytes) -> bool:
    """Whether a file that begins so is an input script of LAMMPS."""
    return all(re.search(sign, head) for sign in _SIGNS)


@dataclass(frozen=True)
class Command:
    """A command, its words, and where it is."""

    name: str
    words: tuple[str, ...]
    file: str
    line: int

    @property
    def text(self) -> str:
        """As it is written."""
        return " ".join((self.name, *self.words))

    def error(self, message: str) -> InputError:
        """What is wrong with it, with file and line."""
        return InputError(f"{self.text}: {message}", file=self.file, line=self.line)

    def number(self, place: int) -> float:
        """A word as a number; InputError where there is none."""
        value = number_of(self.words[place]) if place < len(self.words) else float("nan")
        if not abs(value) < float("inf"):
            raise self.error(f"expected a number as value {place + 1}")
        return value

    def whole(self, place: int) -> int:
        """A word as a whole number of at least 0; InputError where there is none."""
        found = natural_number(self.words[place]) if place < len(self.words) else None
        if found is None:
            raise self.error(f"expected a whole number as value {place + 1}")
        return found

    def only(self, *choices: str) -> str:
        """The first word, one of these; InputError for others, and for more words."""
        if len(self.words) != 1 or self.words[0] not in choices:
            raise self.error(f"only {', '.join(choices)}")
        return self.words[0]

    def path(self, place: int) -> str:
        """A word as a file, whose path is relative to that of the script."""
        if place >= len(self.words):
            raise self.error(f"expected a file as value {place + 1}")
        folder = os.path.dirname(os.path.abspath(self.file))
        return os.path.normpath(os.path.join(folder, self.words[place]))


def types_of(command: Command, place: int, count: int) -> list[int]:
    """The types that a word stands for, of 1 to `count`: 2, *, 1*3, *2, 2*."""
    word = command.words[place] if place < len(command.words) else ""
    found = re.fullmatch(r"(\d{0,6})(\*?)(\d{0,6})", word)
    if found is None or not word:
        raise command.error(f"expected a type as value {place + 1}")
    first, many, last = found.groups()
    low = int(first) if first else 1
    high = (int(last) if last else count) if many else low
    if not 1 <= low <= high <= count:
        raise command.error(f"types are 1 to {count}")
    return list(range(low, high + 1))


def commands(file: str) -> list[Command]:
    """All commands of a script.

    Raises
    ------
    InputError
        With the line: variables that change, and other commands of the language of scripts.
    """
    found, variables, control = [], Variables(), Control(file)
    for line, text in _lines(file):
        try:
            words = [
                next(part for part in match if part)
                for match in _WORD.findall(variables.put_in(text))
                if any(match)
            ]
            if words[:1] == ["variable"]:
                variables.define(words[1:])
                continue
        except VariableError as error:
            control.fault(f"{text.strip()}: {error}", line)
            continue
        if words and words[0] in _LANGUAGE:
            control.fault(f"{words[0]}: loops and other scripts are not supported", line)
        elif words:
            command = Command(words[0], tuple(words[1:]), file, line)
            variables.timestep = _timestep(command, variables.timestep)
            found.append(command)
    control.check()
    return found


def _timestep(command: Command, before: float) -> float:
    """The time step behind a command, in units of the script."""
    if command.name == "units" and command.words[:1] and command.words[0] in UNITS:
        units = UNITS[command.words[0]]
        return units.timestep / units.time
    if command.name == "timestep" and command.words:
        return number_of(command.words[0])
    return before


def _lines(file: str) -> Iterator[tuple[int, str]]:
    """Lines without comments, those that "&" continues as one, with the number of the first."""
    begun, first = "", 0
    for number, raw in enumerate(read_bytes(file).decode("latin-1").splitlines(), start=1):
        text = re.sub(r"^((?:[^\"'#]|\"[^\"]*\"|'[^']*')*)#.*$", r"\1", raw).rstrip()
        first = first if begun else number
        if text.endswith("&"):
            begun += text[:-1] + " "
            continue
        yield first, begun + text
        begun = ""
    if begun:
        yield first, begun
