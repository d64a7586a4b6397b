# SPDX-License-Identifier: Apache-2.0
"""The page of a run with stages: how far each is, and what went on through all of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..pages.charts import Chart
from ..pages.html import Row, charts, note, page, table
from ..running.config import build_config
from ..running.folder import Folder
from ..running.introduction import what
from ..running.records import Columns, is_known, last_error, read_log, steps_done
from ..running.spans import span
from ..running.stages import Stage, stages_of
from .run_page import time_unit

# Columns of the log that mean the same in every stage, and their units.
_THROUGH = {
    "potential": ("Potential energy", "kJ/mol"),
    "temperature": ("Temperature", "K"),
    "pressure": ("Pressure", "bar"),
    "density": ("Density", "kg/m\u00b3"),
}


def make_stages_report(folder: Folder) -> str:
    """The page of all stages of a run."""
    stages = stages_of(folder.settings(), str(folder.config))
    begun = [stage for stage in stages if stage.folder.log.exists()]
    logs = [read_log(stage.folder.log) for stage in begun]
    headings = ("stage", "what", "steps done", "time", *_headings())
    rows = [*_rows(begun, logs), *(_row_of_none(stage) for stage in stages[len(begun) :])]
    summary = [
        f"{len(stages)} stages, of which {len(begun)} have begun",
        str(folder.path),
        "Means are over the second half of each stage. For details of a stage, use "
        "'quiltmd report' with its folder.",
    ]
    sections = [("Stages", table(headings, rows, 4)), ("Over time", _over_time(logs))]
    return page(f"Run {folder.path.name}", summary, sections)


def _headings() -> Iterator[str]:
    for title, unit in _THROUGH.values():
        yield f"{title.lower()}, {unit}"


def _rows(begun: list[Stage], logs: list[Columns]) -> Iterator[Row]:
    for stage, log in zip(begun, logs, strict=True):
        config = build_config(stage.folder.settings(), str(stage.folder.config))
        done = max(0, steps_done(log, stage.folder.sessions) - config.run.first_step)
        fault = "" if last_error(stage.folder.sessions) is None else ", ended with an error"
        yield (
            stage.folder.path.name,
            what(config),
            f"{done} of {config.run.steps}{fault}",
            span(done * config.integrator.timestep),
            *(_mean(log, name) for name in _THROUGH),
        )


def _row_of_none(stage: Stage) -> Row:
    return (stage.folder.path.name, what(stage.config), "not begun", "", *("" for _ in _THROUGH))


def _mean(log: Columns, name: str) -> str:
    values = log[name][len(log[name]) // 2 :]
    return f"{values.mean():.6g}" if len(values) and is_known(log, name) else ""


def _over_time(logs: list[Columns]) -> str:
    """Plots over all stages; a dotted line marks the beginning of each stage."""
    logs = [log for log in logs if len(log["step"])]
    if sum(len(log["step"]) for log in logs) < 2:
        return note("The logs have too few rows.")
    lengths = [log["time"][-1] - log["time"][0] for log in logs]
    begins = [0.0, *np.cumsum(lengths)]
    divisor, unit = time_unit(begins[-1])
    spans = zip(logs, begins[:-1], strict=True)
    times = np.concatenate([log["time"] - log["time"][0] + begin for log, begin in spans]) / divisor
    marks = tuple(begin / divisor for begin in begins[1:-1])
    shown = []
    for name, (title, of) in _THROUGH.items():
        if all(is_known(log, name) for log in logs):
            values = np.concatenate([log[name] for log in logs])
            shown.append(Chart(title, of, times, values, unit, marks=marks))
    return note("Dotted lines mark the beginning of a stage.") + charts(shown)
