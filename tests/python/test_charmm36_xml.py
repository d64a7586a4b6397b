# SPDX-License-Identifier: Apache-2.0
"""OpenMM's charmm36.xml, whose Lennard-Jones interactions have tables by types: as files."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import openmm
import pytest
from openmm import app, unit
from openmm_terms import compare, difference, openmm_terms, quilt_terms
from test_openmm_force_fields import molecule, water_and_ions

import quiltmd
from quiltmd import Nonbonded, System

NAMES = ("charmm36.xml", "charmm36/water.xml")


@functools.cache
def force_field(*names: str) -> Any:
    return app.ForceField(*names)


@functools.cache
def water(names: tuple[str, ...] = NAMES) -> tuple[Any, Any]:
    """A box of water with NaCl, with PME that is converged: its System, and its Modeller."""
    made = water_and_ions(force_field(*names))
    system = force_field(*names).createSystem(
        made.topology,
        nonbondedMethod=app.PME,
        nonbondedCutoff=0.9,
        ewaldErrorTolerance=1e-6,
        rigidWater=False,
    )
    return system, made


def test_system_xml(tmp_path: Path) -> None:
    system, made = water()
    context = openmm.Context(system, openmm.VerletIntegrator(0.001))
    context.setPositions(made.positions)
    (tmp_path / "system.xml").write_text(openmm.XmlSerializer.serialize(system))
    state = context.getState(positions=True)
    (tmp_path / "state.xml").write_text(openmm.XmlSerializer.serialize(state))
    loaded = quiltmd.load(tmp_path / "system.xml", tmp_path / "state.xml", rigid_water=False)
    found = difference(
        quilt_terms(*loaded), openmm_terms(system, made.positions), loaded[0].masses > 0
    )
    assert found.energy < 2e-7
    assert found.forces < 1e-6


def test_mmcif_with_force_field_files(tmp_path: Path) -> None:
    system, made = water()
    path = tmp_path / "water.cif"
    with open(path, "w") as file:
        app.PDBxFile.writeFile(made.topology, made.positions, file)
    loaded = quiltmd.load(path, path, parameters=NAMES, rigid_water=False)
    places = app.PDBxFile(str(path)).positions
    chosen = Nonbonded(cutoff=0.9, pme_tolerance=1e-6, dispersion_correction=False)
    found = difference(
        quilt_terms(*loaded, chosen), openmm_terms(system, places), loaded[0].masses > 0
    )
    assert found.energy < 2e-7
    assert found.forces < 1e-6


def test_pairs_with_parameters_of_their_own() -> None:
    """Sodium and chloride as the force field states them (NBFIX): Rmin 3.731 Å, 0.083875 kcal."""
    system, made = water()
    read = System.from_openmm(system, made.topology)
    elements = list(read.topology.elements)
    pair = tuple(read.lj_types[elements.index(number)] for number in (11, 17))
    a, b = read.lj_a[pair], read.lj_b[pair]
    assert (2 * a / b) ** (1 / 6) == pytest.approx(0.3731, rel=1e-6)
    assert b * b / (4 * a) == pytest.approx(0.083875 * 4.184, rel=1e-6)


def test_lipids() -> None:
    made = molecule("POPC")
    system = force_field(*NAMES).createSystem(made.topology, nonbondedMethod=app.NoCutoff)
    found = compare(system, made.topology, made.positions)
    assert found.energy < 1e-11
    assert found.forces < 1e-12


def test_waters_by_themselves() -> None:
    """A file of water and ions alone; with virtual sites."""
    system, made = water(("charmm36_2024/tip4p2005.xml",))
    found = compare(system, made.topology, made.positions)
    assert found.energy < 2e-7
    assert found.forces < 1e-6


def test_plain_cutoff() -> None:
    """With a reaction field and a switching function."""
    made = water_and_ions(force_field(*NAMES))
    system = force_field(*NAMES).createSystem(
        made.topology,
        nonbondedMethod=app.CutoffPeriodic,
        nonbondedCutoff=0.9 * unit.nanometer,
        switchDistance=0.7 * unit.nanometer,
        rigidWater=False,
    )
    found = compare(system, made.topology, made.positions)
    assert found.energy < 1e-9
    assert found.forces < 1e-9
