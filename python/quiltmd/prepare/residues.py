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

# Ions whose names are not those of their elements, as CHARMM and others have them.
_IONS = {"SOD": "Na", "CLA": "Cl", "POT": "K", "CAL": "Ca", "CES": "Cs", "LIT": "Li", "RUB": "Rb"}
_IN_CHAINS = ("H", "D", "C", "N", "O", "S", "P", "Se")

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
    """Whether it is water, by its name."""
    return residue.name in WATER


def element_of(residue: gemmi.Residue, atom: gemmi.Atom) -> gemmi.Element:
    """Its element, where a file without a column of elements lets it be guessed.

    Guesses by columns read CA as calcium, HE1 as helium, and the ion NA as nitrogen: an atom of a
    chain or of water has the element of its first letter, an ion that of its whole name.
    """
    letters = atom.name.strip("0123456789+-")
    if len(residue) == 1 and not is_water(residue):
        name = _IONS.get(letters.upper(), letters.capitalize())
        by_name = gemmi.Element(name)
        is_ion = by_name.is_metal or name in ("F", "Cl", "Br", "I")
        return by_name if is_ion else atom.element
    is_guess = atom.element.name not in _IN_CHAINS and letters[:1] in _IN_CHAINS
    in_chain = is_protein(residue) or is_nucleic(residue) or is_water(residue)
    return gemmi.Element(letters[0]) if is_guess and in_chain else atom.element


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
    """Key by which settings name a residue: chain and number in the input, "A:57"."""
    return f"{chain}:{str(residue.seqid).strip()}"
