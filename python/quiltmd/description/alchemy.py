# SPDX-License-Identifier: Apache-2.0
"""Alchemical atoms: atoms whose interactions vanish as lambda goes from 0 to 1.

The equations are in docs/theory/alchemy.md.  `decouple` makes of a System one with alchemical
atoms; a `Simulation` of it has the energies of all states of the schedule and the derivatives of
the energy by lambda.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .checks import frozen, numbers, real_number
from .sigma_epsilon import sigma_epsilon

if TYPE_CHECKING:
    from .system import System

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]
Intramolecular = Literal["keep", "scale"]

LAMBDAS = ("coulomb", "vdw")  # in this order in arrays
_MOST_ATOMS = 4096
_LEAST_ALPHA = 0.1  # below, forces of the soft core exceed what fixed point holds
# The default schedule: charges first.
COULOMB = (0.0, 0.25, 0.5, 0.75, 1.0, *[1.0] * 10)
VDW = (*[0.0] * 5, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True, eq=False)
class Alchemy:
    """Which atoms vanish, by what path, and through which states.

    Attributes
    ----------
    atoms:
        (n,) int32, ascending: the alchemical atoms.
    states:
        (K, 2): lambdas of Coulomb and van der Waals interactions in each state, from 0 (full) to 1
        (none).  Where van der Waals interactions are scaled, charges must be gone.
    start:
        (2,): the lambdas that a simulation begins with.
    alpha:
        Of the soft core: E = (1 - lambda) (a/D^2 - b/D), D = alpha lambda sigma^6 + r^6.
    least_sigma:
        nm; the sigma that the soft core takes for pairs whose own is smaller or undefined.

    Raises
    ------
    InputError
        Where a value makes no sense.
    """

    atoms: I32
    states: F64
    start: F64
    alpha: float = 0.5
    least_sigma: float = 0.3

    def __post_init__(self) -> None:
        atoms = np.unique(np.asarray(self.atoms, dtype=np.int32))
        if not 0 < len(atoms) <= _MOST_ATOMS:
            raise InputError(f"there are {len(atoms)} alchemical atoms, not 1 to {_MOST_ATOMS}")
        states = _lambdas("alchemy.states", self.states)
        if states.ndim != 2 or len(states) == 0:
            raise InputError("alchemy.states must have a row of two lambdas for each state")
        alpha = real_number("alchemy.alpha", self.alpha)
        if not _LEAST_ALPHA <= alpha <= 10:
            raise InputError(f"alchemy.alpha must be from {_LEAST_ALPHA} to 10, not {alpha:g}")
        sigma = real_number("alchemy.least_sigma", self.least_sigma, "nm")
        if not 0.05 <= sigma <= 1:
            raise InputError(f"alchemy.least_sigma must be from 0.05 to 1 nm, not {sigma:g}")
        start = _lambdas("alchemy.start", self.start)
        for name, value in (("atoms", atoms), ("states", states), ("start", start)):
            object.__setattr__(self, name, frozen(value))

    def state(self, number: int) -> dict[str, float]:
        """The conditions of a state, counted from 0, by the names that `set_conditions` has."""
        if not 0 <= number < len(self.states):
            raise InputError(f"there is no state {number}, only 0 to {len(self.states) - 1}")
        return conditions_of(self.states[number])

    def arrays(self) -> dict[str, Any]:
        """What the core needs."""
        return {
            "atoms": np.array(self.atoms),
            "states": np.array(self.states),
            "start": [float(one) for one in self.start],
            "alpha": float(self.alpha),
            "least_sigma": float(self.least_sigma),
        }


def conditions_of(lambdas: npt.ArrayLike) -> dict[str, float]:
    """Lambdas by the names that conditions have."""
    return {
        f"lambda_{name}": float(value)
        for name, value in zip(LAMBDAS, np.asarray(lambdas), strict=True)
    }


def decouple(
    system: System,
    atoms: str | Sequence[int] | npt.NDArray[np.integer[Any]],
    coulomb: Sequence[float] = COULOMB,
    vdw: Sequence[float] = VDW,
    *,
    state: int = 0,
    intramolecular: Intramolecular = "keep",
    alpha: float = 0.5,
    least_sigma: float = 0.3,
) -> System:
    """The system with alchemical atoms, whose nonbonded interactions vanish as lambda grows.

    Parameters
    ----------
    system:
        With Lennard-Jones interactions.
    atoms:
        A selection (see `select`), or indices from 0.
    coulomb, vdw:
        By state: lambda of charges and of van der Waals interactions, 0 (full) to 1 (none).  By
        default 15 states, the charges first.
    state:
        The state in which a simulation starts, from 0.
    intramolecular:
        "keep": the atoms keep their interactions with those of the same molecule that vanish as
        well, without cutoff, so that the end is the molecule in vacuum (decoupling; GROMACS'
        couple-intramol = no).  "scale": these vanish, too, but for 1-4 pairs (annihilation).
    alpha, least_sigma:
        Of the soft core: see `Alchemy`.

    Raises
    ------
    InputError
        Where there are no such atoms, some are alchemical already, or the lambdas make no sense.
    """
    from .selection import select

    chosen = select(system, atoms) if isinstance(atoms, str) else _indices(system, atoms)
    if len(chosen) == 0:
        raise InputError(f"the selection {atoms!r} of alchemical atoms has no atoms")
    if system.alchemy is not None:
        raise InputError("the system has alchemical atoms already")
    if system.pair_form != "lennard-jones":
        raise InputError(
            f"alchemical atoms need Lennard-Jones interactions, and those here are "
            f"{system.pair_form!r}"
        )
    if intramolecular not in ("keep", "scale"):
        raise InputError(f"intramolecular must be 'keep' or 'scale', not {intramolecular!r}")
    if len(coulomb) != len(vdw):
        raise InputError(
            f"there are {len(coulomb)} lambdas of Coulomb interactions and {len(vdw)} of van der "
            "Waals: each state has one of both"
        )
    states = np.column_stack([coulomb, vdw])
    if not 0 <= state < len(states):
        raise InputError(f"there is no state {state}, only 0 to {len(states) - 1}")
    alchemy = Alchemy(np.asarray(chosen, np.int32), states, states[state], alpha, least_sigma)
    kept = _with_inner_pairs(system, alchemy.atoms) if intramolecular == "keep" else system
    return replace(kept, alchemy=alchemy)


def at_lambdas(system: System, coulomb: float, vdw: float) -> System:
    """The system with a start at these lambdas."""
    if system.alchemy is None:
        raise InputError("the system has no alchemical atoms")
    return replace(system, alchemy=replace(system.alchemy, start=np.array([coulomb, vdw])))


def check_alchemy(alchemy: Alchemy | None, atoms: int) -> None:
    """InputError where there are not so many atoms."""
    if alchemy is not None and (alchemy.atoms[0] < 0 or alchemy.atoms[-1] >= atoms):
        raise InputError(f"the alchemical atoms are not all among the {atoms} atoms")


def _lambdas(name: str, values: npt.ArrayLike) -> F64:
    found: F64 = np.asarray(numbers(name, values, "numbers from 0 to 1"), dtype=np.float64)
    if found.shape[-1:] != (len(LAMBDAS),):
        raise InputError(f"{name} must have two lambdas: of charges and of van der Waals")
    if not ((found >= 0) & (found <= 1)).all():
        raise InputError(f"{name} must be from 0 to 1: 0 is the full interaction, 1 none")
    if ((found[..., 1] > 0) & (found[..., 0] < 1)).any():
        raise InputError(
            f"{name}: lambda of charges must be 1 where that of van der Waals interactions is not "
            "0: charges without a core collapse onto others; switch charges off first"
        )
    return found


def _indices(system: System, atoms: Any) -> npt.NDArray[np.integer[Any]]:
    found: npt.NDArray[Any] = numbers("atoms", atoms, "indices of atoms")
    if found.ndim != 1 or (found != found.astype(np.int64)).any():
        raise InputError("atoms must be a selection, or indices of atoms")
    if len(found) and (found.min() < 0 or found.max() >= system.atoms):
        raise InputError(f"atoms names an atom that does not exist: there are {system.atoms}")
    return found.astype(np.int64)


def _with_inner_pairs(system: System, atoms: I32) -> System:
    """Pairs of these atoms within a molecule, but for excluded ones, as 1-4 pairs in full."""
    first, second = np.triu_indices(len(atoms), 1)
    pairs = np.column_stack([atoms[first], atoms[second]])
    molecules = system.molecules
    pairs = pairs[molecules[pairs[:, 0]] == molecules[pairs[:, 1]]]
    excluded = system.exclusions[:, 0].astype(np.int64) * system.atoms + system.exclusions[:, 1]
    pairs = pairs[~np.isin(pairs[:, 0].astype(np.int64) * system.atoms + pairs[:, 1], excluded)]
    if len(pairs) == 0:
        return system
    types = system.lj_types[pairs]
    a, b = (table[types[:, 0], types[:, 1]] for table in (system.lj_a, system.lj_b))
    sigma, epsilon = sigma_epsilon(a, b)
    charges = system.charges[pairs].prod(axis=1)
    inner = np.column_stack([charges, sigma, epsilon])
    together = system.terms["pair14"].joined(pairs, inner)
    exclusions = np.concatenate([system.exclusions, pairs.astype(np.int32)])
    return replace(system.with_terms(together), exclusions=exclusions)
