# SPDX-License-Identifier: Apache-2.0
"""Tabulated pair potentials as CustomNonbondedForces of OpenMM have them, read and written.

One function of the distance for all pairs, `f(r)`, is a Continuous1DFunction.  Functions by pair of
types are rows of a Continuous2DFunction, `f(row, r); row=g(type1, type2)`: along a row its bicubic
spline is the natural cubic spline that the form "tabulated" has.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError, QuiltError

_F64 = npt.NDArray[np.float64]
ONE = re.compile(r"(\w+)\(r\);?")
_BY_ROW = re.compile(r"(\w+)\((\w+),r\);(\w+)=(\w+)\((\w+)1,(\w+)2\);?")
EXPRESSION = "energy(row, r); row=row_of(type1, type2)"


def is_tabulated(expression: str) -> bool:
    """Whether an expression without blanks is spelt as one of these."""
    return bool(ONE.fullmatch(expression) or _BY_ROW.fullmatch(expression))


def read_tables(force: Any, expression: str) -> list[_F64] | None:
    """The tables of the form: first and last distance, and the energies between them.

    Parameters
    ----------
    force:
        The CustomNonbondedForce.
    expression:
        Its energy without blanks.

    Returns
    -------
    (T, T) arrays, or None where the functions are not those that the expression calls for.

    Raises
    ------
    InputError
        Where a function is periodic, or rows are asked for that it does not have.
    """
    functions = {
        force.getTabulatedFunctionName(k): force.getTabulatedFunction(k)
        for k in range(force.getNumTabulatedFunctions())
    }
    kinds = {name: type(function).__name__ for name, function in functions.items()}
    one, by_row = ONE.fullmatch(expression), _BY_ROW.fullmatch(expression)
    if one and kinds.get(one[1]) == "Continuous1DFunction":
        function = functions[one[1]]
        _refuse_periodic(function, one[1])
        values, *ends = function.getFunctionParameters()
        return _as_tables(np.array(values)[None], np.zeros((1, 1), int), ends)
    if not by_row or by_row[2] != by_row[3] or by_row[5] != by_row[6]:
        return None
    if (kinds.get(by_row[1]), kinds.get(by_row[4])) != (
        "Continuous2DFunction",
        "Discrete2DFunction",
    ):
        return None
    function = functions[by_row[1]]
    _refuse_periodic(function, by_row[1])
    rows, points, values, low, high, *ends = function.getFunctionParameters()
    width, height, which = functions[by_row[4]].getFunctionParameters()
    chosen = (np.array(which).reshape(height, width) - low) * (rows - 1) / (high - low)
    numbers = np.round(chosen).astype(int)
    if (np.abs(chosen - numbers) > 1e-9).any() or not (0 <= numbers.min() <= numbers.max() < rows):
        raise InputError(
            f"CustomNonbondedForce: {by_row[4]} names places between or beyond the rows of "
            f"{by_row[1]}, which lie at {rows} equal distances from {low:g} to {high:g}"
        )
    return _as_tables(np.array(values).reshape(points, rows).T, numbers, ends)


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
        Where ranges differ between pairs of types.
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
