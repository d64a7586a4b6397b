# SPDX-License-Identifier: Apache-2.0
"""Metadynamics on one or two collective variables: settings, and the grid of the bias.

Laio and Parrinello, Proc. Natl. Acad. Sci. 99, 12562 (2002); well-tempered: Barducci, Bussi and
Parrinello, Phys. Rev. Lett. 100, 020603 (2008).
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from ..errors import QuiltError
from .checks import LAST_STEP, user_settings
from .collective import CollectiveRestraint, VariableValue
from .units import Unit

F64 = npt.NDArray[np.float64]

_POINTS_OF_WIDTH = 5  # of the grid in the width of a hill
_MOST_POINTS = 4_000_000


@user_settings
@dataclass(frozen=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class Metadynamics:
    """Metadynamics: Gaussian hills are added to the energy at visited values of variables.

    Attributes
    ----------
    variables:
        Names of one or two restraints between groups; their `k` may be 0.
    width:
        Standard deviation of the hills along each variable: nm, degrees or contacts.
    height:
        Height of the first hills, where there is no bias yet, kJ/mol.
    bias_factor:
        Well-tempered metadynamics: the height of a hill is multiplied by exp(-V/(kT (bias_factor -
        1))), where V is the bias at its place.  None: all hills have the same height.
    every:
        Steps between hills.
    range:
        For each variable the smallest and the largest value of the grid; None, or an entry of
        None, for angles and torsions, whose grid covers all values.  Beyond the grid the bias is
        constant.
    """

    variables: tuple[str, ...] = Field(
        min_length=1, max_length=2, description="Names of one or two restraints between groups."
    )
    width: tuple[VariableValue, ...] = Field(
        description="Standard deviation of hills for each variable, nm, degrees or contacts."
    )
    height: Annotated[float, Unit("kJ/mol")] = Field(
        gt=0, le=1000, description="Height of the first hills, where there is no bias yet, kJ/mol."
    )
    bias_factor: float | None = Field(
        default=None, gt=1, le=1000, description="Of well-tempered metadynamics; none: plain."
    )
    every: int = Field(default=500, ge=4, le=LAST_STEP, description="Steps between hills.")
    range: tuple[tuple[VariableValue, VariableValue] | tuple[()], ...] | None = Field(
        default=None,
        description="Least and largest value of the grid for each variable; an empty one, or none, "
        "for all angles.",
    )

    def __post_init__(self) -> None:
        if len(set(self.variables)) < len(self.variables):
            raise ValueError("variables: name two different restraints")
        for key in ("width", "range"):
            value = getattr(self, key)
            if value is not None and len(value) != len(self.variables):
                raise ValueError(f"{key}: give one for each variable")
        if min(self.width) <= 0:
            raise ValueError("width: must be positive")

    def axes(self, system: Any) -> F64:
        """(n, 5): restraint, points, first value, spacing and periodicity of each axis of the grid.

        Values are in nm, rad or contacts.

        Raises
        ------
        QuiltError
            If there is no restraint of that name, or a variable that is no angle has no range.
        """
        if system.collective is None:
            raise QuiltError(
                "metadynamics needs restraints between groups, which define its variables"
            )
        restraints = system.collective.restraints
        named = [system.collective.named(name) for name in self.variables]
        axes = [
            [float(restraints.index(one)), *self._axis(one, number)]
            for number, one in enumerate(named)
        ]
        if math.prod(points for _, points, *_ in axes) > _MOST_POINTS:
            raise QuiltError("the grid of metadynamics has too many points: narrow the range")
        return np.array(axes)

    def _axis(self, one: CollectiveRestraint, number: int) -> list[float]:
        periodic = one.kind == "torsion"
        given = None if self.range is None else self.range[number]
        if periodic and given:
            raise QuiltError(f"range: {one.name!r} is a torsion: give an empty pair")
        ends = given or {"torsion": (-180.0, 180.0), "angle": (0.0, 180.0)}.get(one.kind)
        if ends is None:
            raise QuiltError(f"range: give the smallest and the largest value of {one.name!r}")
        least, largest = ends
        if not least < largest:
            raise QuiltError(f"range: the values of {one.name!r} must ascend")
        cells = max(2, math.ceil((largest - least) * _POINTS_OF_WIDTH / self.width[number]))
        spacing = (largest - least) / cells / one.shown
        points = cells if periodic else cells + 1
        return [float(points), least / one.shown, spacing, float(periodic)]
