# SPDX-License-Identifier: Apache-2.0
"""Ranks of which some are slow: steps without balancing, with it, and what it predicted.

    python benchmarks/slow_ranks.py [--ranks 27] [--slow 3] [--slowness 100,4] [--tile 1x1x1]
    python benchmarks/slow_ranks.py --device cuda:0,1 --busy 0 [--tile 2x2x1]

DHFR in water.  On the CPU each rank is a thread that waits after each task for a multiple of the
processor time that it took, so that many ranks share few cores as if each had a core of its own:
`--slowness 100,4` makes all ranks 100 times slower, and the slow ones 400 times.  On GPUs `--busy`
names a GPU that another process uses meanwhile, for a simulation of the same kind.  What the
busiest rank works in a step, ms, is as measured before the last move, and as predicted for computes
alone and for patches.  With and without balancing the bits are compared.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import quiltmd
from quiltmd.engine.core import EngineFactory, make_engine
from quiltmd.engine.execution import is_gpu
from quiltmd.running.benchmark import prepare, time_steps

# Lives of pair lists until balancing has looked three times; on GPUs, twice.
_LIVES, _LIVES_ON_GPUS = 13, 850
_OTHER = """
import sys
from quiltmd.running.benchmark import prepare
other = prepare("dhfr", (2, 2, 1), device="cuda:" + sys.argv[1])
print("busy", flush=True)
while True:
    other.run(2000)
"""


def slowed(ranks: int, slow: int, base: float, factor: float) -> EngineFactory:
    """Makes engines whose devices are slow, and those of the first ranks slower."""

    def make(*arguments: Any) -> Any:
        core: Any = make_engine(*arguments)
        for rank in range(ranks):
            core.slow_down(rank, base * factor if rank < slow else base)
        return core

    return make


@contextmanager
def busy(gpu: int | None) -> Iterator[None]:
    """Another program on that GPU."""
    if gpu is None:
        yield
        return
    with subprocess.Popen(
        [sys.executable, "-c", _OTHER, str(gpu)], stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        try:
            yield
        finally:
            other.kill()


def measure(simulation: quiltmd.Simulation, steps: int) -> str:
    """Milliseconds of a step: the median and the range of three."""
    rounds = [1e3 * time_steps(simulation, steps) / steps for _ in range(3)]
    return f"{statistics.median(rounds):.4g} ({min(rounds):.4g} to {max(rounds):.4g})"


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--busy", type=int, help="GPU that another program uses")
    parser.add_argument("--ranks", type=int, default=27)
    parser.add_argument("--slow", type=int, default=3)
    parser.add_argument("--slowness", default="100,4", help="of all ranks, and of the slow ones")
    parser.add_argument("--tile", default="1x1x1")
    parser.add_argument("--steps", type=int, help="timed steps of a round")
    given = parser.parse_args()
    on_gpus = is_gpu(given.device)
    where: dict[str, Any] = {"device": given.device}
    if not on_gpus:
        base, factor = map(float, given.slowness.split(","))
        make = slowed(given.ranks, given.slow, base, factor)
        where |= {"ranks": given.ranks, "threads": 1, "engine": make}
    x, y, z = map(int, given.tile.split("x"))
    print(
        "| balance | ms a step | busiest rank | by computes | by patches | moves | atoms | bits |"
    )
    print("|---|---|---|---|---|---|---|---|")
    digests = set()
    warm = prepare("dhfr", (x, y, z), device=given.device.split(",")[0])
    start = warm.system, warm.state(), warm.nonbonded, warm.integrator
    del warm
    with busy(given.busy):
        for balance in (False, True):
            run = quiltmd.Simulation(*start, balance=balance, **where)
            life = int(run.describe()["list_life"])
            run.run(life * (_LIVES_ON_GPUS if on_gpus else _LIVES))
            step = measure(run, given.steps or (4000 if on_gpus else 20))
            digests.add(quiltmd.digest(run.state()))
            about = run.describe()
            names = "step_before_move", "step_by_computes", "step_by_patches"
            forecast = " | ".join(f"{1e3 * about[name]:.4g}" for name in names)
            atoms = [load["atoms"] for load in run.loads()]
            print(
                f"| {balance} | {step} | {forecast} | "
                f"{about['patch_moves']:.0f}, last at {about['patches_moved_at']:.0f} of "
                f"{run.step} | {', '.join(map(str, atoms))} | "
                f"{'the same' if len(digests) == 1 else 'OTHER'} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
