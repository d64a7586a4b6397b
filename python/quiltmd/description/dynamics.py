# SPDX-License-Identifier: Apache-2.0
"""Integrator, thermostat and barostat together, as the core receives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from ..errors import QuiltError
from .barostats import Barostat, pressures
from .centre_of_mass import centre_of_mass
from .constant_pressure import check_barostat, with_interval
from .heat_baths import BathGroup, HeatBaths, baths_of_atoms
from .integrators import Integrator
from .system import System
from .thermostats import Thermostat

Part = TypeVar("Part", bound=Integrator | Thermostat | Barostat)


def resolve_dynamics(
    integrator: Integrator,
    thermostat: Thermostat | None,
    barostat: Barostat | None = None,
    system: System | None = None,
    held_from_outside: bool = False,
) -> dict[str, Any]:
    """Settings for the core of an integrator and what goes with it.

    An engine needs the system: the atoms that groups with heat baths select, and what holds atoms
    from outside.

    Raises
    ------
    QuiltError
        If they do not go together.
    """
    _check_thermostat(thermostat, integrator)
    check_barostat(barostat, integrator, thermostat)
    parts = {"thermostat": thermostat, "barostat": with_interval(barostat, integrator)}
    resolved: dict[str, Any] = {
        name: part.resolve() for name, part in parts.items() if part is not None
    }
    groups = groups_with_baths(integrator, thermostat)
    if system is not None and groups:
        resolved["bath_of_atom"] = baths_of_atoms(system, groups)
    resolved |= centre_of_mass(integrator, thermostat, system, held_from_outside).resolve()
    return integrator.resolve() | resolved


def groups_with_baths(
    integrator: Integrator, thermostat: Thermostat | None
) -> tuple[BathGroup, ...]:
    """Groups of atoms that have heat baths of their own; none where one bath has all atoms."""
    bath = heat_bath(integrator, thermostat)
    return () if bath is None else bath.groups


def heat_bath(integrator: Integrator, thermostat: Thermostat | None) -> HeatBaths | None:
    """The one of the two that has the heat baths: the thermostat where there is one, or none."""
    bath = integrator if thermostat is None else thermostat
    return bath if isinstance(bath, HeatBaths) else None


def with_conditions(
    integrator: Integrator,
    thermostat: Thermostat | None,
    barostat: Barostat | None,
    conditions: Mapping[str, float | Sequence[float] | None],
) -> tuple[dict[str, Any], dict[str, float]]:
    """All three with another temperature, friction or pressure; those that are None stay.

    Returns
    -------
    `integrator`, `thermostat` and `barostat` by name, and the numbers that the core has to be told.

    Raises
    ------
    QuiltError
        If there is no such setting, or what results does not go together.
    """
    parts: dict[str, Any] = {
        "integrator": integrator,
        "thermostat": thermostat,
        "barostat": barostat,
    }
    bath = "integrator" if thermostat is None else "thermostat"
    numbers: dict[str, float] = {}
    for name, value in conditions.items():
        if value is None:
            continue
        owner = "barostat" if name == "pressure" else bath
        part = parts[owner]
        if part is None:
            raise QuiltError(f"the simulation has no {owner}, so no {name} to change")
        parts[owner], its_numbers = with_condition(part, name, value)
        numbers |= its_numbers
    check_barostat(parts["barostat"], parts["integrator"], parts["thermostat"])
    return parts, numbers


def with_condition(
    part: Part, name: str, value: float | Sequence[float]
) -> tuple[Part, dict[str, float]]:
    """Integrator, thermostat or barostat with another temperature, friction or pressure.

    With it come the numbers that the core has to be told.

    Raises
    ------
    QuiltError
        If it has none, or, of groups of atoms, another number of them.
    """
    if isinstance(part, HeatBaths) and part.groups:
        grouped: Any = part.with_each(name, value)
        of_groups = enumerate(getattr(group, name) for group in grouped.groups)
        return grouped, {f"{name}_{number}": found for number, found in of_groups}
    if not hasattr(part, name):
        raise QuiltError(f"{type(part).__name__} has no {name}")
    changed: Any = replace(part, **{name: value})  # type: ignore[type-var]
    found: float = getattr(changed, name)
    return changed, pressures(found) if name == "pressure" else {name: found}


def _check_thermostat(thermostat: Thermostat | None, integrator: Integrator) -> None:
    if thermostat is None:
        return
    name = type(thermostat).__name__
    if integrator.is_thermostat:
        raise QuiltError(
            f"{name} cannot be combined with {type(integrator).__name__}, which contains a "
            f"thermostat: use it with VelocityVerlet, or leave it out"
        )
    if thermostat.every % integrator.long_range_every:
        raise QuiltError(
            f"{name}: every = {thermostat.every} must be a multiple of long_range_every = "
            f"{integrator.long_range_every}, because at other steps the kinetic energy "
            "contains only part of an impulse of the reciprocal-space force"
        )
    time, shortest = thermostat.every * integrator.timestep, min(thermostat.strengths())
    least = thermostat.least_actions
    if shortest < least * time:
        raise QuiltError(
            f"{name}: the {thermostat.coupling.replace('_', ' ')}, {shortest:g} ps, must be at "
            f"least {least} times as long as the time between actions, {time:g} ps: lower 'every', "
            f"or raise '{thermostat.coupling}'"
        )
