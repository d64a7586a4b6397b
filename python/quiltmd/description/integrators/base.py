# SPDX-License-Identifier: Apache-2.0
"""Common base of integrators."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import ConfigDict

from ..choices import refuse_base

CONFIG = ConfigDict(extra="forbid", allow_inf_nan=False)
TIMESTEP = 0.002  # ps


class Integrator:
    """The integrator of a simulation: `LangevinMiddle` or `VelocityVerlet`.

    Each declares these settings itself, in the order in which they are given without their names.
    """

    kind: ClassVar[str]
    summary: ClassVar[str]
    is_thermostat: ClassVar[bool] = False  # by itself; else one may be given beside it

    timestep: float
    constraint_tolerance: float
    remove_com_every: int | None
    long_range_every: int

    def __init__(self) -> None:
        refuse_base(self, Integrator)

    def resolve(self) -> dict[str, Any]:
        """Settings for the core, which needs those of `CentreOfMass` besides."""
        names = ("timestep", "constraint_tolerance", "long_range_every")
        shared = {name: getattr(self, name) for name in names}
        return shared | {"kind": self.kind.replace("-", "_")}
