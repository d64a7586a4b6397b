# SPDX-License-Identifier: Apache-2.0
"""[alchemy.second]: hybrids of two topologies by a configuration, resumed, in stages, exchanged."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import quiltmd as quiltmd_command
from hybrid_molecules import ETHANE, MAPPING, METHANOL, TYPES, molecule

import quiltmd
from quiltmd.description.decoupling import at_lambdas

pytestmark = pytest.mark.filterwarnings("ignore:a cutoff of 0.7 nm")
POINTS = [0.0, 0.5, 1.0]
BACK = {last: first for first, last in MAPPING.items()}  # two hydrogens appear
MINIMISING = "minimize = true\nminimize_iterations = 3\n"


def write_molecule(folder: Path, atoms: list[Any], waters: int) -> Any:
    """A GROMACS topology that includes molecule.itp from its folder, and coordinates."""
    folder.mkdir()
    system, state = molecule(atoms, waters)
    types = "".join(f"{t} 1 0 0 A {s} {e}\n" for t, (s, e) in TYPES.items())
    water = (
        "[moleculetype]\nW 1\n[atoms]\n1 OW 1 W OW 1 -0.834 15.999\n2 HW 1 W H1 1 0.417 1.008\n"
        "3 HW 1 W H2 1 0.417 1.008\n[settles]\n1 1 0.09572 0.15139\n[exclusions]\n1 2 3\n2 1 3\n"
        "3 1 2\n"
    )
    count = (system.atoms - len(atoms)) // 3
    (folder / "molecule.itp").write_text(_itp(system, atoms))
    (folder / "system.top").write_text(
        "[defaults]\n1 2 yes 0.5 0.5\n[atomtypes]\n" + types + '#include "molecule.itp"\n' + water
        + "[system]\nx\n[molecules]\nM 1\n" + (f"W {count}\n" if count else "")
    )  # fmt: skip
    rows = "".join(
        f"{1:5d}{'X':<5}{'X':>5}{(k + 1) % 100000:5d}" + "".join(f"{x:13.8f}" for x in place) + "\n"
        for k, place in enumerate(state.positions)
    )
    box = " ".join(f"{length:.8f}" for length in state.box.diagonal())
    (folder / "system.gro").write_text(f"x\n{system.atoms}\n{rows}{box}\n")
    return system, state


def _itp(system: Any, atoms: list[Any]) -> str:
    text = "[moleculetype]\nM 3\n[atoms]\n"
    for k, (name, kind, charge, mass, _) in enumerate(atoms, 1):
        text += f"{k} {kind} 1 M {name} {k} {charge} {mass}\n"
    for title, form, function in (
        ("bonds", "bond", 1),
        ("angles", "angle", 1),
        ("dihedrals", "torsion", 9),
        ("pairs", "pair14", 1),
    ):
        terms = system.terms[form]
        text += f"[{title}]\n"
        for row, values in zip(terms.atoms, terms.parameters, strict=True):
            numbers = _as_in_gromacs(form, values)
            text += " ".join(map(str, [*(row + 1), function, *numbers])) + "\n"
    return text


def _as_in_gromacs(form: str, values: Any) -> tuple[Any, ...]:
    if form == "angle":
        return np.degrees(values[0]), values[1]
    if form == "torsion":
        return np.degrees(values[1]), values[2], int(values[0])
    return tuple(values) if form == "bond" else ()


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both molecules, whose topologies include different files of one name, and a mapping."""
    folder = tmp_path_factory.mktemp("hybrid")
    write_molecule(folder / "methanol", METHANOL, 5)
    write_molecule(folder / "ethane", ETHANE, 0)
    (folder / "map.json").write_text(json.dumps({str(k): v for k, v in BACK.items()}))
    return folder


def write_config(inputs: Path, path: Path, more: str = "", alchemy: str = "state = 1") -> Path:
    path.write_text(f"""
[system]
topology = "{inputs}/methanol/system.top"
coordinates = "{inputs}/methanol/system.gro"
constraints = "none"
[nonbonded]
cutoff = 0.7
pme_grid = [48, 48, 48]
pme_alpha = 4.6
[integrator]
timestep = 0.0005
seed = 3
[run]
steps = 12
{MINIMISING}device = "cpu"
[alchemy]
coulomb = {POINTS}
vdw = {POINTS}
bonded = {POINTS}
every = 4
{alchemy}
[alchemy.second]
topology = "{inputs}/ethane/system.top"
coordinates = "{inputs}/ethane/system.gro"
mapping = "{inputs}/map.json"
[output]
dir = "whole"
trajectory_every = 0
{more}
""")
    return path


def run(*arguments: Any, where: Path) -> None:
    done = quiltmd_command(*arguments, cwd=where)
    assert done.returncode == 0, done.stderr


def refused(words: str, where: Path) -> None:
    done = quiltmd_command("run", "--resume", "moved", cwd=where)
    assert done.returncode != 0
    assert words in " ".join(done.stderr.split())


def test_a_co_ion_is_one_of_the_hybrid(inputs: Path, tmp_path: Path) -> None:
    """Which has no use for it: both molecules have no charge."""
    config = write_config(inputs, tmp_path / "run.toml")
    config.write_text(config.read_text().replace("[output]", 'co_ion = "index 20"\n[output]'))
    done = quiltmd_command("run", config, cwd=tmp_path)
    assert done.returncode != 0
    assert "co_ion: both molecules have the same net charge" in " ".join(done.stderr.split())


