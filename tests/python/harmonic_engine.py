# SPDX-License-Identifier: Apache-2.0
"""Atoms on springs with a heat bath, solved exactly: what replica exchange must do is known."""

from __future__ import annotations

from typing import Any

import numpy as np
from fake_engine import FakeEngine

import quiltmd

ATOMS = 8
SPRING = 1000.0  # kJ/mol/nm^2 for a charge of 1 e: it goes with the square of the charge
MEMORY = 0.5  # what a step leaves of a displacement
KB = 0.00831446261815324
FORCES = quiltmd.Nonbonded(method="cutoff", cutoff=1.0)


class HarmonicEngine(FakeEngine):
    """Each coordinate is an Ornstein-Uhlenbeck process around its whole number of nanometres."""

    def __init__(self, system: Any, nonbonded: Any, integrator: Any, run: Any) -> None:
        nonbonded = {**nonbonded, "pme_grid": [1, 1, 1]}
        super().__init__(system, nonbonded, integrator, run)
        self._spring = SPRING * float(system["charges"][0]) ** 2

    def run(self, steps: int) -> None:
        width = np.sqrt(KB * self._integrator["temperature"] / self._spring)
        for _ in range(steps):
            noise = np.random.Generator(
                np.random.Philox(key=self._integrator["seed"], counter=self._step)
            ).normal(size=self._positions.shape)
            moved = MEMORY * self._stretch() + np.sqrt(1 - MEMORY**2) * width * noise
            self._positions = np.round(self._positions) + moved
            self._step += 1
        self._list_step, self._list_positions = self._step, self._positions

    def _stretch(self) -> Any:
        return self._positions - np.round(self._positions)

    def _potential(self) -> float:
        return float(0.5 * self._spring * (self._stretch() ** 2).sum())


def oscillators() -> tuple[Any, Any]:
    """The atoms, each at its place."""
    masses, charges = np.full(ATOMS, 12.0), np.ones(ATOMS)
    system = quiltmd.System.of(masses, charges)
    places = 1.0 + np.indices((2, 2, 2)).reshape(3, -1).T
    return system, quiltmd.State.start(system, places, np.diag([4.0, 4.0, 4.0]))
