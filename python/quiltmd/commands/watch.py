# SPDX-License-Identifier: Apache-2.0
"""`quiltmd watch`: a run as it goes on, drawn in the terminal.

Reads files alone, and never the run: watching cannot disturb it, works on another machine that sees
the folder, and after the end.  Lines are drawn in Braille patterns, eight dots a character;
where the output cannot show these, in plain characters.
"""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from pydantic import Field
from rich.console import Console
from rich.live import Live
from rich.text import Text

from ..description.units import Seconds
from ..errors import QuiltError
from ..exchange.analysis import History, read_history
from ..exchange.config import ExchangeConfig
from ..exchange.record import state_name
from ..exchange.runner import steps_of_exchange
from ..outputs.reporters import LOG_SPEED, group_column
from ..running.config import Config, build_config, build_config_of
from ..running.folder import Folder
from ..running.progress import redraws
from ..running.records import (
    Columns,
    is_known,
    last_error,
    read_log,
    read_sessions,
    speeds,
    steps_done,
)
from ..running.spans import clock
from ..running.stages import has_stages, stages_of
from .declared import declared

_F64 = NDArray[np.float64]
_Interval = Annotated[Seconds, Field(ge=0.1)]

_DAY = 86400.0
_NARROW = 78  # characters in which titles fit side by side
_SMALLEST = 20  # characters of a panel, of which labels may take 13
_QUIET_SECONDS = 60.0  # without a new row; then it is said how long
# Dots of a character, by row from the top and by column, as bits of U+2800.
_DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])


def watch(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    seconds: Annotated[float, declared(_Interval, "Time between updates, s.")] = 2.0,
    once: Annotated[
        bool, typer.Option("--once", help="Print the current state once and end.")
    ] = False,
) -> None:
    """Show energies, temperature and speed of a run live.

    Plots energies, temperature, pressure, density and speed in the terminal.  For a run with stages
    the plots show the current stage; for a replica exchange the command shows the states, swaps
    and round trips, and the log of the first state.  The command ends when the run ends, or with
    Ctrl-C, which does not stop the run.
    """
    place = Folder(folder.absolute())
    screen = Console(highlight=False)
    if once or not redraws(screen):
        screen.print(_picture(place, screen), end="")
        return
    with Live(console=screen, auto_refresh=False, screen=True) as live:
        try:
            while True:
                live.update(_picture(place, screen), refresh=True)
                if is_done(place):
                    break
                time.sleep(seconds)
        except KeyboardInterrupt:
            pass
    screen.print(_picture(place, screen), end="")


def _shown(config: Config) -> Iterator[tuple[str, str]]:
    """Columns of the log and their titles."""
    yield "potential", "potential energy, kJ/mol"
    yield "conserved", "conserved quantity, kJ/mol"
    yield "temperature", "temperature, K"
    for number, group in enumerate(config.bath, 1):
        yield group_column(number), f"temperature of '{group.select}', K"
    yield "pressure", "pressure, bar"
    yield "density", "density, kg/m\u00b3"
    yield LOG_SPEED, "speed, ns/day"


@dataclass(frozen=True)
class _Watched:
    """The run in a folder, or the stage that a run with stages has come to; its name."""

    folder: Folder
    name: str


def _watched(folder: Folder) -> _Watched:
    if not has_stages(folder.path):
        return _Watched(folder, folder.path.name)
    stages = stages_of(folder.settings(), str(folder.config))
    number = max(1, sum(stage.folder.config.exists() for stage in stages))
    stage = stages[number - 1]
    name = f"{folder.path.name}, stage {number} of {len(stages)}, {stage.name}"
    return _Watched(stage.folder, name)


def _picture(place: Folder, screen: Console) -> Text:
    """The whole screen."""
    if is_exchange(place):
        return _picture_of_exchange(place, screen)
    watched = _watched(place)
    folder = watched.folder
    if not folder.config.exists() and has_stages(place.path):
        return Text(f"{watched.name}, not begun\n")
    config = _config(folder)
    size = shutil.get_terminal_size((100, 30))
    width = min(screen.width, size.columns)
    try:
        log = read_log(folder.log)
    except QuiltError as error:
        return Text(f"{folder.path}\n{error}\n")
    text = Text(_headline(watched, config, log) + "\n")
    fault = last_error(folder.sessions) or ""
    text.append(f"{fault}\n" if fault else "")
    if len(log["step"]) == 0:
        return text.append("no rows in the log yet\n")
    shown = [(name, title) for name, title in _shown(config) if _has_values(log, name)]
    free = size.lines - 3 - math.ceil(len(fault) / width)
    return text.append(_panels(log, shown, width, free, screen))


