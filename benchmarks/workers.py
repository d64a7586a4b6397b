# SPDX-License-Identifier: Apache-2.0
"""What workers cost, a command for each kind of cost: `python benchmarks/workers.py --help`."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer
from rich.table import Table
from worker_costs.exchange import PARTS, bench_exchange
from worker_costs.flips import COUNTS, count_flips
from worker_costs.migration import KINDS, time_faults
from worker_costs.redundancy import compare_devices, compare_null_engines
from worker_costs.remote import time_messages
from worker_costs.step import compare_levels

from quiltmd.commands.bench import parse_tile
from quiltmd.commands.sectioned_command import AsJson
from quiltmd.commands.tables import show_table
from quiltmd.errors import QuiltError
from quiltmd.inputs.standard_systems import SYSTEMS
from quiltmd.running.progress import say
from quiltmd.running.provenance import provenance
from quiltmd.workers.pool import PHASES

costs = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Measure the cost of workers."
)

_UNITS = {"K": 1 << 10, "M": 1 << 20}
Row = dict[str, Any]
Column = tuple[str, Callable[[Row], object]]  # its heading, and what a row has there

Device = Annotated[str, typer.Option(help="Device, without a worker: cpu, cuda:0, ...")]
System = Annotated[str, typer.Option(help=f"One of {', '.join(SYSTEMS)}.")]


@costs.command()
def remote(
    sizes: Annotated[
        str, typer.Option(help="Sizes of the message and of its answer, bytes.")
    ] = "8,4K,64K,1M,16M",
    gaps: Annotated[str, typer.Option(help="Idle times before a message, ms.")] = "0,1,10,100",
    targets: Annotated[
        str, typer.Option(help="Numbers of workers asked at the same time.")
    ] = "1,4,16,64",
    as_json: AsJson = False,
) -> None:
    """Time a message to a worker and its answer.

    Workers are processes of this machine, by a Unix socket (worker) and by TCP with encrypted
    messages (remote). Sizes, gaps and targets are varied one at a time; the others are 8 bytes, no
    gap and one worker.
    """
    columns: list[Column] = [
        ("connection", lambda row: row["connection"]),
        ("workers", lambda row: row["workers"]),
        ("bytes", lambda row: row["bytes"]),
        ("gap, ms", lambda row: f"{row['gap_ms']:g}"),
        ("us", lambda row: f"{row['microseconds']:.0f}"),
        ("messages/s", lambda row: f"{1e6 * row['workers'] / row['microseconds']:.0f}"),
        ("MB/s", lambda row: f"{row['megabytes_per_second']:.1f}"),
    ]
    asked = _whole("sizes", sizes), _numbers("gaps", gaps), _whole("targets", targets)
    rows = _told(time_messages(*asked), columns)
    _show({"rows": rows}, "a message there and back", columns, as_json)


@costs.command()
def step(
    device: Device = "cpu",
    system: System = "alanine",
    tile: Annotated[str, typer.Option(help="Copies along the box vectors.")] = "1x1x1",
    delays: Annotated[
        str, typer.Option(help="Delays of the network in each direction, ms.")
    ] = "0,0.02,0.1,0.5,2",
    steps: Annotated[
        int, typer.Option(min=0, help="Steps in each of four repeats; 0: about half a second.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Time a step here, with the engine in a worker, and with only the device in a worker.

    Workers are reached by a Unix socket (worker), by TCP (remote), and by TCP through a proxy that
    is slow (proxy).
    """
    rows = compare_levels(device, system, parse_tile(tile), _numbers("delays", delays), steps=steps)
    columns: list[Column] = [
        ("elsewhere", lambda row: "nothing" if row["level"] == "here" else row["level"]),
        ("connection", lambda row: row["connection"]),
        ("delay, ms", lambda row: f"{row['delay_ms']:g}" if "delay_ms" in row else ""),
        ("us/step", lambda row: f"{row['us_per_step']:.1f}"),
        ("more", lambda row: f"{row['more_percent']:.1f} %"),
    ]
    title = f"{system} {tile}, {rows[0]['atoms']} atoms, {device}: {_same_bits(rows)}"
    _show({"rows": rows}, title, columns, as_json)


