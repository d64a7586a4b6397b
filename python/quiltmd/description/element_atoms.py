# SPDX-License-Identifier: Apache-2.0
"""All atoms of a System as atoms of a potential of elements, for metals, silicon and their like.

What `EmbeddedAtoms` and `ThreeBodyAtoms` have in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .checks import frozen
from .parts import Part

Self = TypeVar("Self", bound="ElementAtoms")


def places_of(elements: Sequence[str], known: Sequence[str]) -> tuple[list[int], Any]:
    """The elements that occur, as places in those of a potential, and the types of atoms.

    Parameters
    ----------
    elements:
        The element of each of N atoms.
    known:
        The elements of the potential.

    Returns
    -------
    tuple
        Places in `known`, each once, and (N,) int32 indices of these places.

    Raises
    ------
    InputError
        If the potential does not have an element.
    """
    names, numbers = np.unique(np.asarray(elements, dtype=np.str_), return_inverse=True)
    for name in map(str, names):
        if name not in known:
            raise InputError(f"the potential has no element {name!r}; it has {', '.join(known)}")
    return [known.index(str(name)) for name in names], numbers.astype(np.int32)


class ElementAtoms(Part):
    """All atoms of a System, which interact with all their neighbours by the types of both.

    Attributes
    ----------
    types:
        (N,) int32: the index of the element of each atom in those of the potential.
    """

    types: npt.ArrayLike

    def check_types(self, count: int) -> None:
        """InputError if types are not whole numbers from 0 to `count` - 1."""
        types = np.asarray(self.types)
        if types.dtype.kind not in "iu" or types.ndim != 1:
            raise InputError(f"types of {self.called} must be a row of whole numbers")
        if len(types) and not (types.min() >= 0 and types.max() < count):
            raise InputError(f"types of {self.called} must be from 0 to {count - 1}")
        object.__setattr__(self, "types", frozen(types.astype(np.int32)))

    def check(self, system: Any) -> None:
        """InputError if atoms have no type, or if pairs are excluded."""
        if (count := len(np.asarray(self.types))) != system.atoms:
            raise InputError(
                f"{self.called}: {count} atoms have a type, but the system has {system.atoms}"
            )
        if len(system.exclusions) or len(system.sites):
            raise InputError(
                f"with {self.called}, atoms interact with all their neighbours: leave out "
                "exclusions, and with them bonds, and virtual sites"
            )

    def tiled(self: Self, copies: int) -> Self:
        """The part for several copies of the System, one after the other."""
        made: Any = self
        copied: Self = replace(made, types=np.tile(np.asarray(self.types), copies))
        return copied
