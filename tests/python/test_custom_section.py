# SPDX-License-Identifier: Apache-2.0
"""[[custom]] of a configuration: the forces of Python, logs, resumed runs, stages, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomllib

import quiltmd
from quiltmd import (
    CustomAngle,
    CustomBond,
    CustomCompound,
    CustomExternal,
    CustomPairs,
    CustomTorsion,
    QuiltError,
    Tabulated,
)
from quiltmd.commands.system_facts import system_facts
from quiltmd.running import runner, stages
from quiltmd.running.config import build_config

pytestmark = pytest.mark.filterwarnings("ignore:there is no periodic box")
FORCES = """
[[custom]]
kind = "bond"
energy = "0.5*k*(r-r0)^2"
atoms = [["index 2", "index 19"], ["index 5", "index 15"]]
parameters = {k = 300.0, r0 = [0.5, 0.4]}

[[custom]]
kind = "angle"
energy = "k*(theta-2)^2"
atoms = [["resname ACE and name CH3", "index 7", "index 9"]]
parameters = {k = 30.0}

[[custom]]
kind = "torsion"
energy = "7*f(theta)"
atoms = [["index 5", "index 7", "index 9", "index 15"]]
name = "phi"

[custom.functions.f]
values = [0.2, 1.0, 0.5, 0.2]
ranges = [[-3.141592653589793, 3.141592653589793]]
periodic = true

[[custom]]
kind = "compound"
energy = "4*distance(p1,p2)*angle(p1,p2,p3)"
atoms = [["index 1", "index 9", "index 20"]]

[[custom]]
kind = "external"
energy = "depth*x^2"
select = "heavy"
parameters = {depth = {all = 1.0, "element O" = 2.5}}
name = "trap"

