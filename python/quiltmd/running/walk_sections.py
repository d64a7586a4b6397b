# SPDX-License-Identifier: Apache-2.0
"""Runs that change their alchemical state: [alchemy.switching] and [alchemy.expanded]."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from ..description.checks import LAST_STEP
from ..description.units import Unit
from .section import Section


class SwitchingSection(Section):
    """[alchemy.switching]: the run goes through all states in order, and the work is summed up."""

    direction: Literal["forwards", "backwards"] = Field(
        default="forwards", description="From the first state to the last, or back."
    )
    every: int = Field(default=50, ge=1, le=LAST_STEP, description="Steps in each state.")
    equilibration: int = Field(
        default=0, ge=0, le=LAST_STEP, description="Steps in the first state before switching."
    )


class ExpandedSection(Section):
    """[alchemy.expanded]: the run moves between all states at random (expanded ensemble)."""

    every: int = Field(default=100, ge=1, le=LAST_STEP, description="Steps between moves.")
    weights: tuple[Annotated[float, Unit("kJ/mol")], ...] = Field(
        default=(),
        description="Free energies of the states, kJ/mol, which make states equally likely; "
        "default: zero. Wang-Landau changes them.",
    )
    increment: float = Field(
        default=1.0,
        ge=0,
        le=100,
        description="Wang-Landau: initial change of the weight of a visited state, kT; 0: weights "
        "stay as given.",
    )
    flatness: float = Field(
        default=0.8,
        gt=0,
        lt=1,
        description="Wang-Landau: least visits of a state, relative to the mean, at which the "
        "increment is reduced.",
    )
    scale: float = Field(
        default=0.5, gt=0, lt=1, description="Wang-Landau: factor that reduces the increment."
    )
    last_increment: float = Field(
        default=1e-3, gt=0, description="Wang-Landau: below this increment, kT, weights stay fixed."
    )

    @model_validator(mode="after")
    def _has_a_use_for_its_keys(self) -> ExpandedSection:
        stated = self.model_fields_set & {"flatness", "scale", "last_increment"}
        if self.increment == 0 and stated:
            raise ValueError(f"leave out {', '.join(sorted(stated))}: increment = 0 fixes weights")
        return self
