# SPDX-License-Identifier: Apache-2.0
"""Energies and forces of real systems: OpenMM's Reference platform, Amber, the own reference."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import pytest
from boxes import relative_rms
from openmm import app

import quiltmd
from quiltmd import Nonbonded, Simulation

pytestmark = pytest.mark.filterwarnings("ignore:the system has a net charge:quiltmd.QuiltWarning")

unit = openmm.unit

TERMS = {
    "HarmonicBondForce": "bond",
    "HarmonicAngleForce": "angle",
    "PeriodicTorsionForce": "torsion",
    "NonbondedForce": "nonbonded",
}
TIGHT = 1e-6  # error tolerance of PME in both programs
KCAL = 4.184


@dataclass(frozen=True)
class Case:
    """A system at one place, with what OpenMM's Reference platform says of it."""

    system: Any
    state: Any
    settings: Nonbonded
    energies: dict[str, float]
    forces: Any


def evaluated(topology: Path, coordinates: Path, cutoff: float) -> Case:
    """Both programs with the same cutoff, alpha and grid, and splines of order 5."""
    system, state = quiltmd.load(topology, coordinates)
    alpha, grid = quiltmd.pme_parameters(state.box, cutoff, TIGHT, order=5)
    prmtop = app.AmberPrmtopFile(str(topology), periodicBoxVectors=state.box * unit.nanometer)
    original = prmtop.createSystem(nonbondedMethod=app.PME, nonbondedCutoff=cutoff)
    for index, force in enumerate(original.getForces()):
        force.setForceGroup(index)
        if isinstance(force, openmm.NonbondedForce):
            force.setPMEParameters(alpha, *grid)
    platform = openmm.Platform.getPlatformByName("Reference")
    context = openmm.Context(original, openmm.VerletIntegrator(0.001), platform)
    context.setPeriodicBoxVectors(*state.box)
    context.setPositions(state.positions)

    def energy(groups: int) -> float:
        found = context.getState(getEnergy=True, groups=groups).getPotentialEnergy()
        return float(found.value_in_unit(unit.kilojoule_per_mole))

    energies = dict.fromkeys(TERMS.values(), 0.0)
    for index, force in enumerate(original.getForces()):
        if force.getName() in TERMS:
            energies[TERMS[force.getName()]] += energy(1 << index)
    energies["potential"] = sum(energies.values())
    forces = context.getState(getForces=True).getForces(asNumpy=True)
    return Case(
        system,
        state,
        Nonbonded(cutoff=cutoff, pme_order=5, pme_alpha=alpha, pme_grid=grid),
        energies,
        forces.value_in_unit(unit.kilojoule_per_mole / unit.nanometer),
    )


@pytest.fixture(scope="session", params=["alanine", "octahedron", "jac"])
def case(request: pytest.FixtureRequest) -> Case:
    cutoff = 0.9 if request.param == "jac" else 0.8
    return evaluated(*request.getfixturevalue(request.param), cutoff=cutoff)


@pytest.fixture(scope="session")
def simulation(case: Case) -> Simulation:
    return Simulation(case.system, case.state, case.settings, device="cpu", ranks=2)


def test_terms_agree_with_openmm(case: Case, simulation: Simulation) -> None:
    energies = simulation.energies()
    for term in ("bond", "angle", "torsion"):
        assert energies[term] == pytest.approx(case.energies[term], rel=1e-6), term
    for term in ("nonbonded", "potential"):
        assert energies[term] == pytest.approx(case.energies[term], rel=1e-5), term


def test_forces_agree_with_openmm(case: Case, simulation: Simulation) -> None:
    assert relative_rms(simulation.forces(), case.forces) < 2e-5


def test_own_reference_agrees(case: Case, simulation: Simulation) -> None:
    """Every single term of the core, and of the reference that other tests lean on."""
    expected, forces = quiltmd.reference(case.system, case.state, case.settings)
    assert relative_rms(simulation.forces(), forces) < 2e-5
    assert relative_rms(forces, case.forces) < 2e-6
    energies = simulation.energies()
    lennard_jones = 5e-7 * repulsion_and_attraction(case, expected["lj"])
    assert energies["lj"] == pytest.approx(expected["lj"], rel=0, abs=lennard_jones)
    for term in expected.keys() - {"lj"}:
        assert energies[term] == pytest.approx(expected[term], rel=2e-6, abs=1e-3), term


def repulsion_and_attraction(case: Case, difference: float) -> float:
    """The sizes of the two parts of the Lennard-Jones energy, added, kJ/mol.

    Their difference is the energy, and small beside them.  The engine's sigma is in single
    precision, half a unit of which, 6e-8, is the same for all pairs of water, and 12 times that in
    sigma^12: an error that does not average out and is a part of each part, not of the difference.
    """
    repelling = replace(case.system, lj_b=np.zeros_like(case.system.lj_b))
    repulsion = quiltmd.reference(repelling, case.state, case.settings)[0]["lj"]
    return 2 * repulsion - difference


def test_order_4_splines_agree_with_the_reference(alanine: tuple[Path, Path]) -> None:
    system, state = quiltmd.load(*alanine)
    settings = Nonbonded(pme_order=4, pme_tolerance=1e-4)
    simulation = Simulation(system, state, settings, device="cpu")
    expected, forces = quiltmd.reference(system, state, settings)
    assert relative_rms(simulation.forces(), forces) < 2e-5
    assert simulation.energies()["potential"] == pytest.approx(expected["potential"], rel=2e-6)


def test_forces_are_the_gradient_of_the_energy(alanine: tuple[Path, Path]) -> None:
    """Along random directions, in the reference, which the core agrees with."""
    system, state = quiltmd.load(*alanine)
    settings = Nonbonded(pme_tolerance=1e-5, potential_shift=True)
    rng = np.random.default_rng(5)
    _, forces = quiltmd.reference(system, state, settings)
    for _ in range(2):
        direction = rng.normal(size=state.positions.shape)
        ends = []
        for sign in (1, -1):
            moved = quiltmd.State(
                state.positions + sign * 1e-6 * direction, state.velocities, state.box
            )
            ends.append(quiltmd.reference(system, moved, settings)[0]["potential"])
        slope = (ends[0] - ends[1]) / 2e-6
        assert -slope == pytest.approx(float(np.sum(forces * direction)), rel=2e-4)


ROOT = Path(__file__).resolve().parents[2]
MORE_INPUTS = Path(os.environ.get("QUILTMD_BENCHMARK_INPUTS", ROOT.parent / "shared" / "data"))
AMBERS = MORE_INPUTS / "jac_dhfr"
if (
    AMBERS / "ref_mdcrd.nc"
).is_file():  # a trajectory and energies by Amber itself, which no package carries

    def test_electrostatics_agree_with_amber() -> None:
        """EELEC of frame 0 of Amber's own trajectory, direct and reciprocal space, no 1-4 pairs.

        The cutoff is its mdin's 8 A; the figure is that of a converged sum, so the grid is fine."""
        system, state = quiltmd.load(AMBERS / "jac.parm7", AMBERS / "ref_mdcrd.nc", frame=0)
        settings = Nonbonded(cutoff=0.8, pme_tolerance=TIGHT)
        energies = Simulation(system, state, settings, device="cpu").energies()
        electrostatic = (energies["coulomb"] + energies["pme"]) / KCAL
        assert electrostatic == pytest.approx(-90446.01517306092, rel=1e-6)
