# SPDX-License-Identifier: Apache-2.0
"""Runs a process at a pseudo-terminal, as a user at a screen does, and reads what it draws."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from typing import Any

CTRL_C = b"\x03"
_ESCAPE = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")
_SECONDS = 250.0  # longer than any machine takes; a test that needs it has failed


class Terminal:
    """A Python process whose stdin, stdout and stderr are a terminal of that size.

    A context that ends the process where it has not ended by itself.
    """

    def __init__(
        self, *arguments: Any, columns: int = 100, lines: int = 30, **environment: str
    ) -> None:
        self._end, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        ends = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
        command = [sys.executable, *map(str, arguments)]
        # The environment of the tests may state the size of another terminal.
        ours = {key: os.environ[key] for key in os.environ.keys() - {"COLUMNS", "LINES"}}
        environment = {**ours, "TERM": "xterm-256color", **environment}
        self.process = subprocess.Popen(
            command, env=environment, preexec_fn=_at_the_terminal, **ends
        )
        os.close(theirs)
        self.drawn = b""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._end)

    def text(self) -> str:
        """What was written so far, without the sequences that move the cursor or set colours.

        What was read may end within a character.
        """
        return _ESCAPE.sub(b"", self.drawn).decode(errors="replace").replace("\r\n", "\n")

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Reads on until `text` has the pattern, which is returned as it was found."""
        end = time.monotonic() + _SECONDS
        while (found := re.search(pattern, self.text())) is None:
            assert self._read(end), f"{pattern!r} did not appear in:\n{self.text()}"
        return found

    def type(self, keys: bytes) -> None:
        """Presses keys."""
        os.write(self._end, keys)

    def finish(self) -> int:
        """Reads to the end; the exit status."""
        end = time.monotonic() + _SECONDS
        while self._read(end):
            pass
        return self.process.wait(max(1.0, end - time.monotonic()))

    def _read(self, end: float) -> bool:
        """Whether there was more, before that time."""
        if not select.select([self._end], [], [], max(0.0, end - time.monotonic()))[0]:
            return False
        try:
            part = os.read(self._end, 65536)
        except OSError:  # nobody has the terminal open any more
            return False
        self.drawn += part
        return bool(part)


def at_terminal(*arguments: Any, **options: Any) -> tuple[int, str]:
    """Exit status of a Python process at a terminal, and the text that it wrote."""
    with Terminal(*arguments, **options) as terminal:
        return terminal.finish(), terminal.text()


def _at_the_terminal() -> None:
    """Makes stdin the terminal that controls this process, so that its Ctrl-C is a signal."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
