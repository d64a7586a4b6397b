# SPDX-License-Identifier: Apache-2.0
"""Umbrella windows of a replica exchange: energies, swaps, files, resumed runs, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import quiltmd as quiltmd_command

import quiltmd
from quiltmd import LangevinMiddle, Nonbonded, QuiltError, ReplicaExchange, Restraint
from quiltmd.exchange.analysis import read_history
from quiltmd.exchange.checks import check_windows
from quiltmd.exchange.config import ExchangeConfig
from quiltmd.exchange.states import temperature_states, window_states
from quiltmd.running.config import build_config_of

VACUUM = Nonbonded(method="no-cutoff")
CENTRES = (-100.0, -75.0, 170.0)  # degrees; the last beyond the period of the first
PHI = ("index 5", "index 7", "index 9", "index 15")
pytestmark = pytest.mark.filterwarnings("ignore:there is no periodic box")


@pytest.fixture(scope="module")
def files(openmmtools_data: Path) -> list[Path]:
    folder = openmmtools_data / "alanine-dipeptide-gbsa"
    return [folder / f"alanine-dipeptide.{suffix}" for suffix in ("prmtop", "crd")]


def phi(centre: float) -> Restraint:
    return Restraint("torsion", PHI, 20.0, angle=centre, name="phi")


def test_energies_and_swaps_are_those_of_a_system_for_each_window(files: list[Path]) -> None:
    """Which evaluate each replica with all Hamiltonians; here one value gives all energies."""
    system, state = quiltmd.load(*files, constraints="h-bonds")
    systems = [quiltmd.restrain(system, [phi(c)], state.positions, None) for c in CENTRES]
    settings: dict[str, Any] = {
        "every": 10,
        "seed": 5,
        "integrator": LangevinMiddle(300.0, 2.0, 0.002),
        "nonbonded": VACUUM,
        "devices": ["cpu"],
        "threads": 1,
    }
    found = []
    for exchange in (
        ReplicaExchange(systems[0], state, window_states("phi", CENTRES, 300.0), **settings),
        ReplicaExchange(
            systems, state, temperature_states([300.0] * 3), all_energies=True, **settings
        ),
    ):
        exchange.draw_velocities()
        rows: list[Any] = []
        exchange.run(12, record=rows.append)
        found.append((rows, [one.positions() for one in exchange.simulations]))
    for one, other in zip(found[0][0], found[1][0], strict=True):
        np.testing.assert_allclose(one.energies, other.energies, rtol=0, atol=1e-6)
        np.testing.assert_array_equal(one.walkers, other.walkers)
    assert any((row.walkers != np.arange(3)).any() for row in found[0][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


def configuration(files: list[Path]) -> str:
    restraint = ", ".join(f'"{one}"' for one in PHI)
    return f"""
[system]
topology = "{files[0]}"
coordinates = "{files[1]}"
constraints = "h-bonds"
[[restraint]]
name = "phi"
kind = "torsion"
select = [{restraint}]
angle = 0.0
k = 20.0
[exchange]
kind = "windows"
restraint = "phi"
centres = [-100, -75, 170]
every = 10
[integrator]
timestep = 0.002
seed = 1
[run]
steps = 40
device = "cpu"
threads = 1
[output]
dir = "out"
log_every = 10
trajectory_every = 0
"""


def test_a_configuration_has_windows(files: list[Path], tmp_path: Path) -> None:
    """A stopped and continued exchange is that of one run; values and energies are in its files."""
    (tmp_path / "windows.toml").write_text(configuration(files))
    begun = quiltmd_command("exchange", "windows.toml", cwd=tmp_path)
    assert begun.returncode == 0, begun.stderr
    assert "3 replicas of 22 atoms from phi at -100, 300 K to phi at 170, 300 K" in begun.stderr
    resumed = quiltmd_command("exchange", "--resume", "out", "--steps", 80, cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    other = configuration(files).replace('"out"', '"b"').replace("steps = 40", "steps = 80")
    (tmp_path / "whole.toml").write_text(other)
    whole = quiltmd_command("exchange", "whole.toml", cwd=tmp_path)
    assert whole.returncode == 0, whole.stderr
    for name in ("energies.csv", "exchange.csv", "state-02/collective.csv"):
        assert (tmp_path / "b" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()
    rows = np.genfromtxt(tmp_path / "b/state-02/collective.csv", delimiter=",", names=True)
    assert rows["step"].tolist() == list(range(0, 90, 10)) or rows["step"][-1] == 80
    np.testing.assert_array_equal(rows["phi_centre"], 170.0)
    history = read_history(tmp_path / "b")
    u_kn, n_k = history.u_kn()
    assert np.isfinite(u_kn).all()
    assert n_k.tolist() == [8, 8, 8]
    report = quiltmd_command("report", "b", cwd=tmp_path)
    assert report.returncode == 0, report.stderr


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"centres": []}, "needs restraint and centres"),
        ({"kind": "temperature", "temperatures": [300, 310]}, "other kinds have neither"),
        ({"lowest": 300}, "states of kind windows are those of centres"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(changes: dict[str, Any], fault: str) -> None:
    section = {"kind": "windows", "restraint": "phi", "centres": [1.0], **changes}
    settings = {
        "system": {"topology": "a.prmtop", "coordinates": "a.crd"},
        "exchange": section,
        "run": {"steps": 500},
        "output": {"dir": "out"},
    }
    with pytest.raises(QuiltError, match=fault):
        build_config_of(ExchangeConfig, settings, "")


def test_windows_need_a_restraint_at_rest(files: list[Path]) -> None:
    system, state = quiltmd.load(*files)
    states = window_states("phi", CENTRES, 300.0)
    with pytest.raises(QuiltError, match="need a restraint between groups"):
        check_windows(states, [system] * 3)
    moving = Restraint("torsion", PHI, 20.0, path=((0, 10), (5, 20)), name="phi")
    with pytest.raises(QuiltError, match="'phi' follows a path"):
        check_windows(states, [quiltmd.restrain(system, [moving], state.positions, None)] * 3)
    weak = Restraint("torsion", PHI, 0.0, angle=10, name="phi")
    with pytest.raises(QuiltError, match="'phi' has k = 0: its windows do not differ"):
        check_windows(states, [quiltmd.restrain(system, [weak], state.positions, None)] * 3)
    resting = quiltmd.restrain(system, [phi(0.0)], state.positions, None)
    with pytest.raises(QuiltError, match="no collective restraint 'psi', only phi"):
        check_windows(window_states("psi", CENTRES, 300.0), [resting] * 3)
    with pytest.raises(QuiltError, match="give each state one"):
        check_windows([*states, *temperature_states([300.0])], [resting] * 4)
