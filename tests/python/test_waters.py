# SPDX-License-Identifier: Apache-2.0
"""Waters are found by their bonds, in every format, whatever their residues are called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_psf import Atom, write_crd, write_psf

import quiltmd
from quiltmd import InputError, System
from quiltmd.inputs import describe
from quiltmd.inputs.constrain import constrain, find_waters

COUNT = 3
PARAMETERS = """* made up
*
ATOMS
MASS -1 OT 15.9994
MASS -1 HT 1.008
BONDS
OT HT 450.0 0.9572
OT OT 450.0 1.4
HT HT 0.0 1.5139
ANGLES
HT OT HT 55.0 104.52
NONBONDED
OT 0.0 -0.1521 1.7682
HT 0.0 -0.046 0.2245
END
"""
SHAPE = ((0.0, 0.0, 0.0), (0.9572, 0.0, 0.0), (-0.24, 0.9266, 0.0))


@pytest.fixture
def parameters(tmp_path: Path) -> Path:
    path = tmp_path / "water.prm"
    path.write_text(PARAMETERS)
    return path


def water(residue: str, name: str = "TIP3") -> list[Atom]:
    kinds = (("OH2", "OT", -0.834, 15.9994), ("H1", "HT", 0.417, 1.008), ("H2", "HT", 0.417, 1.008))
    return [Atom("W", residue, name, *kind) for kind in kinds]


@pytest.mark.parametrize("joined", [True, False], ids=["with H-H bonds", "without"])
@pytest.mark.parametrize(
    "residues",
    [
        ["1", "2", "3"],
        ["9999", "9999", "9999"],
        ["****", "****", "****"],
        ["2710", "2711", "2712"],
        ["1", "1", "2"],
        ["0", "0", "0"],
    ],
)
@pytest.mark.parametrize("name", ["TIP3", "LIG"])
def test_psf_waters_that_share_a_residue_number(
    residues: list[str], joined: bool, name: str, parameters: Path, tmp_path: Path
) -> None:
    atoms = [atom for residue in residues for atom in water(residue, name)]
    bonds = [(o, o + k) for o in range(0, 3 * COUNT, 3) for k in (1, 2)]
    bonds += [(o + 1, o + 2) for o in range(0, 3 * COUNT, 3)] * joined
    angles = [(o + 1, o, o + 2) for o in range(0, 3 * COUNT, 3)]
    psf = write_psf(tmp_path / "w.psf", atoms, bonds, angles)
    places = [(10 + 4 * k + x, 10 + y, 10 + z) for k in range(COUNT) for x, y, z in SHAPE]
    crd = write_crd(tmp_path / "w.crd", atoms, places)
    system, _ = quiltmd.load(psf, crd, parameters=[parameters], box=[3, 3, 3])
    assert len(system.constraints) == 3 * COUNT
    assert len(system.bonds) == len(system.angles) == 0
    h_h = 0.15139 if joined else 2 * 0.09572 * np.sin(np.radians(104.52) / 2)
    np.testing.assert_allclose(
        np.unique(np.round(system.constraint_lengths, 9)), [0.09572, h_h], atol=1e-9
    )


@pytest.mark.parametrize(
    ("kinds", "bonds", "waters"),
    [
        ("OHH", [(0, 1), (0, 2)], 1),
        ("HOH", [(0, 1), (1, 2), (2, 0)], 1),
        ("HHO", [(2, 0), (2, 1), (2, 1)], 1),  # a bond listed twice
        ("OHHOHH", [(3, 1), (3, 2), (0, 4), (0, 5)], 2),  # not in a row
        ("OH", [(0, 1)], 0),  # hydroxide
        ("OHHH", [(0, 1), (0, 2), (0, 3)], 0),  # hydronium
        ("HOOH", [(0, 1), (1, 2), (2, 3)], 0),  # peroxide
        ("OHHO", [(0, 1), (0, 2), (2, 3)], 0),  # a hydrogen that is shared
        ("OHHOHH", [(0, 1), (0, 2), (3, 4), (3, 5), (2, 5)], 0),  # hydrogens that are joined
    ],
)
def test_what_is_a_water(
    kinds: str, bonds: Sequence[tuple[int, int]], waters: int, parameters: Path, tmp_path: Path
) -> None:
    masses = {"O": 15.9994, "H": 1.008}
    atoms = [Atom("W", "1", "LIG", kind, f"{kind}T", 0.0, masses[kind]) for kind in kinds]
    psf = write_psf(tmp_path / "w.psf", atoms, bonds)
    found = find_waters(describe(psf, [parameters]).system)
    assert len(found) == waters
    for oxygen, first, second in found:
        assert [kinds[oxygen], kinds[first], kinds[second]] == ["O", "H", "H"]
        assert first < second


@pytest.mark.parametrize("bonds", [[], [(0, 1)]])
def test_a_water_without_its_bonds_is_refused(
    bonds: Sequence[tuple[int, int]], parameters: Path, tmp_path: Path
) -> None:
    psf = write_psf(tmp_path / "w.psf", water("7"), bonds)
    system = describe(psf, [parameters]).system
    with pytest.raises(InputError, match=r"atom 1 \(OH2 of TIP3 7\) is the oxygen of a water"):
        constrain(system)
    assert len(constrain(system, rigid_water=False).constraints) == 0
    renamed = replace(system.topology, residue_names=np.array(["LIG"]))
    assert len(constrain(replace(system, topology=renamed)).constraints) == 0


def merged(system: System) -> System:
    """All atoms in one residue of no water's name."""
    topology = replace(
        system.topology,
        residue_of_atom=np.zeros(system.atoms, np.int32),
        residue_names=np.array(["LIG"]),
        residue_ids=np.ones(1, np.int32),
        chain_ids=np.array([""]),
    )
    return replace(system, topology=topology)


