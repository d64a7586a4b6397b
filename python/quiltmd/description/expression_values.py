# SPDX-License-Identifier: Apache-2.0
"""Energy expressions of OpenMM, evaluated for arrays of values.

Numbers have more digits than double precision where NumPy has such a type, so that what is derived
from several values is that number in double precision.

Source: OpenMM User Guide, "Writing Custom Expressions".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from .expressions import ExpressionError, Node

Array = npt.NDArray[Any]  # of Real
Real = np.longdouble
PI = 4 * np.arctan(Real(1))
_CLOSE_TO_PI = 3e-6  # 3.14159 is meant to be pi


def _periodic_distance(*places: Array) -> Array:
    """Distance of points that are nearest images of each other."""
    pairs = zip(places[:3], places[3:], strict=True)
    distance: Array = np.sqrt(sum((a - b) ** 2 for a, b in pairs))
    return distance


def _select(condition: Array, yes: Array, no: Array) -> Array:
    return np.where(condition != 0, yes, no)


_FUNCTIONS: dict[str, Callable[..., Array]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "^": np.power,
    "negate": np.negative,
    **{name: getattr(np, name) for name in ("sqrt", "exp", "log", "sin", "cos", "tan")},
    **{name: getattr(np, name) for name in ("sinh", "cosh", "tanh", "floor", "ceil")},
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan")},
    "atan2": np.arctan2,
    "abs": np.abs,
    "min": np.minimum,
    "max": np.maximum,
    "sec": lambda x: 1 / np.cos(x),
    "csc": lambda x: 1 / np.sin(x),
    "cot": lambda x: 1 / np.tan(x),
    "erf": lambda x: scipy.special.erf(np.asarray(x, np.float64)),
    "erfc": lambda x: scipy.special.erfc(np.asarray(x, np.float64)),
    "step": lambda x: np.where(x >= 0, Real(1), Real(0)),
    "delta": lambda x: np.where(x == 0, Real(1), Real(0)),
    "square": lambda x: x * x,
    "cube": lambda x: x * x * x,
    "recip": lambda x: 1 / x,
    "select": _select,
    "periodicdistance": _periodic_distance,
}


def evaluate(
    nodes: list[Node],
    values: Mapping[str, npt.ArrayLike],
    functions: Mapping[str, Callable[..., Array]] | None = None,
) -> list[Array]:
    """The values of parts of an expression.

    Parameters
    ----------
    nodes:
        The parts.
    values:
        Values of the variables: arrays that can be broadcast together.
    functions:
        Further functions of arrays, tabulated ones for instance.

    Raises
    ------
    ExpressionError
        If a variable or function is unknown, or has another number of arguments.
    """
    known = {**_FUNCTIONS, **(functions or {})}
    found: dict[Node, Array] = {}

    def value(node: Node) -> Array:
        if node not in found:
            found[node] = fresh(node)
        return found[node]

    def fresh(node: Node) -> Array:
        if isinstance(node.value, float):
            close = abs(node.value - math.pi) < _CLOSE_TO_PI
            return np.asarray(PI if close else Real(node.value))
        if node.arguments is None:
            if node.value not in values:
                raise ExpressionError(f"'{node.value}' is not known")
            return np.asarray(values[node.value], dtype=Real)
        if node.value not in known:
            raise ExpressionError(f"the function '{node.value}' is not known")
        try:
            result: Array = known[node.value](*map(value, node.arguments))
        except TypeError:
            raise ExpressionError(f"'{node.value}' has other arguments") from None
        return result

    with np.errstate(all="ignore"):
        return [value(node) for node in nodes]
