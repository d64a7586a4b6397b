# SPDX-License-Identifier: Apache-2.0
"""Molecules whose inner forces a model provides: the sum of two programs, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import pytest
from ase import Atoms, units
from ase.calculators.calculator import Calculator, all_changes
from numpy.typing import NDArray
from openmm import app
from openmm_reference import energy_and_forces

import quiltmd
from quiltmd import InputError, Nonbonded, Simulation, State, System
from quiltmd.ase import AseForce
from quiltmd.running import runner
from quiltmd.running.config import build_config

F64 = NDArray[np.float64]
KJ = units.kJ / units.mol
SOLUTE = 22  # atoms of alanine dipeptide
SETTINGS = Nonbonded(cutoff=0.9, pme_alpha=3.2, pme_grid=(48, 48, 48), dispersion_correction=False)
pytestmark = pytest.mark.filterwarnings("ignore:a time step of")


class Network(Calculator):
    """A network with random weights: springs, and a layer of neurons on inverse distances."""

    implemented_properties = ["energy", "forces"]  # noqa: RUF012

    def __init__(self, positions: F64, elements: Any, neurons: int = 12) -> None:
        super().__init__()
        rng = np.random.default_rng(5)
        self.first, self.second = np.triu_indices(len(positions), 1)
        count = len(self.first)
        self.weights = rng.normal(size=(neurons, count)) / np.sqrt(count)
        self.bias, self.out = rng.normal(size=neurons), 0.05 * rng.normal(size=neurons)
        self.lengths = self._distances(positions)[1]
        self.stiffness = np.where(self.lengths < 2.0, 15.0, 0.15)  # eV/A^2

    def _distances(self, positions: F64) -> tuple[F64, F64]:
        between = positions[self.first] - positions[self.second]
        return between, np.linalg.norm(between, axis=1)

    def calculate(
        self, atoms: Any = None, properties: Any = ("energy",), system_changes: Any = all_changes
    ) -> None:
        super().calculate(atoms, properties, system_changes)
        between, r = self._distances(self.atoms.positions)
        layer = np.tanh(self.weights @ (1 / r) + self.bias)
        away = r - self.lengths
        energy = self.out @ layer + 0.5 * (self.stiffness * away**2).sum()
        slope = -((self.out * (1 - layer**2)) @ self.weights) / r**2 + self.stiffness * away
        pulls = -(slope / r)[:, None] * between
        forces = np.zeros_like(self.atoms.positions)
        np.add.at(forces, self.first, pulls)
        np.add.at(forces, self.second, -pulls)
        self.results = {"energy": float(energy), "forces": forces}


@pytest.fixture(scope="module")
def flexible(alanine: tuple[Path, Path]) -> tuple[System, State]:
    return quiltmd.load(*alanine, constraints="none", rigid_water=False)


def model(state: State, system: System) -> Atoms:
    atoms = Atoms(list(system.topology.elements[:SOLUTE]), 10 * state.positions[:SOLUTE])
    atoms.calc = Network(atoms.positions.copy(), None)
    return atoms


def without_inner_forces(alanine: tuple[Path, Path]) -> Any:
    """OpenMM's System of the same files, from which everything inside the solute is taken."""
    prmtop = app.AmberPrmtopFile(str(alanine[0]))
    theirs = prmtop.createSystem(app.PME, nonbondedCutoff=0.9, rigidWater=False)
    for force in theirs.getForces():
        if isinstance(force, openmm.HarmonicBondForce):
            for k in range(force.getNumBonds()):
                *atoms, length, _ = force.getBondParameters(k)
                if max(atoms) < SOLUTE:
                    force.setBondParameters(k, *atoms, length, 0.0)
        elif isinstance(force, openmm.HarmonicAngleForce):
            for k in range(force.getNumAngles()):
                *atoms, angle, _ = force.getAngleParameters(k)
                if max(atoms) < SOLUTE:
                    force.setAngleParameters(k, *atoms, angle, 0.0)
        elif isinstance(force, openmm.PeriodicTorsionForce):
            for k in range(force.getNumTorsions()):
                *given, _ = force.getTorsionParameters(k)
                if max(given[:4]) < SOLUTE:
                    force.setTorsionParameters(k, *given, 0.0)
        elif isinstance(force, openmm.NonbondedForce):
            force.setPMEParameters(3.2, 48, 48, 48)
            force.setUseDispersionCorrection(False)
            for i in range(SOLUTE):
                for j in range(i):
                    force.addException(i, j, 0.0, 1.0, 0.0, replace=True)
    return theirs


