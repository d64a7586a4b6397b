# SPDX-License-Identifier: Apache-2.0
"""Morse bonds: forces, from and to other programs, and that they are bonds to all who ask."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openmm
import pytest
from gromacs_rules import BOX, CUTOFF, PLACES, coordinates, topology
from openmm_reference import energy_and_forces

import quiltmd
from quiltmd import InputError, Nonbonded, QuiltError, State, System, VelocityVerlet, load
from quiltmd.description.impulses import check_impulses
from quiltmd.inputs import describe
from quiltmd.inputs.constrain import constrain, find_waters, loose_hydrogens
from quiltmd.openmm.write import to_openmm, write_openmm, write_openmm_state

NO_CUTOFF = Nonbonded(method="no-cutoff")
LENGTH, DEPTH, BETA = 0.1, 400.0, 22.0
ENERGY = "D*(1-exp(-a*(r-r0)))^2"


def methylene() -> System:
    """A carbon with two hydrogens, and a second carbon: bonds 0-1 and 0-2 to hydrogen, 0-3."""
    bonds = [[0, 1], [2, 0], [0, 3]]
    values = [[0.109, 400.0, 19.0], [0.11, 410.0, 19.0], [0.153, 350.0, 18.0]]
    return System.of([12.011, 1.008, 1.008, 12.011], terms={"morse": (bonds, values)})


def test_forces_are_minus_the_gradient() -> None:
    system = methylene()
    places = np.array([[1, 1, 1], [1.1, 1.05, 1], [1, 1.14, 0.98], [0.85, 1, 1.06]])

    def energy(at: Any) -> float:
        state = State(at, 0 * at, 3 * np.eye(3))
        return float(quiltmd.reference(system, state, Nonbonded())[0]["bond"])

    state = State(places, 0 * places, 3 * np.eye(3))
    simulation = quiltmd.Simulation(system, state, device="cpu", threads=1)
    r = np.linalg.norm(places[[1, 2, 3]] - places[0], axis=1)
    rest, depth, beta = system.terms["morse"].parameters.T
    expected = (depth * (1 - np.exp(-beta * (r - rest))) ** 2).sum()
    assert energy(places) == pytest.approx(expected, rel=1e-12)
    assert simulation.energies()["bond"] == pytest.approx(expected, rel=1e-5)
    gradient = np.empty_like(places)
    for row in np.ndindex(*places.shape):
        moved = np.zeros_like(places)
        moved[row] = 1e-6
        gradient[row] = (energy(places + moved) - energy(places - moved)) / 2e-6
    np.testing.assert_allclose(
        quiltmd.reference(system, state, Nonbonded())[1], -gradient, atol=1e-3
    )
    np.testing.assert_allclose(simulation.forces(), -gradient, atol=0.1)


def test_h_bonds_constrains_them_to_their_length() -> None:
    system = methylene()
    assert loose_hydrogens(system) == 2
    found = constrain(system, "h-bonds")
    assert found.constraints.tolist() == [[0, 1], [2, 0]]
    assert found.constraint_lengths.tolist() == [0.109, 0.11]
    assert found.terms["morse"].atoms.tolist() == [[0, 3]]
    assert found.degrees_of_freedom == 10
    assert set(found.molecules) == {0}


def test_repartitioned_masses_come_from_the_other_end() -> None:
    found = constrain(methylene(), hydrogen_mass=3.0)
    assert found.masses.tolist() == pytest.approx([12.011 - 2 * 1.992, 3, 3, 12.011])


def test_their_vibration_limits_impulses() -> None:
    """C-H: k = 2 D beta^2 = 2.96e5 kJ/mol/nm^2 makes 11.14 fs, of which 0.45 are 5.01 fs."""
    system = methylene()
    check_impulses(VelocityVerlet(timestep=0.001, long_range_every=5), system)
    with pytest.raises(QuiltError, match=r"at most 5\.01 fs"):
        check_impulses(VelocityVerlet(timestep=0.001, long_range_every=6), system)
    check_impulses(VelocityVerlet(timestep=0.001, long_range_every=6), constrain(system, "h-bonds"))


def test_water_of_them_is_rigid_where_it_should_be() -> None:
    water = System.of(
        [15.999, 1.008, 1.008],
        terms={
            "morse": ([[0, 1], [0, 2]], [[LENGTH, DEPTH, BETA]] * 2),
            "angle": ([[1, 0, 2]], [[1.9, 400.0]]),
        },
    )
    assert find_waters(water).tolist() == [[0, 1, 2]]
    rigid = constrain(water)
    across = 2 * LENGTH * np.sin(0.95)
    np.testing.assert_allclose(rigid.constraint_lengths, [LENGTH, LENGTH, across], rtol=1e-12)
    assert rigid.terms.present() == ()


@pytest.mark.parametrize("types", [False, True])
def test_gromacs_function_3(types: bool, tmp_path: Path) -> None:
    """The potential of GROMACS 2022.5 in double precision (gmx_d) for these bonds."""
    values = ("0.14 350 19", "0.16 300 21.5")
    bonds = f"1 2 3 {values[0]}\n2 3 5\n3 4 3 {values[1]}"
    by_type = ""
    if types:
        bonds = "1 2 3\n2 3 5\n3 4 3"
        by_type = f"[ bondtypes ]\nAA AA 3 {values[0]}\nBB BB 3 {values[1]}"
    path = tmp_path / "chain.top"
    path.write_text(topology(by_type, bonds=bonds))
    system = describe(path).system
    assert system.terms["morse"].atoms.tolist() == [[0, 1], [2, 3]]
    state = State(PLACES[:4], np.zeros((4, 3)), BOX * np.eye(3))
    energies, forces = quiltmd.reference(system, state, Nonbonded(cutoff=CUTOFF))
    assert energies["potential"] == pytest.approx(12.648299643704, rel=1e-9)
    expected = [[1903.2, 0, 0], [-1903.2, 0, 0], [-761.762, 0, -914.114], [761.762, 0, 914.114]]
    np.testing.assert_allclose(forces, expected, rtol=1e-5)
    assert system.exclusions.tolist() == [[i, j] for i in range(4) for j in range(i + 1, 4)]


def test_gromacs_bonds_to_hydrogen_are_constrained(tmp_path: Path) -> None:
    """As by grompp, which makes a constraint of the length b0 of it."""
    kinds = "AA 6 12.011 0.0 A 0.0 0.0\nBB 1 1.008 0.0 A 0.0 0.0"
    atoms = {1: "1 AA 1 M C 1 0.0 12.011", 2: "2 BB 1 M H 1 0.0 1.008"}
    path, places = tmp_path / "h.top", tmp_path / "h.gro"
    chain = topology(atom_types=kinds, kinds="AA BB", bonds="1 2 3 0.14 350 19", atoms=atoms)
    path.write_text(chain)
    places.write_text(coordinates(2))
    system, _ = load(path, places, constraints="h-bonds")
    assert system.constraint_lengths.tolist() == [0.14]
    path.write_text(chain.replace("350 19", "-350 19"))
    with pytest.raises(InputError, match=r"Morse bond of atom 1 .* the D -350, which is negative"):
        describe(path)


def openmm_system(expression: str, values: dict[str, float]) -> Any:
    made, force = openmm.System(), openmm.CustomBondForce(expression)
    nonbonded = openmm.NonbondedForce()
    for mass in (12.0, 12.0, 1.0):
        made.addParticle(mass)
        nonbonded.addParticle(0, 1, 0)
    for name in values:
        force.addPerBondParameter(name)
    for atoms in ((0, 1), (2, 1)):
        force.addBond(*atoms, list(values.values()))
        nonbonded.addException(*atoms, 0, 1, 0)
    made.addForce(nonbonded)
    made.addForce(force)
    return made


@pytest.mark.parametrize(
    ("expression", "values"),
    [
        (ENERGY, {"D": DEPTH, "a": BETA, "r0": LENGTH}),
        ("D*(exp(a*(r0-r))-1)^2", {"r0": LENGTH, "D": DEPTH, "a": BETA}),
        ("D*(1+exp(-2*x)-2*exp(-x)); x=a*(r-r0)", {"a": BETA, "D": DEPTH, "r0": LENGTH}),
        (
            "D*(1-exp(-sqrt(k/(2*D))*(r-r0)))^2",
            {"D": DEPTH, "k": 2 * DEPTH * BETA**2, "r0": LENGTH},
        ),
        (f"{DEPTH}*(1-exp(-{BETA}*(r-{LENGTH})))^2", {}),
    ],
)
def test_openmm_expressions_are_known_by_their_values(
    expression: str, values: dict[str, float]
) -> None:
    made = openmm_system(expression, values)
    system = System.from_openmm(made)
    bonds = system.terms["morse"]
    assert bonds.atoms.tolist() == [[0, 1], [2, 1]]
    np.testing.assert_allclose(bonds.parameters, [[LENGTH, DEPTH, BETA]] * 2, rtol=1e-9)
    assert set(system.molecules) == {0}
    places = np.array([[0, 0, 0], [0.12, 0, 0], [0.14, 0.09, 0]])
    energies, forces = quiltmd.reference(system, State(places, 0 * places, None), NO_CUTOFF)
    theirs = energy_and_forces(made, places)
    assert energies["potential"] == pytest.approx(theirs[0], rel=1e-9)
    np.testing.assert_allclose(forces, theirs[1], rtol=1e-6, atol=1e-6)


def test_what_is_no_morse_bond_is_an_expression() -> None:
    for other in ("D*(1-exp(-a*(r-r0)))^3", "D*((1-exp(-a*(r-r0)))^2-1)"):
        made = openmm_system(other, {"D": DEPTH, "a": BETA, "r0": LENGTH})
        read = System.from_openmm(made)
        assert len(read.terms["morse"]) == 0
        assert read.custom is not None
        assert read.custom.terms[0].energy == other


def test_written_for_openmm_and_read_again(tmp_path: Path) -> None:
    system = methylene()
    places = np.array([[1, 1, 1], [1.1, 1.05, 1], [1, 1.14, 0.98], [0.85, 1, 1.06]])
    state = State(places, 0 * places, None)
    energies, forces = quiltmd.reference(system, state, NO_CUTOFF)
    theirs = energy_and_forces(to_openmm(system, NO_CUTOFF), places)
    assert theirs[0] == pytest.approx(energies["potential"], rel=1e-9)
    np.testing.assert_allclose(theirs[1], forces, rtol=1e-6, atol=1e-6)
    write_openmm(tmp_path / "system.xml", system, NO_CUTOFF)
    write_openmm_state(tmp_path / "state.xml", system, state)
    again, _ = load(tmp_path / "system.xml", tmp_path / "state.xml")
    np.testing.assert_array_equal(again.terms["morse"].atoms, system.terms["morse"].atoms)
    ours = system.terms["morse"].parameters
    np.testing.assert_allclose(again.terms["morse"].parameters, ours, rtol=1e-9)


def test_energy_is_conserved_and_does_not_depend_on_ranks() -> None:
    places = np.array([[1, 1, 1], [1.1, 1.05, 1], [1, 1.12, 0.98], [0.85, 1, 1.04]])
    system = methylene()
    state = State(places, 0 * places, 4 * np.eye(3))
    totals = []
    for ranks in (1, 2):
        integrator = VelocityVerlet(timestep=0.0002)
        simulation = quiltmd.Simulation(system, state, integrator=integrator, ranks=ranks)
        start = simulation.energies()
        simulation.run(500)
        end = simulation.energies()
        change = end["potential"] + end["kinetic"] - start["potential"] - start["kinetic"]
        assert abs(change) < 0.01 * end["kinetic"]
        totals.append(simulation.state().positions.tobytes())
    assert totals[0] == totals[1]
