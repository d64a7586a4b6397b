# SPDX-License-Identifier: Apache-2.0
"""What a profile costs: steps while one is recorded, and runs with one beside runs without.

    python benchmarks/profiling.py [--device cuda] [--ranks 2] [--tiles 1x1x1,2x2x1] [--steps 20000]
        [--rounds 3] [--pages FOLDER]

DHFR in water, repeated.  Runs of so many steps take turns: one as it is, and one of which a stretch
is recorded as by `quiltmd run --profile`.  What the second takes longer is what a profile costs a
run, however long.  Of a stretch on GPUs one block of steps in 15 is recorded: the table has the
time of a step of these, and of the whole stretch.  --pages keeps the timelines.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

from quiltmd.commands.bench import parse_tile
from quiltmd.running.benchmark import prepare, time_steps
from quiltmd.running.profiling import Profile, run_profiled
from quiltmd.running.simulation import Simulation

_ALLOWED = 0.03  # of a run


def timed_profile(simulation: Simulation, steps: int) -> tuple[float, Profile]:
    """Seconds that so many steps take with a profile, and the profile."""
    begin, first = time.perf_counter(), simulation.step
    profile = run_profiled(simulation, steps)
    simulation.run(first + steps - simulation.step)
    simulation.energies()
    return time.perf_counter() - begin, profile


def measure(tile: str, steps: int, rounds: int, pages: Path | None, **where: object) -> None:
    """Prints a row of the table."""
    simulation = prepare("dhfr", parse_tile(tile), **where)  # type: ignore[arg-type]
    plain, profiled, recorded, stretch = [], [], [], []
    time_steps(simulation, steps)
    for _ in range(rounds):
        plain.append(time_steps(simulation, steps))
        seconds, profile = timed_profile(simulation, steps)
        profiled.append(seconds)
        recorded.append(1e6 * profile.trace.seconds_per_step)
        stretch.append(1e6 * profile.trace.stretch_seconds / profile.trace.stretch)
    if pages is not None:
        pages.mkdir(parents=True, exist_ok=True)
        name = f"{simulation.ranks}-ranks-{tile}"
        profile.write_page(pages / f"{name}.html", f"DHFR {tile}, {simulation.device}")
        profile.write_timeline(pages / f"{name}.json")
        profile.write_table(pages / f"{name}.csv")
    step = 1e6 * statistics.median(plain) / steps
    cost = statistics.median(p - q for p, q in zip(profiled, plain, strict=True))
    slower = " | ".join(
        f"{us:,.1f} ({us / step - 1:+.1%})" for us in map(statistics.median, (recorded, stretch))
    )
    print(
        f"| {simulation.system.atoms:,} | {simulation.ranks} | {step:,.1f} | {slower} | "
        f"{1e3 * cost:,.0f} | {cost / _ALLOWED:,.1f} |",
        flush=True,
    )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--ranks", type=int)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--tiles", default="1x1x1")
    parser.add_argument("--steps", type=int, default=20000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pages", type=Path)
    given = parser.parse_args()
    print(
        "| atoms | ranks | us a step | while recorded | in the stretch | a profile costs, ms | "
        "3 % of a run of, s |"
    )
    print("|---|---|---|---|---|---|---|")
    for tile in given.tiles.split(","):
        measure(
            tile,
            given.steps,
            given.rounds,
            given.pages,
            device=given.device,
            ranks=given.ranks,
            threads=given.threads,
        )


if __name__ == "__main__":
    main()
