# SPDX-License-Identifier: Apache-2.0
"""Molecules and polymers in LAMMPS' files: energies, forces and pressure are those of LAMMPS."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import lammps_molecules
import numpy as np
import pytest
from boxes import BAR
from command import quiltmd as command
from damage import fuzz
from lammps_molecules import SCRIPTS, write

import quiltmd
from quiltmd import InputError, Nonbonded, Simulation, State, System
from quiltmd.engine.reference import reference_virial
from quiltmd.inputs.control_files import read_control
from quiltmd.lammps.script import commands
from quiltmd.lammps.special import Special
from quiltmd.lammps.units import UNITS, Units

FIGURES: dict[str, dict[str, Any]] = json.loads(lammps_molecules.FIGURES.read_text())
# Terms of LAMMPS, and ours; an improper of the style cvff is a torsion here.
OURS = {
    "evdwl": ("lj", "lj14", "dispersion"),
    "ecoul": ("coulomb", "coulomb14", "pme"),
    "ebond": ("bond",),
    "eangle": ("angle", "urey_bradley"),
    "edihed": ("torsion", "improper"),
    "pe": ("potential",),
}
THEIRS = {"ecoul": ("ecoul", "elong"), "edihed": ("edihed", "eimp")}
FLEXIBLE = [name for name in SCRIPTS if name != "shake"]


def loaded(folder: Path, name: str) -> tuple[System, State, Units]:
    """With a mesh whose error is below that of LAMMPS' Ewald sum."""
    file = write(folder, name)
    system, state = quiltmd.load(file, file)
    assert system.nonbonded is not None
    if system.nonbonded.method == "pme":
        system = replace(system, nonbonded=system.nonbonded.overridden({"pme_tolerance": 1e-7}))
    return system, state, UNITS[SCRIPTS[name].split()[1]]


def check_energies(name: str, energies: dict[str, float], unit: float, within: float) -> None:
    for term, ours in OURS.items():
        found = sum(energies.get(one, 0.0) for one in ours) / unit
        parts = [FIGURES[name]["energies"][one] for one in THEIRS.get(term, (term,))]
        size = sum(abs(part) for part in parts)  # the two of charges nearly cancel
        assert found == pytest.approx(sum(parts), abs=within * size), term


