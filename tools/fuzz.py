#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds tests/fuzz with clang++, libFuzzer, ASan and UBSan, and runs it.

    tools/fuzz.py [seconds]

The program, the inputs that it has found worth keeping and those that made it fail lie in
build/fuzz.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("device/*.cpp", "device/null/*.cpp", "device/remote/*.cpp")
# Addresses of a client are checked as numbers once something was added to them: sums may overflow.
OPTIONS = [
    "-std=c++20",
    "-O1",
    "-g",
    "-msse4.2",
    "-fsanitize=fuzzer,address,undefined",
    "-fno-sanitize-recover=all",
    "-fno-sanitize=pointer-overflow",
]
OPERATION = re.compile(r"^struct (\w+) \{\n(?:  .*\n)*?  static constexpr const char\* kName", re.M)


def main() -> None:
    """Exits with 1 where an input makes the server fail."""
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    tree = ROOT / "build" / "fuzz"
    corpus = tree / "commands"
    corpus.mkdir(parents=True, exist_ok=True)
    (tree / "operations.h").write_text(_operations())
    sources = [path for pattern in SOURCES for path in sorted((ROOT / "src").glob(pattern))]
    program = tree / "fuzz_commands"
    target = ROOT / "tests" / "fuzz" / "commands.cpp"
    include = [f"-I{ROOT / 'src'}", f"-I{tree}"]
    subprocess.run(
        ["clang++", *OPTIONS, *include, target, *sources, "-pthread", "-o", program], check=True
    )
    limits = [f"-max_total_time={seconds}", "-max_len=4096", "-timeout=10", "-print_final_stats=1"]
    result = subprocess.run([program, *limits, f"-artifact_prefix={tree}/", corpus])
    sys.exit(result.returncode and 1)


def _operations() -> str:
    """A header that includes those of all operations and lists them."""
    headers = {path: path.read_text() for path in sorted((ROOT / "src").rglob("*operations.h"))}
    headers |= {path: path.read_text() for path in sorted((ROOT / "src/integrators").glob("*.h"))}
    found = {path: OPERATION.findall(text) for path, text in headers.items()}
    lines = [f'#include "{path.relative_to(ROOT / "src")}"' for path in found if found[path]]
    names = sorted({f"quiltmd::{name}" for names in found.values() for name in names})
    return "\n".join([*lines, f"#define FUZZED_OPERATIONS {', '.join(names)}", ""])


if __name__ == "__main__":
    main()
