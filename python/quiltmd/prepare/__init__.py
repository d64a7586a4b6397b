# SPDX-License-Identifier: Apache-2.0
"""From a PDB or mmCIF file to a system that can be simulated: `quiltmd prepare`, step by step.

    from quiltmd import prepare

    force_field = prepare.read_force_field(["amber14"], water_model="tip3p")
    structure = prepare.read_structure("protein.pdb", chains=["A"])
    structure = prepare.remove_residues(structure, ["GOL", "SO4"])
    model = prepare.repair(structure, gaps="cap")
    model = prepare.add_hydrogens(model, ph=7, protonation={"A:57": "HIE"})
    model = prepare.add_water(model, force_field, shape="dodecahedron")
    system, model = prepare.write_system(model, force_field, "system")

Each step takes a `Structure` (what a file has, before atoms are added) or a `Model` (all atoms) and
returns a new one, whose `notes` say what was done.  `prepare` does all of it.  PDBFixer and OpenMM
do the work, and are imported by the steps that need them: pip install 'quiltmd[prepare]'.
"""

from .files import write_system
from .force_fields import FAMILIES, ForceField, read_force_field
from .gaps import Gap, find_gaps
from .hydrogens import add_hydrogens, find_disulphides
from .ligands import Ligand, add_ligands, read_ligand
from .notes import Note, as_text
from .protocol import write_protocol
from .repair import Model, refuse_unknown_residues, repair, replace_residues
from .solvent import add_membrane, add_water
from .steps import Choices, prepare
from .structure import (
    Structure,
    read_structure,
    remove_hydrogens,
    remove_residues,
    remove_water,
)

__all__ = [
    "FAMILIES",
    "Choices",
    "ForceField",
    "Gap",
    "Ligand",
    "Model",
    "Note",
    "Structure",
    "add_hydrogens",
    "add_ligands",
    "add_membrane",
    "add_water",
    "as_text",
    "find_disulphides",
    "find_gaps",
    "prepare",
    "read_force_field",
    "read_ligand",
    "read_structure",
    "refuse_unknown_residues",
    "remove_hydrogens",
    "remove_residues",
    "remove_water",
    "repair",
    "replace_residues",
    "write_protocol",
    "write_system",
]
