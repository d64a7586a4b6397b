# SPDX-License-Identifier: Apache-2.0
"""Keywords and values of another program's control file, and how each is treated.

Every keyword is either taken (it sets something here), noted (it has no counterpart and does not
change the physics), or refused.  Unknown keywords are refused too: nothing is ignored in silence.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import InputError
from .words import real

OFF = ("no", "off", "false", "0", "none", ".false.", "f")
_MOST = 20  # problems in a message
ON = ("yes", "on", "true", "1", ".true.", "t")


@dataclass(frozen=True)
class Entry:
    """A keyword as it is written, its value, and its line."""

    name: str
    value: str
    line: int


@dataclass
class Control:
    """The result of reading a control file.

    Attributes
    ----------
    file:
        Its path.
    settings:
        Sections and keys of a configuration; lists of tables, where it has several of a section.
    notes:
        Settings without a counterpart, one line each.
    refused:
        Unsupported settings, one line each; with these a run is refused.
    faults:
        Errors in the file, which `check` raises together.
    """

    file: str
    settings: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    faults: list[InputError] = field(default_factory=list)

    def fault(self, message: str, line: int | None = None) -> None:
        """Notes an error in the file; the rest is read, so that all errors are told at once."""
        self.faults.append(InputError(message, file=self.file, line=line))

    def check(self) -> None:
        """InputError with all faults, and with what is refused, if there are faults."""
        if not self.faults:
            return
        if len(self.faults) == 1 and not self.refused:
            raise self.faults[0]
        found = [str(one).removeprefix(f"{self.file}").lstrip(", :") for one in self.faults]
        found = list(dict.fromkeys([*found, *self.refused]))
        more = [f"and {len(found) - _MOST} more"] if len(found) > _MOST else []
        raise InputError("; ".join([*found[:_MOST], *more]), file=self.file)

    def set(self, section: str, key: str, value: Any) -> None:
        """A setting, numbers with 14 digits; None leaves the default."""
        if value is not None:
            self.settings.setdefault(section, {})[key] = _as_written(value)

    def add(self, section: str, **table: Any) -> None:
        """One more table of a section that may have several."""
        self.settings.setdefault(section, []).append(_as_written(table))


def _as_written(value: Any) -> Any:
    """Numbers as people write them: 7.8, where 78 times 0.1 is 7.800000000000001."""
    if isinstance(value, float):
        return float(f"{value:.14g}")
    if isinstance(value, dict):
        return {key: _as_written(one) for key, one in value.items()}
    return type(value)(map(_as_written, value)) if isinstance(value, list | tuple) else value


class Entries:
    """The keywords of a control file, taken one by one.

    In names neither case nor "-" and "_" count; `aliases` has other names of a keyword.
    """

    def __init__(
        self, control: Control, entries: Iterable[Entry], aliases: Mapping[str, str] | None = None
    ) -> None:
        self.control = control
        names = {_plain(other): _plain(name) for other, name in (aliases or {}).items()}
        self._left: dict[str, list[Entry]] = {}
        self._known: dict[str, str] = {}  # all names that were asked for, as they are written
        for entry in entries:
            name = _plain(entry.name)
            self._left.setdefault(names.get(name, name), []).append(entry)

    def take(self, name: str) -> Entry | None:
        """The entry of this name, marked as handled; several with other values are refused."""
        found = self.take_all(name)
        if not found:
            return None
        for other in found[:-1]:
            if other.value.split() != found[-1].value.split():
                self.reject(other, f"line {found[-1].line} has another value: keep one of them")
        return found[-1]

    def peek(self, name: str) -> list[Entry]:
        """All entries of a name, which are still to be handled."""
        return list(self._left.get(_plain(name), []))

    def take_all(self, name: str) -> list[Entry]:
        """All entries of a name."""
        self._known[_plain(name)] = name
        return self._left.pop(_plain(name), [])

    def names(self, prefix: str) -> list[str]:
        """Names of keywords with this prefix that are not yet handled."""
        return [name for name in self._left if name.startswith(_plain(prefix))]

    def has(self, name: str) -> bool:
        """Whether a keyword is there, and still to be handled."""
        return _plain(name) in self._left

    def text(self, name: str, default: str = "") -> str:
        """The value of a keyword in lower case."""
        entry = self.take(name)
        return default if entry is None else entry.value.strip().strip("'\"").lower()

    def number(self, name: str, default: float | None = None) -> float | None:
        """The value of a keyword as a number."""
        entry = self.take(name)
        value = None if entry is None else self._number(entry, entry.value.strip())
        return default if value is None else value

    def numbers(self, name: str) -> list[float] | None:
        """The values of a keyword as numbers."""
        entry = self.take(name)
        if entry is None:
            return None
        values = [self._number(entry, word) for word in entry.value.split()]
        found = [value for value in values if value is not None]
        return found if len(found) == len(values) else None

    def words(self, name: str) -> list[str]:
        """The words of a keyword; none where it is not there."""
        entry = self.take(name)
        return [] if entry is None else entry.value.split()

    def whole(self, name: str, default: int | None = None) -> int | None:
        """The value of a keyword as a whole number."""
        entry = self._left.get(_plain(name), [None])[-1]
        value = self.number(name)
        if value is None:
            return default
        if value != round(value):
            assert entry is not None
            self._fault(entry, f"{entry.name} must be a whole number, not {entry.value}")
            return default
        return int(value)

    def counts(self, name: str) -> list[int]:
        """The values of all entries of a name, whole numbers of at least 0."""
        found = []
        for entry in self.take_all(name):
            value = self._number(entry, entry.value)
            if value is not None and (value != round(value) or value < 0):
                self._fault(entry, f"{name} must be a number of steps, not {entry.value}")
            elif value is not None:
                found.append(int(value))
        return found

    def switch(self, name: str, default: bool = False) -> bool:
        """The value of a keyword that is on or off."""
        entry = self.take(name)
        if entry is None:
            return default
        word = entry.value.strip().lower()
        if word not in ON + OFF:
            self._fault(entry, f"{entry.name} must be on or off, not '{entry.value}'")
            return default
        return word in ON

    def tell(self, why: str, *names: str) -> None:
        """Keywords without a counterpart that do not change the physics: noted where present."""
        self.note(why, *(entry for name in names for entry in self.take_all(name)))

    def note(self, why: str, *found: Entry) -> None:
        """Notes the treatment of entries in one line."""
        if found:
            words = ", ".join(dict.fromkeys(f"{one.name} {one.value}".strip() for one in found))
            self.control.notes.append(f"{words}: {why}")

    def refuse(self, why: str, *names: str, unless: Callable[[str], bool] | None = None) -> None:
        """Keywords for what is not supported; refused unless their value switches it off."""
        harmless = unless if unless is not None else is_off
        for name in names:
            for entry in self.take_all(name):
                if not harmless(entry.value.strip().lower()):
                    self.reject(entry, why)

    def finish(self, program: str = "", unsupported: Iterable[str] = ()) -> None:
        """Refuses every keyword that is left.

        Parameters
        ----------
        program:
            Whose keywords these are.
        unsupported:
            Keywords that it is known to have, and that have no counterpart here; any other may be
            misspelt, and the most similar one that is known is named.
        """
        theirs = {_plain(name): name for name in unsupported}
        for name, entries in self._left.items():
            known = theirs | self._known
            close = difflib.get_close_matches(name, known, n=1, cutoff=0.8)
            hint = f" (did you mean {known[close[0]]}?)" if close else ""
            why = f"this keyword is not known here{hint}"
            if name in theirs:
                why = f"a keyword of {program} that is not supported here"
            for entry in entries:
                self.reject(entry, why)
        self._left = {}

    def reject(self, entry: Entry, why: str) -> None:
        """Refuses an entry, with its line."""
        self.control.refused.append(f"line {entry.line}, {entry.name} {entry.value}: {why}")

    def _number(self, entry: Entry, word: str) -> float | None:
        value = number_of(word)
        if np.isfinite(value):
            return value
        self._fault(entry, f"{entry.name} must be a number, not '{entry.value}'")
        return None

    def _fault(self, entry: Entry, message: str) -> None:
        self.control.fault(message, entry.line)


def is_off(value: str) -> bool:
    """Whether each word of a value says that something is not wanted."""
    return all(word in OFF or number_of(word) == 0 for word in value.split())


def is_one(value: str) -> bool:
    """Whether a value is the number 1."""
    return number_of(value) == 1


def is_not_positive(value: str) -> bool:
    """Whether a value is a number of at most 0."""
    return number_of(value) <= 0


def number_of(word: str) -> float:
    """The number that a word is, also with Fortran's exponents (1.d0); nan where it is none."""
    try:
        return real(word.lower().replace("d", "e"))
    except ValueError:
        return float("nan")


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
