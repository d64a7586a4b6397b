# SPDX-License-Identifier: Apache-2.0
"""Chains of Nose-Hoover thermostats."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from ..checks import user_settings
from ..settings import ChainLength
from .base import CONFIG, VelocityScaling


@user_settings
@dataclass(frozen=True, config=CONFIG)
class NoseHooverChain(VelocityScaling):
    """Constant temperature by a chain of Nose-Hoover thermostats: deterministic, and canonical.

    Martyna, Klein and Tuckerman, J. Chem. Phys. 97, 2635 (1992).  The kinetic energy oscillates
    about its mean, so a system far from the reference temperature reaches it sooner with another
    thermostat.  The `variables` of a `State` are those of the chain, and its energy is part of the
    conserved quantity.

    The ensemble is canonical only for ergodic systems.  Systems of few atoms, or of nearly
    independent oscillators (position restraints, a small crystal), are not: use `LangevinMiddle`
    for these (docs/theory/integrators.md has figures).

    Attributes
    ----------
    temperature:
        Temperature of the heat bath, above 0, K; with groups, the highest temperature of the
        groups.
    time_constant:
        Time constant, ps: the inverse of OpenMM's collision frequency, and GROMACS' tau-t divided
        by 2 pi.  The kinetic energy oscillates with a period of 4.4 to 2 pi times this constant;
        the period is longer the more energy is exchanged with the potential energy.  At least four
        times as long as `every` steps.
    chain_length:
        Number of thermostats in the chain; each but the first controls the previous one.
    every:
        Steps between actions, a multiple of the integrator's `long_range_every`.
    groups:
        Groups of atoms with separate chains, as for `VelocityRescaling`.
    """

    kind: ClassVar[str] = "nose-hoover"
    summary: ClassVar[str] = "deterministic Nose-Hoover chain"
    warm: ClassVar[bool] = True
    least_actions: ClassVar[int] = 4  # with fewer it heats or cools

    _: KW_ONLY
    chain_length: ChainLength = 3

    def resolve(self) -> dict[str, Any]:
        """Settings for the core."""
        return super().resolve() | {"chain_length": self.chain_length}
