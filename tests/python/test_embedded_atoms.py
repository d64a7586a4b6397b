# SPDX-License-Identifier: Apache-2.0
"""Embedded atoms: potential files, LAMMPS' figures, ranks, restarts, pressure, refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import lammps_figures
import numpy as np
import pytest
from boxes import relative_rms
from lammps_figures import ELEMENTS, METALS, potential
from many_body_checks import (
    CALM,
    HASTY,
    check_conservation,
    check_derivatives,
    check_pressure,
    check_ranks,
    check_restart,
    check_tiled,
)
from many_body_systems import metal

import quiltmd
from quiltmd import InputError, QuiltError, Simulation, System, VelocityVerlet

FIGURES: dict[str, dict[str, Any]] = json.loads(lammps_figures.FIGURES.read_text())


@pytest.mark.parametrize("name", METALS)
def test_energy_forces_and_pressure_are_those_of_lammps(tmp_path: Path, name: str) -> None:
    system, state = metal(tmp_path, name)
    expected = FIGURES[name]
    energies, forces = quiltmd.reference(system, state)
    assert energies["potential"] == pytest.approx(expected["energy"], rel=1e-9)
    # LAMMPS leaves out the last point of a table in the format funcfl.
    assert relative_rms(forces, expected["forces"]) < (5e-6 if name == "funcfl" else 1e-8)
    simulation = Simulation(system, state)
    assert simulation.energies()["many-body"] == pytest.approx(expected["energy"], rel=1e-6)
    assert simulation.energies()["nonbonded"] == simulation.energies()["potential"]
    assert relative_rms(simulation.forces(), expected["forces"]) < 5e-6
    check_pressure(system, state, expected["pressure"], within=1)


@pytest.mark.parametrize("name", METALS)
def test_lammps_still_says_so(name: str) -> None:
    pytest.importorskip("lammps")
    found = lammps_figures.figures()[name]
    assert found["energy"] == pytest.approx(FIGURES[name]["energy"], rel=1e-13)


def test_forces_and_virial_are_derivatives(tmp_path: Path) -> None:
    check_derivatives(*metal(tmp_path, "fs"), ((0, 0), (41, 1), (100, 2)))


@pytest.mark.parametrize("lists", [(CALM, 0.08), (HASTY, 0.02)], ids=["calm", "hasty"])
def test_no_bit_depends_on_ranks(tmp_path: Path, lists: tuple[int, float]) -> None:
    check_ranks(*metal(tmp_path, "setfl", cells=7, displaced=0.3), *lists)


def test_a_restart_at_constant_pressure_goes_on(tmp_path: Path) -> None:
    check_restart(*metal(tmp_path, "setfl", cells=4), 0.002, tmp_path)


def test_lists_at_constant_energy_are_made_for_hot_crystals(tmp_path: Path) -> None:
    """Their buffer is wider than that of the same atoms with pair energies, which is for 300 K."""
    metals, state = metal(tmp_path, "funcfl", cells=4)
    pairs = System.of(np.full(metals.atoms, 63.5), sigma=0.2, epsilon=1.0)
    assert metals.nonbonded is not None
    chosen = quiltmd.Nonbonded(cutoff=metals.nonbonded.cutoff, method="cutoff")
    hot, warm = (
        Simulation(
            system, state, nonbonded=given, integrator=VelocityVerlet(0.005), device="cpu"
        ).describe()["list_buffer"]
        for system, given in ((metals, None), (pairs, chosen))
    )
    assert hot > 1.2 * warm


def test_energy_is_conserved(tmp_path: Path) -> None:
    check_conservation(*metal(tmp_path, "funcfl", cells=4, displaced=0.2), 0.001, settle=200)


def test_tiled_crystals_have_the_energy_of_their_cells(tmp_path: Path) -> None:
    check_tiled(*metal(tmp_path, "setfl"), within=1e-7)


def test_charges_and_pairs_act_beside_embedding(tmp_path: Path) -> None:
    system, state = metal(tmp_path, "funcfl")
    alone = Simulation(system, state).energies()["many-body"]
    charges = np.where(np.arange(system.atoms) % 2, 0.1, -0.1)
    both = replace(system, charges=charges, lj_a=np.full((1, 1), 1e-6))
    energies = Simulation(both, state).energies()
    assert energies["many-body"] == alone
    for term in ("coulomb", "lj"):
        assert energies[term] == pytest.approx(quiltmd.reference(both, state)[0][term], rel=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nonbonded": quiltmd.Nonbonded(method="cutoff", cutoff=0.4)}, "shorter than that"),
        ({"nonbonded": quiltmd.Nonbonded(method="no-cutoff")}, "box"),
        (
            {"nonbonded": quiltmd.Nonbonded(cutoff=0.5, coulomb_cutoff=0.4)},
            "embedded atoms .* leave out coulomb_cutoff",
        ),
    ],
)
def test_unsuited_settings_are_refused(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    system, state = metal(tmp_path, "funcfl")
    with pytest.raises(QuiltError, match=message):
        Simulation(replace(system, **change), state)


def test_exclusions_are_refused(tmp_path: Path) -> None:
    system, _ = metal(tmp_path, "funcfl")
    with pytest.raises(InputError, match="leave out exclusions"):
        replace(system, exclusions=np.array([[0, 1]]))


# ---- Potential files ----------------------------------------------------------------------------


def test_the_elements_of_a_file(tmp_path: Path) -> None:
    for name, found in (("funcfl", ("Cu",)), ("setfl", ELEMENTS), ("fs", ELEMENTS)):
        (tmp_path / name).write_text(potential(name))
        assert quiltmd.read_eam(tmp_path / name).elements == found
    with pytest.raises(InputError, match="no element 'Au'; it has Cu, Al"):
        quiltmd.embedded_system(quiltmd.read_eam(tmp_path / "fs"), ["Cu", "Au"])


@pytest.mark.parametrize("name", METALS)
def test_damaged_files_are_refused_with_the_line(tmp_path: Path, name: str) -> None:
    lines = potential(name).splitlines()
    file = tmp_path / name
    for damaged in (
        lines[:-1],  # too short
        [*lines, "1.0"],  # too long
        [*lines[:50], "one", *lines[51:]],
        [*lines[:50], "nan", *lines[51:]],
        lines[:4],
        ["text"] * 9,
        ["made up, UNITS: real", *lines[1:]],
        [line.replace(str(lammps_figures.POINTS), "-7") for line in lines],
    ):
        file.write_text("\n".join(damaged) + "\n")
        with pytest.raises(InputError, match=r"line \d+: "):
            quiltmd.read_eam(file)


def test_funcfl_files_of_two_elements(tmp_path: Path) -> None:
    text = potential("funcfl")
    (tmp_path / "Cu").write_text(text)
    (tmp_path / "Al").write_text(text.replace("29 63.55", "13 26.98"))
    both = quiltmd.read_eam(tmp_path / "Cu", tmp_path / "Al")
    assert both.elements == ("Cu", "Al")
    assert np.asarray(both.pairs).std(axis=(0, 1)).max() == 0
    (tmp_path / "fine").write_text(text.replace(" 0.01 ", " 0.011 "))
    with pytest.raises(InputError, match="other points than those of"):
        quiltmd.read_eam(tmp_path / "Cu", tmp_path / "fine")
    (tmp_path / "setfl").write_text(potential("setfl"))
    with pytest.raises(InputError, match="read it alone"):
        quiltmd.read_eam(tmp_path / "Cu", tmp_path / "setfl")