@costs.command()
def redundancy(
    devices: Annotated[
        str,
        typer.Option(
            help="Two devices, such as 'cuda:0;cuda:1'; by default engines that compute nothing."
        ),
    ] = "",
    system: System = "dhfr",
    tiles: Annotated[
        str, typer.Option(help="With --devices: copies along the box vectors.")
    ] = "1x1x1,2x2x1",
    seconds: Annotated[
        float, typer.Option(min=0.1, help="With --devices: seconds in each of four repeats.")
    ] = 2.0,
    atoms: Annotated[
        str, typer.Option(help="Without --devices: numbers of atoms in the State.")
    ] = "23558,94232",
    milliseconds: Annotated[
        float, typer.Option(min=1, help="Without --devices: duration of each call.")
    ] = 500.0,
    as_json: AsJson = False,
) -> None:
    """Measure the cost of running the same steps on two devices and comparing them."""
    if not devices:
        rows = [
            row
            for count in _whole("atoms", atoms)
            for row in compare_null_engines(count, milliseconds=milliseconds)
        ]
        columns: list[Column] = [
            ("atoms", lambda row: row["atoms"]),
            ("engine", lambda row: row["engine"]),
            ("ms a call", lambda row: f"{row['milliseconds']:.2f}"),
            ("more", lambda row: f"{row['more_percent']:.2f} %"),
        ]
        _show({"rows": rows}, "engines that compute nothing", columns, as_json)
        return
    one, _, other = devices.partition(";")
    if not other:
        raise QuiltError(f"--devices: expected two, such as 'cuda:0;cuda:1', found {devices!r}")
    columns = [
        ("atoms", lambda row: row["atoms"]),
        ("device", lambda row: row["device"]),
        ("us/step", lambda row: f"{row['us_per_step']:.2f}"),
        ("more", lambda row: f"{row['more_percent']:.2f} %"),
    ]
    rows = []
    for tile in tiles.split(","):
        rows += _told(
            compare_devices(one, other, system, parse_tile(tile, "--tiles"), seconds), columns
        )
    _show({"rows": rows}, f"{system}: {_same_bits(rows)}", columns, as_json)


