# SPDX-License-Identifier: Apache-2.0
"""Unsupported features of Amber topologies, which are refused by name.

A section that is in no list here is refused as well: to ignore an energy term in
silence would be worse than to ask for a harmless section to be removed.
"""

from __future__ import annotations

import re

import numpy as np

from .prmtop_file import POINTERS, PrmtopFile

# Sections that are read.
_USED = """
    POINTERS ATOM_NAME CHARGE MASS ATOM_TYPE_INDEX NUMBER_EXCLUDED_ATOMS NONBONDED_PARM_INDEX
    RESIDUE_LABEL RESIDUE_POINTER BOND_FORCE_CONSTANT BOND_EQUIL_VALUE ANGLE_FORCE_CONSTANT
    ANGLE_EQUIL_VALUE DIHEDRAL_FORCE_CONSTANT DIHEDRAL_PERIODICITY DIHEDRAL_PHASE SCEE_SCALE_FACTOR
    SCNB_SCALE_FACTOR LENNARD_JONES_ACOEF LENNARD_JONES_BCOEF BONDS_INC_HYDROGEN
    BONDS_WITHOUT_HYDROGEN ANGLES_INC_HYDROGEN ANGLES_WITHOUT_HYDROGEN DIHEDRALS_INC_HYDROGEN
    DIHEDRALS_WITHOUT_HYDROGEN EXCLUDED_ATOMS_LIST HBOND_ACOEF HBOND_BCOEF BOX_DIMENSIONS IPOL
    ATOMIC_NUMBER RADII SCREEN CMAP_COUNT CMAP_RESOLUTION CMAP_INDEX
"""
# Sections read only in files with CHARMM's force field (CHAMBER).
_CHARMM = """
    LENNARD_JONES_14_ACOEF LENNARD_JONES_14_BCOEF CHARMM_UREY_BRADLEY_COUNT CHARMM_UREY_BRADLEY
    CHARMM_UREY_BRADLEY_FORCE_CONSTANT CHARMM_UREY_BRADLEY_EQUIL_VALUE CHARMM_NUM_IMPROPERS
    CHARMM_IMPROPERS CHARMM_NUM_IMPR_TYPES CHARMM_IMPROPER_FORCE_CONSTANT CHARMM_IMPROPER_PHASE
    CHARMM_CMAP_COUNT CHARMM_CMAP_RESOLUTION CHARMM_CMAP_INDEX
"""
# Sections without energy: bookkeeping and names.
_HARMLESS = """
    TITLE CTITLE SOLTY JOIN_ARRAY IROTAT TREE_CHAIN_CLASSIFICATION AMBER_ATOM_TYPE SOLVENT_POINTERS
    ATOMS_PER_MOLECULE RADIUS_SET HBCUT CAP_INFO CAP_INFO2 RESIDUE_ICODE
    RESIDUE_CHAINID RESIDUE_NUMBER ATOM_ELEMENT ATOM_NUMBER ATOM_OCCUPANCY ATOM_BFACTOR ATOM_ALTLOC
    FORCE_FIELD_TYPE
"""
_ACCEPTED = frozenset((_USED + _CHARMM + _HARMLESS).split())
_MAP = re.compile(r"(CHARMM_)?CMAP_PARAMETER_\d{2,4}")

_POLARIZABLE = "polarizable atoms are not supported"
_SECTIONS = (  # pattern of the name, and what to say
    (r"LENNARD_JONES_[CD]COEF", "the 12-6-4 Lennard-Jones potential is not supported"),
    (r"POLARIZABILITY|DIPOLE_DAMP_FACTOR", _POLARIZABLE),
    (r"AMOEBA_.*", "the AMOEBA force field is not supported"),
    (r"LES_.*", "locally enhanced sampling (LES) is not supported"),
    (r".*PER.*", "perturbation (IFPERT) is not supported"),
    (r".*", "this section is not known, and ignoring it could make energies wrong"),
)
_COUNTS = (
    ("IFPERT", "perturbation (IFPERT) is not supported"),
    ("IFCAP", "a solvent cap (IFCAP) is not supported"),
    ("NPARM", "locally enhanced sampling (NPARM) is not supported"),
)


def refuse_unsupported(prmtop: PrmtopFile) -> None:
    """Raise InputError with file and line for the first term that is not supported."""
    for name, message in _COUNTS:
        if prmtop.counts[name] > 0:
            raise prmtop.error("POINTERS", POINTERS.index(name), message)
    for name in prmtop.sections:
        if name not in _ACCEPTED and not _MAP.fullmatch(name):
            message = next(text for pattern, text in _SECTIONS if re.fullmatch(pattern, name))
            raise prmtop.error(name, 0, message)
        if name.startswith(("CHARMM_", "LENNARD_JONES_14_")) and not prmtop.chamber:
            message = "terms of CHARMM's force field in a file that is not of CHAMBER (no CTITLE)"
            raise prmtop.error(name, 0, message)
    if "IPOL" in prmtop.sections and prmtop.integers("IPOL", 1)[0] != 0:
        raise prmtop.error("IPOL", 0, _POLARIZABLE)
    if prmtop.counts["NPHB"]:
        _refuse_hydrogen_bonds(prmtop)


def _refuse_hydrogen_bonds(prmtop: PrmtopFile) -> None:
    """Refuse nonzero coefficients of the 10-12 potential; old force fields list zeros."""
    for name in ("HBOND_ACOEF", "HBOND_BCOEF"):
        strengths = prmtop.reals(name, prmtop.counts["NPHB"])
        if strengths.any():
            first = int(np.argmax(strengths != 0))
            message = "the 10-12 hydrogen-bond potential is not supported"
            raise prmtop.error(name, first, message)
