# SPDX-License-Identifier: Apache-2.0
"""Runs the command `quiltmd` as a user does: in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from typing import Any


def quiltmd(*arguments: Any, timeout: float = 250.0, **options: Any) -> Any:
    """A finished `quiltmd` process with its stdout and stderr as text."""
    return subprocess.run(
        [sys.executable, "-m", "quiltmd", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        **options,
    )
