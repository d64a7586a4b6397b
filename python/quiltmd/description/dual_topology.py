# SPDX-License-Identifier: Apache-2.0
"""Hybrids of two molecules that are both in one topology, as Amber's thermodynamic integration.

The topology has each atom that both molecules have in common twice, at the same place.  A hybrid
has it once: the second copy is left out, and with it the molecule becomes a hybrid as any other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .alchemy import warn_of_charge
from .co_ion import REMEDY, refuse_molecule, with_co_ion
from .decoupling import chosen_atoms
from .hybrid import inner_pairs_kept, merged
from .hybrid_mapping import map_atoms
from .hybrid_pairs import HybridTypes
from .parts import refuse_other_parts
from .selection import select
from .system import System
from .terms import Terms, TermTable

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]
_SAME_PLACE = 0.01  # nm, of the copies of an atom


@dataclass(frozen=True)
class DualTopology:
    """Two molecules of one topology, of which the first turns into the second.

    Attributes
    ----------
    first, last:
        Selections of the atoms that are there only at lambda 0, and only at lambda 1.
    unique_first, unique_last:
        Of these the atoms that vanish or appear.  The others have a copy in the other molecule, and
        are as many, in the same order; "" if there are none.
    co_ion:
        Selection of ions whose charges change so that the net charge stays the same, as with
        `hybrid`; "" if there are none.
    """

    first: str
    last: str
    unique_first: str = ""
    unique_last: str = ""
    co_ion: str = ""

    def joined_to(self, system: System) -> DualHybrid:
        """The hybrid, with the default schedule; InputError if the selections make no sense."""
        refuse_other_parts(system, "made into a hybrid")
        first, common_first = _of_molecule(system, self.first, self.unique_first)
        last, common_last = _of_molecule(system, self.last, self.unique_last)
        both = np.intersect1d(first, last)
        if len(both):
            raise InputError(f"{system.topology.describe(int(both[0]))} is in both molecules")
        if len(common_first) != len(common_last):
            raise InputError(
                f"{len(common_first)} atoms of the first molecule ({self.first}) and "
                f"{len(common_last)} of the second ({self.last}) are in both, so that they cannot "
                "be paired in order: select the atoms that vanish and appear as unique"
            )
        kept = np.setdiff1d(np.arange(system.atoms), last)
        molecules = np.isin(system.molecules, system.molecules[last])
        second = np.setdiff1d(np.flatnonzero(molecules), first)
        partners = np.arange(system.atoms)
        partners[common_last] = common_first
        mapped = np.setdiff1d(second, np.setdiff1d(last, common_last))
        pairs = zip(_places(kept, partners[mapped]), _places(second, mapped), strict=True)
        a, b = part_of(system, kept), part_of(system, second)
        atoms = map_atoms(a, b, [(int(one), int(other)) for one, other in pairs])
        lj_a, lj_b = (np.pad(table, (0, 1)) for table in (system.lj_a, system.lj_b))
        types = HybridTypes(lj_a, lj_b, a.lj_types, b.lj_types, len(system.lj_a))
        made = merged(*inner_pairs_kept(a, b, atoms), atoms, types, "keep")
        if self.co_ion:
            ions = chosen_atoms(system, self.co_ion, "co_ion", "ions")
            refuse_molecule(system, ions, np.union1d(first, second))
            made = with_co_ion(made, _places(kept, ions))
        warn_of_charge(made, REMEDY)
        copies = np.column_stack([common_first, common_last])
        return DualHybrid(made, system, kept, second[atoms.appearing], copies)


@dataclass(frozen=True)
class DualHybrid:
    """A hybrid, and its atoms among those of the topology with both molecules."""

    system: System
    first: System
    kept: npt.NDArray[np.int64]
    appearing: npt.NDArray[np.int64]
    copies: npt.NDArray[np.int64]

    def place(self, positions: F64) -> F64:
        """Positions (atoms of the hybrid, 3), nm, from those of the topology."""
        apart = np.linalg.norm(positions[self.copies[:, 0]] - positions[self.copies[:, 1]], axis=1)
        if len(apart) and apart.max() > _SAME_PLACE:
            one, other = (
                self.first.topology.describe(int(atom)) for atom in self.copies[apart.argmax()]
            )
            raise InputError(
                f"{one} and {other} are the same atom in both molecules, and {apart.max():.3f} nm "
                f"apart: copies must have the same positions, to {_SAME_PLACE} nm"
            )
        return np.concatenate([positions[self.kept], positions[self.appearing]])


def _of_molecule(
    system: System, molecule: str, unique: str
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Atoms of a molecule, and those of them that are not unique."""
    atoms = select(system, molecule)
    alone = select(system, unique) if unique else np.empty(0, np.int64)
    odd = np.setdiff1d(alone, atoms)
    if len(odd):
        raise InputError(
            f"{system.topology.describe(int(odd[0]))} is among the unique atoms ({unique}), but "
            f"not in the molecule ({molecule})"
        )
    return atoms, np.setdiff1d(atoms, alone)


def _places(among: npt.NDArray[np.int64], atoms: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Position of each atom in an ascending list."""
    return np.searchsorted(among, atoms)


def part_of(system: System, atoms: npt.NDArray[np.int64]) -> System:
    """Some atoms of a system, in ascending order, and what is between them.

    Residues keep their numbers: those of other atoms are empty.
    """
    new = np.full(system.atoms, -1, np.int32)
    new[atoms] = np.arange(len(atoms), dtype=np.int32)

    def inside(rows: I32) -> npt.NDArray[np.bool_]:
        return np.asarray((new[rows] >= 0).all(axis=1))

    tables = []
    for one in system.terms.tables:
        held = one.chosen(inside(one.atoms))
        tables.append(Terms(held.name, new[held.atoms], held.parameters, held.shared))
    topology, bonds = system.topology, inside(system.constraints)
    has_sites = len(system.sites) > 0
    sites = np.flatnonzero(new[system.sites[:, 0]] >= 0) if has_sites else np.empty(0, np.int64)
    return replace(
        system,
        masses=system.masses[atoms],
        charges=system.charges[atoms],
        lj_types=system.lj_types[atoms],
        terms=TermTable(tuple(tables)),
        exclusions=new[system.exclusions[inside(system.exclusions)]],
        constraints=new[system.constraints[bonds]],
        constraint_lengths=system.constraint_lengths[bonds],
        sites=np.where(system.sites[sites] < 0, -1, new[system.sites[sites]]),
        site_weights=system.site_weights[sites],
        site_offsets=system.site_offsets[sites],
        born_radii=np.empty(0),
        born_screening=np.empty(0),
        topology=replace(
            topology,
            atom_names=topology.atom_names[atoms],
            elements=topology.elements[atoms],
            residue_of_atom=topology.residue_of_atom[atoms],
            vanishing=topology.vanishing[atoms],
        ),
    )
