# SPDX-License-Identifier: Apache-2.0
"""Andersen's thermostat."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from ..checks import user_settings
from ..settings import Seed, TimeConstant, draw_seed
from .base import CONFIG, Thermostat


@user_settings
@dataclass(frozen=True, config=CONFIG)
class AndersenThermostat(Thermostat):
    """Constant temperature by collisions with a heat bath.

    Andersen, J. Chem. Phys. 72, 2384 (1980).  At random times an atom, with the atoms that
    constraints join to it, is given new velocities from the Maxwell-Boltzmann distribution.  The
    ensemble is canonical, also for nearly harmonic systems; diffusion and other dynamics are slowed
    down, as by friction.

    Attributes
    ----------
    temperature:
        K; with groups, the highest temperature of the groups.
    time_constant:
        Mean time between collisions of an atom, ps: the inverse of the collision frequency (OpenMM)
        and GROMACS' tau-t with tcoupl = andersen.
    seed:
        Random seed of the collisions; the same seed gives the same trajectory, bit for bit.  None:
        a `Simulation` chooses one, which its `thermostat` has.
    every:
        Steps between actions.  At each action an atom collides with the probability of a collision
        in that time.  The number must be a multiple of the integrator's `long_range_every`.
    groups:
        Groups of atoms with a temperature and a `time_constant` each, as for `VelocityRescaling`.
    """

    kind: ClassVar[str] = "andersen"
    summary: ClassVar[str] = "collisions that replace the velocities of single atoms"
    coupling: ClassVar[str] = "time_constant"

    time_constant: TimeConstant = 1.0
    _: KW_ONLY
    seed: Seed = None

    def frictions(self) -> tuple[float, ...]:
        """Friction coefficients of the centre of mass: a collision removes all earlier momentum."""
        return tuple(1 / time for time in self.strengths())

    def resolve(self) -> dict[str, Any]:
        """Settings for the core."""
        return super().resolve() | {"seed": draw_seed() if self.seed is None else self.seed}
