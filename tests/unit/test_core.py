# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the C++ unit tests: each test_*.cpp here is a program and a test; and, on the
`cpu` device, the conformance suite that every kind of device passes.

They are built in build/core, where `make build` left the objects of the core, so only the programs
themselves are compiled and linked.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
PROGRAMS = sorted(source.stem for source in HERE.glob("test_*.cpp"))


@pytest.mark.timeout(1800)  # the first one compiles them all
@pytest.mark.parametrize("program", PROGRAMS)
def test_program(built: Path, program: str) -> None:
    run(built / "unit" / program)


@pytest.mark.parametrize("words", [["cpu"], ["cpu", "remote"]])
def test_conformance(built: Path, words: list[str]) -> None:
    run(built / "conformance" / "quiltmd_conformance", *words)


def run(program: Path, *words: str) -> None:
    result = subprocess.run([program, *words], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
