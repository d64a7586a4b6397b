# SPDX-License-Identifier: Apache-2.0
"""Integrator, thermostat and barostat together, as the core receives them."""

from __future__ import annotations

from typing import Any

from ..errors import QuiltError
from .barostats import Barostat, check_barostat
from .heat_baths import baths_of_atoms
from .integrators import Integrator, LangevinMiddleGroups
from .system import System
from .thermostats import NoseHooverChain, Thermostat

_ACTIONS = 4  # of a chain in its time constant, at least: with fewer it heats or cools


def resolve_dynamics(
    integrator: Integrator,
    thermostat: Thermostat | None,
    barostat: Barostat | None = None,
    system: System | None = None,
) -> dict[str, Any]:
    """Settings for the core of an integrator and what goes with it.

    Where groups of atoms have heat baths, an engine needs the system whose atoms they select.

    Raises
    ------
    QuiltError
        Where they do not go together.
    """
    _check_thermostat(thermostat, integrator)
    check_barostat(barostat, integrator, thermostat)
    parts = {"thermostat": thermostat, "barostat": barostat}
    resolved: dict[str, Any] = {
        name: part.resolve() for name, part in parts.items() if part is not None
    }
    if system is not None and isinstance(integrator, LangevinMiddleGroups):
        resolved["bath_of_atom"] = baths_of_atoms(system, integrator.groups)
    return integrator.resolve() | resolved


def _check_thermostat(thermostat: Thermostat | None, integrator: Integrator) -> None:
    if thermostat is None:
        return
    name = type(thermostat).__name__
    if integrator.is_thermostat:
        raise QuiltError(
            f"{name} does not go with {type(integrator).__name__}, which is a thermostat by "
            "itself: use it with VelocityVerlet, or leave it out"
        )
    if thermostat.every % integrator.long_range_every:
        raise QuiltError(
            f"{name}: every = {thermostat.every} must be a multiple of long_range_every = "
            f"{integrator.long_range_every}, since between reciprocal-space evaluations the "
            "kinetic energy lacks part of an impulse"
        )
    time = thermostat.every * integrator.timestep
    if isinstance(thermostat, NoseHooverChain) and thermostat.time_constant < _ACTIONS * time:
        raise QuiltError(
            f"{name}: the time constant, {thermostat.time_constant:g} ps, must be at least "
            f"{_ACTIONS} times as long as the time between actions, {time:g} ps: lower 'every', or "
            "raise 'time_constant'"
        )
