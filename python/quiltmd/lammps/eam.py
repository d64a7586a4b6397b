# SPDX-License-Identifier: Apache-2.0
"""Potential files of embedded atoms: funcfl, setfl and Finnis-Sinclair.

Format: https://docs.lammps.org/pair_eam.html.  Units are eV and angstrom; funcfl has effective
charges Z(r) in sqrt(hartree bohr), with phi = Z Z / r, in 27.2 eV and 0.529 angstrom.  A file with
one density for each element is setfl (eam/alloy), one with a density for each pair of elements is
Finnis-Sinclair (eam/fs): the number of values tells.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..description.elements import SYMBOLS
from ..description.embedded import EmbeddedFunctions
from ..errors import InputError
from ..reading.fixed_width import read_bytes
from ..reading.units import ANGSTROM
from ..reading.words import natural_number, real
from .units import EV

F64 = npt.NDArray[np.float64]


_HARTREE_BOHR = 27.2 * 0.529  # eV angstrom, as by convention of these files
_MOST = 10**7  # values in a file


def read_eam(*files: str | os.PathLike[str]) -> EmbeddedFunctions:
    """The functions of a potential of embedded atoms, from a file of LAMMPS.

    Parameters
    ----------
    files:
        One file in the format setfl (eam/alloy) or Finnis-Sinclair (eam/fs), or files in the format
        funcfl (eam), one for each element, with tables of the same points; pairs of two elements
        then have phi = Z Z / r.

    Raises
    ------
    InputError
        With file and line, where a file is of another format or incomplete.
    """
    if not files:
        raise InputError("no file of a potential of embedded atoms is given")
    texts = [_Text(os.fspath(file)) for file in files]
    for text in texts:
        text.check_units()
    several = [text for text in texts if text.is_setfl]
    if several and len(texts) > 1:
        raise InputError(
            "has all elements of a potential: read it alone, without other files",
            file=several[0].file,
        )
    return _read_setfl(texts[0]) if several else _read_funcfl(texts)


class _Text:
    """A file as lines, and its numbers one after the other."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.lines = read_bytes(file).decode("latin-1").splitlines()
        self._line, self._words = 0, list[str]()  # the line that is being read, and what is left

    @property
    def is_setfl(self) -> bool:
        """Whether the fourth line says how many elements there are, and their names."""
        words = self.lines[3].split() if len(self.lines) > 3 else []
        count = natural_number(words[0]) if words else None
        return count == len(words) - 1 and not any(_is_number(word) for word in words[1:])

    def error(self, message: str) -> InputError:
        return InputError(message, file=self.file, line=max(self._line, 1))

    def check_units(self) -> None:
        """InputError where the first line names others than eV and angstrom."""
        named = re.search(r"UNITS:\s*(\S+)", self.lines[0] if self.lines else "")
        if named and named[1] != "metal":
            raise self.error(f"units {named[1]}: only metal (eV and angstrom)")

    def go_to(self, line: int) -> None:
        """Reads on at the beginning of a line, counted from 1."""
        self._line, self._words = line - 1, []

    def row(self, fewest: int) -> list[str]:
        """The words of the next line, where the line before was read to its end."""
        if self._words:
            raise self.error("more values than the header says")
        while self._line < len(self.lines):
            self._line += 1
            words = self.lines[self._line - 1].split()
            if len(words) >= fewest:
                return words
            if words:
                break
        raise self.error(f"ends, or has fewer than {fewest} values here")

    def numbers(self, count: int) -> F64:
        """So many numbers, in lines of any length."""
        found = list[float]()
        while len(found) < count:
            if not self._words:
                self._words = self.row(1)
            taken = self._words[: count - len(found)]
            self._words = self._words[len(taken) :]
            found += [self.number(word) for word in taken]
        return np.array(found)

    def number(self, word: str) -> float:
        try:
            value = real(word.replace("D", "E").replace("d", "e"))
        except ValueError:
            raise self.error(f"{word!r} is not a number") from None
        if not np.isfinite(value):
            raise self.error(f"{word!r} is not a finite number")
        return value

    def end(self) -> None:
        """InputError where values are left."""
        if self.rest():
            raise self.error(f"{self.rest()} values more than the header says")

    def rest(self) -> int:
        """How many values follow."""
        return len(self._words) + sum(len(line.split()) for line in self.lines[self._line :])


