# SPDX-License-Identifier: Apache-2.0
"""The network of a machine with a number of ranks; its rules are in src/prediction/network.h."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..engine.core import load_core
from .machine import Machine
from .plan import Shape


class Fabric:
    """Messages between ranks, which take links in turn.

    Parameters
    ----------
    machine:
        Its network, and its islands if there are any.
    ranks:
        Number of ranks.
    """

    def __init__(self, machine: Machine, ranks: int) -> None:
        network = machine.network.model_dump()
        network["injection"] = machine.network.injection or machine.network.bandwidth
        network["dimensions"] = shape_of(machine, ranks).torus
        island = machine.island.model_dump() if machine.island else None
        self.core = load_core().Network(network, island, ranks)

    def deliver(self, time: float, sender: int, receiver: int, size: float) -> float:
        """When a message that is sent now has arrived, us."""
        return float(self.core.deliver(time, sender, receiver, size))

    def hops(self, senders: NDArray[np.int64], receivers: NDArray[np.int64]) -> NDArray[np.int32]:
        """Numbers of hops of messages."""
        found: NDArray[np.int32] = self.core.hops(
            np.ascontiguousarray(senders, np.int64), np.ascontiguousarray(receivers, np.int64)
        )
        return found


def shape_of(machine: Machine, ranks: int) -> Shape:
    """Shape of the network, for the assignment to this number of ranks."""
    of_node = machine.island.size if machine.island else 1
    if machine.network.topology != "torus":
        return Shape(of_node)
    return Shape(of_node, machine.network.dimensions or _cubic(-(-ranks // of_node)))


def _cubic(nodes: int) -> tuple[int, int, int]:
    """Three numbers, as equal as they get, of which the product suffices and is not much more."""
    found = [
        (x, y, -(-nodes // (x * y)))
        for x in range(1, round(nodes ** (1 / 3)) + 2)
        for y in range(x, int((nodes / x) ** 0.5) + 2)
    ]
    enough = [d for d in found if d[0] * d[1] * d[2] <= 1.1 * nodes]
    return min(enough or [(nodes, 1, 1)], key=lambda d: (sum(d), d[0] * d[1] * d[2]))
