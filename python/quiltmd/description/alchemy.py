# SPDX-License-Identifier: Apache-2.0
"""Alchemical atoms: atoms whose interactions vanish as lambda goes from 0 to 1.

The equations are in docs/theory/alchemy.md.  `decouple` makes of a System one with alchemical
atoms; a `Simulation` of it has the energies of all states of the schedule and the derivatives of
the energy by lambda.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .boresch import BoreschRestraint
from .checks import frozen, numbers, real_number
from .parts import Part

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]
Intramolecular = Literal["keep", "scale"]

LAMBDAS = ("coulomb", "vdw", "restraint")  # in this order in arrays; the last with a restraint only
_OF_CORE = 2  # what the core knows of: strengths of restraints are conditions there
_MOST_ATOMS = 4096
_LEAST_ALPHA = 0.1  # below, forces of the soft core exceed what fixed point holds
# The default schedule: charges first.
COULOMB = (0.0, 0.25, 0.5, 0.75, 1.0, *[1.0] * 10)
VDW = (*[0.0] * 5, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True, eq=False)
class Alchemy(Part):
    """The alchemical atoms, the path along which they are decoupled, and the states on it.

    Attributes
    ----------
    atoms:
        (n,) int32, ascending: the alchemical atoms.
    states:
        (K, 2): lambdas of Coulomb and van der Waals interactions in each state, from 0 (full) to 1
        (none).  In states that scale van der Waals interactions, charges must be zero.  With a
        restraint (K, 3): lambda of the restraint as well, from 0 (none) to 1 (full).
    start:
        (2,) or (3,): the lambdas that a simulation begins with.
    alpha:
        Parameter of the soft core: E = (1 - lambda) (a/D^2 - b/D), D = alpha lambda sigma^6 + r^6.
    least_sigma:
        Minimum sigma in the soft core, nm; used for pairs with a smaller sigma or none.
    restraint:
        The Boresch restraint, whose energy is multiplied by lambda of the restraint; the system has
        no other restraints.

    Raises
    ------
    InputError
        Where a value makes no sense.
    """

    called: ClassVar[str] = "alchemical atoms"

    atoms: I32
    states: F64
    start: F64
    alpha: float = 0.5
    least_sigma: float = 0.3
    restraint: BoreschRestraint | None = None

    def __post_init__(self) -> None:
        atoms = np.unique(np.asarray(self.atoms, dtype=np.int32))
        if not 0 < len(atoms) <= _MOST_ATOMS:
            raise InputError(f"there are {len(atoms)} alchemical atoms, not 1 to {_MOST_ATOMS}")
        states = _lambdas("alchemy.states", self.states, len(self.names))
        if states.ndim != 2 or len(states) == 0:
            raise InputError("alchemy.states must have a row of lambdas for each state")
        alpha = real_number("alchemy.alpha", self.alpha)
        if not _LEAST_ALPHA <= alpha <= 10:
            raise InputError(f"alchemy.alpha must be from {_LEAST_ALPHA} to 10, not {alpha:g}")
        sigma = real_number("alchemy.least_sigma", self.least_sigma, "nm")
        if not 0.05 <= sigma <= 1:
            raise InputError(f"alchemy.least_sigma must be from 0.05 to 1 nm, not {sigma:g}")
        start = _lambdas("alchemy.start", self.start, len(self.names))
        for name, value in (("atoms", atoms), ("states", states), ("start", start)):
            object.__setattr__(self, name, frozen(value))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the lambdas, in the order of the columns of `states`."""
        return LAMBDAS if self.restraint is not None else LAMBDAS[:_OF_CORE]

    def state(self, number: int) -> dict[str, float]:
        """The lambdas of a state (counted from 0), as keywords of `set_conditions`."""
        if not 0 <= number < len(self.states):
            raise InputError(f"there is no state {number}, only 0 to {len(self.states) - 1}")
        return conditions_of(self.states[number])

    def check(self, system: Any) -> None:
        """Raises InputError where the system does not have the atoms."""
        if self.atoms[0] < 0 or self.atoms[-1] >= system.atoms:
            raise InputError(f"the alchemical atoms are not all among the {system.atoms} atoms")

    def arrays(self, system: Any) -> dict[str, Any]:
        """The arrays for the core, by name."""
        return {
            "atoms": np.array(self.atoms),
            "states": np.array(self.states[:, :_OF_CORE]),
            "start": [float(one) for one in self.start[:_OF_CORE]],
            "alpha": float(self.alpha),
            "least_sigma": float(self.least_sigma),
        }


def conditions_of(lambdas: npt.ArrayLike) -> dict[str, float]:
    """Lambdas by the names that conditions have."""
    values = np.asarray(lambdas)
    names = LAMBDAS[: len(values)]
    return {f"lambda_{name}": float(value) for name, value in zip(names, values, strict=True)}


def _lambdas(name: str, values: npt.ArrayLike, count: int) -> F64:
    found: F64 = np.asarray(numbers(name, values, "numbers from 0 to 1"), dtype=np.float64)
    if found.shape[-1:] != (count,):
        of = ", ".join(LAMBDAS[:count])
        raise InputError(f"{name} must have {count} lambdas in each state: {of}")
    if not ((found >= 0) & (found <= 1)).all():
        raise InputError(
            f"{name} must be from 0 to 1: 0 is the full interaction and 1 none, but of a restraint "
            "0 is none"
        )
    if ((found[..., 1] > 0) & (found[..., 0] < 1)).any():
        raise InputError(
            f"{name}: lambda of charges must be 1 where that of van der Waals interactions is not "
            "0: charges without a core collapse onto others; switch charges off first"
        )
    return found
