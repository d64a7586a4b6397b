# SPDX-License-Identifier: Apache-2.0
"""The PSF file: atoms and their connections, in CHARMM's and X-PLOR's variants.

A header names the variant (EXT: wider columns; XPLOR: atom types by name; NAMD: free format), then
each section begins with a count and "!NAME".  Files have millions of numbers: each section is
converted as a whole.

Sources: CHARMM documentation, struct.doc and io.doc ("PSF file format"); X-PLOR 3.1 manual.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..description.elements import elements_of
from ..description.topology import Topology
from ..errors import InputError
from ..reading.fixed_width import read_bytes
from ..reading.words import converted, natural_number, real, reals, residue_number, whole

I64 = npt.NDArray[np.int64]
_Bytes = npt.NDArray[np.bytes_]

# Sections that are read, sections without energy terms, and why others are refused unless empty.
_LONE_PAIRS = "NUMLP"
_TERMS = {"NBOND": 2, "NTHETA": 3, "NPHI": 4, "NIMPHI": 4, "NCRTERM": 8}
_NEEDED = ("NATOM", "NBOND", "NTHETA", "NPHI", "NIMPHI")  # of molecules without such terms empty
_TITLE = "NTITLE"  # of which lines may have any text
_HARMLESS = {_TITLE, "NDON", "NACC", "NGRP", "MOLNT"}
_REFUSED = {
    "NUMANISO": "anisotropic polarizability (Drude) is not supported",
}
_UNKNOWN = "this section is not known, and ignoring it could make energies wrong"
# Atom lines of files in fixed format: segment, residue number, residue, name, type, charge, mass,
# and whether the atom is fixed.
_COLUMNS = ((9, 13), (14, 18), (19, 23), (24, 28), (29, 33), (34, 48), (48, 62), (62, 70))
_EXTENDED = ((11, 19), (20, 28), (29, 37), (38, 46), (47, 51), (52, 66), (66, 80), (80, 88))
_EXTENDED_XPLOR = ((11, 19), (20, 28), (29, 37), (38, 46), (47, 53), (54, 68), (68, 82), (82, 90))
_FIXED = (b"0", b"1", b"-1")  # an atom that moves, one that is fixed, a lone pair


def is_psf(head: bytes) -> bool:
    """Whether a file that begins so is a PSF."""
    return bool(re.match(rb"\s*PSF\b", head))


@dataclass(frozen=True)
class _Section:
    name: str
    count: int
    line: int  # of the header, from 1
    body: bytes


@dataclass(frozen=True)
class LonePair:
    """A lone pair: its place in the list, its atom and its hosts, from 0.

    `values` are a distance (A), an angle and a dihedral (degrees), whatever they mean for its kind.
    """

    row: int
    atom: int
    hosts: tuple[int, ...]
    values: tuple[float, float, float]


class PsfFile:
    """Atoms and terms of a PSF file.

    Attributes
    ----------
    file:
        Its path, for messages.
    type_names, type_of_atom:
        Atom types as they stand in the file, names or numbers, each once; and (N,) which of them
        each atom has.
    lone_pairs:
        In the order of the file.
    charges, masses:
        (N,) e, amu.
    topology:
        Names of atoms and residues; chains are the segments.
    """

    def __init__(self, path: str) -> None:
        self.file = path
        data = read_bytes(path)
        first, _, _ = data.partition(b"\n")
        self._flags = set(first.decode("latin-1").upper().split()[1:])
        self._sections: dict[str, _Section] = {}
        for section in _sections(path, data):
            if section.name in self._sections:
                raise self._error(section, -1, "this section occurs a second time")
            self._sections[section.name] = section
        self._refuse()
        self.lone_pairs = self._read_lone_pairs()
        self._read_atoms()

    @property
    def atoms(self) -> int:
        """Number of atoms."""
        return len(self.type_of_atom)

    def terms(self, name: str) -> npt.NDArray[np.int32]:
        """The terms of a section (NBOND, NTHETA, NPHI, NIMPHI, NCRTERM): (n, atoms), from 0."""
        arity = _TERMS[name]
        section = self._sections.get(name)
        if section is None:
            return np.empty((0, arity), dtype=np.int32)
        values = self._integers(section, section.count * arity)
        wrong = (values < 1) | (values > self.atoms)
        if wrong.any():
            index = int(np.argmax(wrong))
            raise self._error(section, index, f"{values[index]} is not an atom of this file")
        return (values.reshape(-1, arity) - 1).astype(np.int32)

    @cached_property
    def exclusions(self) -> npt.NDArray[np.int64]:
        """(n, 2) pairs that the file lists as excluded besides those that bonds imply."""
        section = self._sections.get("NNB")
        if section is None or section.count == 0:
            return np.empty((0, 2), dtype=np.int64)
        values = self._integers(section, section.count + self.atoms)
        others, ends = values[: section.count] - 1, values[section.count :]
        each = np.diff(ends, prepend=0)
        if (each < 0).any() or ends[-1] != section.count or others.max() >= self.atoms:
            raise self._error(
                section,
                section.count,
                "the numbers of excluded pairs of each atom do not add up to its count",
            )
        return np.column_stack([np.repeat(np.arange(self.atoms), each), others])

    def _refuse(self) -> None:
        if "DRUDE" in self._flags:
            raise InputError("Drude (polarizable) models are not supported", file=self.file, line=1)
        for name in _NEEDED:
            if name not in self._sections:
                message = f"no section !{name}: the file is truncated or not a PSF"
                raise InputError(message, file=self.file)
        for section in self._sections.values():
            known = section.name in _TERMS or section.name in _HARMLESS | {
                *("NATOM", "NNB", _LONE_PAIRS)
            }
            if section.count and not known:
                raise self._error(section, -1, _REFUSED.get(section.name, _UNKNOWN))

    def lone_pair_error(self, row: int, message: str) -> InputError:
        """About a lone pair, counted from 0."""
        line = self._sections[_LONE_PAIRS].line + 1 + row
        return InputError(f"!{_LONE_PAIRS}: {message}", file=self.file, line=line)

    def _read_lone_pairs(self) -> list[LonePair]:
        """A line for each (number of hosts, place in the list, F, three values), then the list."""
        section = self._sections.get(_LONE_PAIRS)
        if section is None or section.count == 0:
            return []
        lines = [line.split() for line in section.body.decode("latin-1").split("\n")]
        atoms = self._sections["NATOM"].count
        listed = [word for line in lines[section.count :] for word in line]
        if not all(1 <= (natural_number(word) or 0) <= atoms for word in listed):
            raise self._error(
                section, -1, f"its list of hosts may only have atom numbers from 1 to {atoms}"
            )
        found = []
        for row, words in enumerate(lines[: section.count]):
            try:
                hosts, place = whole(words[0]), whole(words[1])
                x, y, z = map(real, words[3:])
            except (IndexError, ValueError):
                raise self.lone_pair_error(
                    row, "expected number of hosts, place in the list, F and three values"
                ) from None
            if words[2] != "F" or not all(map(math.isfinite, (x, y, z))):
                raise self.lone_pair_error(row, "a lone pair weighted by masses (not F)")
            its = [int(word) - 1 for word in listed[max(place - 1, 0) :][: hosts + 1]]
            if place < 1 or hosts < 1 or len(its) != hosts + 1:
                raise self.lone_pair_error(
                    row, f"the list that follows lacks some of its {hosts} hosts"
                )
            found.append(LonePair(row, its[0], tuple(its[1:]), (x, y, z)))
        return found

    def _read_atoms(self) -> None:
        section = self._sections["NATOM"]
        lines = section.body.split(b"\n")[: section.count]
        if len(lines) < section.count or section.count == 0 or not lines[-1].strip():
            raise self._error(section, -1, f"should have {section.count} atoms, but has fewer")
        columns = self._atom_columns(section, lines)
        names, self.type_of_atom = np.unique(columns[4], return_inverse=True)
        self.type_names = [str(name) for name in _decoded(names)]
        self.charges = self._reals(section, "charge", columns[5])
        self.masses = self._reals(section, "mass", columns[6])
        fixed = columns[7] != _FIXED[0]
        for pair in self.lone_pairs:
            fixed[pair.atom] &= columns[7][pair.atom] != _FIXED[2]
        if fixed.any():
            first = int(np.argmax(fixed))
            message = (
                "fixed atoms, Drude particles (column IMOVE) and lone pairs that are not listed as "
                "such (!NUMLP) are not supported"
            )
            raise InputError(message, file=self.file, line=section.line + 1 + first, atom=first)
        self.topology = self._topology(*columns[:4])

    def _atom_columns(self, section: _Section, lines: list[bytes]) -> list[_Bytes]:
        """Segment, residue number, residue, name, type, charge, mass, fixed: (N,) each.

        Some programs leave out the last one: their lines end with the mass.
        """
        if "NAMD" in self._flags:
            return self._free_columns(section, lines)
        words = b"\n".join(lines).split()
        width = len(lines[0].split())
        regular = len(words) == width * len(lines)
        if regular and words[::width] == [b"%d" % k for k in range(1, len(lines) + 1)]:
            columns = [np.array(words[k::width]) for k in range(1, min(width, 9))]
            if width == 8 and not np.isin(columns[-1], _FIXED).all():  # else a segment is blank
                columns.append(np.full(len(lines), _FIXED[0]))
            if len(columns) == 8:
                return columns
        wide = _EXTENDED_XPLOR if "XPLOR" in self._flags else _EXTENDED
        places = wide if "EXT" in self._flags else _COLUMNS
        least = places[-2][0]  # of a line that has a mass
        short = next((k for k, line in enumerate(lines) if len(line.rstrip()) <= least), None)
        if short is not None:
            raise self._error(section, short, "the line of an atom is too short")
        columns = [np.array([line[start:end].strip() for line in lines]) for start, end in places]
        return [*columns[:-1], np.where(columns[-1] == b"", _FIXED[0], columns[-1])]

    def _free_columns(self, section: _Section, lines: list[bytes]) -> list[_Bytes]:
        """The columns of lines in free format."""
        rows = [line.split()[1:9] for line in lines]
        short = next((k for k, row in enumerate(rows) if len(row) < 7), None)
        if short is not None:
            raise self._error(section, short, "the line of an atom is too short")
        return [*map(np.array, zip(*([*row, _FIXED[0]][:8] for row in rows), strict=True))]

    def _topology(
        self,
        segments: _Bytes,
        numbers: _Bytes,
        residues: _Bytes,
        atom_names: _Bytes,
    ) -> Topology:
        names = _decoded(atom_names)
        change = np.zeros(len(names), dtype=bool)
        change[0] = True
        for column in (segments, numbers, residues):
            change[1:] |= column[1:] != column[:-1]
        first = np.flatnonzero(change)
        ids = _decoded(numbers[first])
        return Topology(
            atom_names=names,
            elements=elements_of(self.masses, names, self.terms("NBOND")),
            residue_of_atom=(np.cumsum(change) - 1).astype(np.int32),
            residue_names=_decoded(residues[first]),
            residue_ids=np.array([residue_number(text) for text in ids], dtype=np.int32),
            chain_ids=_decoded(segments[first]),
        )

    def _reals(self, section: _Section, what: str, texts: _Bytes) -> npt.NDArray[np.float64]:
        try:
            values = converted(texts, float)
        except ValueError:
            values = reals(text.decode("latin-1") for text in texts)
        if not np.isfinite(values).all():
            index = int(np.argmin(np.isfinite(values)))
            message = f"the {what} '{texts[index].decode('latin-1')}' is not a finite number"
            raise InputError(message, file=self.file, line=section.line + 1 + index, atom=index)
        return values

    def _integers(self, section: _Section, count: int) -> I64:
        if not section.body.strip():  # of which NumPy would make a number
            return self._counted(section, np.empty(0, dtype=np.int64), count)
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # how older NumPys say the same
            try:
                values = np.fromstring(section.body, dtype=np.int64, sep=" ")
            except (ValueError, DeprecationWarning):
                raise self._not_whole(section) from None
        return self._counted(section, values, count)

    def _counted(self, section: _Section, values: I64, count: int) -> I64:
        if len(values) != count:
            message = f"should have {count} numbers, but has {len(values)}"
            raise self._error(section, min(len(values), count), message)
        return values

    def _not_whole(self, section: _Section) -> InputError:
        words = section.body.split()
        index = next((k for k, word in enumerate(words) if not word.isdigit()), -1)
        return self._error(
            section, index, f"'{words[index].decode('latin-1')}' is not a whole number"
        )

    def _error(self, section: _Section, index: int, message: str) -> InputError:
        """About number `index` of a section; -1: about its header."""
        line = section.line
        if index >= 0:
            per_line = max(len(section.body.partition(b"\n")[0].split()), 1)
            line += 1 + (index if section.name == "NATOM" else index // per_line)
        return InputError(f"!{section.name}: {message}", file=self.file, line=line)


def _sections(file: str, data: bytes) -> Iterator[_Section]:
    """The sections of a file; InputError if a "!" outside the title begins none."""
    headers = []
    at = data.find(b"!")
    while at >= 0:
        start, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
        end = len(data) if end < 0 else end
        found = re.match(rb"\s*(\d{1,18})(?!\d)[\d\s]*!(\w+)", data[start:end])
        if found:
            headers.append((start, end, int(found[1]), found[2].decode()))
        elif headers and headers[-1][3] != _TITLE:
            message = f"'{data[start:end].decode('latin-1').strip()}' is not a count and !NAME"
            raise InputError(message, file=file, line=data.count(b"\n", 0, start) + 1)
        at = data.find(b"!", end)
    line, before = 1, 0
    ends = [*(start for start, *_ in headers), len(data)][1:]
    for (start, end, count, name), following in zip(headers, ends, strict=True):
        line += data.count(b"\n", before, start)
        before = start
        yield _Section(name, count, line, data[end + 1 : following])


def _decoded(texts: _Bytes) -> npt.NDArray[np.str_]:
    return np.char.decode(texts, "latin-1")
