# SPDX-License-Identifier: Apache-2.0
"""Plans of steps on any number of ranks, as the core makes them for runs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..description.coulomb_cutoff import with_coulomb_cutoff
from ..description.dynamics import resolve_dynamics
from ..description.integrators import Integrator
from ..description.nonbonded import Nonbonded
from ..description.permittivity import without_permittivity
from ..description.state import State
from ..description.system import System
from ..engine.core import load_core
from ..engine.execution import REACHES, Grain, PatchReach
from ..errors import QuiltError

Sharing = Literal["distributed", "pencils", "replicated"]

# Columns of what the core tells of each rank.
COLUMNS = (
    "patches",
    "proxies",
    "computes",
    "interior_computes",
    "atoms",
    "proxy_atoms",
    "interior_pairs",
    "boundary_pairs",
    "interior_coulomb",
    "boundary_coulomb",
    "planes",
    "lines",
    "mesh_row",
    "upper_points",
)

OF_REBUILD = ("migrants", "proxies", "agreement")  # messages


@dataclass(frozen=True)
class Shape:
    """Shape of the network between ranks, for their assignment.

    Attributes
    ----------
    of_node:
        Ranks of a node, which reach each other directly.
    torus:
        Nodes in three dimensions, the last one fastest; (0, 0, 0): a row.
    """

    of_node: int = 1
    torus: tuple[int, int, int] = (0, 0, 0)


@dataclass(frozen=True)
class Plan:
    """A step on a number of ranks.

    Attributes
    ----------
    ranks:
        By name of `COLUMNS` an array over ranks; "plane_points" and "line_points" of the PME grid
        that each transforms, or "plane_points" of the first level of the fast multipole method;
        and what stencils have to do there ("stencil_terms") and on the other levels
        ("level_terms"), points times points of the stencil: on CPUs what the planes of the rank
        need, on GPUs all (`on_gpus`).
    owners:
        Rank of each patch, x slowest and z fastest.
    sharing, method:
        Sharing and method of the long-range sum; without effect in a system without it.
    messages:
        By what they carry ("positions") an array (n, 3): sender, receiver, bytes.  Spectra of
        pencils travel as "rows" between transforms along z and y, as "spectrum" to lines along x.
    agreement_rounds:
        Of each message of "agreement" its round: it waits for those of earlier rounds.
    """

    ranks: dict[str, NDArray[np.float64]]
    owners: NDArray[np.int32]
    sharing: Sharing
    method: Literal["pme", "fmm"]
    messages: dict[str, NDArray[np.int64]]
    agreement_rounds: NDArray[np.int64]

    def on_gpus(self) -> Plan:
        """The same, where each rank evaluates all levels but the first."""
        return replace(self, ranks={**self.ranks, "level_terms": self.ranks["all_level_terms"]})

    @property
    def count(self) -> int:
        """Number of ranks."""
        return len(self.ranks["atoms"])

    def of_step(self) -> dict[str, NDArray[np.int64]]:
        """Messages of a step, without those of a rebuild."""
        return {name: rows for name, rows in self.messages.items() if name not in OF_REBUILD}


class Planner:
    """Plans of one system.

    Parameters
    ----------
    system, state:
        As for `Simulation`; only charges of the box and positions of the state are used.
    nonbonded, integrator:
        The settings of the run.
    tile:
        Numbers of copies of the box along each axis.
    patch_reach, grain:
        As in `Execution`.
    """

    def __init__(
        self,
        system: System,
        state: State,
        nonbonded: Nonbonded,
        integrator: Integrator,
        tile: tuple[int, int, int] = (1, 1, 1),
        patch_reach: PatchReach = 1,
        grain: Grain = "patch",
    ) -> None:
        if state.box is None:
            raise QuiltError("predictions need a periodic box, and there is none: give one (box)")
        self.box: NDArray[np.float64] = state.box * np.array(tile)[:, None]
        system, nonbonded = without_permittivity(system, nonbonded)
        settings = with_coulomb_cutoff(system, nonbonded, self.box, math.prod(tile)).resolve(
            self.box
        )
        self.grid: tuple[int, int, int] = tuple(settings["pme_grid"])
        self.timestep, self.long_range_every = integrator.timestep, integrator.long_range_every
        self.has_mesh = settings["method"] in ("pme", "fmm")
        self.method: Literal["pme", "fmm"] = "fmm" if settings["method"] == "fmm" else "pme"
        self._core = load_core().Planner(
            system.arrays(),
            settings,
            resolve_dynamics(integrator, None, system=system),
            {
                "list_life": 0,
                "list_buffer": 0.0,
                "patch_reach": REACHES[patch_reach],
                "grain": grain,
            },
            state.box,
            state.positions,
            list(tile),
        )
        self.about: dict[str, Any] = self._core.describe()

    def plan(self, ranks: int, mesh: Sharing = "distributed", shape: Shape | None = None) -> Plan:
        """The step on a number of ranks, which are joined in some way."""
        shape = shape or Shape()
        found = self._core.plan(ranks, mesh, shape.of_node, shape.torus)
        columns = dict(zip(COLUMNS, found["ranks"].T, strict=True))
        rows = found["messages"]
        messages = {
            name: rows[rows[:, 0] == edge][:, 1:4]
            for edge, name in enumerate(found["edges"])
            if (rows[:, 0] == edge).any()
        }
        nx, ny, nz = self.grid
        columns["plane_points"] = columns["planes"] * ny * nz
        columns["line_points"] = columns["lines"] * nx * nz
        stencil, upper = self.about.get("stencil_points", 0), self.about.get("upper_points", 0)
        columns["stencil_terms"] = columns["plane_points"] * stencil
        columns["level_terms"] = columns["upper_points"] * stencil
        columns["all_level_terms"] = np.full(ranks, float(stencil * upper))
        for name, of_rows in (("spectrum", "rows"), ("spectrum back", "rows back")):
            if self.method == "pme" and mesh == "pencils" and name in messages:
                sent = messages[name]
                is_in_row = columns["mesh_row"][sent[:, 0]] == columns["mesh_row"][sent[:, 1]]
                messages[name], messages[of_rows] = sent[~is_in_row], sent[is_in_row]
        owners = found["owners"][:, 0]
        rounds = rows[rows[:, 0] == found["edges"].index("agreement"), 4]
        return Plan(columns, owners, mesh, self.method, messages, rounds)
