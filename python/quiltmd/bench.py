# SPDX-License-Identifier: Apache-2.0
"""`quiltmd bench`: speed on a standard system, and where the time goes.

The settings are those that people run today: 4 fs steps with heavy hydrogens, 0.9 nm, PME, constant
temperature.  Warm-up steps come first, so that set-up and first touches of memory are not counted;
the shares are of the timed part alone.
"""

from __future__ import annotations

import time
from collections import defaultdict
from typing import Any

from rich.console import Console
from rich.table import Table

from .config import REPARTITIONED_HYDROGEN_MASS
from .engine import DeviceName, available_cores
from .errors import QuiltError
from .inputs import load
from .integrators import LangevinMiddle
from .simulation import Simulation
from .systems import system_files

_WARM_UP_STEPS = 20
_SECONDS = 10.0
_TIMESTEP = 0.004  # ps
_TEMPERATURE = 300.0  # K


def prepare(
    system: str,
    tile: tuple[int, int, int] = (1, 1, 1),
    *,
    ranks: int = 1,
    threads: int | None = None,
    device: DeviceName = "auto",
) -> Simulation:
    """A standard system, tiled, with velocities, ready to be timed."""
    topology, coordinates = system_files(system)
    single, state = load(
        topology,
        coordinates,
        constraints="h-bonds",
        hydrogen_mass=REPARTITIONED_HYDROGEN_MASS,
    )
    simulation = Simulation(
        single.tile(*tile),
        state.tile(*tile),
        integrator=LangevinMiddle(_TEMPERATURE, 1.0, _TIMESTEP),
        device=device,
        ranks=ranks,
        threads=threads,
    )
    simulation.draw_velocities(_TEMPERATURE)
    simulation.run(_WARM_UP_STEPS)
    return simulation


def time_steps(simulation: Simulation, steps: int) -> float:
    """Seconds that `steps` steps take."""
    begin = time.perf_counter()
    simulation.run(steps)
    simulation.energies()  # not before this are the steps known to be done on every device
    return time.perf_counter() - begin


def bench(
    system: str,
    tile: tuple[int, int, int] = (1, 1, 1),
    steps: int = 0,
    *,
    ranks: int = 1,
    threads: int | None = None,
    device: DeviceName = "auto",
) -> dict[str, Any]:
    """Times a standard system.

    Parameters
    ----------
    system:
        One of `quiltmd.systems.SYSTEMS`.
    tile:
        Copies along a, b and c.
    ranks, threads, device:
        As in `Execution`.
    steps:
        Timed steps; 0 takes about ten seconds.

    Returns
    -------
    Names and numbers: atoms, milliseconds per step, ns/day, and `tasks`, seconds by task name,
    summed over ranks.
    """
    simulation = prepare(system, tile, ranks=ranks, threads=threads, device=device)
    if steps == 0:
        trial = time_steps(simulation, _WARM_UP_STEPS)
        steps = max(_WARM_UP_STEPS, int(_WARM_UP_STEPS * _SECONDS / trial))
    before = _task_seconds(simulation)
    seconds = time_steps(simulation, steps)
    after = _task_seconds(simulation)
    return {
        "system": system,
        "tile": "x".join(map(str, tile)),
        "atoms": simulation.system.atoms,
        "device": simulation.device,
        "ranks": ranks,
        "threads": threads or max(1, available_cores() // ranks),
        "timestep": _TIMESTEP,
        "steps": steps,
        "milliseconds_per_step": 1e3 * seconds / steps,
        "ns_per_day": steps * _TIMESTEP * 1e-3 * 86400 / seconds,
        "tasks": {name: after[name] - before.get(name, 0.0) for name in after},
    }


def parse_tile(text: str) -> tuple[int, int, int]:
    """Three counts from text such as "2x2x1"."""
    parts = text.split("x")
    if len(parts) != 3 or not all(part.isdigit() and int(part) > 0 for part in parts):
        raise QuiltError(f"--tile: expected three counts such as 2x2x1, found {text!r}")
    nx, ny, nz = map(int, parts)
    return nx, ny, nz


def print_result(result: dict[str, Any]) -> None:
    """A result of `bench` for people, on stdout."""
    console = Console(highlight=False, soft_wrap=True)
    console.print(
        f"{result['system']} {result['tile']}: {result['atoms']} atoms, {result['device']}, "
        f"{result['ranks']} rank(s) of {result['threads']} thread(s), "
        f"{1000 * result['timestep']:g} fs steps\n"
        f"{result['milliseconds_per_step']:.3f} ms/step, {result['ns_per_day']:.3f} ns/day",
        markup=False,
    )
    tasks = sorted(result["tasks"].items(), key=lambda item: -item[1])
    if not tasks:
        return
    total = sum(seconds for _, seconds in tasks) or 1.0
    table = Table("task", "ms/step", "share")
    for name, seconds in tasks:
        table.add_row(name, f"{1e3 * seconds / result['steps']:.3f}", f"{seconds / total:.1%}")
    console.print(table)


def _task_seconds(simulation: Simulation) -> dict[str, float]:
    seconds: dict[str, float] = defaultdict(float)
    for task in simulation.profile():
        seconds[task["name"]] += task["seconds"]
    return dict(seconds)
