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
    perturbed far less than by friction on each atom.

    Attributes
    ----------
    temperature:
        K; with groups, the highest temperature of the groups.
    time_constant:
        Relaxation time of the kinetic energy, ps.
    seed:
        Random seed of the thermostat; the same seed gives the same trajectory, bit for bit.  None:
        a `Simulation` chooses one, which its `thermostat` has.
    every:
        Steps between actions.  The kinetic energy is propagated exactly over the interval, so the
        interval affects the speed, not the ensemble.  It must be a multiple of the integrator's
        `long_range_every`.
    groups:
        1 to 16 groups of atoms, each with its temperature and `time_constant`, which replace those
        of all atoms.  Each atom belongs to exactly one group, and atoms joined by constraints
        belong to the same group.  The velocities of each group are multiplied by a factor from its
        own kinetic energy.  With equal temperatures the ensemble is NVT; groups at different
        temperatures are not in equilibrium.  Different factors set the centre of mass in motion;
        `remove_com_every` of the integrator removes this motion.  With one group of all atoms the
        trajectory is bitwise the same as without groups.
    """

    kind: ClassVar[str] = "velocity-rescaling"
    summary: ClassVar[str] = "stochastic velocity rescaling"

    _: KW_ONLY
    seed: Seed = None

    def resolve(self) -> dict[str, Any]:
        """Settings for the core."""
        return super().resolve() | {"seed": draw_seed() if self.seed is None else self.seed}
