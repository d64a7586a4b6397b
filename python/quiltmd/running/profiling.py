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

from rich.table import Table

from ..analysis.perfetto import events
from ..analysis.timeline_page import timeline_page
from ..analysis.trace import Trace, make_trace
from ..analysis.verdict import findings
from ..engine.execution import available_cores, is_gpu
from ..outputs.files import replace_file, writing
from ..outputs.reporters import Reporter
from .folder import Folder
from .progress import console
from .simulation import Simulation

# Pair-list lifetimes. After four of them work is balanced for the first time; after five a GPU
# replays recorded blocks of steps.
_UNBALANCED, _WARM_UP = 4, 5
_STRETCH = 10  # pair-list lifetimes


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
    """A recorded stretch of a run, as a table, as a trace for Perfetto and as a page."""

    trace: Trace

    @property
    def device(self) -> str:
        """The kind of device."""
        return self.trace.device

    @property
    def first_step(self) -> int:
        """Where the stretch begins."""
        return self.trace.first_step

    @property
    def steps(self) -> int:
        """How many steps it has."""
        return self.trace.steps

    def rows(self) -> list[Row]:
        """The table, largest first."""
        times: dict[str, list[float]] = defaultdict(list)
        for span in self.trace.spans:
            times[span.name].append(1e6 * span.seconds)
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
        if self.trace.loads:
            about["loads"] = self.trace.loads
        document = {"traceEvents": events(self.trace), "otherData": about}
        replace_file(path, json.dumps(document).encode())

    def write_page(self, path: str | os.PathLike[str], title: str) -> None:
        """The timeline of all ranks, and what follows from it, as one HTML page."""
        replace_file(path, timeline_page(self.trace, title).encode())

    def write(self, folder: Folder, run: str) -> None:
        """Table, trace and page of a run of that name into a folder."""
        with writing(folder.profile):
            self.write_table(folder.profile)
        with writing(folder.timeline):
            self.write_timeline(folder.timeline)
        with writing(folder.timeline_page):
            self.write_page(folder.timeline_page, f"Profile of {run}")

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
        for finding in findings(self.trace):
            console.print(f"- {finding.text}", markup=False)


def run_profiled(
    simulation: Simulation,
    steps: int,
    reporters: Sequence[Reporter] = (),
    watch: Callable[[int], bool] | None = None,
    stretch: int | None = None,
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
    stretch:
        Steps to profile, in place of ten lifetimes.
    """
    life = int(simulation.describe()["list_life"])
    stretch = min(stretch or _STRETCH * life, steps)
    warm_up = min(_WARM_UP * life, steps - stretch)
    return record(simulation, stretch, reporters, watch, warm_up)


def record(
    simulation: Simulation,
    steps: int,
    reporters: Sequence[Reporter] = (),
    watch: Callable[[int], bool] | None = None,
    warm_up: int = 0,
) -> Profile:
    """Runs `warm_up` steps, then profiles the next `steps`; otherwise as `run_profiled`."""
    before: list[float] = []
    simulation.start_profile()
    try:
        begin = simulation.step
        unbalanced = min(_UNBALANCED * int(simulation.describe()["list_life"]), warm_up)
        simulation.run(unbalanced, reporters, watch)
        is_balanced = simulation.ranks > 1 and not is_gpu(simulation.device)
        if unbalanced and is_balanced and simulation.step == begin + unbalanced:
            before = _busy(simulation, unbalanced)
            simulation.start_profile()
        if simulation.step == begin + unbalanced:
            simulation.run(warm_up - unbalanced, reporters, watch)
        if simulation.step == begin + warm_up:
            begin = simulation.step
            simulation.start_profile()
            simulation.run(steps, reporters, watch)
    finally:
        spans = simulation.stop_profile()
    about = {
        "device": simulation.device,
        "first_step": begin,
        "steps": simulation.step - begin,
        "loads": simulation.loads(),
        "busy_before": before,
        **_cores(simulation),
    }
    return Profile(make_trace(about, spans, simulation.profiled_messages()))


def _cores(simulation: Simulation) -> dict[str, int]:
    """Threads of all ranks and the cores for them, on a CPU."""
    if is_gpu(simulation.device):
        return {}
    threads = int(simulation.describe().get("threads", 1)) * simulation.ranks
    return {"threads": threads, "cores": available_cores()}


def _busy(simulation: Simulation, steps: int) -> list[float]:
    """Seconds per step that each rank has worked since the profile was started, which ends it."""
    about = {"device": simulation.device, "first_step": 0, "steps": steps}
    return [seconds / steps for seconds in make_trace(about, simulation.stop_profile()).busy()]
