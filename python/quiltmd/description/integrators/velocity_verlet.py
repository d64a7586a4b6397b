# SPDX-License-Identifier: Apache-2.0
"""The velocity Verlet integrator."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from ..checks import user_settings
from ..settings import LongRangeEvery, RemoveComEvery, Timestep
from .base import CONFIG, TIMESTEP, Integrator


@user_settings
@dataclass(frozen=True, config=CONFIG)
class VelocityVerlet(Integrator):
    """Constant energy (NVE): velocity Verlet (Swope et al., J. Chem. Phys. 76, 637, 1982).

    Attributes
    ----------
    timestep:
        Time step, ps.
    constraint_tolerance:
        Relative error of constrained lengths.  The default is smaller than that of
        `LangevinMiddle`, because at constant energy the error causes a drift.
    remove_com_every:
        Steps between removals of the motion of the centre of mass, at multiples of this number; 0:
        never; None: about 100, a multiple of the lifetime of pair lists (`Simulation.describe`).
        The motion is not removed along axes on which position restraints act, or a field
        accelerates the whole system.
    long_range_every:
        Steps between reciprocal-space (PME) evaluations: r-RESPA multiple time stepping (Tuckerman,
        Berne and Martyna, J. Chem. Phys. 97, 1990, 1992).  At steps that are multiples of this
        number the reciprocal-space force is multiplied by this number; at other steps it does not
        act.  The interval is at most 8 fs, or 4 fs if bonds to hydrogen are flexible.  The total
        energy is conserved from one of these steps to the next, and not defined at other steps.
    """

    kind: ClassVar[str] = "velocity-verlet"
    summary: ClassVar[str] = "constant energy, or with a thermostat"

    timestep: Timestep = TIMESTEP
    constraint_tolerance: float = Field(default=1e-8, gt=0)
    remove_com_every: RemoveComEvery = None
    long_range_every: LongRangeEvery = 1
