# SPDX-License-Identifier: Apache-2.0
"""1-4 pairs and exclusions between atoms farther apart than the cutoff; water by a define."""

from __future__ import annotations

from math import acos, dist, radians
from pathlib import Path

import numpy as np
import openmm
import pytest
from gromacs_rules import topology
from openmm import unit
from openmm_reference import energy_and_forces

import quiltmd
from quiltmd import Nonbonded, State, System

PLACES = np.array([[1.0, 1.0, 1.0], [1.6, 1.0, 1.0], [1.6, 1.6, 1.0], [2.2, 1.6, 1.3]])
FAR = dist(PLACES[0], PLACES[3])  # 1.4 nm, with a cutoff of 0.9
COULOMB = 138.935458
CHOSEN = Nonbonded(cutoff=0.9, dispersion_correction=False, pme_tolerance=1e-6)


def terms(system: System, places: np.ndarray) -> dict[str, float]:
    """Energies of the engine, which are those of the reference."""
    state = State.start(system, places, 5 * np.eye(3))
    found = quiltmd.Simulation(system, state, CHOSEN, device="cpu", threads=1).energies()
    expected = quiltmd.reference(system, state, CHOSEN)[0]
    for name in ("lj14", "coulomb14", "lj"):
        assert found[name] == pytest.approx(expected[name], rel=1e-5, abs=1e-6)
    return dict(found)


def read(folder: Path, text: str) -> System:
    path = folder / "chain.top"
    path.write_text(text)
    gro = folder / "chain.gro"
    rows = [
        f"{1:5d}M    {name:>5s}{k:5d}" + "".join(f"{x:8.3f}" for x in place)
        for k, (name, place) in enumerate(zip("ABCD", PLACES, strict=True), start=1)
    ]
    gro.write_text("\n".join(["chain", "    4", *rows, "   5.0   5.0   5.0", ""]))
    return quiltmd.load(path, gro)[0]


@pytest.mark.parametrize(
    ("pair", "coulomb"),
    [("1 4 1 1.2 3.0", 0.0), ("1 4 2 0.5 0.8 -0.6 1.2 3.0", COULOMB * 0.5 * 0.8 * -0.6 / FAR)],
)
def test_pairs_of_gromacs(pair: str, coulomb: float, tmp_path: Path) -> None:
    found = terms(read(tmp_path, topology(terms=f"[ pairs ]\n{pair}")), PLACES)
    expected = 12 * ((1.2 / FAR) ** 12 - (1.2 / FAR) ** 6)
    assert found["lj14"] == pytest.approx(expected, rel=1e-5)
    assert found["coulomb14"] == pytest.approx(coulomb, rel=1e-5, abs=1e-9)


def test_exclusions_of_gromacs(tmp_path: Path) -> None:
    """Charges that do not feel each other have but the energy of their images."""
    atoms = {k: f"{k} AA 1 M {name} 1 {q} 12.011" for k, name, q in ((1, "A", 1), (4, "D", -1))}
    system = read(tmp_path, topology(atoms=atoms))
    assert [0, 3] in system.exclusions.tolist()
    found = terms(system, PLACES)
    near = PLACES.copy()
    near[3] = near[0] + [0.2, 0, 0]
    # A dipole's energy with its images in a cube: -2 pi p^2 / (3 V), small beside -97 of the pair.
    dipole = 2 * np.pi * COULOMB / (3 * 5**3)
    for places, length in ((PLACES, FAR), (near, 0.2)):
        found = terms(system, places)
        images = found["coulomb"] + found["pme"]
        assert images == pytest.approx(-dipole * length**2, abs=0.3 * length**2)


def test_exceptions_of_openmm() -> None:
    original = openmm.System()
    force = openmm.NonbondedForce()
    bonds = openmm.HarmonicBondForce()
    for charge in (0.5, 0.0, 0.0, -0.5):
        original.addParticle(12)
        force.addParticle(charge, 0.3, 0.2)
    for i, j in ((0, 1), (1, 2), (2, 3)):
        bonds.addBond(i, j, 0.6, 0.0)
        force.addException(i, j, 0, 1, 0)
    force.addException(0, 2, 0, 1, 0)
    force.addException(1, 3, 0, 1, 0)
    force.addException(0, 3, -0.2, 1.2, 3.0)
    force.setNonbondedMethod(force.PME)
    force.setCutoffDistance(0.9)
    force.setEwaldErrorTolerance(1e-6)
    force.setUseDispersionCorrection(False)
    original.setDefaultPeriodicBoxVectors(*(5 * np.eye(3)))
    original.addForce(bonds)
    original.addForce(force)
    expected, _ = energy_and_forces(original, PLACES * unit.nanometer)
    system = System.from_openmm(original)
    state = State.start(system, PLACES, 5 * np.eye(3))
    assert quiltmd.reference(system, state)[0]["potential"] == pytest.approx(expected, abs=1e-4)
    engine = quiltmd.Simulation(system, state, device="cpu", threads=1)
    assert engine.energies()["potential"] == pytest.approx(expected, abs=1e-4)


WATER = """[ defaults ]
1 2 yes 0.5 0.5
[ atomtypes ]
OW 8 15.999 0.0 A 0.3 0.5
HW 1 1.008 0.0 A 0.0 0.0
#define kOH 1000
#define ang_HOH 104.52 \\
   100
[ moleculetype ]
SOL 2
[ atoms ]
1 OW 1 SOL OW 1 0 15.999
2 HW 1 SOL HW1 1 0 1.008
3 HW 1 SOL HW2 1 0 1.008
#ifndef FLEXIBLE
[ settles ]
1 1 0.09572 0.15139
#else
[ bonds ]
1 2 1 0.09572 kOH
1 3 1 0.09572 kOH
[ angles ]
2 1 3 1 ang_HOH
#endif
[ system ]
w ; comment
[ molecules ]
SOL 1
"""
GRO = """water
    3
    1SOL     OW    1   1.000   1.000   1.000
    1SOL    HW1    2   1.100   1.000   1.000
    1SOL    HW2    3   0.960   1.090   1.000
   3.00000   3.00000   3.00000
"""


@pytest.mark.parametrize("define", ["FLEXIBLE", "-DFLEXIBLE", "FLEXIBLE=1", ""])
def test_water_that_a_define_makes_flexible(define: str, tmp_path: Path) -> None:
    (tmp_path / "water.top").write_text(WATER)
    (tmp_path / "water.gro").write_text(GRO)
    files = tmp_path / "water.top", tmp_path / "water.gro"
    defines = [define] if define else []
    system, state = quiltmd.load(*files, defines=defines, rigid_water=False)
    lengths = [dist((1, 1), place) for place in ((1.1, 1), (0.96, 1.09))]
    angle = acos(0.1 * -0.04 / (lengths[0] * lengths[1]))
    stretched = sum(500 * (length - 0.09572) ** 2 for length in lengths)
    expected = stretched + 50 * (angle - radians(104.52)) ** 2 if define else 0.0
    assert len(system.constraints) == (0 if define else 3)
    chosen = Nonbonded(cutoff=0.9, dispersion_correction=False)
    found = quiltmd.reference(system, state, chosen)[0]["potential"]
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)
