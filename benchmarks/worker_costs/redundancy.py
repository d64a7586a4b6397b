# SPDX-License-Identifier: Apache-2.0
"""What it costs to compare two devices: `python benchmarks/workers.py redundancy`.

With engines that compute nothing for a set time, what is left is the comparison itself.  With
devices, rows are taken in turn and the fastest of each counts, as clocks of devices drift.
"""

from __future__ import annotations

import statistics
import time
from contextlib import ExitStack
from typing import Any

import numpy as np

from quiltmd.engine.places import parse_place
from quiltmd.engine.worker_settings import Workers
from quiltmd.outputs.checkpoint import digest
from quiltmd.running.benchmark import prepare
from quiltmd.running.simulation import Simulation
from quiltmd.workers.supervisor import Supervisor

from .null_engine import NullEngine, null_workers
from .step import fastest

_STEPS = 1000  # that a null engine counts in a call
_NOTHING: Any = ({}, {}, {"seed": 1}, {})  # of a null engine
_WORKER = parse_place("worker:cpu")


def compare_null_engines(
    atoms: int, calls: int = 5, milliseconds: float = 500.0
) -> list[dict[str, Any]]:
    """Times engines that compute nothing: here, in a worker, in two that are compared.

    Parameters
    ----------
    atoms:
        Of the States that are compared.
    calls:
        That are timed, after a first one.
    milliseconds:
        How long the steps of a call take: in a run half a second, or until the next report.

    Returns
    -------
    Rows: atoms, engine, milliseconds of a call, and how many percent that is more than the first.
    """
    seconds = 1e-3 * milliseconds
    with ExitStack() as stack:
        one, two = (stack.enter_context(null_workers(count, seconds)) for count in (1, 2))
        engines: dict[str, Any] = {
            "here": NullEngine({}, {}, {"seed": 1}, {}, seconds),
            "worker": one(*_NOTHING),
            "redundant": Supervisor([_WORKER] * 2, [], lambda _: two(*_NOTHING), Workers()),
        }
        taken = {name: _time_calls(engine, atoms, calls) for name, engine in engines.items()}
        engines.clear()
    return [
        {
            "atoms": atoms,
            "engine": name,
            "milliseconds": 1e3 * taken[name],
            "more_percent": 100 * (taken[name] / taken["here"] - 1),
        }
        for name in taken
    ]


def _time_calls(engine: Any, atoms: int, calls: int) -> float:
    """Seconds of a call, the median."""
    places = np.random.default_rng(1).normal(size=(atoms, 3))
    arrays = {"positions": places, "velocities": places, "list_positions": places}
    engine.set_state(step=0, box=np.eye(3), list_step=0, **arrays)
    engine.run(_STEPS)
    engine.capture().heat()  # the first comparison has come to its end
    taken = []
    for _ in range(calls):
        begin = time.perf_counter()
        engine.run(_STEPS)
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


def compare_devices(
    one: str, other: str, system: str, tile: tuple[int, int, int], seconds: float
) -> list[dict[str, Any]]:
    """Times a standard system on a device: in this process, in a worker, and with another device.

    Parameters
    ----------
    one, other:
        Their names.
    system, tile:
        As for `quiltmd bench`.
    seconds:
        How long each row is timed in a turn, about.

    Returns
    -------
    Rows: atoms, device, us_per_step, how many percent that is more than the first, and the digest
    of the State at the end.
    """
    start = prepare(system, tile, device=one)
    settings: dict[str, Any] = {"integrator": start.integrator}
    pair = start.system, start.state()
    del start
    devices = (one, f"worker:{one}", f"redundant:{one},{other}")
    simulations = [Simulation(*pair, device=device, **settings) for device in devices]
    least = fastest(simulations, 0, seconds)
    return [
        {
            "atoms": simulation.system.atoms,
            "device": device,
            "us_per_step": 1e6 * taken,
            "more_percent": 100 * (taken / least[0] - 1),
            "digest": digest(simulation.state()),
        }
        for simulation, device, taken in zip(simulations, devices, least, strict=True)
    ]
