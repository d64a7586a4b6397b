# SPDX-License-Identifier: Apache-2.0
"""A configuration as its run begins: choices that were left to the program are stated in it.

A run that is resumed keeps these choices, also where another version, box or seed would lead to
others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..description.constant_pressure import with_interval
from ..description.coulomb_cutoff import with_coulomb_cutoff
from ..description.nonbonded import Nonbonded
from ..description.settings import draw_seed
from ..description.system import System
from .config import AnyConfig, Config


def state_coulomb_cutoff(
    config: AnyConfig, system: System, box: NDArray[np.float64] | None
) -> AnyConfig:
    """A copy that states the Coulomb cutoff of PME, where it is left open."""
    chosen = with_coulomb_cutoff(system, config.nonbonded, box)
    if chosen.method == "pme" and chosen.coulomb_cutoff is None:
        chosen = replace(chosen, coulomb_cutoff=chosen.cutoff)
    return config if chosen is config.nonbonded else config.model_copy(update={"nonbonded": chosen})


def state_mesh(config: Config, box: NDArray[np.float64] | None) -> Config:
    """A copy that states what is chosen for a box (3, 3), nm, where a barostat will change it.

    A run that is resumed goes on with the Ewald split and the grid with which it began.
    """
    if config.integrator.ensemble != "npt" or config.nonbonded.method not in ("pme", "fmm"):
        return config
    chosen = config.nonbonded.resolve(box)
    if config.nonbonded.method == "fmm":
        stated = replace(
            config.nonbonded,
            fmm_tolerance=Nonbonded.fmm_tolerance,
            fmm_order=chosen["pme_order"],
            fmm_bandwidth=chosen["pme_bandwidth"],
            fmm_grid=tuple(chosen["pme_grid"]),
            fmm_box=tuple(chosen["stencil_box"]),
        )
        return config.model_copy(update={"nonbonded": stated})
    stated = replace(
        config.nonbonded,
        pme_order=chosen["pme_order"],
        pme_tolerance=Nonbonded.pme_tolerance,
        pme_split=None,
        coulomb_cutoff=config.nonbonded.coulomb_cutoff,
        pme_alpha=chosen["pme_alpha"] or None,
        pme_bandwidth=chosen["pme_bandwidth"] or None,
        pme_grid=tuple(chosen["pme_grid"]),
        pme_window=chosen["pme_window"] or None,
    )
    if stated.lennard_jones == "pme":
        stated = replace(
            stated,
            lj_pme_tolerance=Nonbonded.lj_pme_tolerance,
            lj_pme_alpha=chosen["lj_pme_alpha"],
            lj_pme_grid=tuple(chosen["lj_pme_grid"]),
        )
    return config.model_copy(update={"nonbonded": stated})


def as_begun(config: AnyConfig, physics: dict[str, Any]) -> AnyConfig:
    """A copy for resuming a run that had this `physics` when it began.

    Versions without a bandwidth had the Gaussian split, and order 4 in smaller boxes only;
    those without a window had B-splines, those without a Coulomb cutoff that of Lennard-Jones.
    """
    begun = config.nonbonded
    if begun.method != "pme":
        return config
    if begun.coulomb_cutoff is None:
        charges = physics.get("nonbonded.coulomb_cutoff", begun.cutoff)
        begun = replace(begun, coulomb_cutoff=charges)
    if begun.pme_grid is None and "nonbonded.pme_window" not in physics:
        begun = _with_older_mesh(begun, physics)
    return config.model_copy(update={"nonbonded": begun})


def state_interval(config: Config) -> Config:
    """A copy that states how many steps apart a barostat acts, where that was left open."""
    barostat = with_interval(config.barostat.build(config.integrator), config.make_integrator())
    if barostat is None:
        return config
    stated = config.barostat.model_copy(update={"every": barostat.every})
    return config.model_copy(update={"barostat": stated})


def state_seed(config: Config) -> Config:
    """A copy with a seed: where there was none, one is drawn."""
    if config.integrator.seed is not None:
        return config
    integrator = config.integrator.model_copy(update={"seed": draw_seed()})
    return config.model_copy(update={"integrator": integrator})


def _with_older_mesh(nonbonded: Nonbonded, physics: dict[str, Any]) -> Nonbonded:
    """The settings, with the mesh that versions without windows had for a tolerance."""
    if "nonbonded.pme_bandwidth" in physics:
        splines = None if nonbonded.pme_split == "gaussian" else 0.0
        return replace(nonbonded, pme_window=splines)
    split = nonbonded.pme_split or "gaussian"
    order = nonbonded.pme_order or physics.get("nonbonded.pme_order")
    return replace(nonbonded, pme_split=split, pme_order=order)
