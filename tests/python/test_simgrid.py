# SPDX-License-Identifier: Apache-2.0
"""Steps as the core predicts them beside what SimGrid makes of the same tasks and messages."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import boxes
import pytest

import quiltmd
from quiltmd.prediction.machine import read_machine
from quiltmd.prediction.plan import Planner

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))
from simgrid_check import document_of  # noqa: E402

# What SimGrid 3.32 gives for the step below, us: when the last rank is done, and the mean; and when
# the messages of positions have arrived, all sent at once.
RECORDED = {
    "step": {"last": 42838.3, "mean": 42128.7},
    "positions": {"last": 637.18, "mean": 273.00},
}


@pytest.fixture(scope="module")
def document() -> Any:
    """Water on a torus of 27 nodes: 2,646 tasks and 1,134 messages."""
    system, state = boxes.water_box((12, 12, 12))
    planner = Planner(
        *(
            system,
            state,
            quiltmd.Nonbonded(cutoff=0.5, pme_split="gaussian", pme_order=5, pme_tolerance=1e-3),
        ),
        quiltmd.VelocityVerlet(timestep=0.004),
        tile=(3, 2, 1),
    )
    return document_of(planner, read_machine("blue-gene-l"), 27)


@cache
def python_with_simgrid() -> str | None:
    for python in (sys.executable, "/usr/bin/python3"):
        command = [python, "-c", "import simgrid"]
        try:
            if subprocess.run(command, capture_output=True).returncode == 0:
                return python
        except OSError:
            continue
    return None


@pytest.mark.parametrize(("what", "within"), [("step", 0.03), ("positions", 0.1)])
def test_the_core_predicts_what_simgrid_did(document: Any, what: str, within: float) -> None:
    ends = document["core"][what]["us"]
    assert max(ends) == pytest.approx(RECORDED[what]["last"], rel=within)
    assert sum(ends) / len(ends) == pytest.approx(RECORDED[what]["mean"], rel=within)


def test_simgrid_does_what_was_recorded(document: Any, tmp_path: Path) -> None:
    python = python_with_simgrid()
    if python is None:
        pytest.skip("SimGrid is not here (python3-simgrid of Debian): its recorded times count")
    path = tmp_path / "step.json"
    path.write_text(json.dumps(document))
    command = [python, BENCHMARKS / "simgrid_check.py", "simgrid", path]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    found = json.loads(done.stdout)
    for what, recorded in RECORDED.items():
        for which, time in recorded.items():
            assert found[what]["simgrid"][which] == pytest.approx(time, rel=1e-3), what
