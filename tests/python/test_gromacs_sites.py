# SPDX-License-Identifier: Apache-2.0
"""Virtual sites of GROMACS topologies: every function type, against the manual and OpenMM."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from boxes import random_rotations
from openmm import app, unit

import quiltmd
from quiltmd import Nonbonded, State, System
from quiltmd.inputs import describe

CUTOFF, BOX = 0.9, 3.0

WATER = """
[ defaults ]
1 2 yes 0.5 0.8333
[ atomtypes ]
OW 8 15.9994 0.0 A 0.31 0.6
HW 1 1.008 0.0 A 0.0 0.0
MW 0 0.0 0.0 D 0.0 0.0
[ moleculetype ]
SOL 2
[ atoms ]
1 OW 1 SOL OW 1 0.0
2 HW 1 SOL HW1 1 0.5
3 HW 1 SOL HW2 1 0.5
4 MW 1 SOL MW 1 -1.0
[ settles ]
1 1 0.09572 0.15139
[ {section} ]
{line}
[ exclusions ]
1 2 3 4
2 1 3 4
3 1 2 4
4 1 2 3
[ system ]
water
[ molecules ]
SOL 20
"""
SITES = {
    "virtual_sites1": ("4 2 1", "virtual_sites1"),
    "2": ("4 1 2 1 0.2", "virtual_sites2"),
    "2fd": ("4 1 2 2 0.04", "virtual_sites2"),
    "3": ("4 1 2 3 1 0.128012065 0.128012065", "virtual_sites3"),
    "3, older": ("4 1 2 3 1 0.128012065 0.128012065", "dummies3"),
    "3fd": ("4 1 2 3 2 0.5 0.015", "virtual_sites3"),
    "3fad": ("4 1 2 3 3 110 0.03", "virtual_sites3"),
    "3out": ("4 1 2 3 4 -0.1 -0.2 3.5", "virtual_sites3"),
    "n, centre": ("4 1 1 2 3", "virtual_sitesn"),
    "n, of mass": ("4 2 1 2 3", "virtual_sitesn"),
    "n, weights": ("4 3 1 2.0 2 0.5 3 1.5", "virtual_sitesn"),
}


def place_of(name: str, o: np.ndarray, h: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Equations of the reference manual for the sites above."""
    oh, ok, hk = h - o, k - o, k - h
    unit_of = [v / np.linalg.norm(v) for v in (oh, oh + 0.5 * hk)]
    across = hk - oh * (oh @ hk) / (oh @ oh)
    theta = np.radians(110)
    arm = np.cos(theta) * unit_of[0] + np.sin(theta) * across / np.linalg.norm(across)
    masses = np.array([15.9994, 1.008, 1.008]) / 18.0154
    return {
        "virtual_sites1": h,
        "2": 0.8 * o + 0.2 * h,
        "2fd": o + 0.04 * unit_of[0],
        "3": o + 0.128012065 * (oh + ok),
        "3, older": o + 0.128012065 * (oh + ok),
        "3fd": o + 0.015 * unit_of[1],
        "3fad": o + 0.03 * arm,
        "3out": o - 0.1 * oh - 0.2 * ok + 3.5 * np.cross(oh, ok),
        "n, centre": (o + h + k) / 3,
        "n, of mass": masses @ [o, h, k],
        "n, weights": (2 * o + 0.5 * h + 1.5 * k) / 4,
    }[name]


def waters_with_sites() -> np.ndarray:
    """20 waters, sites in wrong places."""
    rng = np.random.default_rng(2)
    half = np.arcsin(0.15139 / 2 / 0.09572)
    arm = 0.09572 * np.array([np.cos(half), np.sin(half), 0])
    shape = np.array([[0, 0, 0], arm, arm * [1, -1, 1], [0, 0, 0]])
    grid = 0.6 * (np.indices((5, 2, 2)).reshape(3, -1).T + 0.5)
    return (grid[:, None] + shape @ random_rotations(rng, 20)).reshape(-1, 3)


@pytest.mark.parametrize("name", SITES)
def test_virtual_sites(name: str, tmp_path: Path) -> None:
    line, section = SITES[name]
    path = tmp_path / "topol.top"
    path.write_text(WATER.format(section=section, line=line))
    system = describe(path).system
    assert len(system.sites) == 20
    assert system.degrees_of_freedom == 120
    state = State.start(system, waters_with_sites(), BOX * np.eye(3))
    simulation = quiltmd.Simulation(system, state, Nonbonded(cutoff=CUTOFF), device="cpu")
    placed = simulation.state().positions.reshape(20, 4, 3)
    expected = [place_of(name, *atoms[:3]) for atoms in placed]
    np.testing.assert_allclose(placed[:, 3], expected, atol=1e-9)


@pytest.mark.parametrize("name", ["2", "3", "3out"])
def test_virtual_sites_against_openmm(name: str, tmp_path: Path) -> None:
    """Those that its reader knows, in the files of GROMACS' TIP5P too."""
    line, section = SITES[name]
    path = tmp_path / "topol.top"
    path.write_text(WATER.format(section=section, line=line))
    made = app.GromacsTopFile(str(path), periodicBoxVectors=BOX * np.eye(3) * unit.nanometer)
    theirs = System.from_openmm(made.createSystem(nonbondedMethod=app.PME, nonbondedCutoff=CUTOFF))
    ours = describe(path).system
    np.testing.assert_array_equal(ours.sites, theirs.sites)
    np.testing.assert_allclose(ours.site_weights, theirs.site_weights, atol=1e-12)
    np.testing.assert_allclose(ours.site_offsets, theirs.site_offsets, atol=1e-12)
    np.testing.assert_array_equal(ours.exclusions, theirs.exclusions)


def test_tip5p_of_gromacs(mdanalysis_files: Path, tmp_path: Path) -> None:
    """With its settles or flexible; as OpenMM's tip5p.xml has it."""
    types = WATER[: WATER.index("[ moleculetype ]")]
    for old, new in (("OW", "opls_118"), ("HW", "opls_119"), ("MW", "opls_120")):
        types = types.replace(f"\n{old} ", f"\n{new} ")
    path = tmp_path / "topol.top"
    include = f'#include "{mdanalysis_files / "tip5p.itp"}"\n'
    path.write_text(types + include + "[ system ]\nwater\n[ molecules ]\nSOL 3\n")
    system = describe(path).system
    assert (len(system.sites), len(system.constraints)) == (6, 9)
    np.testing.assert_allclose(
        system.site_weights[:, 0, :3], [[1.689816, -0.344908, -0.344908]] * 6
    )
    np.testing.assert_allclose(system.site_offsets[:2, 3], [-6.4437903493, 6.4437903493])
    flexible = describe(path, defines=["FLEXIBLE"]).system
    assert (len(flexible.sites), len(flexible.bonds), len(flexible.constraints)) == (6, 6, 0)
