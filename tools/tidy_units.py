#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the files that clang-tidy has to check so that it sees every source of src/.

Most of its time goes into headers, so where CMake compiles the sources of a folder together
(unity builds, cmake/layer.cmake), clang-tidy reads them together as well. All other sources are
printed by themselves, among them those that this machine does not build. So are sources with a
using-declaration: clang-tidy looks for unused ones only in the file that it is started with.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
USING = re.compile(r"^\s*using [\w:]+::\w+;", re.MULTILINE)
INCLUDE = re.compile(r'^#include "([^"]+\.cpp)"', re.MULTILINE)


def units(database: Path, src: Path) -> list[Path]:
    """Units of the compilation database that include sources of `src`, then single sources."""
    compiled = [Path(entry["file"]) for entry in json.loads(database.read_text())]
    united: dict[Path, set[Path]] = {}
    for unit in compiled:
        if unit.parent.name == "Unity":
            included = {Path(name) for name in INCLUDE.findall(unit.read_text())}
            if any(path.is_relative_to(src) for path in included):
                united[unit] = included
    together = set().union(*united.values())
    alone = {p for p in src.rglob("*.cpp") if p not in together or USING.search(p.read_text())}
    return sorted(united) + sorted(alone)


if __name__ == "__main__":
    found = units(ROOT / "build/core/compile_commands.json", ROOT / "src")
    sys.stdout.writelines(f"{path}\n" for path in found)
