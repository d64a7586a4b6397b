# SPDX-License-Identifier: Apache-2.0
"""Contents of the folder of a run, stages or a replica exchange, for `quiltmd info RUN`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import QuiltError
from ..exchange.analysis import read_history
from ..exchange.config import ExchangeConfig
from ..exchange.runner import steps_of_exchange
from ..outputs.checkpoint import read_latest
from ..running.config import Config, build_config, build_config_of
from ..running.folder import Folder
from ..running.introduction import what
from ..running.records import last_error, read_log, read_sessions, speeds, steps_done
from ..running.spans import span
from ..running.stages import stages_of


def facts_of_folder(folder: Folder) -> dict[str, Any]:
    """Progress, device and the command that continues the run; QuiltError without a run."""
    settings, source = folder.settings(), str(folder.config)
    if "exchange" in settings:
        return _exchange(folder, build_config_of(ExchangeConfig, settings, source))
    if "stage" not in settings:
        return _run(folder, build_config(settings, source))
    stages = stages_of(settings, source)
    done = [one for one in stages if one.folder.config.exists()]
    facts = {one.folder.path.name: _run(one.folder, one.config) for one in done}
    for one in stages[len(done) :]:
        facts[one.folder.path.name] = {"what": what(one.config), "state": "not begun"}
    return {**facts, **_next(folder, not all(one.is_done() for one in stages), "run")}


def _run(folder: Folder, config: Config) -> dict[str, Any]:
    log = read_log(folder.log) if folder.log.exists() else {"step": np.empty(0)}
    step = max(config.run.first_step, steps_done(log, folder.sessions))
    left = config.run.last_step - step
    sessions = read_sessions(folder.sessions)
    facts: dict[str, Any] = {"what": what(config), "state": _state(folder, left)}
    facts["steps"] = f"{step - config.run.first_step} of {config.run.steps}"
    facts["time"] = span((step - config.run.first_step) * config.integrator.timestep)
    try:
        checkpoint, _ = read_latest(folder.checkpoint)
    except QuiltError as error:
        facts["checkpoint"] = str(error)
    else:
        facts["atoms"] = len(checkpoint.state.positions)
        facts["checkpoint"] = f"step {checkpoint.state.step}"
    if sessions:
        last = sessions[-1]
        speed = speeds(sessions)
        facts["device"] = f"{last.get('device')} ({', '.join(last.get('devices', []))})"
        facts["host"] = last.get("host")
        facts["speed"] = f"{speed[-1]:.3g} ns/day" if speed else None
    facts["inputs"] = {name: str(file) for name, file in config.input_files().items()}
    return {**facts, **_next(folder, left > 0, "run")}


def _state(folder: Folder, left: int) -> str:
    if (error := last_error(folder.sessions)) is not None:
        return f"ended with an error: {error}"
    if left <= 0:
        return "done"
    sessions = read_sessions(folder.sessions)
    if sessions and sessions[-1].get("ended") is None:
        return "running, or killed"
    return "stopped"


def _exchange(folder: Folder, config: ExchangeConfig) -> dict[str, Any]:
    step = steps_of_exchange(folder.path)
    facts: dict[str, Any] = {"what": f"replica exchange, {what(config)}"}
    facts["state"] = "done" if step >= config.run.steps else "running, stopped or killed"
    facts["steps"] = f"{step} of {config.run.steps} of each replica"
    facts["time"] = span(step * config.integrator.timestep)
    try:
        facts |= _rounded(read_history(folder.path).summary())
    except QuiltError as error:
        facts["iterations"] = str(error)
    facts["inputs"] = {name: str(file) for name, file in config.input_files().items()}
    return {**facts, **_next(folder, step < config.run.steps, "exchange")}


def _rounded(summary: dict[str, Any]) -> dict[str, Any]:
    """The summary of an exchange with the digits that people read."""

    def one(value: Any) -> Any:
        if isinstance(value, list):
            return [one(item) for item in value]
        return round(value, 4) if isinstance(value, float) else value

    return {name: one(value) for name, value in summary.items()}


def _next(folder: Folder, unfinished: bool, command: str) -> dict[str, str]:
    """Commands for the folder."""
    found = {"continue with": f"quiltmd {command} --resume {folder.path}"} if unfinished else {}
    return {**found, "look at it with": f"quiltmd report {folder.path}"}
