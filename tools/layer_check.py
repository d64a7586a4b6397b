#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rejects an include that the layers of src/ do not allow.

The table is src/CMakeLists.txt itself: `quiltmd_layer(folder SEES ...)`. A file belongs to the
deepest layer that holds it, and may include headers of that layer and of those named after SEES.
`quiltmd_families(parent SEES ...)` makes a layer of each folder of `parent` that no line names.
Only our own headers count (those found under src/); libraries are the linker's business.
A text scan, not a compiler: it also sees includes in code that this machine does not build.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
STATEMENT = re.compile(r"^(set|quiltmd_layer|quiltmd_families)\(([^)]*)\)", re.MULTILINE)
TOP = "bindings"  # sees everything, so it is not in the table
SUFFIXES = {".h", ".cpp", ".cu", ".cuh"}


def read_table(src: Path) -> tuple[dict[str, set[str]], set[str]]:
    """Layer -> layers it may include (itself among them), and which of them no line names."""
    cmake = (src / "CMakeLists.txt").read_text()
    variables: dict[str, list[str]] = {}
    table: dict[str, set[str]] = {}
    unnamed: dict[str, set[str]] = {}
    for command, arguments in STATEMENT.findall(cmake):
        words: list[str] = []
        for word in arguments.split():
            words += variables.get(word[2:-1], []) if word.startswith("${") else [word]
        if command == "set":
            variables[words[0]] = words[1:]
        else:
            seen = words[words.index("SEES") + 1 :] if "SEES" in words else []
            seen = seen[: seen.index("USES")] if "USES" in seen else seen
            if command == "quiltmd_layer":
                table[words[0]] = {words[0], *seen}
                continue
            folders = _folders(src, words[0])
            unnamed |= {folder: {folder, *seen} for folder in folders - set(table)}
    table |= unnamed
    table[TOP] = {TOP, *table}
    return table, set(unnamed)


def _folders(src: Path, parent: str) -> set[str]:
    paths = (src / parent).glob("*")
    return {path.relative_to(src).as_posix() for path in paths if path.is_dir()}


def layer_of(path: Path, table: dict[str, set[str]]) -> str | None:
    """The deepest layer holding a path given relative to src/."""
    for folder in path.parents:
        if folder.as_posix() in table:
            return folder.as_posix()
    return None


def resolve(included: str, file: Path, src: Path) -> Path | None:
    """The header meant, relative to src/; None if it is not ours."""
    for candidate in (src / included, src / file.parent / included):
        if candidate.is_file():
            return candidate.resolve().relative_to(src.resolve())
    return None


def violations(src: Path) -> Iterator[str]:
    """One line per forbidden include or file outside every layer."""
    table, _ = read_table(src)
    for full in sorted(p for p in src.rglob("*") if p.suffix in SUFFIXES):
        file = full.relative_to(src)
        layer = layer_of(file, table)
        if layer is None:
            yield f"src/{file}: belongs to no layer of src/CMakeLists.txt"
            continue
        text = full.read_text()
        for match in INCLUDE.finditer(text):
            header = resolve(match[1], file, src)
            if header is None:
                continue
            other = layer_of(header, table)
            if other not in table[layer]:
                line = text.count("\n", 0, match.start(1)) + 1
                yield f"src/{file}:{line}: {layer} must not include {header} ({other})"


def unused_grants(src: Path) -> Iterator[str]:
    """One line per layer that another one may include and does not."""
    table, unnamed = read_table(src)
    used: dict[str, set[str | None]] = {layer: {layer} for layer in table}
    for full in (p for p in src.rglob("*") if p.suffix in SUFFIXES):
        file = full.relative_to(src)
        layer = layer_of(file, table)
        found = (resolve(match[1], file, src) for match in INCLUDE.finditer(full.read_text()))
        if layer is not None:
            used[layer] |= {layer_of(header, table) for header in found if header is not None}
    for layer in sorted(set(table) - {TOP} - unnamed):
        for other in sorted(table[layer] - used[layer]):
            yield f"src/CMakeLists.txt: {layer} need not see {other}"


def main() -> int:
    """Print every violation; the number of them decides the exit status."""
    found = list(violations(Path(__file__).resolve().parent.parent / "src"))
    print("\n".join(found) or "layers: every include is allowed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