def test_amber_waters_do_not_depend_on_residues(alanine: tuple[Path, Path]) -> None:
    system = describe(alanine[0]).system
    expected = constrain(system, "h-bonds", hydrogen_mass=3.024)
    found = constrain(merged(system), "h-bonds", hydrogen_mass=3.024)
    np.testing.assert_array_equal(found.constraints, expected.constraints)
    np.testing.assert_array_equal(found.constraint_lengths, expected.constraint_lengths)
    np.testing.assert_array_equal(found.masses, expected.masses)
    oxygen_and_hydrogen = find_waters(merged(system))
    assert len(oxygen_and_hydrogen) == 749


TOP = """
[ defaults ]
1 2 no 1.0 1.0
[ atomtypes ]
OW 8 15.9994 -0.82 A 0.3166 0.65
HW 1 1.008    0.41 A 0.0 0.0
MW 0 0.0      0.0  V 0.0 0.0
[ moleculetype ]
{name} 2
[ atoms ]
1 OW 1 {name} OW 1
2 HW 1 {name} HW1 1
3 HW 1 {name} HW2 1
{site}
{terms}
[ system ]
water
[ molecules ]
{name} 4
"""
BONDS = "[ bonds ]\n1 2 1 0.1 345000\n1 3 1 0.1 345000\n[ angles ]\n2 1 3 1 109.47 383\n"
SETTLES = "[ settles ]\n1 1 0.1 0.1633\n[ exclusions ]\n1 2 3\n2 3\n"
SITE = "4 MW 1 {name} MW 1\n[ virtual_sites3 ]\n4 1 2 3 1 0.13 0.13\n"


@pytest.mark.parametrize("name", ["SOL", "LIG"])
@pytest.mark.parametrize("site", [False, True], ids=["three sites", "four sites"])
@pytest.mark.parametrize("terms", [BONDS, SETTLES], ids=["bonds", "settles"])
def test_gromacs_waters_of_any_name(name: str, site: bool, terms: str, tmp_path: Path) -> None:
    path = tmp_path / "w.top"
    path.write_text(TOP.format(name=name, site=SITE.format(name=name) * site, terms=terms))
    system = describe(path).system
    assert len(find_waters(system)) == 4
    rigid = constrain(system)
    assert len(rigid.constraints) == 12
    assert len(rigid.bonds) == len(rigid.angles) == 0
    h_h = 2 * 0.1 * np.sin(np.radians(109.47) / 2)
    np.testing.assert_allclose(
        np.unique(np.round(rigid.constraint_lengths, 4)), [0.1, h_h], atol=1e-4
    )
