# SPDX-License-Identifier: Apache-2.0
"""Longest interval between actions of the long-range force (r-RESPA)."""

from __future__ import annotations

from ..errors import QuiltError
from .integrators import Integrator
from .system import System
from .vibrations import fastest_vibration

# At most so far apart: ps, and in periods of the fastest bond, where half a period is resonance.
# docs/decisions.md has the figures.
_SLOWEST_IMPULSES, _SLOWEST_IN_PERIODS = 0.008, 0.45


def check_impulses(integrator: Integrator, system: System) -> None:
    """QuiltError if the long-range force would act so rarely that it heats the system."""
    steps, timestep = integrator.long_range_every, integrator.timestep
    fastest = fastest_vibration(system)
    limit = min(_SLOWEST_IMPULSES, _SLOWEST_IN_PERIODS * fastest.period)
    if steps > 1 and steps * timestep > limit * (1 + 1e-9):
        raise QuiltError(
            f"long_range_every: {steps} steps of {1000 * timestep:g} fs are too long between "
            f"reciprocal-space evaluations: resonance would heat the fastest vibrations of this "
            f"system; at most {1000 * limit:.3g} fs are allowed: lower long_range_every or the "
            "time step, or constrain bonds to hydrogen"
        )
