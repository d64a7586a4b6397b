# SPDX-License-Identifier: Apache-2.0
"""What two runs must have written alike, whether they wrote while they went on or waited."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import quiltmd


def outputs(simulation: quiltmd.Simulation, folder: Path) -> list[Any]:
    """A log and a trajectory of every tenth step, and checkpoints of every fiftieth."""
    folder.mkdir()
    log = quiltmd.LogReporter(folder / "log.csv", 10)
    frames = quiltmd.TrajectoryReporter(folder / "trajectory.dcd", 10, simulation)
    return [log, frames, quiltmd.CheckpointReporter(folder / "checkpoint.qmd", 50, [log, frames])]


def contents(folder: Path) -> list[Any]:
    """Of log.csv, trajectory.dcd and checkpoints; without speed, which marks of the log tell of."""
    rows = [line.rsplit(",", 1)[0] for line in (folder / "log.csv").read_text().splitlines()]
    found: list[Any] = [rows, (folder / "trajectory.dcd").read_bytes()]
    for name in ("checkpoint.qmd", "checkpoint.prev.qmd"):
        checkpoint = quiltmd.read_checkpoint(folder / name)
        lists = checkpoint.state.list_positions
        assert lists is not None
        found += [quiltmd.digest(checkpoint.state), checkpoint.state.list_step, lists.tobytes()]
        found += [checkpoint.heat, checkpoint.outputs["trajectory.dcd"]]
    return found
