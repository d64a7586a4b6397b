# SPDX-License-Identifier: Apache-2.0
"""Parameters without meaning are refused; what is odd is warned about once, what is usual not."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boxes import water_box
from command import quiltmd as command
from fake_engine import FakeEngine

import quiltmd
from quiltmd.errors import InputError, QuiltError, QuiltWarning
from quiltmd.inputs import load

Files = tuple[Path, Path]


@pytest.fixture(scope="module")
def water() -> Any:
    return water_box((7, 7, 7), rigid=False)


def changed(system: Any, name: str, row: Any, value: Any) -> Any:
    """The system with one value of an array replaced."""
    array = getattr(system, name).copy()
    array[row] = value
    return replace(system, **{name: array})


@pytest.mark.parametrize(
    ("periodicity", "words"),
    [(4e9, "4e\\+09"), (2.5, "2.5"), (1e9, "1e\\+09"), (0, "0"), (-2, "-2")],
)
def test_periodicities(water: Any, periodicity: float, words: str) -> None:
    torsion = {"torsions": [[0, 1, 3, 4]], "torsion_parameters": [[periodicity, 0.0, 1.0]]}
    message = rf"torsion of atom 1 .* has the periodicity {words}, which is not a whole number"
    with pytest.raises(InputError, match=message):
        replace(water[0], **torsion)


@pytest.mark.parametrize("value", ["4.00000000E+09", "2.50000000E+00", "1.00000000E+09"])
def test_periodicities_in_amber_files(alanine: Files, tmp_path: Path, value: str) -> None:
    text = alanine[0].read_text()
    start = text.index("\n", text.index("%FORMAT", text.index("DIHEDRAL_PERIODICITY"))) + 1
    bad = tmp_path / "bad.prmtop"
    bad.write_text(text[:start] + value.rjust(16) + text[start + 16 :])
    line = text[:start].count("\n") + 1
    with pytest.raises(InputError, match=rf"line {line}: .*not a whole number from 1 to 64"):
        load(bad, alanine[1])


@pytest.mark.parametrize(
    ("name", "row", "value", "words"),
    [
        ("lj_a", (0, 0), -1e-6, "atom 1 .* negative Lennard-Jones"),
        ("lj_b", (0, 0), -1e-3, "atom 1 .* negative Lennard-Jones"),
        ("lj_a", (0, 0), 0.0, "attraction without repulsion"),
        ("bond_parameters", (3, 1), -1.0, "the bond of atom 4 .* negative"),
        ("bond_parameters", (3, 0), -0.1, "the bond of atom 4 .* negative"),
        ("angle_parameters", (1, 1), -1.0, "the angle of atom 5 .* negative"),
    ],
)
def test_negative_parameters(water: Any, name: str, row: Any, value: float, words: str) -> None:
    with pytest.raises(InputError, match=words):
        changed(water[0], name, row, value)


def test_pairs14_without_meaning(water: Any) -> None:
    pair = {"pairs14": [[0, 3]], "exclusions": np.vstack([[[0, 3]], water[0].exclusions])}
    replace(water[0], **pair, pair14_parameters=[[-0.3, 0.3, 0.1]])
    for parameters in ([0.1, -0.3, 0.1], [0.1, 0.3, -0.1]):
        with pytest.raises(InputError, match=r"1-4 pair of atom 1 .* atom 4 .* negative"):
            replace(water[0], **pair, pair14_parameters=[parameters])


def test_types_that_no_atom_has_may_be_anything(water: Any) -> None:
    a, b = (np.pad(table, (0, 1), constant_values=-1.0) for table in (water[0].lj_a, water[0].lj_b))
    replace(water[0], lj_a=a, lj_b=b)


def said(system: Any, state: Any, nonbonded: Any = None, integrator: Any = None) -> list[str]:
    """What a simulation and two runs of a step warn about."""
    still = integrator or quiltmd.VelocityVerlet(timestep=0.0005)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        simulation = quiltmd.Simulation(system, state, nonbonded, still, device="cpu", threads=1)
        simulation.run(1)
        simulation.run(1)
    return [str(item.message) for item in caught if item.category is QuiltWarning]


def test_nothing_is_said_of_usual_systems(alanine: Files) -> None:
    system, state = load(*alanine, constraints="h-bonds")
    assert said(system, state, integrator=quiltmd.LangevinMiddle(timestep=0.002)) == []
    assert said(*load(*alanine, rigid_water=False)) == []
    heavy, state = load(*alanine, constraints="h-bonds", hydrogen_mass=3.024)
    assert said(heavy, state, integrator=quiltmd.LangevinMiddle(timestep=0.004)) == []


def test_a_net_charge(water: Any) -> None:
    system, state = water
    charged = changed(system, "charges", 0, system.charges[0] + 5)
    (text,) = said(charged, state)
    assert re.search(r"net charge of \+5 e", text)
    assert said(charged, state, quiltmd.Nonbonded(method="cutoff")) == []


def test_bonds_without_exclusions(water: Any) -> None:
    system, state = water
    (text,) = said(replace(system, exclusions=system.exclusions[2:]), state)
    assert text.startswith("atom 1 (A0 of UNK 1) and atom 2")
    assert "2 bonds or constraints are missing in the exclusions" in text


def test_a_short_cutoff(water: Any) -> None:
    (text,) = said(*water, quiltmd.Nonbonded(cutoff=0.6))
    assert "a cutoff of 0.6 nm is shorter" in text


def test_a_coefficient_for_another_cutoff(water: Any) -> None:
    """That of NAMD for 1.2 nm will do for 1 nm, and is too small for 0.8 nm."""
    mesh = {"pme_alpha": 2.58, "pme_grid": (32, 32, 32)}
    near, far = (quiltmd.Nonbonded(cutoff=cutoff, **mesh) for cutoff in (0.8, 1.0))
    (words,) = said(*water, near)
    assert "an Ewald coefficient of 2.58 1/nm is small for a cutoff of 0.8 nm" in words
    assert "errors of about 0.009;" in words
    assert said(*water, far) == []


def test_positions_in_place_of_velocities(alanine: Files, tmp_path: Path) -> None:
    simulation = quiltmd.Simulation(*load(*alanine), device="cpu")
    quiltmd.write_pdb(tmp_path / "x.pdb", simulation)
    simulation.draw_velocities(1500, 1)
    quiltmd.write_namd(tmp_path / "x.coor", simulation)
    for name in ("x.pdb", "x.coor"):
        with pytest.warns(QuiltWarning, match=r"velocities correspond to .* K: they may be in"):
            quiltmd.Simulation(*load(*alanine, velocities=tmp_path / name), device="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("error", QuiltWarning)
        quiltmd.Simulation(*load(*alanine, velocities=tmp_path / "x.vel"), device="cpu")


def test_atoms_far_away(water: Any) -> None:
    system, state = water
    positions = state.positions.copy()
    positions[6:9] += 50_000 * state.box[0]
    far = quiltmd.State(positions, state.velocities, state.box)
    (text,) = said(system, far)
    assert re.search(r"atom [789] .* lies 1.087e\+05 nm from the origin", text)
    positions[6:9] *= 100
    with pytest.raises(InputError, match=r"atom [789]: positions beyond 1e\+06"):
        quiltmd.State(positions, state.velocities, state.box)


def test_time_steps(alanine: Files) -> None:
    free, state = load(*alanine, rigid_water=False)
    (text,) = said(free, state, integrator=quiltmd.VelocityVerlet(timestep=0.002))
    assert "2 fs is long for the bond of" in text
    assert "constrain bonds to hydrogen, or use a shorter time step" in text
    fixed, state = load(*alanine, constraints="h-bonds")
    double = said(fixed, state, integrator=quiltmd.LangevinMiddle(timestep=0.008, seed=1))[0]
    assert re.search(r"long for the bond of .* 23.8 fs: use a shorter time step", str(double))
    (text,) = said(fixed, state, integrator=quiltmd.LangevinMiddle(timestep=0.004))
    assert re.search(r"4 fs is long for hydrogens as light as atom 1 \(HH31 .*, 1.008 amu", text)


def test_units_of_other_programs(water: Any) -> None:
    """Femtoseconds as NAMD has them, pascals, and 1/Pa."""
    tiny = said(*water, integrator=quiltmd.VelocityVerlet(timestep=2e-6))
    assert "a time step of 0.002 fs is far below" in tiny[0]
    with pytest.raises(QuiltError, match=r"did you mean 1\.01325, from pascals"):
        quiltmd.CellRescaling(pressure=101325)
    barostat = quiltmd.CellRescaling(compressibility=4.5e-10)
    with pytest.warns(QuiltWarning, match=r"if it is in 1/Pa, give 4\.5e-05"):
        quiltmd.Simulation(*water, barostat=barostat, device="cpu", threads=1)


def test_only_the_first_run_looks_for_oddities(
    alanine: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []

    def look(system: quiltmd.System, integrator: quiltmd.Integrator) -> Iterator[str]:
        looked.append(system.atoms)
        yield from ()

    monkeypatch.setattr("quiltmd.running.simulation.step_oddities", look)
    simulation = quiltmd.Simulation(*quiltmd.load(*alanine), device="cpu", engine=FakeEngine)
    for _ in range(3):
        simulation.run(1)
    assert looked == [simulation.system.atoms]


def test_the_command_warns_in_one_line(alanine: Files, tmp_path: Path) -> None:
    done = command(
        "run", "--topology", alanine[0], "--coordinates", alanine[1], "--steps", 1, "--minimize",
        "--timestep", 0.004, "--device", "cpu", "--out", tmp_path / "out",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(re.findall("^warning: a time step of 4 fs is long", done.stderr, re.MULTILINE)) == 1
    assert "QuiltWarning" not in done.stderr


@pytest.mark.parametrize("edge", [600.0, 2000.0, 1e9])
@pytest.mark.parametrize("method", ["pme", "cutoff"])
def test_boxes_beyond_reach(water: Any, edge: float, method: str) -> None:
    system, state = water
    far = quiltmd.State(state.positions, state.velocities, edge * np.eye(3))
    words = "PME would need a grid of" if method == "pme" else "too large: it would be cut into"
    with pytest.raises(QuiltError, match=words):
        quiltmd.Simulation(system, far, quiltmd.Nonbonded(method=method), device="cpu")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"pme_tolerance": 1e-308, "pme_split": "gaussian"}, "PME would need a grid of"),
        (
            {"pme_tolerance": 1e-308},
            "cannot be reached in single precision with a cutoff of 0.9 nm",
        ),
        ({"cutoff": 1e-308}, "shorter than any distance"),
        ({"cutoff": 1e-308, "method": "cutoff"}, "shorter than any distance"),
        ({"pme_alpha": 3.0, "pme_grid": (10**6, 10**6, 10**6)}, "PME would need a grid of"),
        (
            {"lennard_jones": "pme", "lj_pme_tolerance": 1e-300},
            "Lennard-Jones PME would need a grid of .* a larger lj_pme_tolerance",
        ),
    ],
)
def test_settings_beyond_reach(settings: Any, words: str) -> None:
    with pytest.raises(QuiltError, match=words):
        quiltmd.Nonbonded(**settings).resolve(3.0 * np.eye(3))


@pytest.mark.parametrize(
    "layout",
    ["99999999999999E16.8", "5E999999999999.8", "9" * 5000 + "E16.8", "E", "0E16.8"],
)
def test_absurd_formats(alanine: Files, tmp_path: Path, layout: str) -> None:
    bad = tmp_path / "bad.prmtop"
    bad.write_text(alanine[0].read_text().replace("%FORMAT(5E16.8)", f"%FORMAT({layout})", 1))
    with pytest.raises(InputError, match="the %FORMAT of section CHARGE is not understood"):
        load(bad, alanine[1])


@pytest.mark.parametrize("which", [0, 1])
def test_pipes_are_no_inputs(alanine: Files, tmp_path: Path, which: int) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    files = [*alanine[:which], pipe, *alanine[which + 1 :]]
    with pytest.raises(InputError, match="pipe: not a regular file"):
        load(*files)


def test_forces_out_of_range(water: Any) -> None:
    system, state = water
    positions = state.positions.copy()
    positions[30] = positions[0] + 0.03
    moved = quiltmd.State(positions, state.velocities, state.box)
    simulation = quiltmd.Simulation(system, moved, device="cpu", threads=1)
    with pytest.raises(QuiltError, match=r"atom (1|31) \(A\d+ of UNK 1\) overlaps"):
        simulation.forces()


@pytest.mark.parametrize("temperature", [1e30, -1.0, np.nan, np.inf])
def test_temperatures_without_meaning(water: Any, temperature: float) -> None:
    simulation = quiltmd.Simulation(*water, device="cpu", threads=1)
    with pytest.raises(QuiltError, match=r"temperature must be (from 0|a number)"):
        simulation.draw_velocities(temperature)
    with pytest.raises(QuiltError, match="temperature"):
        quiltmd.LangevinMiddle(temperature=temperature)


_DAEMON = """
import sys, threading, time
sys.path[:0] = sys.argv[1:]
from boxes import water_box
import quiltmd
simulation = quiltmd.Simulation(*water_box((7, 7, 7)), device="cpu", threads=1)
simulation.minimize()
threading.Thread(target=simulation.run, args=(10**9,), daemon=True).start()
time.sleep({delay})
"""


@pytest.mark.parametrize("delay", [0.0, 0.3, 1.1])
def test_a_daemon_thread_may_be_running_at_the_end(delay: float) -> None:
    script = _DAEMON.format(delay=delay)
    arguments = [sys.executable, "-c", script, *sys.path]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")
