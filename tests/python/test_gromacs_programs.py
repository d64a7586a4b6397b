# SPDX-License-Identifier: Apache-2.0
"""Topologies against GROMACS' own programs: single rules, and every force field that it brings.

Runs where Debian's gromacs and gromacs-data are installed (gmx_d, double precision).  By itself it
prints the table of docs/user/inputs.md: python tests/python/test_gromacs_programs.py
"""

from __future__ import annotations

import re
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from gromacs_programs import GMX, RefusedError, compute, difference, gmx
from gromacs_rules import ENERGIES, RULES, coordinates
from nucleic_acids import dna, rna, write_pdb
from quick import slowly

from quiltmd import InputError

TOP = Path("/usr/share/gromacs/top")
pytestmark = pytest.mark.skipif(
    GMX is None or not TOP.is_dir(), reason="needs gmx_d and GROMACS' force fields"
)

FORCE_FIELDS = sorted(folder.stem for folder in TOP.glob("*.ff"))
WATERS = {  # the box to fill with, by the name that pdb2gmx knows
    "tip3p": "spc216.gro",
    "spc": "spc216.gro",
    "spce": "spc216.gro",
    "tips3p": "spc216.gro",
    "tip4p": "tip4p.gro",
    "tip4pew": "tip4p.gro",
    "tip5p": "tip5p.gro",
    "tip5pe": "tip5p.gro",
}
NUCLEIC_ACIDS = {"DNA": dna, "RNA": rna}
# Answers to the questions of pdb2gmx: which ends two chains have, where it would take a peptide's.
ENDS = {("charmm27", kind): "2\n4\n" * 2 for kind in NUCLEIC_ACIDS}


@pytest.mark.slow
@pytest.mark.parametrize("name", RULES)
def test_rules(name: str, tmp_path: Path) -> None:
    text = RULES[name]
    atoms = len(re.findall(r"(?m)^\d+ \w+ 1 M ", text))
    molecules = int(text.split("[ molecules ]")[1].split()[1])
    (tmp_path / "chain.top").write_text(text)
    (tmp_path / "chain.gro").write_text(coordinates(atoms, molecules))
    sites = "virtual_sites" in text or "dummies" in text
    found = compute(tmp_path, "chain.top", "chain.gro", continuation=not sites)
    assert found.energies["Potential"] == pytest.approx(ENERGIES[name], rel=1e-7, abs=1e-4)


def protein(folder: Path, residues: int = 214) -> Path:
    """Heavy atoms of adenylate kinase, with names that all force fields know."""
    spec = find_spec("MDAnalysisTests")
    assert spec is not None and spec.origin is not None  # noqa: PT018
    lines = (Path(spec.origin).parent / "data" / "adk_closed.pdb").read_text().splitlines()
    kept = [
        line.replace("HSD", "HIS")
        for line in lines
        if line.startswith("ATOM")
        and line[12:16].strip().lstrip("123")[0] != "H"
        and int(line[22:26]) <= residues
    ]
    path = folder / "protein.pdb"
    path.write_text("\n".join([*kept, "TER", "END", ""]))
    return path


def built(folder: Path, pdb: Path, force_field: str, water: str = "") -> str:
    """Makes topol.top and its coordinates, in a box, with water and ions where asked for."""
    known = {"tip4pew": "tip4p", "tip5pe": "tip5p"}.get(water, water)  # to pdb2gmx
    chosen = ["-ff", force_field, "-water", known or "none"]
    answers = ENDS.get((force_field, pdb.stem), "")
    chosen += ["-ter"] if answers else []
    gmx(folder, "pdb2gmx", "-f", pdb.name, *chosen, "-ignh", "-o", "made.gro", answers=answers)
    text = (folder / "topol.top").read_text()
    (folder / "topol.top").write_text(text.replace(f"/{known}.itp", f"/{water}.itp"))
    gmx(folder, "editconf", "-f", "made.gro", "-o", "boxed.gro", "-d", "1.0", "-bt", "cubic")
    if not water:
        return "boxed.gro"
    gmx(
        folder,
        "solvate",
        "-cp",
        "boxed.gro",
        "-cs",
        WATERS[water],
        "-p",
        "topol.top",
        "-o",
        "wet.gro",
    )
    (folder / "ions.mdp").write_text("")
    files = ("-f", "ions.mdp", "-p", "topol.top", "-c", "wet.gro")
    gmx(folder, "grompp", *files, "-o", "ions.tpr", "-maxwarn", "20")
    ions = ("-pname", "NA", "-nname", "CL", "-conc", "0.1", "-neutral", "-seed", "1")
    gmx(
        folder,
        "genion",
        "-s",
        "ions.tpr",
        "-p",
        "topol.top",
        *ions,
        "-o",
        "salty.gro",
        answers="SOL\n",
    )
    return "salty.gro"


@pytest.mark.parametrize("name", slowly(FORCE_FIELDS, ("amber99sb-ildn", "charmm27", "gromos54a7")))
def test_force_fields(name: str, tmp_path: Path) -> None:
    start = built(tmp_path, protein(tmp_path, 12), name)
    found = difference(tmp_path, "topol.top", start)
    assert found.energy < 1e-6, found
    assert found.forces < 1e-5, found


@pytest.mark.slow
@pytest.mark.parametrize("kind", NUCLEIC_ACIDS)
@pytest.mark.parametrize("name", [name for name in FORCE_FIELDS if name[:5] in ("amber", "charm")])
def test_nucleic_acids(name: str, kind: str, tmp_path: Path) -> None:
    pdb = write_pdb(tmp_path / f"{kind}.pdb", NUCLEIC_ACIDS[kind]())
    found = difference(tmp_path, "topol.top", built(tmp_path, pdb, name))
    assert found.energy < 1e-6, found
    assert found.forces < 1e-5, found


@pytest.mark.slow
@pytest.mark.parametrize("water", WATERS)
def test_waters_and_ions(water: str, tmp_path: Path) -> None:
    name = {"tips3p": "charmm27", "tip4pew": "amber99sb", "tip5pe": "oplsaa"}.get(water, "oplsaa")
    start = built(tmp_path, protein(tmp_path, 6), name, water)
    found = difference(tmp_path, "topol.top", start)
    assert found.energy < 5e-6, found
    assert found.forces < 1e-5, found


def row(force_field: str, kind: str, water: str) -> str:
    """What is found of a kind of molecule, or why there is nothing."""
    folder = Path(tempfile.mkdtemp())
    if kind in NUCLEIC_ACIDS:
        pdb = write_pdb(folder / f"{kind}.pdb", NUCLEIC_ACIDS[kind]())
    else:
        pdb = protein(folder, {"protein": 214, "peptide": 4}[kind])
    try:
        start = built(folder, pdb, force_field, water)
    except RefusedError as error:
        return f"pdb2gmx: {' '.join(str(error).split())[-80:]}"
    try:
        found = difference(folder, "topol.top", start)
    except InputError as error:
        return str(error).partition(": ")[2]
    return str(found)


def table() -> None:
    """Prints a row for each force field, water and kind of molecule."""
    for force_field in FORCE_FIELDS:
        waters = [name for name in WATERS if (TOP / f"{force_field}.ff" / f"{name}.itp").is_file()]
        cases = [
            ("protein", ""),
            ("DNA", ""),
            ("RNA", ""),
            *(("peptide", water) for water in waters),
        ]
        for kind, water in cases:
            name = f"{kind} in {water}" if water else kind
            print(f"| {force_field} | {name} | {row(force_field, kind, water)} |", flush=True)


if __name__ == "__main__":
    sys.exit(table())
