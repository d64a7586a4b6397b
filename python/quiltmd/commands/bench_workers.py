# SPDX-License-Identifier: Apache-2.0
"""`quiltmd bench-workers`: what workers cost, a command for each kind of cost."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.table import Table

from ..exchange.benchmark import PARTS, bench_exchange
from ..running.progress import say
from .options import AsJson
from .tables import show_table

bench_workers = typer.Typer(no_args_is_help=True, help="What workers cost, without dynamics.")


@bench_workers.callback()
def _common() -> None:
    pass


@bench_workers.command()
def exchange(
    replicas: Annotated[
        list[int] | None,
        typer.Option(min=1, help="Replicas; several times for several. [default: 1, 4, 16, 64]"),
    ] = None,
    iterations: Annotated[int, typer.Option(min=1, help="Iterations to time.")] = 10,
    milliseconds: Annotated[
        float, typer.Option(min=0, help="How long the steps between two swaps take.")
    ] = 0.0,
    processes: Annotated[
        bool, typer.Option(help="A worker process for each replica; else all in this process.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Iterations per second of replica exchange whose workers compute nothing, and what they take.

    The time of an iteration is that of run (calls that advance replicas), energies (until the last
    have arrived), decide, swap (states fetched and set) and write (rows of the tables).
    """
    rows = []
    for count in replicas or (1, 4, 16, 64):
        say(f"{count} replicas ...")
        rows.append(
            bench_exchange(count, iterations, processes=processes, milliseconds=milliseconds)
        )
    if as_json:
        print(json.dumps(rows))
        return
    table = Table("replicas", title=f"workers: {rows[0]['where']}", title_justify="left")
    for heading in ("iterations/s", *(f"{part}, ms" for part in PARTS)):
        table.add_column(heading, justify="right")
    for row in rows:
        parts = [f"{row['milliseconds'][part]:.2f}" for part in PARTS]
        table.add_row(str(row["replicas"]), f"{row['iterations_per_second']:.1f}", *parts)
    show_table(table)
