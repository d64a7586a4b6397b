# SPDX-License-Identifier: Apache-2.0
"""Annealing: the temperature of the heat bath over time, piecewise linear.

The temperature is set at steps that are multiples of an interval, since each change ends an epoch
and builds the pair lists anew.  Which steps these are, and what is set, follows from the step
number alone, so a run that was resumed has the bits of one that never stopped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .simulation import Simulation


@dataclass(frozen=True)
class Annealing:
    """A schedule of temperatures.

    Attributes
    ----------
    points:
        Times (ps) and temperatures (K); before the first and after the last it stays as there.
    every:
        Steps between changes.
    timestep:
        ps.
    """

    points: tuple[tuple[float, float], ...]
    every: int
    timestep: float

    def temperature(self, step: int) -> float:
        """Temperature that is set at a step, K."""
        times, temperatures = zip(*self.points, strict=True)
        return float(np.interp(step * self.timestep, times, temperatures))

    def set_at(self, simulation: Simulation) -> int:
        """Sets the temperature if this step is one at which it changes; returns the next such."""
        step = simulation.step
        if step % self.every == 0:
            simulation.set_conditions(temperature=self.temperature(step))
        return step - step % self.every + self.every

    def set_before(self, simulation: Simulation, step: int) -> None:
        """Sets what holds when a step is reached; its own change comes after that."""
        last = max(0, step - 1)
        simulation.set_conditions(temperature=self.temperature(last - last % self.every))
