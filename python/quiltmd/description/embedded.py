# SPDX-License-Identifier: Apache-2.0
"""Embedded atoms: metals, whose energy depends on the electron density of neighbours.

E = sum over atoms of F(rho) + sum over pairs of phi(r), rho the sum of the densities of neighbours
(Daw and Baskes, Phys. Rev. B 29, 6443 (1984); Finnis and Sinclair, Phil. Mag. A 50, 45 (1984)); see
docs/theory/embedded.md.  `quiltmd.read_eam` reads the functions from potential files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .checks import frozen, numbers, real_number
from .element_atoms import ElementAtoms, places_of
from .nonbonded import Nonbonded

F64 = npt.NDArray[np.float64]
_UNITS = {"masses": "amu", "pairs": "kJ/mol nm", "embedding": "kJ/mol"}
_FEWEST = 5  # values of a table
_LARGEST = 1e30  # of a value, in whatever unit; far less than single precision has


@dataclass(frozen=True, eq=False)
class EmbeddedFunctions:
    """The functions of a potential of embedded atoms, for E elements.

    All functions are tables at equal distances, with cubics between the points.

    Attributes
    ----------
    elements:
        Names, as in the file: "Cu".
    masses:
        (E,) amu.
    cutoff:
        Cutoff, nm; pairs beyond it do not interact.
    spacing:
        Distance, nm, between the points of `densities` and `pairs`; the first point is at 0.
    density_step:
        Step of the density between the points of `embedding`; the first point is at 0.
    densities:
        (E, E, n) density at an atom of the first element from a neighbour of the second element.
    pairs:
        (E, E, n) r phi(r), kJ/mol nm; the same for both orders of elements.
    embedding:
        (E, m) F(rho), kJ/mol.

    Raises
    ------
    InputError
        If an array has the wrong shape or a value is not a finite number.
    """

    elements: tuple[str, ...]
    masses: npt.ArrayLike
    cutoff: float
    spacing: float
    density_step: float
    densities: npt.ArrayLike
    pairs: npt.ArrayLike
    embedding: npt.ArrayLike

    def __post_init__(self) -> None:
        count = len(self.elements)
        if count == 0 or len(set(self.elements)) < count:
            raise InputError("the elements of embedded atoms must be named, each once")
        shapes = {"masses": (), "densities": (count, 0), "pairs": (count, 0), "embedding": (0,)}
        for name, inner in shapes.items():
            unit = _UNITS.get(name, "")
            given = numbers(f"{name} of embedded atoms", getattr(self, name), "numbers", unit)
            array = given.astype(np.float64)
            wanted = (count, *inner)
            if array.ndim != len(wanted) or array.shape[: len(wanted) - (0 in wanted)] != tuple(
                size for size in wanted if size
            ):
                raise InputError(f"{name} of embedded atoms has shape {array.shape}")
            if not (np.abs(array) < _LARGEST).all():
                raise InputError(f"{name} of embedded atoms: a value is not a finite number")
            if 0 in wanted and array.shape[-1] < _FEWEST:
                raise InputError(f"{name} of embedded atoms need {_FEWEST} values or more")
            object.__setattr__(self, name, frozen(array))
        for name, unit in (("cutoff", "nm"), ("spacing", "nm"), ("density_step", "")):
            value = real_number(f"{name} of embedded atoms", getattr(self, name), unit)
            if not 0 < value < _LARGEST:
                raise InputError(f"{name} of embedded atoms must be a positive number")
            object.__setattr__(self, name, value)
        densities, pairs = np.asarray(self.densities), np.asarray(self.pairs)
        if densities.shape != pairs.shape:
            raise InputError("densities and pairs of embedded atoms need as many points")
        if not (pairs == pairs.swapaxes(0, 1)).all():
            raise InputError("pairs of embedded atoms must be the same for both orders of elements")
        if (np.asarray(self.masses) <= 0).any():
            raise InputError("masses of embedded atoms must be positive")

    def of(self, elements: Sequence[str]) -> EmbeddedAtoms:
        """The part of a System whose atoms are these elements, in order.

        Raises
        ------
        InputError
            If the potential does not have an element.
        """
        places, types = places_of(elements, self.elements)
        return EmbeddedAtoms(self.only(places), types)

    def only(self, places: Sequence[int]) -> EmbeddedFunctions:
        """The functions of only the elements at these places."""
        both = np.ix_(places, places)
        return replace(
            self,
            elements=tuple(self.elements[place] for place in places),
            masses=np.asarray(self.masses)[list(places)],
            densities=np.asarray(self.densities)[both],
            pairs=np.asarray(self.pairs)[both],
            embedding=np.asarray(self.embedding)[list(places)],
        )

    @property
    def nonbonded(self) -> Nonbonded:
        """The nonbonded settings of a System of embedded atoms alone."""
        return Nonbonded(method="cutoff", cutoff=self.cutoff, dispersion_correction=False)


@dataclass(frozen=True, eq=False)
class EmbeddedAtoms(ElementAtoms):
    """All atoms of a System as embedded atoms.

    Attributes
    ----------
    functions:
        Densities, pair and embedding energies.
    types:
        (N,) int32: the index of the element of each atom in `functions.elements`.
    """

    called: ClassVar[str] = "embedded atoms"

    functions: EmbeddedFunctions
    types: npt.ArrayLike

    def __post_init__(self) -> None:
        self.check_types(len(self.functions.elements))

    def arrays(self, system: Any) -> dict[str, Any]:
        """Arrays for the core."""
        functions = self.functions
        return {
            "types": np.array(self.types),
            "type_count": len(functions.elements),
            "cutoff": functions.cutoff,
            "spacing": functions.spacing,
            "density_step": functions.density_step,
            "densities": np.array(functions.densities),
            "pairs": np.array(functions.pairs),
            "embedding": np.array(functions.embedding),
        }
