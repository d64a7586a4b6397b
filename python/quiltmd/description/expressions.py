# SPDX-License-Identifier: Apache-2.0
"""Energies as expressions: their text, parsed.

The language is that of OpenMM's custom forces: operators + - * / ^, functions, and definitions of
intermediate values after semicolons.

Source: OpenMM User Guide, "Writing Custom Expressions".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


class ExpressionError(ValueError):
    """A text is no expression, or an expression has parts that are not known."""


_TOKEN = re.compile(
    r"\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|(.))"
)
_PRECEDENCE = {"+": 0, "-": 0, "*": 1, "/": 1, "^": 3}
_NEGATION = 2  # -a^b is -(a^b), -a*b is (-a)*b


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
            return Node(float(number))
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
