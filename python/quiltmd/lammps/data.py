# SPDX-License-Identifier: Apache-2.0
"""Data files of LAMMPS: box, masses, atoms, velocities, bonded terms and coefficients.

Source: https://docs.lammps.org/read_data.html.  Other sections are refused by name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..reading.entries import number_of
from ..reading.fixed_width import read_bytes
from ..reading.words import natural_number
from .script import Command

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]

# Columns by atom style: where the type is, the charge (or -1), and the first coordinate.
STYLES = {
    "atomic": (1, -1, 2),
    "charge": (1, 2, 3),
    "bond": (2, -1, 3),
    "angle": (2, -1, 3),
    "molecular": (2, -1, 3),
    "full": (2, 3, 4),
}
# Kinds of bonded terms, and how many atoms they are of.
ATOMS = {"bond": 2, "angle": 3, "dihedral": 4, "improper": 4}
_COUNTS = ("atoms", *(f"{kind}s" for kind in ATOMS))
_TYPES = ("atom types", *(f"{kind} types" for kind in ATOMS))
_EDGES = ("xlo xhi", "ylo yhi", "zlo zhi")
_TERMS = {f"{kind}s".capitalize(): kind for kind in ATOMS}
_COEFFICIENTS = {f"{kind.capitalize()} Coeffs": kind for kind in ("pair", *ATOMS)}
_PAIR_COEFFICIENTS = "PairIJ Coeffs"
_SECTIONS = ("Masses", "Atoms", "Velocities", *_TERMS, *_COEFFICIENTS, _PAIR_COEFFICIENTS)
_MOST = 10**8


def _no_terms() -> dict[str, tuple[I32, I32]]:
    return {
        kind: (np.empty(0, np.int32), np.empty((0, atoms), np.int32))
        for kind, atoms in ATOMS.items()
    }


@dataclass(frozen=True)
class Coefficients:
    """A line of a section of coefficients, as the command that it stands for.

    Attributes
    ----------
    kind:
        "pair", "bond" and so on.
    command:
        pair_coeff, bond_coeff and so on, with the name of the section.
    style:
        A comment behind the name of the section.
    """

    kind: str
    command: Command
    style: str


@dataclass
class DataFile:
    """Of a data file, in its units; atoms in the order of their numbers.

    Attributes
    ----------
    box:
        (3, 3) rows.
    masses:
        By type, from 1; none where the file has no such section.
    types, charges, positions, velocities:
        (N,) from 1, (N,), (N, 3), and (N, 3) or None.
    terms:
        By kind: types (n,) from 1, and atoms (n, atoms of a term) from 0.
    counts:
        Numbers of atoms, of terms and of their types, as the header names them.
    coefficients:
        In the order of the file.
    file:
        Where this was read; "" where there is no file.
    """

    box: F64
    type_count: int
    masses: dict[int, float] = field(default_factory=dict)
    types: I32 = field(default_factory=lambda: np.empty(0, np.int32))
    charges: F64 = field(default_factory=lambda: np.empty(0))
    positions: F64 = field(default_factory=lambda: np.empty((0, 3)))
    velocities: F64 | None = None
    terms: dict[str, tuple[I32, I32]] = field(default_factory=_no_terms)
    counts: dict[str, int] = field(default_factory=dict)
    coefficients: list[Coefficients] = field(default_factory=list)
    file: str = ""


class _Lines:
    """A file without comments: words of lines, with their numbers."""

    def __init__(self, file: str) -> None:
        self.file = file
        text = read_bytes(file).decode("latin-1").splitlines()
        self.rows = [
            (number, line.split("#", 1)[0].split(), line.partition("#")[2].strip())
            for number, line in enumerate(text[1:], start=2)  # the first line is a title
        ]
        self.rows = [row for row in self.rows if row[1]]

    def error(self, line: int, message: str) -> InputError:
        return InputError(message, file=self.file, line=line)


def read_data(file: str, style: str) -> DataFile:
    """A data file whose atoms are of this style.

    Raises
    ------
    InputError
        With the line: sections that are not known, numbers that are wrong or missing.
    """
    lines = _Lines(file)
    starts = [k for k, row in enumerate(lines.rows) if row[1][0][0].isalpha()]
    found = _read_header(lines, lines.rows[: starts[0]] if starts else lines.rows)
    ends = [*starts[1:], len(lines.rows)]
    seen = set[str]()
    for start, end in zip(starts, ends, strict=True):
        line, words, comment = lines.rows[start]
        name = " ".join(words)
        if name not in _SECTIONS:
            known = ", ".join(_SECTIONS)
            raise lines.error(line, f"the section {name!r} is not supported; these are: {known}")
        if name in seen:
            raise lines.error(line, f"the section {name} comes twice")
        seen.add(name)
        rows = [row[:2] for row in lines.rows[start + 1 : end]]
        if name == "Masses":
            _read_masses(lines, rows, found)
        elif name == "Atoms":
            _refuse_another_style(lines, line, comment, style)
            _read_atoms(lines, rows, STYLES[style], found)
        elif name in _TERMS:
            _read_terms(lines, rows, _TERMS[name], found)
        elif name == "Velocities":
            if not len(found.types):
                raise lines.error(line, "velocities must come after the atoms")
            found.velocities = _table(lines, rows, len(found.types), 4)[:, 1:]
        else:
            found.coefficients += _coefficients(file, name, comment, rows)
    _refuse_missing(lines, seen, found)
    return found


def _refuse_missing(lines: _Lines, seen: set[str], found: DataFile) -> None:
    """InputError where a section is missing of which the header has counts."""
    for name in ("Atoms", *(section for section, kind in _TERMS.items())):
        if found.counts[name.lower()] and name not in seen:
            raise lines.error(lines.rows[-1][0], f"the section {name} is missing")


def _coefficients(
    file: str, name: str, style: str, rows: list[tuple[int, list[str]]]
) -> list[Coefficients]:
    kind = _COEFFICIENTS.get(name, "pair")
    twice = kind == "pair" and name != _PAIR_COEFFICIENTS  # the type of both atoms
    return [
        Coefficients(kind, Command(name, (*words[:twice], *words), file, line), style)
        for line, words in rows
    ]


def _read_header(lines: _Lines, rows: list[tuple[int, list[str], str]]) -> DataFile:
    counts = dict.fromkeys((*_COUNTS, *_TYPES), 0)
    edges, tilts = dict[str, list[float]](), [0.0, 0.0, 0.0]
    for line, words, _ in rows:
        numbers = [number_of(word) for word in words if not re.match("[a-z]", word)]
        name = " ".join(words[len(numbers) :])
        if not all(abs(number) < _MOST for number in numbers):
            raise lines.error(line, f"{' '.join(words)}: a number is expected")
        if name in edges or (name == "xy xz yz" and any(tilts)):
            raise lines.error(line, f"{name} comes twice")
        if name in _EDGES and len(numbers) == 2 and numbers[0] < numbers[1]:
            edges[name] = numbers
        elif name == "xy xz yz" and len(numbers) == 3:
            tilts = numbers
        elif name in counts and (count := natural_number(words[0])) is not None:
            counts[name] = count
        elif not re.fullmatch(r"extra (\w+ per atom|\w+ types)", name):  # room in memory
            raise lines.error(line, f"the header {' '.join(words)!r} is not supported")
    if len(edges) < 3 or not counts["atoms"] or not counts["atom types"]:
        wanted = "atoms, atom types, xlo xhi, ylo yhi and zlo zhi"
        raise lines.error(rows[-1][0] if rows else 1, f"the header needs {wanted}")
    (ax, by, cz), (bx, cx, cy) = (np.ptp(edges[name]) for name in _EDGES), tilts
    box = np.array([[ax, 0, 0], [bx, by, 0], [cx, cy, cz]])
    return DataFile(box, counts["atom types"], counts=counts, file=lines.file)


def _refuse_another_style(lines: _Lines, line: int, comment: str, style: str) -> None:
    if comment and comment.split()[0] != style:
        raise lines.error(line, f"atoms are of the style {comment}, not {style} (atom_style)")


def _table(lines: _Lines, rows: list[tuple[int, list[str]]], count: int, width: int) -> F64:
    """Numbers by atom: rows begin with its number, from 1 to `count`; `width` columns count."""
    if len(rows) != count:
        line = rows[-1][0] if rows else lines.rows[-1][0]
        raise lines.error(line, f"{len(rows)} rows up to here, not {count}")
    found = np.full((count, width), np.nan)
    for line, words in rows:
        number = natural_number(words[0]) or 0
        if not 1 <= number <= count or not np.isnan(found[number - 1, 0]):
            raise lines.error(line, f"{words[0]}: numbers of atoms must be 1 to {count}, each once")
        if len(words) < width:
            raise lines.error(line, f"{len(words)} values, and {width} are needed")
        found[number - 1] = [number_of(word) for word in words[:width]]
        if not np.isfinite(found[number - 1]).all():
            raise lines.error(line, f"{' '.join(words)}: a value is not a finite number")
    return found


def _read_masses(lines: _Lines, rows: list[tuple[int, list[str]]], found: DataFile) -> None:
    for line, words in rows:
        kind = natural_number(words[0]) or 0
        mass = number_of(words[1]) if len(words) == 2 else float("nan")
        if not (1 <= kind <= found.type_count and 0 < mass < _MOST) or kind in found.masses:
            raise lines.error(line, f"{' '.join(words)}: expected a type and its mass")
        found.masses[kind] = mass


def _read_atoms(
    lines: _Lines,
    rows: list[tuple[int, list[str]]],
    columns: tuple[int, int, int],
    found: DataFile,
) -> None:
    kind, charge, first = columns
    for line, words in rows:
        if len(words) not in (first + 3, first + 6):  # three image flags
            raise lines.error(line, f"{len(words)} values, not {first + 3} (or {first + 6})")
    table = _table(lines, rows, found.counts["atoms"], first + 3)
    types = table[:, kind]
    wrong = np.flatnonzero((types < 1) | (types > found.type_count) | (types % 1 != 0))
    if len(wrong):
        raise lines.error(
            rows[0][0],
            f"atom {wrong[0] + 1}: there is no type {types[wrong[0]]:g}",
        )
    found.types = types.astype(np.int32)
    found.charges = table[:, charge] if charge >= 0 else np.zeros(len(types))
    found.positions = table[:, first:]


def _read_terms(
    lines: _Lines, rows: list[tuple[int, list[str]]], kind: str, found: DataFile
) -> None:
    """Rows of a number, a type, and atoms; the number has no meaning."""
    width = 2 + ATOMS[kind]
    types, atoms = found.counts[f"{kind} types"], found.counts["atoms"]
    if len(rows) != found.counts[f"{kind}s"]:
        line = rows[-1][0] if rows else lines.rows[-1][0]
        raise lines.error(line, f"{len(rows)} {kind}s, not {found.counts[f'{kind}s']}")
    table = np.empty((len(rows), width), dtype=np.int64)
    for row, (line, words) in enumerate(rows):
        numbers = [number for word in words if (number := natural_number(word)) is not None]
        if len(numbers) != width or len(words) != width:
            raise lines.error(line, f"expected a number, a type, and {ATOMS[kind]} atoms")
        table[row] = numbers
    wrong = (table[:, 1] < 1) | (table[:, 1] > types)
    wrong |= ((table[:, 2:] < 1) | (table[:, 2:] > atoms)).any(axis=1)
    if wrong.any():
        line = rows[int(np.argmax(wrong))][0]
        raise lines.error(line, f"types of {kind}s are 1 to {types}, atoms 1 to {atoms}")
    members = (table[:, 2:] - 1).astype(np.int32)
    found.terms[kind] = (table[:, 1].astype(np.int32), members)
