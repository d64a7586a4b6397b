# SPDX-License-Identifier: Apache-2.0
"""Readers against OpenMM: every term of a system, parameter by parameter.

OpenMM's own reader of Amber files is the oracle. Its systems are taken apart
here by plain loops, independent of `System.from_openmm`, which is tested too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openmm
import pytest
from openmm import app, unit

from quiltmd.description.state import State
from quiltmd.description.system import System
from quiltmd.errors import InputError
from quiltmd.inputs import load
from quiltmd.openmm.nonbonded import nonbonded_from_openmm

CHOICES = [
    {"constraints": "none", "rigid_water": True, "hydrogen_mass": None},
    {"constraints": "none", "rigid_water": False, "hydrogen_mass": None},
    {"constraints": "h-bonds", "rigid_water": True, "hydrogen_mass": 3.024},
    {"constraints": "h-bonds", "rigid_water": False, "hydrogen_mass": 2.0},
]


def md(quantity: Any) -> float:
    return float(quantity.value_in_unit_system(unit.md_unit_system))


def numbers(rows: list[list[Any]], arity: int) -> tuple[np.ndarray, np.ndarray]:
    """Atoms and parameters of OpenMM rows, in nm, kJ/mol, rad, e."""
    values = [[md(x) if unit.is_quantity(x) else float(x) for x in row[arity:]] for row in rows]
    atoms = np.array([row[:arity] for row in rows], dtype=int).reshape(-1, arity)
    return atoms, np.array(values).reshape(len(rows), -1 if rows else 1)


def terms_of(openmm_system: Any) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    forces = {type(force).__name__: force for force in openmm_system.getForces()}
    bond, angle = forces["HarmonicBondForce"], forces["HarmonicAngleForce"]
    torsion, pair = forces["PeriodicTorsionForce"], forces["NonbondedForce"]
    exceptions = [pair.getExceptionParameters(i) for i in range(pair.getNumExceptions())]
    strong = [e for e in exceptions if md(e[2]) != 0 or md(e[4]) != 0]
    torsions = [torsion.getTorsionParameters(i) for i in range(torsion.getNumTorsions())]
    return {
        "bonds": numbers([bond.getBondParameters(i) for i in range(bond.getNumBonds())], 2),
        "angles": numbers([angle.getAngleParameters(i) for i in range(angle.getNumAngles())], 3),
        "torsions": numbers([row for row in torsions if md(row[6]) != 0], 4),
        "pairs14": numbers(strong, 2),
        "exclusions": numbers([row[:2] for row in exceptions], 2),
        "constraints": numbers(
            [
                openmm_system.getConstraintParameters(i)
                for i in range(openmm_system.getNumConstraints())
            ],
            2,
        ),
    }


def ordered(atoms: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Terms in one order, whichever way round and in whatever sequence they were listed."""
    flip = atoms[:, 0] > atoms[:, -1]
    atoms = np.where(flip[:, None], atoms[:, ::-1], atoms)
    values = values if values.ndim == 2 else values[:, None]
    order = np.lexsort(np.column_stack([values[:, ::-1], atoms[:, ::-1]]).T)
    return atoms[order], values[order]


def assert_same_system(system: System, openmm_system: Any) -> None:
    ours = {
        "bonds": (system.bonds, system.bond_parameters),
        "angles": (system.angles, system.angle_parameters),
        "torsions": (system.torsions, system.torsion_parameters),
        "exclusions": (system.exclusions, np.empty((len(system.exclusions), 0))),
        "constraints": (system.constraints, system.constraint_lengths),
        "pairs14": (system.pairs14, system.pair14_parameters),
    }
    for name, theirs in terms_of(openmm_system).items():
        atoms, values = ordered(*ours[name])
        if name == "pairs14":  # a pair without interaction is an exclusion to OpenMM
            real = (values[:, 0] != 0) | (values[:, 2] != 0)
            atoms, values = atoms[real], values[real]
        expected_atoms, expected = ordered(*theirs)
        np.testing.assert_array_equal(atoms, expected_atoms, err_msg=name)
        if name == "pairs14":  # sigma means nothing without epsilon
            values[values[:, 2] == 0, 1] = expected[expected[:, 2] == 0, 1] = 0
        np.testing.assert_allclose(values, expected, rtol=2e-12, err_msg=name)
    atoms = range(openmm_system.getNumParticles())
    masses = [md(openmm_system.getParticleMass(i)) for i in atoms]
    np.testing.assert_allclose(system.masses, masses, rtol=1e-12)
    assert_same_nonbonded(system, openmm_system)


