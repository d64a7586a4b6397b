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

    Martyna, Klein and Tuckerman, J. Chem. Phys. 97, 2635 (1992).  The kinetic energy swings about
    its mean, so a system that is far from its temperature comes there sooner with another
    thermostat.  Nothing is random.  The `variables` of a `State` are those of the chain, and its
    energy is part of the conserved quantity.

    The ensemble is canonical where the system mixes by itself.  Few atoms, or oscillators that
    hardly interact (atoms in position restraints, a small crystal), do not: use `LangevinMiddle`
    there (docs/theory/integrators.md has figures).

    Attributes
    ----------
    temperature:
        K, more than zero; with groups the highest of theirs.
    time_constant:
        ps; the inverse of OpenMM's collision frequency, and GROMACS' tau-t divided by 2 pi.  The
        kinetic energy swings with a period between 4.4 and 2 pi times as long, the longer the more
        of its energy goes on to the potential energy.  At least four times as long as `every`
        steps.
    chain_length:
        How many thermostats; each but the first controls the one before it.
    every:
        Steps between actions.  A multiple of the integrator's `long_range_every`.
    groups:
        Groups of atoms with a chain each, as for `VelocityRescaling`.
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
