# SPDX-License-Identifier: Apache-2.0
"""Speed on a standard system, and where the time goes.

The settings are those that people run today: 4 fs steps with hydrogen mass
repartitioning, a cutoff of 0.9 nm, PME, constant temperature.  Warm-up steps come first, so that
set-up is not counted; the shares are of the timed part alone, on a GPU of a profiled stretch after
it.
"""

from __future__ import annotations

import time
from collections import defaultdict
from typing import Any

from ..description.integrators import LangevinMiddle
from ..engine.core import EngineFactory
from ..engine.execution import DeviceName, Transport, available_cores, is_gpu
from ..errors import QuiltError
from ..inputs import load
from ..inputs.standard_systems import SYSTEMS, system_files
from ..workers.factory import make_engine
from .config import REPARTITIONED_HYDROGEN_MASS
from .profiling import run_profiled
from .progress import say
from .simulation import Simulation

GPU_TILINGS = ((1, 1, 1), (2, 2, 1), (4, 4, 1), (3, 3, 5))

_WARM_UP_STEPS = 20
_WARM_UP_LIVES = 20  # of pair lists, on a GPU: blocks of steps of every kind are recorded by then
_SECONDS = 10.0
_TIMESTEP = 0.004  # ps
_TEMPERATURE = 300.0  # K


def prepare(
    system: str,
    tile: tuple[int, int, int] = (1, 1, 1),
    *,
    long_range_every: int = 1,
    ranks: int | None = None,
    threads: int | None = None,
    device: DeviceName = "auto",
    transport: Transport = "auto",
    balance: bool = True,
    engine: EngineFactory = make_engine,
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
        integrator=LangevinMiddle(
            _TEMPERATURE, 1.0, _TIMESTEP, seed=0, long_range_every=long_range_every
        ),
        device=device,
        ranks=ranks,
        threads=threads,
        transport=transport,
        balance=balance,
        engine=engine,
    )
    if not SYSTEMS[system].relaxed:
        simulation.minimize()
    simulation.draw_velocities(_TEMPERATURE)
    simulation.run(warm_up_steps(simulation))
    return simulation


def time_steps(simulation: Simulation, steps: int) -> float:
    """Seconds that `steps` steps take."""
    begin = time.perf_counter()
    simulation.run(steps)
    simulation.energies()  # not before this are the steps known to be done on every device
    return time.perf_counter() - begin


def steps_within(seconds: float, simulation: Simulation, least: int) -> int:
    """Steps that take about so long, at least `least`, by timing these."""
    return max(least, int(least * seconds / time_steps(simulation, least)))


def bench(
    system: str,
    tile: tuple[int, int, int] = (1, 1, 1),
    steps: int = 0,
    *,
    long_range_every: int = 1,
    ranks: int | None = None,
    threads: int | None = None,
    device: DeviceName = "auto",
    engine: EngineFactory = make_engine,
) -> dict[str, Any]:
    """Times a standard system.

    Parameters
    ----------
    system:
        One of `quiltmd.inputs.standard_systems.SYSTEMS`.
    tile:
        Copies along a, b and c.
    steps:
        Timed steps; 0 takes about ten seconds.
    long_range_every:
        As in `LangevinMiddle`.
    ranks, threads, device:
        As in `Execution`.
    engine:
        As for `Simulation`.

    Returns
    -------
    Names and numbers: atoms, milliseconds per step, ns/day, memory, and `tasks`, seconds by name of
    task or kernel, summed over ranks.
    """
    simulation = prepare(
        system,
        tile,
        long_range_every=long_range_every,
        ranks=ranks,
        threads=threads,
        device=device,
        engine=engine,
    )
    if steps == 0:
        steps = steps_within(_SECONDS, simulation, warm_up_steps(simulation))
    seconds, tasks = _time_tasks(simulation, steps)
    layout = simulation.describe()
    return {
        "system": system,
        "tile": "x".join(map(str, tile)),
        "atoms": simulation.system.atoms,
        "device": simulation.device,
        "device_name": layout["devices"][0]["name"],
        "ranks": simulation.ranks,
        "threads": threads or max(1, available_cores() // simulation.ranks),
        "timestep": _TIMESTEP,
        "long_range_every": long_range_every,
        "steps": steps,
        "milliseconds_per_step": 1e3 * seconds / steps,
        "ns_per_day": steps * _TIMESTEP * 1e-3 * 86400 / seconds,
        "bytes_per_atom": layout["bytes_per_atom"],
        "tasks": tasks,
    }


def bench_gpu(
    steps: int = 0,
    *,
    system: str = "dhfr",
    long_range_every: int = 1,
    engine: EngineFactory = make_engine,
) -> list[dict[str, Any]]:
    """Times tilings of a standard system on the GPU, from small to a million atoms.

    Returns
    -------
    What `bench` gives for each; of one that does not fit in memory its tile and a `note`.
    """
    results: list[dict[str, Any]] = []
    for tile in GPU_TILINGS:
        text = "x".join(map(str, tile))
        say(f"{system} {text} ...")
        try:
            results.append(
                bench(
                    system,
                    tile,
                    steps,
                    long_range_every=long_range_every,
                    device="cuda",
                    engine=engine,
                )
            )
        except (QuiltError, MemoryError) as error:
            if isinstance(error, QuiltError) and "out of memory" not in str(error):
                raise
            results.append({"system": system, "tile": text, "note": str(error) or "out of memory"})
    return results


def warm_up_steps(simulation: Simulation) -> int:
    """Steps after which its speed is that of all further ones."""
    if not is_gpu(simulation.device):
        return _WARM_UP_STEPS
    return _WARM_UP_LIVES * int(simulation.describe()["list_life"])


def _time_tasks(simulation: Simulation, steps: int) -> tuple[float, dict[str, float]]:
    """Seconds that `steps` steps take, and those of each task, or on a GPU of each kernel."""
    before = _task_seconds(simulation)
    seconds = time_steps(simulation, steps)
    if is_gpu(simulation.device):
        return seconds, _kernel_seconds(simulation, steps)
    after = _task_seconds(simulation)
    return seconds, {name: after[name] - before.get(name, 0.0) for name in after}


def _kernel_seconds(simulation: Simulation, steps: int) -> dict[str, float]:
    """Time of each kernel in `steps` steps, from a few that are profiled."""
    profile = run_profiled(simulation, warm_up_steps(simulation))
    return {row.name: 1e-6 * steps * row.us_per_step for row in profile.rows()}


def _task_seconds(simulation: Simulation) -> dict[str, float]:
    seconds: dict[str, float] = defaultdict(float)
    for task in simulation.profile():
        seconds[task["name"]] += task["seconds"]
    return dict(seconds)
