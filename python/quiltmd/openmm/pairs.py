# SPDX-License-Identifier: Apache-2.0
"""Pair potentials of OpenMM's custom forces, known by what they mean.

Parameters may belong to types of atoms, in tables, or to atoms and be combined by any rule: the
energy of each pair of kinds of atoms is compared with the pair forms that there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..description.expression_values import Array, Real, evaluate
from ..description.expressions import Expression, ExpressionError
from ..description.pair_forms import PAIR_FORMS, PairForm
from ..description.sigma_epsilon import sigma_epsilon
from ..errors import InputError
from .custom import BOND, globals_of, unknown
from .forms import Form, distances, match, powers
from .tabulated import read_tables, table_of

PAIRS = "CustomNonbondedForce"
_F64 = npt.NDArray[np.float64]
_SYMMETRIC = 1e-12

Table = tuple[npt.NDArray[np.int32], _F64]  # atoms and parameters of terms


def _form_of(pair: PairForm) -> Form:
    """Form for comparison with expressions: the energy of each strength of 1 alone."""
    root = Expression(pair.energy).root
    strengths, others = _split(pair)

    def functions(r: Array, *values: Array) -> list[Array]:
        given: dict[str, Any] = {"r": r, **dict(zip(others, values, strict=True))}
        if pair.larger_first:  # exchanged they are the same function
            larger, smaller = pair.larger_first
            given[larger] = np.where(given[larger] > given[smaller], given[larger], np.nan)
        alone = [{name: Real(name == one) for name in strengths} for one in strengths]
        return [evaluate([root], given | strength)[0] for strength in alone]

    return Form(("r",), distances, functions, len(others))


def _split(pair: PairForm) -> tuple[list[str], list[str]]:
    """The symbols of the strengths of a form, and those of its other parameters."""
    kinds = (True, False)
    strengths, others = (
        [one.symbol for one in pair.parameters if one.is_strength is kind] for kind in kinds
    )
    return strengths, others


_LENNARD_JONES = Form(("r",), powers, lambda r: (r**-12, -(r**-6)))
_FORMS = {_form_of(pair): pair for pair in PAIR_FORMS.values()}


def pair_fields(
    forces: list[Any], nonbonded: Any, exclusions: npt.NDArray[np.int32]
) -> dict[str, Any]:
    """The fields of `System` for a pair form by tables of types; {} without one.

    Parameters
    ----------
    forces:
        Forces of the OpenMM System.
    nonbonded:
        Its NonbondedForce, whose cutoff and switching must be the same, and whose atoms have no
        Lennard-Jones interactions of their own.
    exclusions:
        (n, 2) pairs without ordinary interactions there, sorted.

    Raises
    ------
    InputError
        If a CustomNonbondedForce is anything else.
    """
    found = [force for force in forces if type(force).__name__ == PAIRS]
    if not found:
        return {}
    force = found[0]
    if len(found) > 1 or force.getNumInteractionGroups() or force.getNumComputedValues():
        raise unknown(force)
    atoms = range(force.getNumParticles())
    rows = np.array([force.getParticleParameters(atom) for atom in atoms], np.float64)
    rows = rows.reshape(len(atoms), force.getNumPerParticleParameters())
    kinds, types = np.unique(rows, axis=0, return_inverse=True)
    fields = _pair_tables(force, kinds)
    _refuse_other_settings(force, nonbonded)
    refuse_other_exclusions(force, exclusions)
    if any(nonbonded.getParticleParameters(atom)[2]._value for atom in atoms):
        raise InputError(f"{PAIRS}: atoms have Lennard-Jones interactions in NonbondedForce too")
    return {"lj_types": types.reshape(-1).astype(np.int32), **fields}


def refuse_other_exclusions(force: Any, exclusions: npt.NDArray[np.int32]) -> None:
    """InputError if a CustomNonbondedForce excludes other pairs than these."""
    pairs = [sorted(force.getExclusionParticles(k)) for k in range(force.getNumExclusions())]
    theirs = np.unique(np.array(pairs, dtype=np.int64).reshape(-1, 2), axis=0)
    if theirs.shape != exclusions.shape or (theirs != exclusions).any():
        raise InputError(f"{PAIRS}: other pairs are excluded than in the NonbondedForce")


def pairs14_fields(
    exceptions: Table, special: Table, excluded: npt.NDArray[np.int64], atoms: int
) -> dict[str, npt.NDArray[Any]]:
    """1-4 pairs, each once: the exceptions that interact, with what custom bonds add to them.

    Parameters
    ----------
    exceptions:
        Pairs, and rows of product of charges (e^2), sigma (nm), epsilon (kJ/mol).
    special:
        As `custom.pair_terms` gives them.
    excluded:
        The pairs of all exceptions as lower atom * atoms + higher atom.
    atoms:
        Number of atoms.

    Raises
    ------
    InputError
        If a custom bond joins a pair that is no exception, or has a negative coefficient.
    """
    pairs, values = exceptions
    real = (values[:, 0] != 0) | (values[:, 2] != 0)
    if len(special[0]) == 0:
        return {"pairs14": pairs[real], "pair14_parameters": values[real]}
    product, sigma, epsilon = values[real].T
    both = np.column_stack([product, 4 * epsilon * sigma**12, 4 * epsilon * sigma**6])
    ordered = np.sort(np.concatenate([pairs[real], special[0]]), axis=1).astype(np.int64)
    keys, place = np.unique(ordered[:, 0] * atoms + ordered[:, 1], return_inverse=True)
    ours = np.column_stack(np.divmod(keys, atoms)).astype(np.int32)
    sums = np.zeros((len(keys), 3))
    np.add.at(sums, place.reshape(-1), np.concatenate([both, special[1]]))
    for wrong, why in (
        (~np.isin(keys, excluded), "are not an exception of NonbondedForce"),
        ((sums[:, 1:] < 0).any(axis=1), "have a negative Lennard-Jones coefficient"),
    ):
        if wrong.any():
            i, j = ours[np.argmax(wrong)] + 1
            raise InputError(f"{BOND}: atoms {i} and {j}, which interact by it, {why}")
    kept = (sums != 0).any(axis=1)
    sigma, epsilon = sigma_epsilon(sums[:, 1], sums[:, 2])
    return {
        "pairs14": ours[kept],
        "pair14_parameters": np.column_stack([sums[:, 0], sigma, epsilon])[kept],
    }


def _pair_tables(force: Any, kinds: _F64) -> dict[str, Any]:
    """The form and its tables by kinds of atoms, whose parameters are (T, n)."""
    count = max(len(kinds), 1)
    names = [
        force.getPerParticleParameterName(k) for k in range(force.getNumPerParticleParameters())
    ]
    if not len(kinds):
        kinds = np.zeros((1, len(names)))
    first, second = (index.ravel() for index in np.indices((count, count)))
    terms: dict[str, Any] = {"of each": np.zeros(count**2), **globals_of(force)}
    for name, values in zip(names, kinds.T, strict=True):
        terms |= {f"{name}1": values[first], f"{name}2": values[second]}
    tables = _discrete_tables(force)
    by_distance = _by_distance(force, terms, tables, count)
    if by_distance is not None:
        return {"pair_form": "tabulated", "pair_tables": by_distance, "lj_a": [], "lj_b": []}
    forms = (_LENNARD_JONES, *_FORMS)
    found = match(force.getEnergyFunction(), terms, forms, tables)
    if found is None or (found.coefficients < 0).any():  # not what a form of the core may have
        raise unknown(force)
    every = np.concatenate([found.coefficients, found.parameters], axis=1).T
    values = _symmetric(force, every.reshape(-1, count, count))
    if found.form is _LENNARD_JONES:
        return {"lj_a": values[0], "lj_b": values[1]}
    pair = _FORMS[found.form]
    strengths, others = _split(pair)
    tables_of = dict(zip((*strengths, *others), values, strict=True))
    ordered = [tables_of[symbol] for symbol in pair.symbols]
    return {"pair_form": pair.name, "pair_tables": ordered, "lj_a": [], "lj_b": []}


def _by_distance(
    force: Any, terms: dict[str, Any], tables: dict[str, Callable[..., Array]], count: int
) -> list[_F64] | None:
    """The tables of the form "tabulated", if the energy is a tabulated function of r."""
    functions = {
        force.getTabulatedFunctionName(k): force.getTabulatedFunction(k)
        for k in range(force.getNumTabulatedFunctions())
    }
    try:
        name, row = table_of(Expression(force.getEnergyFunction()), functions)
        if name is None:
            return None
        numbers = np.zeros(count**2) if row is None else evaluate([row], terms, tables)[0]
    except ExpressionError:
        raise unknown(force) from None
    rows = np.broadcast_to(numbers, count**2).reshape(count, count).astype(np.float64)
    return read_tables(name, functions[name], _symmetric(force, rows[None])[0])


def _symmetric(force: Any, tables: _F64) -> _F64:
    """Tables of which both triangles are the upper one; InputError if they differ."""
    turned = tables.transpose(0, 2, 1)
    if (np.abs(tables - turned) > _SYMMETRIC * np.abs(tables + turned)).any():
        raise unknown(force, ": the energy of a pair depends on the order of its atoms")
    return np.triu(tables) + np.triu(tables, 1).transpose(0, 2, 1)


def _discrete_tables(force: Any) -> dict[str, Callable[..., Array]]:
    """Functions of numbers of types, which give NaN beyond their tables."""
    found = {}
    for k in range(force.getNumTabulatedFunctions()):
        function = force.getTabulatedFunction(k)
        if type(function).__name__ == "Discrete1DFunction":
            values = np.array(function.getFunctionParameters(), Real)
        elif type(function).__name__ == "Discrete2DFunction":
            across, down, numbers = function.getFunctionParameters()
            values = np.array(numbers, Real).reshape(down, across)
        else:
            continue
        table = np.pad(values, 1, constant_values=np.nan)
        found[force.getTabulatedFunctionName(k)] = _look_up(table)
    return found


def _look_up(table: Array) -> Callable[..., Array]:
    def look_up(*places: Array) -> Array:
        if len(places) != table.ndim:
            raise TypeError
        clipped = [
            np.clip(np.rint(place).astype(np.int64) + 1, 0, size - 1)
            for place, size in zip(places[::-1], table.shape, strict=True)
        ]
        found: Array = table[tuple(np.broadcast_arrays(*clipped))]
        return found

    return look_up


def _refuse_other_settings(force: Any, nonbonded: Any) -> None:
    method = nonbonded.getNonbondedMethod()
    names = ("NoCutoff", "CutoffNonPeriodic")
    wanted = next((name for name in names if method == getattr(nonbonded, name)), "CutoffPeriodic")
    if force.getNonbondedMethod() != getattr(force, wanted):
        why = "beside a cutoff" if wanted == "CutoffPeriodic" else "as that"
        raise InputError(f"{PAIRS}: its method must be {wanted}, {why} of NonbondedForce")
    if wanted == "NoCutoff":
        return
    for getter in ("getCutoffDistance", "getUseSwitchingFunction", "getSwitchingDistance"):
        ours, theirs = getattr(nonbonded, getter)(), getattr(force, getter)()
        used = getter != "getSwitchingDistance" or force.getUseSwitchingFunction()
        if used and ours != theirs:
            noun = getter.removeprefix("get").removeprefix("Use")
            raise InputError(f"{PAIRS}: its {noun} is {theirs}, that of NonbondedForce {ours}")
