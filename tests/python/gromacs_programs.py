# SPDX-License-Identifier: Apache-2.0
"""GROMACS' own programs (gmx_d, double precision): systems, energies and forces to compare with."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from gromacs_rules import CUTOFF

GMX = shutil.which("gmx_d")
# Lennard-Jones is cut off without a shift, and nothing corrects for the tail.
MDP = f"""integrator = md
nsteps = 0
continuation = {{continuation}}
nstlist = 1
verlet-buffer-tolerance = -1
rlist = 1.0
rcoulomb = {CUTOFF}
rvdw = {CUTOFF}
coulombtype = PME
vdw-modifier = none
coulomb-modifier = none
fourierspacing = 0.07
pme-order = 8
ewald-rtol = 1e-6
nstenergy = 1
nstcalcenergy = 1
nstfout = 1
define = {{define}}
"""


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
) -> Computed:
    """Energies and forces of coordinates; not as a continuation they are constrained first.

    Virtual sites, too, are placed only where it is no continuation.
    """
    start = "yes" if continuation else "no"
    (folder / "run.mdp").write_text(MDP.format(define=define, continuation=start))
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
