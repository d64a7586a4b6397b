# SPDX-License-Identifier: Apache-2.0
"""The Tcl of NAMD configurations: statements, variables, and blocks that are on or off.

Understood are keywords with values, several of them in a line with ";" between, `set` with plain
values, and `if {1} {`, `if {0} {`, `if {$a == b} {`, `} else {` and `}` on lines of their own, as
templates have them for choices; `[expr ...]` with numbers; and `[get_first_ts FILE]`, a procedure
that scripts define for the step in an XSC file.  Any other Tcl is refused, since what it does would
have to be guessed.

Source: NAMD User's Guide, version 3.0, "NAMD configuration file".
"""

from __future__ import annotations

import ast
import math
import operator
import os
import re
from collections.abc import Callable
from typing import Any

from ..errors import InputError
from ..reading.entries import Control, Entry, number_of
from ..reading.fixed_width import read_bytes
from .cell import read_step

_TCL = ("if", "while", "for", "foreach", "proc", "source", "expr", "puts", "print", "exit", "vmd")
_COMPARED = re.compile(r"(\S+?)\s*(==|!=|<=|>=|<|>|\beq\b|\bne\b)\s*(\S+)")
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    **{"==": operator.eq, "eq": operator.eq, "!=": operator.ne, "ne": operator.ne},
    **{"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge},
}
_PROCEDURE = re.compile(r"proc\s+(\w+)\s.*\{", re.I)
_SUBSTITUTED = re.compile(r"\[\s*(\w+)\s+([^\[\]]*)\]")  # one without another in it
_OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}
_LONGEST = 200  # characters of an expression
_ELSE = re.compile(r"\}\s*else\s*\{", re.I)
_COMMANDS = ("run", "minimize", "reinitvels", "numsteps")


def statements(control: Control) -> list[Entry]:
    """Keywords with values, in order.

    A setting after the first `run` or `minimize` would hold for later steps alone, and is refused.

    Tcl that is not understood and variables without a value are faults.
    """
    script = _Script(control)
    text = read_bytes(control.file).decode("latin-1")
    for number, raw in enumerate(text.split("\n"), start=1):
        for part in raw.split("#", 1)[0].split(";"):
            if part.strip():
                script.try_to_read(number, part.strip())
    script.end()
    names = [entry.name.lower() for entry in script.found]
    first = min((names.index(name) for name in ("run", "minimize") if name in names), default=None)
    if first is None:
        return script.found
    late = [k for k in range(first, len(names)) if names[k] not in _COMMANDS]
    for k in late:
        entry = script.found[k]
        why = (
            "a setting after the first run or minimize is not supported: put the later steps "
            "into a separate configuration"
        )
        control.refused.append(f"line {entry.line}, {entry.name} {entry.value}: {why}")
    return [entry for k, entry in enumerate(script.found) if k not in late]


