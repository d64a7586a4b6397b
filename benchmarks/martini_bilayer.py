# SPDX-License-Identifier: Apache-2.0
"""Area per lipid and speed of a Martini 3 bilayer: 128 POPC and 864 beads of water, 20 fs, 310 K.

    python benchmarks/martini_bilayer.py FOLDER [--device cuda] [--seconds 40]
    python benchmarks/martini_bilayer.py FOLDER --gromacs gmx [--nanoseconds 30]

FOLDER is the folder tests/popc_m3/gmx of https://github.com/maccallumlab/martini_openmm, with
martini_v3.0.0.itp, whose coordinates were equilibrated with GROMACS.  Langevin-middle, 1/ps; 1 bar
by stochastic cell rescaling, x with y and z by itself.  The area is the mean of the last four
fifths, its error that of eight blocks.  Times are those of whole runs of 1,000 steps.

With --gromacs, this program of GROMACS (2022.5) does the same on one thread: its stochastic
dynamics and stochastic cell rescaling, with pair lists of 1.35 nm for 20 steps, as its automatic
buffer for Martini is too small for a membrane (Kim, Fabian and Hummer, J. Chem. Theory Comput. 19,
8919 (2023)).
"""

from __future__ import annotations

import argparse
import subprocess
import time
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory

import numpy as np

import quiltmd

LIPIDS = 64  # of a leaflet
NONBONDED = quiltmd.Nonbonded(
    cutoff=1.1,
    method="reaction-field",
    relative_permittivity=15,
    dielectric=0,
    potential_shift=True,
    dispersion_correction=False,
)


MDP = """integrator = sd
dt = 0.02
nsteps = {steps}
nstenergy = 1000
nstcalcenergy = 10
cutoff-scheme = Verlet
nstlist = 20
verlet-buffer-tolerance = -1
rlist = 1.35
epsilon_r = 15
epsilon_rf = 0
coulombtype = reaction-field
rcoulomb = 1.1
vdw-modifier = Potential-shift
rvdw = 1.1
tc-grps = system
tau_t = 1.0
ref_t = 310
pcoupl = C-rescale
pcoupltype = semiisotropic
tau_p = 5.0
compressibility = 3e-4 3e-4
ref_p = 1.0 1.0
nstpcouple = 10
gen_vel = yes
gen_temp = 310
gen_seed = 7
ld_seed = 8
"""


def area(areas: list[float]) -> str:
    """The mean of the last four fifths and its error."""
    rest = np.array(areas[len(areas) // 5 :])
    blocks = [part.mean() for part in np.array_split(rest, 8) if len(part)]
    error = np.std(blocks, ddof=1) / np.sqrt(len(blocks))
    return f"{0.02 * len(areas):.1f} ns: {rest.mean():.4f} +- {error:.4f} nm^2"


def by_gromacs(given: Path, program: str, nanoseconds: float) -> list[float]:
    """Areas every 1,000 steps of a run with GROMACS."""
    with TemporaryDirectory() as made:
        folder = Path(copytree(given, Path(made) / "gmx"))

        def call(*arguments: str, answers: str = "") -> None:
            command = [program, "-quiet", "-nobackup", *arguments]
            subprocess.run(
                command, cwd=folder, input=answers, text=True, check=True, capture_output=True
            )

        (folder / "run.mdp").write_text(MDP.format(steps=round(50_000 * nanoseconds)))
        files = ("-f", "run.mdp", "-p", "system.top", "-c", "minimized.gro")
        call("grompp", *files, "-maxwarn", "5")
        call("mdrun", "-ntmpi", "1", "-ntomp", "1", "-nb", "cpu")
        call("energy", "-o", "box.xvg", answers="Box-X\nBox-Y\n\n")
        rows = (folder / "box.xvg").read_text().splitlines()
    edges = np.array([row.split()[1:] for row in rows if row[0] not in "#@"], float)
    return list(edges[1:, 0] * edges[1:, 1] / LIPIDS)


def main() -> None:
    """Prints speed and area."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--gromacs", metavar="PROGRAM")
    parser.add_argument("--nanoseconds", type=float, default=30)
    given = parser.parse_args()
    if given.gromacs:
        print(area(by_gromacs(given.folder, given.gromacs, given.nanoseconds)))
        return
    system, state = quiltmd.load(given.folder / "system.top", given.folder / "minimized.gro")
    run = quiltmd.Simulation(
        system,
        state,
        nonbonded=NONBONDED,
        integrator=quiltmd.LangevinMiddle(310, 1.0, 0.02, seed=1),
        barostat=quiltmd.CellRescaling(
            1.0, 5.0, compressibility=(3e-4, 3e-4), coupling="semi-isotropic", seed=1
        ),
        device=given.device,
    )
    run.draw_velocities(310, seed=1)
    run.run(2000)
    areas, start = [], time.perf_counter()
    while time.perf_counter() - start < given.seconds:
        run.run(1000)
        box = run.state().box
        areas.append(box[0, 0] * box[1, 1] / LIPIDS)
    us = 1e3 * (time.perf_counter() - start) / len(areas)
    first = state.box[0, 0] * state.box[1, 1] / LIPIDS
    print(f"{system.atoms:,} beads: {us:.1f} us a step, {0.02 * 86400e3 / us:,.0f} ns/day")
    print(f"{area(areas)}, at first {first:.4f}")


if __name__ == "__main__":
    main()
