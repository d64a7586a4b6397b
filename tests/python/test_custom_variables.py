# SPDX-License-Identifier: Apache-2.0
"""Forces of OpenMM of several variables that are energies of a few atoms: compounds here."""

from __future__ import annotations

from typing import Any

import numpy as np
import openmm
import pytest
from openmm_reference import energy_and_forces
from test_custom_forces import BEADS, BOX, beads, state_of

import quiltmd
from quiltmd import CustomCompound, InputError, Simulation, System
from quiltmd.openmm.write import to_openmm


def periodic(force: Any) -> Any:
    force.setUsesPeriodicBoundaryConditions(True)
    return force


def torsion(energy: str = "theta-t0") -> Any:
    force = periodic(openmm.CustomTorsionForce(energy))
    force.addPerTorsionParameter("t0")
    force.addTorsion(0, 1, 2, 3, [0.3])
    return force


def length() -> Any:
    force = periodic(openmm.CustomBondForce("r*s; s=2*scale"))
    force.addGlobalParameter("scale", 0.7)
    force.addBond(3, 0, [])
    return force


def angle() -> Any:
    """With a function of the name that another force has for another function."""
    force = periodic(openmm.CustomCompoundBondForce(3, "angle(p1,p2,p3)*f(x1+y3)"))
    force.addTabulatedFunction("f", openmm.Continuous1DFunction([1.0, -3.0, 2.0, 5.0], -1, 5))
    force.addBond([2, 0, 3], [])
    return force


def height() -> Any:
    force = openmm.CustomExternalForce("z*w")
    force.addPerParticleParameter("w")
    force.addParticle(2, [3.0])
    return force


def centroids() -> Any:
    """Between groups of one atom; not a spring."""
    force = periodic(openmm.CustomCentroidBondForce(3, "k*distance(g1,g3)*angle(g3,g2,g1)^2"))
    force.addPerBondParameter("k")
    for atom in (5, 4, 6, 7):
        force.addGroup([atom])
    force.addBond([0, 1, 2], [300.0])
    return force


def of(energy: str, *variables: Any) -> Any:
    force = openmm.CustomCVForce(energy)
    for name, one in zip("abcde", variables, strict=False):
        force.addCollectiveVariable(name, one)
    return force


def bias() -> Any:
    """Metadynamics of `openmm.app` has such a force."""
    force = of("f(a)", torsion("theta+0*t0"))
    table = openmm.Continuous1DFunction([1.0, 3.0, 2.0, 5.0, 1.0], -np.pi, np.pi, True)
    force.addTabulatedFunction("f", table)
    return force


def nested() -> Any:
    inner = of("f(a)+k*a^2", length())
    inner.addGlobalParameter("k", 40.0)
    inner.addTabulatedFunction("f", openmm.Continuous1DFunction([1.0, 3.0, 2.0, 5.0, 9.0], 0, 3))
    energy = "k*(1-cos(a-b))*b+min(a,c)*d-cos(e/90); k=3"
    return of(energy, torsion(), inner, angle(), height(), centroids())


def with_a_value_of_its_own() -> Any:
    """A global parameter of a variable, which has another value there."""
    force = of("(a-scale)^2", length())
    force.addGlobalParameter("scale", 0.9)
    return force


def several_centroids() -> Any:
    force = centroids()
    force.addBond([3, 0, 1], [50.0])
    return force


@pytest.mark.parametrize("make", [bias, nested, with_a_value_of_its_own, several_centroids])
def test_energies_and_forces_are_those_of_openmm(make: Any) -> None:
    force = make()
    force.setName("bias")
    original = beads(force)
    energy, forces = energy_and_forces(original, BEADS)
    read = System.from_openmm(
        openmm.XmlSerializer.deserialize(openmm.XmlSerializer.serialize(original))
    )
    assert read.custom is not None
    assert [type(one) for one in read.custom.terms] == [CustomCompound]
    size = np.abs(forces).max()
    for system in (read, System.from_openmm(to_openmm(read, box=BOX))):
        energies, ours = quiltmd.reference(system, state_of(BEADS))
        assert energies["potential"] == pytest.approx(energy, rel=1e-6)
        assert ours == pytest.approx(forces, abs=2e-6 * size)
    simulation = Simulation(read, state_of(BEADS), device="cpu", threads=1)
    assert simulation.energies()["bias"] == pytest.approx(energies["bias"], rel=1e-6)
    assert simulation.forces() == pytest.approx(forces, abs=2e-6 * size)


def two_terms() -> Any:
    force = length()
    force.addBond(0, 1, [])
    return force


def too_many_atoms() -> Any:
    force = periodic(openmm.CustomTorsionForce("theta"))
    force.addTorsion(4, 5, 6, 7, [])
    bond = periodic(openmm.CustomBondForce("r"))
    bond.addBond(8, 9, [])
    return of("a*b*c", torsion(), force, bond)


@pytest.mark.parametrize(
    ("force", "text"),
    [
        (of("a^2", two_terms()), "CustomBondForce is not supported, only RMSDForce"),
        (of("a*b", length(), openmm.RMSDForce(BEADS.tolist(), [0, 1])), "not supported"),
        (too_many_atoms(), "1 to 8"),
    ],
)
def test_variables_of_many_atoms_are_refused(force: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        System.from_openmm(beads(force))
