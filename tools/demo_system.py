# SPDX-License-Identifier: Apache-2.0
"""Makes the protein in water of `quiltmd demo`, python/quiltmd/data/trpzip2.top and .gro.

Needs openmm, parmed and the files of openmmtools.  Tryptophan zipper 2 is twelve residues that fold
into a hairpin (PDB entry 1LE1); here it has ff14SB and TIP3P, in a dodecahedron of water with one
chloride.  Water is placed at random, so another run gives another box.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import parmed
from openmm import app, unit

TITLE = "Tryptophan zipper 2 (PDB 1LE1) in water"
RESIDUES = 12
DATA = Path(__file__).resolve().parents[1] / "python" / "quiltmd" / "data"


def solvated() -> parmed.Structure:
    """The protein out of its box of water, in one that is smaller."""
    spec = find_spec("openmmtools")
    if spec is None or spec.origin is None:
        raise SystemExit("pip install --no-deps openmmtools")
    source = Path(spec.origin).parent / "data" / "trpzip2-explicit" / "trpzip2"
    amber = parmed.load_file(f"{source}.prmtop", f"{source}.crd")
    model = app.Modeller(amber.topology, amber.positions)
    model.delete([residue for residue in model.topology.residues() if residue.index >= RESIDUES])
    field = app.ForceField("amber14/protein.ff14SB.xml", "amber14/tip3p.xml")
    model.addSolvent(field, padding=1.15 * unit.nanometer, boxShape="dodecahedron")
    system = field.createSystem(
        model.topology, nonbondedMethod=app.PME, constraints=None, rigidWater=False
    )
    return parmed.openmm.load_topology(model.topology, system, xyz=model.positions)


def main() -> None:
    """Writes both files, without what ParmEd says of the machine."""
    structure = solvated()
    topology, coordinates = DATA / "trpzip2.top", DATA / "trpzip2.gro"
    structure.save(str(topology), overwrite=True)
    structure.save(str(coordinates), overwrite=True)
    text = topology.read_text()
    text = text[text.index("[ defaults ]") :].replace("Generic title", TITLE)
    topology.write_text(text.replace("\nsystem1 ", "\ntrpzip2 "))
    lines = coordinates.read_text().splitlines(keepends=True)
    coordinates.write_text("".join([f"{TITLE}\n", *lines[1:]]))


if __name__ == "__main__":
    main()