@pytest.mark.parametrize("name", FLEXIBLE)
def test_energies_forces_and_pressure_are_those_of_lammps(tmp_path: Path, name: str) -> None:
    system, state, units = loaded(tmp_path, name)
    expected = np.array(FIGURES[name]["forces"]) * units.energy / units.length
    energies, forces = quiltmd.reference(system, state)
    check_energies(name, energies, units.energy, 1e-6)
    assert relative_rms(forces, expected) < 1e-6
    simulation = Simulation(system, state, device="cpu", threads=1)
    check_energies(name, simulation.energies(), units.energy, 1e-5)
    assert relative_rms(simulation.forces(), expected) < 5e-6
    bar = np.array(FIGURES[name]["pressure"]) * units.pressure
    for virial in (simulation.virial(), reference_virial(system, state)):
        pressure = (virial * BAR / np.linalg.det(state.box))[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        assert pressure == pytest.approx(bar, abs=1)


def relative_rms(found: Any, expected: Any) -> float:
    return float(np.sqrt(((found - expected) ** 2).sum() / (expected**2).sum()))


@pytest.mark.parametrize("name", SCRIPTS)
def test_lammps_still_says_so(name: str) -> None:
    pytest.importorskip("lammps")
    found = lammps_molecules.figures_of(name)
    assert found["energies"] == pytest.approx(FIGURES[name]["energies"], rel=1e-10, abs=1e-10)


def test_shaken_bonds_are_constraints(tmp_path: Path) -> None:
    """Bonds to atoms of 1 amu: 24, each as long as type 2."""
    system, state, units = loaded(tmp_path, "shake")
    assert len(system.constraints) == 24
    assert system.constraint_lengths == pytest.approx(np.full(24, 0.14))
    energies, _ = quiltmd.reference(system, state)
    check_energies("shake", energies, units.energy, 1e-6)


def test_each_special_bonds_begins_with_zeros(tmp_path: Path) -> None:
    """As LAMMPS' extract_global("special_lj") and ("special_coul") say."""
    script = _lines("special_bonds lj 0.1 0.2 0.3", "special_bonds coul 0.0 0.0 0.7")
    (tmp_path / "in.script").write_text(script)
    special = Special()
    for one in commands(str(tmp_path / "in.script")):
        special.read(one)
    assert special.lennard_jones == (0, 0, 0)
    assert special.coulomb == (0, 0, 0.7)


def _lines(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)


def test_rigid_water(tmp_path: Path) -> None:
    script = SCRIPTS["charmm"].replace("angle_coeff 2 40.0 105.0", "angle_coeff 2 40.0 104.52")
    # Angles 7-2-1 are of type 2, too, but their other bond is not constrained.
    fixed = lammps_molecules.molecules().replace("\n1 1 1 2 3\n", "\n1 2 1 2 3\n")
    assert "\n1 2 1 2 3\n" in fixed
    file = write(tmp_path, "charmm")
    file.write_text(script + "fix w all rattle 1e-4 20 0 b 1 a 2\n")
    (tmp_path / "molecules.data").write_text(fixed)
    system, _ = quiltmd.load(file, file)
    pairs = dict(zip(map(tuple, system.constraints), system.constraint_lengths, strict=True))
    assert pairs[0, 2] == pytest.approx(2 * 0.15 * np.sin(np.radians(104.52 / 2)))
    assert len(pairs) == 12 * 5 + 1
    assert [0, 1, 2] not in system.angles.tolist()
    assert [0, 2] not in system.urey_bradleys.tolist()
    file.write_text(script + "fix w all rattle 1e-4 20 0 b 1 2 a 2\n")
    larger, _ = quiltmd.load(file, file)  # atom 2 has three constrained bonds
    assert len(larger.constraints) == 12 * 7


def test_a_polymer_runs_and_its_bits_do_not_depend_on_ranks(tmp_path: Path) -> None:
    system, state, _ = loaded(tmp_path, "chain")
    control = read_control(tmp_path / "in.script")
    assert control is not None
    assert control.refused == []
    settings = control.settings["integrator"]
    chosen = quiltmd.LangevinMiddle(
        settings["temperature"], settings["friction"], settings["timestep"], seed=settings["seed"]
    )
    found = []
    for ranks in (1, 3):
        run = Simulation(system, state, integrator=chosen, device="cpu", ranks=ranks)
        run.run(400)
        found.append(run.state().positions.tobytes())
        assert 60 < run.temperature() < 400  # a lattice that melts
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["chain", "charmm"])
def test_replicated_molecules_are_whole(tmp_path: Path, name: str) -> None:
    """Twelve copies have twelve times the energy, though molecules are cut at the boundary."""
    system, state, _ = loaded(tmp_path, name)
    file = tmp_path / "in.script"
    text = re.sub(r"(read_data .*\n)", r"\1replicate 2 3 2\n", file.read_text())
    assert "replicate" in text
    file.write_text(text)
    copies, placed = quiltmd.load(file, file)
    assert copies.nonbonded is not None
    if copies.nonbonded.method == "pme":
        copies = replace(copies, nonbonded=copies.nonbonded.overridden({"pme_tolerance": 1e-7}))
    assert copies.atoms == 12 * system.atoms
    assert placed.box == pytest.approx(state.box * np.array([2, 3, 2])[:, None])
    one, many = quiltmd.reference(system, state)[0], quiltmd.reference(copies, placed)[0]
    for parts in (("bond",), ("angle",), ("torsion",), ("lj",), ("coulomb", "pme")):
        single = sum(one.get(part, 0.0) for part in parts)
        assert sum(many.get(part, 0.0) for part in parts) == pytest.approx(12 * single, rel=2e-6)


def checked(*words: Any) -> None:
    done = command(*words)
    assert done.returncode == 0, done.stderr


