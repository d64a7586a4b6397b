# SPDX-License-Identifier: Apache-2.0
"""Forces that do not add up to zero: the motion of the centre of mass is not removed along them."""

from __future__ import annotations

from typing import Any

import numpy as np
import openmm
import pytest

import quiltmd
from quiltmd import (
    CustomAngle,
    CustomCompound,
    CustomExternal,
    CustomPairs,
    LangevinMiddle,
    Nonbonded,
    Restraint,
    Simulation,
    State,
    System,
    Tabulated,
    VelocityVerlet,
    add_forces,
    restrain,
)
from quiltmd.description.centre_of_mass import centre_of_mass, centre_of_mass_oddities
from quiltmd.description.term_forms import TERM_FORMS

pytestmark = pytest.mark.filterwarnings("ignore:there is no periodic box:quiltmd.QuiltWarning")
ATOMS = 6
DUST = System.of(np.full(ATOMS, 30.0))
BOX = np.array([[4.0, 0, 0], [0.5, 4.0, 0], [0.3, -0.4, 4.0]])
PLACES = np.random.default_rng(3).uniform(0.6, 1.4, (ATOMS, 3))
STATE = State(PLACES, np.zeros_like(PLACES), BOX)
PLAIN = Nonbonded(method="cutoff", cutoff=0.9, dispersion_correction=False)
ALL = np.arange(ATOMS)
TRIPLES = ALL.reshape(2, 3)
TABLE = {"f": Tabulated([0.0, 1.0, 3.0, 2.0], [(0.0, 2.0)])}
NONE = {"a": np.zeros(ATOMS), "b": np.arange(6.0)}


def external(energy: str, parameters: Any = None, **others: Any) -> CustomExternal:
    return CustomExternal(energy, ALL, parameters or {}, **others)


def compound(energy: str) -> CustomCompound:
    return CustomCompound(energy, TRIPLES, {"k": 20.0})


# Forces, and the axes along which they do not add up to zero.
FORCES = {
    "wall": (external("k*max(0,abs(z)-0.7)^2", {"k": 50.0}), "z"),
    "plane": (external("3*(x+2*y)^3"), "xy"),
    "tabulated": (external("f(y)", functions=TABLE), "y"),
    "branch": (external("select(step(z-1),x^2,y)"), "xy"),
    "steps": (external("step(x)+floor(7*y)+delta(z)"), ""),
    "nothing": (external("a*x^2+b*y^2", NONE), "y"),
    "image": (external("periodicdistance(x,y,z,1,2,3)^3"), "xyz"),
    "line": (external("periodicdistance(x,y,z,1,2,z)^3"), "xy"),
    "distance": (compound("k*distance(p1,p2)*angle(p1,p2,p3)"), ""),
    "differences": (compound("k*(x1-x2)^2+sin(z1-(z2+z3)/2)*(y3-y1)"), ""),
    "height": (compound("k*distance(p1,p2)*(z1-z2)^2+x3^2"), "x"),
    "ratio": (compound("(x1-x2)^2/(1+y1^2)"), "y"),
    "angle": (CustomAngle("theta^3", TRIPLES), ""),
    "pairs": (CustomPairs("5*exp(-r)", cutoff=0.8), ""),
}


@pytest.mark.parametrize("name", FORCES)
def test_axes_are_those_along_which_forces_do_not_add_up(name: str) -> None:
    force, held = FORCES[name]
    run = Simulation(add_forces(DUST, force), STATE, PLAIN, device="cpu", threads=1)
    forces = run.forces()
    net = np.abs(forces.sum(axis=0)) > 1e-6 * max(1.0, np.abs(forces).max())
    assert "".join(axis for axis, one in zip("xyz", net, strict=True) if one) == held
    assert run.centre_of_mass.resting == tuple(~net)
    free = Simulation(DUST, STATE, PLAIN, device="cpu", threads=1)
    assert (
        run.degrees_of_freedom == free.degrees_of_freedom + net.sum() == 3 * ATOMS - 3 + net.sum()
    )


