# SPDX-License-Identifier: Apache-2.0
"""Tabulated functions of expressions, as OpenMM has them.

A continuous function is a natural or periodic cubic spline, in several dimensions the product of
those along each axis.  The core knows one operation for it, the number at a place of a table; the
rest is made of other operations, so that derivatives follow from theirs.

Source: OpenMM User Guide, "Tabulated Functions"; SplineFitter of OpenMM for the kinds of splines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from ..errors import InputError
from .checks import frozen, numbers
from .expression_graph import Graph, Rule

F64 = npt.NDArray[np.float64]
_MOST_AXES = 3
_TERMS = 4  # of a cubic polynomial


def rules_of(functions: Mapping[str, Tabulated]) -> dict[str, tuple[int, Rule]]:
    """Functions for graphs, by name; InputError if one is not tabulated."""
    for name, function in functions.items():
        if not isinstance(function, Tabulated):
            raise InputError(f"the function {name!r} must be a Tabulated, not {function!r}")
    return {name: function.rule for name, function in functions.items()}


@dataclass(frozen=True, eq=False)
class Tabulated:
    """A function of one to three variables, given by values on a grid.

    Attributes
    ----------
    values:
        (n,), (n, m) or (n, m, l) values, those of the first argument along the first axis.
    ranges:
        The first and the last value of each argument: between them, the function is a cubic spline,
        and beyond them 0.  None: the arguments are whole numbers, counted from 0, and the
        derivative is 0.
    periodic:
        Whether the function is continued periodically; its last values must be equal to the first.

    Raises
    ------
    InputError
        If the values are not finite or too few, or the ranges do not fit them.
    """

    values: npt.ArrayLike
    ranges: Sequence[tuple[float, float]] | None = None
    periodic: bool = False

    def __post_init__(self) -> None:
        given = numbers("the values of a tabulated function", self.values, "numbers")
        values = frozen(given.astype(np.float64))
        object.__setattr__(self, "values", values)
        if not 1 <= values.ndim <= _MOST_AXES or not np.isfinite(values).all() or not values.size:
            raise InputError("a tabulated function needs finite values of one to three arguments")
        if self.ranges is None:
            if self.periodic:
                raise InputError("a tabulated function of whole numbers cannot be periodic")
            return
        ranges = tuple((float(low), float(high)) for low, high in self.ranges)
        object.__setattr__(self, "ranges", ranges)
        least = 3 if self.periodic else 2
        if len(ranges) != values.ndim or any(not low < high for low, high in ranges):
            raise InputError(
                f"a tabulated function of {values.ndim} arguments needs as many ranges, each of "
                "which ends above its beginning"
            )
        if min(values.shape) < least:
            raise InputError(f"a spline needs at least {least} values along each axis")
        for axis in range(values.ndim if self.periodic else 0):
            if not np.array_equal(values.take(0, axis), values.take(-1, axis)):
                raise InputError(
                    "the last values of a periodic tabulated function must be equal to the first"
                )

    @property
    def arguments(self) -> int:
        """Number of arguments."""
        return np.ndim(self.values)

    @cached_property
    def numbers(self) -> F64:
        """The table of the core: values, or the coefficients of each cell, of the unit cell."""
        values = np.asarray(self.values)
        if self.ranges is None:
            return values.ravel()
        for axis, size in enumerate(values.shape):
            kind = "periodic" if self.periodic else "natural"
            made = scipy.interpolate.CubicSpline(
                np.arange(size), np.moveaxis(values, axis, 0), bc_type=kind
            )
            # Coefficients from the highest power on; the new axis of cells and that of powers.
            values = np.moveaxis(np.moveaxis(made.c[::-1], 0, -1), 0, axis)
        return np.ascontiguousarray(values).ravel()

    @property
    def rule(self) -> tuple[int, Rule]:
        """The function for graphs: number of arguments, and what makes its part."""
        return self.arguments, self._part

    def _part(self, graph: Graph, *arguments: int) -> int:
        table = graph.table(self.numbers)
        if self.ranges is None:
            sizes = np.shape(self.values)
            half = graph.number(0.5)
            places = [graph.apply("floor", graph.apply("+", one, half)) for one in arguments]
            place, inside = self._place(graph, list(zip(places, sizes, strict=True)))
            there = graph.apply("+", graph.number(table), place)
            return graph.apply("lookup", graph.apply("select", inside, there, graph.number(-1)))
        cells, fractions, tests = [], [], []
        for x, size, (low, high) in zip(arguments, np.shape(self.values), self.ranges, strict=True):
            count = size - 1
            scale, start = graph.number(count / (high - low)), graph.number(low)
            at = graph.apply("*", graph.apply("-", x, start), scale)
            if self.periodic:
                turns = graph.apply("floor", graph.apply("/", at, graph.number(count)))
                at = graph.apply("-", at, graph.apply("*", turns, graph.number(count)))
            cell = graph.apply("max", graph.apply("floor", at), graph.number(0))
            cell = graph.apply("min", cell, graph.number(count - 1))
            cells.append((cell, count))
            fractions.append(graph.apply("-", at, cell))
            beyond = graph.apply("-", graph.number(count), at)
            tests += [graph.apply("step", at), graph.apply("step", beyond)]
        place, _ = self._place(graph, cells)
        width = graph.number(_TERMS**self.arguments)
        first = graph.apply("+", graph.number(table), graph.apply("*", place, width))
        value = self._polynomial(graph, first, fractions)
        if self.periodic:
            return value
        inside = reduce(lambda a, b: graph.apply("*", a, b), tests)
        return graph.apply("select", inside, value, graph.number(0))

    @staticmethod
    def _place(graph: Graph, places: Sequence[tuple[int, int]]) -> tuple[int, int]:
        """The place in a table with these places and sizes along axes, and whether it exists."""
        found, inside = graph.number(0), graph.number(1)
        for place, size in places:
            found = graph.apply("+", graph.apply("*", found, graph.number(size)), place)
            most = graph.apply("-", graph.number(size - 1), place)
            for test in (place, most):
                inside = graph.apply("*", inside, graph.apply("step", test))
        return found, inside

    def _polynomial(self, graph: Graph, first: int, fractions: Sequence[int]) -> int:
        """The polynomial of a cell, by Horner's rule along each axis, the last one first."""
        terms = [
            graph.apply("lookup", graph.apply("+", first, graph.number(k)))
            for k in range(_TERMS ** len(fractions))
        ]
        for fraction in reversed(fractions):
            rows = [terms[k : k + _TERMS] for k in range(0, len(terms), _TERMS)]
            terms = [
                reduce(
                    lambda sum_, term: graph.apply("+", graph.apply("*", sum_, fraction), term),
                    reversed(row),
                )
                for row in rows
            ]
        return terms[0]

    def __call__(self, *arguments: npt.ArrayLike) -> npt.NDArray[Any]:
        """Its values at arrays of arguments; nan where whole numbers are beyond the table."""
        given = np.broadcast_arrays(*(np.asarray(one, np.float64) for one in arguments))
        shape = np.shape(self.values)
        if self.ranges is None:
            places = [np.floor(one + 0.5) for one in given]
            inside = np.all(
                [(p >= 0) & (p < n) for p, n in zip(places, shape, strict=True)], axis=0
            )
            chosen = tuple(np.where(inside, p, 0).astype(int) for p in places)
            return np.where(inside, np.asarray(self.values)[chosen], np.nan)
        cells, fractions = [], []
        inside = np.full(given[0].shape, True)
        for x, size, (low, high) in zip(given, shape, self.ranges, strict=True):
            at = (x - low) * ((size - 1) / (high - low))
            if self.periodic:
                at = at - np.floor(at / (size - 1)) * (size - 1)
            inside &= (at >= 0) & (at <= size - 1)
            cell = np.clip(np.floor(np.nan_to_num(at)), 0, size - 2).astype(int)
            cells.append(cell)
            fractions.append(at - cell)
        counts = tuple(size - 1 for size in shape)
        table = self.numbers.reshape(counts + (_TERMS,) * len(counts))[tuple(cells)]
        value = sum(
            table[(..., *powers)]
            * reduce(np.multiply, [u**k for u, k in zip(fractions, powers, strict=True)])
            for powers in product(range(_TERMS), repeat=len(counts))
        )
        return np.where(inside | np.isnan(value), value, 0.0)
