# SPDX-License-Identifier: Apache-2.0
"""Nonbonded settings of the NonbondedForce of an OpenMM System."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from ..description.nonbonded import Nonbonded
from ..errors import InputError, QuiltError
from . import pairs, solvent
from .values import plain, value

_METHODS = ("NoCutoff", "CutoffNonPeriodic", "CutoffPeriodic", "Ewald", "PME", "LJPME")
# A dielectric constant of which OpenMM's (e - 1) / (2 e + 1) and 3 e / (2 e + 1) are 1/2 and 3/2 in
# double precision, as for an infinite one, which makes no number there.
CONDUCTOR = 1e18
# Advice for a method that has no counterpart.
_INSTEAD = {
    "CutoffNonPeriodic": "set NoCutoff, or give it a periodic box and set PME or CutoffPeriodic",
}


def nonbonded_from_openmm(openmm_system: Any) -> Nonbonded:
    """Nonbonded settings from an OpenMM System's NonbondedForce.

    `System.from_openmm` keeps the same in `System.nonbonded`, which is what a
    `Simulation` uses where it is given nothing else; this function is for
    those who want to change single values of it.

    Parameters
    ----------
    openmm_system:
        An `openmm.System` with one NonbondedForce.

    Returns
    -------
    Cutoff, switching function, tail correction and error tolerance as in the force; the Ewald
    parameter and grid where `setPMEParameters` states them. The method Ewald becomes PME of the
    same tolerance, CutoffPeriodic a reaction field that excluded pairs do not feel, NoCutoff all
    pairs of atoms, and CutoffNonPeriodic beside implicit solvent, if its reaction field has the
    dielectric constant 1, the method "cutoff". LJPME becomes PME with `lennard_jones="pme"`: its
    Ewald parameter and grid are those of `setLJPMEParameters`, else they follow from
    `lj_pme_tolerance`, which leaves out less than OpenMM's choice; the switching function and the
    tail correction are left out, as in OpenMM.

    Raises
    ------
    InputError
        If the force does what has no counterpart here: a reaction field without a periodic box
        (other CutoffNonPeriodic).
    """
    forces = forces_of(openmm_system)
    force, method = nonbonded_force(forces), method_of(forces)
    if method == "NoCutoff":
        return Nonbonded(method="no-cutoff")
    if method == "CutoffNonPeriodic" and _is_truncated(openmm_system, force):
        return _settings_of(force, method="cutoff")
    if method == "CutoffPeriodic":
        return _settings_of(
            force,
            method="reaction-field",
            dielectric=_dielectric(force),
            reaction_field_on_exclusions=False,
            dispersion_correction=bool(force.getUseDispersionCorrection()),
        )
    if method in _INSTEAD:
        raise InputError(
            f"NonbondedForce: the method {method} is not supported; {_INSTEAD[method]} (from "
            "Python, System.from_openmm takes other settings as nonbonded=)"
        )
    alpha, grid = None, None
    if method != "Ewald":
        alpha, grid = _stated_mesh(force.getPMEParameters())
    lj: dict[str, Any] = {}
    if method == "LJPME":
        lj_alpha, lj_grid = _stated_mesh(force.getLJPMEParameters())
        lj = {"lennard_jones": "pme", "lj_pme_alpha": lj_alpha, "lj_pme_grid": lj_grid}
    stated = [one for one in (grid, lj.get("lj_pme_grid")) if one is not None]
    return _settings_of(
        force,
        dispersion_correction=bool(force.getUseDispersionCorrection()) and method != "LJPME",
        pme_order=5 if stated else None,  # as OpenMM, of whose splines these are
        pme_tolerance=Nonbonded.pme_tolerance if grid else force.getEwaldErrorTolerance(),
        pme_alpha=alpha,
        pme_grid=grid,
        **lj,
    )


def _stated_mesh(parameters: Any) -> tuple[float | None, tuple[int, int, int] | None]:
    """Ewald parameter (1/nm) and grid of a mesh; an alpha of 0 leaves both open."""
    alpha, *grid = (value(parameter) for parameter in parameters)
    if alpha <= 0:
        return None, None
    return alpha, (int(grid[0]), int(grid[1]), int(grid[2]))


def _dielectric(force: Any) -> float:
    """Dielectric constant beyond the cutoff; 0, infinite in Quilt, is also 0 in OpenMM."""
    found = float(force.getReactionFieldDielectric())
    if not 1 <= found < math.inf:
        raise InputError(
            f"NonbondedForce: the dielectric constant of a medium is finite and at least 1, not "
            f"{found:g}: set another one by setReactionFieldDielectric, for a conductor "
            f"{CONDUCTOR:g}"
        )
    return 0.0 if found >= CONDUCTOR else found


def _is_truncated(openmm_system: Any, force: Any) -> bool:
    """Whether charges end at the cutoff as ours in implicit solvent, without a reaction field."""
    solvents = solvent.FORCES
    in_solvent = any(type(other).__name__ in solvents for other in openmm_system.getForces())
    return in_solvent and force.getReactionFieldDielectric() == 1


def _settings_of(force: Any, **others: Any) -> Nonbonded:
    """Settings with the cutoff and the switching function of a force."""
    switched = force.getUseSwitchingFunction() and "lennard_jones" not in others
    try:
        return Nonbonded(
            cutoff=value(force.getCutoffDistance()),
            switching="potential" if switched else "none",
            switch_distance=value(force.getSwitchingDistance()) if switched else None,
            **others,
        )
    except QuiltError as error:
        raise InputError(f"NonbondedForce: {error}") from None


def method_of(forces: list[Any]) -> str:
    """The method of the NonbondedForce: "PME"."""
    return _METHODS[nonbonded_force(forces).getNonbondedMethod()]


def forces_of(openmm_system: Any) -> list[Any]:
    """The forces, with a NonbondedForce that does nothing where there is none.

    Its method is NoCutoff, in a periodic system a cutoff as long as that of custom pairs.
    """
    forces = list(openmm_system.getForces())
    if any(type(force).__name__ == "NonbondedForce" for force in forces):
        return forces
    pairs_of = [force for force in forces if type(force).__name__ == pairs.PAIRS]
    made = sys.modules[type(openmm_system).__module__].NonbondedForce()
    for _ in range(openmm_system.getNumParticles()):
        made.addParticle(0, 1, 0)
    for force in pairs_of[:1]:
        for k in range(force.getNumExclusions()):
            made.addException(*force.getExclusionParticles(k), 0, 1, 0)
    made.setExceptionsUsePeriodicBoundaryConditions(openmm_system.usesPeriodicBoundaryConditions())
    if openmm_system.usesPeriodicBoundaryConditions():
        made.setNonbondedMethod(made.CutoffPeriodic)
        made.setUseDispersionCorrection(False)
        box = plain(openmm_system.getDefaultPeriodicBoxVectors())
        cutoffs = [value(force.getCutoffDistance()) for force in pairs_of]
        made.setCutoffDistance(max(cutoffs, default=min(1.0, 0.4 * float(np.diag(box).min()))))
    return [*forces, made]


def nonbonded_force(forces: list[Any]) -> Any:
    """The only NonbondedForce; InputError if there is none, or another."""
    found = [force for force in forces if type(force).__name__ == "NonbondedForce"]
    if len(found) != 1:
        raise InputError(f"the OpenMM system must have one NonbondedForce, not {len(found)}")
    return found[0]
