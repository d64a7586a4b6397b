# SPDX-License-Identifier: Apache-2.0
"""Comparison of ways to share PME, patch reach, multiple time steps and placement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..engine.execution import Grain, PatchReach
from .machine import Machine
from .plan import Planner, Sharing
from .predict import MOST_REPLICATED, Prediction, predict


@dataclass(frozen=True)
class Choice:
    """One way to run; what it does not say is as in the first one."""

    name: str
    mesh: Sharing = "distributed"
    patch_reach: PatchReach = 1
    grain: Grain = "patch"
    times_less_pme: int = 1  # PME in fewer steps by this factor
    is_placed: bool = True
    most_ranks: int | None = None


CHOICES = (
    Choice("slabs"),
    Choice("pencils", mesh="pencils"),
    Choice("replicated PME", mesh="replicated", most_ranks=MOST_REPLICATED),
    Choice("half-width patches along x", patch_reach="x"),
    Choice("half-width patches along x, y", patch_reach="xy"),
    Choice("half-width patches", patch_reach=2),
    Choice("half-width patches, pencils", mesh="pencils", patch_reach=2),
    Choice("pairs of patches", grain="pair"),
    Choice("pairs of patches, pencils", mesh="pencils", grain="pair"),
    Choice("PME half as often", times_less_pme=2),
    Choice("ranks not placed", is_placed=False),
)


def compare(
    planner_of: Callable[[PatchReach, Grain, int], Planner], machine: Machine, ranks: list[int]
) -> dict[str, dict[int, Prediction]]:
    """Predictions by choice and number of ranks.

    Parameters
    ----------
    planner_of:
        The planner of a reach of patches, of a grain, and of PME in fewer steps by a factor.
    machine, ranks:
        As for `predict`.

    Raises
    ------
    QuiltError
        As `predict`.
    """
    planners: dict[tuple[PatchReach, Grain, int], Planner] = {}
    found: dict[str, dict[int, Prediction]] = {}
    for choice in CHOICES:
        key = (choice.patch_reach, choice.grain, choice.times_less_pme)
        planner = planners.get(key) or planners.setdefault(key, planner_of(*key))
        if not planner.has_mesh and (choice.mesh != "distributed" or choice.times_less_pme > 1):
            continue
        if planner.method == "fmm" and choice.mesh == "pencils":
            continue
        counts = [n for n in ranks if choice.most_ranks is None or n <= choice.most_ranks]
        rows = predict(planner, machine, counts, choice.mesh, choice.is_placed)
        found[choice.name] = {one.ranks: one for one in rows}
    return found
