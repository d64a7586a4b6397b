# SPDX-License-Identifier: Apache-2.0
"""The motion of the centre of mass: where it is removed, and where it has no thermal motion.

This module alone decides it.  The core removes momentum and counts the degrees of freedom of
thermostats as it is told from here, readouts count those of temperatures.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .electric_field import forces_of
from .expressions import Expression
from .heat_baths import HeatBaths
from .integrators import Integrator
from .net_forces import held_axes
from .system import System
from .terms import Terms
from .thermostats import Thermostat

# Steps, or some more or fewer, where pair lists are rebuilt anyway: often enough that a drift never
# shows, rarely enough to cost nothing.
DEFAULT_EVERY = 100
_AXES = ("x", "y", "z")
# Fraction of the largest force of a field on an atom: rounded charges in a file add up to less.
_NET = 0.1
_RESTRAINED = "position restraints hold atoms"
_PLACED = "the energy of a custom force depends on the places of atoms in space"


@dataclass(frozen=True)
class CentreOfMass:
    """Motion of the centre of mass of a system.

    Attributes
    ----------
    every:
        Steps between removals of its motion along the axes at rest; 0: never.
    resting:
        For x, y and z: whether it has no thermal motion, as it is removed or never arises.
    follows_lists:
        Whether the core chooses the interval, close to `every`, so that no pair lists have to be
        rebuilt for it; it tells which as `remove_com_every`.
    """

    every: int
    resting: tuple[bool, bool, bool]
    follows_lists: bool = False

    def resolve(self) -> dict[str, int]:
        """Settings for the core, beside those of an integrator."""
        axes = sum(1 << axis for axis, rests in enumerate(self.resting) if rests)
        settings = {"remove_com_every": self.every, "resting_axes": axes}
        return settings | ({"remove_com_with_lists": 1} if self.follows_lists else {})

    def chosen(self, every: int) -> CentreOfMass:
        """The same with the interval that the core has chosen."""
        return replace(self, every=every, follows_lists=False)

    def missing(self, step: int, friction: float, timestep: float) -> float:
        """The degrees of freedom that it lacks at a step, from 0 to 3.

        Friction (1/ps) and noise set it in motion again: a time t after the removal a part
        exp(-2 friction t) is missing.
        """
        steps = (step - 1) % self.every + 1 if self.every and step else 0
        return sum(self.resting) * math.exp(-2 * friction * steps * timestep)


def centre_of_mass(
    integrator: Integrator,
    thermostat: Thermostat | None,
    system: System | None,
    held_from_outside: bool = False,
) -> CentreOfMass:
    """The motion of the centre of mass of a system; None: of one that nothing holds.

    `held_from_outside`: whether forces from outside hold atoms.
    """
    free = np.ones(3, dtype=bool)
    for axes, _ in _reasons(system, held_from_outside):
        free &= ~axes
    asked = integrator.remove_com_every
    every = (DEFAULT_EVERY if asked is None else asked) if free.any() else 0
    rests = free & (every > 0 or _keeps_momentum(integrator, thermostat))
    resting = (bool(rests[0]), bool(rests[1]), bool(rests[2]))
    return CentreOfMass(every, resting, follows_lists=asked is None and every > 0)


def frictions_of(integrator: Integrator, thermostat: Thermostat | None) -> tuple[float, ...]:
    """`HeatBaths.frictions` of the one of the two that has baths; 0 where none has."""
    bath = integrator if thermostat is None else thermostat
    return bath.frictions() if isinstance(bath, HeatBaths) else (0.0,)


def centre_of_mass_oddities(
    integrator: Integrator,
    thermostat: Thermostat | None,
    system: System,
    held_from_outside: bool = False,
) -> Iterator[str]:
    """Warnings about the motion of the centre of mass, one line each."""
    free, by_reason = np.ones(3, dtype=bool), []
    for along, what in _reasons(system, held_from_outside):
        by_reason.append((along & free, what))
        free &= ~along
    rest = f"it acts along {_names(free)} alone" if free.any() else "leave remove_com_every out"
    for axes, what in by_reason:
        if axes.any() and integrator.remove_com_every:
            yield (
                f"remove_com_every = {integrator.remove_com_every} has no effect along "
                f"{_names(axes)}, where {what}: the motion of the centre of mass is part of the "
                f"dynamics there, and to remove it would change what is sampled; {rest}"
            )
    runs_away = by_reason[-1][0]
    if runs_away.any() and not any(frictions_of(integrator, thermostat)):
        yield (
            "the forces of a field, or constant forces, do not add up to zero along "
            f"{_names(runs_away)}: the whole system is accelerated without friction; neutralise "
            "it with ions, or use LangevinMiddle"
        )


def _reasons(system: System | None, held_from_outside: bool) -> list[tuple[NDArray[np.bool_], str]]:
    """Why momentum is not conserved: (3,) the axes, and the reason; fields come last."""
    found = [(np.full(3, held_from_outside), "external forces act from outside")]
    if system is not None:
        custom = () if system.custom is None else system.custom.terms
        found += [
            (_any(_held_by(terms) for terms in system.terms.present()), _RESTRAINED),
            (_any(force.held_axes for force in custom if len(force)), _PLACED),
            (_driven(system), "a field or constant forces pull the whole system"),
        ]
    return found


def _held_by(terms: Terms) -> tuple[bool, bool, bool]:
    """Axes along which terms hold their atoms to places; of fields only the sum counts."""
    form = terms.form
    if form.part == "field" or not form.energy:
        return False, False, False
    strong = terms.parameters[terms.parameters[:, list(form.strengths)].any(axis=1)]
    zero = {
        one.symbol
        for one, values in zip(form.parameters, strong.T, strict=True)
        if not values.any()
    }
    return held_axes(Expression(form.energy), {axis: axis for axis in _AXES}, zero - set(_AXES))


def _any(found: Iterable[tuple[bool, bool, bool]]) -> NDArray[np.bool_]:
    return np.asarray(np.array([(False, False, False), *found]).any(axis=0), dtype=bool)


def _driven(system: System) -> NDArray[np.bool_]:
    """(3,) the axes along which constant forces add up to more than rounded charges leave."""
    if not len(system.constant_forces):
        return np.zeros(3, dtype=bool)
    forces = forces_of(system)
    largest = float(np.linalg.norm(forces, axis=1).max())
    driven: NDArray[np.bool_] = np.abs(forces.sum(axis=0)) > _NET * largest
    return driven


def _keeps_momentum(integrator: Integrator, thermostat: Thermostat | None) -> bool:
    """Whether a centre of mass at rest stays so: no noise moves it, nor factors that differ."""
    several = thermostat is not None and len(thermostat.groups) > 1
    return not several and not any(frictions_of(integrator, thermostat))


def _names(axes: NDArray[np.bool_]) -> str:
    return " and ".join(name for name, one in zip(_AXES, axes, strict=True) if one)