def test_energies_and_forces_are_the_sum_of_both(
    alanine: tuple[Path, Path], flexible: tuple[System, State]
) -> None:
    """OpenMM without what is inside the solute, and the model's calculator by itself."""
    system, state = flexible
    atoms = model(state, system)
    moved = state.positions + np.random.default_rng(1).normal(scale=2e-3, size=(system.atoms, 3))
    state = State(moved, state.velocities, state.box, 0)
    region = quiltmd.model_region(system, "solute")
    force = AseForce(atoms, atoms="solute")
    sim = Simulation(region, state, SETTINGS, external=[force], device="cpu")
    theirs = without_inner_forces(alanine)
    energy, forces = energy_and_forces(theirs, state.positions)
    atoms.positions = 10 * state.positions[:SOLUTE]
    of_model = atoms.get_potential_energy() / KJ
    forces[:SOLUTE] += atoms.get_forces() / KJ * 10
    assert abs(of_model) > 10
    assert sim.energies()["ase"] == pytest.approx(of_model, abs=1e-6)
    assert sim.energies()["potential"] == pytest.approx(energy + of_model, rel=2e-6)
    errors = np.linalg.norm(sim.forces() - forces, axis=1)
    assert errors.max() < 2e-4 * np.linalg.norm(forces, axis=1).mean()


def test_a_run_does_not_depend_on_ranks(
    flexible: tuple[System, State],
) -> None:
    system, state = flexible
    region = quiltmd.model_region(system, range(SOLUTE))
    found = []
    for ranks in (1, 2):
        sim = Simulation(
            region,
            state,
            integrator=quiltmd.VelocityVerlet(0.0005),
            external=[AseForce(model(state, system), atoms="solute")],
            device="cpu",
            ranks=ranks,
        )
        sim.draw_velocities(300, 1)
        sim.run(80)
        found.append(sim.state())
    assert found[0].positions.tobytes() == found[1].positions.tobytes()
    assert system.molecules[SOLUTE - 1] == region.molecules[SOLUTE - 1] == 0
    away = np.linalg.norm(found[0].positions[:SOLUTE] - found[0].positions[8], axis=1)
    assert away.max() < 1.0  # the molecule is still one


class Pull(quiltmd.ExternalForce):
    """A model that pulls two bonded atoms apart."""

    name = "model"
    atoms = (4, 5)

    def compute(self, step: int, positions: F64, box: F64 | None) -> tuple[float, F64]:
        between = positions[1] - positions[0]
        away = 3000 * between / np.linalg.norm(between)
        return -3000 * float(np.linalg.norm(between)), np.array([-away, away])


def test_a_bond_that_breaks_ends_the_run(flexible: tuple[System, State]) -> None:
    """Within steps: reciprocal-space corrections of excluded pairs count on its length."""
    system, state = flexible
    region = quiltmd.model_region(system, "solute")
    steps = quiltmd.LangevinMiddle(300, 1.0, 0.0005, seed=2)
    sim = Simulation(region, state, integrator=steps, external=[Pull()], device="cpu")
    with pytest.raises(quiltmd.SimulationError, match=r"blew up at atom \d+ ") as caught:
        sim.run(400)
    assert re.search(
        r"its bond to atom \d+ \(.*\) was 0\.\d+ nm long, which may not exceed", str(caught.value)
    )
    assert "FENE" not in str(caught.value)
    assert np.linalg.norm(state.positions[4] - state.positions[5]) < 0.2


def test_what_is_left_is_that_of_other_molecules(flexible: tuple[System, State]) -> None:
    """Terms, constraints and exclusions of the rest stay, in their order; so do restraints."""
    system, state = flexible
    restraint = quiltmd.Restraint("distance", ("index 1", "index 7"), 100.0, lower=0.3)
    system = quiltmd.restrain(system, [restraint], state.positions, state.box)
    region = quiltmd.model_region(system, "solute")
    for name in ("bond", "angle", "torsion", "pair14"):
        terms = system.terms[name]
        rest = (terms.atoms >= SOLUTE).all(axis=1)
        np.testing.assert_array_equal(region.terms[name].atoms, terms.atoms[rest])
        np.testing.assert_array_equal(region.terms[name].parameters, terms.parameters[rest])
    assert len(region.terms["distance_restraint"]) == 1
    inner = (region.exclusions < SOLUTE).all(axis=1)
    assert inner.sum() == SOLUTE * (SOLUTE - 1) // 2
    rest = (system.exclusions >= SOLUTE).all(axis=1)
    np.testing.assert_array_equal(
        np.sort(region.exclusions[~inner], axis=0), np.sort(system.exclusions[rest], axis=0)
    )


