# SPDX-License-Identifier: Apache-2.0
"""Structures as they come from the Protein Data Bank, and what is taken of them.

A `Structure` is a list of pieces: parts of chains without a break, and molecules.  Each function
returns a new one, with notes of what it has done.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import gemmi

from ..errors import InputError, QuiltError, one_line
from .notes import Note, listed
from .residues import STATES, element_of, is_nucleic, is_protein, is_water, key, label, without

_INPUT = "input"
Place = tuple[str, str, str]  # of an atom: chain, number of the residue, name


@dataclass(frozen=True)
class Piece:
    """Residues that follow each other in one chain of the input.

    Attributes
    ----------
    chain:
        Name of the chain in the input.
    kind:
        "protein", "nucleic", "water", "ion" or "other".
    residues:
        Residues of gemmi; no step changes them.
    sequence:
        Sequence of a protein or nucleic acid: the whole chain as the file gives it, or empty.
    cut:
        Whether the chain goes on before and after this piece, with residues that are missing.
    """

    chain: str
    kind: str
    residues: tuple[gemmi.Residue, ...]
    sequence: tuple[str, ...] = ()
    cut: tuple[bool, bool] = (False, False)

    @property
    def is_polymer(self) -> bool:
        """Whether it is a chain of amino acids or nucleotides."""
        return self.kind in ("protein", "nucleic")


@dataclass(frozen=True)
class Structure:
    """The chosen part of a structure file.

    Attributes
    ----------
    file:
        Its name.
    pieces:
        In the order of the file.
    bonds:
        Pairs of atoms that the file says are bonded, each (chain, number of the residue, atom).
    states:
        State of protonation of residues by their key ("A:57"), as their names in the file say.
    parents:
        Standard residues of modified residues, by name, as in the file (MODRES).
    notes:
        Notes of all steps.
    """

    file: str
    pieces: tuple[Piece, ...]
    bonds: tuple[tuple[Place, Place], ...] = ()
    states: Mapping[str, str] = field(default_factory=dict)
    parents: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()

    def residues(self) -> Iterator[tuple[str, gemmi.Residue]]:
        """All residues with the names of their chains."""
        for piece in self.pieces:
            for residue in piece.residues:
                yield piece.chain, residue

    def noting(self, *notes: Note) -> Structure:
        """The same with further notes."""
        return replace(self, notes=(*self.notes, *notes))


def read_structure(
    path: str | os.PathLike[str], *, model: int = 1, chains: Collection[str] | None = None
) -> Structure:
    """Reads a PDB or mmCIF file (also gzipped): one model, one location of each atom.

    Parameters
    ----------
    path:
        The file.
    model:
        Which of several models, from 1.
    chains:
        Names of the chains to keep; all by default.

    Raises
    ------
    InputError
        If the file cannot be read, or has no such model or chain.
    """
    file = os.fspath(path)
    read = _read(file)
    if not 1 <= model <= len(read):
        raise InputError(f"there is no model {model}: the file has {len(read)}", file=file)
    notes = [Note(_INPUT, f"{file}, model {model} of {len(read)}")]
    if len(read) > 1:
        notes.append(Note(_INPUT, f"The other {len(read) - 1} models are not used.", check=True))
    read.setup_entities()
    read.assign_label_seq_id()
    chosen = read[model - 1]
    _check_chains(chosen, chains, file)
    pieces = [
        piece
        for chain in chosen
        if chains is None or chain.name in chains
        for piece in _pieces_of(read, chain)
    ]
    left_out = [chain.name for chain in chosen if chains is not None and chain.name not in chains]
    if left_out:
        notes.append(Note(_INPUT, f"Left out: chains {listed(dict.fromkeys(left_out))}."))
    parents = {
        one.res_id.name: one.parent_comp_id for one in read.mod_residues if one.parent_comp_id
    }
    bonds = tuple(_bonds(read, chosen))
    found = Structure(file, tuple(pieces), bonds, parents=parents, notes=tuple(notes))
    return _plain_names(_one_location(found))


def remove_residues(structure: Structure, names: Collection[str]) -> Structure:
    """Removes the residues with these names.

    Raises
    ------
    QuiltError
        If there is none of a name.
    """
    there = {residue.name for _, residue in structure.residues()}
    if absent := [name for name in names if name not in there]:
        raise QuiltError(
            f"{structure.file} has no residue {listed(absent)} to remove; it has "
            f"{listed(sorted(there), 40)}"
        )
    removed = [label(chain, one) for chain, one in structure.residues() if one.name in names]
    kept = _filtered(structure, lambda residue: residue.name not in names)
    if not removed:
        return kept
    text = f"Removed as asked: {len(removed)} residues: {listed(removed)}."
    return kept.noting(Note("heterogens", text, check=True))


def remove_water(structure: Structure) -> Structure:
    """Removes the water molecules of the input."""
    number = sum(is_water(residue) for _, residue in structure.residues())
    kept = _filtered(structure, lambda residue: not is_water(residue))
    text = f"Removed: the {number} water molecules of the input."
    return kept.noting(Note("water of the input", text)) if number else kept


def remove_hydrogens(structure: Structure) -> Structure:
    """Removes all hydrogens; `add_hydrogens` builds new ones."""
    number = sum(atom.is_hydrogen() for _, residue in structure.residues() for atom in residue)
    pieces = []
    for piece in structure.pieces:
        bare = (without(residue, lambda atom: atom.is_hydrogen()) for residue in piece.residues)
        pieces.append(replace(piece, residues=tuple(bare)))
    made = replace(structure, pieces=tuple(pieces))
    return made.noting(Note("protonation", f"Removed: {number} hydrogens of the input."))


def _filtered(structure: Structure, keeps: Callable[[gemmi.Residue], bool]) -> Structure:
    pieces = []
    for piece in structure.pieces:
        kept = tuple(residue for residue in piece.residues if keeps(residue))
        if kept:
            pieces.append(replace(piece, residues=kept))
    return replace(structure, pieces=tuple(pieces))


def _read(file: str) -> gemmi.Structure:
    try:
        read = gemmi.read_structure(file)
    except (OSError, ValueError, RuntimeError) as error:
        if not os.path.exists(file):
            raise InputError("no such file", file=file) from None
        raise InputError(f"cannot be read: {one_line(error)}", file=file) from None
    if not len(read) or not read[0].count_atom_sites():
        raise InputError("has no atoms: is it a PDB or mmCIF file?", file=file)
    for model in read:
        for chain in model:
            for residue in chain:
                for atom in residue:
                    atom.element = element_of(residue, atom)
    return read


def _check_chains(model: gemmi.Model, chains: Collection[str] | None, file: str) -> None:
    there = list(dict.fromkeys(chain.name for chain in model))
    for name in chains or ():
        if name not in there:
            raise InputError(f"has no chain {name}; it has {listed(there, 40)}", file=file)


def _kind(residue: gemmi.Residue) -> str:
    if is_water(residue):
        return "water"
    if is_protein(residue):
        return "protein"
    if len(residue) == 1:
        return "ion"
    return "nucleic" if is_nucleic(residue) else "other"


def _pieces_of(structure: gemmi.Structure, chain: gemmi.Chain) -> Iterator[Piece]:
    """Runs of residues of one kind and one molecule of the file."""
    run: list[gemmi.Residue] = []
    for residue in chain:
        if run and not _goes_on(run[-1], residue):
            yield _piece(structure, chain.name, run)
            run = []
        run.append(residue)
    if run:
        yield _piece(structure, chain.name, run)


def _goes_on(last: gemmi.Residue, residue: gemmi.Residue) -> bool:
    """Whether a residue belongs to the piece of the one before it."""
    kind = _kind(residue)
    if kind != _kind(last) or kind == "other":
        return False
    return kind in ("water", "ion") or last.subchain == residue.subchain


def _piece(structure: gemmi.Structure, chain: str, run: Sequence[gemmi.Residue]) -> Piece:
    kind = _kind(run[0])
    sequence: tuple[str, ...] = ()
    if kind in ("protein", "nucleic"):
        entity = structure.get_entity_of(
            structure[0].get_subchain(run[0].subchain)
        )  # None where the file tells of none
        names = entity.full_sequence if entity is not None else ()
        sequence = tuple(gemmi.Entity.first_mon(name) for name in names)
    return Piece(chain, kind, tuple(residue.clone() for residue in run), sequence)


def _bonds(structure: gemmi.Structure, model: gemmi.Model) -> Iterator[tuple[Place, Place]]:
    """Bonds in records such as SSBOND, LINK, CONECT and struct_conn, except those to metals."""
    for connection in structure.connections:
        if connection.type in (gemmi.ConnectionType.Covale, gemmi.ConnectionType.Disulf):
            first, second = connection.partner1, connection.partner2
            yield _address(first), _address(second)
    places: dict[int, Place] = {}  # by the number of the atom
    for chain in model:
        for residue in chain:
            for atom in residue:
                if not atom.element.is_metal:
                    number = str(residue.seqid).strip()
                    places[atom.serial] = (chain.name, number, atom.name)
    for one, others in structure.conect_map.items():
        for other in others:
            if one < other and one in places and other in places:
                yield places[one], places[other]


def _address(end: gemmi.AtomAddress) -> Place:
    return end.chain_name, str(end.res_id.seqid).strip(), end.atom_name


def _one_location(structure: Structure) -> Structure:
    """The location with the highest occupancy, residue by residue, of atoms with several."""
    pieces, chosen = [], []
    for piece in structure.pieces:
        residues: list[gemmi.Residue] = []
        for residue in piece.residues:
            marks = sorted({atom.altloc for atom in residue if atom.altloc != "\0"})
            if not marks:
                residues.append(residue)
                continue
            located, mark = _located(residue, marks)
            chosen.append(f"{label(piece.chain, located)} {mark} of {''.join(marks)}")
            # Two residues in one place (microheterogeneity): that of the higher occupancy.
            if residues and residues[-1].seqid == located.seqid:
                residues[-1] = max(residues[-1], located, key=lambda one: one[0].occ)
            else:
                residues.append(located)
        pieces.append(replace(piece, residues=tuple(residues)))
    made = replace(structure, pieces=tuple(pieces))
    if not chosen:
        return made
    text = (
        f"{len(chosen)} residues have alternate locations; kept is the one with the highest "
        f"occupancy, the first of equal ones: {listed(chosen)}."
    )
    return made.noting(Note(_INPUT, text, check=True))


def _located(residue: gemmi.Residue, marks: Sequence[str]) -> tuple[gemmi.Residue, str]:
    weight = dict.fromkeys(marks, 0.0)
    for atom in residue:
        if atom.altloc in weight:
            weight[atom.altloc] += atom.occ
    best = max(marks, key=lambda mark: (weight[mark], -marks.index(mark)))
    named = {atom.name for atom in residue if atom.altloc in ("\0", best)}
    seen: set[str] = set()

    def drops(atom: gemmi.Atom) -> bool:  # called from the last atom to the first
        if atom.altloc in ("\0", best):
            return False
        only = atom.name not in named and atom.name not in seen  # it has other locations alone
        seen.add(atom.name)
        return not only

    copy = without(residue, drops)
    for atom in copy:
        atom.altloc = "\0"
    return copy, best


def _plain_names(structure: Structure) -> Structure:
    """Residues named by their state (HIE, ASH, HSD) get their usual names; states are kept."""
    states, pieces = {}, []
    for piece in structure.pieces:
        residues = []
        for residue in piece.residues:
            base, state = STATES.get(residue.name, ("", ""))
            if base and residue.name != base:
                states[key(piece.chain, residue)] = state
                residue = residue.clone()
                residue.name = base
            residues.append(residue)
        pieces.append(replace(piece, residues=tuple(residues)))
    made = replace(structure, pieces=tuple(pieces), states=states)
    if not states:
        return made
    names = listed(f"{state} {where}" for where, state in states.items())
    return made.noting(Note("protonation", f"As residues are named in the input: {names}."))
