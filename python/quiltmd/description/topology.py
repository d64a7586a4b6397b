# SPDX-License-Identifier: Apache-2.0
"""Names of atoms and residues: for output files and messages, never for physics."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .checks import Checked, frozen

_ELEMENTS = (  # symbol and mass (amu) by atomic number, from hydrogen on, as far as biology needs
    "H 1.008 He 4.003 Li 6.94 Be 9.012 B 10.81 C 12.011 N 14.007 O 15.999 F 18.998 Ne 20.180 "
    "Na 22.990 Mg 24.305 Al 26.982 Si 28.085 P 30.974 S 32.06 Cl 35.45 Ar 39.948 K 39.098 "
    "Ca 40.078 Sc 44.956 Ti 47.867 V 50.942 Cr 51.996 Mn 54.938 Fe 55.845 Co 58.933 Ni 58.693 "
    "Cu 63.546 Zn 65.38 Ga 69.723 Ge 72.630 As 74.922 Se 78.971 Br 79.904 Kr 83.798 Rb 85.468 "
    "Sr 87.62 Y 88.906 Zr 91.224 Nb 92.906 Mo 95.95 Tc 98.0 Ru 101.07 Rh 102.906 Pd 106.42 "
    "Ag 107.868 Cd 112.414 In 114.818 Sn 118.710 Sb 121.760 Te 127.60 I 126.904 Xe 131.293 "
    "Cs 132.905 Ba 137.327"
)
SYMBOLS = ("", *_ELEMENTS.split()[0::2])
MASSES = np.array([0.0, *map(float, _ELEMENTS.split()[1::2])])


@dataclass(frozen=True, eq=False, repr=False)
class Topology(Checked):
    """Names of N atoms in R residues.

    Attributes
    ----------
    atom_names:
        (N,) strings.
    elements:
        (N,) int32, atomic numbers; 0 where unknown.
    residue_of_atom:
        (N,) int32, index of each atom's residue.
    residue_names:
        (R,) strings.
    residue_ids:
        (R,) int32, the numbers that the input gives the residues.
    chain_ids:
        (R,) strings, the chain of each residue; "" where the input names none.
    """

    atom_names: npt.NDArray[np.str_]
    elements: npt.NDArray[np.int32]
    residue_of_atom: npt.NDArray[np.int32]
    residue_names: npt.NDArray[np.str_]
    residue_ids: npt.NDArray[np.int32]
    chain_ids: npt.NDArray[np.str_]

    def __post_init__(self) -> None:
        for field in fields(self):
            array = np.asarray(getattr(self, field.name))
            names = array.dtype == object
            object.__setattr__(self, field.name, frozen(array.astype(np.str_) if names else array))
        atoms, residues = len(self.atom_names), len(self.residue_names)
        if not len(self.elements) == len(self.residue_of_atom) == atoms:
            raise InputError("the topology's arrays over atoms differ in length")
        if not len(self.residue_ids) == len(self.chain_ids) == residues:
            raise InputError("the topology's arrays over residues differ in length")
        if atoms and not 0 <= self.residue_of_atom.min() <= self.residue_of_atom.max() < residues:
            raise InputError("the topology puts an atom in a residue that does not exist")

    def __repr__(self) -> str:
        return f"<Topology: {len(self.atom_names)} atoms, {len(self.residue_names)} residues>"

    @classmethod
    def unnamed(cls, masses: npt.NDArray[np.float64]) -> Topology:
        """Stand-in for an input without names: residue UNK, atoms X, elements by mass (amu)."""
        names = np.full(len(masses), "X")
        return cls(
            atom_names=names,
            elements=elements_from_masses(masses, names),
            residue_of_atom=np.zeros(len(masses), dtype=np.int32),
            residue_names=np.array(["UNK"]),
            residue_ids=np.ones(1, dtype=np.int32),
            chain_ids=np.array([""]),
        )

    def describe(self, atom: int) -> str:
        """How messages name an atom (index from 0): "atom 12 (CA of ALA 3)"."""
        residue = self.residue_of_atom[atom]
        place = f"{self.residue_names[residue]} {self.residue_ids[residue]}"
        return f"atom {atom + 1} ({self.atom_names[atom]} of {place})"

    def tile(self, copies: int) -> Topology:
        """The same names for several copies, one after the other."""
        residues = len(self.residue_names)
        offset = np.repeat(np.arange(copies, dtype=np.int32) * residues, len(self.atom_names))
        return Topology(
            atom_names=np.tile(self.atom_names, copies),
            elements=np.tile(self.elements, copies),
            residue_of_atom=np.tile(self.residue_of_atom, copies) + offset,
            residue_names=np.tile(self.residue_names, copies),
            residue_ids=np.tile(self.residue_ids, copies),
            chain_ids=np.tile(self.chain_ids, copies),
        )


def elements_from_masses(
    masses: npt.NDArray[np.float64],
    names: npt.NDArray[np.str_],
    bonds: npt.NDArray[np.integer] | None = None,
) -> npt.NDArray[np.int32]:
    """Atomic numbers guessed from masses (amu), for inputs that give none; (N,) int32.

    Light atoms named H are hydrogens, whatever hydrogen mass repartitioning left them; what they
    have beyond their own mass is counted with the heavy atoms that `bonds` (B, 2) join them to.
    """
    named_h = np.char.startswith(np.char.lstrip(np.char.upper(names), "0123456789"), "H")
    hydrogen = named_h & (masses < 4.5) & (masses > 0)
    whole = np.array(masses, dtype=np.float64)
    if bonds is not None and len(bonds):
        pairs = np.concatenate([bonds, bonds[:, ::-1]])
        light, heavy = pairs[hydrogen[pairs[:, 0]] & ~hydrogen[pairs[:, 1]]].T
        np.add.at(whole, heavy, masses[light] - MASSES[1])
    midpoints = 0.5 * (np.sort(MASSES)[1:] + np.sort(MASSES)[:-1])
    nearest = np.argsort(MASSES)[np.searchsorted(midpoints, whole)]
    return np.where(hydrogen, 1, nearest).astype(np.int32)
