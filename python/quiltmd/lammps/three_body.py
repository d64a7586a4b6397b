# SPDX-License-Identifier: Apache-2.0
"""Potential files of Stillinger-Weber and Tersoff.

Format: https://docs.lammps.org/pair_sw.html and pair_tersoff.html.  An entry has the names of
three elements (that of the atom in the centre first) and the parameters of this triplet; it may
go on in further lines.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ..description.three_body import THREE_BODY_FORMS, ThreeBodyPotential
from ..errors import InputError
from ..reading.fixed_width import read_bytes
from ..reading.words import real
from .units import UNITS, Units

F64 = npt.NDArray[np.float64]
_Names = tuple[str, ...]  # three
# The powers of length and energy in the unit of a parameter; all others are numbers.
_ENERGIES = ("epsilon",)
_LENGTHS = ("sigma", "R", "D")
_PER_LENGTH = ("lambda1", "lambda2", "lambda3")


def read_stillinger_weber(
    file: str | os.PathLike[str], elements: Sequence[str] | None = None, units: str = "metal"
) -> ThreeBodyPotential:
    """A Stillinger-Weber potential, from a file of LAMMPS (pair_style sw).

    Parameters
    ----------
    file:
        The file.
    elements:
        Only these of its elements; by default all.
    units:
        Of the file, "metal" or "real", unless its first line has "UNITS:".

    Raises
    ------
    InputError
        With file and line, where the file is of another format or incomplete.
    """
    return _read(os.fspath(file), "stillinger-weber", elements, units)


def read_tersoff(
    file: str | os.PathLike[str], elements: Sequence[str] | None = None, units: str = "metal"
) -> ThreeBodyPotential:
    """A Tersoff potential, from a file of LAMMPS (pair_style tersoff).

    Parameters and errors are those of `read_stillinger_weber`.
    """
    return _read(os.fspath(file), "tersoff", elements, units)


def _read(file: str, form: str, elements: Sequence[str] | None, units: str) -> ThreeBodyPotential:
    text = read_bytes(file).decode("latin-1")
    named = re.search(r"UNITS:\s*(\S+)", text.partition("\n")[0])
    chosen = UNITS.get(named[1] if named else units)
    if chosen is None or chosen is UNITS["lj"]:
        raise InputError("the units must be metal or real", file=file, line=1)
    names = THREE_BODY_FORMS[form].parameters
    ends_with_tolerance = form == "stillinger-weber"
    found: dict[_Names, F64] = {}
    for line, key, values in _entries(file, text, len(names) + ends_with_tolerance):
        if elements is not None and not set(key) <= set(elements):
            continue
        if key in found:
            raise InputError(f"a second entry of {' '.join(key)}", file=file, line=line)
        if ends_with_tolerance and values[-1] != 0:
            raise InputError("a tolerance other than 0 is not supported", file=file, line=line)
        found[key] = values[: len(names)] * _factors(form, names, chosen)
    wanted = tuple(dict.fromkeys(elements or itertools.chain.from_iterable(found)))
    if not wanted:
        raise InputError("has no entry of three elements and their parameters", file=file)
    missing = [key for key in itertools.product(wanted, repeat=3) if key not in found]
    if missing:
        raise InputError(f"has no entry of {' '.join(missing[0])}", file=file)
    rows = np.array([found[key] for key in itertools.product(wanted, repeat=3)])
    try:
        return ThreeBodyPotential(form, wanted, rows.reshape(*(len(wanted),) * 3, len(names)))
    except InputError as error:
        raise InputError(str(error), file=file) from None


def _entries(file: str, text: str, count: int) -> Iterator[tuple[int, _Names, F64]]:
    """Line, names and values of each entry; `count` is the number of its values."""
    words = [
        (number, word)
        for number, line in enumerate(text.splitlines(), start=1)
        for word in line.partition("#")[0].split()
    ]
    for first in range(0, len(words), 3 + count):
        entry = words[first : first + 3 + count]
        line = entry[0][0]
        if len(entry) < 3 + count:
            message = f"an entry needs three elements and {count} values, not {len(entry)} words"
            raise InputError(message, file=file, line=line)
        names = (entry[0][1], entry[1][1], entry[2][1])
        yield line, names, np.array([_number(file, *value) for value in entry[3:]])


def _number(file: str, line: int, word: str) -> float:
    try:
        value = real(word)
    except ValueError:
        raise InputError(f"{word!r} is not a number", file=file, line=line) from None
    if not np.isfinite(value):
        raise InputError(f"{word!r} is not a finite number", file=file, line=line)
    return value


def _factors(form: str, names: tuple[str, ...], units: Units) -> F64:
    """From the units of the file to kJ/mol and nm."""
    energies = ("A", "B") if form == "tersoff" else _ENERGIES
    return np.array(
        [
            units.energy
            if name in energies
            else units.length
            if name in _LENGTHS
            else 1 / units.length
            if name in _PER_LENGTH
            else 1.0
            for name in names
        ]
    )
