# SPDX-License-Identifier: Apache-2.0
"""Common base of thermostats."""

from dataclasses import KW_ONLY
from typing import Any, ClassVar

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from ..checks import user_settings
from ..choices import refuse_base
from ..heat_baths import BathGroup, HeatBaths
from ..settings import Temperature, ThermostatEvery, TimeConstant

CONFIG = ConfigDict(extra="forbid", allow_inf_nan=False)


@user_settings
@dataclass(frozen=True, config=CONFIG)
class Thermostat(HeatBaths):
    """A thermostat: it changes velocities at regular intervals to keep the temperature.

    Attributes
    ----------
    temperature:
        K; with groups, the highest temperature of the groups.
    every:
        Steps between actions, a multiple of the integrator's `long_range_every`.
    groups:
        Groups of atoms with separate heat baths; empty: one bath for all atoms.
    """

    kind: ClassVar[str]
    summary: ClassVar[str]
    warm: ClassVar[bool] = False  # whether it needs temperatures above 0 K
    least_actions: ClassVar[int] = 0  # in a time constant, at least

    temperature: Temperature = 300.0
    _: KW_ONLY
    every: ThermostatEvery = 10
    groups: tuple[BathGroup, ...] = ()

    def __post_init__(self) -> None:
        refuse_base(self, Thermostat)
        self.settle_baths()

    def resolve(self) -> dict[str, Any]:
        """Settings for the core, which needs `bath_of_atom` besides where there are groups."""
        return self.resolve_baths() | {"kind": self.kind.replace("-", "_"), "every": self.every}


@user_settings
@dataclass(frozen=True, config=CONFIG)
class VelocityScaling(Thermostat):
    """A thermostat that multiplies all velocities, or those of a group, by one factor."""

    coupling: ClassVar[str] = "time_constant"

    time_constant: TimeConstant = 1.0
