# SPDX-License-Identifier: Apache-2.0
"""Settings that several descriptions share: type, range and meaning of each, declared once.

Configuration files and the options of commands follow from these declarations too.
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, Field

_LONGEST_TIMESTEP = 0.05  # ps: ten times what all-atom models bear; beyond, fs were meant


def _check_timestep(value: float) -> float:
    """Refuses time steps that are meant in femtoseconds."""
    if value > _LONGEST_TIMESTEP:
        raise ValueError(
            f"time steps are in ps, and {value:g} ps are {1000 * value:,.10g} fs; did you mean "
            f"{value / 1000:g}?"
        )
    return value


Timestep = Annotated[
    float, Field(gt=0, description="Time step, ps."), AfterValidator(_check_timestep)
]
HOTTEST = 1e6  # K; beyond, velocities leave the range of the sums of kinetic energy
Temperature = Annotated[
    float,
    Field(
        ge=0, le=HOTTEST, description="Temperature of the heat bath and of generated velocities, K."
    ),
]
Friction = Annotated[float, Field(ge=0, description="Langevin friction coefficient, 1/ps.")]
Seed = Annotated[
    int | None,
    Field(
        ge=0,
        lt=2**63,
        description="Random seed for initial velocities and the thermostat; by default a new one.",
    ),
]
LongRangeEvery = Annotated[
    int, Field(ge=1, description="r-RESPA: steps between reciprocal-space (PME) evaluations.")
]
Ranks = Annotated[
    int | None,
    Field(
        ge=1,
        description="Number of workers that share the patches of the system; by default one for "
        "each GPU that the device names, else one.",
    ),
]
Threads = Annotated[
    int | None,
    Field(ge=1, description="CPU threads per rank; by default the ranks share all cores."),
]
TimeConstant = Annotated[
    float,
    Field(gt=0, description="Relaxation time of the kinetic energy (velocity rescaling), ps."),
]
ThermostatEvery = Annotated[
    int, Field(ge=1, description="Steps between actions of the thermostat (velocity rescaling).")
]

Described = TypeVar("Described")


def draw_seed() -> int:
    """A random seed; of 53 bits, which every reader of numbers keeps."""
    return secrets.randbits(53)


def with_seed(description: Described) -> Described:
    """The same description with a seed: one that has a seed but was given none gets a new one."""
    if getattr(description, "seed", 0) is not None:
        return description
    changed: Any = description
    seeded: Described = replace(changed, seed=draw_seed())
    return seeded