def assert_same_nonbonded(system: System, openmm_system: Any) -> None:
    force = next(f for f in openmm_system.getForces() if isinstance(f, openmm.NonbondedForce))
    rows = [force.getParticleParameters(i) for i in range(force.getNumParticles())]
    charge, sigma, epsilon = np.array([[md(x) for x in row] for row in rows]).T
    np.testing.assert_allclose(system.charges, charge, rtol=1e-12)
    kinds = system.lj_types
    np.testing.assert_allclose(system.lj_a[kinds, kinds], 4 * epsilon * sigma**12, rtol=1e-11)
    np.testing.assert_allclose(system.lj_b[kinds, kinds], 4 * epsilon * sigma**6, rtol=1e-11)
    some = np.unique(kinds, return_index=True)[1]
    mixed_sigma = 0.5 * (sigma[some, None] + sigma[some])
    mixed = 4 * np.sqrt(epsilon[some, None] * epsilon[some])
    table = np.ix_(kinds[some], kinds[some])
    np.testing.assert_allclose(system.lj_a[table], mixed * mixed_sigma**12, rtol=1e-6)
    np.testing.assert_allclose(system.lj_b[table], mixed * mixed_sigma**6, rtol=1e-6)


def openmm_system_of(path: Path, choice: dict[str, Any], **more: Any) -> Any:
    mass = choice["hydrogen_mass"]
    return app.AmberPrmtopFile(str(path)).createSystem(
        nonbondedMethod=app.PME,
        nonbondedCutoff=0.8,
        constraints=app.HBonds if choice["constraints"] == "h-bonds" else None,
        rigidWater=choice["rigid_water"],
        hydrogenMass=None if mass is None else mass * unit.amu,
        **more,
    )


