# SPDX-License-Identifier: Apache-2.0
"""Runs of stages that tests begin, stop and compare."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import quiltmd

NAMES = ("1-minimise", "2-heat", "3-release")


def settings(tmp_path: Path, out: str = "out") -> dict[str, Any]:
    for name in ("a.prmtop", "a.inpcrd"):
        (tmp_path / name).write_text(name)
    return {
        "system": {
            "topology": str(tmp_path / "a.prmtop"),
            "coordinates": str(tmp_path / "a.inpcrd"),
        },
        "nonbonded": {"cutoff": 0.4},
        "integrator": {"seed": 3},
        "run": {"steps": 20, "device": "cpu"},
        "output": {
            "dir": tmp_path / out,
            "log_every": 4,
            "trajectory_every": 6,
            "checkpoint_every": 7,
        },
        "stage": [
            {"name": "minimise", "run": {"steps": 0, "minimize": True}},
            {
                "name": "heat",
                "integrator": {"annealing": [[0, 50], [0.03, 250]], "annealing_every": 5},
            },
            {"name": "release", "integrator": {"ensemble": "nve"}, "output": {"final": ["cif"]}},
        ],
    }


def results(out: Path) -> list[Any]:
    """What two runs have in common: without speeds and times of day."""
    found: list[Any] = []
    for name in NAMES:
        folder = out / name
        rows = [line.rsplit(",", 1)[0] for line in (folder / "log.csv").read_text().splitlines()]
        state = quiltmd.read_checkpoint(folder / "checkpoint.qmd").state
        found += [rows, quiltmd.digest(state), (folder / "final.cif").read_bytes()]
        if name != NAMES[0]:
            found.append((folder / "trajectory.dcd").read_bytes())
    return found


def chained(files: tuple[Path, Path], out: Path, *stages: dict[str, Any]) -> dict[str, Any]:
    """Stages with a chain of thermostats, which are named by their order."""
    return {
        "system": {"topology": str(files[0]), "coordinates": str(files[1])},
        "integrator": {"seed": 5},
        "thermostat": {"kind": "nose-hoover", "time_constant": 0.05, "every": 3},
        "run": {"steps": 9, "device": "cpu"},
        "output": {"dir": out, "checkpoint_every": 0, "final": []},
        "stage": [{"name": str(number), **stage} for number, stage in enumerate(stages, 1)],
    }


def end_of(out: Path, stage: int) -> quiltmd.State:
    return quiltmd.read_checkpoint(out / f"{stage}-{stage}" / "checkpoint.qmd").state