def test_a_run_of_a_state_is_resumed_without_its_sources(inputs: Path, tmp_path: Path) -> None:
    """Copied inputs of both molecules do not replace each other."""
    here = tmp_path / "inputs"
    shutil.copytree(inputs, here)
    config = write_config(here, tmp_path / "run.toml", "copy_inputs = true")
    run("run", config, where=tmp_path)
    run("run", config, "--steps", "8", "--out", "parts", where=tmp_path)
    shutil.rmtree(here)
    (tmp_path / "parts").rename(tmp_path / "moved")
    mapping = tmp_path / "moved/inputs/second/mapping-map.json"
    kept = mapping.read_bytes()
    mapping.write_text(json.dumps({str(k): v for k, v in BACK.items() if k < 5}))
    refused("changed a file or macro of [alchemy.second]", tmp_path)
    mapping.unlink()
    refused("give their new paths in [alchemy.second] of", tmp_path)
    mapping.write_bytes(kept)
    run("run", "--resume", "moved", "--steps", "12", where=tmp_path)
    for name in ("dhdl.csv", "dhdl.xvg"):
        whole, parts = ((tmp_path / one / name).read_bytes() for one in ("whole", "moved"))
        assert whole == parts
    # The same by the Python interface, whose energies are compared with those of OpenMM.
    checkpoint = quiltmd.read_checkpoint(tmp_path / "whole" / "checkpoint.qmd")
    methanol, ethane = molecule(METHANOL, 5), molecule(ETHANE)
    system, _ = quiltmd.hybrid(methanol, ethane, BACK, *[POINTS] * 3, state=1)
    found = np.loadtxt(tmp_path / "whole" / "dhdl.csv", delimiter=",", skiprows=1)
    np.testing.assert_array_equal(found[:, 0], [0, 4, 8, 12])
    np.testing.assert_array_equal(found[:, 2:5], 0.5)
    energies = [
        quiltmd.reference(at_lambdas(system, *[x] * 3), checkpoint.state, _nonbonded())[0]
        for x in POINTS
    ]
    expected = np.array([one["potential"] for one in energies])
    np.testing.assert_allclose(found[-1, -3:], expected - expected[1], atol=1e-3)


def _nonbonded() -> quiltmd.Nonbonded:
    return quiltmd.Nonbonded(cutoff=0.7, pme_grid=(48, 48, 48), pme_alpha=4.6)


def test_stages_and_other_runs_go_on_with_the_atoms_of_the_hybrid(
    inputs: Path, tmp_path: Path
) -> None:
    stages = """
[[stage]]
name = "settle"
run = { minimize = true, minimize_iterations = 3 }
[[stage]]
name = "other"
run = { steps = 4 }
alchemy = { state = 2 }
"""
    config = write_config(inputs, tmp_path / "run.toml", stages)
    config.write_text(config.read_text().replace(MINIMISING, ""))
    run("run", config, where=tmp_path)
    settled = np.loadtxt(tmp_path / "whole/1-settle/dhdl.csv", delimiter=",", skiprows=1)
    other = np.loadtxt(tmp_path / "whole/2-other/dhdl.csv", delimiter=",", skiprows=1)
    np.testing.assert_array_equal(other[:, 2:5], 1)
    # Potential energy, and energies of the states, of the same positions.
    assert other[0, 5] == pytest.approx(settled[-1, 5] + settled[-1, -1], abs=0.05)
    assert other[0, -2] == pytest.approx(-settled[-1, -1], abs=2e-3)
    alone = write_config(inputs, tmp_path / "alone.toml")
    alone.write_text(alone.read_text().replace(MINIMISING, ""))
    flags = ["--coordinates", "whole/1-settle", "--out", "alone"]
    run("run", alone, *flags, where=tmp_path)
    again = np.loadtxt(tmp_path / "alone/dhdl.csv", delimiter=",", skiprows=1)
    assert again[0, 5] == pytest.approx(settled[-1, 5], abs=0.01)


def test_all_states_are_exchanged(inputs: Path, tmp_path: Path) -> None:
    more = '[exchange]\nkind = "alchemical"\nevery = 4\n'
    config = write_config(inputs, tmp_path / "run.toml", more, alchemy="")
    config.write_text(config.read_text().replace("steps = 12", "steps = 8"))
    run("exchange", config, where=tmp_path)
    run("exchange", "--resume", "whole", "--steps", "12", where=tmp_path)
    for k, point in enumerate(POINTS):
        table = tmp_path / "whole" / f"state-{k:02d}" / "dhdl.csv"
        rows = np.loadtxt(table, delimiter=",", skiprows=1)
        np.testing.assert_array_equal(rows[:, 0], [4, 8, 12])
        np.testing.assert_array_equal(rows[:, 2:5], point)


@pytest.mark.parametrize(
    ("alchemy", "second", "words"),
    [
        ('atoms = "resname M"', None, "give either atoms, a selection, or"),
        ("", "", "give either atoms, a selection, or"),
        ('intramolecular = "scale"', None, "intramolecular has no effect"),
        ("state = 3", None, "no state 3, only 0 to 2"),
        ("alpha_coulomb = 0", None, "a soft core"),
        ("", "mapping = '/nowhere.json'", "nowhere.json"),
    ],
)
def test_configurations_without_sense_are_refused(
    inputs: Path, tmp_path: Path, alchemy: str, second: str | None, words: str
) -> None:
    config = write_config(inputs, tmp_path / "run.toml", alchemy=alchemy)
    text = config.read_text()
    if second == "":
        start, end = text.index("[alchemy.second]"), text.index("[output]")
        text = text[:start] + text[end:]
    elif second is not None:
        text = text.replace(f'mapping = "{inputs}/map.json"', second)
    config.write_text(text)
    done = quiltmd_command("run", config, cwd=tmp_path)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert words in " ".join(done.stderr.split())
