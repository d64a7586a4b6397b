# SPDX-License-Identifier: Apache-2.0
"""Constant forces and a uniform electric field: against OpenMM, over periodic images, in runs."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import pytest
from boxes import relative_rms, water_box
from command import quiltmd as command
from test_convert import CHOSEN, by_openmm
from test_inputs_gromacs import BOX, positions, write

import quiltmd
from quiltmd import InputError, State, System, VelocityVerlet, apply_electric_field
from quiltmd.description.electric_field import ELECTRONVOLT, forces_of
from quiltmd.inputs import describe
from quiltmd.openmm.write import to_openmm, write_openmm, write_openmm_state
from quiltmd.running.config import read_config

pytestmark = pytest.mark.filterwarnings("ignore:the system has a net charge:quiltmd.QuiltWarning")

FIELD = (0.3, -0.7, 1.1)  # V/nm
FORCE = ELECTRONVOLT * np.array(FIELD)  # kJ/mol/nm on a charge of 1 e


@pytest.fixture
def molecule(tmp_path: Path) -> tuple[System, State]:
    """A charged molecule with virtual sites, and its first atom in the cell."""
    system = describe(write(tmp_path), defines=["CMAP"]).system
    return system, State.start(system, positions(), BOX * np.eye(3))


def external(expression: str, charges: Any) -> Any:
    """A CustomExternalForce on all atoms, whose field is in global parameters."""
    force = openmm.CustomExternalForce(expression)
    force.addPerParticleParameter("q")
    for name, value in zip(("Ex", "Ey", "Ez"), FORCE, strict=True):
        force.addGlobalParameter(name, value)
    for atom, charge in enumerate(charges.tolist()):
        force.addParticle(atom, [charge])
    return force


@pytest.mark.parametrize(
    "expression", ["-q*(Ex*x+Ey*y+Ez*z)", "-q*Ex*x - q*y*Ey - Ez*q*z;", "-1*(q*Ex*x+Ey*q*y+q*Ez*z)"]
)
def test_the_field_of_an_openmm_system(expression: str, molecule: tuple[System, State]) -> None:
    system, state = molecule
    made = to_openmm(system, CHOSEN)
    without = by_openmm(made, state)
    made.addForce(external(expression, system.charges))
    theirs = by_openmm(made, state)
    read = System.from_openmm(made)
    assert forces_of(read) == pytest.approx(system.charges[:, None] * FORCE, abs=1e-9)
    energies, forces = quiltmd.reference(read, state, CHOSEN)
    # The place of the net charge is the middle of the box here, the origin there.
    middle = system.charges.sum() * FORCE.sum() * BOX / 2
    assert energies["external"] == pytest.approx(theirs[0] - without[0] + middle, rel=1e-6)
    assert relative_rms(forces, theirs[1]) < 1e-6
    simulation = quiltmd.Simulation(read, state, CHOSEN, device="cpu")
    assert simulation.energies()["external"] == pytest.approx(energies["external"])
    assert relative_rms(simulation.forces(), theirs[1]) < 1e-5
    again = System.from_openmm(to_openmm(read, CHOSEN))
    assert forces_of(again) == pytest.approx(forces_of(read), abs=1e-9)
    by_name = apply_electric_field(system, FIELD)
    assert quiltmd.reference(by_name, state, CHOSEN)[0]["external"] == pytest.approx(
        energies["external"]
    )


@pytest.mark.parametrize("expression", ["-q*Ex*x*y", "-q*Ex", "x*(Ex*y)", "-q*sin(x)"])
def test_what_is_not_constant_is_an_expression(
    expression: str, molecule: tuple[System, State]
) -> None:
    system, state = molecule
    made = to_openmm(system, CHOSEN)
    without = by_openmm(made, state)
    made.addForce(external(expression, system.charges))
    theirs = by_openmm(made, state)
    read = System.from_openmm(made)
    assert not forces_of(read).any()
    energies, forces = quiltmd.reference(read, state, CHOSEN)
    assert energies["custom"] == pytest.approx(theirs[0] - without[0], rel=1e-6, abs=1e-6)
    assert relative_rms(forces, theirs[1]) < 1e-6


@pytest.mark.parametrize("expression", ["-q*Ex*x^2", "-q*Ew*x"])
def test_what_makes_no_sense_is_refused(expression: str, molecule: tuple[System, State]) -> None:
    made = to_openmm(molecule[0], CHOSEN)
    made.addForce(external(expression, molecule[0].charges))
    with pytest.raises(InputError, match="CustomExternalForce"):
        System.from_openmm(made)


def with_ions(waters: tuple[System, State]) -> tuple[System, State]:
    """Oxygens of two waters have the charge of an ion, their hydrogens none."""
    system, state = waters
    charges = system.charges.copy()
    charges[:3], charges[3:6] = (1.0, 0.0, 0.0), (-1.0, 0.0, 0.0)
    return replace(system, charges=charges), state


def test_the_energy_is_that_of_dipoles_whatever_the_images() -> None:
    system, state = with_ions(water_box((6, 6, 6)))
    pulled = apply_electric_field(system, FIELD)
    assert pulled.constant_forces[:, 0].tolist() == [0, 3]
    off_the_edge = state.positions + 0.13
    inside = off_the_edge - state.box.diagonal() * np.floor(
        np.repeat(off_the_edge[::3], 3, axis=0) / state.box.diagonal()
    )
    expected = -np.sum(system.charges[:, None] * FORCE * inside)
    generator = np.random.default_rng(3)
    for moved in (0.0, generator.integers(-2, 3, inside.shape) * state.box.diagonal()):
        now = State.start(pulled, inside + moved, state.box)
        assert quiltmd.reference(pulled, now)[0]["external"] == pytest.approx(expected)
        simulation = quiltmd.Simulation(pulled, now, device="cpu")
        assert simulation.energies()["external"] == pytest.approx(expected, rel=1e-5)


def test_dynamics_conserve_energy_and_turn_dipoles() -> None:
    """Waters cross the boundary all the time; their energy does not see it."""
    system, state = water_box((6, 6, 6))
    pulled = apply_electric_field(system, (0.0, 0.0, 2.0))
    start = quiltmd.Simulation(pulled, state, device="cpu")
    start.minimize()
    shifted = start.positions() + np.array([0.0, 0.0, 0.4])
    digests = []
    for ranks in (1, 3):
        begun = State.start(pulled, shifted, state.box)
        simulation = quiltmd.Simulation(
            pulled, begun, integrator=VelocityVerlet(0.001), device="cpu", ranks=ranks
        )
        simulation.run(100)
        before = simulation.energies()
        simulation.run(300)
        after = simulation.energies()
        assert abs(after["total"] - before["total"]) < 0.02 * abs(after["kinetic"])
        digests.append(quiltmd.digest(simulation.state()))
    assert digests[0] == digests[1]
    dipole = np.sum(system.charges[:, None] * simulation.positions(), axis=0)
    assert dipole[2] > 0.3 * 6**3 * 0.0489  # e nm: along the field


def test_a_field_needs_three_numbers() -> None:
    system, _ = water_box((6, 6, 6))
    for field in ((1.0,), (1.0, np.nan, 0.0), "along z", (1.0, (0.0, 1.0), 0.0)):
        with pytest.raises(InputError, match=r"field must be three .*numbers, V/nm"):
            apply_electric_field(system, field)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"field must be a number, in V/nm, .* not .*'up'"):
        apply_electric_field(system, ("0", "0", "up"))  # type: ignore[arg-type]


def test_a_field_in_volts_per_metre_is_odd() -> None:
    system, _ = water_box((3, 3, 3))
    with pytest.warns(quiltmd.QuiltWarning, match=r"1e\+08 V/m are 0\.1 V/nm"):
        apply_electric_field(system, (0, 0, 1e8))


def test_a_run_in_a_field(tmp_path: Path) -> None:
    """From the command line; the energy is in the log."""
    system, state = with_ions(water_box((6, 6, 6)))
    simulation = quiltmd.Simulation(system, state, device="cpu")
    simulation.minimize()
    write_openmm(tmp_path / "system.xml", system, box=state.box)
    write_openmm_state(tmp_path / "state.xml", system, simulation.state())
    done = command(
        *("run", "--topology", "system.xml", "--coordinates", "state.xml", "--device", "cpu"),
        *("--electric-field", "0.1,0,-0.2", "--steps", "4", "--log-every", "2", "--log-terms"),
        *("--ensemble", "nve", "--out", "out"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    written = read_config(tmp_path / "out" / "config.toml")
    assert written["system"]["electric_field"] == [0.1, 0.0, -0.2]
    with open(tmp_path / "out" / "log.csv") as file:
        rows = list(csv.DictReader(file))
    assert len({row["external"] for row in rows}) == len(rows) > 1
