# SPDX-License-Identifier: Apache-2.0
"""Thermostats for integrators that have none of their own: one frozen description each."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from typing import Any

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from ..errors import QuiltWarning
from .checks import user_settings
from .settings import ChainLength, Seed, Temperature, ThermostatEvery, TimeConstant, draw_seed

_CONFIG = ConfigDict(extra="forbid", allow_inf_nan=False)


@user_settings
@dataclass(frozen=True, config=_CONFIG)
class _VelocityScaling:
    """What thermostats share that multiply all velocities by one factor.

    The same settings mean the same in each; its docstring has them.
    """

    temperature: Temperature = 300.0
    time_constant: TimeConstant = 1.0
    _: KW_ONLY
    every: ThermostatEvery = 10

    def resolve(self) -> dict[str, Any]:
        """Settings for the core."""
        return {
            "temperature": self.temperature,
            "time_constant": self.time_constant,
            "every": self.every,
        }


@user_settings
@dataclass(frozen=True, config=_CONFIG)
class VelocityRescaling(_VelocityScaling):
    """Constant temperature by stochastic velocity rescaling.

    Bussi, Donadio and Parrinello, J. Chem. Phys. 126, 014101 (2007).  All velocities are multiplied
    by one factor, drawn such that the kinetic energy has the canonical distribution; dynamics are
    disturbed far less than by a friction on each atom.

    Attributes
    ----------
    temperature:
        K.
    time_constant:
        Relaxation time of the kinetic energy, ps.
    seed:
        Random seed of the thermostat; the same seed gives the same trajectory, bit for bit.  None:
        a `Simulation` draws one, and its `thermostat` tells which.
    every:
        Steps between actions.  The kinetic energy is propagated exactly for the time between, so
        this changes speed, not the ensemble.  A multiple of the integrator's `long_range_every`.
    """

    _: KW_ONLY
    seed: Seed = None

    def resolve(self) -> dict[str, Any]:
        """Settings for the core."""
        seed = draw_seed() if self.seed is None else self.seed
        return super().resolve() | {"kind": "velocity_rescaling", "seed": seed}


@user_settings
@dataclass(frozen=True, config=_CONFIG)
class NoseHooverChain(_VelocityScaling):
    """Constant temperature by a chain of Nose-Hoover thermostats: deterministic, and canonical.

    Martyna, Klein and Tuckerman, J. Chem. Phys. 97, 2635 (1992).  The kinetic energy swings about
    its mean, so a system that is far from its temperature comes there sooner with another
    thermostat.  Nothing is random.  The `variables` of a `State` are those of the chain, and its
    energy is part of the conserved quantity.

    Attributes
    ----------
    temperature:
        K; more than zero.
    time_constant:
        ps; the inverse of OpenMM's collision frequency, and GROMACS' tau-t divided by 2 pi.  The
        kinetic energy swings with a period between 4.4 and 2 pi times as long, the longer the more
        of its energy goes on to the potential energy.  At least four times as long as `every`
        steps.
    chain_length:
        How many thermostats; each but the first controls the one before it.
    every:
        Steps between actions.  A multiple of the integrator's `long_range_every`.
    """

    _: KW_ONLY
    chain_length: ChainLength = 3

    def resolve(self) -> dict[str, Any]:
        """Settings for the core."""
        return super().resolve() | {"kind": "nose_hoover", "chain_length": self.chain_length}


@user_settings
@dataclass(frozen=True, config=_CONFIG)
class BerendsenThermostat(_VelocityScaling):
    """Relaxation to a temperature without noise.

    Berendsen, Postma, van Gunsteren, DiNola and Haak, J. Chem. Phys. 81, 3684 (1984).  The kinetic
    energy relaxes, but its fluctuations are too small: of no known ensemble.  For equilibration
    only; `VelocityRescaling` is as robust.  Settings are those of `VelocityRescaling`, but for the
    seed: nothing is random.
    """

    def resolve(self) -> dict[str, Any]:
        """Settings for the core."""
        warnings.warn(
            QuiltWarning(
                "the Berendsen thermostat gives no known ensemble: use VelocityRescaling for all "
                "but equilibration"
            ),
            stacklevel=4,
        )
        return super().resolve() | {"kind": "berendsen"}


Thermostat = VelocityRescaling | NoseHooverChain | BerendsenThermostat
