# SPDX-License-Identifier: Apache-2.0
"""Fortran namelists: groups of keywords and values between "&name" and "/" or "&end".

Text between groups is no part of them: a title, or what another program reads there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..errors import InputError
from ..reading.entries import Entry
from ..reading.fixed_width import read_bytes

_BEGIN = re.compile(r"^[ \t]*[&$](?!end\b)(\w+)", re.M | re.I)
# Strings, comments, and all else up to the end of a group.
_BODY = re.compile(
    r"((?:'[^']*'|\"[^\"]*\"|!.*(?=\n|\Z)|[^'\"!/&$])*)(?:/|[&$]end\b)", re.IGNORECASE
)
_PAIR = re.compile(
    r"([A-Za-z]\w*(?:\(\s*\d+\s*\))?)\s*=\s*('[^']*'|\"[^\"]*\"|[^=]*?)\s*,?\s*(?=[A-Za-z]\w*(?:\(\s*\d+\s*\))?\s*=|$)"
)
_COMMENT = re.compile(r"('[^']*'|\"[^\"]*\")|!.*")  # none in a string


@dataclass(frozen=True)
class Namelist:
    """A group: its name in lower case, its line, its keywords."""

    name: str
    line: int
    entries: tuple[Entry, ...]


def read_namelists(file: str) -> tuple[list[Namelist], list[tuple[int, str]]]:
    """The groups of a file, and the lines after the first of them that are no part of any.

    Raises
    ------
    InputError
        With file and line: a group without an end, or what is no keyword with a value.
    """
    text = read_bytes(file).decode("latin-1")
    groups: list[Namelist] = []
    between: list[tuple[int, str]] = []
    at = 0
    while begin := _BEGIN.search(text, at):
        line = text.count("\n", 0, begin.start(1)) + 1
        body = _BODY.match(text, begin.end())
        if body is None:
            message = f"the namelist &{begin[1]} has no end: / or &end"
            raise InputError(message, file=file, line=line)
        between += _lines(text, at, begin.start()) if groups else []
        entries = _pairs(file, begin[1], line, body[1])
        groups.append(Namelist(begin[1].lower(), line, entries))
        at = text.find("\n", body.end())  # nothing counts after the end of a group
        at = len(text) if at < 0 else at + 1
    return groups, between + _lines(text, at, len(text))


def _lines(text: str, begin: int, end: int) -> list[tuple[int, str]]:
    first = text.count("\n", 0, begin) + 1
    lines = enumerate(text[begin:end].split("\n"), start=first)
    return [(number, line.strip()) for number, line in lines if line.strip()]


def _pairs(file: str, name: str, line: int, text: str) -> tuple[Entry, ...]:
    body = _COMMENT.sub(lambda found: found[1] or " " * len(found[0]), text)
    flat = body.replace("\n", " ")
    found, at = [], 0
    for pair in _PAIR.finditer(flat):
        _refuse_rest(file, name, line, flat[at : pair.start()])
        number = line + body.count("\n", 0, pair.start())
        found.append(Entry(pair[1], pair[2].strip().rstrip(","), number))
        at = pair.end()
    _refuse_rest(file, name, line, flat[at:])
    return tuple(found)


def _refuse_rest(file: str, name: str, line: int, text: str) -> None:
    rest = text.strip(" ,\t\r")
    if rest:
        raise InputError(f"'{rest}' in &{name} is not understood", file=file, line=line)
