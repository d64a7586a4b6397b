# SPDX-License-Identifier: Apache-2.0
"""Profile of a short stretch of a run, as a table and as a timeline.

On a GPU each kernel of a recorded block of steps notes its times, which the host reads between
blocks.  So that steps take as long as otherwise, only one block in 15 is recorded; a block is as
long as a pair list lives.  Steps before the stretch are timed as well, without notes.
"""

from __future__ import annotations

import csv
import io
import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from ..analysis.perfetto import events
from ..analysis.timeline_page import timeline_page
from ..analysis.trace import Trace, make_trace
from ..analysis.verdict import findings
from ..engine.execution import available_cores, is_gpu
from ..engine.places import parse_device
from ..outputs.files import replace_file, writing
from ..outputs.reporters import Reporter
from .folder import Folder
from .patch_moves import patch_moves_in_words
from .progress import console, say
from .simulation import Simulation

_STRETCH = 10  # pair-list lifetimes
# Pieces before the recorded ones. Ranks of a CPU have balanced their work after four. Several GPUs
# try ways to share PME in the first run of 24, the third piece of a simulation; ten pieces are then
# timed without recording, and in twelve, blocks of steps are rebuilt with kernels that note times.
_UNBALANCED, _WARM_UP = 4, 5
_SETTLING, _PLAIN, _ANEW = 36, 10, 12
_EVERY = 15  # blocks of a GPU, of which one is recorded


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
        """First profiled step."""
        return self.trace.first_step

    @property
    def steps(self) -> int:
        """Number of recorded steps."""
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
        if self.trace.stretch > self.steps:
            about["stretch"] = self.trace.stretch
        if self.trace.loads:
            about["loads"] = self.trace.loads
        document = {"traceEvents": events(self.trace), "otherData": about}
        replace_file(path, json.dumps(document).encode())

    def write_page(self, path: str | os.PathLike[str], title: str) -> None:
        """The timeline of all ranks, and what follows from it, as one HTML page."""
        page = timeline_page(self.trace, title)
        replace_file(path, page.encode(errors="xmlcharrefreplace"))

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
        table = Table(
            title=f"{self.trace.steps_in_words} on {self.device}: {self.trace.step_in_words}",
            title_justify="left",
        )
        table.add_column("kernel" if is_gpu(self.device) else "task")
        per_step = "us/step" if self.trace.ranks == 1 else "us/step, all ranks"
        for heading in ("calls", "us/call", per_step, "share"):
            table.add_column(heading, justify="right")
        for row in self.rows():
            times = (f"{row.us_per_call:.1f}", f"{row.us_per_step:.1f}", f"{row.share:.1%}")
            table.add_row(row.name, str(row.calls), *times)
        console.print(table)
        for finding in findings(self.trace):
            say(f"- {finding.text}")


def run_profiled(
    simulation: Simulation,
    steps: int,
    reporters: Sequence[Reporter] = (),
    watch: Callable[[int], bool] | None = None,
    stretch: int | None = None,
) -> Profile:
    """Runs and profiles ten pair-list lifetimes after a warm-up, or fewer if steps run out.

    The warm-up takes five lifetimes on a CPU, and 58 on GPUs; there the ten are one of every 15.

    Parameters
    ----------
    simulation:
        The running simulation; afterwards it is at the end of the profiled steps, or where `watch`
        stopped it.
    steps:
        Largest number of steps.
    reporters, watch:
        As in `Simulation.run`.
    stretch:
        Steps to record, in place of ten lifetimes.
    """
    life = int(simulation.describe()["list_life"])
    lives, every = _WARM_UP, 1
    if is_gpu(simulation.device):
        lives, every = _SETTLING + _PLAIN + _ANEW, _EVERY
    warm_up, stretch = shares_of(steps, lives * life, stretch or _STRETCH * life, every)
    return record(simulation, stretch, reporters, watch, warm_up)


