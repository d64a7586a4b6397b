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
    288 (2004).  At regular intervals another box is proposed, to which molecules go with their
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