def test_the_log_has_the_columns_of_lammps(tmp_path: Path) -> None:
    """Of a run that is stopped and resumed; its first row is that of LAMMPS."""
    file = write(tmp_path, "chain")
    whole = SCRIPTS["chain"].replace("run 0", "run 40").replace("thermo 100", "thermo 20")
    texts = []
    for name, steps in (("whole", 40), ("part", 20)):
        file.write_text(whole.replace("run 40", f"run {steps}"))
        checked("run", file, "--out", tmp_path / name, "--device", "cpu")
        texts.append((tmp_path / name / "thermo.log").read_text())
    checked("run", "--resume", tmp_path / "part", "--steps", "40", "--device", "cpu")
    assert (tmp_path / "part" / "thermo.log").read_text() == texts[0]
    units, header, *rows = texts[0].splitlines()
    assert units == "# units lj"
    assert [row.split()[0] for row in rows] == ["0", "20", "40"]
    first = dict(zip(header.split(), map(float, rows[0].split()), strict=True))
    expected = FIGURES["chain"]["energies"]
    assert first["E_pair"] == pytest.approx(expected["evdwl"] / lammps_molecules.BEADS, rel=1e-5)
    assert first["E_mol"] == pytest.approx(expected["ebond"] / lammps_molecules.BEADS, rel=1e-6)
    assert first["Volume"] == pytest.approx((5 * 1.05) ** 3, rel=1e-6)
    pressure = np.mean(FIGURES["chain"]["pressure"][:3])
    pressure += (lammps_molecules.BEADS - 1) * first["Temp"] / first["Volume"]
    assert first["Press"] == pytest.approx(pressure, rel=1e-5)


def test_one_axis_of_the_box_may_change(tmp_path: Path) -> None:
    file = write(tmp_path, "charmm")
    fix = "fix 2 all npt temp 300.0 300.0 100.0 &\n z 0.0 0.0 1000.0 mtk no pchain 0 tchain 1\n"
    file.write_text(SCRIPTS["charmm"] + fix + "timestep 2.0\nrun 10\n")
    control = read_control(file)
    assert control is not None
    assert control.refused == []
    assert control.settings["barostat"]["compressibility"] == [0.0, 0.0, 4.5e-5]
    assert control.settings["barostat"]["coupling"] == "anisotropic"
    assert any("mtk" in note for note in control.notes)
    assert any("pme_tolerance" in note for note in control.notes)


def test_coefficients_in_the_data_file(tmp_path: Path) -> None:
    """The same system, whether a script or its data file has the coefficients."""
    file = write(tmp_path, "charmm")
    expected, state = quiltmd.load(file, file)
    script, text = SCRIPTS["charmm"], lammps_molecules.molecules()
    for kind, count in (("bond", 2), ("angle", 2), ("dihedral", 2), ("improper", 1), ("pair", 2)):
        lines = [line for line in script.splitlines() if line.startswith(f"{kind}_coeff")]
        words = [line.split()[1 + (kind == "pair") :] for line in lines]
        rows = {k: next(w[1:] for w in reversed(words) if w[0] in ("*", str(k))) for k in (1, 2)}
        section = "\n".join(" ".join([str(k), *rows[k]]) for k in range(1, count + 1))
        style = "" if kind == "pair" else f" # {expected_style(script, kind)}"
        text = text.replace(
            "\nAtoms ", f"\n{kind.capitalize()} Coeffs{style}\n\n{section}\n\nAtoms "
        )
        script = "\n".join(line for line in script.splitlines() if line not in lines)
    file.write_text(script + "\n")
    (tmp_path / "molecules.data").write_text(text)
    system, _ = quiltmd.load(file, file)
    ours, theirs = quiltmd.reference(system, state)[0], quiltmd.reference(expected, state)[0]
    assert ours == theirs


