# SPDX-License-Identifier: Apache-2.0
"""`quiltmd bench`: speed on a standard system, and where the time goes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any

import typer
from rich.table import Table

from ..engine.execution import Execution, is_gpu
from ..errors import QuiltError
from ..inputs.standard_systems import SYSTEMS
from ..reading.words import natural_number
from ..running import benchmark
from ..running.transports import compare_transports
from .options import Settings, with_settings
from .sectioned_command import AsJson
from .tables import out, show_table


@with_settings("integrator.long_range_every", "run.ranks", "run.threads", "run.device")
def bench(
    settings: Settings,
    system: Annotated[
        str | None,
        typer.Option(
            help=f"One of {', '.join(SYSTEMS)}. [default: dhfr; on a GPU, see above]",
        ),
    ] = None,
    tile: Annotated[
        str | None,
        typer.Option(
            metavar="NXxNYxNZ", help="Number of copies along each box vector, such as 2x2x1."
        ),
    ] = None,
    transports: Annotated[
        bool,
        typer.Option(
            "--transports", help="Compare message transports between two ranks, or --ranks."
        ),
    ] = False,
    steps: Annotated[
        int, typer.Option(min=0, help="Steps to time; 0: as many as take about ten seconds.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Measure the speed of a standard system and of its tasks.

    On a GPU, without --system and --tile, prints a table of DHFR in sizes up to a million atoms.
    """
    chosen = {key: value for (_, key), value in settings.items()}
    if transports:
        if chosen.pop("long_range_every", 1) > 1:
            raise QuiltError(
                "--transports cannot be combined with --long-range-every: leave it out"
            )
        copies = parse_tile(tile or "1x1x1")
        chosen.setdefault("ranks", 2)
        found = compare_transports(system or "dhfr", copies, steps, **chosen)
        _show(found, _print_transports, as_json)
        return
    where = Execution(chosen.get("device", "auto"), chosen.get("ranks")).resolve()
    if not system and not tile and where.ranks == 1 and is_gpu(where.device):
        every = chosen.get("long_range_every", 1)
        _show(benchmark.bench_gpu(steps, long_range_every=every), print_results, as_json)
    else:
        copies = parse_tile(tile or "1x1x1")
        _show(benchmark.bench(system or "dhfr", copies, steps, **chosen), _print_result, as_json)


def _show(result: Any, for_people: Callable[[Any], None], as_json: bool) -> None:
    if as_json:
        print(json.dumps(result))
    else:
        for_people(result)


def parse_tile(text: str, option: str = "--tile") -> tuple[int, int, int]:
    """Three counts from the text of an option, such as "2x2x1"."""
    parts = text.split("x")
    counts = [natural_number(part) or 0 for part in parts]
    if len(parts) != 3 or not all(counts):
        raise QuiltError(f"{option}: expected three counts such as 2x2x1, found {text!r}")
    nx, ny, nz = counts
    return nx, ny, nz


def _print_result(result: dict[str, Any]) -> None:
    """A result of `bench` for people, on stdout."""
    out.print(
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
    kind = "kernel" if is_gpu(result["device"]) else "task"
    table = Table(kind, "ms/step", "share")
    for name, seconds in tasks:
        table.add_row(name, f"{1e3 * seconds / result['steps']:.3f}", f"{seconds / total:.1%}")
    show_table(table)


def _print_transports(result: dict[str, Any]) -> None:
    """A result of `compare_transports` for people, on stdout."""
    out.print(
        f"{result['system']} {result['tile']}: {result['atoms']} atoms, {result['device']}, "
        f"{result['ranks']} ranks of {result['threads']} thread(s); us per step, over all ranks",
        markup=False,
    )
    rows = [row for row in result["transports"] if "note" not in row]
    agree = len({row["digest"] for row in rows}) == 1
    table = Table("transport", "messages")
    for heading in ("number", "kB", "ideal", "on their way", "waited for", "hidden", "us/step"):
        table.add_column(heading, justify="right")
    for row in rows:
        hidden = "" if row["hidden"] is None else f"{row['hidden']:.0%}"
        table.add_row(row["transport"], *[""] * 6, hidden, f"{row['us_per_step']:.1f}")
        for edge in row["edges"]:
            times = (f"{edge[name]:.1f}" for name in ("ideal", "flight", "waited"))
            size = f"{1e-3 * edge['bytes']:.1f}"
            table.add_row("", edge["name"], f"{edge['messages']:.1f}", size, *times, "", "")
    show_table(table)
    out.print(
        f"the final state is the same with all transports: {rows[0]['digest'][:16]}..."
        if agree
        else "THE STATE DIFFERS: " + ", ".join(f"{r['transport']} {r['digest']}" for r in rows),
        markup=False,
    )
    for row in result["transports"]:
        if "note" in row:
            out.print(f"{row['transport']}: {row['note']}", markup=False)


def print_results(results: list[dict[str, Any]]) -> None:
    """Results of `bench_gpu` as a table, on stdout."""
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
    show_table(table)
    for result in results:
        if "note" in result:
            out.print(f"{result['tile']}: {result['note']}", markup=False)


def _kind_of_steps(result: dict[str, Any]) -> str:
    every = result["long_range_every"]
    rare = f", reciprocal space every {every} steps" if every > 1 else ""
    return f"{1000 * result['timestep']:g} fs steps{rare}"
