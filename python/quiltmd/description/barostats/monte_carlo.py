# SPDX-License-Identifier: Apache-2.0
"""Monte Carlo moves of the box."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from ..checks import user_settings
from ..settings import Seed, draw_seed
from .base import CONFIG, Barostat

PROPOSE_EVERY = 100  # steps between proposals, by default


@user_settings
@dataclass(frozen=True, config=CONFIG)
class MonteCarloBarostat(Barostat):
    """Constant pressure by Monte Carlo moves of the box.

    Chow and Ferguson, Comput. Phys. Commun. 91, 283 (1995); Aqvist et al., Chem. Phys. Lett. 384,
    288 (2004).  At regular intervals another box is proposed, in which the centres of molecules are
    scaled, and accepted or rejected by the difference of the energies.  The ensemble is exact for
    any interval, and no virial is needed; the box changes less smoothly than with `CellRescaling`.
    The barostat needs `LangevinMiddle` or a thermostat.

    Attributes
    ----------
    pressure:
        Reference pressure, bar.
    compressibility:
        Isothermal compressibility, 1/bar; that of water by default.  It determines the width of
        proposals, and has no influence on the ensemble.  One value for all axes, or two
        (xy, z) with "semi-isotropic", three (x, y, z) with "anisotropic" coupling; 0 keeps an axis
        fixed.
    coupling:
        Axes that are scaled by the same factor, as in `CellRescaling`; each proposal scales one
        set, chosen at random.
    surface_tension:
        Surface tension, summed over all surfaces normal to z, bar nm.  Not with isotropic coupling.
    seed:
        Random seed of proposals and decisions; the same seed gives the same trajectory, bit for
        bit.  None: a `Simulation` chooses one, which its `barostat` has.
    every:
        Steps between proposals, a multiple of the integrator's `long_range_every`.  Each proposal
        rebuilds pair lists and evaluates energies, so it costs as much as several steps; the
        ensemble is the same for any interval.  None: the largest multiple up to 100, as in Amber,
        or `long_range_every` if that is larger; the `barostat` of a `Simulation` has the number.
    """

    kind: ClassVar[str] = "monte-carlo"
    summary: ClassVar[str] = "Monte Carlo moves of the volume"
    moves_molecules: ClassVar[bool] = True

    _: KW_ONLY
    seed: Seed = None

    def steps_between_actions(self, timestep: float) -> int:
        """A number of steps that costs little, whatever their length."""
        return PROPOSE_EVERY

    def resolve(self) -> dict[str, Any]:
        """Settings for the core."""
        return super().resolve() | {"seed": draw_seed() if self.seed is None else self.seed}
