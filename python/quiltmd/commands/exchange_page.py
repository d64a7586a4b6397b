# SPDX-License-Identifier: Apache-2.0
"""The page of a replica exchange: its states, how replicas went through them, energies."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..errors import QuiltError
from ..exchange.analysis import History, read_history
from ..exchange.config import ExchangeConfig
from ..exchange.runner import steps_of_exchange
from ..exchange.states import describe_state
from ..pages.charts import Chart
from ..pages.html import Row, charts, note, page, table
from ..running.config import build_config_of
from ..running.folder import Folder
from ..running.free_energies import free_energies
from ..running.introduction import what
from ..running.spans import span
from .alchemy_page import sections as free_energy_sections
from .run_page import inputs_of, settings_of_page, time_unit


def make_exchange_report(folder: Folder) -> str:
    """The page of a replica exchange, so far as it has come."""
    config = build_config_of(ExchangeConfig, folder.settings(), str(folder.config))
    step = steps_of_exchange(folder.path)
    states = config.states()
    ends = f"from {describe_state(states[0])} to {describe_state(states[-1])}"
    summary = [
        f"Replica exchange, {what(config)}",
        f"{len(states)} replicas {ends}, swaps every {config.exchange.every} steps",
        f"{step} of {config.run.steps} steps done, {span(step * config.integrator.timestep)} each",
        str(folder.path),
    ]
    try:
        history = read_history(folder.path)
    except QuiltError as error:
        sections = [("States", note(f"Nothing to show: {error}."))]
    else:
        sections = [("States", _states(history)), ("Over time", _over_time(history))]
        if config.exchange.kind == "alchemical":
            sections += _free_energies(folder)
    sections.append(("Inputs", table(("file", "SHA-256"), inputs_of(config))))
    sections.append(("Settings", table(("setting", "value"), settings_of_page(config))))
    return page(f"Replica exchange {folder.path.name}", summary, sections)


def _free_energies(folder: Folder) -> list[tuple[str, str]]:
    try:
        return free_energy_sections(free_energies([folder.path]))
    except QuiltError as error:
        return [("Free energies", note(f"None: {error}."))]


def iterations_in_words(relaxation: float | None) -> str:
    """A relaxation time; None where some states have not exchanged their replicas."""
    if relaxation is None:
        return "unknown, as not all neighbouring states have swapped replicas"
    return f"{relaxation:.3g} iterations"


def _states(history: History) -> str:
    summary = history.summary()
    headings = ("state", "conditions", "swaps with the next", "mean potential, kJ/mol", "trips")
    rows: list[Row] = []
    for k, name in enumerate(summary["states"]):
        rate = summary["acceptance"][k] if k + 1 < len(summary["states"]) else None
        shown = "" if rate is None else f"{rate:.1%}"
        trips = str(summary["round_trips"][k])
        rows.append((str(k), name, shown, f"{summary['mean_energy'][k]:.1f}", trips))
    explained = (
        f"{summary['iterations']} iterations. Trips: round trips between the first and the last "
        "state of the replica that began in this state. Relaxation time of replica positions: "
        f"{iterations_in_words(summary['relaxation'])}."
    )
    return table(headings, rows, 2) + note(explained)


def _over_time(history: History) -> str:
    if len(history.times) < 2:
        return note("Too few iterations.")
    divisor, unit = time_unit(history.times[-1])
    return charts(_charts(history, history.times / divisor, unit))


def _charts(history: History, times: np.ndarray, unit: str) -> Iterator[Chart]:
    places = np.argsort(history.walkers, axis=1).astype(float)
    for replica in dict.fromkeys((0, len(history.states) - 1)):
        title = f"State of replica {replica}"
        states = len(history.states)
        yield Chart(title, "number of the state", times, places[:, replica], unit, numbers=states)
    for k in dict.fromkeys((0, len(history.states) - 1)):
        title = f"Potential energy, state {k} ({describe_state(history.states[k])})"
        yield Chart(title, "kJ/mol", times, history.energies[:, k, k], unit)
