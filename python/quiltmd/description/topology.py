# SPDX-License-Identifier: Apache-2.0
"""Names of atoms and residues: for output files and messages, never for physics."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .checks import Checked, frozen, numbers
from .elements import SYMBOLS, elements_of


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
    molecule_types:
        (R,) strings, the molecule type of each residue, of GROMACS topologies; by default "".
    vanishing:
        (N,) bool, atoms of GROMACS topologies whose second state has no nonbonded interactions; by
        default none.
    """

    atom_names: npt.NDArray[np.str_]
    elements: npt.NDArray[np.int32]
    residue_of_atom: npt.NDArray[np.int32]
    residue_names: npt.NDArray[np.str_]
    residue_ids: npt.NDArray[np.int32]
    chain_ids: npt.NDArray[np.str_]
    molecule_types: npt.NDArray[np.str_] = field(default_factory=lambda: np.empty(0, np.str_))
    vanishing: npt.NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, np.bool_))

    def __post_init__(self) -> None:
        # Arrays without values fit any number of residues and atoms, also when others are replaced.
        if not np.any(np.asarray(self.molecule_types) != ""):
            object.__setattr__(self, "molecule_types", np.full(len(self.residue_names), ""))
        if not np.any(self.vanishing):
            object.__setattr__(self, "vanishing", np.zeros(len(self.atom_names), np.bool_))
        for one in fields(self):
            array = np.asarray(getattr(self, one.name))
            names = array.dtype == object
            object.__setattr__(self, one.name, frozen(array.astype(np.str_) if names else array))
        atoms, residues = len(self.atom_names), len(self.residue_names)
        by_atom = (self.elements, self.residue_of_atom, self.vanishing)
        if not all(len(array) == atoms for array in by_atom):
            raise InputError("the topology's arrays over atoms differ in length")
        by_residue = (self.residue_ids, self.chain_ids, self.molecule_types)
        if not all(len(array) == residues for array in by_residue):
            raise InputError("the topology's arrays over residues differ in length")
        if atoms and not 0 <= self.residue_of_atom.min() <= self.residue_of_atom.max() < residues:
            raise InputError("the topology puts an atom in a residue that does not exist")
        unknown = (self.elements < 0) | (self.elements >= len(SYMBOLS))
        if unknown.any():
            atom = int(np.argmax(unknown))
            raise InputError(
                f"the atomic number {self.elements[atom]} is not one from 0 to {len(SYMBOLS) - 1}",
                atom=atom,
            )

    def __repr__(self) -> str:
        return f"<Topology: {len(self.atom_names)} atoms, {len(self.residue_names)} residues>"

    @classmethod
    def unnamed(
        cls, masses: npt.NDArray[np.float64], bonds: npt.NDArray[np.integer] | None = None
    ) -> Topology:
        """Stand-in for an input without names: residue UNK, atoms X, elements as `elements_of`.

        Parameters
        ----------
        masses:
            (N,) amu.
        bonds:
            (B, 2) bonds and constraints, by which repartitioned hydrogens are recognised.
        """
        masses = numbers("masses", masses, "numbers, amu", "amu")
        names = np.full(len(masses), "X")
        return cls(
            atom_names=names,
            elements=elements_of(masses, names, bonds),
            residue_of_atom=np.zeros(len(masses), dtype=np.int32),
            residue_names=np.array(["UNK"]),
            residue_ids=np.ones(1, dtype=np.int32),
            chain_ids=np.array([""]),
        )

    @property
    def has_names(self) -> bool:
        """Whether its names are those of an input, and not those of `unnamed`."""
        return bool(np.any(self.atom_names != "X"))

    def describe(self, atom: int) -> str:
        """Name of an atom (index from 0) in messages: "atom 12 (CA of ALA 3)"."""
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
            molecule_types=np.tile(self.molecule_types, copies),
            vanishing=np.tile(self.vanishing, copies),
        )
