# SPDX-License-Identifier: Apache-2.0
"""From a structure to a model with all heavy atoms, by PDBFixer."""

from __future__ import annotations

import io
import random
import string
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import gemmi

from ..description.checks import user_arguments
from ..errors import QuiltError, one_line
from .force_fields import ForceField
from .gaps import LONGEST_LOOP, Treatment, treat_gaps
from .libraries import import_openmm, import_pdbfixer
from .notes import Note, listed
from .quantities import LoopLength, Seed
from .residues import CAPS, is_water, key, label, without
from .structure import Structure

Termini = Literal["charged", "capped"]


@dataclass(frozen=True)
class Model:
    """Atoms, bonds and positions, as OpenMM has them.

    Attributes
    ----------
    topology:
        An `openmm.app.Topology`.
    positions:
        Positions with a unit, as OpenMM gives them.
    states:
        State of protonation of residues by their key ("A:57"), as the input names them.
    places:
        Keys of residues in the input, by chain and number in the topology, if these differ.
    notes:
        Notes of all steps.
    """

    topology: Any
    positions: Any
    states: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[tuple[str, str], str] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()

    def noting(self, *notes: Note) -> Model:
        """The same with further notes."""
        return replace(self, notes=(*self.notes, *notes))

    def key(self, residue: Any) -> str:
        """Key by which settings name a residue of the topology: that of the input."""
        number = f"{residue.id}{residue.insertionCode.strip()}"
        return self.places.get((residue.chain.id, number), f"{residue.chain.id}:{number}")


@contextmanager
def drawing(seed: int) -> Iterator[None]:
    """OpenMM draws places of hydrogens, ions and atoms from Python's generator: from this seed."""
    state = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(state)


def replace_residues(structure: Structure, replacements: Mapping[str, str]) -> Structure:
    """Renames residues, and removes atoms that the new residues do not have.

    Parameters
    ----------
    structure:
        The structure as read.
    replacements:
        Names of residues and of the standard residues that replace them, such as MSE and MET.

    Raises
    ------
    QuiltError
        If there is no such residue, or PDBFixer does not know the new one.
    """
    templates = import_pdbfixer().PDBFixer
    there = {residue.name for _, residue in structure.residues()}
    for old, new in replacements.items():
        if old not in there:
            raise QuiltError(f"{structure.file} has no residue {old} to replace by {new}")
    known = _template_atoms(templates, set(replacements.values()))
    pieces, done = [], []
    for piece in structure.pieces:
        residues = []
        for residue in piece.residues:
            if residue.name in replacements:
                done.append(f"{label(piece.chain, residue)} by {replacements[residue.name]}")
                residue = _renamed(residue, replacements[residue.name], known)
            residues.append(residue)
        pieces.append(replace(piece, residues=tuple(residues)))
    text = f"Replaced as asked: {listed(done)}."
    made = replace(structure, pieces=tuple(pieces))
    return made.noting(Note("residues", text, check=True)) if done else made


def refuse_unknown_residues(
    structure: Structure, force_field: ForceField, others: Collection[str] = ()
) -> None:
    """Refuses residues that neither PDBFixer nor the force field knows.

    Parameters
    ----------
    structure:
        The structure as read.
    force_field:
        The force field.
    others:
        Names of residues whose parameters come from other files.

    Raises
    ------
    QuiltError
        Names them all, and the options that settle them.
    """
    library = import_pdbfixer().pdbfixer
    standard = {
        *library.proteinResidues,
        *library.dnaResidues,
        *library.rnaResidues,
        *CAPS,
        *others,
        *force_field.templates(),
    }
    ions = _elements_of_ions(force_field)
    unknown: dict[str, list[str]] = {}
    for chain, residue in structure.residues():
        is_ion = len(residue) == 1 and residue[0].element.atomic_number in ions
        if residue.name not in standard and not is_water(residue) and not is_ion:
            unknown.setdefault(residue.name, []).append(label(chain, residue))
    if not unknown:
        return
    parents = {**library.substitutions, **structure.parents}
    in_chain = {
        one.name for piece in structure.pieces if piece.is_polymer for one in piece.residues
    }
    exchange = ",".join(
        f"{name}={parents.get(name, 'NAME')}" for name in unknown if name in in_chain
    )
    remove = ",".join(name for name in unknown if name not in in_chain)
    remedies = [f"replace by a standard residue with --replace {exchange}"] if exchange else []
    if remove:
        remedies += [
            f"remove with --remove {remove}, and give those that matter as --ligand FILE.sdf",
        ]
    remedies.append("or add their parameters with --force-field FILE.xml")
    names = "; ".join(listed(places, 4) for places in unknown.values())
    raise QuiltError(
        f"{structure.file}: {force_field.title} has no parameters for {names}: "
        + "; ".join(remedies)
    )


