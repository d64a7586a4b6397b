# SPDX-License-Identifier: Apache-2.0
"""CustomNonbondedForces of OpenMM whose expressions the core evaluates."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from ..description.custom_names import has_own_energy
from ..description.custom_pairs import CustomPairs
from ..description.expression_values import evaluate
from ..description.expressions import Expression
from ..errors import InputError
from .custom import globals_of, naming, unknown
from .custom_terms import name_of
from .pairs import PAIRS, pair_fields, refuse_other_exclusions
from .tabulated import add_functions_of, functions_of

_F64 = npt.NDArray[np.float64]
_Group = tuple[frozenset[int], ...]


def divided(
    forces: list[Any], nonbonded: Any, exclusions: npt.NDArray[np.int32]
) -> tuple[dict[str, Any], list[CustomPairs]]:
    """The fields of `System` for a pair form, and pair energies that are expressions.

    Parameters
    ----------
    forces:
        Forces of the OpenMM System.
    nonbonded, exclusions:
        Its NonbondedForce, and its exceptions, (n, 2), sorted.

    Raises
    ------
    InputError
        If a CustomNonbondedForce is neither a pair form nor an expression that can be evaluated.
    """
    found = [force for force in forces if type(force).__name__ == PAIRS]
    try:
        return pair_fields(forces, nonbonded, exclusions), []
    except InputError:
        if not found:
            raise
        return {}, [one for force in found for one in pairs_of(force, nonbonded, exclusions)]


def pairs_of(force: Any, nonbonded: Any, exclusions: npt.NDArray[np.int32]) -> list[CustomPairs]:
    """The pair energy of a CustomNonbondedForce: several where its groups share pairs.

    OpenMM adds the energy of a pair once for each interaction group that contains it.

    Parameters
    ----------
    force:
        The force.
    nonbonded:
        The NonbondedForce of the System.
    exclusions:
        (n, 2) its exceptions, sorted.

    Raises
    ------
    InputError
        If the force has other exclusions or another method than the NonbondedForce, computed
        values, or an expression with an error or an unknown function.
    """
    if force.getNumComputedValues():
        raise InputError(f"{PAIRS}: computed values are not supported")
    periodic = force.getNonbondedMethod() == force.CutoffPeriodic
    others = (nonbonded.NoCutoff, nonbonded.CutoffNonPeriodic)
    if periodic == (nonbonded.getNonbondedMethod() in others):
        raise InputError(f"{PAIRS}: it must be periodic where NonbondedForce is, and only there")
    has_cutoff = force.getNonbondedMethod() != force.NoCutoff
    refuse_other_exclusions(force, exclusions)
    names, rows = _parameters(force)
    groups = [
        tuple(map(frozenset, force.getInteractionGroupParameters(k)))
        for k in range(force.getNumInteractionGroups())
    ]
    switches = has_cutoff and force.getUseSwitchingFunction()
    with naming(force):
        made = CustomPairs(
            force.getEnergyFunction(),
            force.getCutoffDistance()._value if has_cutoff else None,
            {**globals_of(force), **dict(zip(names, rows.T, strict=True))},
            force.getSwitchingDistance()._value if switches else None,
            (),
            name=name_of(force) or CustomPairs.__name__,
            functions=functions_of(force),
        )
    if names:
        _refuse_order(force, rows, names)
    parts = [
        replace(made, groups=[(sorted(first), sorted(second)) for first, second in layer])
        for layer in _layers(groups)
    ]
    if not (force.getUseLongRangeCorrection() and periodic):
        return parts
    cutoff = force.getCutoffDistance()._value
    return [replace(part, tail=_tail(part, cutoff, rows)) for part in parts]


def _layers(groups: list[_Group]) -> list[list[_Group]]:
    """The groups, divided so that no two of one list share a pair; one list if there are none."""
    layers: list[list[_Group]] = [[]]
    for group in groups:
        free = [layer for layer in layers if not any(_share(group, other) for other in layer)]
        if not free:
            free = [[]]
            layers += free
        free[0].append(group)
    return layers


def _share(one: _Group, other: _Group) -> bool:
    """Whether two groups share a pair of atoms."""
    ways = (other, other[::-1])
    common = [(one[0] & first, one[1] & second) for first, second in ways]
    return any(first and second and len(first | second) > 1 for first, second in common)


def _refuse_order(force: Any, rows: _F64, names: list[str]) -> None:
    """InputError if the energy of a pair depends on the order of its atoms."""
    kinds = np.unique(rows, axis=0)
    first, second = (index.ravel() for index in np.indices((len(kinds), len(kinds))))
    r = np.linspace(0.1, 1, 10)[:, None]
    energies = []
    for one, other in ((first, second), (second, first)):
        own = {f"{name}1": kinds[one, k] for k, name in enumerate(names)}
        own |= {f"{name}2": kinds[other, k] for k, name in enumerate(names)}
        root = Expression(force.getEnergyFunction()).root
        values = {**globals_of(force), **own, "r": r}
        energies.append(evaluate([root], values, functions_of(force))[0])
    one_way, other_way = (one.astype(np.float64) for one in energies)
    if not np.allclose(one_way, other_way, rtol=1e-9, equal_nan=True):
        raise unknown(force, ": the energy of a pair depends on the order of its atoms")


def write_pairs(
    openmm: Any, pair: CustomPairs, atoms: int, exclusions: npt.NDArray[np.int32]
) -> Any:
    """The pair energy as a CustomNonbondedForce, with a cutoff one of a periodic box."""
    force = openmm.CustomNonbondedForce(pair.energy)
    if has_own_energy(pair):
        force.setName(pair.name)
    add_functions_of(openmm, force, pair.functions)
    for name, value in pair.shared.items():
        force.addGlobalParameter(name, value)
    for name in pair.by_atom:
        force.addPerParticleParameter(name)
    for row in pair.rows(atoms).tolist():
        force.addParticle(row)
    for i, j in exclusions.tolist():
        force.addExclusion(i, j)
    for first, second in pair.groups:
        force.addInteractionGroup(np.asarray(first).tolist(), np.asarray(second).tolist())
    if pair.cutoff is None:
        return force
    force.setNonbondedMethod(force.CutoffPeriodic)
    force.setCutoffDistance(pair.cutoff)
    force.setUseSwitchingFunction(pair.switch_distance is not None)
    if pair.switch_distance is not None:
        force.setSwitchingDistance(pair.switch_distance)
    force.setUseLongRangeCorrection(pair.tail != (0.0, 0.0))
    return force


def _parameters(force: Any) -> tuple[list[str], _F64]:
    """Names of the parameters of atoms, and (N, names) values."""
    names = [
        force.getPerParticleParameterName(k) for k in range(force.getNumPerParticleParameters())
    ]
    rows = [force.getParticleParameters(k) for k in range(force.getNumParticles())]
    return names, np.array(rows, np.float64).reshape(len(rows), len(names))


def _tail(pair: CustomPairs, cutoff: float, rows: _F64) -> tuple[float, float]:
    """Energy and virial of pairs beyond the cutoff, times the volume: 2 pi sum of E r^2.

    As in OpenMM the mean energy counts each pair of atoms once and, without groups, each atom with
    itself; in the virial, the jump at the cutoff is part of it, as for Lennard-Jones interactions.
    """
    kinds, numbers = np.unique(rows, axis=0, return_inverse=True)
    counts = _pair_counts(pair, numbers.reshape(-1), len(kinds))
    root = Expression(pair.energy).root
    names = list(pair.by_atom)
    energy = virial = 0.0
    for i, j in zip(*np.triu_indices(len(kinds)), strict=True):
        if counts[i, j] == 0:
            continue
        own = {f"{name}1": kinds[i, k] for k, name in enumerate(names)}
        own |= {f"{name}2": kinds[j, k] for k, name in enumerate(names)} | pair.shared

        def at(r: float, own: dict[str, float] = own) -> float:
            return float(evaluate([root], {**own, "r": r}, pair.functions)[0])

        beyond = _integral(lambda x: at(1 / x) / x**4, 0, 1 / cutoff)
        jump = cutoff**3 * at(cutoff) / 3
        if pair.switch_distance is not None:
            start, end, jump = pair.switch_distance, cutoff, 0.0

            def missing(r: float, at: Any = at, start: float = start, end: float = end) -> float:
                x = (r - start) / (end - start)
                return float(at(r) * r * r * x**3 * (10 - x * (15 - 6 * x)))

            beyond += _integral(missing, start, end)
        energy += counts[i, j] * beyond
        virial += counts[i, j] * (beyond + jump)
    atoms = len(rows)
    factor = 2 * math.pi * atoms**2 / (atoms * (atoms + 1) / 2)
    return factor * energy, factor * virial


def _pair_counts(pair: CustomPairs, kind_of_atom: Any, kinds: int) -> _F64:
    """Of each two kinds of atoms, by the lower number first, the pairs that interact."""

    def count(atoms: Any) -> _F64:
        return np.bincount(kind_of_atom[sorted(atoms)], minlength=kinds).astype(np.float64)

    if not pair.groups:
        every = count(range(len(kind_of_atom)))
        return np.outer(every, every) - np.diag(every * (every - 1) / 2)
    found = np.zeros((kinds, kinds))
    for first, second in pair.groups:
        both = count(np.intersect1d(first, second))  # of which each pair would be counted twice
        one_way = np.outer(count(first), count(second))
        ways = one_way + one_way.T - np.outer(both, both)
        found += ways - np.diag((np.diag(ways) + both) / 2)
    return found


def _integral(function: Callable[[float], float], start: float, end: float) -> float:
    """The integral; InputError if it does not converge."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", scipy.integrate.IntegrationWarning)
        try:
            found = float(scipy.integrate.quad(function, start, end, epsrel=1e-9)[0])
        except (scipy.integrate.IntegrationWarning, ZeroDivisionError):
            found = math.nan
    if not math.isfinite(found):
        raise InputError(
            f"{PAIRS}: its long-range correction does not converge: the energy must go to 0 faster "
            "than 1/r^3, or the force have no such correction (setUseLongRangeCorrection(False))"
        )
    return found
