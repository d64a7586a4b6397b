# SPDX-License-Identifier: Apache-2.0
"""GROMACS' own programs (gmx_d, double precision): systems, energies and forces to compare with."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from gromacs_rules import CUTOFF

import quiltmd
from quiltmd import Nonbonded, State, System

GMX = shutil.which("gmx_d")
# Of the mesh, nm; in systems of few atoms, whose energies are small, its error shows.
SPACING, FINE_SPACING, FEW = 0.07, 0.04, 100
# Lennard-Jones is cut off without a shift, and nothing corrects for the tail.
MDP = """integrator = md
nsteps = 0
continuation = {continuation}
nstlist = 1
verlet-buffer-tolerance = -1
rlist = {cutoff}
rcoulomb = {cutoff}
rvdw = {cutoff}
coulombtype = PME
vdw-modifier = none
coulomb-modifier = none
fourierspacing = {spacing}
pme-order = 8
ewald-rtol = 1e-6
nstenergy = 1
nstcalcenergy = 1
nstfout = 1
define = {define}
"""


# Terms of GROMACS that ours are the sum of.
TERMS = {
    "bond": ("Bond", "Morse", "G96Bond", "FENE Bonds"),
    "angle, urey_bradley": (*("Angle", "U-B", "Harmonic Pot.", "G96Angle", "Restr. Angles"),),
    "torsion": ("Proper Dih.", "Per. Imp. Dih.", "CBT Dih."),
    "ryckaert_bellemans": ("Ryckaert-Bell.", "Fourier Dih."),
    "improper": ("Improper Dih.",),
    "cmap": ("CMAP Dih.",),
    "lj14": ("LJ-14",),
    "coulomb14": ("Coulomb-14",),
    "lj": ("LJ (SR)",),
    "coulomb, pme": ("Coulomb (SR)", "Coul. recip."),
}


class RefusedError(Exception):
    """What grompp or mdrun says."""


@dataclass(frozen=True)
class Computed:
    """Energies by term, kJ/mol, and forces (N, 3), kJ/mol/nm."""

    energies: dict[str, float]
    forces: np.ndarray


def gmx(folder: Path, *arguments: str, answers: str = "") -> str:
    """Runs a program of GROMACS in a folder; what it prints."""
    environment = dict(os.environ, GMX_MAXBACKUP="-1", OMP_NUM_THREADS="1")
    command = [GMX or "gmx_d", "-quiet", *arguments]
    done = subprocess.run(
        command,
        cwd=folder,
        input=answers,
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
    if done.returncode:
        fatal = re.search(r"Fatal error:\n(.*?)\n\n", done.stderr, re.DOTALL)
        raise RefusedError(fatal[1] if fatal else done.stderr[-500:])
    return done.stdout


def compute(
    folder: Path,
    topology: str,
    coordinates: str,
    *,
    define: str = "",
    continuation: bool = True,
    cutoff: float = CUTOFF,
    spacing: float = SPACING,
    mdp: str = MDP,
) -> Computed:
    """Energies and forces of coordinates; not as a continuation they are constrained first.

    Virtual sites, too, are placed only where it is no continuation.
    """
    start = "yes" if continuation else "no"
    settings = mdp.format(define=define, continuation=start, cutoff=cutoff, spacing=spacing)
    (folder / "run.mdp").write_text(settings)
    files = ("-p", topology, "-c", coordinates, "-r", coordinates)
    gmx(folder, "grompp", "-f", "run.mdp", *files, "-o", "run.tpr", "-maxwarn", "20")
    single = ("-ntmpi", "1", "-ntomp", "1", "-nb", "cpu")
    gmx(folder, "mdrun", "-deffnm", "run", "-c", "placed.g96", *single)
    return Computed(_energies(folder), _forces(folder))


def _energies(folder: Path) -> dict[str, float]:
    listed = gmx(folder, "dump", "-e", "run.edr")
    names = [name.strip() for name in re.findall(r"^ +\d+  (.{24}) \(", listed, re.MULTILINE)]
    wanted = "\n".join(str(k + 1) for k in range(len(names)))
    gmx(folder, "energy", "-f", "run.edr", "-o", "run.xvg", "-dp", answers=f"{wanted}\n\n")
    rows = [
        line.split()
        for line in (folder / "run.xvg").read_text().splitlines()
        if line[0] not in "#@"
    ]
    return dict(zip(names, map(float, rows[0][1:]), strict=False))


def _forces(folder: Path) -> np.ndarray:
    text = gmx(folder, "dump", "-f", "run.trr")
    found = re.findall(r"f\[\s*\d+\]=\{(.*?)\}", text)
    return np.array([[float(x) for x in row.split(",")] for row in found])


@dataclass(frozen=True)
class Difference:
    """The largest difference of a term and that of forces.

    Terms are relative to what is added up in them or to 1 kJ/mol, forces to their root mean square
    or to 100 kJ/mol/nm, whichever is larger.
    """

    atoms: int
    term: str
    energy: float
    forces: float

    def __str__(self) -> str:
        return f"{self.atoms} | {self.energy:.0e} ({self.term}) | {self.forces:.1e}"


def difference(folder: Path, topology: str, start: str, define: str = "") -> Difference:
    """Quilt beside GROMACS, at coordinates with rigid waters and virtual sites in place."""
    names = [name.removeprefix("-D") for name in define.split()]
    system, state = _load(folder / topology, folder / start, names)
    cutoff = min(CUTOFF, 0.48 * _smallest_height(state.box))
    compute(folder, topology, start, define=define, continuation=False, cutoff=cutoff)
    spacing = FINE_SPACING if system.atoms < FEW else SPACING
    theirs = compute(folder, topology, "placed.g96", define=define, cutoff=cutoff, spacing=spacing)
    system, state = _load(folder / topology, folder / "placed.g96", names)
    chosen = Nonbonded(
        cutoff=cutoff, dispersion_correction=False, potential_shift=False, pme_tolerance=1e-6
    )
    ours, forces = quiltmd.reference(system, state, chosen)
    found = off_by_term(ours, theirs.energies)
    worst = max(found, key=lambda name: found[name])
    # Forces on sites are spread over their parents by both.
    rms, off = (
        np.sqrt((values**2).sum(1).mean()) for values in (theirs.forces, forces - theirs.forces)
    )
    return Difference(system.atoms, worst, found[worst], float(off / max(100, rms)))


def off_by_term(ours: dict[str, float], theirs: dict[str, float]) -> dict[str, float]:
    """How far terms are off, and their sum, to which terms unknown here would add."""
    rows = [
        (name, sum(ours[part] for part in name.split(", ")), [theirs.get(k, 0.0) for k in others])
        for name, others in TERMS.items()
    ]
    found = {
        name: abs(value - sum(parts)) / max(1, sum(map(abs, parts))) for name, value, parts in rows
    }
    whole = sum(abs(part) for _, _, parts in rows for part in parts)
    found["potential"] = abs(ours["potential"] - theirs["Potential"]) / max(1, whole)
    return found


def _load(topology: Path, coordinates: Path, defines: list[str]) -> tuple[System, State]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return quiltmd.load(topology, coordinates, defines=defines, rigid_water=False)


def _smallest_height(box: np.ndarray) -> float:
    """Between opposite faces of a cell."""
    return float(1 / np.linalg.norm(np.linalg.inv(box), axis=0).max())
