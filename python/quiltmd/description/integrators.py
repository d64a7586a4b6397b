# SPDX-License-Identifier: Apache-2.0
"""Integrators: immutable descriptions of how atoms are propagated.

Each class holds what its ensemble needs and no more, so that a friction cannot be given to NVE by
mistake; the core receives both as one flat dictionary.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from ..errors import QuiltError
from .checks import user_settings
from .heat_baths import BathGroup, HeatBaths
from .settings import (
    Friction,
    LongRangeEvery,
    RemoveComEvery,
    Seed,
    Temperature,
    Timestep,
    draw_seed,
)
from .system import System
from .vibrations import fastest_vibration

_CONFIG = ConfigDict(extra="forbid", allow_inf_nan=False)
_TIMESTEP = 0.002  # ps
# Impulses of the long-range force, at most so far apart: ps, and in periods of the fastest bond,
# where half a period is resonance.  docs/decisions.md has the figures.
_SLOWEST_IMPULSES, _SLOWEST_IN_PERIODS = 0.008, 0.45


@user_settings
@dataclass(frozen=True, config=_CONFIG)
class VelocityVerlet:
    """Constant energy (NVE): velocity Verlet (Swope et al., J. Chem. Phys. 76, 637, 1982).

    Attributes
    ----------
    timestep:
        Time step, ps.
    constraint_tolerance:
        Relative error of constrained lengths.  At constant energy it shows as a drift, hence the
        tighter default (docs/decisions.md has the figures).
    remove_com_every:
        Steps between removals of the motion of the centre of mass, at multiples of this number; 0:
        never; None: about 100, a multiple of the life of pair lists (`Simulation.describe`).  Where
        position restraints hold atoms, or a field pulls the system as a whole, it is never removed
        along these axes.
    long_range_every:
        Steps between reciprocal-space (PME) evaluations: r-RESPA multiple time stepping (Tuckerman,
        Berne and Martyna, J. Chem. Phys. 97, 1990, 1992).  At steps that are multiples of this
        number the reciprocal-space force acts, multiplied by it; at others it is skipped.  At most
        8 fs may lie between, 4 fs where bonds to hydrogen are flexible.  The total energy is
        conserved from one of these steps to the next, but not defined at steps between them.
    """

    is_thermostat: ClassVar[bool] = False  # by itself; else one may be given beside it

    timestep: Timestep = _TIMESTEP
    constraint_tolerance: float = Field(default=1e-8, gt=0)
    remove_com_every: RemoveComEvery = None
    long_range_every: LongRangeEvery = 1

    def resolve(self) -> dict[str, Any]:
        """Settings for the core, which needs those of `CentreOfMass` besides."""
        return _shared(self) | {"kind": "velocity_verlet"}


@user_settings
@dataclass(frozen=True, config=_CONFIG)
class LangevinMiddle(HeatBaths):
    """Constant temperature (NVT): Langevin-middle (Zhang et al., J. Phys. Chem. A 123, 6056, 2019).

    Attributes
    ----------
    temperature:
        Temperature of the heat bath, K; with groups the highest of theirs.
    friction:
        Friction coefficient, 1/ps.
    timestep:
        Time step, ps.
    seed:
        Random seed of the thermostat; the same seed gives the same trajectory, bit for bit.  None:
        a `Simulation` draws one, and its `integrator` tells which.
    constraint_tolerance:
        Relative error of constrained lengths.
    remove_com_every:
        Steps between removals of the motion of the centre of mass, at multiples of this number; 0:
        never; None: about 100, a multiple of the life of pair lists (`Simulation.describe`).  Where
        position restraints hold atoms, or a field pulls the system as a whole, it is never removed
        along these axes.
    long_range_every:
        Steps between reciprocal-space (PME) evaluations: r-RESPA multiple time stepping (Tuckerman,
        Berne and Martyna, J. Chem. Phys. 97, 1990, 1992).  At steps that are multiples of this
        number the reciprocal-space force acts, multiplied by it; at others it is skipped.  At most
        8 fs may lie between, 4 fs where bonds to hydrogen are flexible.
    groups:
        1 to 16 groups of atoms with a temperature and a friction each, in place of those of all
        atoms; they stay as they are for the whole simulation.  Each atom is in one of them, and
        atoms joined by constraints are in the same one.  Groups of different temperatures have no
        ensemble in common: heat flows through what joins them.  With equal temperatures the
        ensemble is NVT, and groups with equal frictions, too, have the same trajectory as one bath
        of all atoms, bit for bit.
    """

    is_thermostat: ClassVar[bool] = True
    coupling: ClassVar[str] = "friction"

    temperature: Temperature = 300.0
    friction: Friction = 1.0
    timestep: Timestep = _TIMESTEP
    seed: Seed = None
    constraint_tolerance: float = Field(default=1e-6, gt=0)
    remove_com_every: RemoveComEvery = None
    long_range_every: LongRangeEvery = 1
    groups: tuple[BathGroup, ...] = ()

    def __post_init__(self) -> None:
        self.settle_baths()

    def frictions(self) -> tuple[float, ...]:
        """Of the centre of mass: as of all atoms of a bath."""
        return self.strengths()

    def resolve(self) -> dict[str, Any]:
        """Settings for the core, which needs those of `CentreOfMass` besides."""
        return _shared(self) | {
            "kind": "langevin_middle",
            **self.resolve_baths(),
            "seed": draw_seed() if self.seed is None else self.seed,
        }


Integrator = VelocityVerlet | LangevinMiddle


def _shared(integrator: Integrator) -> dict[str, Any]:
    """Settings for the core that all integrators have."""
    names = ("timestep", "constraint_tolerance", "long_range_every")
    return {name: getattr(integrator, name) for name in names}


def check_impulses(integrator: Integrator, system: System) -> None:
    """QuiltError where the long-range force would act so rarely that it heats the system."""
    steps, timestep = integrator.long_range_every, integrator.timestep
    fastest = fastest_vibration(system)
    limit = min(_SLOWEST_IMPULSES, _SLOWEST_IN_PERIODS * fastest.period)
    if steps > 1 and steps * timestep > limit * (1 + 1e-9):
        raise QuiltError(
            f"long_range_every: {steps} steps of {1000 * timestep:g} fs are too long between "
            f"reciprocal-space evaluations: resonance would heat the fastest vibrations of this "
            f"system; at most {1000 * limit:.3g} fs are allowed: lower long_range_every or the "
            f"time "
            "step, or constrain bonds to hydrogen"
        )
