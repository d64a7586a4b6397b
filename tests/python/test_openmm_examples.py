# SPDX-License-Identifier: Apache-2.0
"""The examples of OpenMM's own documentation of its custom forces, of the kinds that Quilt has.

Source: the documentation of the classes in OpenMM's Python API (CustomBondForce and so on), and the
chapter "Writing Custom Expressions" of its user guide.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import openmm
import pytest
from openmm_reference import energy_and_forces
from test_custom_forces import BEADS, beads, state_of

import quiltmd
from quiltmd import Simulation, System


def of(kind: str, energy: str, per: dict[str, float], shared: dict[str, float], *atoms: Any) -> Any:
    """A force with one term, or with one particle for each of 16 atoms."""
    made: Any = getattr(openmm, kind)
    several = kind in ("CustomCompoundBondForce", "CustomCentroidBondForce")
    force = made(len(atoms), energy) if several else made(energy)
    noun = {"External": "Particle", "Nonbonded": "Particle", "Angle": "Angle", "Torsion": "Torsion"}
    one = noun.get(kind.removeprefix("Custom").removesuffix("Force"), "Bond")
    for name, value in shared.items():
        force.addGlobalParameter(name, value)
    for name in per:
        getattr(force, f"addPer{one}Parameter")(name)
    if kind == "CustomNonbondedForce":
        for k in range(16):
            force.addParticle([value * (1 + 0.01 * k) for value in per.values()])
        force.setNonbondedMethod(force.CutoffPeriodic)
        force.setCutoffDistance(0.9)
        return force
    if kind == "CustomCentroidBondForce":
        for members in atoms:
            force.addGroup(members)
        atoms = tuple(range(len(atoms)))
    row = list(per.values())
    getattr(force, f"add{one}")(*([list(atoms)] if several else atoms), row)
    if kind != "CustomExternalForce":
        force.setUsesPeriodicBoundaryConditions(True)
    return force


def of_rmsd() -> Any:
    force = openmm.CustomCVForce("0.5*k*(rmsd-0.1)^2")
    force.addGlobalParameter("k", 500.0)
    moved = BEADS + np.random.default_rng(3).normal(0, 0.05, BEADS.shape)
    force.addCollectiveVariable("rmsd", openmm.RMSDForce(moved.tolist(), [4, 5, 6, 7]))
    return force


def with_a_table() -> Any:
    force = of("CustomNonbondedForce", "fn(r)*a1*a2", {"a": 1.0}, {})
    table = 2 * np.exp(-np.linspace(0, 2, 30))
    force.addTabulatedFunction("fn", openmm.Continuous1DFunction(table.tolist(), 0.0, 2.0))
    return force


MIXED = "sigma=0.5*(sigma1+sigma2); epsilon=sqrt(epsilon1*epsilon2)"
# Lennard-Jones itself is in test_openmm_expressions.py.
SOFT = f"4*epsilon*l*(1/x^2-1/x); x=alpha*(1-l)^2+(r/sigma)^6; {MIXED}"
SIZES = {"sigma": 0.05, "epsilon": 0.5}
DIHEDRAL = "0.5*k*min(dtheta, 2*pi-dtheta)^2; dtheta=abs(theta-theta0); pi=3.1415926535"
EXAMPLES = {
    "bond": lambda: of("CustomBondForce", "k*(r-r0)^4", {"k": 9e3, "r0": 0.1}, {}, 0, 1),
    "angle": lambda: of(
        "CustomAngleForce", "0.5*k*(theta-theta0)^2", {"k": 90.0}, {"theta0": 1.5}, 0, 1, 2
    ),
    "torsion": lambda: of(
        "CustomTorsionForce",
        "0.5*k*(1-cos(theta-theta0))",
        {"k": 90.0, "theta0": 1.0},
        {},
        *range(4),
    ),
    "dihedral restraint": lambda: of(
        "CustomTorsionForce", DIHEDRAL, {"theta0": -3.0}, {"k": 100.0}, *range(4)
    ),
    "position restraint": lambda: of(
        "CustomExternalForce",
        "k*periodicdistance(x, y, z, x0, y0, z0)^2",
        {"x0": 0.1, "y0": 0.2, "z0": 3.0},
        {"k": 500.0},
        3,
    ),
    "harmonic well": lambda: of(
        "CustomExternalForce",
        "k*((x-x0)^2+(y-y0)^2+(z-z0)^2)",
        {"x0": 0, "y0": 0.2, "z0": 3},
        {"k": 5},
        3,
    ),
    "sphere": lambda: of(
        "CustomExternalForce", "100*max(0, r-0.2)^2; r=sqrt(x*x+(y-1)^2+(z-3)^2)", {}, {}, 7
    ),
    "compound": lambda: of(
        "CustomCompoundBondForce",
        "0.5*(kangle*(angle(p1,p2,p3)-theta0)^2+kbond*(distance(p1,p3)-r0)^2)",
        {"kangle": 50.0, "theta0": 1.0, "kbond": 900.0, "r0": 0.2},
        {},
        0,
        1,
        2,
    ),
    "centroid": lambda: of(
        "CustomCentroidBondForce",
        "0.5*k*distance(g1,g2)^2",
        {"k": 90.0},
        {},
        [0, 1, 2],
        [4, 5, 6, 7],
    ),
    "RMSD": of_rmsd,
    "soft core": lambda: of("CustomNonbondedForce", SOFT, SIZES, {"l": 0.4, "alpha": 0.5}),
    "table": with_a_table,
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_energies_and_forces_are_those_of_openmm(name: str) -> None:
    original = beads(EXAMPLES[name]())
    energy, forces = energy_and_forces(original, BEADS)
    system = System.from_openmm(original)
    simulation = Simulation(system, state_of(BEADS), device="cpu", threads=1)
    size = np.abs(forces).max()
    assert simulation.energies()["potential"] == pytest.approx(energy, rel=1e-6)
    assert simulation.forces() == pytest.approx(forces, abs=2e-6 * size)
    energies, ours = quiltmd.reference(system, state_of(BEADS))
    assert energies["potential"] == pytest.approx(energy, rel=1e-6)
    assert ours == pytest.approx(forces, abs=2e-6 * size)
