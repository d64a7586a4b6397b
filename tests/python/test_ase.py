# SPDX-License-Identifier: Apache-2.0
"""Calculators of ASE as forces, and Quilt as a calculator of ASE."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from boxes import warm_water

import quiltmd
from quiltmd import CellRescaling, LangevinMiddle, Nonbonded, QuiltError, Simulation, State, System

ase = pytest.importorskip("ase")
from ase.calculators.calculator import PropertyNotImplementedError  # noqa: E402
from ase.calculators.lj import LennardJones  # noqa: E402
from ase.optimize import FIRE  # noqa: E402

from quiltmd.ase import AseForce, QuiltCalculator  # noqa: E402

SMALL = Nonbonded(cutoff=0.6, pme_alpha=4.0, pme_grid=(24, 24, 24))
KJ = ase.units.kJ / ase.units.mol
pytestmark = pytest.mark.filterwarnings(
    "ignore:a cutoff of 0.6 nm is shorter", "ignore:there is no periodic box"
)


def argon(n: int = 4, spacing: float = 0.38) -> tuple[System, State, Any]:
    """Atoms that have no forces of their own, and the same for ASE."""
    grid = np.stack(np.meshgrid(*[np.arange(n)] * 3, indexing="ij"), -1).reshape(-1, 3) * spacing
    places = grid + np.random.default_rng(3).uniform(-0.02, 0.02, grid.shape)
    system = System.of(np.full(len(places), 39.948))
    box = n * spacing * np.eye(3)
    atoms = ase.Atoms(f"Ar{len(places)}", places * 10, cell=box * 10, pbc=True)
    atoms.calc = LennardJones(sigma=3.4, epsilon=0.0103, rc=7.0)
    return system, State(places, np.zeros_like(places), box), atoms


def test_a_calculator_gives_forces_and_pressure() -> None:
    system, state, atoms = argon()
    cut = Nonbonded(method="cutoff", cutoff=0.6)
    where: Any = {"device": "cpu", "threads": 1}
    run = Simulation(system, state, cut, external=[AseForce(atoms)], **where)
    energy, forces = atoms.get_potential_energy(), atoms.get_forces()
    stress = atoms.get_stress(voigt=False)
    assert run.energies()["ase"] * KJ == pytest.approx(energy, rel=1e-8)
    assert np.abs(run.forces() * KJ / 10 - forces).max() < 1e-8
    virial = run.virial() * KJ
    assert virial == pytest.approx(-stress * atoms.get_volume(), abs=1e-6)
    barostat = CellRescaling(1.0, seed=1)
    runs = [
        Simulation(
            system,
            state,
            cut,
            LangevinMiddle(90, 1.0, 0.002, seed=1),
            barostat=barostat,
            external=[AseForce(atoms)],
            ranks=ranks,
            **where,
        )
        for ranks in (1, 2)
    ]
    for one in runs:
        one.run(25)
    assert quiltmd.digest(runs[0].state()) == quiltmd.digest(runs[1].state())


def waters_of_ase(system: System, state: State) -> Any:
    """The same waters for ASE, with Quilt as their calculator."""
    return ase.Atoms(
        numbers=[8, 1, 1] * (system.atoms // 3),
        positions=state.positions * 10,
        cell=state.box * 10,
        pbc=True,
        calculator=QuiltCalculator(system, state, nonbonded=SMALL, device="cpu", threads=1),
    )


def test_quilt_is_a_calculator() -> None:
    """Energies and forces of the simulation; forces by ASE's own differences; wrapped atoms too."""
    system, state = warm_water((6, 6, 6), 300)
    atoms = waters_of_ase(system, state)
    run = Simulation(system, state, SMALL, device="cpu", threads=1)
    energy = run.energies()["potential"] * KJ
    assert atoms.get_potential_energy() == pytest.approx(energy, abs=1e-9)
    assert np.abs(atoms.get_forces() - run.forces() * KJ / 10).max() < 1e-9
    force, energies = atoms.get_forces()[4, 2], []
    for move in (1e-3, -2e-3):
        atoms.positions[4, 2] += move
        energies.append(atoms.get_potential_energy())
    atoms.positions[4, 2] += 1e-3
    assert force == pytest.approx((energies[1] - energies[0]) / 2e-3, abs=5e-3)
    atoms.wrap()
    assert atoms.get_potential_energy() == pytest.approx(energy, abs=1e-5)
    with pytest.raises(PropertyNotImplementedError, match="constraints"):
        atoms.get_stress()
    atoms.pbc = False
    with pytest.raises(QuiltError, match=r"atoms\.pbc = True"):
        atoms.get_potential_energy()


def test_stress_is_the_derivative_by_a_strain() -> None:
    _, state, atoms = argon()
    system = System.of(np.full(64, 39.948), sigma=0.34, epsilon=0.996)
    cut = Nonbonded(method="cutoff", cutoff=0.65, switching="charmm", switch_distance=0.5)
    atoms.calc = QuiltCalculator(system, state, nonbonded=cut, device="cpu", threads=1)
    stress, volume = atoms.get_stress(voigt=False), atoms.get_volume()
    for axis in range(3):
        energies = []
        for sign in (-1, 1):
            strain = np.eye(3)
            strain[axis, axis] += sign * 1e-4
            atoms_there = atoms.copy()
            atoms_there.calc = atoms.calc
            atoms_there.set_cell(atoms.cell[:] @ strain, scale_atoms=True)
            energies.append(atoms_there.get_potential_energy())
        derivative = (energies[1] - energies[0]) / 2e-4
        assert stress[axis, axis] == pytest.approx(derivative / volume, rel=2e-3, abs=1e-7)


def test_an_optimiser_of_ase_relaxes_it() -> None:
    system, state = warm_water((6, 6, 6), 300)
    atoms = waters_of_ase(system, state)
    before = atoms.get_potential_energy()
    FIRE(atoms, logfile=None).run(fmax=0.05, steps=6)
    assert atoms.get_potential_energy() < before
    fresh = Simulation(
        system, replace(state, positions=atoms.positions / 10), SMALL, device="cpu", threads=1
    )
    assert atoms.get_potential_energy() == pytest.approx(
        fresh.energies()["potential"] * KJ, rel=1e-6
    )
