# SPDX-License-Identifier: Apache-2.0
"""The Coulomb cutoff of a system whose settings leave it open.

With PME it is a matter of speed: a shorter one saves pairs of atoms without Lennard-Jones
interactions and needs a finer grid.  The choice decides the bits of a trajectory, so it follows
from the system and its settings alone, by a rule that was fitted to measured times.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .nonbonded import Nonbonded
from .system import System

_PART = 7 / 9  # of the cutoff, where a shorter one pays
# An H200 takes 3 % longer with 47,000 atoms, and 5 % less time with 94,000.
_LEAST_ATOMS = 80_000
_LARGEST_SHARE = 0.5  # of atoms with Lennard-Jones interactions; a third in water
# Pairs that take as long as one grid point: H200, 1.06 million atoms.
_PAIRS_OF_A_POINT = 20.0


def with_coulomb_cutoff(
    system: System, nonbonded: Nonbonded, box: NDArray[np.float64] | None, copies: int = 1
) -> Nonbonded:
    """The same settings, with a Coulomb cutoff where they leave it open and a shorter one pays.

    One cutoff stays where a grid is stated, with a Gaussian split, B-splines or order 4, with
    switching or Lennard-Jones PME, with alchemical atoms or custom forces, for pair forms other
    than Lennard-Jones, and where the inputs of the system state settings of their own.

    Parameters
    ----------
    system, nonbonded:
        The system and its settings.
    box:
        (3, 3) nm, or None.
    copies:
        Number of copies of the system in the box.
    """
    atoms = copies * system.atoms
    if box is None or not _is_open(system, nonbonded) or atoms < _LEAST_ATOMS:
        return nonbonded
    share = _share_of_lennard_jones(system)
    shorter = replace(nonbonded, coulomb_cutoff=round(_PART * nonbonded.cutoff, 2))
    if share > _LARGEST_SHARE or nonbonded.resolve(box)["pme_order"] != 5:
        return nonbonded
    saved = _pairs(atoms, box, nonbonded, share) - _pairs(atoms, box, shorter, share)
    points, more = (math.prod(one.resolve(box)["pme_grid"]) for one in (nonbonded, shorter))
    return shorter if saved > _PAIRS_OF_A_POINT * (more - points) else nonbonded


def _is_open(system: System, nonbonded: Nonbonded) -> bool:
    return (
        nonbonded.coulomb_cutoff is None
        and nonbonded.method == "pme"
        and nonbonded.pme_grid is None
        and nonbonded.pme_split != "gaussian"
        and nonbonded.pme_window is None
        and nonbonded.lennard_jones == "cutoff"
        and nonbonded.switching == "none"
        and system.pair_form == "lennard-jones"
        and system.alchemy is None
        and system.custom is None
        and system.nonbonded is None
    )


def _share_of_lennard_jones(system: System) -> float:
    """Fraction of the atoms that have Lennard-Jones interactions."""
    interacts = (np.asarray(system.lj_a) != 0) | (np.asarray(system.lj_b) != 0)
    return float(interacts.any(axis=1)[system.lj_types].mean())


def _pairs(atoms: int, box: NDArray[np.float64], nonbonded: Nonbonded, share: float) -> float:
    """Pairs within the cutoffs; those that charges do not reach are half a pair each."""
    charges = nonbonded.coulomb_cutoff or nonbonded.cutoff
    apart = 0.5 * share**2 * (nonbonded.cutoff**3 - charges**3)
    density = atoms / abs(float(np.linalg.det(box)))
    return 0.5 * atoms * density * 4 / 3 * math.pi * (charges**3 + apart)
