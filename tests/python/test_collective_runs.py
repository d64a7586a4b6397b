# SPDX-License-Identifier: Apache-2.0
"""Runs with restraints between groups and with metadynamics: their files, stops and stages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quiltmd import QuiltError
from quiltmd.outputs.checkpoint import read_checkpoint
from quiltmd.running import runner, stages
from quiltmd.running.config import build_config

pytestmark = pytest.mark.filterwarnings("ignore:there is no periodic box")


@pytest.fixture
def settings(openmmtools_data: Path, tmp_path: Path) -> dict[str, Any]:
    files = openmmtools_data / "alanine-dipeptide-gbsa"
    phi, psi = ([f"index {atom}" for atom in of] for of in ((5, 7, 9, 15), (7, 9, 15, 17)))
    return {
        "system": {
            "topology": str(files / "alanine-dipeptide.prmtop"),
            "coordinates": str(files / "alanine-dipeptide.crd"),
        },
        "nonbonded": {"method": "no-cutoff"},
        "integrator": {"timestep": 0.001, "seed": 3},
        "run": {"steps": 60, "device": "cpu", "threads": 1, "start_temperature": 300},
        "output": {"dir": str(tmp_path / "whole"), "log_every": 4, "trajectory_every": 0},
        "restraint": [
            {"name": "phi", "kind": "torsion", "select": phi, "angle": 0, "k": 0},
            {"name": "psi", "kind": "torsion", "select": psi, "angle": 0, "k": 0},
            {
                "kind": "distance",
                "select": ["resname ACE", "resname NME"],
                "path": [[0, 0.5], [0.05, 0.7]],
                "k": 500,
            },
            {
                "name": "fold",
                "kind": "rmsd",
                "select": "heavy",
                "upper": 0.05,
                "lower": 0,
                "k": 900,
            },
        ],
        "metadynamics": {
            "variables": ["phi", "psi"],
            "width": [20, 20],
            "height": 1,
            "bias_factor": 8,
            "every": 10,
        },
    }


def test_a_run_that_was_stopped_has_the_files_of_one_that_was_not(
    settings: dict[str, Any], tmp_path: Path
) -> None:
    """Stopped at a step at which a hill is due, and between hills."""
    runner.start(build_config(settings))
    parts = {
        **settings,
        "run": {**settings["run"], "steps": 30},
        "output": {**settings["output"], "dir": str(tmp_path / "parts")},
    }
    runner.start(build_config(parts))
    for steps in (33, 60):
        runner.resume(tmp_path / "parts", {("run", "steps"): steps})
    for name in ("HILLS", "collective.csv"):
        whole, resumed = ((tmp_path / run / name).read_text() for run in ("whole", "parts"))
        assert whole == resumed
    ends = [read_checkpoint(tmp_path / run / "checkpoint.qmd").state for run in ("whole", "parts")]
    assert np.array_equal(ends[0].positions, ends[1].positions)
    rows = np.genfromtxt(tmp_path / "whole" / "collective.csv", delimiter=",", names=True)
    assert len(rows) == 16
    assert rows["distance_3_centre"][-1] == pytest.approx(0.7)
    assert rows["distance_3_work"][-1] != 0
    assert rows["fold"][0] == pytest.approx(0, abs=1e-4)
    assert rows["bias"][-1] > 0
    hills = (tmp_path / "whole" / "HILLS").read_text().splitlines()
    assert hills[0] == "#! FIELDS time phi psi sigma_phi sigma_psi height biasf"
    assert [float(line.split()[0]) for line in hills[3:]] == pytest.approx(
        [0.01, 0.02, 0.03, 0.04, 0.05]
    )


def test_stages_have_restraints_of_their_own(settings: dict[str, Any], tmp_path: Path) -> None:
    del settings["metadynamics"]
    settings["run"]["steps"] = 10
    settings["stage"] = [
        {"name": "one"},
        {
            "name": "two",
            "restraint": [{"kind": "gyration", "select": "all", "lower": 0.3, "k": 9.0}],
        },
    ]
    stages.start(settings)
    header = next((tmp_path / "whole").glob("*two/collective.csv")).read_text().splitlines()[0]
    assert header == "step,time,gyration_1,gyration_1_centre,gyration_1_energy"


def test_metadynamics_without_its_variables_is_refused(settings: dict[str, Any]) -> None:
    settings["metadynamics"]["variables"] = ["phi", "chi"]
    with pytest.raises(QuiltError, match="no collective restraint 'chi'"):
        runner.start(build_config(settings))
    del settings["restraint"]
    with pytest.raises(QuiltError, match="needs restraints between groups"):
        runner.start(build_config(settings))
