# SPDX-License-Identifier: Apache-2.0
"""Stochastic cell rescaling."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from ..checks import user_settings
from ..settings import Seed, draw_seed
from .base import CONFIG, Relaxation


@user_settings
@dataclass(frozen=True, config=CONFIG)
class CellRescaling(Relaxation):
    """Constant pressure by stochastic cell rescaling.

    Bernetti and Bussi, J. Chem. Phys. 153, 114107 (2020).  The box relaxes towards the pressure as
    with a Berendsen barostat, and noise gives it the fluctuations of the isothermal-isobaric
    ensemble.  Hydrogen groups (atoms joined by constraints) move with their centres of mass, whose
    velocities change as the inverse of the box.  The barostat needs `LangevinMiddle` or a
    thermostat.

    Attributes
    ----------
    pressure:
        Reference pressure, bar.
    time_constant:
        Relaxation time of the box, ps.
    compressibility:
        Isothermal compressibility, 1/bar; that of water by default.  It determines how fast the box
        relaxes, not its mean.  One value for all axes, or two (xy, z) with
        "semi-isotropic", three (x, y, z) with "anisotropic" coupling; 0 keeps an axis fixed.
    coupling:
        Axes that are scaled by the same factor: "isotropic", all; "semi-isotropic", x and y, with z
        independent (membranes); "anisotropic", none.  The angles of the box change only as this
        scaling changes them.
    surface_tension:
        Surface tension, summed over all surfaces normal to z, bar nm; it acts against the pressure
        along x and y.  Not with isotropic coupling.
    seed:
        Random seed of the barostat's noise; the same seed gives the same trajectory, bit for bit.
        None: a `Simulation` chooses one, which its `barostat` has.
    every:
        Steps between actions, a multiple of the integrator's `long_range_every`; each action
        evaluates energies and virial and rebuilds pair lists.  None: a fiftieth of the time
        constant, rounded down to a multiple; the `barostat` of a `Simulation` has the number.
    """

    kind: ClassVar[str] = "cell-rescaling"
    summary: ClassVar[str] = "stochastic"

    _: KW_ONLY
    seed: Seed = None

    def resolve(self) -> dict[str, Any]:
        """Settings for the core."""
        return super().resolve() | {"seed": draw_seed() if self.seed is None else self.seed}