[[custom]]
kind = "pairs"
energy = "q1*q2*exp(-r)"
parameters = {q = {all = 0.3, "element N O" = -0.5}}
groups = [["resname ACE", "resname NME"]]
name = "ends"
"""


@pytest.fixture(scope="module")
def files(openmmtools_data: Path) -> list[Path]:
    folder = openmmtools_data / "alanine-dipeptide-gbsa"
    return [folder / f"alanine-dipeptide.{suffix}" for suffix in ("prmtop", "crd")]


def settings(files: list[Path], out: Path, forces: str = FORCES) -> dict[str, Any]:
    return {
        "system": {"topology": files[0], "coordinates": files[1]},
        "integrator": {"seed": 1, "timestep": 0.001},
        "run": {"steps": 20, "device": "cpu", "threads": 1},
        "output": {"dir": out, "log_every": 10, "log_terms": True, "final": []},
    } | tomllib.loads(forces)


def test_forces_are_those_of_python(files: list[Path], tmp_path: Path) -> None:
    config = build_config(settings(files, tmp_path / "out"))
    found, state = runner.load_system(config)
    system, _ = quiltmd.load(*files, constraints="h-bonds")
    heavy = quiltmd.select(system, "heavy")
    oxygen = system.topology.elements == 8
    polar = oxygen | (system.topology.elements == 7)
    table = Tabulated([0.2, 1.0, 0.5, 0.2], [(-np.pi, np.pi)], periodic=True)
    ends = [(quiltmd.select(system, "resname ACE"), quiltmd.select(system, "resname NME"))]
    ours = quiltmd.add_forces(
        system,
        CustomBond("0.5*k*(r-r0)^2", [[1, 18], [4, 14]], {"k": 300.0, "r0": [0.5, 0.4]}),
        CustomAngle("k*(theta-2)^2", [[1, 6, 8]], {"k": 30.0}),
        CustomTorsion("7*f(theta)", [[4, 6, 8, 14]], name="phi", functions={"f": table}),
        CustomCompound("4*distance(p1,p2)*angle(p1,p2,p3)", [[0, 8, 19]]),
        CustomExternal(
            "depth*x^2", heavy, {"depth": np.where(oxygen, 2.5, 1.0)[heavy]}, name="trap"
        ),
        CustomPairs(
            "q1*q2*exp(-r)", None, {"q": np.where(polar, -0.5, 0.3)}, groups=ends, name="ends"
        ),
    )
    assert system.topology.describe(1).startswith("atom 2 (CH3")
    energies, forces = quiltmd.reference(ours, state)
    of_section, forces_of_section = quiltmd.reference(found, state)
    assert of_section == energies
    np.testing.assert_array_equal(forces_of_section, forces)
    assert {
        name: energies[name]
        for name in ("custom", "phi", "trap", "ends")
        if abs(energies[name]) < 1e-3
    } == {}
    assert "trap: depth*x^2" in system_facts(found)["custom forces"]


def test_a_run_logs_them_and_is_resumed(files: list[Path], tmp_path: Path) -> None:
    runner.start(build_config(settings(files, tmp_path / "whole")))
    short = settings(files, tmp_path / "out")
    short["run"]["steps"] = 10
    runner.start(build_config(short))
    runner.resume(tmp_path / "out", {("run", "steps"): 20})
    whole, resumed = (
        np.genfromtxt(tmp_path / name / "log.csv", delimiter=",", names=True)
        for name in ("whole", "out")
    )
    for name in ("custom", "phi", "trap", "ends"):
        assert whole[name].any()
        np.testing.assert_array_equal(whole[name], resumed[name])
    text = (tmp_path / "out" / "config.toml").read_text()
    (tmp_path / "out" / "config.toml").write_text(text.replace("k = 30.0", "k = 31.0"))
    with pytest.raises(QuiltError, match=r"custom\.2"):
        runner.resume(tmp_path / "out", {("run", "steps"): 30})


def test_stages_have_other_parameters(files: list[Path], tmp_path: Path) -> None:
    """A weak trap, then a strong one."""
    trap = """
    [[custom]]
    kind = "external"
    energy = "k*(x^2+y^2+z^2)"
    select = "heavy"
    parameters = {{k = {k}}}
    name = "trap"
    """
    given = settings(files, tmp_path / "out", trap.format(k=1.0))
    strong = tomllib.loads(trap.format(k=50.0))["custom"]
    given["stage"] = [{"name": "weak"}, {"name": "strong", "custom": strong}]
    stages.start(given)
    rows = [
        np.genfromtxt(tmp_path / "out" / name / "log.csv", delimiter=",", names=True)["trap"]
        for name in ("1-weak", "2-strong")
    ]
    assert rows[1][0] == pytest.approx(50 * rows[0][-1], rel=1e-4)
    strong[0]["select"] = "resname LIG"
    given["output"]["dir"] = tmp_path / "other"
    with pytest.raises(QuiltError, match=r"stage strong: .*trap: .*LIG"):
        stages.start(given)
    assert not (tmp_path / "other").exists()


BOND = {"kind": "bond", "energy": "r", "atoms": [["index 1", "index 2"]]}
TRAP = {"kind": "external", "energy": "k*x", "select": "heavy"}


@pytest.mark.parametrize(
    ("section", "fault"),
    [
        (BOND | {"kind": "spring"}, "kind"),
        (BOND | {"atoms": []}, "needs atoms"),
        (BOND | {"select": "all"}, "kind = 'bond' has no select: leave it out"),
        (BOND | {"energy": "k*r"}, r"\[\[custom\]\] bond: .*'k' is not known"),
        (BOND | {"atoms": [["index 1", "heavy"]]}, "'heavy' selects 10 atoms: select one"),
        (BOND | {"atoms": [["index 1", "index 2"], ["index 3"]]}, "the same number of atoms"),
        (BOND | {"parameters": {"k": {"all": 1}}}, "not for kind = 'bond'"),
        (BOND | {"name": "a b"}, "only letters, digits and _"),
        (TRAP, "'k' is not known"),
        (
            TRAP | {"parameters": {"k": {"element O": 1}}},
            r"atom 2 \(CH3.* has no value of the parameter 'k'",
        ),
        (TRAP | {"parameters": {"k": [1, 2]}}, "needs one value, or 10"),
        (
            BOND | {"energy": "f(r)", "functions": {"f": {"values": [1, 2], "ranges": [[1, 0]]}}},
            "function 'f': .*ends above its beginning",
        ),
        (
            BOND | {"energy": "f(r)", "functions": {"f": {"values": [1, [2]]}}},
            "the function 'f'",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(
    files: list[Path], tmp_path: Path, section: dict[str, Any], fault: str
) -> None:
    given = settings(files, tmp_path / "out", "") | {"custom": [section]}
    with pytest.raises(QuiltError, match=fault):
        runner.start(build_config(given))
    assert not (tmp_path / "out").exists()
