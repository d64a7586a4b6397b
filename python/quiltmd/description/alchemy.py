# SPDX-License-Identifier: Apache-2.0
"""Alchemical atoms and terms, which change as lambda goes from 0 to 1.

The equations are in docs/theory/alchemy.md.  `decouple` makes of a System one with atoms that
vanish, `hybrid` of two Systems one that turns from the first into the second; a `Simulation` of it
has the energies of all states of the schedule and the derivatives of the energy by lambda.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from ..errors import InputError, QuiltWarning
from .boresch import BoreschRestraint
from .checks import checked_array, frozen, numbers, real_number
from .collective import Collective
from .parts import Part, refuse_other_parts
from .soft_cores import SoftCoreName, check_soft_core, soft_core_named
from .term_forms import form_named

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]
Intramolecular = Literal["keep", "scale"]

# In this order in arrays; "bonded" with terms that change only, "restraint" with a restraint only.
LAMBDAS = ("coulomb", "vdw", "bonded", "restraint")
OF_CORE = LAMBDAS[:3]  # what the core knows of: strengths of restraints are conditions there
NO_TYPE = -1  # of atoms without van der Waals interactions
_NONE: Any = ()
_MOST_ATOMS = 4096
SAME_CHARGE = 0.01  # e; charges rounded in a file differ by less
# The default schedule: charges first.
COULOMB = (0.0, 0.25, 0.5, 0.75, 1.0, *[1.0] * 10)
VDW = (*[0.0] * 5, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True, eq=False)
class ChangedTerms:
    """Terms of one form with two states: at lambda 0 they have the parameters of the system.

    In between parameters are interpolated linearly: charge products with lambda of Coulomb
    interactions, sigma and epsilon with that of van der Waals interactions, all others with lambda
    of bonded terms.

    Attributes
    ----------
    name:
        Name of the form.
    terms:
        (n,) int32: the numbers of the terms in `System.terms[name]`.
    parameters:
        (n, parameters of a term) at lambda 1.

    Raises
    ------
    InputError
        If terms of the form cannot change, or a shape is wrong.
    """

    name: str
    terms: I32
    parameters: F64

    def __post_init__(self) -> None:
        form = form_named(self.name)
        if not form.may_change:
            raise InputError(f"{form.noun} cannot have two states")
        terms = np.asarray(self.terms, dtype=np.int32)
        parameters = checked_array(
            f"changed_terms.{form.parameter_array}",
            np.asarray(self.parameters, dtype=np.float64),
            np.dtype(np.float64),
            (None, form.columns),
        )
        if terms.ndim != 1 or len(terms) != len(parameters) or len(np.unique(terms)) != len(terms):
            raise InputError(
                f"each of the {form.plural} that change needs a number of its own and a row of "
                "parameters"
            )
        object.__setattr__(self, "terms", frozen(terms))
        object.__setattr__(self, "parameters", parameters)

    def check(self, system: Any) -> None:
        """Raises InputError if the system lacks a term, or a periodicity would change."""
        own = system.terms[self.name]
        if len(self.terms) and not 0 <= self.terms.min() <= self.terms.max() < len(own):
            raise InputError(
                f"the system has {len(own)} {own.form.plural}, and the alchemy names others: "
                "give terms of this system"
            )
        fixed = [k for k, one in enumerate(own.form.parameters) if one.values == "periodicity"]
        first = own.parameters[self.terms]
        if (first[:, fixed] != self.parameters[:, fixed]).any():
            raise InputError(
                f"{own.form.noun} cannot change its periodicity: let one term vanish and another "
                "appear"
            )


@dataclass(frozen=True, eq=False)
class Alchemy(Part):
    """Alchemical atoms and terms, and the lambdas of all states.

    Attributes
    ----------
    atoms:
        (n,) int32, ascending: the alchemical atoms, whose charges or pair types change.
    states:
        (K, 2): lambdas of Coulomb and van der Waals interactions in each state, from 0, where atoms
        and terms are those of the system, to 1.  With terms that change (K, 3): lambda of bonded
        terms as well.  With a restraint one more: its lambda, from 0 (none) to 1 (full).
    start:
        (2,), (3,) or (4,): the lambdas that a simulation begins with.
    alpha:
        Parameter of the soft core: with "beutler", E = (1 - lambda) (a/D^2 - b/D), D = alpha lambda
        sigma^6 + r^6.  None: the usual one of the soft core (0.5 with "beutler").
    least_sigma:
        Minimum sigma in the soft core, nm; used for pairs with a smaller sigma or none.
    restraint:
        The Boresch restraint, whose energy is multiplied by lambda of the restraint; the system has
        no other restraints.
    last_charges:
        (n,) e: charges of the atoms at lambda 1; by default none.
    last_types:
        (n,) int32: types of the atoms at lambda 1 in `lj_a` and `lj_b`; -1, the default: none.
    changed_terms:
        Bonded terms with two states, by form.
    alpha_coulomb:
        Parameter of the soft core for charges of atoms that vanish or appear: 1/r becomes
        (alpha_coulomb lambda sigma^6 + r^6)^(-1/6) with "beutler".  0: no soft core; charges must
        then be zero in states in which van der Waals interactions are scaled.
    soft_core:
        Form of the soft core: "beutler", "gapsys" (`alpha_coulomb` in nm), "amber" or "smoothstep"
        (`alpha_coulomb` in nm^2).

    Raises
    ------
    InputError
        If a value makes no sense.
    """

    called: ClassVar[str] = "alchemical atoms"

    atoms: I32
    states: F64
    start: F64
    alpha: float | None = None
    least_sigma: float = 0.3
    restraint: BoreschRestraint | None = None
    last_charges: F64 = _NONE
    last_types: I32 = _NONE
    changed_terms: tuple[ChangedTerms, ...] = ()
    alpha_coulomb: float = 0.0
    soft_core: SoftCoreName = "beutler"

    def __post_init__(self) -> None:
        atoms = np.unique(np.asarray(self.atoms, dtype=np.int32))
        if not 0 < len(atoms) <= _MOST_ATOMS:
            raise InputError(f"there are {len(atoms)} alchemical atoms, not 1 to {_MOST_ATOMS}")
        charges, types = self._last(len(atoms))
        object.__setattr__(self, "states", np.asarray(self.states, dtype=np.float64))
        if self.changed_terms and "bonded" not in self.names:
            raise InputError("with terms that change, each state needs lambda of bonded terms")
        states = _lambdas("alchemy.states", self.states, self.names)
        if states.ndim != 2 or len(states) == 0:
            raise InputError("alchemy.states must have a row of lambdas for each state")
        if self.alpha is None:
            object.__setattr__(self, "alpha", soft_core_named(self.soft_core).alpha)
        assert self.alpha is not None
        sigma = real_number("alchemy.least_sigma", self.least_sigma, "nm")
        object.__setattr__(self, "least_sigma", sigma)
        check_soft_core(self.soft_core, self.alpha, self.alpha_coulomb, self.least_sigma)
        start = _lambdas("alchemy.start", self.start, self.names)
        arrays: dict[str, npt.NDArray[Any]] = {"atoms": atoms, "states": states, "start": start}
        arrays |= {"last_charges": charges, "last_types": types}
        for name, value in arrays.items():
            object.__setattr__(self, name, frozen(value))

    def _last(self, count: int) -> tuple[F64, I32]:
        """Charges and types at lambda 1."""
        charges = np.asarray(self.last_charges, dtype=np.float64)
        types = np.asarray(self.last_types, dtype=np.int32)
        charges = charges if charges.size else np.zeros(count)
        types = types if types.size else np.full(count, NO_TYPE, np.int32)
        if charges.shape != (count,) or types.shape != (count,) or not np.isfinite(charges).all():
            raise InputError("each alchemical atom needs a charge and a type at lambda 1")
        if len(np.unique(np.asarray(self.atoms))) != len(np.asarray(self.atoms)):
            raise InputError("an alchemical atom is named twice")
        return charges, types

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the lambdas, in the order of the columns of `states`."""
        restrained = self.restraint is not None
        own = LAMBDAS[:3] if self.states.shape[-1] - restrained > 2 else LAMBDAS[:2]
        return (*own, LAMBDAS[3]) if restrained else own

    def state(self, number: int) -> dict[str, float]:
        """The lambdas of a state (counted from 0), as keywords of `set_conditions`."""
        if not 0 <= number < len(self.states):
            raise InputError(f"there is no state {number}, only 0 to {len(self.states) - 1}")
        return conditions_of(self.states[number], self.names)

    def check(self, system: Any) -> None:
        """Raises InputError if the system lacks an atom, a type or a term.

        Also if it has a part that cannot go with alchemical atoms, or atoms have charges in states
        in which they have no soft core or full interactions.
        """
        refuse_other_parts(system, "given alchemical atoms", Alchemy, Collective)
        if self.atoms[0] < 0 or self.atoms[-1] >= system.atoms:
            raise InputError(f"the alchemical atoms are not all among the {system.atoms} atoms")
        if not NO_TYPE <= self.last_types.min() <= self.last_types.max() < len(system.lj_a):
            raise InputError("an alchemical atom has a pair type at lambda 1 without parameters")
        for terms in self.changed_terms:
            terms.check(system)
        self._refuse_charges_without_cores(system)

    def soft_atoms(self, system: Any) -> I32:
        """Atoms on which others may lie at the start: they have a soft core, or do not interact."""
        first, last = self._presence(system)
        vdw = self.start[1]
        soft: I32 = self.atoms[(first & ~last & (vdw > 0)) | (last & ~first & (vdw < 1))]
        return soft

    def _presence(self, system: Any) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Of each atom whether it interacts with others at lambda 0, and at lambda 1."""
        charges, types = system.charges[self.atoms], system.lj_types[self.atoms]
        interact = ((system.lj_a != 0) | (system.lj_b != 0)).any(axis=1)
        last_types = np.where(self.last_types == NO_TYPE, False, interact[self.last_types])
        return (charges != 0) | interact[types], (self.last_charges != 0) | last_types

    def _refuse_charges_without_cores(self, system: Any) -> None:
        if self.alpha_coulomb > 0:
            return
        charges = system.charges[self.atoms]
        first, last = self._presence(system)
        for name, rows in (("states", self.states), ("start", self.start[None])):
            coulomb, vdw = rows[:, 0], rows[:, 1]
            if (first & ~last & (charges != 0)).any() and ((vdw > 0) & (coulomb < 1)).any():
                raise InputError(
                    f"alchemy.{name}: lambda of charges must be 1 where that of van der Waals "
                    "interactions is not 0, because charges without a soft core would collapse "
                    "onto other charges: switch charges off first, or set alpha_coulomb"
                )
            if (last & ~first & (self.last_charges != 0)).any() and (
                (vdw < 1) & (coulomb > 0)
            ).any():
                raise InputError(
                    f"alchemy.{name}: lambda of charges must be 0 where that of van der Waals "
                    "interactions is not 1, because charges without a soft core would collapse "
                    "onto other charges: switch the charges of atoms that appear on last, or set "
                    "alpha_coulomb"
                )

    def arrays(self, system: Any) -> dict[str, Any]:
        """The arrays for the core, by name."""
        return {
            "atoms": np.array(self.atoms),
            "last_charges": np.array(self.last_charges),
            "last_types": np.array(self.last_types),
            "changed_terms": {
                one.name: {"terms": np.array(one.terms), "parameters": np.array(one.parameters)}
                for one in self.changed_terms
            },
            "states": self._of_core(self.states),
            "start": self._of_core(self.start[None])[0].tolist(),
            "soft_core": self.soft_core,
            "alpha": self.alpha,
            "alpha_coulomb": float(self.alpha_coulomb),
            "least_sigma": float(self.least_sigma),
        }

    def _of_core(self, rows: F64) -> F64:
        """(K, 3): a lambda that there is not is 0."""
        by_name = dict(zip(self.names, rows.T, strict=True))
        return np.column_stack([by_name.get(name, np.zeros(len(rows))) for name in OF_CORE])


def with_kept_terms(system: Any, kept: Mapping[str, npt.NDArray[np.bool_]]) -> Alchemy | None:
    """The alchemy of a system from which some terms are about to be removed.

    Parameters
    ----------
    system:
        Before.
    kept:
        For each form, the terms that are kept.

    Raises
    ------
    InputError
        If a term that is removed changes its length, and so cannot be a constraint.
    """
    alchemy: Alchemy | None = system.alchemy
    if alchemy is None:
        return None
    left = []
    for one in alchemy.changed_terms:
        own = system.terms[one.name]
        stays = kept.get(one.name, np.ones(len(own), np.bool_))
        here, minimum = stays[one.terms], own.form.minimum
        if not here.all() and minimum is not None:
            first, last = minimum.at(own.parameters[one.terms]), minimum.at(one.parameters)
            odd = np.flatnonzero(~here & (first != last))
            if len(odd):
                atoms = own.atoms[one.terms[odd[0]]]
                named = " and ".join(system.topology.describe(int(atom)) for atom in atoms)
                raise InputError(
                    f"{own.form.the} of {named} has another length in the second state, so that "
                    "no constraint can replace it: set constraints to 'none'"
                )
        if here.any():
            numbers = (np.cumsum(stays, dtype=np.int32) - 1)[one.terms[here]]
            left.append(ChangedTerms(one.name, numbers, one.parameters[here]))
    return replace(alchemy, changed_terms=tuple(left))


def conditions_of(lambdas: npt.ArrayLike, names: Sequence[str]) -> dict[str, float]:
    """Lambdas by the names that conditions have; `names` as of `Alchemy.names`."""
    values = np.asarray(lambdas)
    return {f"lambda_{name}": float(value) for name, value in zip(names, values, strict=True)}


def _lambdas(name: str, values: npt.ArrayLike, names: Sequence[str]) -> F64:
    found: F64 = np.asarray(numbers(name, values, "numbers from 0 to 1"), dtype=np.float64)
    if found.shape[-1:] != (len(names),):
        raise InputError(f"{name} must have {len(names)} lambdas in each state: {', '.join(names)}")
    if not ((found >= 0) & (found <= 1)).all():
        raise InputError(
            f"{name} must be from 0 (the atoms and terms of the system; no restraint) to 1"
        )
    return found


def charge_change(system: Any) -> float:
    """Net charge, e, of a system with an `alchemy` at lambda 1 less that at lambda 0."""
    alchemy: Alchemy = system.alchemy
    return float((alchemy.last_charges - system.charges[alchemy.atoms]).sum())


def warn_of_charge(system: Any, remedy: str = "", stacklevel: int = 3) -> None:
    """Warns if the net charge of a system changes from lambda 0 to 1."""
    change = charge_change(system)
    if abs(change) > SAME_CHARGE:
        warnings.warn(
            f"the charge of the system changes by {change:+.3g} e: the free energy depends on the "
            f"size of the periodic box, and no correction is applied{remedy}",
            QuiltWarning,
            stacklevel=stacklevel,
        )
