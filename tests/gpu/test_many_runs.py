# SPDX-License-Identifier: Apache-2.0
"""Many runs at once in one process, on one GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.gpu


def test_runs_at_the_same_time_end_as_each_does_alone() -> None:
    """Fourteen, which begin and end while others run; a lone one keeps its streams."""
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("many_runs.py"), "cuda", "14", "1000"],
        capture_output=True,
        text=True,
        timeout=50,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONWARNINGS": "ignore"},
    )
    assert done.returncode == 0, done.stderr