@pytest.mark.parametrize("choice", CHOICES, ids=str)
@pytest.mark.parametrize("name", ["alanine", "octahedron"])
def test_every_term_agrees(
    name: str, choice: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    topology, coordinates = request.getfixturevalue(name)
    system, _ = load(topology, coordinates, **choice)
    assert_same_system(system, openmm_system_of(topology, choice))


def test_every_term_of_jac_agrees(jac: tuple[Path, Path]) -> None:
    system, _ = load(*jac, **CHOICES[2])
    assert_same_system(system, openmm_system_of(jac[0], CHOICES[2]))


@pytest.mark.parametrize("choice", CHOICES[:3], ids=str)
def test_from_openmm_agrees(alanine: tuple[Path, Path], choice: dict[str, Any]) -> None:
    original = openmm_system_of(alanine[0], choice)
    topology = app.AmberPrmtopFile(str(alanine[0])).topology
    system = System.from_openmm(original, topology)
    assert_same_system(system, original)
    assert system.topology.describe(0) == "atom 1 (H1 of ACE 1)"
    assert (
        System.from_openmm(original).topology.elements.tolist() == list(system.topology.elements)
        or choice["hydrogen_mass"]
    )


def test_from_openmm_joins_forces_of_a_class(alanine: tuple[Path, Path]) -> None:
    original = openmm_system_of(alanine[0], CHOICES[0])
    extra = openmm.HarmonicBondForce()
    extra.addBond(0, 20, 0.3, 500.0)
    original.addForce(extra)
    before = System.from_openmm(openmm_system_of(alanine[0], CHOICES[0]))
    after = System.from_openmm(original)
    assert len(after.bonds) == len(before.bonds) + 1
    np.testing.assert_allclose(after.bond_parameters[-1], [0.3, 500.0])


def test_from_openmm_takes_positions_with_units(alanine: tuple[Path, Path]) -> None:
    coordinates = app.AmberInpcrdFile(str(alanine[1]))
    system, expected = load(*alanine)
    state = State.from_openmm(system, coordinates.positions, coordinates.boxVectors)
    np.testing.assert_allclose(state.positions, expected.positions, atol=1e-12)
    np.testing.assert_allclose(state.box, expected.box, atol=1e-12)


def test_nonbonded_settings_are_read(alanine: tuple[Path, Path]) -> None:
    original = openmm_system_of(alanine[0], CHOICES[0], ewaldErrorTolerance=1e-4)
    settings = nonbonded_from_openmm(original)
    assert (settings.cutoff, settings.pme_tolerance) == (0.8, 1e-4)
    assert settings.dispersion_correction
    force = next(f for f in original.getForces() if isinstance(f, openmm.NonbondedForce))
    force.setPMEParameters(3.5, 32, 30, 28)
    settings = nonbonded_from_openmm(original)
    assert (settings.pme_alpha, settings.pme_grid) == (3.5, (32, 30, 28))
    assert settings.pme_order == 5


def spoil_with(force: Any) -> Any:
    return lambda system: system.addForce(force)


def nonbonded_force(system: Any) -> Any:
    return next(f for f in system.getForces() if isinstance(f, openmm.NonbondedForce))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (spoil_with(openmm.CustomAngleForce("theta+q")), "CustomAngleForce"),
        (spoil_with(openmm.CustomTorsionForce("theta+q")), "CustomTorsionForce"),
        (spoil_with(openmm.CustomNonbondedForce("r")), "CustomNonbondedForce"),
        (spoil_with(openmm.CustomBondForce("r+q")), "CustomBondForce"),
        (spoil_with(openmm.MonteCarloBarostat(1, 300)), "MonteCarloBarostat"),
        (spoil_with(openmm.GBSAOBCForce()), "GBSAOBCForce"),
        (
            lambda s: s.setVirtualSite(2, openmm.TwoParticleAverageSite(0, 1, 0.5, 0.5)),
            "virtual site",
        ),
        (lambda s: s.setParticleMass(3, 0), "mass 0"),
        (lambda s: s.addForce(openmm.NonbondedForce()), "one NonbondedForce, not 2"),
        (lambda s: nonbonded_force(s).addGlobalParameter("x", 0), None),
    ],
)
def test_from_openmm_refuses_by_name(
    alanine: tuple[Path, Path], spoil: Any, words: str | None
) -> None:
    original = openmm_system_of(alanine[0], CHOICES[0])
    spoil(original)
    if words is None:  # a parameter that nothing uses does no harm
        System.from_openmm(original)
        return
    with pytest.raises(InputError, match=words):
        System.from_openmm(original)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda f: f.setNonbondedMethod(f.CutoffNonPeriodic), "CutoffNonPeriodic"),
        (lambda f: f.setUseSwitchingFunction(True), "switch_distance"),
    ],
)
def test_nonbonded_settings_are_refused_by_name(
    alanine: tuple[Path, Path], spoil: Any, words: str
) -> None:
    original = openmm_system_of(alanine[0], CHOICES[0])
    spoil(nonbonded_force(original))
    with pytest.raises(InputError, match=words):
        nonbonded_from_openmm(original)


@pytest.mark.parametrize("name", ["alanine", "trpzip2"])
def test_text_coordinates_agree(name: str, request: pytest.FixtureRequest) -> None:
    files = request.getfixturevalue(name)
    system, state = load(*files)
    expected = app.AmberInpcrdFile(str(files[1]))
    vectors = np.array(expected.boxVectors.value_in_unit(unit.nanometer))
    np.testing.assert_allclose(state.box, vectors, atol=1e-9)
    positions = expected.getPositions(asNumpy=True).value_in_unit(unit.nanometer)
    images = (state.positions - positions) @ np.linalg.inv(vectors)
    np.testing.assert_allclose(images, np.round(images), atol=1e-9)
    if expected.velocities is not None:
        velocities = expected.getVelocities(asNumpy=True)
        velocities = velocities.value_in_unit(unit.nanometer / unit.picosecond)
        np.testing.assert_allclose(state.velocities, velocities, atol=1e-9)
    ends = state.positions[system.links]
    assert np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1).max() < 0.3


def test_octahedron_box_agrees(octahedron: tuple[Path, Path]) -> None:
    _, state = load(*octahedron)
    expected = app.internal.unitcell.computePeriodicBoxVectors(
        *[42.4388485 / 10] * 3, *[np.radians(109.4712190)] * 3
    ).value_in_unit(unit.nanometer)
    lattice = np.linalg.solve(np.array(expected).T, state.box.T)
    np.testing.assert_allclose(lattice, np.round(lattice), atol=1e-5)
    assert np.linalg.det(state.box) == pytest.approx(np.linalg.det(np.array(expected)), rel=1e-5)
