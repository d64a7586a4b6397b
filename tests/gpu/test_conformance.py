# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the conformance suite of the C++ core (tests/conformance) on the GPU."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

BUILD = Path(__file__).resolve().parents[2] / "build" / "core"

pytestmark = pytest.mark.gpu


@pytest.mark.timeout(900)  # compiles and links seven sources
@pytest.mark.parametrize("words", [["cuda"], ["cuda", "remote"]])
def test_every_operation(record_property: Any, words: list[str]) -> None:
    cache = BUILD / "CMakeCache.txt"
    if not cache.is_file():
        pytest.fail("build/core is absent: run `make build` first")
    cmake = re.search(r"^CMAKE_COMMAND:INTERNAL=(.*)$", cache.read_text(), re.MULTILINE)
    assert cmake, f"{cache} names no cmake"
    program = cmake[1] if Path(cmake[1]).is_file() else "cmake"
    command = [program, "--build", str(BUILD), "--target", "quiltmd_conformance"]
    jobs = ["--parallel", str(os.cpu_count() or 2)]
    built = subprocess.run([*command, *jobs], capture_output=True, text=True)
    assert built.returncode == 0, built.stdout[-6000:] + built.stderr[-6000:]
    suite = BUILD / "tests" / "conformance" / "quiltmd_conformance"
    done = subprocess.run([suite, *words], capture_output=True, text=True, timeout=300)
    record_property("cases", sum(line.startswith("ok") for line in done.stdout.splitlines()))
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