def expected_style(script: str, kind: str) -> str:
    return next(line.split()[1] for line in script.splitlines() if line.startswith(f"{kind}_style"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("bond_style harmonic", "bond_style hybrid"), "line 3: .*these are: harmonic, fene"),
        (("bond_coeff * 300.0 1.5", "bond_coeff 2 1 1"), "bond type 1 has no coefficients"),
        (("250.0 1.4", "250.0"), "line 13: .*coefficients of bond_style harmonic are K r0"),
        (("0.8 3 0 1.0", "0.8 3.5 0 1.0"), "line 16: .*periodicity 3.5 must be a whole"),
        (("60.0 0.0", "60.0 35.0"), "line 18: .*only an angle of 0 or 180"),
        (("special_bonds charmm", "special_bonds dreiding"), "needs special_bonds charmm"),
        (("special_bonds charmm", "special_bonds angle yes"), "line 10: .*angle: only charmm"),
        (("0.11 3.5 0.01 3.3", "0.11 3.5 0.01"), "line 19: .*are epsilon sigma epsilon14 sigma14"),
        (("charmm/coul/long 8.0 10.0", "charmm/coul/long 10.0 8.0"), "line 7: .*above the inner"),
        (("lj/charmm/coul/long 8.0 10.0", "meam"), "line 7: .*MEAM is not supported"),
        (("ewald 1e-10", "msm 1e-4"), "line 9: .*multilevel summation.*use pppm"),
        (
            ("improper_coeff", "replicate 2 0 2\nimproper_coeff"),
            "replicate 2 0 2: only three numbers of copies",
        ),
        (("improper_coeff", "replicate 2 2\nimproper_coeff"), "expected a whole number as value 3"),
        (
            ("improper_coeff", "replicate 2 1 1\nreplicate 1 2 1\nimproper_coeff"),
            "replicate 1 2 1: only once",
        ),
        (("read_data", "replicate 2 1 1\nread_data"), "no atoms"),
    ],
)
def test_scripts_are_refused_with_the_line(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    file = write(tmp_path, "charmm")
    assert change[0] in SCRIPTS["charmm"]
    file.write_text(SCRIPTS["charmm"].replace(*change))
    with pytest.raises(InputError, match=message):
        quiltmd.load(file, file)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("\n1 1 1 2\n", "\n1 3 1 2\n"), "types of bonds are 1 to 2"),
        (("\n1 1 1 2\n", "\n1 1 1 97\n"), "atoms 1 to 96"),
        (("\n1 1 1 2\n", "\n1 1 1\n"), "expected a number, a type, and 2 atoms"),
        (("84 bonds", "85 bonds"), "84 bonds, not 85"),
        (("Impropers", "Dihedrals"), "the section Dihedrals comes twice"),
    ],
)
def test_data_files_are_refused_with_the_line(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    file = write(tmp_path, "charmm")
    text = (tmp_path / "molecules.data").read_text()
    assert change[0] in text
    (tmp_path / "molecules.data").write_text(text.replace(*change))
    with pytest.raises(InputError, match=rf"molecules.data, line \d+: .*{message}"):
        quiltmd.load(file, file)


@pytest.mark.parametrize("name", ["molecules.data", "in.script"])
def test_damaged_files(tmp_path: Path, name: str) -> None:
    file = write(tmp_path, "charmm")

    def read(_: Path) -> None:
        quiltmd.load(file, file)
        read_control(file)

    fuzz(read, tmp_path / name, (tmp_path / name).read_bytes(), 15)


def test_charges_of_reduced_units(tmp_path: Path) -> None:
    """Two charges of 1 at a distance of 1 have the energy epsilon."""
    (tmp_path / "two.data").write_text(
        "two\n\n2 atoms\n1 atom types\n0 20 xlo xhi\n0 20 ylo yhi\n0 20 zlo zhi\n\nMasses\n\n1 1\n"
        "\nAtoms\n\n1 1 1.0 1 1 1\n2 1 1.0 2 1 1\n"
    )
    file = tmp_path / "in.script"
    file.write_text(
        "units lj\natom_style charge\nread_data two.data\npair_style lj/cut/coul/long 4.0\n"
        "pair_coeff 1 1 0.0 1.0\nkspace_style pppm 1e-4\n"
    )
    system, state = quiltmd.load(file, file)
    away = State.start(system, state.positions, None)
    energy = quiltmd.reference(system, away, Nonbonded(method="no-cutoff"))[0]["potential"]
    assert energy == pytest.approx(0.996, rel=1e-9)
