# SPDX-License-Identifier: Apache-2.0
"""Records of a run: its log as columns, and its sessions.

A session is one process that advanced the run: on which machine and devices, from which step to
which, how fast, how long each rank worked and waited, which devices failed, and the error that
ended it, if any.  One without an end was killed, or still goes on.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import QuiltError
from ..outputs.files import read_file, reading, replace_file
from ..version import package_version
from .progress import warn
from .provenance import program
from .simulation import Simulation

Columns = dict[str, NDArray[np.float64]]


def read_log(path: Path) -> Columns:
    """The columns of a log.csv by name; a row that is still being written does not count.

    QuiltError if there is none, or it is none.
    """
    with reading(path):
        data = read_file(path)
    header, *rows = data[: data.rfind(b"\n") + 1].decode("ascii", "replace").splitlines() or [""]
    names = header.split(",")
    if names[:2] != ["step", "time"]:
        raise QuiltError(f"{path}: not a log of quiltmd")
    try:
        values = np.loadtxt(rows, delimiter=",", ndmin=2) if rows else np.empty((0, len(names)))
        return dict(zip(names, values.T, strict=True))
    except ValueError as error:
        raise QuiltError(
            f"{path}: a row of this log cannot be read ({error}): the file is damaged"
        ) from None


def is_known(log: Columns, name: str) -> bool:
    """Whether a column has numbers: without a periodic box there is no pressure and no density."""
    return bool(np.isfinite(log[name]).all())


class Session:
    """A session of a run, from its begin to its end.

    Parameters
    ----------
    path:
        sessions.json of the run; what it has stays.
    simulation:
        The simulation, at the step where the session begins.
    """

    def __init__(self, path: Path, simulation: Simulation) -> None:
        self._path, self._simulation = path, simulation
        self._earlier = read_sessions(path)
        layout = simulation.describe()
        self._about: dict[str, Any] = {
            "begun": _now(),
            "ended": None,
            "from_step": simulation.step,
            "to_step": None,
            "host": platform.node(),
            "version": package_version(),
            "device": simulation.device,
            "devices": [str(device["name"]) for device in layout["devices"]],
            "ranks": int(layout["ranks"]),
            "atoms": simulation.system.atoms,
            "program": program(),
        }
        self._write()

    def end(self, speed: float) -> None:
        """Adds what is known at the end; `speed` is the mean, ns/day."""
        self._about |= {
            "ended": _now(),
            "to_step": self._simulation.step,
            "speed": speed,
            "time_of_ranks": _time_of_ranks(self._simulation.profile()),
            "faults": [asdict(fault) for fault in self._simulation.faults],
        }
        self._write()

    def fail(self, error: str) -> None:
        """Adds the error that ended it; on a disk that is full nothing more is said."""
        self._about |= {"ended": _now(), "error": error}
        with suppress(QuiltError, OSError):
            self._write()

    def _write(self) -> None:
        replace_file(self._path, json.dumps([*self._earlier, self._about], indent=1).encode())


def read_sessions(path: Path) -> list[dict[str, Any]]:
    """The sessions of a run, the first one first; none where the file is missing or damaged."""
    if not path.exists():
        return []
    with reading(path):
        data = read_file(path)
    try:
        found = json.loads(data)
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        warn(f"{path} is damaged: its records of earlier sessions are lost")
        return []
    return found


def speeds(sessions: Sequence[Mapping[str, Any]]) -> list[float]:
    """Mean speeds of sessions that have one, ns/day."""
    return [one["speed"] for one in sessions if one.get("speed")]


def last_error(sessions: Path) -> str | None:
    """The error that ended the last session of a run, if one did."""
    found = read_sessions(sessions)
    return found[-1].get("error") if found else None


def steps_done(log: Columns, sessions: Path) -> int:
    """The step that a run is known to have reached: by its log, or by the end of a session."""
    logged = int(log["step"][-1]) if len(log["step"]) else 0
    return max([logged, *(one.get("to_step") or 0 for one in read_sessions(sessions))])


def _time_of_ranks(tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Seconds of each rank by task, and seconds of waiting for messages."""
    ranks: dict[int, dict[str, float]] = {}
    for task in tasks:
        of_rank = ranks.setdefault(int(task["rank"]), {})
        of_rank[task["name"]] = of_rank.get(task["name"], 0.0) + float(task["seconds"])
    return [
        {"rank": rank, "waited": tasks.pop("wait", 0.0), "tasks": tasks}
        for rank, tasks in sorted(ranks.items())
    ]


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
