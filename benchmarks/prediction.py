# SPDX-License-Identifier: Apache-2.0
"""Predictions at scale: what they take, and tables for machines of papers and of today.

    python benchmarks/prediction.py CASE --data FOLDER [--out FILE.json]

FOLDER holds `apoa1/` and `stmv/`, as benchmarks/terms.py describes them, where a case needs them.
Cases: `cost`, `partners`, `blue-gene`, `atpase`, `gpu-cluster`, `islands`, `stmv`, `measured`.
Prints Markdown; the figures of benchmarks/notes/scaling.md come from here.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import quiltmd
from quiltmd.description.state import State
from quiltmd.description.system import System
from quiltmd.engine.execution import Grain
from quiltmd.inputs.standard_systems import system_files
from quiltmd.prediction.machine import Machine, read_machine
from quiltmd.prediction.network import shape_of
from quiltmd.prediction.plan import OF_REBUILD, Plan, Planner, Sharing
from quiltmd.prediction.predict import MOST_REPLICATED, Prediction, predict

Tile = tuple[int, int, int]
Row = dict[str, Any]
_MANY = [512, 1024, 2048, 4096, 8192, 16384]


def apoa1(data: Path) -> tuple[System, State]:
    """Apolipoprotein A1, 92,224 atoms."""
    folder = data / "apoa1"
    parameters = [folder / "apoa1_c22_namd.prm"]
    box = (10.88612, 10.88612, 7.7758)
    return quiltmd.load(folder / "apoa1.psf", folder / "apoa1.pdb", parameters=parameters, box=box)


def stmv(data: Path, **options: Any) -> tuple[System, State]:
    """Satellite tobacco mosaic virus, 1,067,095 atoms."""
    return quiltmd.load(data / "stmv" / "stmv.top", data / "stmv" / "stmv.xtc", **options)


def waters(
    counts: Tile, box: tuple[float, float, float], cutoff: float, pme_grid: Tile, grain: Grain
) -> Planner:
    """A planner of a lattice of rigid waters, with PME in one step of four."""
    system = System.of(
        [15.999, 1.008, 1.008],
        [-0.834, 0.417, 0.417],
        sigma=[0.315, 0.1, 0.1],
        epsilon=[0.636, 0.0, 0.0],
        constraints=[[0, 1], [0, 2], [1, 2]],
        constraint_lengths=[0.09572, 0.09572, 0.15139],
    )
    cell = np.diag(np.array(box) / counts)
    places = np.array([[0.1, 0.1, 0.1], [0.15, 0.18, 0.1], [0.05, 0.18, 0.1]])
    state = State(places, np.zeros((3, 3)), cell)
    mesh: dict[str, Any] = {"pme_alpha": 3.1 / cutoff, "pme_grid": pme_grid, "pme_order": 4}
    nonbonded = quiltmd.Nonbonded(cutoff=cutoff, **mesh)
    integrator = quiltmd.VelocityVerlet(timestep=0.001, long_range_every=4)
    return Planner(system, state, nonbonded, integrator, counts, grain=grain)


def as_published(
    loaded: tuple[System, State], grid: Tile, every: int, patch_reach: int = 1
) -> Planner:
    """A planner with the settings of the papers: 1.2 nm, PME in one step of `every`."""
    nonbonded = quiltmd.Nonbonded(cutoff=1.2, pme_alpha=2.57952, pme_grid=grid, pme_order=4)
    integrator = quiltmd.VelocityVerlet(timestep=0.001, long_range_every=every)
    return Planner(*loaded, nonbonded, integrator, patch_reach=2 if patch_reach == 2 else 1)


def row_of(one: Prediction, **more: Any) -> Row:
    """What tables show of a prediction."""
    parts = [f"{name} {us / one.us_per_step:.0%}" for name, us in list(one.parts.items())[:3]]
    return {
        **more,
        "ranks": one.ranks,
        "ms": one.us_per_step / 1000,
        "ns_per_day": one.ns_per_day,
        "messages": one.messages,
        "memory_gib": one.memory / 2**30,
        "hops": one.hops,
        "hop_megabytes": 1e-6 * one.bytes * one.ranks * one.hops,
        "idle": one.idle_ranks,
        "parts": ", ".join(parts),
    }


def cost(data: Path) -> Iterable[Row]:
    """Processor time and peak memory of a prediction, for more and more ranks and atoms."""
    machine, loaded = read_machine("blue-gene-l"), apoa1(data)
    cases: tuple[tuple[str, Tile, Tile, Sharing], ...] = (
        ("ApoA1", (1, 1, 1), (108, 108, 80), "pencils"),
        ("ApoA1, tiled 3x3x4", (3, 3, 4), (324, 324, 320), "distributed"),
    )
    for name, tile, grid, mesh in cases:
        nonbonded = quiltmd.Nonbonded(cutoff=1.2, pme_alpha=2.57952, pme_grid=grid, pme_order=4)
        integrator = quiltmd.VelocityVerlet(timestep=0.001, long_range_every=4)
        for patch_reach in (1, 2):
            planner = Planner(*loaded, nonbonded, integrator, tile, 2 if patch_reach == 2 else 1)
            for ranks in (512, 4096, 16384):
                begin = time.process_time()
                (one,) = predict(planner, machine, [ranks], mesh)
                took = time.process_time() - begin
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
                yield row_of(
                    one, system=name, mesh=mesh, patch_reach=patch_reach, seconds=took, gib=peak
                )


def partners(data: Path) -> Iterable[Row]:
    """With how many others the busiest rank exchanges messages, how many, and kilobytes of them."""
    machine, loaded = read_machine("blue-gene-l"), apoa1(data)
    for patch_reach in (1, 2):
        planner = as_published(loaded, (108, 108, 80), 4, patch_reach)
        for ranks in (8, 64, 512, 4096, 16384):
            plan = planner.plan(ranks, "pencils", shape_of(machine, ranks))
            halo = ("positions", "forces")
            of_sum = tuple(set(plan.messages) - set(halo) - set(OF_REBUILD))
            row: Row = {"patch_reach": patch_reach, "ranks": ranks}
            for name, kinds in (
                *(("halo", halo), ("long-range sum", of_sum)),
                *((kind, (kind,)) for kind in OF_REBUILD),
            ):
                row[name] = "{} / {} / {:.1f}".format(*busiest(plan, kinds))
            yield row


def busiest(plan: Plan, kinds: tuple[str, ...]) -> tuple[int, int, float]:
    """Of messages: most partners, messages and kilobytes of a rank, each of the rank with most."""
    rows = np.concatenate([plan.messages.get(kind, np.empty((0, 3), np.int64)) for kind in kinds])
    if not len(rows):
        return 0, 0, 0.0
    both = np.concatenate([rows, rows[:, [1, 0, 2]]])  # by the rank that sends or receives
    pairs = np.unique(both[:, :2], axis=0)
    counts, sizes = np.bincount(both[:, 0]), np.bincount(both[:, 0], both[:, 2])
    return int(np.bincount(pairs[:, 0]).max()), int(counts.max()), float(1e-3 * sizes.max())


def blue_gene(data: Path) -> Iterable[Row]:
    """ApoA1 on the torus of Blue Gene/L, placed and not, with one-away and two-away patches."""
    machine, loaded = read_machine("blue-gene-l"), apoa1(data)
    for patch_reach in (1, 2):
        planner = as_published(loaded, (108, 108, 80), 4, patch_reach)
        (alone,) = predict(planner, machine, [1])
        yield row_of(alone, patch_reach=patch_reach, mesh="", placed="", speedup=1.0)
        for ranks in _MANY:
            for mesh in ("distributed", "pencils") if patch_reach == 1 else ("pencils",):
                for placed in (True, False):
                    (one,) = predict(planner, machine, [ranks], mesh, placed)
                    speedup = alone.us_per_step / one.us_per_step
                    yield row_of(
                        one, patch_reach=patch_reach, mesh=mesh, placed=placed, speedup=speedup
                    )


def atpase(data: Path) -> Iterable[Row]:
    """Water of as many atoms and in as large a box as F1-ATPase, on the torus of Blue Gene/L."""
    machine = read_machine("blue-gene-l")
    grains: tuple[Grain, ...] = ("patch", "pair")
    for grain in grains:
        planner = waters((59, 43, 43), (17.83, 13.15, 13.24), 1.1, (192, 144, 144), grain)
        (alone,) = predict(planner, machine, [1])
        for ranks in (64, 256, *_MANY):
            (one,) = predict(planner, machine, [ranks], "pencils")
            yield row_of(one, grain=grain, speedup=alone.us_per_step / one.us_per_step)


def gpu_cluster(data: Path) -> Iterable[Row]:
    """STMV on 4 to 60 GPUs of 2008."""
    machine = read_machine("gpu-cluster-2008")
    planner = as_published(stmv(data), (216, 216, 216), 4)
    for mesh, ranks in (("distributed", [4, 8, 16, 32, 60]), ("pencils", [4, 60])):
        found = predict(planner, machine, ranks, mesh)
        for one in found:
            yield row_of(one, mesh=mesh, over_four=found[0].us_per_step / one.us_per_step)


def islands(data: Path) -> Iterable[Row]:
    """STMV, and 18 of it side by side, on H200 in islands of eight."""
    machine = read_machine("h200-nvlink")
    loaded = stmv(data, hydrogen_mass=3.0, constraints="h-bonds")
    for repeated in ((1, 1, 1), (3, 3, 2)):
        yield from _islands(loaded, repeated, machine)


def _islands(loaded: tuple[System, State], tile: Tile, machine: Machine) -> Iterable[Row]:
    every_step = quiltmd.LangevinMiddle(timestep=0.004, seed=1)
    every_second = replace(every_step, long_range_every=2)
    choices: list[tuple[str, Any, Any, Any]] = [
        ("slabs", every_step, 1, "distributed"),
        ("replicated", every_step, 1, "replicated"),
        ("pencils", every_step, 1, "pencils"),
        ("two-away, pencils", every_step, 2, "pencils"),
        ("PME every 2, pencils", every_second, 1, "pencils"),
    ]
    atoms = loaded[0].atoms * tile[0] * tile[1] * tile[2]
    for name, integrator, patch_reach, mesh in choices:
        planner = Planner(*loaded, quiltmd.Nonbonded(), integrator, tile, patch_reach)
        for ranks in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024):
            if mesh == "replicated" and ranks > 64:
                continue
            (one,) = predict(planner, machine, [ranks], mesh)
            yield row_of(one, atoms=atoms, choice=name)


def stmv_on_gpus(data: Path) -> Iterable[Row]:
    """STMV on 4 to 1,024 H200; pencils run on CPUs alone so far."""
    machine = read_machine("h200-nvlink")
    loaded = stmv(data, hydrogen_mass=3.0, constraints="h-bonds")
    planner = Planner(*loaded, quiltmd.Nonbonded(), quiltmd.LangevinMiddle(timestep=0.004, seed=1))
    for ranks in (4, 8, 16, 32, 64, 128, 256, 512, 1024):
        row: Row = {"gpus": ranks}
        ways: tuple[Sharing, ...] = ("distributed", "replicated", "pencils")
        for mesh in ways[:: 1 if ranks <= MOST_REPLICATED else 2]:
            (one,) = predict(planner, machine, [ranks], mesh)
            row |= {mesh: one.us_per_step, f"{mesh}: most of it": next(iter(one.parts))}
        yield row


def measured(data: Path) -> Iterable[Row]:
    """DHFR, tiled, on one and two H200 as several_gpus.py found it, beside predictions."""
    machine = read_machine("h200-nvlink")
    file = Path(__file__).parent / "results" / "two-gpus-speed.json"
    rows = json.loads(file.read_text())["speed"]
    system, state = quiltmd.load(*system_files("dhfr"), constraints="h-bonds", hydrogen_mass=3.0)
    for tile in ((1, 1, 1), (2, 1, 1), (2, 2, 1), (4, 4, 1), (3, 3, 5)):
        integrator = quiltmd.LangevinMiddle(timestep=0.004, seed=1)
        planner = Planner(system, state, quiltmd.Nonbonded(), integrator, tile)
        row: Row = {"atoms": planner.about["atoms"]}
        for found in (one for one in rows if one["atoms"] == row["atoms"]):
            (guess,) = predict(planner, machine, [found["gpus"]])
            was = found["us_per_step"]
            row[f"{found['gpus']}: measured"] = was
            row[f"{found['gpus']}: predicted"] = (
                f"{guess.us_per_step:.0f} ({guess.us_per_step / was - 1:+.0%})"
            )
        yield row


CASES: dict[str, Callable[[Path], Iterable[Row]]] = {
    "cost": cost,
    "partners": partners,
    "blue-gene": blue_gene,
    "atpase": atpase,
    "gpu-cluster": gpu_cluster,
    "islands": islands,
    "stmv": stmv_on_gpus,
    "measured": measured,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rows: list[Row] = []
    for row in CASES[given.case](given.data):
        if not rows:
            print("| " + " | ".join(row) + " |\n|" + "---|" * len(row))
        cells = [
            f"{value:.4g}" if isinstance(value, float) else str(value) for value in row.values()
        ]
        print("| " + " | ".join(cells) + " |", flush=True)
        rows.append(row)
    if given.out:
        given.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
