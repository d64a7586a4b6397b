# SPDX-License-Identifier: Apache-2.0
"""Steps of a graph of tasks, simulated by the core (src/prediction/steps.h)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine.core import load_core
from .network import Fabric
from .tasks import Graph

Times = NDArray[np.float64]


@dataclass
class Step:
    """Times of a simulated step, us.

    `begin`, `end` are by task, `sent` and `arrived` by message; `cause` is the task (from 0 on) or
    the message (from -2 on downwards) that a task came last after, -1 for none.
    """

    begin: Times
    end: Times
    cause: NDArray[np.int32]
    sent: Times
    arrived: Times
    rank_end: Times


def message_cause(message: int) -> int:
    """The number of a message as a cause; its own inverse."""
    return -2 - message


class Simulator:
    """Steps of a graph on a network, one after the other.

    A rank of a CPU (`is_serial`) does one task at a time, of those that are ready the most urgent;
    a GPU runs its streams side by side.  `tables` are the arrays of the graph.
    """

    def __init__(self, graph: Graph, fabric: Fabric, ranks: int, is_serial: bool) -> None:
        self.fabric, self.tables = fabric, graph.arrays()
        self._core = load_core().StepSimulator(self.tables, ranks, is_serial)

    def run(self, starts: Times) -> Step:
        """A step that rank r begins at `starts[r]`."""
        found: dict[str, Any] = self._core.run(
            self.fabric.core, np.ascontiguousarray(starts, np.float64)
        )
        return Step(**found)
