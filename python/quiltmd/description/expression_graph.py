# SPDX-License-Identifier: Apache-2.0
"""Expressions as graphs of operations, in which equal parts are one, and their derivatives.

The operations are those of the core (src/computes/expressions/operation_table.h); further functions
of OpenMM's language are made of them.  The derivatives of step, delta, floor and ceil are 0, those
of abs, min, max and select those of the branch, as in OpenMM.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .expressions import ExpressionError, Node

_MOST_MULTIPLIED = 64  # larger whole powers are those of a general power


@dataclass(frozen=True)
class Operation:
    """A part of a graph.

    Attributes
    ----------
    name:
        Of the operation; "" for what is given.
    arguments:
        Numbers of parts.
    given:
        A number, or the name of a value.
    """

    name: str
    arguments: tuple[int, ...] = ()
    given: float | str = ""


Partials = Callable[[], list[tuple[int, int]]]


class Graph:
    """Parts by number; the arguments of a part have lower numbers."""

    def __init__(self) -> None:
        self.parts: list[Operation] = []
        self.images: list[tuple[int, int, int]] = []
        self.tables: list[NDArray[np.float64]] = []
        self._numbers: dict[Operation, int] = {}
        self._partials: dict[int, Partials] = {}  # of parts that are more than their operation

    def number(self, value: float) -> int:
        """A constant."""
        return self._part(Operation("", given=float(value)))

    def name(self, name: str) -> int:
        """A value that is given by name."""
        return self._part(Operation("", given=name))

    def apply(self, name: str, *arguments: int) -> int:
        """An operation; simple ones with 0 and 1, and of constants alone, become other parts."""
        found = _simpler(self, name, arguments)
        return self._part(Operation(name, arguments)) if found is None else found

    def value(self, part: int) -> float | None:
        """The value of a constant, else None."""
        given = self.parts[part].given
        return given if isinstance(given, float) else None

    def power(self, base: int, exponent: float) -> int:
        """A constant power, by multiplication if the exponent is a small whole number."""
        if exponent == 0.5:
            return self.apply("sqrt", base)
        if exponent != round(exponent) or not 0 < abs(exponent) <= _MOST_MULTIPLIED:
            return self.apply("^", base, self.number(exponent))
        result, square, rest = -1, base, abs(int(exponent))
        while rest:
            if rest & 1:
                result = square if result < 0 else self.apply("*", result, square)
            rest >>= 1
            square = self.apply("*", square, square) if rest else square
        if exponent < 0:
            result = self.apply("/", self.number(1), result)
        if result != base:
            self._partials[result] = lambda: [
                (base, self.apply("*", self.number(exponent), self.power(base, exponent - 1)))
            ]
        return result

    def periodic_distance(self, *places: int) -> int:
        """The distance of nearest images; its gradient is 0 where it is 0."""
        between = [self.apply("-", a, b) for a, b in zip(places[:3], places[3:], strict=True)]
        image = tuple(self._part(Operation(f"image_{k}", tuple(between))) for k in "xyz")
        self.images.append((image[0], image[1], image[2]))
        x, y, z = (self.apply("*", one, one) for one in image)
        length = self.apply("sqrt", self.apply("+", self.apply("+", x, y), z))
        self._partials[length] = lambda: [
            (one, self.apply("direction", one, length)) for one in image
        ]
        return length

    def table(self, numbers: NDArray[np.float64]) -> int:
        """The place of the first number of a table for "lookup"; each table is kept once."""
        first = 0
        for table in self.tables:
            if table is numbers:
                return first
            first += len(table)
        self.tables.append(numbers)
        return first

    def derivative(self, of: int, *by: int) -> int:
        """The derivative of a part by another, or by several that change by the same amount."""
        slopes = dict.fromkeys(by, self.number(1))
        for part in self.reached([of]):
            if part <= min(by) or part in slopes:
                continue
            total = self.number(0)
            for argument, partial in self._slopes_of(part, slopes):
                total = self.apply("+", total, self.apply("*", partial, slopes[argument]))
            if self.parts[part].name == "select":
                test, yes, no = self.parts[part].arguments
                zero = self.number(0)
                total = self.apply("select", test, slopes.get(yes, zero), slopes.get(no, zero))
            if self.value(total) != 0:
                slopes[part] = total
        return slopes.get(of, self.number(0))

    def reached(self, ends: Iterable[int]) -> list[int]:
        """The parts that these need, in ascending order."""
        found, pending = set(ends), list(ends)
        while pending:
            for argument in self.parts[pending.pop()].arguments:
                if argument not in found:
                    found.add(argument)
                    pending.append(argument)
        return sorted(found)

    def _slopes_of(self, part: int, slopes: Mapping[int, int]) -> list[tuple[int, int]]:
        """Arguments of a part that change, and the derivatives of the part by them."""
        operation = self.parts[part]
        if part in self._partials:
            return [one for one in self._partials[part]() if one[0] in slopes]
        rules = _PARTIALS.get(operation.name, ())
        return [
            (argument, rule(self, part, *operation.arguments))
            for argument, rule in zip(operation.arguments, rules, strict=False)
            if argument in slopes
        ]

    def _part(self, operation: Operation) -> int:
        if operation not in self._numbers:
            self._numbers[operation] = len(self.parts)
            self.parts.append(operation)
        return self._numbers[operation]


def _simpler(graph: Graph, name: str, arguments: tuple[int, ...]) -> int | None:
    """The part that an operation with a 0 or a 1, or of constants, is; None if it is none."""
    first, second = (graph.value(one) for one in (*arguments, *arguments)[:2])
    if name == "negate" and first is not None:
        return graph.number(-first)
    if name == "select" and arguments[1] == arguments[2]:
        return arguments[1]
    if name not in _ARITHMETIC:
        return None
    if first is not None and second is not None and not (name == "/" and second == 0):
        return graph.number(_ARITHMETIC[name](first, second))
    if (name in "*/" and first == 0) or (name == "*" and second == 0):
        return graph.number(0)
    if (name in "+-" and second == 0) or (name in "*/" and second == 1):
        return arguments[0]
    if (name == "+" and first == 0) or (name == "*" and first == 1):
        return arguments[1]
    return graph.apply("negate", arguments[1]) if name == "-" and first == 0 else None


_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}

# The derivatives of operations by each argument, of the graph, the part and its arguments.
Rule = Callable[..., int]


def _ratio(graph: Graph, part: int, other: int) -> int:
    return graph.apply("/", part, other)


def _inverse_root(sign: float) -> Rule:
    """Sign / sqrt(1 - x^2)."""

    def rule(graph: Graph, _: int, x: int) -> int:
        below = graph.apply("sqrt", graph.apply("-", graph.number(1), graph.power(x, 2)))
        return graph.apply("/", graph.number(sign), below)

    return rule


def _gaussian(sign: float) -> Rule:
    """Sign 2 / sqrt(pi) exp(-x^2)."""

    def rule(graph: Graph, _: int, x: int) -> int:
        bell = graph.apply("exp", graph.apply("negate", graph.power(x, 2)))
        return graph.apply("*", graph.number(sign * 2 / math.sqrt(math.pi)), bell)

    return rule


def _branch(sign: float, chosen: tuple[int, int]) -> Rule:
    """One of two numbers: the first where sign (b - a) is not negative."""

    def rule(graph: Graph, _: int, a: int, b: int) -> int:
        ordered = (a, b) if sign < 0 else (b, a)
        test = graph.apply("step", graph.apply("-", *ordered))
        return graph.apply("select", test, *map(graph.number, chosen))

    return rule


def _across(sign: float) -> Rule:
    """Of atan2(y, x): x / (x^2 + y^2) and -y / (x^2 + y^2)."""

    def rule(graph: Graph, _: int, y: int, x: int) -> int:
        squared = graph.apply("+", graph.power(x, 2), graph.power(y, 2))
        other = x if sign > 0 else graph.apply("negate", y)
        return graph.apply("/", other, squared)

    return rule


def _sign(graph: Graph, _: int, x: int) -> int:
    return graph.apply("select", graph.apply("step", x), graph.number(1), graph.number(-1))


def _one_plus_square(graph: Graph, x: int, sign: float) -> int:
    return graph.apply(
        "+", graph.number(1), graph.apply("*", graph.number(sign), graph.power(x, 2))
    )


_PARTIALS: dict[str, tuple[Rule, ...]] = {
    "+": (lambda g, p, a, b: g.number(1), lambda g, p, a, b: g.number(1)),
    "-": (lambda g, p, a, b: g.number(1), lambda g, p, a, b: g.number(-1)),
    "*": (lambda g, p, a, b: b, lambda g, p, a, b: a),
    "/": (
        lambda g, p, a, b: g.apply("/", g.number(1), b),
        lambda g, p, a, b: g.apply("negate", _ratio(g, p, b)),
    ),
    "^": (
        lambda g, p, a, b: g.apply("*", b, g.apply("^", a, g.apply("-", b, g.number(1)))),
        lambda g, p, a, b: g.apply("*", p, g.apply("log", a)),
    ),
    "atan2": (_across(1), _across(-1)),
    "min": (_branch(1, (1, 0)), _branch(1, (0, 1))),
    "max": (_branch(-1, (1, 0)), _branch(-1, (0, 1))),
    "negate": (lambda g, p, a: g.number(-1),),
    "sqrt": (lambda g, p, a: g.apply("/", g.number(0.5), p),),
    "exp": (lambda g, p, a: p,),
    "log": (lambda g, p, a: g.apply("/", g.number(1), a),),
    "sin": (lambda g, p, a: g.apply("cos", a),),
    "cos": (lambda g, p, a: g.apply("negate", g.apply("sin", a)),),
    "tan": (lambda g, p, a: _one_plus_square(g, p, 1),),
    "asin": (_inverse_root(1),),
    "acos": (_inverse_root(-1),),
    "atan": (lambda g, p, a: g.apply("/", g.number(1), _one_plus_square(g, a, 1)),),
    "sinh": (lambda g, p, a: g.apply("cosh", a),),
    "cosh": (lambda g, p, a: g.apply("sinh", a),),
    "tanh": (lambda g, p, a: _one_plus_square(g, p, -1),),
    "erf": (_gaussian(1),),
    "erfc": (_gaussian(-1),),
    "abs": (_sign,),
}
for _axis, _name in enumerate(("image_x", "image_y", "image_z")):
    _PARTIALS[_name] = tuple(
        (lambda g, p, *_, own=own: g.number(own)) for own in (float(k == _axis) for k in range(3))
    )

# Operations without a rule: their derivative is 0, or that of a branch.
_ONE_ARGUMENT = ("step", "delta", "floor", "ceil")
_COUNTS = {
    **{name: len(rules) for name, rules in _PARTIALS.items() if not name.startswith("image")},
    **dict.fromkeys(_ONE_ARGUMENT, 1),
    "select": 3,
}


def _reciprocal(name: str) -> Rule:
    return lambda graph, x: graph.apply("/", graph.number(1), graph.apply(name, x))


_MADE: dict[str, tuple[int, Rule]] = {
    "sec": (1, _reciprocal("cos")),
    "csc": (1, _reciprocal("sin")),
    "cot": (1, _reciprocal("tan")),
    "square": (1, lambda graph, x: graph.power(x, 2)),
    "cube": (1, lambda graph, x: graph.power(x, 3)),
    "recip": (1, lambda graph, x: graph.apply("/", graph.number(1), x)),
}
PERIODIC_DISTANCE: dict[str, tuple[int, Rule]] = {"periodicdistance": (6, Graph.periodic_distance)}


def part_of(
    graph: Graph,
    root: Node,
    known: Mapping[str, int],
    functions: Mapping[str, tuple[int, Rule]],
    internal: Mapping[Node, int],
) -> int:
    """The part of a graph that an expression is.

    Parameters
    ----------
    graph:
        To which parts are added.
    root:
        The expression.
    known:
        Parts by the names that the expression may use.
    functions:
        Further functions: numbers of their arguments, and how the graph makes them.
    internal:
        Parts that are internal coordinates.

    Raises
    ------
    ExpressionError
        If a name or a function is not known, or a function has another number of arguments.
    """
    made = {**_MADE, **functions}
    found: dict[Node, int] = dict(internal)

    def part(node: Node) -> int:
        if node not in found:
            found[node] = fresh(node)
        return found[node]

    def fresh(node: Node) -> int:
        if isinstance(node.value, float):
            return graph.number(node.value)
        if node.arguments is None:
            if node.value not in known:
                listed = ", ".join(known) or "nothing"
                raise ExpressionError(f"'{node.value}' is not known, only {listed}")
            return known[node.value]
        count = made[node.value][0] if node.value in made else _COUNTS.get(node.value)
        if count is None:
            raise ExpressionError(f"the function '{node.value}' is not known")
        if count != len(node.arguments):
            raise ExpressionError(
                f"'{node.value}' has {len(node.arguments)} arguments, it needs {count}"
            )
        arguments = [part(one) for one in node.arguments]
        if node.value == "^" and graph.value(arguments[1]) is not None:
            return graph.power(arguments[0], graph.value(arguments[1]) or 0.0)
        if node.value in made:
            return made[node.value][1](graph, *arguments)
        return graph.apply(node.value, *arguments)

    return part(root)
