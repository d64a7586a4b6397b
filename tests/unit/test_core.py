# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the C++ unit tests: each test_*.cpp here is a program and a test.

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
    """The folder of the programs, all up to date."""
    cache = BUILD / "CMakeCache.txt"
    if not cache.is_file():
        pytest.skip("build/core is absent: run `make build` first")
    cmake = re.search(r"^CMAKE_COMMAND:INTERNAL=(.*)$", cache.read_text(), re.MULTILINE)
    assert cmake, f"{cache} names no cmake"
    command = [cmake[1], "--build", str(BUILD), "--target", "quiltmd_unit_tests", "-j2"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return BUILD / "tests" / "unit"


@pytest.mark.timeout(1800)  # the first one compiles them all
@pytest.mark.parametrize("program", PROGRAMS)
def test_program(built: Path, program: str) -> None:
    result = subprocess.run([built / program], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
