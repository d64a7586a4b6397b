# SPDX-License-Identifier: Apache-2.0
"""A custom reporter: anything with `every` and `report(frame)`.

This one measures the end-to-end distance of alanine dipeptide while it moves.
"""

import numpy as np

import quiltmd
from quiltmd.inputs.standard_systems import system_files


class EndToEnd:
    """Collects the distance between two atoms."""

    needs = ("positions",)  # nothing else is copied from the device

    def __init__(self, first: int, last: int, every: int) -> None:
        self.every = every
        self.pair = [first, last]
        self.distances: list[float] = []

    def report(self, frame: quiltmd.Readout, /) -> None:
        """Molecules are kept whole, so a plain difference is right."""
        first, last = frame.positions()[self.pair]
        self.distances.append(float(np.linalg.norm(last - first)))


system, state = quiltmd.load(*system_files("alanine"), constraints="h-bonds")
simulation = quiltmd.Simulation(system, state, integrator=quiltmd.LangevinMiddle(seed=2))
simulation.minimize()
simulation.draw_velocities(300)

length = EndToEnd(1, 18, every=10)
simulation.run(100, reporters=[length])
print(f"end to end: {np.mean(length.distances):.3f} nm on average")
