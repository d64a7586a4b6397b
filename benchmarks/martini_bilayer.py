# SPDX-License-Identifier: Apache-2.0
"""Area per lipid and speed of a Martini 3 bilayer: 128 POPC and 864 beads of water, 20 fs, 310 K.

    python benchmarks/martini_bilayer.py FOLDER [--device cuda] [--seconds 40]

FOLDER is the folder tests/popc_m3/gmx of https://github.com/maccallumlab/martini_openmm, with
martini_v3.0.0.itp, whose coordinates were equilibrated with GROMACS.  Langevin-middle, 1/ps; 1 bar
by stochastic cell rescaling, x with y and z by itself.  The area is the mean of the last four
fifths, its error that of eight blocks.  Times are those of whole runs of 1,000 steps.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

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


def main() -> None:
    """Prints speed and area."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seconds", type=float, default=40)
    given = parser.parse_args()
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
    rest = np.array(areas[len(areas) // 5 :])
    blocks = [part.mean() for part in np.array_split(rest, 8) if len(part)]
    error = np.std(blocks, ddof=1) / np.sqrt(len(blocks))
    first = state.box[0, 0] * state.box[1, 1] / LIPIDS
    print(f"{system.atoms:,} beads: {us:.1f} us a step, {0.02 * 86400e3 / us:,.0f} ns/day")
    print(
        f"{0.02 * len(areas):.1f} ns: {rest.mean():.4f} +- {error:.4f} nm^2, at first {first:.4f}"
    )


if __name__ == "__main__":
    main()
