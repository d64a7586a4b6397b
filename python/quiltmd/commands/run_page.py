# SPDX-License-Identifier: Apache-2.0
"""The page of a run, or of one stage: what is in its folder as charts and tables."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import QuiltError
from ..outputs.files import hash_file
from ..outputs.reporters import LOG_SPEED, group_column
from ..pages.charts import Chart
from ..pages.html import Row, bars, charts, note, page, table
from ..running.config import Config, build_config
from ..running.folder import Folder
from ..running.introduction import what
from ..running.records import Columns, is_known, last_error, read_log, read_sessions, steps_done
from ..running.rmsd import solute_rmsd
from ..running.run_inputs import load_system
from ..running.spans import span
from ..running.statistics import Estimated, drift, mean
from ..workers.pool import PHASES

_TASKS = 8  # the longest, in the table
_OF_TIME = ("mean of the second half", "drift per ns", "trend")
_ERRORS = (
    "\u00b1: one standard error, from the statistical inefficiency of the series. Trend: steady "
    "if the drift is within two standard errors."
)
_SURE = 2.0  # standard errors beyond which a drift is one
_STEEP = 1.0  # kJ/mol/ns per atom; good time steps stay well below (docs/user/files.md)
_MOST_PLACES = 6  # before and after the point, in which numbers stay readable
_ENOUGH = 20  # rows of the log, for a verdict on the energy


@dataclass(frozen=True)
class Quantity:
    """A column of the log, and the temperature of its heat bath."""

    column: str
    title: str
    unit: str
    bath: float | None = None


def quantities(config: Config) -> Iterator[Quantity]:
    """In the order in which they are shown."""
    yield Quantity("potential", "Potential energy", "kJ/mol")
    yield Quantity("kinetic", "Kinetic energy", "kJ/mol")
    yield Quantity("conserved", "Conserved quantity", "kJ/mol")
    bath = config.integrator
    steady = bath.ensemble != "nve" and bath.annealing is None and not config.bath
    yield Quantity("temperature", "Temperature", "K", bath.temperature if steady else None)
    for number, group in enumerate(config.bath, 1):
        title = f"Temperature of '{group.select}'"
        steady_group = group.temperature if group.annealing is None else None
        yield Quantity(group_column(number), title, "K", steady_group)
    yield Quantity("pressure", "Pressure", "bar")
    yield Quantity("density", "Density", "kg/m\u00b3")
    yield Quantity(LOG_SPEED, "Speed", "ns/day")


def make_report(folder: Folder) -> str:
    """The page of a run."""
    config = build_config(folder.settings_of_run(), str(folder.config))
    log = read_log(folder.log)
    sessions = read_sessions(folder.sessions)
    steps = max(0, steps_done(log, folder.sessions) - config.run.first_step)
    atoms = next((one["atoms"] for one in reversed(sessions) if "atoms" in one), None)
    summary = [what(config) if atoms is None else f"{atoms} atoms, {what(config)}"]
    if not config.run.only_minimizes():
        done = f"{steps} of {config.run.steps} steps done"
        summary.append(f"{done}, {span(steps * config.integrator.timestep)}")
    summary.append(str(folder.path))
    if (error := last_error(folder.sessions)) is not None:
        summary.append(f"Ended with an error: {error}")
    sections = [("Over time", _over_time(config, folder, log, steps))]
    sections.append(("Averages", _averages(config, log, atoms)))
    sections.append(("Balance of ranks", _balance(sessions)))
    sections.append(("Sessions and devices", _sessions(sessions)))
    if faults := _faults(sessions):
        sections.append(("Faults of devices", faults))
    sections.append(("Inputs", table(("file", "SHA-256"), inputs_of(config))))
    sections.append(("Settings", table(("setting", "value"), settings_of_page(config))))
    return page(f"Run {folder.path.name}", summary, sections)


def _over_time(config: Config, folder: Folder, log: Columns, steps: int) -> str:
    if len(log["step"]) == 0:
        return note("The log has no rows yet.")
    if len(log["step"]) == 1:
        return note(f"The log has one row, of step {log['step'][0]:.0f}:") + _one_row(config, log)
    divisor, unit = time_unit(log["time"][-1])
    times = log["time"] / divisor
    shown = []
    for one in quantities(config):
        if not is_known(log, one.column):
            continue
        first = 1 if one.column == LOG_SPEED else 0  # the first row has no speed
        values, of = log[one.column][first:], one.unit
        if one.column == "conserved":
            values, of = values - values[0], f"{of}; change since the start"
        if one.bath is not None:
            of += f"; dashed: heat bath, {one.bath:g} K"
        shown.append(Chart(one.title, of, times[first:], values, unit, one.bath))
    try:
        found = solute_rmsd(load_system(config)[0], folder.path, config.trajectories(), steps)
    except QuiltError as error:
        return charts(shown) + note(f"No RMSD: {error}.")
    of = f"nm, from the first frame; {found.of}"
    divisor, unit = time_unit(found.times[-1])
    return charts(
        [*shown, Chart("RMSD of the solute", of, found.times / divisor, found.values, unit)]
    )


def _one_row(config: Config, log: Columns) -> str:
    """Values of a log with a single row, as after a minimisation; without a speed."""
    rows = [
        (one.title, one.unit, f"{log[one.column][0]:.6g}")
        for one in quantities(config)
        if is_known(log, one.column) and one.column != LOG_SPEED
    ]
    return table(("quantity", "unit", "value"), rows, 2)


def _averages(config: Config, log: Columns, atoms: int | None) -> str:
    """Mean with its standard error, deviation, and drift with a verdict."""
    rows: list[Row] = []
    for one in quantities(config):
        if not is_known(log, one.column):
            continue
        values, times = log[one.column], log["time"]
        if one.column == LOG_SPEED:
            values, times = values[1:], times[1:]
        if len(values) < 2:
            continue
        half = len(values) // 2
        deviation = values.std() if np.ptp(values) > 1e-12 * abs(values.mean()) else 0.0
        slope = drift(times / 1000, values)
        average, later = mean(values), mean(values[half:]) if half > 1 else None
        rows.append(
            (
                one.title,
                one.unit,
                _with_error(average),
                f"{deviation:.3g}",
                f"{values[half:].mean():.6g}" if later is None else _with_error(later),
                _with_error(slope),
                _trend(slope),
            )
        )
    headings = ("quantity", "unit", "mean", "standard deviation", *_OF_TIME)
    if not rows:
        return note("The log has too few rows.")
    return table(headings, rows, 2) + note(_ERRORS) + _energy_drift(log, atoms)


def _with_error(found: Estimated) -> str:
    """A number and its standard error, with two digits of this; without one where it is unknown."""
    if math.isnan(found.error) or found.error == 0:
        return f"{found.value:.6g}"
    last = math.floor(math.log10(found.error)) - 1  # place of the second digit of the error
    if not -_MOST_PLACES <= last <= _MOST_PLACES:
        return f"{found.value:.3g} \u00b1 {found.error:.2g}"
    value, error = (round(number, -last) for number in (found.value, found.error))
    return f"{value:.{max(0, -last)}f} \u00b1 {error:.{max(0, -last)}f}"


def _trend(slope: Estimated) -> str:
    """Whether a drift can be told from none."""
    if math.isnan(slope.error):
        return "too few rows"
    if abs(slope.value) <= _SURE * slope.error or slope.value == 0:
        return "steady"
    return "rises" if slope.value > 0 else "falls"


def _energy_drift(log: Columns, atoms: int | None) -> str:
    """Assessment of the time step from the drift of the conserved quantity."""
    if atoms is None or len(log["step"]) < _ENOUGH or not is_known(log, "conserved"):
        return ""
    half = len(log["step"]) // 2  # at the beginning a system may settle
    found = drift(log["time"][half:] / 1000, log["conserved"][half:])
    per_atom = Estimated(found.value / atoms, found.error / atoms)
    least = abs(per_atom.value) - _SURE * per_atom.error
    verdict = "not significantly different from zero"
    if least > _STEEP:
        verdict = "too large: shorten the time step, or check whether the system is still relaxing"
    elif least > 0:
        verdict = "small, as expected for a suitable time step"
    elif _SURE * per_atom.error > _STEEP:
        verdict = "unknown: the run is too short"
    return note(
        f"Drift of the conserved quantity in the second half: {_with_error(per_atom)} "
        f"kJ/mol/ns per atom, {verdict}."
    )


def _balance(sessions: list[dict[str, Any]]) -> str:
    """Time of each rank in the last session that ended, and the longest tasks."""
    ended = [session for session in sessions if session.get("time_of_ranks")]
    if not ended:
        return note(
            "Unknown: sessions on CPUs record the balance when they end; on a GPU, "
            "`quiltmd run --profile` measures it."
        )
    ranks = ended[-1]["time_of_ranks"]
    shares = []
    tasks: dict[str, float] = {}
    for rank in ranks:
        worked = sum(rank["tasks"].values())
        shares.append((f"rank {rank['rank']}", worked / max(worked + rank["waited"], 1e-12)))
        for name, seconds in rank["tasks"].items():
            tasks[name] = tasks.get(name, 0.0) + seconds
    total = sum(tasks.values()) or 1.0
    longest = sorted(tasks.items(), key=lambda item: -item[1])[:_TASKS]
    rows = [(name, f"{seconds:.2f}", f"{seconds / total:.1%}") for name, seconds in longest]
    return bars(shares) + table(("task", "seconds, all ranks", "share of work"), rows, 1)


def _sessions(sessions: list[dict[str, Any]]) -> str:
    if not sessions:
        return note("Not recorded.")
    rows = []
    for one in sessions:
        devices = list(dict.fromkeys(one.get("devices", [])))
        end, fault = one.get("to_step"), " with an error" * ("error" in one)
        rows.append(
            (
                str(one.get("begun", "")),
                f"{one.get('ended') or 'killed, or still running'}{fault}",
                f"from {one.get('from_step', '')}" + ("" if end is None else f" to {end}"),
                f"{one.get('device', '')} ({', '.join(devices)}), {one.get('ranks', '?')} rank(s)",
                str(one.get("host", "")),
                _program(one),
                f"{one['speed']:.3g}" if one.get("speed") else "",
            )
        )
    headings = ("begun", "ended", "steps", "device", "host", "quiltmd", "ns/day")
    return table(headings, rows, 6)


def _program(session: dict[str, Any]) -> str:
    """Version, commit, and what the core was compiled with."""
    found = session.get("program", {})
    parts = [str(session.get("version", ""))]
    if found.get("commit"):
        parts.append(f"commit {found['commit'][:12]}")
    names = {"compiler": "", "cuda": "CUDA ", "driver": "driver ", "python": "Python "}
    parts += [f"{name}{found[key]}" for key, name in names.items() if found.get(key)]
    return ", ".join(parts)


def _faults(sessions: list[dict[str, Any]]) -> str:
    """Faults, and the seconds of each phase of recovery; empty without faults."""
    rows: list[Row] = []
    for fault in (fault for session in sessions for fault in session.get("faults", ())):
        phases = (fault["phases"].get(name) for name in PHASES)
        times = ("" if seconds is None else f"{seconds:.3f}" for seconds in phases)
        rows.append((str(fault["step"]), fault["text"], f"{fault['seconds']:.3f}", *times))
    headings = ("step", "fault", "s", *(f"{name}, s" for name in PHASES))
    return table(headings, rows, 2) if rows else ""


def inputs_of(config: Config) -> Iterator[Row]:
    """Files and their checksums."""
    system = config.system
    for path in (system.topology, system.coordinates, *system.parameters):
        try:
            yield str(path), hash_file(path)
        except OSError as error:
            yield str(path), f"cannot be read: {error.strerror}"


def settings_of_page(config: Config) -> Iterator[Row]:
    """Settings that have a use, and their values."""
    for name, section in config.used():
        for key, value in section.items():
            if value != []:
                yield f"{name}.{key}", value if isinstance(value, str) else json.dumps(value)


def time_unit(last: float) -> tuple[float, str]:
    """Divisor of times in ps for display, and the unit: ps, or ns for long times."""
    return (1000.0, "ns") if last >= 2000 else (1.0, "ps")
