# SPDX-License-Identifier: Apache-2.0
"""Settings that several descriptions share: type, range and meaning of each, declared once.

Configuration files and the options of commands follow from these declarations too.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from pydantic import AfterValidator, Field

from .units import Unit

BOLTZMANN = 0.00831446261815324  # kJ/mol/K
LONGEST_INTERVAL = 2**31 - 1  # steps between what recurs; the core has them in 32 bits
MOST = 2**31 - 1  # of what is counted, such as threads; the core has it in 32 bits
_LONGEST_TIMESTEP = 0.05  # ps: ten times what all-atom models bear; beyond, fs were meant


class OnResume(Enum):
    """Treatment of a setting on resume; changes of settings without this mark are refused.

    A setting is marked where it is declared: `Annotated[int, OnResume.MAY_CHANGE]`.
    """

    MAY_CHANGE = auto()  # no influence on the trajectory, nor on which of its steps are written
    NOT_COMPARED = auto()  # cannot be given with --resume: acts at the start, or in other settings


@dataclass(frozen=True)
class Only:
    """Marks a setting that has a use where another one has this value alone.

    So it is declared: `Annotated[float, Only("method", "reaction-field")]`.
    """

    setting: str
    value: str


@dataclass(frozen=True)
class Needs:
    """Marks a setting without effect where another one is off: 0, false, "none" or not given.

    `otherwise` says what is then missing, and `remedy` what turns the other one on.
    """

    setting: str
    otherwise: str
    remedy: str


def settings_only_with(kind: Any, setting: str, value: str) -> tuple[str, ...]:
    """Settings of a class that need a value of another one, directly or by one that needs it."""
    found: list[str] = []
    for name, field in kind.__pydantic_fields__.items():  # what a setting needs comes before it
        marks = [mark for mark in field.metadata if isinstance(mark, Only)]
        if any(mark == Only(setting, value) or mark.setting in found for mark in marks):
            found.append(name)
    return tuple(found)


def _check_timestep(value: float) -> float:
    """Refuses time steps that are meant in femtoseconds."""
    if value > _LONGEST_TIMESTEP:
        meant = value / 1000  # fs where ps are wanted
        hint = f"; did you mean {meant:g}?" if meant <= _LONGEST_TIMESTEP else ""
        raise ValueError(
            f"time steps are in ps, and {value:g} ps are {1000 * value:,.10g} fs{hint}"
        )
    return value


Timestep = Annotated[
    float, Field(gt=0, description="Time step, ps."), AfterValidator(_check_timestep), Unit("ps")
]
HOTTEST = 1e6  # K; beyond, velocities leave the range of the sums of kinetic energy
Temperature = Annotated[
    float,
    Field(
        ge=0, le=HOTTEST, description="Temperature of the heat bath and of generated velocities, K."
    ),
    Unit("K"),
]
Friction = Annotated[
    float, Field(ge=0, description="Langevin friction coefficient, 1/ps."), Unit("1/ps")
]
Seed = Annotated[
    int | None,
    Field(
        ge=0,
        lt=2**63,
        description="Random seed for initial velocities, thermostat and barostat; default: a "
        "different one for each run.",
    ),
]
LongRangeEvery = Annotated[
    int,
    Field(
        ge=1,
        le=LONGEST_INTERVAL,
        description="r-RESPA: steps between reciprocal-space (PME) evaluations.",
    ),
]
Ranks = Annotated[
    int | None,
    Field(
        ge=1,
        le=MOST,
        description="Number of ranks that share the simulation; default: one for each GPU of "
        "the device, otherwise one.",
    ),
]
Threads = Annotated[
    int | None,
    Field(ge=1, le=MOST, description="CPU threads per rank; default: the ranks share all cores."),
]
TimeConstant = Annotated[
    float,
    Field(
        gt=0,
        description="Relaxation time of the kinetic energy, ps; with a Nose-Hoover chain, sets the "
        "thermostat masses; with andersen, the mean time between collisions.",
    ),
    Unit("ps"),
]
ThermostatEvery = Annotated[
    int,
    Field(
        ge=1,
        le=LONGEST_INTERVAL,
        description="Steps between thermostat actions.",
    ),
]
RemoveComEvery = Annotated[
    int | None,
    Field(
        ge=0,
        le=LONGEST_INTERVAL,
        description="Steps between removals of centre-of-mass motion; 0: never; default: 100.",
    ),
]
ChainLength = Annotated[
    int, Field(ge=1, le=32, description="Number of thermostats in a Nose-Hoover chain.")
]
HIGHEST_PRESSURE = 1e5  # bar


def _check_pressure(value: float) -> float:
    """Refuses pressures that are meant in pascals."""
    if abs(value) > HIGHEST_PRESSURE:
        raise ValueError(
            f"pressures are in bar, at most {HIGHEST_PRESSURE:g}; did you mean {value / 1e5:g}, "
            "from pascals?"
        )
    return value


Pressure = Annotated[
    float,
    Field(description="Reference pressure of the barostat, bar."),
    AfterValidator(_check_pressure),
    Unit("bar"),
]
BoxTimeConstant = Annotated[
    float, Field(gt=0, description="Relaxation time of the box, ps."), Unit("ps")
]
_Compressibility = Annotated[float, Field(ge=0, le=1), Unit("1/bar")]
Compressibility = Annotated[
    _Compressibility | tuple[_Compressibility, ...],
    Field(
        description="Isothermal compressibility, 1/bar: one value for all axes, or two (xy, z) "
        "with semi-isotropic, three (x, y, z) with anisotropic coupling.",
    ),
]
Coupling = Annotated[
    Literal["isotropic", "semi-isotropic", "anisotropic"],
    Field(
        description="Axes that the barostat scales by the same factor: isotropic (all), "
        "semi-isotropic (x and y) or anisotropic (none).",
    ),
]
SurfaceTension = Annotated[
    float,
    Field(description="Surface tension, summed over all surfaces normal to z, bar nm."),
    Unit("bar nm"),
]
BarostatEvery = Annotated[
    int, Field(ge=1, le=LONGEST_INTERVAL, description="Steps between barostat actions.")
]

Described = TypeVar("Described")
_SEED_BITS = 53


def draw_seed() -> int:
    """A random seed; of 53 bits, which every reader of numbers keeps."""
    return secrets.randbits(_SEED_BITS)


def derived_seed(seed: int, number: int) -> int:
    """A seed that follows from another and a number; different numbers have different noise."""
    raw = np.random.Philox(key=seed, counter=[number, 0, 0, 1]).random_raw()
    return int(raw) >> (64 - _SEED_BITS)


def with_seed(description: Described) -> Described:
    """The same description with a seed: one that has a seed but was given none gets a new one."""
    if getattr(description, "seed", 0) is not None:
        return description
    changed: Any = description
    seeded: Described = replace(changed, seed=draw_seed())
    return seeded
