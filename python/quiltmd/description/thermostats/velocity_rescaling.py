# SPDX-License-Identifier: Apache-2.0
"""Stochastic velocity rescaling."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from ..checks import user_settings
from ..settings import Seed, draw_seed
from .base import CONFIG, VelocityScaling


@user_settings
@dataclass(frozen=True, config=CONFIG)
class VelocityRescaling(VelocityScaling):
    """Constant temperature by stochastic velocity rescaling.

    Bussi, Donadio and Parrinello, J. Chem. Phys. 126, 014101 (2007).  All velocities are multiplied
    by one factor, drawn such that the kinetic energy has the canonical distribution; dynamics are
    disturbed far less than by a friction on each atom.

    Attributes
    ----------
    temperature:
        K; with groups the highest of theirs.
    time_constant:
        Relaxation time of the kinetic energy, ps.
    seed:
        Random seed of the thermostat; the same seed gives the same trajectory, bit for bit.  None:
        a `Simulation` draws one, and its `thermostat` tells which.
    every:
        Steps between actions.  The kinetic energy is propagated exactly for the time between, so
        this changes speed, not the ensemble.  A multiple of the integrator's `long_range_every`.
    groups:
        1 to 16 groups of atoms with a temperature and a `time_constant` each, in place of those of
        all atoms.  Each atom is in one of them, and atoms joined by constraints are in the same
        one.  The velocities of each group are multiplied by a factor that follows from its own
        kinetic energy.  With one temperature for all the ensemble is NVT; groups of different
        temperatures have none in common.  Factors that differ set the centre of mass in motion,
        which the integrator's `remove_com_every` removes again.  One group of all atoms has the
        same trajectory as without groups, bit for bit.
    """

    kind: ClassVar[str] = "velocity-rescaling"
    summary: ClassVar[str] = "stochastic velocity rescaling"

    _: KW_ONLY
    seed: Seed = None

    def resolve(self) -> dict[str, Any]:
        """Settings for the core."""
        return super().resolve() | {"seed": draw_seed() if self.seed is None else self.seed}
