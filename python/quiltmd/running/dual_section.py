# SPDX-License-Identifier: Apache-2.0
"""Two molecules in one topology, one of which turns into the other: [alchemy.dual]."""

from __future__ import annotations

from pydantic import Field

from ..description.dual_topology import DualTopology
from .section import Section


class DualSection(Section):
    """[alchemy.dual]: both molecules are in the topology of [system]; see `DualTopology`."""

    first: str = Field(description="Selection of the molecule at lambda 0.")
    last: str = Field(description="Selection of the molecule at lambda 1.")
    unique_first: str = Field(
        default="",
        description="Selection of the atoms of `first` that vanish. The others have a copy in "
        "`last`, in the same order and at the same place.",
    )
    unique_last: str = Field(
        default="", description="Selection of the atoms of `last` that appear."
    )
    co_ion: str = Field(
        default="",
        description="If the molecules have different net charges: selection of ions whose charges "
        "change so that the net charge stays the same; empty: none.",
    )

    def build(self) -> DualTopology:
        """What the topology of [system] has twice."""
        return DualTopology(**self.model_dump())