def note_kept(structure: Structure) -> Structure:
    """The structure with a note of kept residues other than proteins and nucleic acids."""
    kept = [
        label(piece.chain, residue)
        for piece in structure.pieces
        for residue in piece.residues
        if piece.kind in ("ion", "other")
    ]
    waters = sum(len(piece.residues) for piece in structure.pieces if piece.kind == "water")
    notes = [Note("heterogens", f"Kept: {listed(kept, 40)}.", check=True)] if kept else []
    if waters:
        notes.append(Note("water of the input", f"Kept: {waters} molecules."))
    return structure.noting(*notes)


@user_arguments
def repair(
    structure: Structure,
    *,
    gaps: Treatment = "build",
    longest_loop: LoopLength = LONGEST_LOOP,
    termini: Termini = "charged",
    seed: Seed = 1,
) -> Model:
    """Adds missing heavy atoms, missing residues and caps.

    Parameters
    ----------
    structure:
        The chosen part of the input.
    gaps, longest_loop:
        As for `treat_gaps`.
    termini:
        "charged" ends of proteins, or "capped" by ACE and NME.  Ends at cuts are always capped.
    seed:
        Random seed of PDBFixer.

    Raises
    ------
    QuiltError
        If gaps are refused, or PDBFixer is missing or fails.
    """
    library = import_pdbfixer()
    import_openmm()
    structure, loops = treat_gaps(structure, gaps, longest_loop)
    names = _chain_names(structure)
    fixer = library.PDBFixer(pdbxfile=io.StringIO(_as_mmcif(structure, names)))
    _bond(fixer.topology, structure)
    caps, notes = _caps(structure, termini)
    fixer.missingResidues = {
        **{(loop.piece, loop.after + 1): list(loop.names) for loop in loops},
        **caps,
    }
    with drawing(seed):
        _guarded(fixer.findMissingAtoms)
        notes += _missing_atoms(structure, fixer)
        incomplete = {_place(residue) for residue in _changed(fixer)}
        _guarded(lambda: fixer.addMissingAtoms(seed=seed))
    topology, positions = _without_hydrogens(fixer, incomplete)
    places = {}
    for name, piece in zip(names, structure.pieces, strict=True):
        for residue in piece.residues:
            places[name, str(residue.seqid).strip()] = key(piece.chain, residue)
    notes += _renamed_chains(structure, names)
    return Model(topology, positions, structure.states, places, (*structure.notes, *notes))


def _place(residue: Any) -> tuple[str, str, str]:
    return residue.chain.id, residue.id, residue.insertionCode


def _changed(fixer: Any) -> Iterator[Any]:
    """Residues that get heavy atoms or a new neighbour."""
    yield from fixer.missingAtoms
    chains = list(fixer.topology.chains())
    for chain, place in fixer.missingResidues:
        residues = list(chains[chain].residues())
        yield from residues[max(place - 1, 0) : place + 1]


def _without_hydrogens(fixer: Any, residues: Collection[tuple[str, str, str]]) -> tuple[Any, Any]:
    """Topology and positions without the hydrogens of residues that have changed.

    Those of a truncated side chain, or of an end that is none any more, are in the way.
    """
    app = import_openmm().app
    modeller = app.Modeller(fixer.topology, fixer.positions)
    modeller.delete(
        [
            atom
            for atom in modeller.topology.atoms()
            if atom.element == app.element.hydrogen and _place(atom.residue) in residues
        ]
    )
    return modeller.topology, modeller.positions


def _guarded(call: Callable[[], object]) -> None:
    try:
        call()
    except Exception as error:
        raise QuiltError(f"PDBFixer: {one_line(error)}") from None


def _template_atoms(fixer: Any, names: Collection[str]) -> dict[str, set[str]]:
    """Heavy atoms of PDBFixer's templates."""
    app = import_openmm().app
    line = "ATOM      1  CA  GLY A   1       0.000   0.000   0.000  1.00  0.00           C\nEND\n"
    of_templates = fixer(pdbfile=io.StringIO(line)).templates
    for name in names:
        if name not in of_templates:
            raise QuiltError(
                f"cannot replace a residue by {name}: PDBFixer knows {listed(of_templates, 40)}"
            )
    return {
        name: {
            atom.name
            for atom in of_templates[name].topology.atoms()
            if atom.element != app.element.hydrogen
        }
        for name in names
    }


