# SPDX-License-Identifier: Apache-2.0
"""Runs the command `quiltmd` as a user does: in a process of its own."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any


def quiltmd(
    *arguments: Any,
    timeout: float = 250.0,
    cwd: Any = None,
    program: Path | None = None,
    **options: Any,
) -> Any:
    """A finished `quiltmd` process with its stdout and stderr as text.

    `program`: a script that is run in its place.  With other options of `subprocess.run` it is a
    process that imports everything by itself.
    """
    words = list(map(str, arguments))
    if not options:
        return _warm().run(words, Path(cwd or ".").absolute(), timeout, program)
    return subprocess.run(
        [sys.executable, "-m", "quiltmd", *words],
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd=cwd,
        **options,
    )


@functools.cache
def _warm() -> _WarmPython:
    return _WarmPython()


class _WarmPython:
    """The process of warm_python.py; it ends with this one."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("warm_python.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self._lock = threading.Lock()

    def run(self, arguments: list[str], folder: Path, timeout: float, program: Path | None) -> Any:
        """As `subprocess.run` does; one command at a time."""
        with self._lock, tempfile.TemporaryDirectory() as streams:
            stdout, stderr = Path(streams, "stdout"), Path(streams, "stderr")
            for path in (stdout, stderr):
                path.touch()
            request = {
                "arguments": arguments,
                "folder": str(folder),
                "program": None if program is None else str(program),
                "environment": dict(os.environ),
                "stdout": str(stdout),
                "stderr": str(stderr),
            }
            status = self._status(json.dumps(request), timeout)
            return subprocess.CompletedProcess(
                ["quiltmd", *arguments], status, stdout.read_text(), stderr.read_text()
            )

    def _status(self, request: str, timeout: float) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(request + "\n")
        child = int(self._process.stdout.readline())
        overdue = threading.Timer(timeout, os.kill, (child, signal.SIGKILL))
        overdue.start()
        status = int(self._process.stdout.readline())
        overdue.cancel()
        if status == -signal.SIGKILL:
            raise subprocess.TimeoutExpired(request, timeout)
        return status
