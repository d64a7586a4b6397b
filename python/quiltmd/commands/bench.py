# SPDX-License-Identifier: Apache-2.0
"""`quiltmd bench`: speed on a standard system, and where the time goes.

The settings are those that people run today: 4 fs steps with heavy hydrogens, 0.9 nm, PME, constant
temperature.  Warm-up steps come first, so that set-up and first touches of memory are not counted;
the shares are of the timed part alone, on a GPU of a profiled stretch after it.
"""

from __future__ import annotations

import time
from collections import defaultdict
from typing import Any

from rich.console import Console
from rich.table import Table

from ..description.integrators import LangevinMiddle
from ..engine.core import EngineFactory, make_engine
from ..engine.execution import DeviceName, available_cores
from ..errors import QuiltError
from ..inputs import load
from ..inputs.standard_systems import system_files
from ..running.config import REPARTITIONED_HYDROGEN_MASS
from ..running.profiling import run_profiled
from ..running.progress import say
from ..running.simulation import Simulation

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
    ranks: int = 1,
    threads: int | None = None,
    device: DeviceName = "auto",
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
        integrator=LangevinMiddle(_TEMPERATURE, 1.0, _TIMESTEP, long_range_every=long_range_every),
        device=device,
        ranks=ranks,
        threads=threads,
        engine=engine,
    )
    simulation.draw_velocities(_TEMPERATURE)
    simulation.run(_warm_up_steps(simulation))
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
    long_range_every: int = 1,
    ranks: int = 1,
    threads: int | None = None,
    device: DeviceName = "auto",
    engine: EngineFactory = make_engine,
) -> dict[str, Any]:
    """Times a standard system.

    Parameters
    ----------
    system:
        One of `quiltmd.systems.SYSTEMS`.
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
        some = _warm_up_steps(simulation)
        steps = max(some, int(some * _SECONDS / time_steps(simulation, some)))
    before = _task_seconds(simulation)
    seconds = time_steps(simulation, steps)
    after = _task_seconds(simulation)
    tasks = {name: after[name] - before.get(name, 0.0) for name in after}
    if simulation.device == "cuda":
        tasks = _kernel_seconds(simulation, steps)
    layout = simulation.describe()
    return {
        "system": system,
        "tile": "x".join(map(str, tile)),
        "atoms": simulation.system.atoms,
        "device": simulation.device,
        "device_name": layout["devices"][0]["name"],
        "ranks": ranks,
        "threads": threads or max(1, available_cores() // ranks),
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
        f"{_kind_of_steps(result)}\n"
        f"{result['milliseconds_per_step']:.3f} ms/step, {result['ns_per_day']:.3f} ns/day",
        markup=False,
    )
    tasks = sorted(result["tasks"].items(), key=lambda item: -item[1])
    if not tasks:
        return
    total = sum(seconds for _, seconds in tasks) or 1.0
    kind = "kernel" if result["device"] == "cuda" else "task"
    table = Table(kind, "ms/step", "share")
    for name, seconds in tasks:
        table.add_row(name, f"{1e3 * seconds / result['steps']:.3f}", f"{seconds / total:.1%}")
    console.print(table)


def print_results(results: list[dict[str, Any]]) -> None:
    """Results of `bench_gpu` as a table, on stdout."""
    console = Console(highlight=False, soft_wrap=True)
    done = [result for result in results if "note" not in result]
    names = {f" on {result['device_name']}" for result in done}
    steps = {f", {_kind_of_steps(result)}" for result in done}
    title = "".join([results[0]["system"], *names, *steps])
    table = Table("tile", title=title, title_justify="left")
    for heading in ("atoms", "us/step", "ns/day", "bytes/atom"):
        table.add_column(heading, justify="right")
    for result in done:
        table.add_row(
            result["tile"],
            str(result["atoms"]),
            f"{1e3 * result['milliseconds_per_step']:.1f}",
            f"{result['ns_per_day']:.1f}",
            f"{result['bytes_per_atom']:.0f}",
        )
    console.print(table)
    for result in results:
        if "note" in result:
            console.print(f"{result['tile']}: {result['note']}", markup=False)


def _kind_of_steps(result: dict[str, Any]) -> str:
    every = result["long_range_every"]
    impulses = f", long-range force every {every}" if every > 1 else ""
    return f"{1000 * result['timestep']:g} fs steps{impulses}"


def _warm_up_steps(simulation: Simulation) -> int:
    if simulation.device != "cuda":
        return _WARM_UP_STEPS
    return _WARM_UP_LIVES * int(simulation.describe()["list_life"])


def _kernel_seconds(simulation: Simulation, steps: int) -> dict[str, float]:
    """Time of each kernel in `steps` steps, from a few that are profiled."""
    profile = run_profiled(simulation, _warm_up_steps(simulation))
    return {row.name: 1e-6 * steps * row.us_per_step for row in profile.rows()}


def _task_seconds(simulation: Simulation) -> dict[str, float]:
    seconds: dict[str, float] = defaultdict(float)
    for task in simulation.profile():
        seconds[task["name"]] += task["seconds"]
    return dict(seconds)
