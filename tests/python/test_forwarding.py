# SPDX-License-Identifier: Apache-2.0
"""Devices in workers to which the engine of this process forwards its commands."""

from __future__ import annotations

import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from test_remote import Serving
from test_workers import comes_true, is_alive, water

import quiltmd
from quiltmd import LostError, QuiltError, Workers
from quiltmd.workers import factory


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The connections that are made."""
    found: list[Any] = []
    connect_all = factory.connect_all

    def noted(*settings: Any) -> Any:
        made = connect_all(*settings)
        found.extend(made)
        return made

    monkeypatch.setattr(factory, "connect_all", noted)
    return found


def results(simulation: quiltmd.Simulation) -> Any:
    """Of a run with everything that an engine does."""
    simulation.minimize(max_iterations=3)
    simulation.draw_velocities(300, 1)
    simulation.run(50)
    simulation.set_conditions(temperature=320.0)
    simulation.run(30)
    forces = simulation.forces()
    return quiltmd.digest(simulation.state()), simulation.energies(), forces.tobytes()


def test_the_bits_are_those_of_a_device_here(tmp_path: Path) -> None:
    here = results(water("cpu"))
    assert results(water("forward:worker:cpu")) == here
    serving = Serving(tmp_path)
    there = water(
        f"forward:remote:127.0.0.1:{serving.server.port}/cpu", workers=Workers(key=serving.key)
    )
    assert results(there) == here
    there._engine.describe()
    del there
    assert comes_true(lambda: not serving.server._sessions)
    serving.close()


def test_a_worker_ends_with_the_simulation(started: list[Any]) -> None:
    simulation = water("forward:cpu")
    simulation.run(5)
    process = started[0].process
    assert is_alive(process)
    assert process not in {child.pid for child in multiprocessing.active_children()}
    del simulation
    assert comes_true(lambda: not is_alive(process))


def test_a_lost_worker_is_an_error(started: list[Any]) -> None:
    simulation = water("forward:worker:cpu")
    simulation.run(5)
    os.kill(started[0].process, signal.SIGKILL)
    with pytest.raises(LostError, match="connection to the device has ended: its process"):
        simulation.run(5)


@pytest.mark.parametrize(
    ("device", "settings", "said"),
    [
        (
            "forward:worker:cpu",
            {"workers": Workers(spares=("cpu",))},
            "cannot be used with forward: devices",
        ),
        ("forward:worker:cpu", {"ranks": 2}, "has one rank"),
        ("forward:worker:cuda:0,1", {}, "has one device"),
        ("forward:worker:cuda:77", {}, "cuda:77"),
    ],
)
def test_what_is_refused(device: str, settings: Any, said: str) -> None:
    with pytest.raises(QuiltError, match=said):
        water(device, **settings)
