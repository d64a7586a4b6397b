# SPDX-License-Identifier: Apache-2.0
"""Every example runs as it stands."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from command import quiltmd

import quiltmd as package
from quiltmd.openmm.files import find_force_field

FOLDER = Path(__file__).resolve().parents[2] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))


def test_each_example_has_a_number_of_its_own() -> None:
    numbers = sorted(int(path.name.split("_")[0]) for path in EXAMPLES)
    assert numbers == list(range(1, len(EXAMPLES) + 1))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(example: Path, tmp_path: Path, openmmtools_data: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(example)], cwd=tmp_path, capture_output=True, text=True, timeout=250
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.fixture
def protein(tmp_path: Path, openmmtools_data: Path) -> Path:
    """A folder with the input of the worked example of replica exchange."""
    example = [sys.executable, str(FOLDER / "07_small_protein.py")]
    subprocess.run(example, cwd=tmp_path, check=True, timeout=250)
    return tmp_path


def test_the_small_protein_is_in_implicit_solvent(protein: Path) -> None:
    file = protein / "trpzip2.pdb"
    names = ("amber14-all.xml", "implicit/gbn2.xml")
    parameters = [find_force_field(Path(name)) for name in names]
    system, state = package.load(file, file, parameters=parameters)
    assert system.atoms == 218
    assert system.solvent is not None
    assert system.solvent.model == "gbn2"
    assert state.box is None


def test_replica_exchange_of_the_small_protein(protein: Path) -> None:
    """The worked example of docs/user/exchange.md, a few swaps of it."""
    text = (FOLDER / "trpzip2.toml").read_text()
    short = text.replace("steps = 10000", "steps = 400").replace("replicas = 6", "replicas = 3")
    assert "steps = 400" in short
    assert "replicas = 3" in short
    (protein / "trpzip2.toml").write_text(short)
    done = quiltmd("exchange", "trpzip2.toml", cwd=protein)
    assert done.returncode == 0, done.stderr
    assert "3 replicas of 218 atoms" in done.stderr
    found = quiltmd("exchange", "--analyse", "trpzip2-exchange", "--json", cwd=protein)
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["iterations"] == 4
