# SPDX-License-Identifier: Apache-2.0
"""Messages and progress on stderr.

A bar with speed and time left where stderr is a terminal that can move its cursor, or a notebook;
plain lines, at most one in ten seconds, elsewhere, so that a batch system's log stays short.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from contextlib import suppress
from importlib.util import find_spec
from types import TracebackType
from typing import Any, TextIO, cast

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Column
from rich.text import Text

from ..errors import QuiltWarning
from .spans import clock


class _Stderr:
    """stderr as it is now, which may break or be closed: messages are then lost, a run is not.

    While a bar is shown, rich replaces `sys.stderr` by a proxy that prints above the bar, through
    the console that writes here; so this looks behind the proxy.
    """

    def write(self, text: str) -> int:
        self._attempt("write", text)
        return len(text)

    def flush(self) -> None:
        self._attempt("flush")

    def isatty(self) -> bool:
        return bool(self._attempt("isatty"))

    def fileno(self) -> int:
        return int(_stderr().fileno())

    @property
    def encoding(self) -> str:
        return getattr(_stderr(), "encoding", None) or "utf-8"

    def _attempt(self, name: str, *arguments: str) -> Any:
        try:
            return getattr(_stderr(), name)(*arguments)
        except AttributeError:
            return None  # there is no stderr
        except (OSError, ValueError):
            _silence(_stderr())
            return None


def _stderr() -> Any:
    return getattr(sys.stderr, "rich_proxied_file", sys.stderr)


def _silence(stream: Any) -> None:
    """Redirects a broken stream to /dev/null, so that the process can end cleanly."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


console = Console(file=cast(TextIO, _Stderr()), highlight=False, soft_wrap=True)

_LINE_SECONDS = 10.0
_NARROW = 60  # characters, in which a bar would leave no room for the numbers
_DAY = 86400.0


def _bar(*columns: ProgressColumn, transient: bool = False) -> Progress | None:
    """A bar on stderr, or None where stderr cannot show one.

    What is printed to stdout meanwhile appears above it, unless stdout goes elsewhere.
    """
    if not redraws(console) and not _shows_widgets():
        return None
    redirect = sys.stdout is not None and sys.stdout.isatty()
    return Progress(*columns, console=console, transient=transient, redirect_stdout=redirect)


def redraws(screen: Console) -> bool:
    """Whether what is drawn there can be drawn over: a terminal that can move its cursor.

    rich takes a file for one where the environment asks for colours.
    """
    return screen.is_interactive and screen.is_terminal and screen.file.isatty()


def _shows_widgets() -> bool:
    return console.is_jupyter and find_spec("ipywidgets") is not None


def say(message: str) -> None:
    """Prints one line."""
    console.print(Text(message))


def warn(message: str) -> None:
    """Prints one line about a problem that does not stop the program."""
    console.print(Text(f"warning: {message}", style="yellow"))


def show_warnings() -> None:
    """Has warnings about a simulation appear as `warn` says them, once each; others stay."""
    before, said = warnings.showwarning, set[str]()

    def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        if not issubclass(category, QuiltWarning):
            before(message, category, *rest, **more)
        elif str(message) not in said:
            said.add(str(message))
            warn(str(message))

    warnings.showwarning = show


class RunProgress:
    """Progress of a run of `total` steps of `timestep` ps; a context that is told of steps done."""

    def __init__(self, step: int, total: int, timestep: float) -> None:
        self._first, self._total, self._timestep = step, total, timestep
        self._begin = self._last_line = time.perf_counter()
        self._step = self._said = step
        self._bar = _bar(*_columns()) if total > step else None  # not for a minimisation alone

    def __enter__(self) -> RunProgress:
        if self._bar is not None:
            self._task = self._bar.add_task("", total=self._total, completed=self._first, speed="")
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.refresh()  # rich ends a notebook's bar as it was last drawn
            self._bar.stop()
        elif error is None and self._step != self._said:
            self._line()

    def update(self, step: int) -> None:
        """The run has reached `step`."""
        self._step = step
        if self._bar is not None:
            self._bar.update(self._task, completed=step, speed=f"{self.speed():.3g} ns/day")
        elif time.perf_counter() - self._last_line >= _LINE_SECONDS:
            self._line()

    def speed(self) -> float:
        """Mean speed so far, ns/day."""
        seconds = max(time.perf_counter() - self._begin, 1e-9)
        return (self._step - self._first) * self._timestep * 1e-3 * _DAY / seconds

    def _line(self) -> None:
        self._last_line, self._said = time.perf_counter(), self._step
        done = self._step - self._first
        if done == 0:  # it may wait for a viewer
            say(f"step {self._step} of {self._total}")
            return
        left = (self._last_line - self._begin) / done * (self._total - self._step)
        say(f"step {self._step} of {self._total}, {self.speed():.3g} ns/day, {clock(left)} left")


def _columns() -> tuple[ProgressColumn, ...]:
    """Columns of the progress bar; in a narrow window only those that fit."""
    speed = "{task.fields[speed]}"
    if console.width < _NARROW:
        return (TextColumn("step {task.completed:.0f}/{task.total:.0f} " + speed),)
    count = MofNCompleteColumn(table_column=Column(no_wrap=True))  # where room is short, the bar
    step = (TextColumn("step"), count, BarColumn())
    return (*step, TextColumn(speed), TextColumn("ETA"), TimeRemainingColumn())


class MinimizeProgress:
    """Progress of a minimisation; a context that is told of each iteration."""

    def __init__(self) -> None:
        self._last_line = time.perf_counter()
        columns = (SpinnerColumn(), TextColumn("{task.description}"))
        self._bar = _bar(*columns, transient=True)

    def __enter__(self) -> MinimizeProgress:
        if self._bar is not None:
            self._task = self._bar.add_task("minimising")
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, iteration: int, potential: float, largest_force: float) -> None:
        """The number of iterations done: potential, kJ/mol, and largest force, kJ/mol/nm."""
        text = (
            f"minimising: iteration {iteration}, potential {potential:.1f} kJ/mol, "
            f"largest force {largest_force:.0f} kJ/mol/nm"
        )
        if self._bar is not None:
            self._bar.update(self._task, description=text)
        elif time.perf_counter() - self._last_line >= _LINE_SECONDS:
            self._last_line = time.perf_counter()
            say(text)
