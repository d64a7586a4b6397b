# SPDX-License-Identifier: Apache-2.0
"""Common base of barostats."""

from dataclasses import KW_ONLY
from typing import Any, ClassVar

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from ...errors import QuiltError
from ..checks import user_settings
from ..choices import refuse_base
from ..settings import (
    BarostatEvery,
    BoxTimeConstant,
    Compressibility,
    Coupling,
    Pressure,
    SurfaceTension,
)

CONFIG = ConfigDict(extra="forbid", allow_inf_nan=False)
_BAR = 1 / 16.6053906660  # in kJ/mol/nm^3
_AXES = "xyz"
_ACTIONS = 50  # in a time constant, by default
# For each axis the first of the axes that are scaled together.
_SETS: dict[str, tuple[int, int, int]] = {
    "isotropic": (0, 0, 0),
    "semi-isotropic": (0, 0, 2),
    "anisotropic": (0, 1, 2),
}


@user_settings
@dataclass(frozen=True, config=CONFIG)
class Barostat:
    """A barostat: it changes the box at regular intervals to keep the pressure.

    `CellRescaling` describes the settings, which are the same for all barostats.
    """

    kind: ClassVar[str]
    summary: ClassVar[str]
    moves_molecules: ClassVar[bool] = False  # by their centres; else hydrogen groups
    needs_temperature: ClassVar[bool] = True  # the ensemble that it gives has one

    pressure: Pressure = 1.0
    _: KW_ONLY
    compressibility: Compressibility = 4.5e-5
    coupling: Coupling = "isotropic"
    surface_tension: SurfaceTension = 0.0
    every: BarostatEvery | None = None

    def __post_init__(self) -> None:
        """QuiltError if the settings of axes do not go together."""
        refuse_base(self, Barostat)
        sets = len(set(_SETS[self.coupling]))
        given = self.compressibility
        if isinstance(given, tuple) and len(given) != sets:
            raise QuiltError(
                f"compressibility: {len(given)} values for {sets} set(s) of axes with "
                f"'{self.coupling}' coupling: give one value, or one for each set"
            )
        if self.surface_tension and self.coupling == "isotropic":
            raise QuiltError("surface_tension needs semi-isotropic or anisotropic coupling")

    def resolve(self) -> dict[str, Any]:
        """Settings for the core."""
        settings = {
            "kind": self.kind.replace("-", "_"),
            "surface_tension": self.surface_tension * _BAR,
            "every": self.every,
            **pressures(self.pressure),
        }
        sets = _SETS[self.coupling]
        given = self.compressibility
        for axis, first in zip(_AXES, sets, strict=True):
            of_set = given[sorted(set(sets)).index(first)] if isinstance(given, tuple) else given
            settings[f"set_{axis}"] = first
            settings[f"compressibility_{axis}"] = of_set / _BAR
        return settings

    def steps_between_actions(self, timestep: float) -> int:
        """The default of `every` for a time step, ps."""
        raise NotImplementedError


@user_settings
@dataclass(frozen=True, config=CONFIG)
class Relaxation(Barostat):
    """A barostat that lets the box relax towards its pressure."""

    time_constant: BoxTimeConstant = 5.0

    def steps_between_actions(self, timestep: float) -> int:
        """A fiftieth of the time constant."""
        return int(self.time_constant / (_ACTIONS * timestep) + 1e-6)

    def resolve(self) -> dict[str, Any]:
        """Settings for the core."""
        return super().resolve() | {"time_constant": self.time_constant}


def pressures(pressure: float) -> dict[str, float]:
    """A pressure (bar) as the core has it, by axis."""
    return {f"pressure_{axis}": pressure * _BAR for axis in _AXES}