def shares_of(steps: int, warm_up: int, recorded: int, every: int) -> tuple[int, int]:
    """Steps of the warm-up and of the stretch, of which one block of `every` is recorded.

    Where there are too few `steps`, the stretch becomes shorter, down to `recorded` steps, and only
    then the warm-up.
    """
    stretch = min(every * recorded, max(steps - warm_up, min(recorded, steps)))
    return min(warm_up, steps - stretch), stretch


def record(
    simulation: Simulation,
    steps: int,
    reporters: Sequence[Reporter] = (),
    watch: Callable[[int], bool] | None = None,
    warm_up: int = 0,
) -> Profile:
    """Runs `warm_up` steps, then the next `steps` with a profile; else as `run_profiled`."""
    recording = _Recording(simulation, reporters, watch)
    try:
        if is_gpu(simulation.device):
            before = recording.warm_up_of_gpus(warm_up)
        else:
            before = recording.warm_up_of_cpus(warm_up)
        recording.start()
        began = time.perf_counter()
        recording.run(steps)
        seconds = time.perf_counter() - began
    finally:
        spans = simulation.stop_profile()
    about = {
        "device": simulation.device,
        "first_step": recording.begin,
        "steps": simulation.step - recording.begin,
        "stretch_seconds": seconds,
        "loads": simulation.loads(),
        "patch_moves": patch_moves_in_words(simulation.describe()),
        **before,
        **cores_of(simulation),
    }
    return Profile(make_trace(about, spans, simulation.profiled_messages()))


class _Recording:
    """Stretches of a simulation, until `watch` ends one; then nothing more is run or begun."""

    def __init__(
        self,
        simulation: Simulation,
        reporters: Sequence[Reporter],
        watch: Callable[[int], bool] | None,
    ) -> None:
        self._simulation, self._reporters, self._watch = simulation, reporters, watch
        self._stopped = False
        self.begin = simulation.step  # of the profile

    def start(self) -> None:
        """Starts recording and discards earlier records."""
        if not self._stopped:
            self._simulation.start_profile()
            self.begin = self._simulation.step

    def run(self, steps: int) -> None:
        """The next steps."""
        if not self._stopped:
            target = self._simulation.step + steps
            self._simulation.run(steps, self._reporters, self._watch)
            self._stopped = self._simulation.step < target

    def warm_up_of_cpus(self, steps: int) -> dict[str, Any]:
        """Returns how long each rank worked before work was balanced, where it is."""
        before: list[float] = []
        balances = self._simulation.balance and self._simulation.ranks > 1
        unbalanced = min(_UNBALANCED * self._life(), steps)
        self.start()
        self.run(unbalanced)
        if unbalanced and balances and not self._stopped:
            before = _busy(self._simulation, unbalanced)
            self.start()
        self.run(steps - unbalanced)
        return {"busy_before": before}

    def warm_up_of_gpus(self, steps: int) -> dict[str, Any]:
        """Returns how long a step takes that is not recorded."""
        anew = min(_ANEW * self._life(), steps)
        plain = min(_PLAIN * self._life(), steps - anew)
        self.run(steps - anew - plain)
        began = time.perf_counter()
        self.run(plain)
        seconds = time.perf_counter() - began
        is_full = plain == _PLAIN * self._life() and not self._stopped
        self.start()
        self.run(anew)
        return {"plain_step": seconds / plain if is_full else 0.0}

    def _life(self) -> int:
        return int(self._simulation.describe()["list_life"])


def cores_of(simulation: Simulation) -> dict[str, int]:
    """Threads of all ranks and the cores for them, where these are the cores of this machine."""
    kinds = {place.kind for place in parse_device(simulation.device)}
    if is_gpu(simulation.device) or not kinds <= {"here", "worker"}:
        return {}
    threads = int(simulation.describe().get("threads", 1)) * simulation.ranks
    return {"threads": threads, "cores": available_cores()}


def _busy(simulation: Simulation, steps: int) -> list[float]:
    """Seconds per step that each rank has worked since the profile was started, which ends it."""
    about = {"device": simulation.device, "first_step": 0, "steps": steps}
    return [seconds / steps for seconds in make_trace(about, simulation.stop_profile()).busy()]
