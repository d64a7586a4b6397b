# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the C++ unit tests: each test_*.cpp here is a program and a test; and, on the
`cpu` device, the conformance suite that every kind of device passes.

They are built in build/core, where `make build` left the objects of the core, so only the programs
themselves are compiled and linked.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build" / "core"
PROGRAMS = sorted(source.stem for source in HERE.glob("test_*.cpp"))


@pytest.fixture(scope="session")
def built() -> Path:
    """The folder of the tests' programs, all up to date."""
    cache = BUILD / "CMakeCache.txt"
    if not cache.is_file():
        pytest.fail("build/core is absent: run `make build` first")
    cmake = re.search(r"^CMAKE_COMMAND:INTERNAL=(.*)$", cache.read_text(), re.MULTILINE)
    assert cmake, f"{cache} names no cmake"
    targets = ["quiltmd_unit_tests", "quiltmd_conformance"]
    command = [cmake[1], "--build", str(BUILD), "-j2", "--target", *targets]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return BUILD / "tests"


@pytest.mark.timeout(1800)  # the first one compiles them all
@pytest.mark.parametrize("program", PROGRAMS)
def test_program(built: Path, program: str) -> None:
    run(built / "unit" / program)


def test_conformance(built: Path) -> None:
    run(built / "conformance" / "quiltmd_conformance", "cpu")


def run(program: Path, *words: str) -> None:
    result = subprocess.run([program, *words], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
