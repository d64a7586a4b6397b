# SPDX-License-Identifier: Apache-2.0
"""Which atoms of two molecules are the same in a hybrid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .system import System

I32 = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class HybridMap:
    """The atoms of a hybrid: all of the first system, then those that appear.

    Attributes
    ----------
    mapped_first, mapped_last:
        Atoms of the first and of the second system that are the same.
    vanishing:
        Atoms of the molecule in the first system that are not mapped.
    appearing:
        Atoms of the second system that are not mapped.
    of_last:
        For each atom of the second system, the atom of the hybrid.
    is_mapped, is_unique:
        For each atom of the hybrid, whether it is in both molecules; whether it vanishes or
        appears.
    """

    mapped_first: I32
    mapped_last: I32
    vanishing: I32
    appearing: I32
    of_last: I32
    is_mapped: npt.NDArray[np.bool_]
    is_unique: npt.NDArray[np.bool_]


def map_atoms(a: System, b: System, pairs: Sequence[tuple[int, int]]) -> HybridMap:
    """From pairs of atoms; InputError if they make no sense."""
    if not pairs:
        raise InputError(
            "the mapping is empty: map at least one atom of the first molecule to one of the second"
        )
    for side, (system, which) in enumerate(((a, "first"), (b, "second"))):
        column = [pair[side] for pair in pairs]
        if min(column) < 0 or max(column) >= system.atoms:
            odd = next(atom for atom in column if not 0 <= atom < system.atoms)
            raise InputError(
                f"the mapping names atom {odd} of the {which} system, which has {system.atoms} "
                "atoms, counted from 0"
            )
        if len(set(column)) != len(column):
            twice = next(atom for atom in column if column.count(atom) > 1)
            raise InputError(f"the mapping names atom {twice} of the {which} system twice")
    first, last = (np.array(column, dtype=np.int32) for column in zip(*pairs, strict=True))
    in_molecules = [
        np.isin(system.molecules, system.molecules[mapped])
        for system, mapped in ((a, first), (b, last))
    ]
    if not in_molecules[1].all():
        odd = int(np.flatnonzero(~in_molecules[1])[0])
        raise InputError(
            f"the second system has {b.topology.describe(odd)}, in a molecule without mapped "
            "atoms: give the molecule alone, without water and ions"
        )
    for system, inside in zip((a, b), in_molecules, strict=True):
        sites = system.sites[:, 0] if len(system.sites) else np.empty(0, np.int32)
        if inside[sites].any():
            raise InputError("a molecule with virtual sites cannot become part of a hybrid")
    vanishing = np.setdiff1d(np.flatnonzero(in_molecules[0]), first).astype(np.int32)
    appearing = np.setdiff1d(np.arange(b.atoms), last).astype(np.int32)
    of_last = np.empty(b.atoms, np.int32)
    of_last[last] = first
    of_last[appearing] = a.atoms + np.arange(len(appearing))
    total = a.atoms + len(appearing)
    is_mapped, is_unique = np.zeros(total, np.bool_), np.zeros(total, np.bool_)
    is_mapped[first] = True
    is_unique[vanishing] = True
    is_unique[a.atoms :] = True
    return HybridMap(first, last, vanishing, appearing, of_last, is_mapped, is_unique)
