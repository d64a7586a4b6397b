# SPDX-License-Identifier: Apache-2.0
"""Reporters and analyses of the user's own, by name from a TOML file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from boxes import water_box
from fake_engine import FakeEngine

from quiltmd.errors import QuiltError
from quiltmd.exchange.config import ExchangeConfig
from quiltmd.running import run_inputs, runner, stages
from quiltmd.running.config import build_config, build_config_of, merge, read_config

MODULE = '''
from quiltmd import FunctionReporter

class Extent:
    """Largest coordinate of some atoms."""

    needs = ("positions",)

    def __init__(self, simulation, folder, after, every=2, atoms=1, name="extent.txt"):
        self.every, self.atoms = every, atoms
        self.file = open(folder / name, "w" if after is None else "a")
        self.file.write(f"{simulation.system.atoms} atoms after {after}\\n")

    def report(self, frame):
        self.file.write(f"{frame.step} {frame.positions()[:self.atoms].max():.6f}\\n")

    def close(self):
        self.file.write("closed\\n")
        self.file.close()

def kinetic(folder, every, **_):
    def write(frame):
        with open(folder / "kinetic.txt", "a") as file:
            file.write(f"{frame.step} {frame.energies()['kinetic']:.6f}\\n")
    return FunctionReporter(write, every)

def nothing(**_):
    return 3

def two(one, other):
    pass

number = 4
'''
TOML = """
[system]
topology = "a.prmtop"
coordinates = "a.inpcrd"
[nonbonded]
cutoff = 0.4
[integrator]
seed = 3
[run]
steps = 6
device = "cpu"
[output]
dir = "out"
trajectory_every = 0
final = []
[[reporter]]
factory = "{module}:Extent"
files = ["extent.txt"]
options = {{atoms = 4, every = 3}}
[[reporter]]
factory = "{module}:kinetic"
options = {{every = 2}}
"""

pytestmark = pytest.mark.filterwarnings("ignore:a cutoff of:quiltmd.QuiltWarning")


@pytest.fixture(autouse=True)
def _waters(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = water_box((3, 3, 3))
    monkeypatch.setattr(run_inputs, "load", lambda *files, **options: loaded)
    monkeypatch.setattr(runner, "check_overlaps", lambda *loaded: None)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A configuration beside its module, which has a name of its own in each test."""
    module = f"own_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{module}.py").write_text(MODULE)
    for name in ("a.prmtop", "a.inpcrd"):
        (tmp_path / name).write_text(name)
    path = tmp_path / "run.toml"
    path.write_text(TOML.format(module=module))
    return path


def test_a_run_reports_to_them_and_goes_on(config: Path) -> None:
    settings = merge(read_config(config), {("output", "dir"): config.parent / "out"})
    outcome = runner.start(build_config(settings), engine=FakeEngine)
    assert outcome.step == 6
    out = config.parent / "out"
    rows = (out / "extent.txt").read_text().splitlines()
    assert rows[0].endswith("atoms after None")
    assert [row.split()[0] for row in rows[1:]] == ["3", "6", "closed"]
    steps = [row.split()[0] for row in (out / "kinetic.txt").read_text().splitlines()]
    assert steps == ["2", "4", "6"]
    # The folder of the run has all that a resume needs, wherever the first file is now.
    config.unlink()
    kept = read_config(out / "config.toml")["reporter"][0]
    assert kept["path"] == str(config.parent)
    assert kept["options"] == {"atoms": 4, "every": 3}
    runner.resume(out, {("run", "steps"): 9}, engine=FakeEngine)
    rows = (out / "extent.txt").read_text().splitlines()[4:]
    assert rows[0].endswith("atoms after 6")
    assert [row.split()[0] for row in rows[1:]] == ["9", "closed"]


def test_their_files_are_not_replaced(config: Path) -> None:
    settings = merge(read_config(config), {("output", "dir"): config.parent / "out"})
    out = config.parent / "out"
    out.mkdir()
    (out / "extent.txt").write_text("mine")
    with pytest.raises(QuiltError, match=r"already has files .*extent\.txt"):
        runner.start(build_config(settings), engine=FakeEngine)
    runner.start(build_config(settings), overwrite=True, engine=FakeEngine)
    assert (out / "backup.1" / "extent.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("factory", "said"),
    [
        ("no_such_module_at_all:f", r"the module cannot be imported in .*No module named"),
        (
            "{}_needs:f",
            "the module own_.* needs no_such_package, which is not installed: pip install",
        ),
        ("{}:absent", "the module has no function or class of this name"),
        ("{}:number", "the module has no function or class of this name"),
        ("{}:nothing", "3 is not a reporter"),
        ("{}:two", "unexpected keyword argument"),
        ("{}", 'must be "module:function"'),
        ("{};import os:f", 'must be "module:function"'),
    ],
)
def test_mistakes_are_named(config: Path, factory: str, said: str) -> None:
    module = next(config.parent.glob("own_*.py")).stem
    (config.parent / f"{module}_needs.py").write_text("import no_such_package.part\n")
    settings = merge(read_config(config), {("output", "dir"): config.parent / "out"})
    path = str(config.parent)
    settings["reporter"] = [{"factory": factory.format(module), "path": path}]
    with pytest.raises(QuiltError, match=said) as caught:
        runner.start(build_config(settings), engine=FakeEngine)
    assert "reporter" in str(caught.value)
    if "module" in said:
        assert not (config.parent / "out").exists()


@pytest.mark.parametrize(
    ("key", "hint"),
    [("every", r"an argument\? options = {every = ...}"), ("factry", "did you mean 'factory'")],
)
def test_arguments_belong_to_the_options(config: Path, key: str, hint: str) -> None:
    settings = merge(read_config(config), {("output", "dir"): config.parent / "out"})
    settings["reporter"][0][key] = 5
    with pytest.raises(QuiltError, match=hint):
        build_config(settings)


def test_stages_have_them_and_exchanges_do_not(config: Path) -> None:
    settings = merge(read_config(config), {("output", "dir"): config.parent / "out"})
    stage: dict[str, Any] = {"name": "two", "reporter": []}
    stages.start({**settings, "stage": [{"name": "one"}, stage]}, engine=FakeEngine)
    assert (config.parent / "out" / "1-one" / "extent.txt").exists()
    assert not (config.parent / "out" / "2-two" / "extent.txt").exists()
    ladder = {"temperatures": (300.0, 301.0), "every": 3}
    with pytest.raises(QuiltError, match=r"leave out \[\[reporter\]\]"):
        build_config_of(ExchangeConfig, {**settings, "exchange": ladder}, "x.toml")


@pytest.mark.parametrize("section", ["reporter", "restraint"])
def test_a_table_where_several_may_be(section: str) -> None:
    settings = {
        "system": {"topology": "a.prmtop", "coordinates": "a.crd"},
        "run": {"steps": 1},
        "output": {"dir": "out"},
        section: {"factory": "module:function"},
    }
    with pytest.raises(QuiltError, match=rf"^\[{section}\]: .* write \[\[{section}\]\] instead$"):
        build_config(settings)


def test_a_value_where_a_list_should_be() -> None:
    settings = {
        "system": {"topology": "a.prmtop", "coordinates": "a.crd"},
        "integrator": {"ensemble": "npt"},
        "barostat": {"compressibility": 1e-5},
        "run": {"steps": 1},
        "output": {"dir": "out"},
    }
    with pytest.raises(QuiltError, match=r"compressibility: must be a list, such as \[1e-05\]"):
        build_config(settings)
