# SPDX-License-Identifier: Apache-2.0
"""A barostat beside integrator, thermostat, system and state: its interval, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

from ..errors import QuiltError
from .barostats import Barostat
from .heat_baths import HeatBaths
from .integrators import Integrator
from .molecules import cut_link, make_whole
from .parameters import names
from .settings import LONGEST_INTERVAL
from .state import State
from .system import System
from .thermostats import Thermostat


def _temperature(name: str, bath: Integrator | Thermostat | None) -> float:
    """Temperature of the heat bath, 0 without a bath; QuiltError if temperatures differ."""
    found = sorted(set(bath.temperatures())) if isinstance(bath, HeatBaths) else [0.0]
    if len(found) > 1:
        raise QuiltError(
            f"{name}: the fluctuations of the box need one temperature, and groups of atoms have "
            f"{', '.join(f'{one:g}' for one in found)} K: give all groups the "
            "same temperature, use the Berendsen barostat, or leave the barostat out"
        )
    return found[0]


def with_interval(barostat: Barostat | None, integrator: Integrator) -> Barostat | None:
    """The barostat with the steps between its actions, where these are left to the program."""
    if barostat is None or barostat.every is not None:
        return barostat
    impulse = integrator.long_range_every
    steps = min(barostat.steps_between_actions(integrator.timestep), LONGEST_INTERVAL)
    return replace(barostat, every=max(steps // impulse, 1) * impulse)


def check_barostat(
    barostat: Barostat | None, integrator: Integrator, thermostat: Thermostat | None
) -> None:
    """QuiltError if a barostat does not go with integrator and thermostat."""
    if barostat is None:
        return
    name = type(barostat).__name__
    bath = integrator if integrator.is_thermostat else thermostat
    if barostat.needs_temperature and not _temperature(name, bath):
        raise QuiltError(
            f"{name}: the fluctuations of the box need a temperature: use LangevinMiddle, or "
            "VelocityVerlet with a thermostat"
        )
    if barostat.every and barostat.every % integrator.long_range_every:
        raise QuiltError(
            f"{name}: every = {barostat.every} must be a multiple of long_range_every = "
            f"{integrator.long_range_every}, because energy and pressure are complete only at "
            "steps with a reciprocal-space evaluation"
        )


def check_cell(barostat: Barostat | None, system: System, state: State) -> None:
    """QuiltError if a barostat cannot change the box of a state."""
    if barostat is None:
        return
    if state.box is None:
        raise QuiltError("a barostat needs a periodic box, and the state has none")
    if not barostat.moves_molecules:
        return
    if cut_link(state.positions, state.box, system.links) is None:
        return
    healed = make_whole(state.positions, state.box, system.links)
    link = cut_link(healed, state.box, system.links)
    if link is None:
        raise QuiltError(
            "the Monte Carlo barostat moves molecules by their centres, and molecules of this "
            "state are cut by the periodic boundary: State.start makes them whole"
        )
    raise QuiltError(
        "the Monte Carlo barostat moves molecules by their centres, and a molecule of this state "
        "has none: it is bonded to its own periodic image, as at the bond or constraint of "
        f"{names(system, system.links[link])}. Use cell rescaling, which needs no centres of "
        "molecules (CellRescaling; barostat.kind = cell-rescaling)"
    )
