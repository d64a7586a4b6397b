# SPDX-License-Identifier: Apache-2.0
"""compute-sanitizer over a small run: no access out of bounds, no race."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.gpu

HERE = Path(__file__).resolve().parent
REFUSED = ("Device not supported", "Unable to find injection library", "not supported on this")


def sanitizer() -> str:
    found = shutil.which("compute-sanitizer") or shutil.which(
        "compute-sanitizer", path="/usr/local/cuda/bin:/usr/local/cuda/compute-sanitizer"
    )
    if found is None:
        pytest.skip("compute-sanitizer is not installed")
    return found


@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    ("tool", "kind"),
    [("memcheck", "nvt"), ("memcheck", "nve"), ("memcheck", "boxes"), ("racecheck", "nvt")],
)
def test_small_run(tool: str, kind: str, alanine: tuple[Path, Path]) -> None:
    watched = [sys.executable, HERE / "small_run.py", *alanine, kind]
    done = subprocess.run(
        [sanitizer(), "--tool", tool, "--error-exitcode", "17", *watched],
        capture_output=True,
        text=True,
        timeout=170,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    output = done.stdout + done.stderr
    if any(words in output for words in REFUSED):
        pytest.skip(f"compute-sanitizer cannot watch this GPU: {output[-300:]}")
    assert done.returncode == 0, output[-6000:]
    assert "finished" in done.stdout
