# SPDX-License-Identifier: Apache-2.0
"""Variables of LAMMPS input scripts that stand for a word or a number.

Those of the styles index (its first value), string, and equal, whose formula has numbers, variables
and + - * / ^ ( ) alone; and formulas in their place, $(100*dt), which may have the time step.  All
else changes as a run goes on, or loops, and is refused.

Source: https://docs.lammps.org/variable.html.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

from ..description.expressions import Expression, ExpressionError, Node

_USE = re.compile(r"\$\{(\w+)\}|\$(\w)")
_FORMULA = re.compile(
    r"\$\(((?:[^()]|\([^()]*\))*)\)"
)  # with parentheses in it, but no deeper ones
_OPERATORS: dict[str, Callable[..., float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "^": operator.pow,
    "negate": operator.neg,
}
_KNOWN = (
    "only the styles index, string and equal, with numbers, variables and + - * / ^ ( ), "
    "and $( ) with these and dt"
)

_ORDER = "in LAMMPS, -a^b is (-a)^b and a^b^c is (a^b)^c: write the parentheses, or 0-a^b"


class VariableError(ValueError):
    """A variable is not supported, or is not there."""


class Variables:
    """The variables so far."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self.timestep = 0.0  # that of the script so far; 0: not known yet

    def define(self, words: list[str]) -> None:
        """Reads the words behind `variable`.

        Raises
        ------
        VariableError
            For other styles and formulas.
        """
        if len(words) < 3 or not re.fullmatch(r"\w+", words[0]):
            raise VariableError(_KNOWN)
        name, style, *values = words
        if style == "index":  # the first of several definitions holds, so that others can be forced
            self._values.setdefault(name, values[0])
        elif style == "string" and len(values) == 1:
            self._values[name] = values[0]
        elif style == "equal":
            self._values[name] = self._value("".join(values), {})
        else:
            raise VariableError(_KNOWN)

    def put_in(self, text: str) -> str:
        """The text with values for variables and formulas; VariableError if one has none."""
        found = _USE.sub(lambda match: self._named(match[1] or match[2]), text)
        known = {"dt": self.timestep} if self.timestep else {}
        found = _FORMULA.sub(lambda match: self._value(match[1], known), found)
        if "$" in found:
            raise VariableError("write the value in place of $")
        return found

    def _named(self, name: str) -> str:
        if name not in self._values:
            raise VariableError(f"there is no variable {name}")
        return self._values[name]

    def _value(self, formula: str, known: dict[str, float]) -> str:
        """The number that a formula is, with further names."""
        try:
            value = float(self._of(Expression(formula).root, known))
        except VariableError:
            raise
        except (ExpressionError, ValueError, ArithmeticError, TypeError, LookupError):
            raise VariableError(_KNOWN) from None
        if not abs(value) < float("inf"):
            raise VariableError("the value of its formula is not finite")
        return f"{value:.15g}"

    def _of(self, node: Node, known: dict[str, float]) -> float:
        if node.arguments is None:
            if not isinstance(node.value, str):
                return node.value
            if node.value in known:
                return known[node.value]
            if not node.value.startswith("v_"):  # a quantity of the system, such as its volume
                raise VariableError(_KNOWN)
            return float(self._named(node.value.removeprefix("v_")))
        if node.value in ("negate", "^") and node.arguments[-1].value == "^":
            raise VariableError(_ORDER)
        return _OPERATORS[str(node.value)](*(self._of(one, known) for one in node.arguments))
