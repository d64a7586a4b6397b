# SPDX-License-Identifier: Apache-2.0
"""PSF files of a few atoms, written line by line, with coordinates for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

Line = Callable[[int, "Atom"], str]


@dataclass(frozen=True)
class Atom:
    """What a line of !NATOM says."""

    segment: str
    residue: str
    residue_name: str
    name: str
    kind: str
    charge: float
    mass: float


def standard(number: int, atom: Atom) -> str:
    """CHARMM's columns."""
    return (
        f"{number:8d} {atom.segment:<4s} {atom.residue:<4s} {atom.residue_name:<4s} "
        f"{atom.name:<4s} {atom.kind:<4s} {atom.charge:14.6f}{atom.mass:14.4f}{0:8d}"
    )


def extended(number: int, atom: Atom) -> str:
    """CHARMM's wide columns, with types by name (EXT XPLOR)."""
    return (
        f"{number:10d} {atom.segment:<8s} {atom.residue:<8s} {atom.residue_name:<8s} "
        f"{atom.name:<8s} {atom.kind:<6s} {atom.charge:14.6f}{atom.mass:14.4f}{0:8d}"
    )


def free(number: int, atom: Atom) -> str:
    """Words with blanks between them, as NAMD and VMD write them."""
    return (
        f"{number:8d} {atom.segment} {atom.residue} {atom.residue_name} {atom.name} {atom.kind} "
        f"{atom.charge:10.6f} {atom.mass:10.4f} 0"
    )


def write_psf(
    path: Path,
    atoms: Sequence[Atom],
    bonds: Sequence[tuple[int, ...]] = (),
    angles: Sequence[tuple[int, ...]] = (),
    flags: str = "XPLOR",
    line: Line = standard,
) -> Path:
    """A PSF of these atoms and terms, whose atoms count from 0."""
    rows = [f"PSF {flags}", "", "       1 !NTITLE", " * made up", "", f"{len(atoms):8d} !NATOM"]
    rows += [line(number, atom) for number, atom in enumerate(atoms, 1)]
    for name, terms in (("NBOND: bonds", bonds), ("NTHETA: angles", angles)):
        rows += ["", f"{len(terms):8d} !{name}"]
        rows += ["".join(f"{atom + 1:8d}" for atom in term) for term in terms]
    for name in ("NPHI: dihedrals", "NIMPHI: impropers", "NDON: donors", "NACC: acceptors"):
        rows += ["", f"{0:8d} !{name}", ""]
    path.write_text("\n".join([*rows, ""]))
    return path


def write_crd(path: Path, atoms: Sequence[Atom], places: Sequence[Sequence[float]]) -> Path:
    """A CRD file of these atoms at places in angstrom."""
    rows = ["* made up", "*", f"{len(atoms):5d}"]
    for number, (atom, (x, y, z)) in enumerate(zip(atoms, places, strict=True), 1):
        rows.append(
            f"{number:5d}{1:5d} {atom.residue_name[:4]:<4s} {atom.name:<4s}"
            f"{x:10.5f}{y:10.5f}{z:10.5f} {atom.segment[:4]:<4s} 1    {0:10.5f}"
        )
    path.write_text("\n".join([*rows, ""]))
    return path


def renamed(atoms: Sequence[Atom], **changes: str) -> list[Atom]:
    """The atoms with other segments, residues or names."""
    return [replace(atom, **changes) for atom in atoms]
