# SPDX-License-Identifier: Apache-2.0
"""Names of residues: what is part of a chain, what is water, and which states of protonation exist.

The names of states are those of Amber and CHARMM; OpenMM's Modeller knows them by Amber's names
(`openmm/app/data/hydrogens.xml`), but has no CYM: both that and CYX are cysteine without HG.
"""

from __future__ import annotations

from collections.abc import Callable

import gemmi

WATER = ("HOH", "WAT", "H2O", "SOL", "TIP3", "TIP", "TP3", "TIP4", "DOD", "SPC")
CAPS = ("ACE", "NME", "NH2", "NMA")

# State -> residue as it is called in the Protein Data Bank, and the name of OpenMM's variant.
STATES: dict[str, tuple[str, str]] = {
    "HID": ("HIS", "HID"),
    "HIE": ("HIS", "HIE"),
    "HIP": ("HIS", "HIP"),
    "HSD": ("HIS", "HID"),
    "HSE": ("HIS", "HIE"),
    "HSP": ("HIS", "HIP"),
    "ASP": ("ASP", "ASP"),
    "ASH": ("ASP", "ASH"),
    "ASPP": ("ASP", "ASH"),
    "GLU": ("GLU", "GLU"),
    "GLH": ("GLU", "GLH"),
    "GLUP": ("GLU", "GLH"),
    "LYS": ("LYS", "LYS"),
    "LYN": ("LYS", "LYN"),
    "LSN": ("LYS", "LYN"),
    "CYS": ("CYS", "CYS"),
    "CYX": ("CYS", "CYX"),
    "CYM": ("CYS", "CYX"),
}
PLAIN = {base for base, _ in STATES.values()}


def is_protein(residue: gemmi.Residue) -> bool:
    """Whether it has the atoms of an amino acid in a chain, or is the cap of one."""
    if residue.name in CAPS:
        return True
    return all(name in residue for name in ("N", "CA", "C"))


def is_nucleic(residue: gemmi.Residue) -> bool:
    """Whether it has the atoms of a nucleotide in a chain."""
    return all(name in residue for name in ("C3'", "O3'", "C4'", "C5'"))


def is_water(residue: gemmi.Residue) -> bool:
    """By its name."""
    return residue.name in WATER


def without(residue: gemmi.Residue, drops: Callable[[gemmi.Atom], bool]) -> gemmi.Residue:
    """A copy without some atoms."""
    copy = residue.clone()
    for index in reversed(range(len(copy))):
        if drops(copy[index]):
            del copy[index]
    return copy


def label(chain: str, residue: gemmi.Residue) -> str:
    """For messages: "HIS A:57"."""
    return f"{residue.name} {key(chain, residue)}"


def key(chain: str, residue: gemmi.Residue) -> str:
    """By which settings name a residue: chain and number in the input, "A:57"."""
    return f"{chain}:{str(residue.seqid).strip()}"
