# SPDX-License-Identifier: Apache-2.0
"""Energies of ApoA1 as its NAMD files have it, beside those that NAMD has written.

    python benchmarks/namd_log.py FOLDER/apoa1 [--device cpu] [--json FILE]

FOLDER/apoa1 has PSF, PDB and X-PLOR parameters of NAMD's benchmark, and its log
ref_namd3_cpu_1fs.log, of which the energies of step 0 count: all flexible, NAMD's switching from
1.0 to 1.2 nm, no correction for the tail, the log's own Ewald coefficient, PME of order 4.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from provenance import provenance
from terms import APOA1_BOX, difference

import quiltmd

LOG, ALPHA = "ref_namd3_cpu_1fs.log", 2.57952  # 1/nm
KILOJOULES = 4.184  # of a kcal
PARAMETERS = ("par_all22_prot_lipid.xplor", "par_all22_popc.xplor")
TERMS = {
    "BOND": ("bond",),
    "ANGLE": ("angle", "urey_bradley"),
    "DIHED": ("torsion",),
    "IMPRP": ("improper",),
    "ELECT": ("coulomb", "coulomb14", "pme"),
    "VDW": ("lj", "lj14"),
    "POTENTIAL": ("potential",),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    theirs = first_energies(chosen.folder / LOG)
    ours = energies(chosen.folder, chosen.device)
    rows = {}
    for name, terms in TERMS.items():
        rows[name] = sum(ours[term] for term in terms) / KILOJOULES, theirs[name]
        print(
            f"{name:10} {rows[name][0]:16.4f} {rows[name][1]:16.4f} {difference(*rows[name]):9.1e}"
        )
    if chosen.json:
        document = {**provenance(), "device": chosen.device, "kcal_per_mol": rows}
        chosen.json.write_text(json.dumps(document, indent=1) + "\n", encoding="ascii")


def first_energies(log: Path) -> dict[str, float]:
    """Those of NAMD at the first step, kcal/mol, by the titles of its columns."""
    lines = log.read_text().splitlines()
    titles = next(line for line in lines if line.startswith("ETITLE:")).split()[1:]
    values = next(line for line in lines if line.startswith("ENERGY:")).split()[1:]
    return dict(zip(titles, map(float, values), strict=True))


def energies(folder: Path, device: str) -> dict[str, float]:
    """Ours, kJ/mol."""
    system, state = quiltmd.load(
        folder / "apoa1.psf",
        folder / "apoa1.pdb",
        parameters=[folder / name for name in PARAMETERS],
        box=APOA1_BOX,
        rigid_water=False,
    )
    nonbonded = quiltmd.Nonbonded(
        cutoff=1.2,
        switching="charmm",
        switch_distance=1.0,
        dispersion_correction=False,
        pme_alpha=ALPHA,
        pme_grid=(108, 108, 80),
        pme_order=4,
    )
    return quiltmd.Simulation(system, state, nonbonded, device=device).energies()


if __name__ == "__main__":
    main()