@costs.command()
def flips(
    number: Annotated[
        int, typer.Option("--flips", min=1, help="Bits to flip in each array of the State.")
    ] = 4,
    seed: Annotated[int, typer.Option(help="Random seed that chooses the bits.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Count which flipped bits of a State two devices find, and which the sum of forces finds.

    Alanine dipeptide in water on the CPU. changed: the final State differs, or the run failed;
    found: by redundant:; missed: changed but not found; mended: the final State has the same bits
    as without the flip.
    """
    columns: list[Column] = [
        (name.replace("_", " "), lambda row, name=name: row[name])  # type: ignore[misc]
        for name in ("buffer", "flips", *COUNTS)
    ]
    rows = _told(count_flips(number, seed), columns)
    _show({"rows": rows}, "flipped bits", columns, as_json)


@costs.command()
def migration(
    device: Device = "cpu",
    system: System = "alanine",
    kinds: Annotated[
        str, typer.Option(help=f"Faults to choose from at random: {', '.join(KINDS)}.")
    ] = "kill,drop",
    faults: Annotated[int, typer.Option(min=1, help="Number of faults.")] = 4,
    steps: Annotated[int, typer.Option(min=1, help="Average number of steps between faults.")] = 50,
    seed: Annotated[int, typer.Option(help="Random seed that chooses kinds and steps.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Time, by phase, from the loss of a device until the run continues in another process.

    noticed: from the start of the failed call until the loss is known; started: starting another
    worker; restored: sending the State to it; repeated: redoing the steps that were lost.
    """
    chosen = kinds.split(",")
    if wrong := [kind for kind in chosen if kind not in KINDS]:
        raise QuiltError(f"--kinds: {wrong[0]!r} is none of {', '.join(KINDS)}")
    found = time_faults(device, system, chosen, faults, steps=steps, seed=seed, tell=say)
    columns: list[Column] = [
        ("fault", lambda row: row["kind"]),
        ("number", lambda row: row["faults"]),
    ]
    for phase in PHASES:
        columns.append((f"{phase}, ms", lambda row, phase=phase: _median(row, phase)))  # type: ignore[misc]
    end = (
        "the same as without faults"
        if found["same_bits"]
        else "DIFFERENT FROM A RUN WITHOUT FAULTS"
    )
    title = (
        f"{system}, {found['atoms']} atoms, {device}: {found['faults']} faults in "
        f"{found['steps']} steps, the final State is {end}; median (longest)"
    )
    _show(found, title, columns, as_json)


@costs.command()
def exchange(
    replicas: Annotated[str, typer.Option(help="Numbers of replicas.")] = "1,4,16,64",
    iterations: Annotated[int, typer.Option(min=1, help="Iterations to time.")] = 10,
    milliseconds: Annotated[
        float, typer.Option(min=0, help="How long the steps between two swaps take.")
    ] = 0.0,
    processes: Annotated[
        bool, typer.Option(help="A worker process for each replica; else all in this process.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Measure iterations per second of a replica exchange whose workers compute nothing.

    The time of an iteration is that of run (calls that advance replicas), energies (until the last
    have arrived), swap (until all have swapped that are to) and write (rows of the tables).
    Processor is what this process computes for each replica in an iteration.
    """
    rows = []
    for count in _whole("replicas", replicas):
        say(f"{count} replicas ...")
        rows.append(
            bench_exchange(count, iterations, processes=processes, milliseconds=milliseconds)
        )
    columns: list[Column] = [
        ("replicas", lambda row: row["replicas"]),
        ("iterations/s", lambda row: f"{row['iterations_per_second']:.1f}"),
    ]
    for part in PARTS:
        columns.append((f"{part}, ms", lambda row, part=part: f"{row['milliseconds'][part]:.2f}"))  # type: ignore[misc]
    columns.append(("processor, ms", lambda row: f"{row['processor_milliseconds']:.2f}"))
    _show({"rows": rows}, f"workers: {rows[0]['where']}", columns, as_json)


def _show(result: Row, title: str, columns: list[Column], as_json: bool) -> None:
    """A result with `rows`, as a table, or as JSON with where it was measured."""
    if as_json:
        command = shlex.join(["python", "benchmarks/workers.py", *sys.argv[1:]])
        print(json.dumps({"command": command, "provenance": provenance(), **result}))
        return
    table = Table(title=title, title_justify="left")
    for heading, _ in columns:
        table.add_column(heading, justify="right")
    for row in result["rows"]:
        table.add_row(*(str(cell(row)) for _, cell in columns))
    show_table(table)


def _told(rows: Iterable[Row], columns: list[Column]) -> list[Row]:
    """The rows, each printed as soon as it is measured."""
    found = []
    for row in rows:
        found.append(row)
        say(", ".join(f"{heading} {cell(row)}" for heading, cell in columns))
    return found


def _same_bits(rows: list[Row]) -> str:
    """Whether all States of a size are the same."""
    digests = {(row["atoms"], row["digest"]) for row in rows}
    sizes = {row["atoms"] for row in rows}
    return "the State has the same bits in all" if len(digests) == len(sizes) else "STATES DIFFER"


def _median(row: Row, phase: str) -> str:
    return f"{row['median_ms'][phase]:.0f} ({row['longest_ms'][phase]:.0f})"


def _whole(name: str, text: str) -> list[int]:
    """Whole numbers, at least 1, from text such as "8,64K,1M"."""
    numbers = []
    for word in text.split(","):
        unit = _UNITS.get(word[-1:], 1)
        digits = word if unit == 1 else word[:-1]
        if not (digits.isascii() and digits.isdecimal() and int(digits) > 0):
            raise QuiltError(f"--{name}: expected numbers such as 1,64 or 4K,1M, found {text!r}")
        numbers.append(unit * int(digits))
    return numbers


def _numbers(name: str, text: str) -> list[float]:
    """Numbers, 0 or more, from text such as "0,0.1"."""
    try:
        numbers = [float(word) for word in text.split(",")]
    except ValueError:
        numbers = [-1.0]
    if not all(0 <= number < 1e6 for number in numbers):
        raise QuiltError(f"--{name}: expected milliseconds such as 0,0.1,10, found {text!r}")
    return numbers


if __name__ == "__main__":
    try:
        costs()
    except QuiltError as error:
        sys.exit(f"error: {error}")
