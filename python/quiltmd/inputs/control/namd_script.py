# SPDX-License-Identifier: Apache-2.0
"""The Tcl of NAMD configurations: statements, variables, and blocks that are on or off.

Understood are keywords with values, several of them in a line with ";" between, `set` with plain
values, and `if {1} {`, `if {0} {`, `if {$a == b} {`, `} else {` and `}` on lines of their own, as
templates have them for choices.  Any other Tcl is refused, since what it does would have to be
guessed.

Source: NAMD User's Guide, version 3.0, "NAMD configuration file".
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from typing import Any

from ...errors import InputError
from ..fixed_width import read_bytes
from .entries import Control, Entry, number_of

_TCL = ("if", "while", "for", "foreach", "proc", "source", "expr", "puts", "print", "exit", "vmd")
_COMPARED = re.compile(r"(\S+?)\s*(==|!=|<=|>=|<|>|\beq\b|\bne\b)\s*(\S+)")
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    **{"==": operator.eq, "eq": operator.eq, "!=": operator.ne, "ne": operator.ne},
    **{"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge},
}
_ELSE = re.compile(r"\}\s*else\s*\{", re.I)
_COMMANDS = ("run", "minimize", "reinitvels", "numsteps")


def statements(control: Control) -> list[Entry]:
    """Keywords with values, in order.

    A setting after the first `run` or `minimize` would hold for later steps alone, and is refused.

    Raises
    ------
    InputError
        With the line: Tcl that is not understood, a variable without a value.
    """
    script = _Script(control)
    text = read_bytes(control.file).decode("latin-1")
    for number, raw in enumerate(text.split("\n"), start=1):
        for part in raw.split("#", 1)[0].split(";"):
            if part.strip():
                script.read(number, part.strip())
    script.end()
    names = [entry.name.lower() for entry in script.found]
    first = min((names.index(name) for name in ("run", "minimize") if name in names), default=None)
    if first is None:
        return script.found
    late = [k for k in range(first, len(names)) if names[k] not in _COMMANDS]
    for k in late:
        entry = script.found[k]
        why = "a setting after the first run or minimize: make what follows it a run of its own"
        control.refused.append(f"line {entry.line}, {entry.name} {entry.value}: {why}")
    return [entry for k, entry in enumerate(script.found) if k not in late]


class _Script:
    """What was read so far: statements, variables, and the blocks that are open."""

    def __init__(self, control: Control) -> None:
        self.control = control
        self.found: list[Entry] = []
        self.variables: dict[str, str] = {}
        self.blocks: list[tuple[int, bool]] = []  # where each begins, and whether it is done

    def read(self, line: int, part: str) -> None:
        """One statement, or the beginning or the end of a block."""
        word, *rest = part.split(None, 1)
        if part == "}" and self.blocks:
            self._close(line)
        elif _ELSE.fullmatch(part) and self.blocks:
            done = self._close(line)
            self.blocks.append((line, not done))
        elif not self._is_done():
            if part.endswith("{"):  # a block in a block that is left out
                self.blocks.append((line, False))
        elif re.match(r"if\b", part, re.I) and part.endswith("{"):
            self.blocks.append((line, self._choice(line, part)))
        else:
            self._statement(line, part, word, "".join(rest))

    def end(self) -> None:
        """InputError where a block is still open."""
        if self.blocks:
            raise self._error(self.blocks[-1][0], "this block of Tcl has no '}' of its own line")

    def _statement(self, line: int, part: str, word: str, rest: str) -> None:
        if word.lower() in _TCL or "[" in rest or word.startswith(("}", "{")):
            raise self._error(line, f"Tcl ('{part}') is not supported")
        if word.lower() == "set":
            name, *values = rest.split(None, 1) or [""]
            self.variables[name] = self._replaced(line, _bare("".join(values)))
        else:
            value = self._replaced(line, _bare(rest))
            # "=" may stand between keyword and value.
            self.found.append(Entry(word.rstrip("="), value.removeprefix("=").strip(), line))

    def _choice(self, line: int, part: str) -> bool:
        """Whether the condition of an `if` holds: 0, 1, or a comparison."""
        value = self._replaced(line, _bare(part[2:-1].strip().removesuffix("then")))
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
        return all(done for _, done in self.blocks)

    def _close(self, line: int) -> bool:
        """Ends the innermost block; whether it was done."""
        outside = all(done for _, done in self.blocks[:-1])
        begin, done = self.blocks.pop()
        if outside and not done and line > begin + 1:
            self.control.notes.append(f"lines {begin} to {line}: left out, as their condition is 0")
        return done

    def _replaced(self, line: int, value: str) -> str:
        def one(match: re.Match[str]) -> str:
            name = match[1] or match[2]
            if name not in self.variables:
                raise self._error(line, f"the variable {name} is not set")
            return self.variables[name]

        return re.sub(r"\$(?:\{(\w+)\}|(\w+))", one, value)

    def _error(self, line: int, message: str) -> InputError:
        return InputError(message, file=self.control.file, line=line)


def _bare(value: str) -> str:
    """Without the quotes or braces around it."""
    value = value.strip().strip('"').strip()
    return value[1:-1].strip() if value.startswith("{") and value.endswith("}") else value
