# SPDX-License-Identifier: Apache-2.0
"""Whether a run on several GPUs is faster on one of them.

A step of a small system is a chain of short kernels, and messages between GPUs take longer than the
work that they spare.  That is tried, while the run goes on: on one GPU it has the same bits.
"""

from __future__ import annotations

import time

from ..engine.execution import Execution
from ..engine.places import parse_place
from ..errors import QuiltError
from .progress import say
from .simulation import Simulation

_SHORT = 150e-6  # s a step on several GPUs, from which on one is slower anyway
_WARM_UP = _MEASURED = 1.0  # s
_CLEARLY_FASTER = 0.98


class OneGpuTrial:
    """Tries one GPU where steps on several are short, and stays there if that is faster.

    Parameters
    ----------
    simulation:
        The simulation, on the devices that it was asked to run on.
    execution:
        Requested execution.  Who says how GPUs share the work gets several of them.
    """

    def __init__(self, simulation: Simulation, execution: Execution) -> None:
        self._several = self._now_on = simulation.device
        is_open = execution.transport == execution.mesh == "auto"
        self._first = _first_of_several(simulation.device) if is_open else ""
        self._time_on_several: float | None = None  # s a step
        self._stretch = _Stretch()

    def is_due(self, step: int) -> bool:
        """Whether to stop at this step, at which the simulation is, for `carry_out`."""
        return bool(self._first) and self._stretch.has_ended(step)

    def carry_out(self, simulation: Simulation) -> None:
        """Moves the simulation to one GPU, or back, where the time for that has come."""
        if not self._first or self._stretch.seconds_of_a_step is None:
            return
        seconds, before = self._stretch.seconds_of_a_step, self._time_on_several
        self._stretch = _Stretch()
        if simulation.device != self._now_on:
            self._first = ""  # somebody has moved it meanwhile
        elif before is None:
            self._time_on_several = seconds
            self._move(simulation, self._first if seconds < _SHORT else "")
        elif seconds < _CLEARLY_FASTER * before:
            self._first = ""
            say(
                f"step {simulation.step}: continuing on {simulation.device} alone, where a step "
                f"takes {1e6 * seconds:.1f} us; on {self._several} it took {1e6 * before:.1f} us"
            )
        else:
            self._move(simulation, self._several)
            self._first = ""

    def _move(self, simulation: Simulation, device: str) -> None:
        """To a device; to none: the trial is over."""
        try:
            if device:
                simulation.migrate(device)
        except QuiltError as error:
            say(f"step {simulation.step}: {device} was not tried: {error}")
            device = ""
        self._now_on = simulation.device
        self._first = device and self._first


class _Stretch:
    """A second in which the time of a step is measured, after one to warm up."""

    def __init__(self) -> None:
        self.seconds_of_a_step: float | None = None
        self._marks: list[tuple[float, int]] = []  # where it all began, and the measurement

    def has_ended(self, step: int) -> bool:
        """Whether it has, at this step, and now."""
        now = time.monotonic()
        lasts = (_WARM_UP, _MEASURED)
        if not self._marks or now - self._marks[-1][0] >= lasts[len(self._marks) - 1]:
            self._marks.append((now, step))
        if len(self._marks) < 3:
            return False
        (begin, first), (end, last) = self._marks[1:]
        self.seconds_of_a_step = (end - begin) / (last - first)
        return True


def _first_of_several(device: str) -> str:
    """The first GPU of several that differ and that one process drives; "" for other devices."""
    try:
        place = parse_place(device)
    except ValueError:
        return ""
    gpus = place.ordinals()
    return f"cuda:{gpus[0]}" if place.kind == "here" and 1 < len(gpus) == len(set(gpus)) else ""
