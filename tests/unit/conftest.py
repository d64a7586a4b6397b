# SPDX-License-Identifier: Apache-2.0
"""The programs of the C++ unit tests, built in build/core, where `make build` left the core."""

from __future__ import annotations

import fcntl
import re
import subprocess
from pathlib import Path

import pytest

BUILD = Path(__file__).resolve().parents[2] / "build" / "core"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The first test that needs the programs waits for the compiler, too."""
    for item in items:
        if "built" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timeout(900))


@pytest.fixture(scope="session")
def built() -> Path:
    """The folder of the tests' programs, all up to date; one process of several builds them."""
    cache = BUILD / "CMakeCache.txt"
    if not cache.is_file():
        pytest.fail("build/core is absent: run `make build` first")
    cmake = re.search(r"^CMAKE_COMMAND:INTERNAL=(.*)$", cache.read_text(), re.MULTILINE)
    assert cmake, f"{cache} names no cmake"
    targets = ["quiltmd_unit_tests", "quiltmd_conformance"]
    command = [cmake[1], "--build", str(BUILD), "-j2", "--target", *targets]
    with (BUILD / "tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return BUILD / "tests"
