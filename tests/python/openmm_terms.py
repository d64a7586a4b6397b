# SPDX-License-Identifier: Apache-2.0
"""Energies of an OpenMM System by kinds of forces, and forces, beside those of Quilt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import openmm
from openmm import unit

import quiltmd
from quiltmd import Nonbonded, State, System

# Kinds of terms, and the forces of OpenMM that have them; all others are nonbonded interactions.
KINDS = {
    "HarmonicBondForce": "bond",
    "HarmonicAngleForce": "angle",
    "PeriodicTorsionForce": "torsion",
    "RBTorsionForce": "torsion",
    "CustomTorsionForce": "torsion",
    "CMAPTorsionForce": "cmap",
}
NONBONDED = "nonbonded"
# Those of Quilt that are not of the kind that has their name.
OURS = {"urey_bradley": "bond", "ryckaert_bellemans": "torsion", "improper": "torsion"}
SUMS = ("nonbonded", "potential", "kinetic", "total", "heat", "conserved")
UNITS = unit.md_unit_system


@dataclass(frozen=True)
class Difference:
    """The largest difference of a kind of terms and that of forces.

    Energies are relative to what is added up in them or to 1 kJ/mol, forces to their root mean
    square.
    """

    atoms: int
    kind: str
    energy: float
    forces: float

    def __str__(self) -> str:
        return f"{self.atoms} | {self.energy:.0e} ({self.kind}) | {self.forces:.0e}"


def openmm_terms(system: Any, positions: Any) -> tuple[dict[str, float], np.ndarray]:
    """Energies by kind, kJ/mol, and forces, kJ/mol/nm, of OpenMM's Reference platform."""
    kinds = ["bond", "angle", "torsion", "cmap", NONBONDED]
    for force in system.getForces():
        force.setForceGroup(kinds.index(KINDS.get(type(force).__name__, NONBONDED)))
    platform = openmm.Platform.getPlatformByName("Reference")
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), platform)
    context.setPositions(positions)
    context.computeVirtualSites()
    energies = {
        kind: context.getState(getEnergy=True, groups={k}).getPotentialEnergy()
        for k, kind in enumerate(kinds)
    }
    forces = context.getState(getForces=True).getForces(asNumpy=True)
    return {kind: one.value_in_unit_system(UNITS) for kind, one in energies.items()}, np.asarray(
        forces.value_in_unit_system(UNITS)
    )


def quilt_terms(
    system: System, state: State, nonbonded: Nonbonded | None = None
) -> tuple[dict[str, list[float]], np.ndarray]:
    """The same of Quilt's loops in double precision, each kind in its parts."""
    energies, forces = quiltmd.reference(system, state, nonbonded)
    found: dict[str, list[float]] = {kind: [] for kind in (*KINDS.values(), NONBONDED)}
    for name, value in energies.items():
        if name not in SUMS:
            kind = OURS.get(name, name)
            found[kind if kind in found else NONBONDED].append(value)
    return found, forces


def compare(openmm_system: Any, topology: Any, positions: Any) -> Difference:
    """What Quilt finds for an OpenMM System, beside OpenMM."""
    places = np.array(positions.value_in_unit(unit.nanometer)).reshape(-1, 3)
    vectors = topology.getPeriodicBoxVectors()
    box = None if vectors is None else np.array(vectors.value_in_unit(unit.nanometer))
    system = System.from_openmm(openmm_system, topology)
    ours = quilt_terms(system, State.start(system, places, box))
    return difference(ours, openmm_terms(openmm_system, positions), system.masses > 0)


def difference(
    ours: tuple[dict[str, list[float]], np.ndarray],
    theirs: tuple[dict[str, float], np.ndarray],
    massive: np.ndarray,
) -> Difference:
    """Of two results; forces on virtual sites are spread over their parents in both."""
    off = {
        kind: abs(sum(ours[0][kind]) - value) / max(1.0, sum(map(abs, ours[0][kind])))
        for kind, value in theirs[0].items()
    }
    worst = max(off, key=lambda kind: off[kind])
    expected = theirs[1][massive]
    forces = np.linalg.norm(ours[1][massive] - expected) / (np.linalg.norm(expected) or 1)
    return Difference(len(massive), worst, off[worst], float(forces))
