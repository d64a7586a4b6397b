# SPDX-License-Identifier: Apache-2.0
"""How atoms move: the sections [integrator], [thermostat] and [barostat] of a configuration."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from ..description.barostats import BAROSTATS, Barostat
from ..description.barostats.monte_carlo import PROPOSE_EVERY
from ..description.heat_baths import BathGroup
from ..description.integrators import Integrator, LangevinMiddle, VelocityVerlet
from ..description.settings import (
    HIGHEST_PRESSURE,
    HOTTEST,
    BarostatEvery,
    Friction,
    LongRangeEvery,
    Seed,
    Temperature,
    TimeConstant,
    Timestep,
)
from ..description.thermostats import THERMOSTATS, Thermostat
from ..description.units import Unit
from ..errors import QuiltError
from .annealing import (
    Points,
    PressurePoints,
    StrengthPoints,
    TemperaturePoints,
    check_points,
)
from .choice_sections import section_of
from .section import Section
from .setting_fields import fields_of

_STRONGEST = 1000.0  # that restraints may become, times what they are


class IntegratorSection(Section):
    """[integrator]: the ensemble and its settings; K, 1/ps, ps.

    `temperature` also sets the start velocities, and `seed` draws them; without a seed a run draws
    one and records it.
    """

    ensemble: Literal["nve", "nvt", "npt"] = Field(
        default="nvt",
        description="Ensemble: nvt (Langevin-middle integrator), npt (the same with a barostat) or "
        "nve (velocity Verlet).",
    )
    temperature: Temperature = LangevinMiddle.temperature
    friction: Friction = LangevinMiddle.friction
    timestep: Timestep = LangevinMiddle.timestep
    seed: Seed = LangevinMiddle.seed
    long_range_every: LongRangeEvery = LangevinMiddle.long_range_every
    annealing: TemperaturePoints | None = Field(
        default=None,
        description="Temperature of the heat bath over time, linear between points of (ps, K).",
    )
    annealing_every: int = Field(
        default=200, ge=1, description="Steps between changes of temperature in annealing."
    )
    restraint_annealing: StrengthPoints | None = Field(
        default=None,
        description="Factor of all restraint energies over time, linear between points of "
        "(ps, factor).",
    )
    restraint_annealing_every: int = Field(
        default=200, ge=1, description="Steps between changes of strength in restraint_annealing."
    )

    @model_validator(mode="after")
    def _check_strengths(self) -> IntegratorSection:
        if self.restraint_annealing is not None:
            check_points(
                "restraint_annealing", self.restraint_annealing, "strengths", 0, _STRONGEST
            )
        return self

    @model_validator(mode="after")
    def _begin_annealing(self) -> IntegratorSection:
        """Checks the points; `temperature` is that with which they begin."""
        if self.annealing is None:
            return self
        check_points("annealing", self.annealing, "temperatures", 0, HOTTEST, "K")
        if self.ensemble == "nve":
            raise ValueError("annealing: the ensemble nve has no heat bath")
        _begin_with(self, "temperature", self.annealing[0][1], "K")
        return self

    def hottest(self) -> float:
        """The highest temperature of the heat bath, for which the Verlet buffer is made."""
        return max(self._temperatures())

    def coldest(self) -> float:
        """The lowest temperature of the heat bath."""
        return min(self._temperatures())

    def _temperatures(self) -> list[float]:
        return [self.temperature, *(temperature for _, temperature in self.annealing or ())]

    def build(
        self, thermostat: ThermostatSection | None = None, groups: tuple[BathGroup, ...] = ()
    ) -> Integrator:
        """The integrator of these settings, and of those of the thermostat and of [[bath]]."""
        coupled = thermostat is not None and thermostat.kind != "langevin"
        if self.ensemble == "nve" or coupled:
            return VelocityVerlet(self.timestep, long_range_every=self.long_range_every)
        if groups:
            return LangevinMiddle(
                timestep=self.timestep,
                seed=self.seed,
                long_range_every=self.long_range_every,
                groups=groups,
            )
        return LangevinMiddle(
            self.hottest(),
            self.friction,
            self.timestep,
            self.seed,
            long_range_every=self.long_range_every,
        )


class BathSection(Section):
    """[[bath]]: a group of atoms with a heat bath of its own; K, 1/ps, ps.

    How often annealing changes its temperature is for `annealing_every` of [integrator] to say.
    """

    select: str = Field(description="Atoms, in the words of a selection.")
    temperature: Temperature = BathGroup.temperature
    friction: Friction | None = BathGroup.friction
    time_constant: TimeConstant | None = BathGroup.time_constant
    annealing: TemperaturePoints | None = Field(
        default=None,
        description="Temperature of this bath over time, linear between points of (ps, K).",
    )

    @model_validator(mode="after")
    def _begin_annealing(self) -> BathSection:
        """Checks the points; `temperature` is that with which they begin."""
        if self.annealing is not None:
            check_points("annealing", self.annealing, "temperatures", 0, HOTTEST, "K")
            _begin_with(self, "temperature", self.annealing[0][1], "K")
        return self

    def points(self) -> Points:
        """Its temperatures over time."""
        return self.annealing or ((0.0, self.temperature),)

    def build(self) -> BathGroup:
        """The group, at its highest temperature, for which the Verlet buffer is made."""
        hottest = max(temperature for _, temperature in self.points())
        return BathGroup(self.select, hottest, self.friction, self.time_constant)


def check_baths(
    baths: tuple[BathSection, ...], integrator: IntegratorSection, barostat: Barostat | None
) -> None:
    """ValueError where heat baths of groups, [[bath]], do not go with other settings."""
    if not baths:
        return
    if integrator.ensemble == "nve":
        raise ValueError("[[bath]]: the ensemble nve has no heat bath: choose nvt or npt")
    if integrator.annealing is not None:
        raise ValueError(
            "[[bath]]: annealing of [integrator] is of one bath for all atoms: leave it out, and "
            "give each [[bath]] its own annealing"
        )
    needs_one = barostat is not None and barostat.needs_temperature
    if needs_one and len({bath.points() for bath in baths}) > 1:
        raise ValueError(
            "[[bath]]: the fluctuations of the box need one temperature of all groups at any time: "
            "give all baths the same annealing, or choose the barostat 'berendsen'"
        )


def _begin_with(section: Section, name: str, first: float, unit: str) -> None:
    """Has a setting be the first value of an annealing; ValueError where it is given otherwise."""
    given = getattr(section, name)
    if name in section.model_fields_set and given != first:
        raise ValueError(
            f"leave out {name} ({given:g} {unit}): annealing begins with {first:g} {unit}"
        )
    object.__setattr__(section, name, first)


_Thermostats: Any = section_of(
    "Thermostat",
    THERMOSTATS,
    "langevin",
    elsewhere=("temperature", "groups", "seed"),
    others={"langevin": "friction and noise on each atom"},
)
_Barostats: Any = section_of("Barostat", BAROSTATS, "cell-rescaling", elsewhere=("seed",))


class ThermostatSection(_Thermostats):  # type: ignore[misc]
    """[thermostat]: what keeps the temperature with the ensembles nvt and npt.

    Temperature and seed are those of [integrator].  "langevin" is part of the Langevin-middle
    integrator and has a friction there; the others go with velocity Verlet and have the settings
    here.
    """

    def build(
        self, integrator: IntegratorSection, groups: tuple[BathGroup, ...] = ()
    ) -> Thermostat | None:
        """The thermostat of these settings, where it is not part of the integrator."""
        chosen: Any = THERMOSTATS.get(self.kind)
        if chosen is None:
            return None
        settings = self.settings_of(chosen)
        if "seed" in fields_of(chosen):
            settings["seed"] = integrator.seed
        if groups:
            settings["groups"] = groups
            del settings[chosen.coupling]
        else:
            settings["temperature"] = integrator.hottest()
        made: Thermostat = chosen(**settings)
        return made


class BarostatSection(_Barostats):  # type: ignore[misc]
    """[barostat]: what keeps the pressure with the ensemble npt; its seed is that of [integrator].

    `compressibility` has one value, or one for each set of axes that are scaled together.
    """

    compressibility: tuple[Annotated[float, Unit("1/bar")], ...] = Field(
        default=(4.5e-5,),
        description="Isothermal compressibility, 1/bar; 0 keeps the axes fixed.",
    )
    every: BarostatEvery | None = Field(
        default=None,
        description="Steps between barostat actions; default: a fiftieth of the time constant, or "
        f"{PROPOSE_EVERY} steps with monte-carlo.",
    )
    annealing: PressurePoints | None = Field(
        default=None,
        description="Reference pressure over time, linear between points of (ps, bar).",
    )
    annealing_every: int = Field(
        default=200, ge=1, description="Steps between changes of pressure in annealing."
    )

    @model_validator(mode="after")
    def _check(self) -> BarostatSection:
        """Lets the barostat itself check what it is given; `pressure` is that of the start."""
        if self.annealing is not None:
            check_points(
                "annealing", self.annealing, "pressures", -HIGHEST_PRESSURE, HIGHEST_PRESSURE, "bar"
            )
            _begin_with(self, "pressure", self.annealing[0][1], "bar")
        try:
            self._made(None)
        except QuiltError as error:
            raise ValueError(str(error)) from None
        return self

    def build(self, integrator: IntegratorSection) -> Barostat | None:
        """The barostat of these settings, if the ensemble has one."""
        return self._made(integrator.seed) if integrator.ensemble == "npt" else None

    def _made(self, seed: int | None) -> Barostat:
        chosen: Any = BAROSTATS[self.kind]
        settings, given = self.settings_of(chosen), self.compressibility
        settings["compressibility"] = given[0] if len(given) == 1 else given
        if "seed" in fields_of(chosen):
            settings["seed"] = seed
        made: Barostat = chosen(**settings)
        return made
