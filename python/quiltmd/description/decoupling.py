# SPDX-License-Identifier: Apache-2.0
"""Makes atoms of a System alchemical: `decouple`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .alchemy import COULOMB, VDW, Alchemy, Intramolecular, warn_of_charge
from .boresch import BoreschRestraint
from .boresch_anchors import apply_boresch
from .checks import numbers
from .parts import refuse_other_parts
from .selection import select
from .sigma_epsilon import sigma_epsilon
from .soft_cores import SoftCoreName
from .system import System

I32 = npt.NDArray[np.int32]
Atoms: TypeAlias = str | Sequence[int] | npt.NDArray[np.integer[Any]]
_CO_ION = (
    ". An ion of opposite charge that vanishes as well (a co-ion) keeps the charge: select it with "
    "the molecule, in each calculation of a cycle"
)


def decouple(
    system: System,
    atoms: Atoms,
    coulomb: Sequence[float] = COULOMB,
    vdw: Sequence[float] = VDW,
    *,
    state: int = 0,
    intramolecular: Intramolecular = "keep",
    soft_core: SoftCoreName = "beutler",
    alpha: float | None = None,
    least_sigma: float = 0.3,
    alpha_coulomb: float = 0.0,
    restraint: BoreschRestraint | None = None,
    restraint_lambdas: Sequence[float] | None = None,
) -> System:
    """Makes atoms of a system alchemical: lambda scales their nonbonded interactions.

    Parameters
    ----------
    system:
        The system, with Lennard-Jones interactions.
    atoms:
        A selection (see `select`), or indices from 0.  If they have a net charge, a warning says
        that the free energy depends on the size of the box; with an ion of opposite charge among
        the atoms (a co-ion) the net charge of the system does not change.
    coulomb, vdw:
        Lambda of charges and of van der Waals interactions in each state, 0 (full) to 1 (none).  By
        default there are 15 states, in which charges are switched off first.
    state:
        The initial state of a simulation, counted from 0.
    intramolecular:
        "keep" (decoupling): interactions between alchemical atoms of the same molecule are kept,
        without a cutoff, so the last state is the molecule in vacuum (GROMACS' couple-intramol =
        no).  "scale" (annihilation): these interactions, except 1-4 pairs, are scaled as well.
    soft_core, alpha, least_sigma, alpha_coulomb:
        Form and parameters of the soft cores: see `Alchemy`.
    restraint:
        A restraint that holds the atoms in a binding site; the system must have no other
        restraints.
    restraint_lambdas:
        Factor of the restraint energy in each state, 0 (none) to 1 (full, the default).

    Raises
    ------
    InputError
        If there are no such atoms, some are already alchemical, the system has other restraints
        beside this one, or the lambdas are invalid.
    """
    chosen = chosen_atoms(system, atoms, "atoms", "alchemical atoms")
    if system.alchemy is not None:
        raise InputError("the system has alchemical atoms already")
    refuse_other_parts(system, "decoupled")
    if system.pair_form != "lennard-jones":
        raise InputError(
            "alchemical atoms need Lennard-Jones interactions, and the pair form of this system "
            f"is {system.pair_form!r}"
        )
    if intramolecular not in ("keep", "scale"):
        raise InputError(f"intramolecular must be 'keep' or 'scale', not {intramolecular!r}")
    if restraint is not None:
        system = _restrained(system, restraint)
        if restraint_lambdas is None:
            restraint_lambdas = [1.0] * len(vdw)
    elif restraint_lambdas is not None:
        raise InputError("restraint_lambdas without a restraint: give restraint as well")
    states = _schedule(coulomb, vdw, restraint_lambdas)
    if not 0 <= state < len(states):
        raise InputError(f"there is no state {state}, only 0 to {len(states) - 1}")
    alchemy = Alchemy(
        np.unique(np.asarray(chosen, np.int32)),
        states,
        states[state],
        alpha,
        least_sigma,
        restraint,
        alpha_coulomb=alpha_coulomb,
        soft_core=soft_core,
    )
    kept = with_inner_pairs(system, alchemy.atoms) if intramolecular == "keep" else system
    made = replace(kept, alchemy=alchemy)
    warn_of_charge(made, _CO_ION)
    return made


def _schedule(coulomb: Any, vdw: Any, restraint: Any) -> npt.NDArray[np.float64]:
    """The lambdas of all states, (states, kinds); without those of a restraint if None."""
    of_vdw = f"{len(vdw)} of van der Waals interactions: give one of each for every state"
    if len(coulomb) != len(vdw):
        raise InputError(f"there are {len(coulomb)} lambdas of Coulomb interactions and {of_vdw}")
    if restraint is None:
        return np.column_stack([coulomb, vdw])
    if len(restraint) != len(vdw):
        raise InputError(f"there are {len(restraint)} lambdas of the restraint and {of_vdw}")
    return np.column_stack([coulomb, vdw, restraint])


def at_lambdas(system: System, *lambdas: float) -> System:
    """The system with a start at these lambdas, in the order of `Alchemy.names`."""
    if system.alchemy is None:
        raise InputError("the system has no alchemical atoms")
    return replace(system, alchemy=replace(system.alchemy, start=np.array(lambdas)))


def _restrained(system: System, restraint: BoreschRestraint) -> System:
    """The system with this restraint; refuses others, because one factor scales all."""
    tables = system.terms.tables
    others = [one.form.noun for one in tables if one.form.part == "restraint" and len(one)]
    if others:
        raise InputError(
            f"the system has {others[0]}: a restraint with a lambda cannot be combined with "
            "others, because one factor scales all restraints"
        )
    return apply_boresch(system, restraint)


def chosen_atoms(system: System, atoms: Atoms, name: str, plural: str) -> npt.NDArray[np.int64]:
    """Indices of atoms that are given by a selection or by indices.

    `name` is that of the argument, and `plural` what the atoms are, for the InputError if there are
    no such atoms.
    """
    if isinstance(atoms, str):
        found: npt.NDArray[Any] = select(system, atoms)
    else:
        found = numbers(name, atoms, "indices of atoms")
        if found.ndim != 1 or (found != found.astype(np.int64)).any():
            raise InputError(f"{name} must be a selection, or indices of atoms")
        if len(found) and (found.min() < 0 or found.max() >= system.atoms):
            raise InputError(f"{name} names an atom that does not exist: there are {system.atoms}")
    if len(found) == 0:
        raise InputError(f"the selection {atoms!r} of {plural} has no atoms")
    return np.unique(found).astype(np.int64)


def with_inner_pairs(system: System, atoms: I32) -> System:
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
