# SPDX-License-Identifier: Apache-2.0
"""Annealing: temperature, pressure and strength of restraints over time, piecewise linear.

They are set at steps that are multiples of an interval, since each change ends an epoch and builds
the pair lists anew.  Which steps these are, and what is set, follows from the step number alone, so
a run that was resumed has the bits of one that never stopped.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np

from ..description.checks import LAST_STEP
from ..description.units import Bars, Kelvins, Picoseconds
from .simulation import Simulation

Points = tuple[tuple[float, float], ...]
TemperaturePoints = tuple[tuple[Picoseconds, Kelvins], ...]
PressurePoints = tuple[tuple[Picoseconds, Bars], ...]
StrengthPoints = tuple[tuple[Picoseconds, float], ...]
Condition = Literal["temperature", "pressure", "restraints"]


def check_points(
    setting: str, points: Points, what: str, least: float, most: float, unit: str = ""
) -> None:
    """ValueError, which names the setting, unless times ascend from 0 on and values have limits."""
    times, values = zip(*points, strict=True) if points else ((), ())
    if not times or times[0] < 0 or any(a >= b for a, b in pairwise(times)):
        raise ValueError(f"{setting}: needs points whose times, ps, are not negative and ascend")
    if min(values) < least or max(values) > most:
        raise ValueError(f"{setting}: {what} must be from {least:g} to {most:g} {unit}".rstrip())


@dataclass(frozen=True)
class Curve:
    """A condition over time.

    Attributes
    ----------
    condition:
        As `Simulation.set_conditions` names it.
    points:
        Times (ps) and values (K, bar, or a factor); before the first and after the last it stays
        as there.
    every:
        Steps between changes.
    """

    condition: Condition
    points: Points
    every: int

    def value(self, time: float) -> float:
        """The value at a time, ps."""
        times, values = zip(*self.points, strict=True)
        return float(np.interp(time, times, values))


@dataclass(frozen=True)
class TemperaturesOfGroups:
    """The temperatures over time of groups of atoms that have heat baths of their own.

    Attributes
    ----------
    points:
        Points of each group, in order: times (ps) and temperatures (K), as those of a `Curve`.
    every:
        Steps between changes.
    """

    points: tuple[Points, ...]
    every: int
    condition: ClassVar[Condition] = "temperature"

    def value(self, time: float) -> tuple[float, ...]:
        """The temperatures at a time, ps."""
        return tuple(
            Curve(self.condition, points, self.every).value(time) for points in self.points
        )


@dataclass(frozen=True)
class Annealing:
    """All conditions of a run that change over time; perhaps none.

    Attributes
    ----------
    curves:
        One for each condition.
    timestep:
        ps.
    """

    curves: tuple[Curve | TemperaturesOfGroups, ...]
    timestep: float

    def set_at(self, simulation: Simulation) -> int:
        """Sets what changes at the present step; returns the next at which something does."""
        step = simulation.step
        self._set(simulation, {curve: step for curve in self.curves if step % curve.every == 0})
        return min((step - step % c.every + c.every for c in self.curves), default=LAST_STEP)

    def set_before(self, simulation: Simulation, step: int) -> None:
        """Sets what holds when a step is reached; its own changes come after that."""
        last = max(0, step - 1)
        self._set(simulation, {curve: last - last % curve.every for curve in self.curves})

    def _set(self, simulation: Simulation, steps: dict[Curve | TemperaturesOfGroups, int]) -> None:
        """Sets conditions to their values at these steps."""
        values: dict[str, Any] = {
            c.condition: c.value(step * self.timestep) for c, step in steps.items()
        }
        if values:
            simulation.set_conditions(**values)
