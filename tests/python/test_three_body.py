# SPDX-License-Identifier: Apache-2.0
"""Three-body potentials: LAMMPS' figures, silicon, ranks, restarts, files, refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import lammps_crystals
import numpy as np
import numpy.typing as npt
import pytest
from boxes import BAR, relative_rms
from damage import fuzz
from lammps_crystals import EV, STYLES, crystal, potential
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
from many_body_systems import READ, mixed, read

import quiltmd
from quiltmd import (
    InputError,
    QuiltError,
    Simulation,
    State,
    System,
    ThreeBodyPotential,
)
from quiltmd.engine.reference import reference_virial

FIGURES: dict[str, dict[str, Any]] = json.loads(lammps_crystals.FIGURES.read_text())


@pytest.mark.parametrize("style", STYLES)
def test_energy_forces_and_pressure_are_those_of_lammps(tmp_path: Path, style: str) -> None:
    system, state = mixed(tmp_path, style)
    expected = FIGURES[style]
    energies, forces = quiltmd.reference(system, state)
    assert energies["potential"] == pytest.approx(expected["energy"], rel=1e-10)
    assert relative_rms(forces, expected["forces"]) < 1e-8
    simulation = Simulation(system, state)
    assert simulation.energies()["many-body"] == pytest.approx(expected["energy"], rel=1e-9)
    assert simulation.energies()["nonbonded"] == simulation.energies()["potential"]
    assert relative_rms(simulation.forces(), expected["forces"]) < 1e-8
    check_pressure(system, state, expected["pressure"], within=0.1)


@pytest.mark.parametrize("style", STYLES)
def test_lammps_still_says_so(style: str) -> None:
    pytest.importorskip("lammps")
    found = lammps_crystals.figures()[style]
    assert found["energy"] == pytest.approx(FIGURES[style]["energy"], rel=1e-13)


@pytest.mark.parametrize("style", STYLES)
def test_forces_and_virial_are_derivatives(tmp_path: Path, style: str) -> None:
    system, state = mixed(tmp_path, style)
    check_derivatives(system, state, ((0, 0), (41, 1), (60, 2)), within=1e-3)


@pytest.mark.parametrize("lists", [(CALM, 0.08), (HASTY, 0.01)], ids=["calm", "hasty"])
@pytest.mark.parametrize("style", STYLES)
def test_no_bit_depends_on_ranks(tmp_path: Path, style: str, lists: tuple[int, float]) -> None:
    check_ranks(*mixed(tmp_path, style, cells=4), *lists)


@pytest.mark.parametrize("style", STYLES)
def test_a_restart_at_constant_pressure_goes_on(tmp_path: Path, style: str) -> None:
    check_restart(*mixed(tmp_path, style, cells=3), 0.001, tmp_path)


@pytest.mark.parametrize("style", STYLES)
def test_energy_is_conserved(tmp_path: Path, style: str) -> None:
    check_conservation(*mixed(tmp_path, style), timestep=0.00025, settle=400)


def test_more_neighbours_than_there_is_room_for(tmp_path: Path) -> None:
    system, state = mixed(tmp_path, "sw", cells=3)
    dense = State.start(system, state.positions * 0.7, state.box * 0.7)
    expected = quiltmd.reference(system, dense)
    simulation = Simulation(system, dense)
    assert simulation.energies()["many-body"] == pytest.approx(expected[0]["potential"], rel=1e-9)
    assert relative_rms(simulation.forces(), expected[1]) < 1e-8


@pytest.mark.parametrize("style", STYLES)
def test_tiled_crystals_have_the_energy_of_their_cells(tmp_path: Path, style: str) -> None:
    check_tiled(*mixed(tmp_path, style), within=1e-10)


# ---- Silicon ------------------------------------------------------------------------------------

GPA = BAR * 1e-4  # of kJ/mol/nm^3


def silicon(constant: float, strain: npt.ArrayLike | None = None) -> tuple[System, State]:
    places, edge = crystal(2, displaced=0)
    scale = constant / lammps_crystals.CONSTANT / 10
    system = quiltmd.three_body_system(SILICON, ["Si"] * len(places))
    deformed = np.eye(3) if strain is None else np.eye(3) + np.asarray(strain)
    box = np.diag([edge * scale] * 3) @ deformed
    return system, State.start(system, places * scale @ deformed, box)


SILICON = ThreeBodyPotential(
    "stillinger-weber",
    ("Si",),
    np.reshape(
        [2.1683 * EV, 0.20951, 1.8, 21.0, 1.2, -1 / 3, 7.049556277, 0.6022245584, 4, 0],
        (1, 1, 1, 10),
    ),
)


def stress(constant: float, strain: npt.ArrayLike, relaxed: bool = False) -> Any:
    """GPa, with the two sublattices where they are at rest if asked."""
    system, state = silicon(constant, strain)
    if relaxed:
        simulation = Simulation(system, state)
        simulation.minimize(tolerance=1e-3)
        state = simulation.state()
    volume = np.linalg.det(np.asarray(state.box))
    return -reference_virial(system, state) * GPA / volume


def test_silicon_has_its_published_properties() -> None:
    """Elastic constants: Cowley, Phys. Rev. Lett. 60, 2379 (1988)."""
    constants = np.linspace(5.42, 5.44, 5)
    energies = [quiltmd.reference(*silicon(a))[0]["potential"] / EV / 64 for a in constants]
    a2, a1, a0 = np.polyfit(constants - 5.43, energies, 2)
    constant = 5.43 - a1 / (2 * a2)
    assert constant == pytest.approx(5.431, rel=1e-3)
    assert a0 - a1**2 / (4 * a2) == pytest.approx(-4.3366, rel=1e-3)
    e = 1e-3
    along = np.diag([e, 0, 0])
    by_strain = (stress(constant, along) - stress(constant, -along)) / (2 * e)
    assert by_strain[0, 0] == pytest.approx(151.4, rel=0.01)
    assert by_strain[1, 1] == pytest.approx(76.4, rel=0.01)
    sheared = np.zeros((3, 3))
    sheared[1, 0] = e
    slope = (stress(constant, sheared, True) - stress(constant, -sheared, True)) / (2 * e)
    assert slope[0, 1] == pytest.approx(56.4, rel=0.01)


# ---- Refusals and files -------------------------------------------------------------------------


def test_unsuited_settings_are_refused(tmp_path: Path) -> None:
    system, state = mixed(tmp_path, "sw")
    for nonbonded, message in (
        (quiltmd.Nonbonded(method="cutoff", cutoff=0.3), "shorter than that of the three-body"),
        (quiltmd.Nonbonded(method="no-cutoff"), "box"),
    ):
        with pytest.raises(QuiltError, match=message):
            Simulation(replace(system, nonbonded=nonbonded), state)
    with pytest.raises(InputError, match="leave out exclusions"):
        replace(system, exclusions=np.array([[0, 1]]))
    with pytest.raises(InputError, match="no element 'C'; it has Si, Ge"):
        quiltmd.three_body_system(read(tmp_path, "sw"), ["C"])


@pytest.mark.parametrize(
    ("style", "change", "message"),
    [
        ("sw", ("Si Si Si 2.1683", "Si Si Si one"), "line 2: 'one' is not a number"),
        ("sw", ("Si Si Si 2.1683", "Si Si Si nan"), "line 2: 'nan' is not a finite number"),
        ("sw", ("4.0 0.0 0.0", "4.0 0.0 0.01"), "line 2: a tolerance other than 0"),
        ("sw", ("4.0 0.0 0.0", "4.0 0.0"), "line 3: 'Si' is not a number"),
        ("sw", ("3.5 0.0 0.0", "3.5 0.0"), "line 9: an entry needs three elements and 11 values"),
        ("sw", ("Ge Ge Ge", "Ge Ge Si"), "a second entry of Ge Ge Si"),
        ("sw", ("Si Si Ge", "Si Si C"), "no entry of Si Si Ge"),
        ("sw", ("UNITS: metal", "UNITS: si"), "line 1: the units must be metal or real"),
        ("sw", ("Si Ge Ge 1.9", "Si Ge Ge 1.7"), "epsilon of Si and Ge depends on the order"),
        (
            "sw",
            ("Si Si Ge 1.95", "Si Si Ge 1.9"),
            "lambda of Si and Ge depends on the order of two n",
        ),
        ("tersoff", ("Si Si Si 1 ", "Si Si Si 2 "), "m of a Tersoff potential must be 1 or 3"),
        ("tersoff", (" 0.2 ", " -0.2 "), "needs R >= D >= 0"),
        ("tersoff", (" 2.0 -0.1", " 0.0 -0.1"), "d of a Tersoff potential must be positive"),
    ],
)
def test_damaged_potentials_are_refused(
    tmp_path: Path, style: str, change: tuple[str, str], message: str
) -> None:
    file = tmp_path / style
    assert change[0] in potential(style)
    file.write_text(potential(style).replace(*change))
    with pytest.raises(InputError, match=message):
        READ[style](file)


@pytest.mark.parametrize("style", STYLES)
def test_damaged_files(tmp_path: Path, style: str) -> None:
    fuzz(READ[style], tmp_path / style, potential(style).encode(), 30)


def test_units_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "water"
    file.write_text("mW mW mW 6.189 2.3925 1.8 23.15 1.2 -0.3333 7.04956 0.60222 4 0 0\n")
    model = quiltmd.read_stillinger_weber(file, units="real")
    assert model.values["epsilon"] == pytest.approx(6.189 * 4.184)
    assert model.cutoff == pytest.approx(0.43065)
    with pytest.raises(InputError, match="mW is no chemical element: give its mass"):
        quiltmd.three_body_system(model, ["mW"])
    assert quiltmd.three_body_system(model, ["mW"], {"mW": 18.015}).masses == [18.015]


def test_rounded_parameters_do_not_depend_on_the_order_of_atoms(tmp_path: Path) -> None:
    file = tmp_path / "tersoff"
    lines = potential("tersoff").splitlines()
    place = next(k for k, line in enumerate(lines) if line.startswith("Ge Si Si")) + 1
    assert " 3.29 " in lines[place]
    lines[place] = lines[place].replace(" 3.29 ", " 3.2901 ")
    file.write_text("\n".join(lines))
    found = quiltmd.read_tersoff(file).values["lambda1"]
    assert found[0, 1, 1] == found[1, 0, 0] == pytest.approx(32.9005, rel=1e-12)


@pytest.mark.parametrize("style", STYLES)
def test_a_script_of_lammps(tmp_path: Path, style: str) -> None:
    expected = read(tmp_path, style)
    script = tmp_path / "in.script"
    script.write_text(
        "units metal\natom_style atomic\nlattice diamond 5.431\nregion all block 0 3 0 3 0 3\n"
        f"create_box 2 all\ncreate_atoms 2 box\nmass * 28.06\npair_style {style}\n"
        f"pair_coeff * * {style} Si Ge\nfix 1 all nve\nrun 10\n"
    )
    system, state = quiltmd.load(script, script)
    assert system.atoms == 216
    assert set(system.topology.atom_names) == {"Ge"}
    again = quiltmd.three_body_system(expected, ["Ge"] * 216)
    assert quiltmd.reference(system, state)[0] == quiltmd.reference(again, state)[0]
    for change, message in (
        (("Si Ge", "Si"), "2 elements"),
        (("Si Ge", "Si C"), "has no entry of C C C"),
        ((style + "\npair", style + " 1.0\npair"), "has no further values"),
        ((f"pair_style {style}", "pair_style tersoff/zbl"), "not supported; these are: .*tersoff"),
    ):
        (tmp_path / "other").write_text(script.read_text().replace(*change))
        with pytest.raises(InputError, match=message):
            quiltmd.load(tmp_path / "other", tmp_path / "other")
