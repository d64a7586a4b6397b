# SPDX-License-Identifier: Apache-2.0
"""Sections [integrator], [thermostat] and [barostat] of a configuration."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from ..description.barostats import BAROSTATS, Barostat
from ..description.barostats.monte_carlo import PROPOSE_EVERY
from ..description.checks import LAST_STEP
from ..description.heat_baths import BathGroup
from ..description.integrators import INTEGRATORS, Integrator, LangevinMiddle, VelocityVerlet
from ..description.settings import (
    HIGHEST_PRESSURE,
    HOTTEST,
    BarostatEvery,
    Friction,
    Seed,
    Temperature,
    TimeConstant,
)
from ..description.thermostats import THERMOSTATS, Thermostat
from ..description.units import Unit
from ..errors import QuiltError
from .annealing import (
    Points,
    PressurePoints,
    TemperaturePoints,
    check_points,
)
from .choice_sections import ChoiceSection, section_of
from .section import Section
from .setting_fields import fields_of

LANGEVIN = "langevin"  # the thermostat that is part of an integrator
_NOT_OF_RUNS = ("constraint_tolerance", "remove_com_every", "groups")  # but of a Simulation


class _Dynamics(ChoiceSection):
    """Keys of [integrator] that all kinds have."""

    ensemble: Literal["nve", "nvt", "npt"] = Field(
        default="nvt",
        description="Ensemble: nvt (constant temperature), npt (the same with a barostat) or nve "
        "(constant energy).",
    )
    temperature: Temperature = LangevinMiddle.temperature
    seed: Seed = LangevinMiddle.seed


_Integrators: Any = section_of(
    "Integrator",
    INTEGRATORS,
    None,
    elsewhere=(*_Dynamics.model_fields, *_NOT_OF_RUNS),
    base=_Dynamics,
)


class IntegratorSection(_Integrators):  # type: ignore[misc]
    """[integrator]: the ensemble, what moves atoms, and its settings; K, 1/ps, ps.

    `temperature` also sets the start velocities, and `seed` draws them; without a seed a run draws
    one and records it.  Where `kind` is not given it follows from the ensemble and the thermostat.
    """

    annealing: TemperaturePoints | None = Field(
        default=None,
        description="Temperature of the heat bath over time, linear between points of (ps, K).",
    )
    annealing_every: int = Field(
        default=200,
        ge=1,
        le=LAST_STEP,
        description="Steps between changes of temperature in annealing.",
    )

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

    def build(self, groups: tuple[BathGroup, ...] = ()) -> Integrator:
        """The integrator of these settings, and of those of [[bath]]."""
        chosen: Any = INTEGRATORS[self.kind]
        settings = self.settings_of(chosen)
        if chosen.is_thermostat:
            settings = with_baths(chosen, settings | {"seed": self.seed}, self.hottest(), groups)
        made: Integrator = chosen(**settings)
        return made


def kind_of_integrator(ensemble: str, thermostat: str) -> str:
    """The kind of integrator that goes with an ensemble and a kind of thermostat."""
    has_thermostat = ensemble != "nve" and thermostat == LANGEVIN
    return LangevinMiddle.kind if has_thermostat else VelocityVerlet.kind


def lacking_settings(kind: str) -> list[str]:
    """Settings of [integrator] that other kinds have, and this one does not."""
    others = {name for found in INTEGRATORS.values() for name in fields_of(found)}
    of_section = IntegratorSection.model_fields.keys() - _Dynamics.model_fields.keys()
    return sorted(others & of_section - fields_of(INTEGRATORS[kind]).keys())


def check_integrator(integrator: IntegratorSection, thermostat: ThermostatSection) -> None:
    """ValueError where a kind was given that does not go with ensemble or thermostat."""
    fitting = kind_of_integrator(integrator.ensemble, thermostat.kind)
    if integrator.kind == fitting:
        return
    what = f"the integrator '{integrator.kind}'"
    if not INTEGRATORS[integrator.kind].is_thermostat:
        raise ValueError(
            f"{what} keeps no temperature: give a kind of [thermostat] other than '{LANGEVIN}', or "
            f"choose kind = '{fitting}' or the ensemble nve"
        )
    if integrator.ensemble == "nve":
        raise ValueError(
            f"{what} keeps a temperature, which the ensemble nve does not: choose kind = "
            f"'{fitting}', or nvt or npt"
        )
    raise ValueError(
        f"{what} is a thermostat itself: leave out the thermostat '{thermostat.kind}', or choose "
        f"kind = '{fitting}'"
    )


def with_baths(
    chosen: Any, settings: dict[str, Any], hottest: float, groups: tuple[BathGroup, ...]
) -> dict[str, Any]:
    """The settings of an integrator or a thermostat, with one heat bath or those of groups."""
    if not groups:
        return settings | {"temperature": hottest}
    without = {name: value for name, value in settings.items() if name != chosen.coupling}
    return without | {"groups": groups}


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
    LANGEVIN,
    elsewhere=("temperature", "groups", "seed"),
    others={LANGEVIN: "friction and noise on each atom"},
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
        settings = with_baths(chosen, settings, integrator.hottest(), groups)
        made: Thermostat = chosen(**settings)
        return made


class BarostatSection(_Barostats):  # type: ignore[misc]
    """[barostat]: what keeps the pressure with the ensemble npt; its seed is that of [integrator].

    `compressibility` has one value, or one for each set of axes that are scaled together.
    """

    compressibility: tuple[Annotated[float, Unit("1/bar")], ...] = Field(
        default=(4.5e-5,),
        description="Isothermal compressibility, 1/bar: one value for all axes, or two (xy, z) "
        "with semi-isotropic, three (x, y, z) with anisotropic coupling; 0 keeps an axis fixed.",
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
        default=200,
        ge=1,
        le=LAST_STEP,
        description="Steps between changes of pressure in annealing.",
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