def test_a_force_without_terms_holds_nothing() -> None:
    made = add_forces(DUST, CustomExternal("x^2+y^2", []), FORCES["wall"][0])
    assert centre_of_mass(VelocityVerlet(), None, made).resting == (True, True, False)


def test_what_cancels_only_for_some_parameters_counts() -> None:
    """They may change in a run."""
    force = CustomCompound("(a*x1-b*x2)^2", TRIPLES, {"a": 1.0, "b": 1.0})
    made = add_forces(DUST, force)
    assert centre_of_mass(VelocityVerlet(), None, made).resting == (False, True, True)


def test_a_spring_is_sampled_as_a_position_restraint_is() -> None:
    """Atoms of different masses, whose centre would stay where it is with the momentum removed."""
    system = System.of(np.linspace(10, 60, ATOMS))
    start = State(PLACES + 0.05, np.zeros_like(PLACES), None)
    by_expression = add_forces(
        system,
        external(
            "k/2*((x-x0)^2+(y-y0)^2+(z-z0)^2)",
            {"k": 500.0, **dict(zip(("x0", "y0", "z0"), PLACES.T, strict=True))},
        ),
    )
    by_restraint = restrain(system, [Restraint("position", "all", 500.0)], PLACES, None)
    runs = [
        Simulation(made, start, integrator=LangevinMiddle(300, 2.0, 0.004, seed=4), threads=1)
        for made in (by_expression, by_restraint)
    ]
    visited: list[Any] = [[], []]
    for run, seen in zip(runs, visited, strict=True):
        run.draw_velocities(300, seed=1)
        run.run(
            4000, [quiltmd.FunctionReporter(lambda f, s=seen: s.append(f.state().positions), 20)]
        )
    spring, restraint = (np.mean(seen, axis=0) for seen in visited)
    np.testing.assert_allclose(spring, restraint, atol=1e-5)
    centre = system.masses @ (restraint - PLACES) / system.masses.sum()
    assert np.abs(centre).max() < 0.02


def test_an_openmm_system_is_held_by_its_own_expression() -> None:
    described = openmm.System()
    for _ in range(ATOMS):
        described.addParticle(30.0)
    described.setDefaultPeriodicBoxVectors(*BOX)
    force = openmm.CustomExternalForce("k*periodicdistance(x,y,0,x0,y0,0)^4")
    force.addGlobalParameter("k", 10.0)
    for name in ("x0", "y0"):
        force.addPerParticleParameter(name)
    force.addParticle(2, [1.0, 1.0])
    described.addForce(force)
    system = System.from_openmm(described)
    assert system.custom is not None
    assert centre_of_mass(VelocityVerlet(), None, system).resting == (False, False, True)


def test_removal_that_is_asked_for_is_warned_about() -> None:
    asked = VelocityVerlet(remove_com_every=50)
    made = restrain(
        add_forces(DUST, FORCES["plane"][0]),
        [Restraint("position", "all", (500.0, 0.0, 0.0))],
        PLACES,
        BOX,
    )
    restraint, custom = centre_of_mass_oddities(asked, None, made)
    assert "along x, where position restraints" in restraint
    assert "along y, where the energy of a custom force depends on the places" in custom
    assert custom.endswith("it acts along z alone")
    (outside,) = centre_of_mass_oddities(asked, None, DUST, held_from_outside=True)
    assert "along x and y and z, where external forces act from outside" in outside


def test_an_energy_tells_of_each_form_of_single_atoms_what_it_holds() -> None:
    """Without one they would hold nothing; forces of fields are added up."""
    assert [form.name for form in TERM_FORMS if form.atoms == 1]
    for form in TERM_FORMS:
        assert form.atoms > 1 or form.energy or form.part == "field", form.name
