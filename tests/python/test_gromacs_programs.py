# SPDX-License-Identifier: Apache-2.0
"""Topologies against GROMACS' own programs: single rules, and every force field that it brings.

Runs where Debian's gromacs and gromacs-data are installed (gmx_d, double precision).  By itself it
prints the table of docs/user/inputs.md: python tests/python/test_gromacs_programs.py
"""

from __future__ import annotations

import re
import sys
import tempfile
import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from gromacs_programs import GMX, RefusedError, compute, gmx
from gromacs_rules import CUTOFF, ENERGIES, RULES, coordinates

import quiltmd
from quiltmd import InputError, Nonbonded

TOP = Path("/usr/share/gromacs/top")
pytestmark = pytest.mark.skipif(
    GMX is None or not TOP.is_dir(), reason="needs gmx_d and GROMACS' force fields"
)

# Terms of GROMACS that ours are the sum of.
TERMS = {
    "bond": ("Bond",),
    "angle, urey_bradley": ("Angle", "U-B", "Harmonic Pot."),
    "torsion": ("Proper Dih.", "Per. Imp. Dih."),
    "ryckaert_bellemans": ("Ryckaert-Bell.", "Fourier Dih."),
    "improper": ("Improper Dih.",),
    "cmap": ("CMAP Dih.",),
    "lj14": ("LJ-14",),
    "coulomb14": ("Coulomb-14",),
    "lj": ("LJ (SR)",),
    "coulomb, pme": ("Coulomb (SR)", "Coul. recip."),
}
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
UNSUPPORTED = "of function type 2 are not supported"  # GROMOS' bonds and angles


@dataclass(frozen=True)
class Difference:
    """The largest difference of a term and that of forces, relative to their root mean square."""

    atoms: int
    term: str
    energy: float
    forces: float


def difference(folder: Path, topology: str, start: str, define: str = "") -> Difference:
    """Quilt beside GROMACS, at coordinates with rigid waters and virtual sites in place."""
    compute(folder, topology, start, define=define, continuation=False)
    theirs = compute(folder, topology, "placed.g96", define=define)
    names = [name.removeprefix("-D") for name in define.split()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        system, state = quiltmd.load(folder / topology, folder / "placed.g96", defines=names)
    chosen = Nonbonded(
        cutoff=CUTOFF, dispersion_correction=False, potential_shift=False, pme_tolerance=1e-6
    )
    ours, forces = quiltmd.reference(system, state, chosen)
    found: dict[str, float] = {}
    for name, others in TERMS.items():
        value = sum(theirs.energies.get(other, 0.0) for other in others)
        found[name] = abs(sum(ours[part] for part in name.split(", ")) - value) / max(1, abs(value))
    worst = max(found, key=lambda name: found[name])
    # Forces on sites are spread over their parents by both.
    rms = np.sqrt((theirs.forces**2).sum(1).mean())
    off = np.sqrt(((forces - theirs.forces) ** 2).sum(1).mean()) / rms
    return Difference(system.atoms, worst, found[worst], float(off))


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


def nucleic_acid(folder: Path) -> Path:
    """The DNA of the Dickerson-Drew dodecamer, without water and ions."""
    spec = find_spec("openmmtools")
    assert spec is not None and spec.origin is not None  # noqa: PT018
    data = Path(spec.origin).parent / "data" / "dna_dodecamer_explicit"
    lines = (data / "4c64_no_mg.pdb").read_text().splitlines()
    path = folder / "dna.pdb"
    kept = [line for line in lines if line.startswith("ATOM") and line[16] in " A"]
    path.write_text("\n".join([*kept, "END", ""]))
    return path


def built(folder: Path, pdb: Path, force_field: str, water: str = "") -> str:
    """Makes topol.top and its coordinates, in a box, with water and ions where asked for."""
    known = {"tip4pew": "tip4p", "tip5pe": "tip5p"}.get(water, water)  # to pdb2gmx
    chosen = ("-ff", force_field, "-water", known or "none")
    gmx(folder, "pdb2gmx", "-f", pdb.name, *chosen, "-ignh", "-o", "made.gro")
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


def slowly(names: list[str], quick: tuple[str, ...]) -> list[object]:
    return [n if n in quick else pytest.param(n, marks=pytest.mark.slow) for n in names]


@pytest.mark.parametrize("name", slowly(FORCE_FIELDS, ("amber99sb-ildn", "charmm27")))
def test_force_fields(name: str, tmp_path: Path) -> None:
    start = built(tmp_path, protein(tmp_path, 12), name)
    if name.startswith("gromos"):
        with pytest.raises(InputError, match=UNSUPPORTED):
            difference(tmp_path, "topol.top", start)
        return
    found = difference(tmp_path, "topol.top", start)
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
    residues = {"protein": 214, "peptide": 4}
    pdb = nucleic_acid(folder) if kind == "DNA" else protein(folder, residues[kind])
    try:
        start = built(folder, pdb, force_field, water)
    except RefusedError as error:
        return f"pdb2gmx: {' '.join(str(error).split())[-80:]}"
    try:
        found = difference(folder, "topol.top", start)
    except InputError as error:
        return str(error).partition(": ")[2]
    return f"{found.atoms} | {found.energy:.1e} ({found.term}) | {found.forces:.1e}"


def table() -> None:
    """Prints a row for each force field, water and kind of molecule."""
    for force_field in FORCE_FIELDS:
        waters = [name for name in WATERS if (TOP / f"{force_field}.ff" / f"{name}.itp").is_file()]
        cases = [("protein", ""), ("DNA", ""), *(("peptide", water) for water in waters)]
        for kind, water in cases:
            name = f"{kind} in {water}" if water else kind
            print(f"| {force_field} | {name} | {row(force_field, kind, water)} |", flush=True)


if __name__ == "__main__":
    sys.exit(table())
