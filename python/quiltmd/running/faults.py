# SPDX-License-Identifier: Apache-2.0
"""Errors of a configuration, in words: the place, and suggestions for misspelt keys."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic.fields import FieldInfo

from ..errors import QuiltError

Known = Mapping[str, Mapping[str, FieldInfo]]  # sections and their keys


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint at the most similar known word, "(did you mean 'cutoff'?)", or nothing."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f" (did you mean '{close[0]}'?)" if close else ""


def refuse_other_than_utf8(text: str) -> None:
    """QuiltError if the text of a configuration has a name that is not UTF-8, as files are."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        begin = text.rfind("\n", 0, error.start) + 1
        line = text[begin:].partition("\n")[0]
        raise QuiltError(
            f"{line}: this name is not UTF-8, in which the configuration of a run is written: "
            "rename the file or the folder"
        ) from None


def describe(fault: Any, known: Known) -> str:
    """One fault of a configuration: where, what, and a hint."""
    numbers = [part + 1 for part in fault["loc"][1:2] if isinstance(part, int)]  # of a table
    where = [str(part) for part in (*fault["loc"][:1], *fault["loc"][1 + len(numbers) :])]
    section, key = where[0] if where else "", where[1] if len(where) > 1 else ""
    title = f"[[{section}]] {numbers[0]}," if numbers else f"[{section}]"
    place = f"{title} {key}" if key else title.rstrip(",")
    if fault["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"{place} is not a known {_hint(section, key, known)}"
    if fault["type"] == "missing":
        needed = None if key else known.get(section, {})
        return _missing(place, needed, fault["input"] if len(where) > 2 else None)
    if fault["type"] == "tuple_type":
        return _no_list(place, section, fault["input"])
    message = fault["msg"].removeprefix("Value error, ")
    if not any(letter.isupper() for letter in message.partition(" ")[0][1:]):  # no name of a class
        message = message[:1].lower() + message[1:]
    value = "" if isinstance(fault["input"], dict) else f" (found {fault['input']!r})"
    return f"{place}: {message}{value}" if section else message


def _no_list(place: str, section: str, found: Any) -> str:
    """Message for a table or a value in the place of a list."""
    if isinstance(found, dict):
        return f"{place}: there may be several of these: write [[{section}]] instead"
    return f"{place}: must be a list, such as [{found}] (found {found!r})"


def _missing(place: str, needed: Mapping[str, FieldInfo] | None, found: Any) -> str:
    """Message for a missing section, key, or values of a list."""
    if found is not None:
        return f"{place}: too few values (found {found!r})"
    if needed is None:
        return f"{place} is missing"
    required = ", ".join(name for name, field in needed.items() if field.is_required())
    return f"the section {place} is missing" + (f"; it needs {required}" if required else "")


def _hint(section: str, key: str, known: Known) -> str:
    """Message for an unknown name, with a suggestion."""
    owners = [name for name in known if (key or section) in known[name]]
    if not key:
        meant = f" (a key of [{owners[0]}]?)" if owners else nearest(section, [*known, "stage"])
        return f"section{meant}"
    if "options" in known[section]:  # of a function, whose arguments may have any name
        return f"key{nearest(key, known[section]) or f' (an argument? options = {{{key} = ...}})'}"
    hint = f" (it belongs in [{owners[0]}])" if owners else nearest(key, known[section])
    return f"key{hint}"
