# SPDX-License-Identifier: Apache-2.0
"""Simulations and runs that go on on another device because somebody wants it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_engine import FakeEngine
from test_runner import same_results
from test_supervisor import plain
from test_workers import short, water

import quiltmd
from quiltmd import QuiltError, Simulation
from quiltmd.running import runner
from quiltmd.running.folder import Folder
from quiltmd.running.migration import ask_to_migrate


def migrated(simulation: Simulation, *devices: str) -> Simulation:
    """Run with changes of the heat bath, between which it migrates."""
    simulation.draw_velocities(300, 1)
    simulation.run(5)
    simulation.set_conditions(temperature=320.0)
    simulation.run(4)
    for device in devices:
        simulation.migrate(device)
    simulation.run(6)
    return simulation


def test_a_simulation_migrates_without_a_change_of_bits() -> None:
    there = migrated(water("cpu"), "worker:cpu", "cpu")
    stayed = migrated(water("cpu"))
    assert quiltmd.digest(there.state()) == quiltmd.digest(stayed.state())
    assert there.energies() == stayed.energies()
    there.migrate("worker:cpu")
    assert there.device == "worker:cpu"


def test_it_stays_where_the_other_device_cannot_be_used() -> None:
    simulation = plain()
    simulation.run(3)
    with pytest.raises(QuiltError, match=r"cuda:77"):
        simulation.migrate("cuda:77")
    with pytest.raises(QuiltError, match=r"no such device"):
        simulation.migrate("gpu")
    simulation.run(3)
    assert (simulation.step, simulation.device) == (6, "cpu")
    reference = plain()
    reference.run(6)
    assert quiltmd.digest(simulation.state()) == quiltmd.digest(reference.state())


@pytest.mark.parametrize(
    ("to", "said"),
    [("cpu", "migrated from cpu to cpu"), ("cuda:77", "the run stays on cpu: device 'cuda:77'")],
)
def test_a_run_migrates(
    alanine: tuple[Path, Path], tmp_path: Path, capsys: Any, to: str, said: str
) -> None:
    out = tmp_path / "out"

    class Wished(FakeEngine):
        made = 0

        def __init__(self, *settings: Any) -> None:
            super().__init__(*settings)
            Wished.made += 1

        def run(self, steps: int) -> None:
            super().run(steps)
            if self._step == 12 and Wished.made == 1:
                ask_to_migrate(out, to)

    runner.start(short(alanine, out), engine=Wished)
    runner.start(short(alanine, tmp_path / "stayed"), engine=FakeEngine)
    same_results(out, tmp_path / "stayed")
    assert said in " ".join(capsys.readouterr().err.split())
    assert Wished.made == (2 if to == "cpu" else 1)
    assert not (out / "migrate-to").exists()


def test_replicas_do_not_migrate(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "out")
    with folder.owned():
        folder.config.write_text("[exchange]\n")
        with pytest.raises(QuiltError, match="holds a replica exchange"):
            ask_to_migrate(folder.path, "cpu")
        assert not (folder.path / "migrate-to").exists()


def test_the_command_refuses_where_no_run_goes_on(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "quiltmd", "migrate", str(tmp_path), "--to", "cpu"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "nothing is running there" in done.stderr
