# SPDX-License-Identifier: Apache-2.0
"""Runs on several GPUs that try one: who moves where, by a clock and a simulation of our own."""

from __future__ import annotations

from typing import Any

import pytest

from quiltmd import QuiltError
from quiltmd.engine.execution import Execution
from quiltmd.running import one_gpu
from quiltmd.running.one_gpu import OneGpuTrial

PIECE = 0.5  # s between two looks at the run


class Timed:
    """A simulation that takes so many seconds a step by device, and lists where it has been."""

    def __init__(self, **microseconds: float) -> None:
        self.seconds = {
            name.replace("_", ":", 1).replace("_", ","): 1e-6 * us
            for name, us in microseconds.items()
        }
        self.device = next(iter(self.seconds))
        self.been = [self.device]
        self.step = 0
        self.clock = 0.0

    def migrate(self, device: str) -> None:
        if device not in self.seconds:
            raise QuiltError(f"there is no {device}")
        self.device = device
        self.been.append(device)
        self.clock += 30  # which is no time of a step

    def advance(self) -> None:
        self.step += round(PIECE / self.seconds[self.device])
        self.clock += PIECE


def tried(simulation: Timed, monkeypatch: Any, execution: Execution | None = None) -> list[str]:
    """The devices that it has been on after a minute."""
    monkeypatch.setattr(one_gpu.time, "monotonic", lambda: simulation.clock)
    trial = OneGpuTrial(simulation, execution or Execution())  # type: ignore[arg-type]
    for _ in range(120):
        simulation.advance()
        if trial.is_due(simulation.step):
            trial.carry_out(simulation)  # type: ignore[arg-type]
    return simulation.been


def test_a_small_system_stays_on_one(monkeypatch: Any, capsys: Any) -> None:
    simulation = Timed(cuda_0_1=53.4, cuda_0=46.6)
    assert tried(simulation, monkeypatch) == ["cuda:0,1", "cuda:0"]
    said = " ".join(capsys.readouterr().err.split())
    assert "cuda:0 alone, where a step takes 46.6 us; on cuda:0,1 it took 53.4 us" in said


def test_it_returns_where_several_are_faster(monkeypatch: Any) -> None:
    simulation = Timed(cuda_2_3=96.0, cuda_2=119.0)
    assert tried(simulation, monkeypatch) == ["cuda:2,3", "cuda:2", "cuda:2,3"]


@pytest.mark.parametrize(
    "simulation", [Timed(cuda_0_1=258.0, cuda_0=10.0), Timed(cpu=50.0), Timed(cuda_0_0=50.0)]
)
def test_others_try_nothing(simulation: Timed, monkeypatch: Any) -> None:
    assert len(tried(simulation, monkeypatch)) == 1


@pytest.mark.parametrize(
    "asked", [Execution(transport="peer"), Execution(mesh="replicated")], ids=["transport", "mesh"]
)
def test_who_says_how_to_share_gets_several(asked: Execution, monkeypatch: Any) -> None:
    assert len(tried(Timed(cuda_0_1=53.4, cuda_0=46.6), monkeypatch, asked)) == 1


def test_a_run_goes_on_where_one_cannot_be_tried(monkeypatch: Any, capsys: Any) -> None:
    assert tried(Timed(cuda_0_1=53.4), monkeypatch) == ["cuda:0,1"]
    assert "cuda:0 was not tried: there is no cuda:0" in capsys.readouterr().err


def test_who_moves_it_meanwhile_decides(monkeypatch: Any) -> None:
    simulation = Timed(cuda_0_1=53.4, cuda_0=46.6, cpu=1e4)
    monkeypatch.setattr(one_gpu.time, "monotonic", lambda: simulation.clock)
    trial = OneGpuTrial(simulation, Execution())  # type: ignore[arg-type]
    simulation.advance()
    trial.is_due(simulation.step)
    simulation.migrate("cpu")
    for _ in range(20):
        simulation.advance()
        if trial.is_due(simulation.step):
            trial.carry_out(simulation)  # type: ignore[arg-type]
    assert simulation.been == ["cuda:0,1", "cpu"]
