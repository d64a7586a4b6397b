# SPDX-License-Identifier: Apache-2.0
"""Missing residues: found by the sequence of a file, or by neighbours without a bond."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import gemmi

from ..errors import QuiltError
from .notes import Note, listed
from .residues import label
from .structure import Piece, Structure

Treatment = Literal["refuse", "build", "cap"]
LONGEST_LOOP = 12  # residues that PDBFixer places without a template, at random and then relaxed
_TOPIC = "missing residues"


@dataclass(frozen=True)
class Gap:
    """Residues that are missing after one residue of a piece.

    Attributes
    ----------
    piece:
        Index of the piece.
    after:
        Index of the residue before the gap; -1 at the start of the piece.
    end:
        Whether the gap is at an end of the chain.
    names:
        The missing residues; empty if the file does not name them.
    """

    piece: int
    after: int
    end: bool
    names: tuple[str, ...]


def find_gaps(structure: Structure) -> list[Gap]:
    """All gaps of proteins and nucleic acids, in order."""
    return [
        gap
        for number, piece in enumerate(structure.pieces)
        if piece.is_polymer
        for gap in _gaps_of(number, piece)
    ]


def treat_gaps(
    structure: Structure, treatment: Treatment = "build", longest_loop: int = LONGEST_LOOP
) -> tuple[Structure, list[Gap]]:
    """The structure with chains cut at gaps that stay, and the gaps that are to be built.

    Parameters
    ----------
    structure:
        The structure as read.
    treatment:
        Treatment of gaps within chains: "build" those of known sequence, "cap" both sides of all
        gaps, or "refuse" gaps.  Residues that are missing at the ends of chains are not built.
    longest_loop:
        The longest gap that is built, residues.

    Raises
    ------
    QuiltError
        If a gap is refused, is too long, or has an unknown sequence.
    """
    notes = []
    gaps = find_gaps(structure)
    for gap in gaps:
        if gap.end:
            piece = structure.pieces[gap.piece]
            where = "start" if gap.after < 0 else "end"
            text = f"{len(gap.names)} residues at the {where} of chain {piece.chain}: not built."
            notes.append(Note(_TOPIC, text))
    inside = [gap for gap in gaps if not gap.end]
    if treatment == "cap":
        cut = _cut(structure, inside)
        notes += [
            Note(_TOPIC, f"{_place(structure, gap)}: the chain is cut there.", check=True)
            for gap in inside
        ]
        return cut.noting(*notes), []
    for gap in inside:
        _refuse(structure, gap, treatment, longest_loop)
        text = (
            f"{_place(structure, gap)}: {len(gap.names)} residues built ({listed(gap.names, 20)}); "
            "the loop is a guess and needs a long equilibration, or a model of its own."
        )
        notes.append(Note(_TOPIC, text, check=True))
    return structure.noting(*notes), inside


def _refuse(structure: Structure, gap: Gap, treatment: Treatment, longest: int) -> None:
    """Refuses a gap that cannot be built."""
    cap = "cut the chain there and cap both ends with --gaps cap"
    place = f"{structure.file}: {_place(structure, gap)}"
    if not gap.names:
        raise QuiltError(
            f"{place}, and the file does not tell which residues are missing: {cap}, build them "
            "with another program, or add the sequence (SEQRES, _entity_poly_seq)"
        )
    if treatment == "refuse":
        raise QuiltError(f"{place} ({listed(gap.names)}): build them with --gaps build, or {cap}")
    if len(gap.names) > longest:
        raise QuiltError(
            f"{place}, {len(gap.names)} residues, more than the {longest} that are built: {cap}, "
            "build them with another program, or raise --longest-loop"
        )


def _place(structure: Structure, gap: Gap) -> str:
    piece = structure.pieces[gap.piece]
    first, second = piece.residues[gap.after], piece.residues[gap.after + 1]
    missing = "residues are missing" if gap.names else "the chain is broken"
    return f"{missing} between {label(piece.chain, first)} and {label(piece.chain, second)}"


def _gaps_of(number: int, piece: Piece) -> Iterator[Gap]:
    marks = [residue.label_seq or 0 for residue in piece.residues]  # places in the sequence, from 1
    sequence = piece.sequence if all(marks) else ()
    if sequence and marks[0] > 1:
        yield Gap(number, -1, True, sequence[: marks[0] - 1])
    for index, (first, second) in enumerate(pairwise(piece.residues)):
        if not _connected(piece.kind, first, second):
            names = sequence[marks[index] : marks[index + 1] - 1]
            yield Gap(number, index, False, names)
    if marks[-1] < len(sequence):
        yield Gap(number, len(marks) - 1, True, sequence[marks[-1] :])


def _connected(kind: str, first: gemmi.Residue, second: gemmi.Residue) -> bool:
    """Whether two residues are bonded, by distance; yes where an atom of the bond is missing."""
    names = ("C", "N") if kind == "protein" else ("O3'", "P")
    ends = [
        next((atom for atom in residue if atom.name == name), None)
        for residue, name in zip((first, second), names, strict=True)
    ]
    if ends[0] is None or ends[1] is None:
        return True
    distance = ends[0].pos.dist(ends[1].pos)
    return bool(distance < (1.341 if kind == "protein" else 1.6) * 1.5)


def _cut(structure: Structure, gaps: list[Gap]) -> Structure:
    """The structure with chains cut at these gaps."""
    pieces: list[Piece] = []
    for number, piece in enumerate(structure.pieces):
        cuts = [gap.after + 1 for gap in gaps if gap.piece == number]
        bounds = [0, *cuts, len(piece.residues)]
        for start, end in pairwise(bounds):
            cut = (start > 0, end < len(piece.residues))
            pieces.append(replace(piece, residues=piece.residues[start:end], cut=cut))
    return replace(structure, pieces=tuple(pieces))
