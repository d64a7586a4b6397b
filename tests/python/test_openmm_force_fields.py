# SPDX-License-Identifier: Apache-2.0
"""Every force field of OpenMM's package, on each kind of molecule of which it has templates.

By itself it prints the table of docs/user/inputs.md, of files whose names contain a word:
python tests/python/test_openmm_force_fields.py [WORD ...]
"""

from __future__ import annotations

import functools
import io
import re
import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import openmm
import pytest
from nucleic_acids import dna, rna, write_pdb
from openmm import app, unit
from openmm_terms import compare
from quick import slowly

from quiltmd import InputError

DATA = Path(app.__file__).parent / "data"
# Forces that Quilt has not: whole force fields of these are refused by the first one's name.
UNKNOWN = re.compile(r"<(Amoeba(?!UreyBradley)\w+|DrudeForce)\b")
FORCE_FIELD = re.compile(r"\s*(<\?xml[^>]*\?>)?\s*(<!--.*?-->\s*)*<ForceField\b", re.DOTALL)
FILES = [
    str(path.relative_to(DATA))
    for path in sorted(DATA.rglob("*.xml"))
    if FORCE_FIELD.match(path.read_text())
]
UNREADABLE = ("amber99Test.xml",)  # by OpenMM, too
# Refused of others: charges of the solvent's that are not those of amber10.xml.
REASONS = {"amber10_obc.xml": "the charge is not that in NonbondedForce"}
QUICK = ("amber14/DNA.OL15.xml", "amber14/RNA.OL3.xml", "amber14/opc.xml")
LIPIDS = ("DLPC", "DLPE", "DMPC", "DOPC", "DPPC", "POPC", "POPE")
KINDS = ("protein", "DNA", "RNA", *LIPIDS, "water")


def base_of(file: str) -> list[str]:
    """The files that a force field of OpenMM's goes with."""
    folder = file.rpartition("/")[0]
    if file.endswith(("_obc.xml", "_gk.xml")):
        stem = re.sub(r"_(obc|gk)\.xml", "", file)
        return [f"{'amber99sb' if stem == 'amber99' else stem}.xml"]
    if folder == "implicit" or "GLYCAM" in file:
        return ["amber14/protein.ff14SB.xml"]
    return [f"{folder}.xml"] if (DATA / f"{folder}.xml").is_file() and folder else []


def kinds_of(file: str) -> tuple[str, ...]:
    """Kinds of molecules to try: those of a force field are not tried again with its waters."""
    folder = file.rpartition("/")[0]
    return ("water",) if base_of(file) and folder not in ("", "implicit", "amber14") else KINDS


@functools.cache
def molecule(kind: str) -> Any:
    """A Modeller of the protein in OpenMM's test.pdb, a strand of all bases or some lipids."""
    if kind in ("DNA", "RNA"):
        strand = [line for line in (dna() if kind == "DNA" else rna()) if line[21] == "A"]
        with tempfile.TemporaryDirectory() as folder:
            lines = [line for line in strand if int(line[22:26]) <= 7]
            pdb = app.PDBFile(str(write_pdb(Path(folder) / "strand.pdb", lines)))
        made = app.Modeller(pdb.topology, pdb.positions)
        made.addHydrogens(app.ForceField(f"amber14/{kind}.OL{15 if kind == 'DNA' else 3}.xml"))
        return made
    name = "test" if kind == "protein" else kind
    pdb = app.PDBFile(io.StringIO(first_residues((DATA / f"{name}.pdb").read_text())))
    made = app.Modeller(pdb.topology, pdb.positions)
    made.topology.setPeriodicBoxVectors(None)
    return made


def first_residues(text: str) -> str:
    """Of a PDB file, the amino acids that it begins with, or else two residues."""
    lines = [line for line in text.splitlines() if line.startswith(("ATOM", "HETATM"))]
    amino = {line[21:27] for line in lines if line[12:16] == " CA " and line.startswith("ATOM")}
    chosen = amino or set(list(dict.fromkeys(line[21:27] for line in lines))[:2])
    kept = [line for line in lines if line[21:27] in chosen]
    numbers = {line[6:11] for line in kept}
    bonds = [line for line in text.splitlines() if line.startswith("CONECT")]
    kept += [line for line in bonds if line[6:11] in numbers]
    return "\n".join([*kept, "END", ""])


def water_and_ions(force_field: Any) -> Any:
    """A box of water with 0.5 mol/l of NaCl, or of pure water where the force field has no ions.

    The water has as many sites as the force field gives it, Drude particles among them.
    """
    for molar, model in product((0.5, 0.0), ("tip3p", "tip4pew", "tip5p")):
        made = app.Modeller(app.Topology(), [])
        try:
            made.addSolvent(
                force_field,
                model=model,
                boxSize=openmm.Vec3(2.0, 2.0, 2.0),
                ionicStrength=molar * unit.molar,
            )
        except ValueError:  # other sites
            continue
        if not force_field.getUnmatchedResidues(made.topology):
            return made
    raise ValueError("no template of water")


def system_of(force_field: Any, kind: str) -> tuple[Any, Any] | None:
    """The System of a kind of molecule, and its Modeller; None where templates are missing."""
    periodic = kind == "water"
    method = {"nonbondedMethod": app.PME, "nonbondedCutoff": 0.9, "ewaldErrorTolerance": 1e-6}
    try:
        made = water_and_ions(force_field) if periodic else molecule(kind)
        chosen = {"rigidWater": False} | (method if periodic else {})
        return force_field.createSystem(made.topology, **chosen), made
    except Exception:
        return None


def found(file: str) -> Iterator[tuple[str, Any]]:
    """For each kind of molecule that a force field has, the difference or the refusal."""
    force_field = app.ForceField(*base_of(file), file)
    for kind in kinds_of(file):
        built = system_of(force_field, kind)
        if built is None:
            continue
        system, made = built
        try:
            yield kind, compare(system, made.topology, made.positions)
        except InputError as error:
            yield kind, str(error)


@pytest.mark.parametrize("file", slowly(FILES, QUICK))
def test_force_fields_of_openmm(file: str) -> None:
    if file in UNREADABLE:
        with pytest.raises(KeyError):
            app.ForceField(file)
        return
    results = list(found(file))
    text = "".join((DATA / name).read_text() for name in (*base_of(file), file))
    assert results or "GLYCAM" in file, "no kind of molecule has templates"
    for kind, result in results:
        if file in REASONS:
            assert REASONS[file] in result
        elif UNKNOWN.search(text):
            assert re.search("has the force .*(Amoeba|Drude)", str(result)), (kind, result)
        else:
            exact = kind != "water" and "GBSA" not in text  # no mesh, nor OpenMM's single precision
            assert result.energy < (1e-11 if exact else 2e-7), (kind, result)
            assert result.forces < (1e-12 if exact else 1e-6), (kind, result)


def table(words: list[str]) -> None:
    """Prints a row for each force field and kind of molecule."""
    for file in FILES:
        if file not in UNREADABLE and (not words or any(word in file for word in words)):
            for kind, result in found(file):
                print(f"| {file} | {kind} | {result} |", flush=True)


if __name__ == "__main__":
    sys.exit(table(sys.argv[1:]))
