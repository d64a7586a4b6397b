# SPDX-License-Identifier: Apache-2.0
"""Counts of the structure: long functions, long files, copies, types; of this tree or another.

tools/structure.py [FOLDER]
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

LONG_FUNCTION, LONG_FILE, COPY = 60, 500, 12
CPP = (".h", ".cpp", ".cu", ".cuh")
_NO_FUNCTION = re.compile(
    r"\s*(if|for|while|switch|else|do|try|catch|namespace|struct|class|enum)\b"
)
_TYPE = re.compile(
    r"^\s*(?:template\s*<.*>\s*)?(?:struct|class|enum(?: class)?)\s+\w+[^;]*\{", re.M
)


def sources(root: Path) -> dict[Path, str]:
    """The text of all files of the core and of the package."""
    files = [*(root / "src").rglob("*"), *(root / "python").rglob("*")]
    wanted = [file for file in files if file.suffix in (".py", *CPP)]
    return {file.relative_to(root): file.read_text() for file in sorted(wanted)}


def python_functions(text: str) -> Iterator[tuple[str, int]]:
    """Names and lines, docstrings left out."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            doc = ast.get_docstring(node, clean=False)
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            yield node.name, lines - (doc.count("\n") + 1 if doc else 0)


def cpp_functions(text: str) -> Iterator[tuple[str, int]]:
    """Names and lines, by braces; of the outermost where one is within another."""
    lines = [re.sub(r"//.*|\"(\\.|[^\"\\])*\"", "", line) for line in text.splitlines()]
    end = -1
    for number, line in enumerate(lines):
        opens = line.rstrip().endswith("{") and not _NO_FUNCTION.match(line)
        head = " ".join(lines[max(0, number - 3) : number + 1])
        if number <= end or not opens or not re.search(r"\)[^;(){}]*\{$", head.rstrip()):
            continue
        depth, end = 0, number
        while end < len(lines):
            depth += lines[end].count("{") - lines[end].count("}")
            if depth <= 0:
                break
            end += 1
        names = re.findall(r"([\w:~]+)\s*\(", head)
        yield names[-1] if names else "?", end - number + 1


def copies(texts: dict[Path, str]) -> set[tuple[Path, Path]]:
    """Pairs of files that have so many lines in a row in common, blank ones and comments aside."""
    seen: dict[tuple[str, ...], set[Path]] = defaultdict(set)
    for file, text in texts.items():
        lines = [line.strip() for line in text.splitlines()]
        lines = [line for line in lines if len(line) > 1 and line[:2] not in ("//", "# ", "#i")]
        for start in range(len(lines) - COPY + 1):
            seen[tuple(lines[start : start + COPY])].add(file)
    shared = [sorted(files) for files in seen.values() if len(files) > 1]
    return {(a, b) for files in shared for a in files for b in files if a < b}


def fan_out(text: str) -> int:
    """How many modules of the package a module imports."""
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
    return len({(node.level, node.module) for node in nodes if node.level})


def main(root: Path) -> None:
    """Prints the counts."""
    texts = sources(root)
    found = [
        (lines, f"{file}: {name}")
        for file, text in texts.items()
        for name, lines in (python_functions if file.suffix == ".py" else cpp_functions)(text)
    ]
    long = sorted((one for one in found if one[0] > LONG_FUNCTION), reverse=True)
    print(f"functions over {LONG_FUNCTION} lines: {len(long)} of {len(found)}")
    for lines, where in long:
        print(f"  {lines} {where}")
    sizes = {file: text.count("\n") for file, text in texts.items()}
    print(f"files over {LONG_FILE} lines:")
    for file, lines in sizes.items():
        if lines > LONG_FILE:
            print(f"  {lines} {file}")
    python = {file: text for file, text in texts.items() if file.suffix == ".py"}
    core = {file: text for file, text in texts.items() if file.suffix in CPP}
    print("most modules imported:")
    for file, text in sorted(python.items(), key=lambda item: -fan_out(item[1]))[:3]:
        print(f"  {fan_out(text)} {file}")
    print(f"pairs of files with {COPY} lines in common: {len(copies(texts))}")
    print(f"C++ types: {sum(len(_TYPE.findall(text)) for text in core.values())}")
    classes = sum(
        isinstance(n, ast.ClassDef) for t in python.values() for n in ast.walk(ast.parse(t))
    )
    print(f"Python classes: {classes}")
    names = re.compile(r"static constexpr const char\* kName\b")
    print(f"operations: {sum(len(names.findall(text)) for text in core.values())}")
    decisions = (root / "docs" / "decisions.md").read_text().count("\n### ")
    print(f"decisions: {decisions}")
    for lines in ("src", "python"):
        total = sum(count for file, count in sizes.items() if file.parts[0] == lines)
        print(f"lines in {lines}: {total:,}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[1]))
