# SPDX-License-Identifier: Apache-2.0
"""Which element an atom is, and which atoms are hydrogens, in every format of topologies."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import openmm
import pytest
from openmm import app, unit
from small_psf import Atom, write_psf

import quiltmd
from quiltmd import InputError, System
from quiltmd.description.elements import elements_of
from quiltmd.description.topology import Topology
from quiltmd.inputs import describe
from quiltmd.inputs.constrain import constrain

METHANE = np.array([[0, 1], [0, 2], [0, 3], [0, 4]])


@pytest.fixture(scope="module")
def protein(jac: tuple[Path, Path]) -> System:
    """DHFR in water; its prmtop has hydrogens of 3.024 amu, here they have their own mass."""
    return constrain(describe(jac[0]).system, rigid_water=False, hydrogen_mass=1.008)


@pytest.mark.parametrize(
    ("masses", "names", "expected"),
    [
        ([1.008, 12.011, 14.007, 15.999, 32.06, 30.974], "X X X X X X", [1, 6, 7, 8, 16, 15]),
        ([1.0, 12.0, 14.0, 16.0, 35.453, 22.98977], "X X X X X X", [1, 6, 7, 8, 17, 11]),
        ([2.014, 13.003, 15.0, 17.999], "D1 CA N O", [1, 6, 7, 8]),  # isotopes
        ([13.019, 14.027, 15.035, 16.043], "CH1 CB CH3 CH4", [6, 6, 6, 6]),  # united atoms
        ([15.035, 14.007], "X N", [6, 7]),
        ([10.0, 10.0, 10.0], "HA C1 2HB", [1, 6, 1]),  # masses that say nothing
        ([196.967, 207.2, 238.03], "AU PB U", [79, 82, 92]),
        ([0.0, 72.0], "EP BB", [0, 32]),
    ],
)
def test_by_masses_and_names(masses: list[float], names: str, expected: list[int]) -> None:
    found = elements_of(np.array(masses), np.array(names.split()))
    assert found.tolist() == expected


@pytest.mark.parametrize("hydrogen", [1.008, 2.016, 3.024, 3.5])
def test_methane_of_any_hydrogen_mass(hydrogen: float) -> None:
    """Its carbon may be lighter than its hydrogens."""
    masses = np.array([12.01 - 4 * (hydrogen - 1.008)] + 4 * [hydrogen])
    for names in ("C D1 D2 X3 X4", "X X X X X", "C1 1H 2H 3H 4H"):
        found = elements_of(masses, np.array(names.split()), METHANE)
        assert found.tolist() == [6, 1, 1, 1, 1]


@pytest.mark.parametrize("hydrogen", [1.008, 1.5, 2.0, 3.0, 3.024, 4.0])
@pytest.mark.parametrize("named", [True, False])
def test_a_protein_with_repartitioned_masses(protein: System, hydrogen: float, named: bool) -> None:
    heavy = constrain(protein, rigid_water=False, hydrogen_mass=hydrogen)
    names = protein.topology.atom_names if named else np.full(protein.atoms, "X")
    found = elements_of(heavy.masses, names, protein.bonds)
    np.testing.assert_array_equal(found, protein.topology.elements)


@pytest.mark.parametrize("named", [True, False])
def test_a_protein_in_heavy_water(protein: System, named: bool) -> None:
    """All hydrogens are deuterium; oxygens and carbons keep their mass."""
    expected = protein.topology.elements
    masses = np.where(expected == 1, 2.014, protein.masses)
    names = protein.topology.atom_names if named else np.full(protein.atoms, "X")
    found = elements_of(masses, names, protein.bonds)
    np.testing.assert_array_equal(found == 1, expected == 1)
    np.testing.assert_array_equal(found[expected == 8], 8)
    if named:
        np.testing.assert_array_equal(found, expected)


def section(text: str, name: str, values: str) -> str:
    """A prmtop whose section has other values, or is missing where there are none."""
    flag = f"%FLAG {name} "
    before, rest = text.split(flag)
    head, body = rest.split("\n", 2)[:2], rest.split("\n", 2)[2]
    tail = body[body.index("%FLAG") :]
    return before + (flag + "\n".join([*head, values, ""]) if values else "") + tail


def integers(values: np.ndarray) -> str:
    return "\n".join(
        "".join(f"{v:8d}" for v in values[k : k + 10]) for k in range(0, len(values), 10)
    )


def reals(values: np.ndarray) -> str:
    return "\n".join(
        "".join(f"{v:16.8E}" for v in values[k : k + 5]) for k in range(0, len(values), 5)
    )


@pytest.mark.parametrize("repartitioned", [False, True])
@pytest.mark.parametrize("given", [-1, 0, "solvent only", "none"])
def test_prmtop_without_atomic_numbers(
    alanine: tuple[Path, Path], tmp_path: Path, given: int | str, repartitioned: bool
) -> None:
    text = alanine[0].read_text()
    expected, _ = quiltmd.load(*alanine, constraints="h-bonds", hydrogen_mass=3.024)
    elements = expected.topology.elements
    if given == "none":
        numbers = ""
    elif given == "solvent only":
        numbers = integers(np.where(np.arange(len(elements)) < 22, -1, elements))
    else:
        numbers = integers(np.full(len(elements), given))
    if "%FLAG ATOMIC_NUMBER " in text:
        text = section(text, "ATOMIC_NUMBER", numbers)
    else:
        added = f"%FLAG ATOMIC_NUMBER\n%FORMAT(10I8)\n{numbers}\n" * bool(numbers)
        text = text.replace("%FLAG MASS ", added + "%FLAG MASS ")
    if repartitioned:
        text = section(text, "MASS", reals(expected.masses))
    path = tmp_path / "a.prmtop"
    path.write_text(text)
    system, _ = quiltmd.load(path, alanine[1], constraints="h-bonds", hydrogen_mass=3.024)
    np.testing.assert_array_equal(system.topology.elements, elements)
    np.testing.assert_array_equal(system.constraints, expected.constraints)
    np.testing.assert_allclose(system.masses, expected.masses, rtol=1e-7)


def test_psf_with_repartitioned_masses_and_other_names(tmp_path: Path) -> None:
    atoms = [Atom("LIG", "1", "LIG", "C1", "CT", 0.0, 12.011 - 4 * 2.016)]
    atoms += [Atom("LIG", "1", "LIG", f"X{k}", "HT", 0.0, 3.024) for k in range(4)]
    bonds = [(0, k) for k in range(1, 5)]
    psf = write_psf(tmp_path / "a.psf", atoms, bonds)
    parameters = tmp_path / "a.prm"
    parameters.write_text(
        "* made up\n*\nATOMS\nMASS -1 CT 12.011\nMASS -1 HT 1.008\nBONDS\nCT HT 340.0 1.09\n"
        "NONBONDED\nCT 0.0 -0.1 2.0\nHT 0.0 -0.02 1.2\nEND\n"
    )
    system = constrain(describe(psf, [parameters]).system, "h-bonds")
    assert system.topology.elements.tolist() == [6, 1, 1, 1, 1]
    assert system.constraints.tolist() == [list(bond) for bond in bonds]


TOP = """
[ defaults ]
1 2 no 1.0 1.0
[ atomtypes ]
c3 {c} 0.0 A 0.34 0.45
hc {h} 0.0 A 0.26 0.06
[ moleculetype ]
LIG 3
[ atoms ]
1 c3 1 LIG C1 1 0.0 {carbon}
2 hc 1 LIG {name}1 1 0.0 {hydrogen}
3 hc 1 LIG {name}2 1 0.0 {hydrogen}
4 hc 1 LIG {name}3 1 0.0 {hydrogen}
5 hc 1 LIG {name}4 1 0.0 {hydrogen}
[ bonds ]
1 2 1 0.109 284512
1 3 1 0.109 284512
1 4 1 0.109 284512
1 5 1 0.109 284512
[ system ]
methane
[ molecules ]
LIG 1
"""


@pytest.mark.parametrize("hydrogen", [1.008, 2.014, 3.024])
@pytest.mark.parametrize(
    ("c", "h"), [("0 12.01", "0 1.008"), ("12.01", "1.008"), ("6 12.01", "1 1.008")]
)
@pytest.mark.parametrize("name", ["H", "2H", "D", "Q"])
def test_gromacs_types_without_atomic_numbers(
    hydrogen: float, c: str, h: str, name: str, tmp_path: Path
) -> None:
    is_deuterium = hydrogen == 2.014
    carbon = 12.01 if is_deuterium else 12.01 - 4 * (hydrogen - 1.008)
    path = tmp_path / "a.top"
    path.write_text(TOP.format(c=c, h=h, name=name, carbon=carbon, hydrogen=hydrogen))
    system = constrain(describe(path).system, "h-bonds", hydrogen_mass=3.024)
    assert system.topology.elements.tolist() == [6, 1, 1, 1, 1]
    assert len(system.constraints) == 4
    assert system.masses.tolist()[1:] == 4 * [3.024]
    assert system.masses.sum() == pytest.approx(carbon + 4 * hydrogen)


@pytest.mark.parametrize("kept", [app.HBonds, app.HAngles, None])
def test_openmm_system_without_a_topology(alanine: tuple[Path, Path], kept: object) -> None:
    prmtop = app.AmberPrmtopFile(str(alanine[0]))
    made = prmtop.createSystem(
        nonbondedMethod=app.PME,
        constraints=kept,
        rigidWater=kept is not None,
        hydrogenMass=4.0 * unit.amu,
    )
    system = System.from_openmm(made)
    named = System.from_openmm(made, prmtop.topology)
    np.testing.assert_array_equal(system.topology.elements, named.topology.elements)
    assert set(system.topology.elements.tolist()) == {1, 6, 7, 8}


def test_openmm_topology_with_atoms_without_elements(alanine: tuple[Path, Path]) -> None:
    prmtop = app.AmberPrmtopFile(str(alanine[0]))
    made = prmtop.createSystem(nonbondedMethod=app.PME, hydrogenMass=3.0 * unit.amu)
    expected = System.from_openmm(made, prmtop.topology).topology.elements
    for atom in prmtop.topology.atoms():
        atom.element = None
    found = System.from_openmm(made, prmtop.topology).topology.elements
    np.testing.assert_array_equal(found, expected)


def with_numbers(system: System, numbers: np.ndarray) -> System:
    return replace(system, topology=replace(system.topology, elements=numbers))


def test_hydrogens_that_numbers_call_something_else_are_an_error(
    alanine: tuple[Path, Path],
) -> None:
    system = describe(alanine[0]).system
    numbers = system.topology.elements.copy()
    numbers[0] = 6  # HH31 of ACE
    wrong = with_numbers(system, numbers)
    words = "atom 1 (HH31 of ACE 1) has the mass of hydrogen (1.008 amu), but the atomic number 6"
    with pytest.raises(InputError, match=re.escape(words)):
        constrain(wrong, "h-bonds")
    assert len(constrain(wrong, "none").constraints) == 3 * 749


def test_ions_alone_have_nothing_to_constrain(tmp_path: Path) -> None:
    atoms = [Atom("ION", str(k), "SOD", "SOD", "SOD", 1.0, 22.98977) for k in range(3)]
    atoms.append(Atom("ION", "4", "PRO", "H", "HT", 1.0, 1.008))  # a proton
    parameters = tmp_path / "a.prm"
    parameters.write_text(
        "* made up\n*\nATOMS\nMASS -1 SOD 22.98977\nMASS -1 HT 1.008\n"
        "NONBONDED\nSOD 0.0 -0.05 1.4\nHT 0.0 -0.04 0.2\nEND\n"
    )
    psf = write_psf(tmp_path / "a.psf", atoms)
    system = constrain(describe(psf, [parameters]).system, "h-bonds", hydrogen_mass=3.024)
    assert system.topology.elements.tolist() == [11, 11, 11, 1]
    assert len(system.constraints) == 0


def test_heavy_elements_are_written(tmp_path: Path) -> None:
    """Gold and lead, in a PDB file that OpenMM reads."""
    made = openmm.System()
    force = openmm.NonbondedForce()
    force.setNonbondedMethod(force.CutoffPeriodic)
    for mass in (196.967, 207.2):
        made.addParticle(mass)
        force.addParticle(0.0, 0.2, 1.0)
    made.addForce(force)
    system = System.from_openmm(made)
    assert system.topology.elements.tolist() == [79, 82]
    state = quiltmd.State.start(system, np.array([[0.0, 0, 0], [1, 0, 0]]), 3 * np.eye(3))
    path = tmp_path / "a.pdb"
    quiltmd.write_pdb(path, quiltmd.Simulation(system, state, device="cpu"))
    atoms = [line for line in path.read_text().splitlines() if line.startswith("ATOM")]
    assert [line[76:78] for line in atoms] == ["AU", "PB"]


def test_atomic_numbers_that_do_not_exist_are_refused() -> None:
    topology = Topology.unnamed(np.ones(2))
    with pytest.raises(InputError, match="atom 2: the atomic number 200 is not one from 0 to"):
        replace(topology, elements=np.array([1, 200]))
