# SPDX-License-Identifier: Apache-2.0
"""Measured costs of the features of a run on a GPU.

Times of whole steps on one H200: switching with ApoA1 (92,224 atoms, 1.2 nm, 2 fs) and
Lennard-Jones PME with DHFR and four copies of it (23,558 and 94,232 atoms, 4 fs) in
benchmarks/notes/pairs.md, barostats with JAC (23,558 atoms, 4 fs) in benchmarks/notes/step.md.
charmm-force, gromacs-force and parameters from a table were timed before pair kernels became faster
(2026-11-25).
"""

from __future__ import annotations

from typing import Any

from ..description.system import System
from .config import Config

# Ending of Lennard-Jones interactions: per cent that a step takes longer than with a plain cutoff
# and parameters by combination rule.  First with those, None if not timed; then with a table.
_ENDS: dict[str, tuple[int | None, int]] = {
    "none": (0, 11),
    "potential": (14, 40),
    "charmm": (8, 25),
    "charmm-force": (16, 26),
    "gromacs-force": (None, 39),
}
_BAROSTATS = {"cell-rescaling": 14, "berendsen": 14, "monte-carlo": 21}  # acting every 20 steps
_EVERY = 20


def costs(config: Config, system: System, layout: dict[str, Any]) -> list[str]:
    """Features that make steps on a GPU longer, in words; `layout` is `Simulation.describe()`."""
    found = []
    if system.pair_form != "lennard-jones":
        found.append(f"pair potentials of the form {system.pair_form} (not timed)")
    else:
        switching, tabulated = config.nonbonded.switching, not layout["lorentz_berthelot"]
        names = [] if switching == "none" else [f"switching = {switching}"]
        names += ["Lennard-Jones parameters by pairs of types"] if tabulated else []
        share = _ENDS[switching][tabulated]
        if names:
            by = "(not timed)" if share is None else f"{share} %"
            found.append(f"{' with '.join(names)} {by}")
    if config.nonbonded.lennard_jones == "pme":
        found.append("Lennard-Jones PME (a second mesh) 56 to 68 %")
    every = config.barostat.every
    if config.integrator.ensemble == "npt" and every is not None:
        share = round(_BAROSTATS[config.barostat.kind] * _EVERY / every)
        found.append(f"barostat every {every} steps {share} %")
    if len(system.sites):
        found.append("virtual sites, two kernels more (not timed)")
    return found
