# SPDX-License-Identifier: Apache-2.0
"""The Langevin-middle integrator."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from ..checks import user_settings
from ..heat_baths import BathGroup, HeatBaths
from ..settings import (
    Friction,
    LongRangeEvery,
    RemoveComEvery,
    Seed,
    Temperature,
    Timestep,
    draw_seed,
)
from .base import CONFIG, TIMESTEP, Integrator


@user_settings
@dataclass(frozen=True, config=CONFIG)
class LangevinMiddle(HeatBaths, Integrator):
    """Constant temperature (NVT): Langevin-middle (Zhang et al., J. Phys. Chem. A 123, 6056, 2019).

    Attributes
    ----------
    temperature:
        Temperature of the heat bath, K; with groups, the highest temperature of the groups.
    friction:
        Friction coefficient, 1/ps.
    timestep:
        Time step, ps.
    seed:
        Random seed of the thermostat; the same seed gives the same trajectory, bit for bit.  None:
        a `Simulation` chooses one, which its `integrator` has.
    constraint_tolerance:
        Relative error of constrained lengths.
    remove_com_every:
        Steps between removals of the motion of the centre of mass, at multiples of this number; 0:
        never; None: about 100, a multiple of the lifetime of pair lists (`Simulation.describe`).
        The motion is not removed along axes on which position restraints act, or a field
        accelerates the whole system.
    long_range_every:
        Steps between reciprocal-space (PME) evaluations: r-RESPA multiple time stepping (Tuckerman,
        Berne and Martyna, J. Chem. Phys. 97, 1990, 1992).  At steps that are multiples of this
        number the reciprocal-space force is multiplied by this number; at other steps it does not
        act.  The interval is at most 8 fs, or 4 fs if bonds to hydrogen are flexible.
    groups:
        1 to 16 groups of atoms, each with its temperature and friction, which replace those of all
        atoms; the groups cannot change during a simulation.  Each atom belongs to exactly one
        group, and atoms joined by constraints belong to the same group.  Groups at different
        temperatures are not in equilibrium: heat flows between them.  With equal temperatures the
        ensemble is NVT; with equal temperatures and frictions the trajectory is bitwise that of one
        bath for all atoms.
    """

    kind: ClassVar[str] = "langevin-middle"
    summary: ClassVar[str] = "friction and noise on each atom"
    is_thermostat: ClassVar[bool] = True
    coupling: ClassVar[str] = "friction"

    temperature: Temperature = 300.0
    friction: Friction = 1.0
    timestep: Timestep = TIMESTEP
    seed: Seed = None
    constraint_tolerance: float = Field(default=1e-6, gt=0)
    remove_com_every: RemoveComEvery = None
    long_range_every: LongRangeEvery = 1
    groups: tuple[BathGroup, ...] = ()

    def __post_init__(self) -> None:
        self.settle_baths()

    def frictions(self) -> tuple[float, ...]:
        """Friction coefficients of the centre of mass: those of the atoms of each bath."""
        return self.strengths()

    def resolve(self) -> dict[str, Any]:
        """Settings for the core, which needs those of `CentreOfMass` besides."""
        return (
            super().resolve()
            | self.resolve_baths()
            | {"seed": draw_seed() if self.seed is None else self.seed}
        )