def _panels(
    log: Columns, shown: list[tuple[str, str]], width: int, free: int, screen: Console
) -> str:
    """Columns of a log, drawn side by side within a number of lines."""
    columns, height = _layout(len(shown), width, free)
    panel = (width - 2 * (columns - 1)) // columns
    height = 0 if len(log["step"]) == 1 or panel < _SMALLEST else height
    plain = not (screen.encoding or "").lower().startswith("utf")
    panels = [_panel(log, name, title, panel, height, plain) for name, title in shown]
    rows = (panels[begin : begin + columns] for begin in range(0, len(panels), columns))
    return "".join(
        "  ".join(lines).rstrip() + "\n" for row in rows for lines in zip(*row, strict=True)
    )


def is_exchange(folder: Folder) -> bool:
    """Whether a folder is that of a replica exchange."""
    return folder.config.exists() and "exchange" in folder.settings()


def _exchange_config(folder: Folder) -> ExchangeConfig:
    return build_config_of(ExchangeConfig, folder.settings(), str(folder.config))


def _picture_of_exchange(folder: Folder, screen: Console) -> Text:
    """A replica exchange: progress, states, and the log of the first state."""
    config, step = _exchange_config(folder), steps_of_exchange(folder.path)
    size = shutil.get_terminal_size((100, 30))
    width = min(screen.width, size.columns)
    share = f"{step / config.run.steps:.1%}" if config.run.steps else "100%"
    end = ", done" if step >= config.run.steps else ""
    name = f"{folder.path.name}, replica exchange"
    text = Text(f"{name}, step {step} of {config.run.steps} ({share}){end}\n")
    try:
        lines = list(_lines_of_states(read_history(folder.path)))
    except QuiltError as error:
        return text.append(f"{error}\n")
    most = max(3, size.lines - 12)
    if len(lines) > most:
        lines = [*lines[: most - 1], f"... {len(lines) - most + 1} more"]
    text.append("".join(f"{line[:width]}\n" for line in lines))
    log = folder.path / state_name(0) / "log.csv"
    if not log.exists():
        return text
    first = read_log(log)
    if len(first["step"]) == 0:
        return text
    titles = (("potential", "potential energy of state 0, kJ/mol"), (LOG_SPEED, "speed, ns/day"))
    shown = [(name, title) for name, title in titles if _has_values(first, name)]
    return text.append(_panels(first, shown, width, size.lines - 3 - len(lines), screen))


def _has_values(log: Columns, name: str) -> bool:
    """Whether a column has a value to show; the first row of a log has no speed."""
    return bool((log[name] > 0).any()) if name == LOG_SPEED else is_known(log, name)


def _lines_of_states(history: History) -> Iterator[str]:
    """A line for each state, in columns."""
    summary = history.summary()
    yield f"{'state':<28} {'swaps with next':>15} {'potential, kJ/mol':>18} {'round trips':>11}"
    for k, name in enumerate(summary["states"]):
        rate = summary["acceptance"][k] if k + 1 < len(summary["states"]) else None
        swaps = "" if rate is None else f"{rate:.1%}"
        energy, trips = summary["mean_energy"][k], summary["round_trips"][k]
        yield f"{f'{k}: {name}':<28} {swaps:>15} {energy:>18.1f} {trips:>11}"


