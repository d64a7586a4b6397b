# SPDX-License-Identifier: Apache-2.0
"""Three-body potentials: energies of pairs and triplets of neighbours, for silicon and its like.

Stillinger and Weber, Phys. Rev. B 31, 5262 (1985); Tersoff, Phys. Rev. B 37, 6991 (1988); see
docs/theory/three_body.md.  `quiltmd.read_stillinger_weber` and `quiltmd.read_tersoff` read the
parameters from potential files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .checks import frozen
from .element_atoms import ElementAtoms, places_of
from .nonbonded import Nonbonded

F64 = npt.NDArray[np.float64]
_LARGEST = 1e30  # of a parameter
_ROUNDING = 1e-4  # relative, of parameters in files


@dataclass(frozen=True)
class ThreeBodyForm:
    """A form of three-body potentials.

    Attributes
    ----------
    parameters:
        Their names, in the order of `ThreeBodyPotential.parameters` and of the core.
    of_pairs:
        Those that must be the same for (i, j, j) and (j, i, i).
    of_triplets:
        Those whose product must be the same for (i, j, k) and (i, k, j).
    cutoff:
        Distance, nm, from which parameters by name, kJ/mol and nm, have no effect.
    """

    parameters: tuple[str, ...]
    of_pairs: tuple[str, ...]
    of_triplets: tuple[tuple[str, ...], ...]
    cutoff: Callable[[Mapping[str, F64]], F64]


THREE_BODY_FORMS = {
    "stillinger-weber": ThreeBodyForm(
        ("epsilon", "sigma", "a", "lambda", "gamma", "cos_theta0", "A", "B", "p", "q"),
        ("epsilon", "sigma", "a", "A", "B", "p", "q"),
        (("lambda", "epsilon"), ("cos_theta0",)),
        lambda values: values["a"] * values["sigma"],
    ),
    "tersoff": ThreeBodyForm(
        (
            "m",
            "gamma",
            "lambda3",
            "c",
            "d",
            "cos_theta0",
            "n",
            "beta",
            "lambda2",
            "B",
            "R",
            "D",
            "lambda1",
            "A",
        ),
        ("R", "D", "lambda1", "A"),
        (),
        lambda values: values["R"] + values["D"],
    ),
}


@dataclass(frozen=True, eq=False)
class ThreeBodyPotential:
    """A potential of pairs and triplets of neighbours, for E elements.

    Attributes
    ----------
    form:
        "stillinger-weber" or "tersoff".
    elements:
        Names: "Si".
    parameters:
        (E, E, E, P) parameters of the form in the order of `THREE_BODY_FORMS`, in kJ/mol and nm:
        of an atom of the first element in the centre and neighbours of the second and the third.
        Pairs have those of the triplet whose neighbours are both of the same element.  What
        should not depend on the order of two atoms, but does by up to 0.01 %, as numbers in files
        are rounded, is replaced by its mean.

    Raises
    ------
    InputError
        If the array has the wrong shape, a value is not a finite number, a cutoff or a number that
        the energy is divided by is not positive, or parameters depend on the order of two atoms.
    """

    form: str
    elements: tuple[str, ...]
    parameters: npt.ArrayLike

    def __post_init__(self) -> None:
        if self.form not in THREE_BODY_FORMS:
            raise InputError(
                f"there is no three-body potential {self.form!r}; these are: "
                f"{', '.join(THREE_BODY_FORMS)}"
            )
        count = len(self.elements)
        if count == 0 or len(set(self.elements)) < count:
            raise InputError("the elements of a three-body potential must be named, each once")
        array = np.asarray(self.parameters, dtype=np.float64)
        wanted = (count, count, count, len(THREE_BODY_FORMS[self.form].parameters))
        if array.shape != wanted:
            raise InputError(
                f"parameters of a three-body potential have the shape {array.shape}, not {wanted}"
            )
        if not (np.abs(array) < _LARGEST).all():
            raise InputError("parameters of a three-body potential: not a finite number")
        object.__setattr__(self, "parameters", frozen(self._without_order(array.copy())))
        self._check_values()

    def _without_order(self, array: F64) -> F64:
        """Changes parameters to what does not depend on the order of two atoms."""
        form = THREE_BODY_FORMS[self.form]
        columns = dict(zip(form.parameters, np.moveaxis(array, -1, 0), strict=True))
        for name in form.of_pairs:
            pairs = np.einsum("ijj->ij", columns[name])  # a view
            pairs[:] = self._mean(pairs, pairs.T, name, "two atoms")
        for name, *others in form.of_triplets:
            factor = np.prod([columns[other] for other in others] or [np.ones(array.shape[:3])], 0)
            product = columns[name] * factor
            mean = self._mean(product, product.swapaxes(1, 2), name, "two neighbours")
            np.divide(mean, factor, out=columns[name], where=factor != 0)
        return array

    def _mean(self, values: F64, swapped: F64, name: str, of: str) -> F64:
        for *_, one, other in np.argwhere(~np.isclose(values, swapped, rtol=_ROUNDING, atol=0))[:1]:
            raise InputError(
                f"{name} of {self.elements[one]} and {self.elements[other]} depends on the order "
                f"of {of}: give both the same value"
            )
        return (values + swapped) / 2

    def _check_values(self) -> None:
        values = self.values
        if not self.cutoff > 0:
            raise InputError("a three-body potential needs a positive cutoff")
        if self.form == "tersoff":
            if not np.isin(values["m"], (1, 3)).all():
                raise InputError("m of a Tersoff potential must be 1 or 3")
            for name, numbers in {"d": values["d"], "n": np.einsum("ijj->ij", values["n"])}.items():
                if not (numbers > 0).all():
                    raise InputError(f"{name} of a Tersoff potential must be positive")
            if (values["R"] < values["D"]).any() or min(
                values["D"].min(), values["beta"].min()
            ) < 0:
                raise InputError("a Tersoff potential needs R >= D >= 0 and beta >= 0")
        elif (values["sigma"] < 0).any() or (values["gamma"] < 0).any():
            raise InputError("sigma and gamma of Stillinger-Weber must not be negative")

    @property
    def values(self) -> dict[str, F64]:
        """(E, E, E) of each parameter, by name."""
        columns = np.moveaxis(np.asarray(self.parameters), -1, 0)
        return dict(zip(THREE_BODY_FORMS[self.form].parameters, columns, strict=True))

    @property
    def cutoff(self) -> float:
        """Distance, nm, beyond which atoms do not interact."""
        return float(THREE_BODY_FORMS[self.form].cutoff(self.values).max())

    @property
    def nonbonded(self) -> Nonbonded:
        """The nonbonded settings of a System with this potential alone."""
        return Nonbonded(method="cutoff", cutoff=self.cutoff, dispersion_correction=False)

    def of(self, elements: Sequence[str]) -> ThreeBodyAtoms:
        """The part of a System whose atoms are these elements, in order.

        Raises
        ------
        InputError
            If the potential does not have an element.
        """
        places, types = places_of(elements, self.elements)
        only = replace(
            self,
            elements=tuple(self.elements[place] for place in places),
            parameters=np.asarray(self.parameters)[np.ix_(places, places, places)],
        )
        return ThreeBodyAtoms(only, types)


@dataclass(frozen=True, eq=False)
class ThreeBodyAtoms(ElementAtoms):
    """All atoms of a System as atoms of a three-body potential.

    Attributes
    ----------
    potential:
        The potential.
    types:
        (N,) int32: the index of the element of each atom in `potential.elements`.
    """

    called: ClassVar[str] = "a three-body potential"

    potential: ThreeBodyPotential
    types: npt.ArrayLike

    def __post_init__(self) -> None:
        self.check_types(len(self.potential.elements))

    def arrays(self, system: Any) -> dict[str, Any]:
        """Arrays for the core."""
        return {
            "form": self.potential.form,
            "types": np.array(self.types),
            "type_count": len(self.potential.elements),
            "parameters": np.array(self.potential.parameters),
        }
