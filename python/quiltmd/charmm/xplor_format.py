# SPDX-License-Identifier: Apache-2.0
"""Parameter files of X-PLOR: statements in free format, one after the other.

Source: A. T. Brünger, X-PLOR Version 3.1 (1992), section 3.2.
"""

from __future__ import annotations

import re

from ..errors import InputError
from ..reading.fixed_width import read_bytes
from .nonbonded_options import take_options
from .parameters import Parameters, numbers, whole

_STATEMENT = re.compile(
    r"(BOND|ANGLE?|DIHE\w*|IMPR\w*|NONB\w*|NBFIX?)\s+\S+\s+\S+\s+\S+", re.IGNORECASE
)
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eEdD][-+]?\d+)?$")
_HALF_MINIMUM = 2 ** (1 / 6) / 2  # of sigma


def is_xplor(text: str) -> bool:
    """Whether a parameter file that begins so is X-PLOR's: keyword and values on a line."""
    for line in _without_comments(text).split("\n"):
        if line.strip():
            return bool(
                re.match(r"\s*(REMARK|SET\s)", line, re.I) or _STATEMENT.match(line.strip())
            )
    return False


def read_xplor(file: str, into: Parameters) -> None:
    """Adds what an X-PLOR parameter file says.

    Raises
    ------
    InputError
        With file and line: what is not understood.
    """
    into.counted = True
    _Reader(file, into).read()


class _Reader:
    def __init__(self, file: str, into: Parameters) -> None:
        self._file, self._into, self._at = file, into, 0
        text = _without_comments(read_bytes(file).decode("latin-1"))
        self._words = [
            (word, number)
            for number, line in enumerate(text.split("\n"), start=1)
            if not line.strip().upper().startswith("REMARK")
            for word in line.replace("=", " ").split()
        ]

    def read(self) -> None:
        statements = {
            "BOND": self._bond,
            "ANGL": self._angle,
            "DIHE": self._torsion,
            "IMPR": self._improper,
            "NONB": self._type,
            "NBFI": self._pair,
            "NBON": self._options,
            "HBON": self._hydrogen_bond,
            **dict.fromkeys(("REXP", "AEXP", "HAEX", "AAEX"), self._exponent),
            "SET": self._skip_to_end,
        }
        while self._at < len(self._words):
            word, line = self._words[self._at]
            statement = statements.get(word.upper()[:4])
            if statement is None:
                raise self._error(
                    f"'{word}' is not known, and ignoring it might change terms", line
                )
            self._at += 1
            statement()

    def _bond(self) -> None:
        self._into.add_bond(self._types(2), *self._numbers(2))

    def _angle(self) -> None:
        types, (k, theta) = self._types(3), self._numbers(2)
        outer = []
        if self._next_is("UB"):
            self._at += 1
            outer = self._numbers(2)
        self._into.add_angle(types, k, theta, outer)

    def _torsion(self) -> None:
        types = self._types(4)
        for k, n, phase in self._terms():
            self._into.add_torsion(types, k, n, phase)

    def _improper(self) -> None:
        types = self._types(4)
        terms = self._terms()
        if len(terms) > 1:
            raise self._error("impropers of several terms are not supported")
        k, n, phase = terms[0]
        self._into.add_improper(types, k, n, phase)

    def _terms(self) -> list[tuple[float, int, float]]:
        """Triples of k, periodicity and phase of a torsion: "MULTiple= m" of them, or one."""
        count = 1
        if self._at < len(self._words) and self._words[self._at][0].upper().startswith("MULT"):
            self._at += 1
            count = whole(self._numbers(1)[0], self._file, self._line())
        triples = [self._numbers(3) for _ in range(count)]
        return [(k, whole(n, self._file, self._line()), phase) for k, n, phase in triples]

    def _type(self) -> None:
        """Epsilon and sigma, and both for 1-4 pairs."""
        types, values = self._types(1), self._numbers(4)
        values[1] *= _HALF_MINIMUM
        values[3] *= _HALF_MINIMUM
        self._into.add_type(types[0], values)

    def _pair(self) -> None:
        """A and B of A/r^12 - B/r^6, and both for 1-4 pairs."""
        types, (a, b, a14, b14) = self._types(2), self._numbers(4)
        values = []
        for repulsion, attraction in ((a, b), (a14, b14)):
            if (repulsion > 0) != (attraction > 0):
                raise self._error("A and B of NBFIX must both be positive, or both zero")
            real = repulsion > 0
            values.append(attraction**2 / (4 * repulsion) if real else 0.0)
            values.append((2 * repulsion / attraction) ** (1 / 6) if real else 1.0)
        self._into.add_pair(types, values)

    def _options(self) -> None:
        first, line = self._at, self._line()
        self._skip_to_end()
        words = iter([word for word, _ in self._words[first : self._at - 1]])
        take_options(words, self._into, self._file, line)

    def _hydrogen_bond(self) -> None:
        """Two types, depth and distance; old force fields list them with a depth of zero."""
        self._types(2)
        if self._numbers(2)[0] != 0:
            raise self._error("hydrogen-bond terms (HBOND) are not supported")

    def _exponent(self) -> None:
        """An exponent of hydrogen-bond terms."""
        self._numbers(1)

    def _skip_to_end(self) -> None:
        """SET changes what X-PLOR prints."""
        while self._at < len(self._words) and not self._next_is("END"):
            self._at += 1
        self._at += 1

    def _types(self, count: int) -> tuple[str, ...]:
        words = [word for word, _ in self._words[self._at : self._at + count]]
        if len(words) < count or any("(" in word for word in words):
            raise self._error(f"expected {count} atom types, found '{' '.join(words)}'")
        self._at += count
        return tuple(word.upper() for word in words)

    def _numbers(self, count: int) -> list[float]:
        words = [word for word, _ in self._words[self._at : self._at + count]]
        if len(words) < count or not all(_NUMBER.match(word) for word in words):
            raise self._error(f"expected {count} numbers, found '{' '.join(words)}'")
        self._at += count
        return numbers(words, self._file, self._line())

    def _next_is(self, word: str) -> bool:
        return self._at < len(self._words) and self._words[self._at][0].upper() == word

    def _line(self) -> int:
        return self._words[min(self._at, len(self._words)) - 1][1]

    def _error(self, message: str, line: int = 0) -> InputError:
        return InputError(message, file=self._file, line=line or self._line())


def _without_comments(text: str) -> str:
    """Comments taken out, lines kept: from "!" to the end of a line, and { ... }."""
    text = re.sub(r"!.*", "", text)
    return re.sub(r"\{[^}]*\}", lambda found: "\n" * found[0].count("\n"), text)
