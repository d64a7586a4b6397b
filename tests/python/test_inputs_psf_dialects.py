# SPDX-License-Identifier: Apache-2.0
"""Variants of the PSF format: the same four atoms, and the same energy by its formula."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_psf import Atom, Line, extended, free, standard, write_crd, write_psf

import quiltmd
from quiltmd import InputError
from quiltmd.charmm.psf import PsfFile

pytestmark = pytest.mark.filterwarnings("ignore:there is no periodic box:quiltmd.QuiltWarning")

PARAMETERS = """* made up
*
ATOMS
MASS -1 CG2R61 12.011
MASS -1 CG301 12.011
MASS -1 C 12.011
BONDS
CG2R61 CG301 100.0 1.50
C C 100.0 1.50
NONBONDED
CG2R61 0.0 -0.07 1.99
CG301 0.0 -0.032 2.0
C 0.0 -0.11 2.0
END
"""
DEPTHS = {"CG2R61": (0.07, 1.99), "CG301": (0.032, 2.0), "C": (0.11, 2.0)}  # kcal/mol, angstrom
PLACES = ((10.0, 10.0, 10.0), (11.6, 10.0, 10.0), (10.0, 14.0, 10.0), (11.6, 14.0, 10.0))
CHARGES = (0.25, -0.25, 0.3, -0.3)
BONDS = [(0, 1), (2, 3)]
LONG, SHORT = ["CG2R61", "CG301", "CG2R61", "CG301"], ["C"] * 4


def expected(kinds: list[str]) -> float:
    """kJ/mol: two bonds 0.1 angstrom too long, and four pairs between the molecules."""
    energy = 2 * 100 * 4.184 * 0.1**2
    for i in (0, 1):
        for j in (2, 3):
            r = math.dist(PLACES[i], PLACES[j])
            (depth, near), (other, far) = DEPTHS[kinds[i]], DEPTHS[kinds[j]]
            ratio = (near + far) / r
            energy += 4.184 * math.sqrt(depth * other) * (ratio**12 - 2 * ratio**6)
            energy += 138.935458 * CHARGES[i] * CHARGES[j] / (r / 10)
    return energy


def molecules(kinds: list[str], **changes: str) -> list[Atom]:
    atoms = [
        Atom("LIG", str(1 + k // 2), "LIG", f"C{1 + k % 2}", kinds[k], CHARGES[k], 12.011)
        for k in range(4)
    ]
    return [replace(atom, **changes) for atom in atoms]


def without_the_last_word(line: Line) -> Line:
    return lambda number, atom: line(number, atom).rsplit(maxsplit=1)[0]


def every_second(line: Line) -> Line:
    short = without_the_last_word(line)
    return lambda number, atom: (line if number % 2 else short)(number, atom)


def with_charge_columns(number: int, atom: Atom) -> str:
    return f"{extended(number, atom)}   0.00000     -0.301140E-02"


def shifted(number: int, atom: Atom) -> str:
    """Columns of the standard format moved by types that do not fit."""
    return (
        f"{number:8d} {atom.segment:<4s} {atom.residue:<4s} {atom.residue_name:<4s} "
        f"{atom.name:<4s} {atom.kind:<4s} {atom.charge:10.6f}      {atom.mass:8.4f}           0"
    )


def with_exponents(number: int, atom: Atom) -> str:
    return standard(number, atom).replace(f"{atom.charge:14.6f}", f"{atom.charge:14.6E}")


def numbered_from_zero(number: int, atom: Atom) -> str:
    return free(number - 1, atom)


WIDE, NAMD = "EXT XPLOR", "NAMD"


@pytest.mark.parametrize(
    ("kinds", "flags", "line", "changes"),
    [
        (SHORT, "XPLOR", standard, {}),
        (LONG, WIDE, extended, {}),
        (LONG, WIDE, extended, {"segment": ""}),
        (LONG, "", free, {}),
        (LONG, NAMD, free, {"segment": "LONGSEG9", "residue_name": "LIGAND01"}),
        (LONG, "", shifted, {}),
        (LONG, WIDE, with_charge_columns, {}),
        (SHORT, "XPLOR", with_exponents, {}),
        (LONG, WIDE, without_the_last_word(extended), {}),
        (LONG, WIDE, without_the_last_word(extended), {"segment": ""}),
        (SHORT, "XPLOR", without_the_last_word(standard), {}),
        (SHORT, "XPLOR", without_the_last_word(standard), {"segment": "", "residue": "-3"}),
        (LONG, NAMD, without_the_last_word(free), {}),
        (LONG, "", without_the_last_word(shifted), {}),
        (LONG, WIDE, every_second(extended), {}),
        (LONG, NAMD, every_second(free), {}),
        (LONG, NAMD, numbered_from_zero, {}),
        (SHORT, "XPLOR", every_second(standard), {"residue": "7A"}),
    ],
)
def test_lines_of_atoms(
    kinds: list[str], flags: str, line: Line, changes: dict[str, str], tmp_path: Path
) -> None:
    atoms = molecules(kinds, **changes)
    psf = write_psf(tmp_path / "a.psf", atoms, BONDS, flags=flags, line=line)
    parameters = tmp_path / "a.prm"
    parameters.write_text(PARAMETERS)
    crd = write_crd(tmp_path / "a.crd", atoms, PLACES)
    system, state = quiltmd.load(psf, crd, parameters=[parameters])
    assert system.topology.atom_names.tolist() == ["C1", "C2", "C1", "C2"]
    assert system.masses.tolist() == 4 * [12.011]
    assert set(system.topology.chain_ids) == {changes.get("segment", "LIG")}
    energy = quiltmd.Simulation(system, state, device="cpu").energies()["potential"]
    assert energy == pytest.approx(expected(kinds), rel=2e-5)


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("* made up", "* by me!NATOM is 4 ! 7 !NBOND"),
        lambda text: text.replace("       1 !NTITLE\n * made up\n", "       0 !NTITLE\n"),
    ],
)
def test_lines_of_the_file(edit: Callable[[str], str], tmp_path: Path) -> None:
    path = write_psf(tmp_path / "a.psf", molecules(SHORT), BONDS)
    path.write_bytes(edit(path.read_text()).encode())
    psf = PsfFile(str(path))
    assert psf.charges.tolist() == list(CHARGES)
    assert psf.terms("NBOND").tolist() == [list(bond) for bond in BONDS]


@pytest.mark.parametrize("line", [standard, extended, free])
def test_fixed_atoms_are_refused_in_every_variant(line: Line, tmp_path: Path) -> None:
    def held(number: int, atom: Atom) -> str:
        text = line(number, atom)
        return text[:-1] + "1" if number == 3 else text

    flags = WIDE if line is extended else "XPLOR"
    psf = write_psf(tmp_path / "a.psf", molecules(SHORT), BONDS, flags=flags, line=held)
    with pytest.raises(InputError, match=r"line 9, atom 3: fixed atoms"):
        PsfFile(str(psf))


def test_lines_that_end_before_the_mass_are_refused(tmp_path: Path) -> None:
    short = without_the_last_word(without_the_last_word(extended))
    psf = write_psf(tmp_path / "a.psf", molecules(LONG), BONDS, flags=WIDE, line=short)
    with pytest.raises(InputError, match="line 7: !NATOM: the line of an atom is too short"):
        PsfFile(str(psf))


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda text: text.replace("2 !NBOND", "2, !NBOND"), "line 12: '2, !NBOND: bonds' is not"),
        (lambda text: text.replace("0 !NPHI", "O !NPHI"), "line 18: 'O !NPHI: dihedrals' is not"),
        (lambda text: text.partition("       0 !NPHI")[0], "no section !NPHI: the file is trunc"),
        (lambda text: text.partition("       2 !NBOND")[0], "no section !NBOND"),
        (
            lambda text: f"{text}\n       0 !NBOND\n\n",
            "line 30: !NBOND: this section occurs",
        ),
    ],
)
def test_no_section_is_lost(edit: Callable[[str], str], words: str, tmp_path: Path) -> None:
    path = write_psf(tmp_path / "a.psf", molecules(SHORT), BONDS)
    path.write_text(edit(path.read_text()))
    with pytest.raises(InputError, match=words):
        PsfFile(str(path))


PAIR = "\nNBFIX\n{} -0.5 3.5\nEND"
FIRST = "CG2R61 0.0 -0.07 1.99\n"


@pytest.mark.parametrize(
    ("wild", "plain"),
    [
        (
            PARAMETERS.replace("\nEND", PAIR.format("CG30% CG2R6+")),
            PARAMETERS.replace("\nEND", PAIR.format("CG301 CG2R61")),
        ),
        (
            PARAMETERS.replace("\nEND", PAIR.format("CG3# CG3*")),
            PARAMETERS.replace("\nEND", PAIR.format("CG301 CG301")),
        ),
        (
            PARAMETERS.replace(FIRST, "CG* 0.0 -0.07 1.99\n"),
            PARAMETERS,
        ),
        (
            PARAMETERS.replace(
                "CG301 0.0 -0.032 2.0\n", "CG301 0.0 -0.032 2.0\nCG* 0.0 -0.2 2.1\n"
            ),
            PARAMETERS.replace("-0.032 2.0", "-0.2 2.1").replace("-0.07 1.99", "-0.2 2.1"),
        ),
        (  # the name of a type
            PARAMETERS.replace("\nEND", PAIR.format("CG* CG*")).replace(
                "MASS -1 C ", "MASS -1 CG* 12.011\nMASS -1 C "
            ),
            PARAMETERS,
        ),
    ],
)
def test_wild_cards_of_lennard_jones_parameters(wild: str, plain: str, tmp_path: Path) -> None:
    """As in CHARMM, of all lines that match a type the last one holds."""
    atoms = molecules(LONG)
    psf = write_psf(tmp_path / "a.psf", atoms, BONDS, flags=WIDE, line=extended)
    crd, parameters = write_crd(tmp_path / "a.crd", atoms, PLACES), tmp_path / "a.prm"
    tables = []
    for text in (wild, plain):
        parameters.write_text(text)
        system = quiltmd.load(psf, crd, parameters=[parameters])[0]
        tables.append(np.array([system.lj_a, system.lj_b]))
    np.testing.assert_allclose(tables[0], tables[1], rtol=1e-12)
