# SPDX-License-Identifier: Apache-2.0
"""Water with collective restraints of all kinds."""

from __future__ import annotations

import numpy as np
from boxes import water_box

import quiltmd
from quiltmd import Restraint, Simulation, State, System


def restrained_water(molecules: tuple[int, int, int]) -> tuple[System, State]:
    """At 300 K, with restraints of all kinds between groups, some of which boundaries cut."""
    system, state = water_box(molecules)
    simulation = Simulation(system, state, device="cpu", ranks=1, threads=1)
    simulation.minimize(500.0, 30)
    simulation.draw_velocities(300.0, 1)
    relaxed = simulation.state()
    return quiltmd.restrain(system, of_water(relaxed), relaxed.positions, relaxed.box), relaxed


def of_water(state: State) -> list[Restraint]:
    """Restraints of all kinds between groups of waters around four points."""
    assert state.box is not None
    oxygens = state.positions[::3]
    lengths = np.diag(state.box)
    groups = []
    for point in ([0.1, 0.1, 0.1], [0.9, 2.3, 0.2], [1.3, 1.0, 1.2], [2.2, 1.2, 0.6]):
        away = oxygens - point
        away -= lengths * np.round(away / lengths)
        near = np.argsort((away**2).sum(axis=1))[:7]
        groups.append("index " + " ".join(str(3 * k + d) for k in near for d in (1, 2, 3)))
    a, b, c, d = groups
    return [
        Restraint("distance", (a, b), 2000.0, path=((0.0, 0.8), (0.06, 0.9), (0.1, 0.7))),
        Restraint("angle", (a, b, c), 300.0, angle=100.0),
        Restraint("torsion", (a, b, c, d), 200.0, angle=60.0),
        Restraint("gyration", c, 4000.0, upper=0.3, name="size"),
        Restraint("rmsd", d, 5000.0, upper=0.0),
        Restraint("coordination", (a, c), 3.0, lower=12.0, contact=0.5),
    ]