def _renamed(residue: gemmi.Residue, name: str, known: dict[str, set[str]]) -> gemmi.Residue:
    copy = without(residue, lambda atom: atom.name not in known[name])
    copy.name = name
    return copy


def _elements_of_ions(force_field: ForceField) -> set[int]:
    """Atomic numbers of what has a template of one atom."""
    templates = force_field.made._templates.values()
    alone = [template.atoms[0] for template in templates if len(template.atoms) == 1]
    return {atom.element.atomic_number for atom in alone if atom.element is not None}


def _chain_names(structure: Structure) -> list[str]:
    """A name for each piece: that of its chain for the first, then what is free."""
    free = iter([*string.ascii_uppercase, *string.ascii_lowercase, *string.digits])
    taken = {piece.chain for piece in structure.pieces}
    names: list[str] = []
    numbers = iter(range(1, len(structure.pieces) + 1))
    for piece in structure.pieces:
        name = piece.chain
        if not name or name in names:
            name = next((one for one in free if one not in taken and one not in names), "")
            name = name or f"X{next(numbers)}"
        names.append(name)
    return names


def _renamed_chains(structure: Structure, names: list[str]) -> list[Note]:
    changed = [
        f"{piece.chain or 'without a name'}: {name} for "
        + (label(piece.chain, piece.residues[0]) if len(piece.residues) == 1 else piece.kind)
        for piece, name in zip(structure.pieces, names, strict=True)
        if piece.chain != name
    ]
    if not changed:
        return []
    text = "Parts of chains have other names in the written files: " + listed(changed, 8)
    return [Note("input", text + ".")]


def _as_mmcif(structure: Structure, names: list[str]) -> str:
    """An mmCIF file with a chain for each piece, which OpenMM reads with its table of names."""
    made = gemmi.Structure()
    model = gemmi.Model(1)
    for name, piece in zip(names, structure.pieces, strict=True):
        chain = gemmi.Chain(name)
        for residue in piece.residues:
            copy = residue.clone()
            copy.subchain = name
            chain.add_residue(copy)
        model.add_chain(chain)
    made.add_model(model)
    groups = gemmi.MmcifOutputGroups(False)
    groups.atoms = True
    return str(made.make_mmcif_document(groups).as_string())


def _bond(topology: Any, structure: Structure) -> None:
    """Bonds that the file states and that the names of atoms do not tell."""
    atoms = {}
    of_topology = iter(topology.atoms())
    for piece in structure.pieces:
        for residue in piece.residues:
            for atom in residue:
                place = (piece.chain, str(residue.seqid).strip(), atom.name)
                atoms[place] = next(of_topology)
    there = {frozenset(bond) for bond in topology.bonds()}
    for first, second in structure.bonds:
        if first in atoms and second in atoms:
            bond = frozenset((atoms[first], atoms[second]))
            if bond not in there and len(bond) == 2:
                there.add(bond)
                topology.addBond(atoms[first], atoms[second])


def _caps(
    structure: Structure, termini: Termini
) -> tuple[dict[tuple[int, int], list[str]], list[Note]]:
    """Caps by piece and place, as PDBFixer's missing residues."""
    caps: dict[tuple[int, int], list[str]] = {}
    notes = []
    for number, piece in enumerate(structure.pieces):
        if piece.kind != "protein":
            continue
        ends = (piece.residues[0], piece.residues[-1])
        for which, (end, cap, place) in enumerate(
            zip(ends, ("ACE", "NME"), (0, len(piece.residues)), strict=True)
        ):
            if end.name in CAPS:
                notes.append(Note("termini", f"{label(piece.chain, end)} as in the input."))
            elif termini == "capped" or piece.cut[which]:
                caps[number, place] = [cap]
                notes.append(Note("termini", f"{label(piece.chain, end)}: capped by {cap}."))
            else:
                sign = ("positive", "negative")[which]
                notes.append(Note("termini", f"{label(piece.chain, end)}: charged, {sign}."))
    return caps, notes


def _missing_atoms(structure: Structure, fixer: Any) -> list[Note]:
    found = [
        f"{residue.name} {residue.chain.id}:{residue.id} ({listed(atom.name for atom in atoms)})"
        for residue, atoms in fixer.missingAtoms.items()
    ]
    ends = [f"{one.name} {one.chain.id}:{one.id}" for one in fixer.missingTerminals]
    notes = []
    if found:
        text = f"{len(found)} residues had missing atoms, which are added: {listed(found)}."
        notes.append(Note("missing atoms", text, check=True))
    if ends:
        notes.append(Note("missing atoms", f"Added at ends of chains: OXT of {listed(ends)}."))
    return notes or [Note("missing atoms", "No heavy atoms were missing.")]
