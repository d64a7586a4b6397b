# SPDX-License-Identifier: Apache-2.0
"""Energies and forces of Martini systems beside GROMACS in double precision (gmx_d).

    python tests/python/martini_systems.py FOLDER [--systems popc_m3 1ubq_en_m3 ...]

FOLDER is the folder tests of https://github.com/maccallumlab/martini_openmm, the systems with which
martini_openmm was compared with GROMACS (MacCallum et al., Biophys. J. 122, 2864 (2023)): lipids,
proteins with elastic networks and Go models, small molecules, of Martini 2 and 3.  Each system has
its topology and coordinates in the folder gmx.  GROMACS computes one step, whose forces are
compared, after its LINCS has satisfied the constraints.

Printed are the largest difference of a term, relative to what is added up in it or to 1 kJ/mol, and
that of the forces, relative to their root mean square: of double precision (`quiltmd.reference`),
and of a simulation on a CPU.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from pathlib import Path
from shutil import copytree

import coarse_grained
import numpy as np
from gromacs_programs import RefusedError, compute, off_by_term

import quiltmd

CUTOFF = 1.1  # nm
NONBONDED = coarse_grained.nonbonded(CUTOFF)


def compare(given: Path) -> str:
    """A row of the table."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(copytree(given, Path(made) / "gmx"))
        compute(
            folder,
            "system.top",
            "minimized.gro",
            continuation=False,
            cutoff=CUTOFF,
            mdp=coarse_grained.MDP,
        )
        theirs = compute(folder, "system.top", "placed.g96", cutoff=CUTOFF, mdp=coarse_grained.MDP)
        system, state = quiltmd.load(
            folder / "system.top", folder / "placed.g96", rigid_water=False
        )
    energies, forces = quiltmd.reference(system, state, NONBONDED)
    found = off_by_term(energies, theirs.energies)
    worst = max(found, key=lambda name: found[name])
    run = quiltmd.Simulation(system, state, nonbonded=NONBONDED, device="cpu", threads=1)
    single = off_by_term(run.energies(), theirs.energies)
    rms = np.sqrt((theirs.forces**2).mean())
    off, off_single = (
        np.sqrt(((values - theirs.forces) ** 2).mean()) / rms for values in (forces, run.forces())
    )
    return (
        f"{system.atoms:,} | {found[worst]:.0e} ({worst}) | {off:.0e} | "
        f"{max(single.values()):.0e} | {off_single:.0e}"
    )


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--systems", nargs="+")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    names = given.systems or sorted(
        str(path.parent.parent.relative_to(given.folder))
        for path in given.folder.glob("**/gmx/system.top")
    )
    print("system | beads | energies | forces | energies, CPU | forces, CPU", flush=True)
    for name in names:
        try:
            print(f"{name} | {compare(given.folder / name / 'gmx')}", flush=True)
        except (quiltmd.QuiltError, RefusedError) as error:
            print(f"{name} | {type(error).__name__}: {error}", flush=True)


if __name__ == "__main__":
    main()
