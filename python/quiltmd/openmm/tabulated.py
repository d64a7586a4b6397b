# SPDX-License-Identifier: Apache-2.0
"""Tabulated pair potentials as CustomNonbondedForces of OpenMM have them, read and written.

One function of the distance for all pairs, `f(r)`, is a Continuous1DFunction.  Functions by pair of
types are rows of a Continuous2DFunction, `f(row, r); row=g(type1, type2)`: along a row its bicubic
spline is the natural cubic spline that the form "tabulated" has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..description.expressions import Expression, Node
from ..description.tabulated import Tabulated
from ..errors import InputError, QuiltError

_F64 = npt.NDArray[np.float64]
EXPRESSION = "energy(row, r); row=row_of(type1, type2)"


def functions_of(force: Any) -> dict[str, Tabulated]:
    """The tabulated functions of a custom force by name, of a class that may have some."""
    count = getattr(force, "getNumTabulatedFunctions", lambda: 0)()
    return {
        force.getTabulatedFunctionName(k): _as_ours(force.getTabulatedFunction(k))
        for k in range(count)
    }


def _as_ours(function: Any) -> Tabulated:
    """OpenMM's values have the first argument along the last axis."""
    kind, given = type(function).__name__, function.getFunctionParameters()
    axes = int(kind.removesuffix("DFunction")[-1])
    if kind == "Discrete1DFunction":  # whose only parameter has no list around it
        return Tabulated(np.array(given, np.float64))
    sizes = given[: axes if axes > 1 else 0]
    values, *ends = given[len(sizes) :]
    table = np.array(values, np.float64)
    if sizes:
        table = table.reshape(sizes[::-1]).T
    if kind.startswith("Discrete"):
        return Tabulated(table)
    return Tabulated(table, list(zip(ends[::2], ends[1::2], strict=True)), function.getPeriodic())


def add_functions_of(openmm: Any, force: Any, functions: Mapping[str, Tabulated]) -> None:
    """Adds tabulated functions to a custom force of OpenMM."""
    for name, function in functions.items():
        values = np.asarray(function.values)
        kind = "Discrete" if function.ranges is None else "Continuous"
        sizes = values.shape if values.ndim > 1 else ()
        ends = [end for ends in function.ranges or () for end in ends]
        periodic = [] if function.ranges is None else [function.periodic]
        made = getattr(openmm, f"{kind}{values.ndim}DFunction")
        force.addTabulatedFunction(name, made(*sizes, values.T.ravel().tolist(), *ends, *periodic))


def table_of(
    expression: Expression, functions: Mapping[str, Any]
) -> tuple[str | None, Node | None]:
    """The tabulated function that an energy is, and the row of it; None where it is none.

    Parameters
    ----------
    expression:
        The energy of a pair.
    functions:
        The tabulated functions of the force by name.
    """
    name, places = expression.root.value, expression.root.arguments or ()
    if name not in functions or not places or places[-1].value != "r":
        return None, None
    if len(places) == 1:
        return str(name), None
    if len(places) == 2 and "r" not in places[0].names():
        return str(name), places[0]
    return None, None


def read_tables(name: str, function: Any, rows: _F64) -> list[_F64] | None:
    """The tables of the form: first and last distance, and the energies between them.

    Parameters
    ----------
    name:
        Name of the function.
    function:
        A Continuous1DFunction, or a Continuous2DFunction whose first argument is a row.
    rows:
        (T, T) the first argument of each pair of types.

    Returns
    -------
    (T, T) arrays, or None where the function is of another class.

    Raises
    ------
    InputError
        If the function is periodic, or rows are asked for that it does not have.
    """
    if type(function).__name__ == "Continuous1DFunction":
        _refuse_periodic(function, name)
        values, *ends = function.getFunctionParameters()
        return _as_tables(np.array(values)[None], np.zeros(rows.shape, int), ends)
    if type(function).__name__ != "Continuous2DFunction":
        return None
    _refuse_periodic(function, name)
    count, points, values, low, high, *ends = function.getFunctionParameters()
    chosen = (rows - low) * (count - 1) / (high - low)
    numbers = np.round(np.nan_to_num(chosen, nan=-1)).astype(int)
    between = ~(np.abs(chosen - numbers) <= 1e-9)
    if between.any() or not (0 <= numbers.min() <= numbers.max() < count):
        raise InputError(
            f"CustomNonbondedForce: pairs of types have places between or beyond the rows of "
            f"{name}, which lie at {count} equal distances from {low:g} to {high:g}"
        )
    return _as_tables(np.array(values).reshape(points, count).T, numbers, ends)


def _refuse_periodic(function: Any, name: str) -> None:
    if function.getPeriodic():
        raise InputError(f"CustomNonbondedForce: the function {name} is periodic")


def _as_tables(energies: _F64, rows: npt.NDArray[Any], ends: list[float]) -> list[_F64]:
    """The form's tables, from the energies of each row and the row of each pair of types."""
    return [*(np.full(rows.shape, end) for end in ends), *np.moveaxis(energies[rows], 2, 0)]


def add_functions(openmm: Any, force: Any, tables: list[_F64]) -> None:
    """Adds the functions that `EXPRESSION` calls for.

    Parameters
    ----------
    openmm:
        The module.
    force:
        A CustomNonbondedForce with `EXPRESSION`.
    tables:
        `System.pair_tables` of the form "tabulated".

    Raises
    ------
    QuiltError
        If ranges differ between pairs of types.
    """
    first, last, *energies = tables
    if (first != first[0, 0]).any() or (last != last[0, 0]).any():
        raise QuiltError(
            "tables that begin or end at other distances for other pairs of types cannot be "
            "written for OpenMM"
        )
    types = len(first)
    values = np.stack(energies).reshape(len(energies), types * types)
    rows, row_of = np.unique(values, axis=1, return_inverse=True)
    if rows.shape[1] == 1:  # OpenMM wants two
        rows = np.repeat(rows, 2, axis=1)
    count = rows.shape[1]
    ends = (0.0, count - 1.0, float(first[0, 0]), float(last[0, 0]))
    force.addTabulatedFunction(
        "energy", openmm.Continuous2DFunction(count, len(energies), rows.ravel().tolist(), *ends)
    )
    force.addTabulatedFunction(
        "row_of", openmm.Discrete2DFunction(types, types, row_of.ravel().astype(float).tolist())
    )