def test_constraints_in_the_region_go(alanine: tuple[Path, Path]) -> None:
    system, _ = quiltmd.load(*alanine, constraints="h-bonds")
    region = quiltmd.model_region(system, "solute")
    assert (region.constraints >= SOLUTE).all()
    assert len(region.constraints) == (system.constraints >= SOLUTE).all(axis=1).sum()
    assert region.degrees_of_freedom == system.degrees_of_freedom + 12


def test_regions_that_cannot_be_are_refused(
    flexible: tuple[System, State], openmmtools_data: Path
) -> None:
    system, _ = flexible
    with pytest.raises(InputError, match=r"leads out of the region .*no link atoms"):
        quiltmd.model_region(system, range(10))
    with pytest.raises(InputError, match="several molecules: give `extent`"):
        quiltmd.model_region(system, range(SOLUTE + 3))
    several = quiltmd.model_region(system, range(SOLUTE + 3), extent=1.2)
    assert several.molecules[SOLUTE] == 0
    with pytest.raises(InputError, match="extent must be positive"):
        quiltmd.model_region(system, range(SOLUTE + 3), extent=-1)
    with pytest.raises(InputError, match="indices from 0"):
        quiltmd.model_region(system, [system.atoms])
    folder = openmmtools_data / "alanine-dipeptide-gbsa"
    files = [folder / f"alanine-dipeptide.{suffix}" for suffix in ("prmtop", "crd")]
    dry, _ = quiltmd.load(*files, solvent=quiltmd.ImplicitSolvent("obc2"))
    with pytest.raises(InputError, match="implicit solvent cannot be given a region"):
        quiltmd.model_region(dry, "all")
    four = System.of(
        [16.0, 1.0, 1.0, 0.0],
        constraints=[[0, 1], [0, 2], [1, 2]],
        constraint_lengths=[0.1, 0.1, 0.15],
        sites=[[3, 0, 1, 2, -1, -1, -1, -1]],
        site_weights=np.eye(3, 7)[None] * 0 + np.array([[1, 0, 0, 0, 0, 0, 0], *[[0] * 7] * 2]),
        site_offsets=np.zeros((1, 4)),
    )
    with pytest.raises(InputError, match="is a virtual site"):
        quiltmd.model_region(four, range(4))


MODULE = """
import sys
sys.path.insert(0, {folder!r})
import numpy as np
from ase import Atoms
from quiltmd.ase import AseForce
from test_model_region import Network

def make():
    atoms = Atoms({elements!r}, {positions!r})
    atoms.calc = Network(atoms.positions.copy(), None)
    return AseForce(atoms, atoms="solute")
"""


def test_a_configuration_has_a_region(
    alanine: tuple[Path, Path], flexible: tuple[System, State], tmp_path: Path
) -> None:
    system, state = flexible
    text = MODULE.format(
        folder=str(Path(__file__).parent),
        elements=list(system.topology.elements[:SOLUTE]),
        positions=(10 * state.positions[:SOLUTE]).tolist(),
    )
    (tmp_path / "small_model.py").write_text(text)
    external = {
        "kind": "python",
        "factory": "small_model:make",
        "path": tmp_path,
        "region": "solute",
    }
    settings: dict[str, Any] = {
        "system": {"topology": alanine[0], "coordinates": alanine[1]},
        "integrator": {"seed": 3, "timestep": 0.0005},
        "run": {"steps": 4, "device": "cpu"},
        "output": {"dir": tmp_path / "out", "log_every": 1, "log_terms": True, "final": []},
        "external": [external],
    }
    runner.start(build_config(settings))
    header, first, *_ = (tmp_path / "out" / "log.csv").read_text().splitlines()
    row = dict(zip(header.split(","), first.split(","), strict=True))
    assert float(row["angle"]) == 0  # of rigid water
    assert float(row["ase"]) == pytest.approx(
        model(state, system).get_potential_energy() / KJ, abs=1e-3
    )
