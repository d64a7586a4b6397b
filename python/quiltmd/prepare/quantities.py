# SPDX-License-Identifier: Apache-2.0
"""Numbers that a preparation takes: unit and limits of each, for Python and for the command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from pydantic import AfterValidator, Field

from ..description.settings import Pressure as Pressure
from ..description.units import Unit


def _at_most(largest: float, unit: str, other: str) -> Callable[[float], float]:
    """Refuses values that are meant in another unit."""

    def check(value: float) -> float:
        if value > largest:
            raise ValueError(
                f"must be at most {largest:g} {unit}; did you mean '{value:g} {other}'?"
            )
        return value

    return check


Padding = Annotated[float, Field(gt=0), AfterValidator(_at_most(6, "nm", "A")), Unit("nm")]
Height = Annotated[float, Unit("nm")]
# Salts of sodium and potassium dissolve to about 5 mol/l.
Concentration = Annotated[
    float, Field(ge=0), AfterValidator(_at_most(5, "mol/l", "mM")), Unit("mol/l")
]
Temperature = Annotated[float, Field(gt=0, le=1000), Unit("K")]
Nanoseconds = Annotated[float, Field(gt=0, le=1e6), Unit("ns")]
Ph = Annotated[float, Field(ge=0, le=14)]
Seed = Annotated[int, Field(ge=0, lt=2**31)]  # as OpenMM takes them
LoopLength = Annotated[int, Field(ge=0)]  # residues
ModelNumber = Annotated[int, Field(ge=1)]
