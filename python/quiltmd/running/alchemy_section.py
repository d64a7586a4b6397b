# SPDX-License-Identifier: Apache-2.0
"""Atoms that vanish: the section [alchemy] of a configuration."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from ..description.alchemy import COULOMB, VDW, Alchemy, Intramolecular
from ..description.checks import LAST_STEP
from ..description.decoupling import decouple
from ..description.system import System
from ..description.units import Nanometres
from .section import Section

_Lambdas = tuple[Annotated[float, Field(ge=0, le=1)], ...]


class AlchemySection(Section):
    """[alchemy]: atoms whose nonbonded interactions vanish with lambda; see `decouple`.

    A run is of one state of the schedule, and writes the energies of all.
    """

    atoms: str = Field(description="Selection of the atoms that vanish, such as 'resname LIG'.")
    state: int = Field(default=0, ge=0, description="State of the schedule that is run, from 0.")
    coulomb: _Lambdas = Field(
        default=COULOMB, description="Lambda of charges in each state: 0 full, 1 none."
    )
    vdw: _Lambdas = Field(
        default=VDW, description="Lambda of van der Waals interactions in each state."
    )
    intramolecular: Intramolecular = Field(
        default="keep",
        description="Interactions of these atoms with each other: keep, or scale like the rest.",
    )
    alpha: float = Field(default=Alchemy.alpha, description="Of the soft core.")
    least_sigma: Nanometres = Field(
        default=Alchemy.least_sigma,
        description="Sigma of the soft core for pairs whose own is smaller, nm.",
    )
    every: int = Field(
        default=500, ge=1, le=LAST_STEP, description="Steps between rows of dhdl.csv and dhdl.xvg."
    )

    @model_validator(mode="after")
    def _has_both_lambdas_of_each_state(self) -> AlchemySection:
        if len(self.coulomb) != len(self.vdw):
            raise ValueError(
                f"there are {len(self.coulomb)} lambdas in coulomb and {len(self.vdw)} in vdw: "
                "each state has one of both"
            )
        return self

    def apply(self, system: System) -> System:
        """The system with these atoms."""
        settings: dict[str, Any] = self.model_dump(exclude={"atoms", "every"})
        return decouple(system, self.atoms, **settings)
