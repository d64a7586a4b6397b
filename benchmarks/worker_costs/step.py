# SPDX-License-Identifier: Apache-2.0
"""What a step takes with the engine or the device in a worker: `python benchmarks/workers.py step`.

Workers are processes of this machine, reached by a Unix socket, by TCP, or by TCP through a proxy
that passes on everything late, as a slow network does.  Rows are taken in turn, and the fastest of
each counts, as clocks of devices drift.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quiltmd.engine.worker_settings import Workers
from quiltmd.outputs.checkpoint import digest
from quiltmd.running.benchmark import prepare, time_steps, warm_up_steps
from quiltmd.running.simulation import Simulation

from .network import Proxy, server_here, slept

_TURNS = 4


def compare_levels(
    device: str,
    system: str,
    tile: tuple[int, int, int],
    delays: Sequence[float],
    *,
    steps: int = 0,
    seconds: float = 0.5,
) -> list[dict[str, Any]]:
    """Times a standard system on a device of this process, and by workers.

    Parameters
    ----------
    device:
        Its name, without a worker.
    system, tile:
        As for `quiltmd bench`.
    delays:
        Of the network, ms in each direction.
    steps, seconds:
        Steps that are timed in each turn; 0: as many as the device of this process does in so many
        seconds.

    Returns
    -------
    Rows: atoms, level ("here", "engine", "device": what the worker has), connection ("worker",
    "remote", "proxy"), delay_ms and slept_ms (what a delay takes by the timer of the system) with a
    proxy, us_per_step, more_percent (than the first), and the digest of the State at the end, which
    must be the same in all.
    """
    with server_here() as (port, key):
        rows = _rows(device, port, delays)
        simulations = _simulations(rows, system, tile, key)
        least = fastest(simulations, steps, seconds)
        for row, simulation, taken in zip(rows, simulations, least, strict=True):
            row["atoms"] = simulation.system.atoms
            row["us_per_step"] = 1e6 * taken
            row["more_percent"] = 100 * (taken / least[0] - 1)
            row["digest"] = digest(simulation.state())
        del simulations, simulation  # workers end before their server
    return rows


def fastest(simulations: Sequence[Simulation], steps: int, seconds: float) -> list[float]:
    """Seconds that a step of each takes, of a few turns the fastest.

    In each turn `steps` steps are timed, or where that is 0, as many as the first simulation does
    in so many seconds.
    """
    warm = steps or warm_up_steps(simulations[0])
    for simulation in simulations:
        simulation.run(warm)
    once, *_ = (time_steps(simulation, warm) for simulation in simulations)
    steps = steps or max(1, round(seconds * warm / once))
    turns = [[time_steps(one, steps) for one in simulations] for _ in range(_TURNS)]
    return [min(taken) / steps for taken in zip(*turns, strict=True)]


def _rows(device: str, port: int, delays: Sequence[float]) -> list[dict[str, Any]]:
    """Level, connection and delay of each row, with the name of the device."""
    rows: list[dict[str, Any]] = [{"level": "here", "connection": "", "device": device}]
    by_socket = f"worker:{device}"
    for level, name in (("engine", by_socket), ("device", f"forward:{by_socket}")):
        rows.append({"level": level, "connection": "worker", "device": name})
    rows += _by_tcp(device, port, {"connection": "remote"})
    for delay in delays:
        late = {"connection": "proxy", "delay_ms": delay, "slept_ms": slept(delay)}
        rows += _by_tcp(device, Proxy(port, 1e-3 * delay).port, late)
    return rows


def _by_tcp(device: str, port: int, about: dict[str, Any]) -> list[dict[str, Any]]:
    there = f"remote:127.0.0.1:{port}/{device}"
    by_level = {"engine": there, "device": f"forward:{there}"}
    return [{"level": level, "device": name, **about} for level, name in by_level.items()]


def _simulations(
    rows: Sequence[dict[str, Any]], system: str, tile: tuple[int, int, int], key: Path
) -> list[Simulation]:
    """All from the same State, each on the device of its row."""
    start = prepare(system, tile, device=rows[0]["device"])
    state = start.state()
    return [
        Simulation(
            start.system,
            state,
            integrator=start.integrator,
            device=row["device"],
            workers=Workers() if row["level"] == "here" else Workers(key=key),
        )
        for row in rows
    ]