def _layout(panels: int, width: int, lines: int) -> tuple[int, int]:
    """Columns of panels, and lines of each plot; 0 where no more than their titles fit."""
    columns = 1
    for columns in (2,) if width >= 100 else (1, 2) if width >= _NARROW else (1,):
        height = min(9, lines // -(-panels // columns) - 1)
        if height >= 2:
            return columns, height
    return columns, 0


def _headline(watched: _Watched, config: Config, log: Columns) -> str:
    folder, failed = watched.folder, last_error(watched.folder.sessions) is not None
    first, steps, last = config.run.first_step, config.run.steps, config.run.last_step
    done = max(first, steps_done(log, folder.sessions))
    share = f"{(done - first) / steps:.1%}" if steps else "100%"
    stopped = _stopped_at(folder) if done < last else None
    parts = [watched.name, f"step {done} of {last} ({share})"]
    speed = log[LOG_SPEED][log[LOG_SPEED] > 0][-10:]
    if done >= last:
        means = speeds(read_sessions(folder.sessions))
        parts += ["done", *(f"{mean:.3g} ns/day" for mean in means[-1:])]
    elif failed:
        parts.append("ended with an error")
    elif stopped is not None:
        parts.append(f"stopped at step {stopped}")
    elif len(speed):
        left = (last - done) * config.integrator.timestep * 1e-3 / np.median(speed) * _DAY
        parts += [f"{np.median(speed):.3g} ns/day", f"{clock(float(left))} left"]
    quiet = time.time() - folder.log.stat().st_mtime
    if done < last and stopped is None and not failed and quiet > _QUIET_SECONDS:
        parts.append(f"no new row for {clock(quiet)}")
    return ", ".join(parts)


def _stopped_at(folder: Folder) -> int | None:
    """The step at which the run was left, if nothing is known to advance it since."""
    sessions = read_sessions(folder.sessions)
    return None if not sessions else sessions[-1]["to_step"]


def _panel(log: Columns, name: str, title: str, width: int, height: int, plain: bool) -> list[str]:
    """A title with the last value, and below it a plot of this height and width."""
    x, y = log["time"], log[name]
    if name == LOG_SPEED:
        x, y = x[y > 0], y[y > 0]
    title = title.replace("\u00b3", "^3") if plain else title
    last = _number(float(y[-1]))
    head = f"{title[: width - len(last) - 2]}: {last}"[:width]
    if height == 0:
        return [f"{head:<{width}}"]
    low, high = float(y.min()), float(y.max())
    margin = max(len(_number(low)), len(_number(high))) + 1
    drawn = draw(x, y, width - margin, height, plain)
    labels = [""] * height
    labels[0], labels[-1] = _number(high), _number(low)
    plot = [f"{label:>{margin - 1}} {line}" for label, line in zip(labels, drawn, strict=True)]
    return [f"{line[:width]:<{width}}" for line in (head, *plot)]


def draw(x: _F64, y: _F64, width: int, height: int, plain: bool = False) -> list[str]:
    """A line through points, drawn in `height` lines of `width` characters.

    Each column of dots shows the range of the values that fall into it, and is joined to the one
    before, so that neither peaks nor steep slopes get lost.
    """
    across, up = (1, 1) if plain else (2, 4)
    columns, rows = width * across, height * up
    low, high = float(y.min()), float(y.max())
    span = high - low or 1.0
    level = np.full(len(y), (rows - 1) // 2) if high == low else None
    at = np.round((y - low) / span * (rows - 1)).astype(int) if level is None else level
    length = float(x[-1] - x[0]) or 1.0
    place = np.round((x - x[0]) / length * (columns - 1)).astype(int)
    dots = np.zeros((rows, columns), dtype=bool)
    before: tuple[int, int] | None = None
    for column in np.unique(place):
        values = at[place == column]
        _join(dots, before, (int(column), int(values[0])))
        dots[values.min() : values.max() + 1, column] = True
        before = int(column), int(values[-1])
    dots = dots[::-1]
    if plain:
        return ["".join("*" if dot else " " for dot in row) for row in dots]
    cells = dots.reshape(height, up, width, across)
    codes = 0x2800 + np.einsum("hrwc,rc->hw", cells.astype(int), _DOTS)
    return ["".join(map(chr, row)) for row in codes.tolist()]


def _join(dots: NDArray[np.bool_], begin: tuple[int, int] | None, end: tuple[int, int]) -> None:
    """A straight line of dots between two places (column, row)."""
    if begin is None:
        return
    count = max(abs(end[0] - begin[0]), abs(end[1] - begin[1])) + 1
    columns = np.round(np.linspace(begin[0], end[0], count)).astype(int)
    rows = np.round(np.linspace(begin[1], end[1], count)).astype(int)
    dots[rows, columns] = True


def is_done(folder: Folder) -> bool:
    """Whether the run has done its steps, those of all stages or replicas."""
    if is_exchange(folder):
        return steps_of_exchange(folder.path) >= _exchange_config(folder).run.steps
    if has_stages(folder.path):
        stages = stages_of(folder.settings(), str(folder.config))
        return all(stage.folder.config.exists() and is_done(stage.folder) for stage in stages)
    log = read_log(folder.log) if folder.log.exists() else {"step": np.empty(0)}
    begun = len(log["step"]) > 0
    return begun and steps_done(log, folder.sessions) >= _config(folder).run.last_step


def _config(folder: Folder) -> Config:
    return build_config(folder.settings_of_run(), str(folder.config))


def _number(value: float) -> str:
    return f"{value:.6g}"
