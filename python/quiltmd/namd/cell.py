# SPDX-License-Identifier: Apache-2.0
"""NAMD's extended system (XSC): the last line has the step, three vectors and the origin.

Source: NAMD User's Guide, version 3.0, "extendedSystem".
"""

from __future__ import annotations

from ..errors import InputError
from ..reading.fixed_width import read_bytes
from ..reading.words import real


def read_cell(file: str) -> list[list[float] | None]:
    """The three vectors of the cell, angstrom."""
    numbers = _last_line(file)
    return [numbers[1:4], numbers[4:7], numbers[7:10]]


def read_step(file: str) -> int:
    """The step at which it was written."""
    return int(_last_line(file)[0])


def _last_line(file: str) -> list[float]:
    lines = [line.split() for line in read_bytes(file).decode("latin-1").splitlines()]
    rows = [words for words in lines if words and not words[0].startswith("#")]
    try:
        numbers = [real(word) for word in rows[-1]]
        int(numbers[0])
    except (IndexError, ValueError, OverflowError):
        raise InputError("not a NAMD extended system file (XSC)", file=file) from None
    return numbers
