#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rejects two types of one name in one namespace of src/: a violation of the one-definition rule.

The linker takes one of two inline functions of the same name, so a program with both types calls
the constructor of the wrong one, as soon as the compiler does not inline it.  Types in an unnamed
namespace or in a function are of their file alone.  Of a file and its `*_absent.cpp` one is built.
A text scan: it also sees types in code that this machine does not build.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

SUFFIXES = {".h", ".cpp", ".cu", ".cuh"}
NO_CODE = re.compile(
    r"//[^\n]*|/\*.*?\*/|^\s*#(?:[^\n\\]|\\.)*$|R\"\((?:.*?)\)\"|\"(?:\\.|[^\"\\\n])*\"|(?<!\w)'(?:\\.|[^'\\\n])+'",
    re.DOTALL | re.MULTILINE,
)
NAMESPACE = re.compile(r"\bnamespace\s*([\w:]*)\s*$")
TYPE = re.compile(
    r"\b(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+(\w+)(?:\s+final)?\s*(?::[^:(;].*)?$",
    re.S,
)


def types(text: str) -> Iterator[tuple[str, int]]:
    """Types that a file defines for others, with their namespace, and the line of each."""
    text = NO_CODE.sub(lambda found: "\n" * found[0].count("\n"), text)
    scopes: list[str | None] = []  # of each open brace; None where names in it are not for others
    begin = 0
    for brace in re.finditer(r"[{};]", text):
        before = text[begin : brace.start()]
        begin = brace.end()
        if brace[0] == "}":
            scopes[-1:] = []
        if brace[0] != "{":
            continue
        namespace, defined = NAMESPACE.search(before), TYPE.search(before)
        if namespace:
            scopes.append(namespace[1] or None)
            continue
        if defined and None not in scopes:
            yield (
                "::".join([*filter(None, scopes), defined[1]]),
                text.count("\n", 0, brace.start()) + 1,
            )
        scopes.append(None)


def violations(src: Path) -> Iterator[str]:
    """One line for each name that two files give to a type."""
    places: dict[str, dict[str, str]] = defaultdict(dict)
    for full in sorted(path for path in src.rglob("*") if path.suffix in SUFFIXES):
        file = full.relative_to(src.parent)
        built = file.as_posix().replace("_absent.cpp", ".cpp").rpartition(".")[0]
        for name, line in types(full.read_text()):
            places[name].setdefault(built, f"{file}:{line}")
    for name, found in places.items():
        if len(found) > 1:
            yield f"{name} is defined in {' and in '.join(found.values())}: rename one"


def main() -> int:
    """Prints every violation; whether there is one decides the exit status."""
    found = list(violations(Path(__file__).resolve().parent.parent / "src"))
    print("\n".join(found) or "names: every type is defined once")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
