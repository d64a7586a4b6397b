# SPDX-License-Identifier: Apache-2.0
"""Several GPUs of one machine, in one call: speed, memory, bits, transports.

    python benchmarks/several_gpus.py [--gpus 1,2,4,8] [--tiles 1x1x1,2x2x1,4x4x1,3x3x5,8x8x13]
        [--parts speed,bits,transports,replicas,losses] [--device cuda] [--seconds 3]
        [--minutes 9.5] [--json benchmarks/results/several-gpus.json]

Numbers of GPUs that the machine lacks are left out, and said to be.  Each part is
printed and, with --json, written as soon as it is known; what does not begin before --minutes have
passed is left out as well.  What each part shows:

speed       us per step of DHFR in water, repeated (4 fs, as `quiltmd bench`), beside what
            `quiltmd predict` expects of H200s with NVLink; memory of the fullest GPU; and whether
            a State of the first number is carried on bit for bit as there.
bits        10,000 steps of DHFR in three ensembles and with two barostats on every number of
            GPUs, and with two and four ranks on each.
transports  `quiltmd bench --transports` on the largest number, of the second size.
replicas    ns/day of 16 and of 64 replicas of DHFR together, on every number; the part of what as
            many GPUs would ideally make; ms of an iteration, of one after which all wait, and of
            what passes in that until the last replica has advanced.
losses      how long a new process on each GPU takes; then the vote of a third GPU names the wrong
            one of a redundant pair, and a spare takes the place of a lost one: seconds of the whole
            run, of its start, and of what went wrong by phase (a run without loss beside it), and
            whether the State is that of an undisturbed run.

Replicas beside OpenMM: `benchmarks/replicas.py`; what workers cost: `benchmarks/workers.py`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from provenance import provenance
from replicas import EVERY, STRETCH, Quiltmd, ladder, ns_per_day, timed

import quiltmd
from quiltmd import LangevinMiddle, Simulation, VelocityVerlet, Workers
from quiltmd.commands.bench import parse_tile
from quiltmd.engine.core import Engine
from quiltmd.engine.execution import devices
from quiltmd.engine.places import parse_place
from quiltmd.inputs import load
from quiltmd.inputs.standard_systems import system_files
from quiltmd.prediction.machine import read_machine
from quiltmd.prediction.plan import Planner
from quiltmd.prediction.predict import predict
from quiltmd.running.benchmark import prepare, time_steps
from quiltmd.running.config import REPARTITIONED_HYDROGEN_MASS
from quiltmd.running.transports import compare_transports
from quiltmd.workers.factory import make_engine
from quiltmd.workers.launch import connect

INTEGRATORS = {
    "nvt": LangevinMiddle(timestep=0.004, seed=1),
    "nve": VelocityVerlet(timestep=0.002),
    "multiple time steps": LangevinMiddle(timestep=0.002, seed=1, long_range_every=2),
}
BAROSTATS = {
    "cell rescaling": quiltmd.CellRescaling(1.0, seed=1),
    "monte carlo": quiltmd.MonteCarloBarostat(1.0, seed=1),
}
CARRIED_ON = 500  # steps from another number's State
LOST_AT, STEPS_WITH_LOSS = 1234, 2000
WRONG = f"always-flip@{LOST_AT}:1:positions:320040"  # a bit that the second of two always flips
Row = dict[str, Any]


def dhfr() -> tuple[quiltmd.System, quiltmd.State]:
    return load(
        *system_files("dhfr"), constraints="h-bonds", hydrogen_mass=REPARTITIONED_HYDROGEN_MASS
    )


def places(kind: str, gpus: int) -> dict[str, Any]:
    """So many devices of a kind, as settings of a Simulation."""
    if kind == "cpu":
        return {"device": "cpu", "ranks": gpus}
    return {"device": "cuda:" + ",".join(map(str, range(gpus)))}


def single(kind: str, gpu: int) -> str:
    """The name of one device; of the first for numbers below 0."""
    return "cpu" if kind == "cpu" else f"cuda:{max(gpu, 0)}"


def predicted(tile: tuple[int, int, int], gpus: int) -> float:
    """In us per step."""
    system, state = dhfr()
    planner = Planner(system, state, quiltmd.Nonbonded(), INTEGRATORS["nvt"], tile)
    return predict(planner, read_machine("h200-nvlink"), [gpus])[0].us_per_step


def speed(options: argparse.Namespace) -> Iterator[Row]:
    for tile in map(parse_tile, options.tiles):
        origin, expected = None, None
        for gpus in options.gpus:
            row, begin, end = measure(tile, gpus, origin, options)
            origin, expected = origin or begin, expected or end
            yield row | {"same_bits": end == expected}


def measure(
    tile: tuple[int, int, int], gpus: int, origin: Any, options: argparse.Namespace
) -> tuple[Row, quiltmd.State, str]:
    """One size on one number of GPUs.

    Its figures, the State that is then carried on (`origin`, where there is one), and the digest of
    the State that it is carried on to.
    """
    simulation = prepare("dhfr", tile, **places(options.device, gpus))
    origin = origin or simulation.state()
    steps = 100
    steps = max(100, round(steps * options.seconds / 3 / time_steps(simulation, steps)))
    times = [1e6 * time_steps(simulation, steps) / steps for _ in range(3)]
    memory = max(load.get("device_bytes", 0) for load in simulation.loads())
    simulation.set_state(origin)
    simulation.run(CARRIED_ON)
    row = {
        "atoms": simulation.system.atoms,
        "gpus": gpus,
        "us_per_step": round(statistics.median(times), 1),
        "predicted_us": round(predicted(tile, gpus), 1),
        "memory_mib": round(memory / 2**20),
    }
    return row, origin, quiltmd.digest(simulation.state())


def bits(options: argparse.Namespace) -> Iterator[Row]:
    system, state = dhfr()
    most = options.gpus[-1]
    where = [places(options.device, gpus) for gpus in options.gpus]
    for ranks in (2, 4) if options.device == "cuda" else ():  # of each GPU
        shared = [str(gpu) for gpu in range(most) for _ in range(ranks)]
        where.append({"device": "cuda:" + ",".join(shared)})
    dynamics: dict[str, Row] = {name: {"integrator": one} for name, one in INTEGRATORS.items()}
    for name, barostat in BAROSTATS.items():
        dynamics[name] = {"integrator": INTEGRATORS["nvt"], "barostat": barostat}
    for name, chosen in dynamics.items():
        found = {}
        for settings in where:
            simulation = Simulation(system, state, **chosen, **settings)
            simulation.draw_velocities(300, 3)
            simulation.run(options.steps)
            found[simulation.device, simulation.ranks] = quiltmd.digest(simulation.state())
        yield {
            "ensemble": name,
            "where": [f"{device}, ranks: {ranks}" for device, ranks in found],
            "digests": sorted({digest[:16] for digest in found.values()}),
            "same_bits": len({*found.values()}) == 1,
        }


def transports(options: argparse.Namespace) -> Iterator[Row]:
    most = options.gpus[-1]
    if most < 2:
        return
    settings = places(options.device, most) | {"ranks": most}
    found = compare_transports("dhfr", parse_tile(options.tiles[:2][-1]), **settings)
    yield from found["transports"]


def replicas(options: argparse.Namespace) -> Iterator[Row]:
    pair = dhfr()
    first: dict[int, float] = {}  # ns/day of a GPU, by number of replicas
    for gpus in options.gpus:
        devices = [single(options.device, gpu) for gpu in range(gpus)]
        for count in (16, 64):
            made = Quiltmd(pair, ladder(pair[0], count), devices, together=4)
            iterations, _, seconds = timed(made.iterate, options.seconds / 2)
            advance = 1e3 * statistics.mean(made.advance_seconds[-iterations:])
            stretches, _, ahead = timed(made.go_ahead, options.seconds / 2)
            each = ahead / stretches / STRETCH  # s
            speed = ns_per_day(EVERY * count, each)
            yield {
                "replicas": count,
                "gpus": gpus,
                "ns_per_day": speed,
                "of_ideal": round(speed / gpus / first.setdefault(count, speed / gpus), 3),
                "ms_iteration": round(1e3 * each, 2),
                "ms_alone": round(1e3 * seconds / iterations, 2),
                "ms_advance": round(advance, 2),
            }
            del made


def losses(options: argparse.Namespace) -> Iterator[Row]:
    """On the last GPUs that there are; with fewer than three some are the same."""
    last = options.gpus[-1] - 1
    first, second, third = (single(options.device, last - back) for back in range(3))
    for device in dict.fromkeys((first, second, third)):
        yield start_worker(device)
    calm, _ = simulate_with_loss(first, Workers())
    faults = {
        "nothing": (f"worker:{first}", ()),
        "a third vote": (f"redundant:{first},{second}", (WRONG,)),
        "a spare": (first, (f"kill@{LOST_AT}",)),
    }
    for what, (device, fault) in faults.items():
        spares = (third,) if fault else ()
        digest, seconds = simulate_with_loss(device, Workers(spares=spares, inject_fault=fault))
        yield {"by": what, "device": device, **seconds, "same_bits": digest == calm}


def start_worker(device: str) -> Row:
    """Seconds until a new process on a device has answered, has a State, has made 100 steps."""
    system, state = dhfr()
    begin = time.perf_counter()
    connect(parse_place(f"worker:{device}"), Workers()).close()
    process = time.perf_counter() - begin
    begin = time.perf_counter()
    simulation = Simulation(system, state, integrator=INTEGRATORS["nvt"], device=f"worker:{device}")
    made = time.perf_counter() - begin
    row = {"worker_on": device, "process": round(process, 2), "engine": round(made - process, 2)}
    for what in ("first_100_steps", "next_100_steps"):
        begin = time.perf_counter()
        simulation.run(100)
        row[what] = round(time.perf_counter() - begin, 2)
    return row


def simulate_with_loss(device: str, workers: Workers) -> tuple[str, Row]:
    """The digest at the end, and seconds: of all, of the start, and of what went wrong."""
    pair = dhfr()
    engines: list[Any] = []

    def noted(*settings: Any) -> Engine:
        engines.append(make_engine(*settings))
        return engines[-1]

    begin = time.perf_counter()
    simulation = Simulation(
        *pair, integrator=INTEGRATORS["nvt"], device=device, workers=workers, engine=noted
    )
    start = time.perf_counter() - begin
    simulation.draw_velocities(300, 3)
    simulation.run(STEPS_WITH_LOSS)
    digest = quiltmd.digest(simulation.state())
    events = [
        {"text": event.text, "seconds": round(event.seconds, 2)}
        | {phase: round(seconds, 2) for phase, seconds in event.phases.items()}
        for event in getattr(engines[0], "events", ())
    ]
    seconds = round(time.perf_counter() - begin, 2)
    return digest, {"seconds": seconds, "start": round(start, 2), "events": events}


PARTS: dict[str, Callable[[argparse.Namespace], Iterator[Row]]] = {
    "speed": speed,
    "bits": bits,
    "transports": transports,
    "replicas": replicas,
    "losses": losses,
}


def words(text: str) -> list[str]:
    return text.split(",")


def chosen_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Several GPUs of one machine.")
    parser.add_argument("--gpus", type=words, default=words("1,2,4,8"))
    parser.add_argument("--tiles", type=words, default=words("1x1x1,2x2x1,4x4x1,3x3x5,8x8x13"))
    parser.add_argument("--parts", type=words, default=list(PARTS))
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--seconds", type=float, default=3.0, help="timed, of each size")
    parser.add_argument("--steps", type=int, default=10_000, help="of bits")
    parser.add_argument("--minutes", type=float, default=9.5, help="after which nothing begins")
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    options.gpus = sorted(map(int, options.gpus))
    if options.device == "cuda":
        there = sum(row["kind"] == "cuda" and row["usable"] for row in devices())
        missing = [gpus for gpus in options.gpus if gpus > there]
        if missing:
            print(f"not run, as this machine has {there}: {missing} GPUs")
        options.gpus = [gpus for gpus in options.gpus if gpus <= there]
    return options


def main() -> None:
    options = chosen_options()
    end = time.monotonic() + 60 * options.minutes
    warnings.simplefilter("ignore", quiltmd.QuiltWarning)
    results: dict[str, Any] = {"provenance": provenance(), **dict.fromkeys(options.parts)}
    for part in options.parts:
        results[part] = []
        rows = PARTS[part](options)
        while time.monotonic() < end:
            try:
                row = next(rows, None)
            except quiltmd.QuiltError as error:
                row, rows = {"error": str(error)}, iter(())
            if row is None:
                break
            results[part].append(row)
            print(part, row, flush=True)
            if options.json:
                options.json.write_text(json.dumps(results, indent=1) + "\n")
        else:
            print(f"{part}: not run to its end, as {options.minutes:g} minutes have passed")


if __name__ == "__main__":
    main()
