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
from .heat_baths import BathGroup, Grouped
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

    The ensemble is canonical where the system mixes by itself.  Few atoms, or oscillators that
    hardly interact (atoms in position restraints, a small crystal), do not: use `LangevinMiddle`
    there (docs/theory/integrators.md has figures).

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
        _warn_of_no_ensemble()
        return super().resolve() | {"kind": "berendsen"}


def _warn_of_no_ensemble() -> None:
    warnings.warn(
        QuiltWarning(
            "the Berendsen thermostat gives no known ensemble: use VelocityRescaling for all but "
            "equilibration"
        ),
        stacklevel=5,
    )


@user_settings
@dataclass(frozen=True, config=_CONFIG)
class _GroupScaling(Grouped):
    """What thermostats share that multiply the velocities of each group by a factor of its own.

    The same settings mean the same in each; the docstring of `VelocityRescalingGroups` has them.
    """

    groups: tuple[BathGroup, ...]
    _: KW_ONLY
    every: ThermostatEvery = 10

    def __post_init__(self) -> None:
        self._complete_groups("time_constant")

    def resolve(self) -> dict[str, Any]:
        """Settings for the core."""
        return self._resolve_groups("time_constant") | {"every": self.every}


@user_settings
@dataclass(frozen=True, config=_CONFIG)
class VelocityRescalingGroups(_GroupScaling):
    """Stochastic velocity rescaling where groups of atoms have heat baths of their own.

    The velocities of each group are multiplied by a factor that follows from its own kinetic energy
    as in `VelocityRescaling`.  Each atom is in one of the groups, and atoms joined by constraints
    are in the same one.  Factors that differ set the centre of mass in motion, which the
    integrator's `remove_com_every` removes again.

    Attributes
    ----------
    groups:
        1 to 16 groups with a `time_constant` each.  With one temperature for all the ensemble is
        NVT; groups of different temperatures have none in common.
    seed, every:
        As for `VelocityRescaling`.  One group of all atoms has the same trajectory as with it, bit
        for bit.
    """

    _: KW_ONLY
    seed: Seed = None

    def resolve(self) -> dict[str, Any]:
        """Settings for the core."""
        seed = draw_seed() if self.seed is None else self.seed
        return super().resolve() | {"kind": "velocity_rescaling_groups", "seed": seed}


@user_settings
@dataclass(frozen=True, config=_CONFIG)
class NoseHooverChainGroups(_GroupScaling):
    """A chain of Nose-Hoover thermostats for each of several groups of atoms.

    `groups` and `every` are as for `VelocityRescalingGroups`, the chains as `NoseHooverChain`.
    """

    _: KW_ONLY
    chain_length: ChainLength = 3

    def resolve(self) -> dict[str, Any]:
        """Settings for the core."""
        return super().resolve() | {"kind": "nose_hoover_groups", "chain_length": self.chain_length}


@user_settings
@dataclass(frozen=True, config=_CONFIG)
class BerendsenThermostatGroups(_GroupScaling):
    """Relaxation of each group of atoms to its temperature without noise, for equilibration only.

    `groups` and `every` are as for `VelocityRescalingGroups`; see `BerendsenThermostat`.
    """

    def resolve(self) -> dict[str, Any]:
        """Settings for the core."""
        _warn_of_no_ensemble()
        return super().resolve() | {"kind": "berendsen_groups"}


Thermostat = (
    VelocityRescaling
    | NoseHooverChain
    | BerendsenThermostat
    | VelocityRescalingGroups
    | NoseHooverChainGroups
    | BerendsenThermostatGroups
)
