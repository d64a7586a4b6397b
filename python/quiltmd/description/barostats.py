# SPDX-License-Identifier: Apache-2.0
"""Barostats: one frozen description each of how the box follows a pressure."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, replace
from typing import Any, ClassVar

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from ..errors import QuiltError, QuiltWarning
from .checks import user_settings
from .heat_baths import Grouped
from .integrators import Integrator
from .molecules import cut_link, make_whole
from .parameters import names
from .settings import (
    LONGEST_INTERVAL,
    BarostatEvery,
    BoxTimeConstant,
    Compressibility,
    Coupling,
    Pressure,
    Seed,
    SurfaceTension,
    draw_seed,
)
from .state import State
from .system import System
from .thermostats import Thermostat

_CONFIG = ConfigDict(extra="forbid", allow_inf_nan=False)
_BAR = 1 / 16.6053906660  # in kJ/mol/nm^3
_AXES = "xyz"
_ACTIONS = 50  # in a time constant, by default
PROPOSE_EVERY = 100  # steps between Monte Carlo proposals, by default
# By axis: the first axis of those that are scaled together.
_SETS: dict[str, tuple[int, int, int]] = {
    "isotropic": (0, 0, 0),
    "semi-isotropic": (0, 0, 2),
    "anisotropic": (0, 1, 2),
}


@user_settings
@dataclass(frozen=True, config=_CONFIG)
class _AxisScaling:
    """What barostats share: a pressure and the axes that are scaled together.

    The same settings mean the same in each; its docstring has them.
    """

    needs_temperature: ClassVar[bool] = True  # the ensemble that it gives has one

    pressure: Pressure = 1.0
    _: KW_ONLY
    compressibility: Compressibility = 4.5e-5
    coupling: Coupling = "isotropic"
    surface_tension: SurfaceTension = 0.0
    every: BarostatEvery | None = None

    def __post_init__(self) -> None:
        """QuiltError where the settings of axes do not go together."""
        sets = len(set(_SETS[self.coupling]))
        given = self.compressibility
        if isinstance(given, tuple) and len(given) != sets:
            raise QuiltError(
                f"compressibility: {len(given)} values for {sets} set(s) of axes that "
                f"'{self.coupling}' coupling scales together"
            )
        if self.surface_tension and self.coupling == "isotropic":
            raise QuiltError("surface_tension: a surface needs semi-isotropic coupling, at least")

    def resolve(self) -> dict[str, Any]:
        """Settings for the core."""
        settings = {
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


@user_settings
@dataclass(frozen=True, config=_CONFIG)
class CellRescaling(_AxisScaling):
    """Constant pressure by stochastic cell rescaling.

    Bernetti and Bussi, J. Chem. Phys. 153, 114107 (2020).  The box relaxes towards the pressure as
    with a Berendsen barostat, and noise gives it the fluctuations of the isothermal-isobaric
    ensemble.  Hydrogen groups (atoms joined by constraints) move with their centres of mass, whose
    velocities change as the inverse of the box.  It needs a temperature: `LangevinMiddle`, or a
    thermostat.

    Attributes
    ----------
    pressure:
        Reference pressure, bar.
    time_constant:
        Relaxation time of the box, ps.
    compressibility:
        Isothermal compressibility, 1/bar; that of water by default.  It sets how fast the box
        relaxes, not where it relaxes to.  With more than one set of axes (see `coupling`) one value
        for each may be given, and 0 leaves the axes of a set as they are.
    coupling:
        Which axes are scaled together: "isotropic", all of them; "semi-isotropic", x with y, and z
        by itself (membranes); "anisotropic", each by itself.  Angles of the box stay but for what
        that makes of them.
    surface_tension:
        Tension of all surfaces normal to z together, bar nm: it acts against the pressure along x
        and y.  Not with isotropic coupling.
    seed:
        Random seed of the barostat's noise; the same seed gives the same trajectory, bit for bit.
        None: a `Simulation` draws one, and its `barostat` tells which.
    every:
        Steps between actions, a multiple of the integrator's `long_range_every`; at each, energies
        and virial are found and pair lists built anew.  None: a fiftieth of the time constant, or
        as much less as whole multiples need, and a `Simulation`'s `barostat` tells how many.
    """

    time_constant: BoxTimeConstant = 5.0
    _: KW_ONLY
    seed: Seed = None

    def resolve(self) -> dict[str, Any]:
        """Settings for the core."""
        return super().resolve() | {
            "kind": "cell_rescaling",
            "time_constant": self.time_constant,
            "seed": draw_seed() if self.seed is None else self.seed,
        }


@user_settings
@dataclass(frozen=True, config=_CONFIG)
class BerendsenBarostat(_AxisScaling):
    """Relaxation to a pressure without noise.

    Berendsen, Postma, van Gunsteren, DiNola and Haak, J. Chem. Phys. 81, 3684 (1984).  It is robust
    far from equilibrium, but fluctuations of the box are too small: of no known ensemble.  For
    equilibration only; `CellRescaling` is as robust.  Settings are those of `CellRescaling`, but
    for the seed: nothing is random.
    """

    needs_temperature: ClassVar[bool] = False

    time_constant: BoxTimeConstant = 5.0

    def resolve(self) -> dict[str, Any]:
        """Settings for the core."""
        warnings.warn(
            QuiltWarning(
                "the Berendsen barostat gives no known ensemble: use CellRescaling for all but "
                "equilibration"
            ),
            stacklevel=4,
        )
        return super().resolve() | {"kind": "berendsen", "time_constant": self.time_constant}


@user_settings
@dataclass(frozen=True, config=_CONFIG)
class MonteCarloBarostat(_AxisScaling):
    """Constant pressure by Monte Carlo moves of the box.

    Chow and Ferguson, Comput. Phys. Commun. 91, 283 (1995); Aqvist et al., Chem. Phys. Lett. 384,
    288 (2004).  Every so many steps another box is proposed, to which molecules go with their
    centres, and accepted or not by the energies of both.  The ensemble is exact for any interval
    and needs no virial; the box moves less smoothly than with `CellRescaling`.  It needs a
    temperature: `LangevinMiddle`, or a thermostat.

    Attributes
    ----------
    pressure:
        Reference pressure, bar.
    compressibility:
        Isothermal compressibility, 1/bar; that of water by default.  Proposals are as wide as the
        fluctuations that it means; it has no influence on the ensemble.  With more than one set of
        axes (see `coupling`) one value for each may be given, and 0 leaves the axes of a set as
        they are.
    coupling:
        Which axes are scaled together, as in `CellRescaling`; each proposal is of one set, drawn by
        chance.
    surface_tension:
        Tension of all surfaces normal to z together, bar nm.  Not with isotropic coupling.
    seed:
        Random seed of proposals and decisions; the same seed gives the same trajectory, bit for
        bit.  None: a `Simulation` draws one, and its `barostat` tells which.
    every:
        Steps between proposals, a multiple of the integrator's `long_range_every`.  Pair lists are
        built and energies found anew at each, so that a proposal costs as much as several steps,
        and the ensemble is the same for any interval.  None: the largest multiple up to 100, as in
        Amber, or a single one if that is longer; a `Simulation`'s `barostat` tells how many.
    """

    _: KW_ONLY
    seed: Seed = None

    def resolve(self) -> dict[str, Any]:
        """Settings for the core."""
        seed = draw_seed() if self.seed is None else self.seed
        return super().resolve() | {"kind": "monte_carlo", "seed": seed}


Barostat = CellRescaling | BerendsenBarostat | MonteCarloBarostat


def pressures(pressure: float) -> dict[str, float]:
    """A pressure (bar) as the core has it, by axis."""
    return {f"pressure_{axis}": pressure * _BAR for axis in _AXES}


def _temperature(name: str, bath: Integrator | Thermostat | None) -> float:
    """That of a heat bath, 0 without one; QuiltError where there are several that differ."""
    if not isinstance(bath, Grouped):
        return getattr(bath, "temperature", 0.0)
    found = sorted(set(bath.temperatures()))
    if len(found) > 1:
        raise QuiltError(
            f"{name}: the fluctuations of the box need one temperature, and groups of atoms have "
            f"{', '.join(f'{one:g}' for one in found)} K: give them the same one, use the "
            "Berendsen barostat, which has no fluctuations of its own, or leave the barostat out"
        )
    return found[0]


def with_interval(barostat: Barostat | None, integrator: Integrator) -> Barostat | None:
    """The barostat with the steps between its actions, where these are left to the program."""
    if barostat is None or barostat.every is not None:
        return barostat
    impulse = integrator.long_range_every
    steps = PROPOSE_EVERY
    if not isinstance(barostat, MonteCarloBarostat):
        steps = int(barostat.time_constant / (_ACTIONS * integrator.timestep) + 1e-6)
    steps = min(steps, LONGEST_INTERVAL)
    return replace(barostat, every=max(steps // impulse, 1) * impulse)


def check_barostat(
    barostat: Barostat | None, integrator: Integrator, thermostat: Thermostat | None
) -> None:
    """QuiltError where a barostat does not go with integrator and thermostat."""
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
            f"{integrator.long_range_every}, since only steps with a reciprocal-space evaluation "
            "have the whole energy and pressure"
        )


def check_cell(barostat: Barostat | None, system: System, state: State) -> None:
    """QuiltError where a barostat cannot change the box of a state."""
    if barostat is None:
        return
    if state.box is None:
        raise QuiltError("a barostat needs a periodic box, and the state has none")
    if not isinstance(barostat, MonteCarloBarostat):
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