class _Script:
    """State of the reader: statements, variables, and open blocks."""

    def __init__(self, control: Control) -> None:
        self.control = control
        self.found: list[Entry] = []
        self.variables: dict[str, str] = {}
        self.procedures: set[str] = set()
        # Line at which each block begins, whether it is executed, and why it would not be.
        self.blocks: list[tuple[int, bool, str]] = []

    def try_to_read(self, line: int, part: str) -> None:
        """Reads a statement; where it is not understood, that is a fault, and it is left out."""
        try:
            self.read(line, part)
        except InputError as error:
            self.control.faults.append(error)
            if part.startswith("}") and self.blocks:
                self._close(line)
            if part.endswith("{"):
                self._open(line, False)

    def read(self, line: int, part: str) -> None:
        """One statement, or the beginning or the end of a block."""
        word, *rest = part.split(None, 1)
        if part == "}" and self.blocks:
            self._close(line)
        elif _ELSE.fullmatch(part) and self.blocks:
            done = self._close(line)
            self._open(line, not done)
        elif not self._is_done():
            if part.endswith("{"):  # a block in a block that is left out
                self._open(line, False)
        elif re.match(r"if\b", part, re.I) and part.endswith("{"):
            self._open(line, self._choice(line, part))
        elif procedure := _PROCEDURE.fullmatch(part):
            self.procedures.add(procedure[1])
            self._open(line, False, f"left out, the procedure {procedure[1]}")
        else:
            self._statement(line, part, word, "".join(rest))

    def end(self) -> None:
        """A block that is still open is a fault, unless it may be due to another one."""
        if self.blocks and not self.control.faults:
            self.control.fault("this block of Tcl has no '}' of its own line", self.blocks[-1][0])

    def _statement(self, line: int, part: str, word: str, rest: str) -> None:
        if word.lower() in _TCL or word.startswith(("}", "{")):
            raise self._unknown(line, part)
        if word.lower() == "set":
            name, *values = rest.split(None, 1) or [""]
            self.variables[name] = self._replaced(line, part, _bare("".join(values)))
        else:
            value = self._replaced(line, part, _bare(rest))
            # "=" may stand between keyword and value.
            self.found.append(Entry(word.rstrip("="), value.removeprefix("=").strip(), line))

    def _choice(self, line: int, part: str) -> bool:
        """Whether the condition of an `if` holds: 0, 1, or a comparison."""
        value = self._replaced(line, part, _bare(part[2:-1].strip().removesuffix("then")))
        compared = _COMPARED.fullmatch(value)
        if value in ("0", "1"):
            return value == "1"
        if compared is None:
            message = f"Tcl ('{part}') is not supported, but for conditions 0, 1 and comparisons"
            raise self._error(line, message)
        left, sign, right = compared.groups()
        numbers = number_of(left), number_of(right)
        is_text = sign in ("eq", "ne") or any(map(math.isnan, numbers))
        sides = (left.strip('"'), right.strip('"')) if is_text else numbers
        return _COMPARISONS[sign](*sides)

    def _is_done(self) -> bool:
        return all(done for _, done, _ in self.blocks)

    def _open(self, line: int, done: bool, why: str = "left out, as their condition is 0") -> None:
        self.blocks.append((line, done, why))

    def _close(self, line: int) -> bool:
        """Ends the innermost block; whether it was done."""
        outside = all(done for _, done, _ in self.blocks[:-1])
        begin, done, why = self.blocks.pop()
        if outside and not done and line > begin + 1:
            self.control.notes.append(f"lines {begin} to {line}: {why}")
        return done

    def _replaced(self, line: int, part: str, value: str) -> str:
        """The word with the values of variables and of the few known commands in brackets."""
        value = self._with_variables(line, value)
        while found := _SUBSTITUTED.search(value):
            result = self._result(found[1], found[2].strip())
            if result is None:
                break
            value = value[: found.start()] + result + value[found.end() :]
        if "[" in value:
            raise self._unknown(line, part)
        return value

    def _result(self, command: str, arguments: str) -> str | None:
        """Result of a command; None for an unknown command."""
        if command == "expr":
            return arithmetic(_bare(arguments))
        if command == "get_first_ts" and command in self.procedures:
            step = read_step(os.path.join(os.path.dirname(self.control.file), arguments))
            self.control.notes.append(f"get_first_ts: {step}, the step in {arguments}")
            return str(step)
        return None

    def _with_variables(self, line: int, value: str) -> str:
        def one(match: re.Match[str]) -> str:
            name = match[1] or match[2]
            if name not in self.variables:
                raise self._error(line, f"the variable {name} is not set")
            return self.variables[name]

        return re.sub(r"\$(?:\{(\w+)\}|(\w+))", one, value)

    def _unknown(self, line: int, part: str) -> InputError:
        message = f"Tcl ('{part}') is not supported: replace it by its result"
        return self._error(line, message)

    def _error(self, line: int, message: str) -> InputError:
        return InputError(message, file=self.control.file, line=line)


def arithmetic(text: str) -> str | None:
    """The result of numbers joined by +, -, *, / and parentheses; None for anything else.

    As in Tcl a quotient of whole numbers is rounded down.
    """

    def value(node: ast.expr) -> int | float:
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return node.value  # type: ignore[return-value]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -value(node.operand)
        if not isinstance(node, ast.BinOp):
            raise ValueError("not arithmetic")
        left, right = value(node.left), value(node.right)
        if isinstance(node.op, ast.Div):
            whole = isinstance(left, int) and isinstance(right, int)
            return left // right if whole else left / right
        return _OPERATIONS[type(node.op)](left, right)  # type: ignore[no-any-return]

    if len(text) > _LONGEST:
        return None
    try:
        return str(value(ast.parse(text.strip(), mode="eval").body))
    except (SyntaxError, ValueError, KeyError, ArithmeticError, RecursionError, MemoryError):
        return None


def _bare(value: str) -> str:
    """The word without quotes or braces around it."""
    value = value.strip().strip('"').strip()
    return value[1:-1].strip() if value.startswith("{") and value.endswith("}") else value
