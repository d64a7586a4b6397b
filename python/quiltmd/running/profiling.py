# SPDX-License-Identifier: Apache-2.0
"""Profile of a short stretch of a run, as a table and as a timeline.

Only a stretch is timed, since timing has a cost: a GPU's kernels no longer overlap at their ends,
each seems about 3 us longer (on an H200), and times are read between blocks of steps.  The speed of
a run is what its log says.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from ..engine.execution import is_gpu
from ..outputs.files import replace_file
from ..outputs.reporters import Reporter
from .progress import console
from .simulation import Simulation

_WARM_UP = 5  # pair-list lifetimes; by then a GPU replays recorded blocks of steps
_STRETCH = 10  # pair-list lifetimes
_STREAMS = ("main", "side", "halo", "boundary")


@dataclass(frozen=True)
class Row:
    """A kernel or task, over the profiled steps and all ranks; `share` is of the sum of rows."""

    name: str
    calls: int
    us_per_call: float
    us_per_step: float
    share: float


@dataclass(frozen=True)
class Profile:
    """The steps from `first_step` on, with the calls as `Simulation.stop_profile` gives them."""

    device: str
    first_step: int
    steps: int
    spans: list[dict[str, Any]]

    def rows(self) -> list[Row]:
        """The table, largest first."""
        times: dict[str, list[float]] = defaultdict(list)
        for span in self.spans:
            times[span["name"]].append(1e6 * (span["end"] - span["begin"]))
        total = sum(map(sum, times.values())) or 1.0
        rows = [
            Row(name, len(us), sum(us) / len(us), sum(us) / self.steps, sum(us) / total)
            for name, us in times.items()
        ]
        return sorted(rows, key=lambda row: -row.share)

    def write_table(self, path: str | os.PathLike[str]) -> None:
        """The table as CSV."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["name", "calls", "us_per_call", "us_per_step", "share"])
        for row in self.rows():
            times = (f"{row.us_per_call:.3f}", f"{row.us_per_step:.3f}", f"{row.share:.5f}")
            writer.writerow([row.name, row.calls, *times])
        replace_file(path, text.getvalue().encode())

    def write_timeline(self, path: str | os.PathLike[str]) -> None:
        """Trace events as Perfetto and Chrome read them; a process is a rank, a thread a stream."""
        about = {"device": self.device, "first_step": self.first_step, "steps": self.steps}
        replace_file(path, json.dumps({"traceEvents": self._events(), "otherData": about}).encode())

    def _events(self) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = []
        for rank, stream in sorted({(span["rank"], span["stream"]) for span in self.spans}):
            track = {"ph": "M", "pid": rank, "tid": stream}
            rank_name = f"rank {rank} ({self.device})"
            events.append({**track, "name": "process_name", "args": {"name": rank_name}})
            events.append({**track, "name": "thread_name", "args": {"name": _STREAMS[stream]}})
        events += (
            {
                "ph": "X",
                "pid": span["rank"],
                "tid": span["stream"],
                "name": span["name"],
                "ts": round(1e6 * span["begin"], 3),
                "dur": round(1e6 * (span["end"] - span["begin"]), 3),
            }
            for span in self.spans
        )
        return events

    def show(self) -> None:
        """Prints the table on stderr."""
        end = self.first_step + self.steps
        table = Table(
            title=f"steps {self.first_step} to {end} on {self.device}", title_justify="left"
        )
        table.add_column("kernel" if is_gpu(self.device) else "task")
        for heading in ("calls", "us/call", "us/step", "share"):
            table.add_column(heading, justify="right")
        for row in self.rows():
            times = (f"{row.us_per_call:.1f}", f"{row.us_per_step:.1f}", f"{row.share:.1%}")
            table.add_row(row.name, str(row.calls), *times)
        console.print(table)


def run_profiled(
    simulation: Simulation,
    steps: int,
    reporters: Sequence[Reporter] = (),
    watch: Callable[[int], bool] | None = None,
) -> Profile:
    """Runs and profiles ten pair-list lifetimes after a warm-up of five, or fewer if steps run out.

    Parameters
    ----------
    simulation:
        What runs; stands at the end of the stretch afterwards, or where `watch` stopped it.
    steps:
        How many there may be.
    reporters, watch:
        As in `Simulation.run`.
    """
    life = int(simulation.describe()["list_life"])
    stretch = min(_STRETCH * life, steps)
    warm_up = min(_WARM_UP * life, steps - stretch)
    simulation.start_profile()
    try:
        begin = simulation.step
        simulation.run(warm_up, reporters, watch)
        if simulation.step == begin + warm_up:
            begin = simulation.step
            simulation.start_profile()
            simulation.run(stretch, reporters, watch)
    finally:
        spans = simulation.stop_profile()
    return Profile(simulation.device, begin, simulation.step - begin, spans)
