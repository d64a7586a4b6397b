# SPDX-License-Identifier: Apache-2.0
"""Settings of all restraints of a run: the section [restraints] of a configuration."""

from __future__ import annotations

from pydantic import Field, model_validator

from ..description.checks import LAST_STEP
from .annealing import StrengthPoints, check_points
from .section import Section

_STRONGEST = 1000.0  # that restraints may become, times what they are


class RestraintsSection(Section):
    """[restraints]: the strength of all restraints over time."""

    annealing: StrengthPoints | None = Field(
        default=None,
        description="Factor that scales all restraint energies, over time, linear between points "
        "of (ps, factor).",
    )
    annealing_every: int = Field(
        default=200, ge=1, le=LAST_STEP, description="Steps between changes of this factor."
    )

    @model_validator(mode="after")
    def _check(self) -> RestraintsSection:
        if self.annealing is not None:
            check_points("annealing", self.annealing, "strengths", 0, _STRONGEST)
        return self
