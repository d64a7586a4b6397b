# SPDX-License-Identifier: Apache-2.0
"""Energy expressions of OpenMM: parsed, and evaluated for arrays of values.

The language is that of OpenMM's custom forces: operators + - * / ^, functions, and definitions of
intermediate values after semicolons.  Numbers have more digits than double precision where NumPy
has such a type, so that what is derived from several values is that number in double precision.

Source: OpenMM User Guide, "Writing Custom Expressions".
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

Array = npt.NDArray[Any]  # of Real
Real = np.longdouble
PI = 4 * np.arctan(Real(1))
_CLOSE_TO_PI = 3e-6  # 3.14159 is meant to be pi
# Points at which expressions are compared, logarithms of variables there, relative difference.
_COMPARED, _RANGE, _CLOSE = 20_000, (math.log(0.01), math.log(5)), 1e-9


class ExpressionError(ValueError):
    """A text is no expression, or an expression has parts that are not known."""


_TOKEN = re.compile(
    r"\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|(.))"
)
_PRECEDENCE = {"+": 0, "-": 0, "*": 1, "/": 1, "^": 3}
_NEGATION = 2  # -a^b is -(a^b), -a*b is (-a)*b


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


@dataclass(frozen=True, eq=False)
class Node:
    """A part of an expression: a number, a name without arguments, or a function of others."""

    value: float | str
    arguments: tuple[Node, ...] | None = None

    def names(self) -> set[str]:
        """The variables in it."""
        if self.arguments is None:
            return {self.value} if isinstance(self.value, str) else set()
        return set().union(*(one.names() for one in self.arguments))

    def walk(self) -> list[Node]:
        """The part itself and all parts of it."""
        return [self, *(part for one in self.arguments or () for part in one.walk())]


class Expression:
    """An expression with its definitions put in.

    Attributes
    ----------
    root:
        The whole.
    definitions:
        The intermediate values by name.

    Raises
    ------
    ExpressionError
        If the text is no expression.
    """

    def __init__(self, text: str) -> None:
        head, *rest = [part for part in text.split(";") if part.strip()] or [""]
        self.definitions: dict[str, Node] = {}
        for part in reversed(rest):  # a definition may use those that follow it
            name, mark, body = part.partition("=")
            if not mark or not re.fullmatch(r"\s*[A-Za-z_]\w*\s*", name):
                raise ExpressionError(f"'{part.strip()}' defines nothing")
            self.definitions[name.strip()] = _Parser(body, self.definitions).whole()
        self.root = _Parser(head, self.definitions).whole()

    def names(self) -> set[str]:
        """The variables in it."""
        return self.root.names()

    def constants(self, variables: set[str]) -> list[Node]:
        """Parts that do not depend on these variables: names, numbers, definitions, largest parts.

        A minus sign before a part is left out. What a sum has besides variables is a part, too.
        """
        found = [node for node in self.definitions.values() if not node.names() & variables]
        pending = [self.root]
        while pending:
            node = pending.pop()
            if not node.names() & variables:
                found += [_without_sign(node), *(n for n in node.walk() if n.arguments is None)]
            else:
                found += _offset(node, variables) + _scaled_offset(node, variables)
                pending += node.arguments or ()
        return found


def _offset(node: Node, variables: set[str]) -> list[Node]:
    """Minus what is added to variables in a sum: r0 + d of (r - r0) - d."""
    if node.value not in ("+", "-") or not node.arguments:
        return []
    first, second = node.arguments
    if second.names() & variables and not first.names() & variables:  # of r0 - r
        return [first if node.value == "-" else Node("negate", (first,))]
    inner = _offset(first, variables)
    if second.names() & variables or (not inner and first.value in ("+", "-")):
        return []
    if not inner:
        return [second if node.value == "-" else Node("negate", (second,))]
    return [Node("+" if node.value == "-" else "-", (inner[0], second))]


def _scaled_offset(node: Node, variables: set[str]) -> list[Node]:
    """The offset of a sum that has a factor: n*p of n*(theta-p)."""
    if node.value != "*" or not node.arguments:
        return []
    for factor, other in (node.arguments, node.arguments[::-1]):
        if not factor.names() & variables:
            return [Node("*", (factor, offset)) for offset in _offset(other, variables)]
    return []


def _without_sign(node: Node) -> Node:
    """The part without minus signs before it, those of first factors included."""
    if node.value == "negate" and node.arguments:
        return _without_sign(node.arguments[0])
    if node.value in ("*", "/") and node.arguments:
        first = _without_sign(node.arguments[0])
        return node if first is node.arguments[0] else Node(node.value, (first, node.arguments[1]))
    return node


class _Parser:
    def __init__(self, text: str, definitions: Mapping[str, Node]) -> None:
        self._definitions = definitions
        self._tokens = [found.groups() for found in _TOKEN.finditer(text.strip())]
        self._at = 0

    def whole(self) -> Node:
        node = self._sum(0)
        if self._at < len(self._tokens):
            raise ExpressionError(f"unexpected '{self._next()[2]}'")
        return node

    def _next(self) -> tuple[str | None, ...]:
        if self._at >= len(self._tokens):
            raise ExpressionError("the expression ends early")
        self._at += 1
        return self._tokens[self._at - 1]

    def _peek(self) -> str | None:
        return self._tokens[self._at][2] if self._at < len(self._tokens) else None

    def _expect(self, mark: str) -> None:
        if self._next()[2] != mark:
            raise ExpressionError(f"'{mark}' is missing")

    def _sum(self, least: int) -> Node:
        """Operands joined by operators that bind at least so closely."""
        node = self._operand()
        while _PRECEDENCE.get(mark := self._peek() or "", -1) >= least:
            self._at += 1
            right = self._sum(_PRECEDENCE[mark] + (mark != "^"))
            node = Node(mark, (node, right))
        return node

    def _operand(self) -> Node:
        number, name, mark = self._next()
        if number is not None:
            value = float(number)
            return Node(float(PI) if abs(value - math.pi) < _CLOSE_TO_PI else value)
        if name is not None:
            return self._call(name) if self._peek() == "(" else self._variable(name)
        if mark == "-":
            return Node("negate", (self._sum(_NEGATION),))
        if mark != "(":
            raise ExpressionError(f"unexpected '{mark}'")
        node = self._sum(0)
        self._expect(")")
        return node

    def _variable(self, name: str) -> Node:
        return self._definitions.get(name, Node(name))

    def _call(self, name: str) -> Node:
        self._expect("(")
        arguments = [self._sum(0)]
        while self._peek() == ",":
            self._at += 1
            arguments.append(self._sum(0))
        self._expect(")")
        return Node(name, tuple(arguments))


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
            return np.asarray(PI if node.value == float(PI) else Real(node.value))
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


def are_equal(
    first: str, second: str, functions: Mapping[str, Callable[..., Array]] | None = None
) -> bool:
    """Whether two expressions have the same value wherever one is looked for.

    Parameters
    ----------
    first, second:
        Their texts.
    functions:
        Functions that they may call besides OpenMM's own.
    """
    try:
        nodes = [Expression(text).root for text in (first, second)]
        names = sorted(nodes[0].names() | nodes[1].names())
        rng = np.random.default_rng(len(names))
        values = {name: np.exp(rng.uniform(*_RANGE, _COMPARED)) for name in names}
        one, other = (np.broadcast_to(v, _COMPARED) for v in evaluate(nodes, values, functions))
    except ExpressionError:
        return False
    close = np.abs(one - other) <= _CLOSE * (np.abs(one) + np.abs(other))
    return bool(close.all())