def _is_number(word: str) -> bool:
    try:
        real(word)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class _Grid:
    """The points of the tables: numbers, and distances in the units of the file."""

    densities: int
    density_step: float
    points: int
    spacing: float
    cutoff: float


def _read_grid(text: _Text) -> _Grid:
    words = text.row(5)
    counts = [natural_number(word) for word in (words[0], words[2])]
    if any(count is None or not 4 < count < _MOST for count in counts):
        raise text.error(
            "expected numbers of densities and of distances (5 or more), and their steps: "
            "'nrho drho nr dr cutoff'"
        )
    steps = [text.number(word) for word in (words[1], words[3], words[4])]
    if min(steps) <= 0:
        raise text.error("steps and cutoff must be positive")
    assert counts[0] is not None
    assert counts[1] is not None
    return _Grid(counts[0], steps[0], counts[1], *steps[1:])


def _mass(text: _Text, word: str) -> float:
    mass = text.number(word)
    if mass <= 0:
        raise text.error(f"a mass of {word}: it must be positive")
    return mass


def _read_funcfl(texts: list[_Text]) -> EmbeddedFunctions:
    elements, masses, grids = list[str](), list[float](), list[_Grid]()
    embedding, charges, densities = list[F64](), list[F64](), list[F64]()
    for text in texts:
        text.go_to(2)
        words = text.row(2)
        number = natural_number(words[0])
        if number is None or not 0 < number < len(SYMBOLS):
            raise text.error(
                "expected an atomic number and a mass: neither a file in the format funcfl, nor "
                "setfl, which names its elements in line 4"
            )
        elements.append(SYMBOLS[number])
        masses.append(_mass(text, words[1]))
        grids.append(_read_grid(text))
        if grids[-1] != grids[0]:
            raise text.error(
                f"its tables have other points than those of {texts[0].file}: use a file of an "
                "alloy (setfl)"
            )
        embedding.append(text.numbers(grids[0].densities))
        charges.append(text.numbers(grids[0].points))
        densities.append(text.numbers(grids[0].points))
        text.end()
    of_element = np.stack(charges)
    pairs = _HARTREE_BOHR * of_element[:, None] * of_element
    by_source = np.broadcast_to(np.stack(densities), pairs.shape)
    return _functions(elements, masses, grids[0], by_source, pairs, np.stack(embedding))


def _read_setfl(text: _Text) -> EmbeddedFunctions:
    text.go_to(4)
    elements = text.row(2)[1:]
    grid, count = _read_grid(text), len(elements)
    pairs_of_elements = count * (count + 1) // 2
    every_row = count * (4 + grid.densities) + pairs_of_elements * grid.points
    densities = (text.rest() - every_row) / (count * grid.points)
    by_pair = densities > (count + 1) / 2
    masses, embedding = list[float](), list[F64]()
    by_site = np.empty((count, count, grid.points))
    for source in range(count):
        masses.append(_mass(text, text.row(2)[1]))
        embedding.append(text.numbers(grid.densities))
        for site in range(count if by_pair else 1):
            by_site[site if by_pair else slice(None), source] = text.numbers(grid.points)
    pairs = np.empty((count, count, grid.points))
    for first in range(count):
        for second in range(first + 1):
            pairs[first, second] = pairs[second, first] = text.numbers(grid.points)
    text.end()
    return _functions(elements, masses, grid, by_site, pairs, np.stack(embedding))


def _functions(
    elements: Iterable[str],
    masses: list[float],
    grid: _Grid,
    densities: F64,
    pairs: F64,
    embedding: F64,
) -> EmbeddedFunctions:
    """In our units."""
    return EmbeddedFunctions(
        tuple(elements),
        masses,
        grid.cutoff * ANGSTROM,
        grid.spacing * ANGSTROM,
        grid.density_step,
        densities,
        pairs * (EV * ANGSTROM),
        embedding * EV,
    )
