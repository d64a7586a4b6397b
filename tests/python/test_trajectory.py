# SPDX-License-Identifier: Apache-2.0
"""DCD files: what other programs read from them, cutting and going on, kills in mid-write."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from quiltmd import DcdWriter, QuiltError, State, load
from quiltmd.description.box import box_from_lengths_angles, lengths_angles
from quiltmd.outputs.wrapping import MoleculeWrapper

pytestmark = pytest.mark.filterwarnings(
    "ignore:DCDReader currently makes independent timesteps:DeprecationWarning"
)

ATOMS = 5
BOXES = {
    "cube": ([3.0, 3.0, 3.0], [90.0, 90.0, 90.0]),
    "octahedron": ([4.0, 4.0, 4.0], [109.4712206, 109.4712206, 109.4712206]),
    "triclinic": ([3.0, 4.0, 5.0], [80.0, 75.0, 70.0]),
}


def frames(count: int) -> np.ndarray:
    return np.random.default_rng(1).normal(scale=2.0, size=(count, ATOMS, 3))


def write(path: Path, count: int, box: np.ndarray) -> None:
    writer = DcdWriter(path, ATOMS, every=10, timestep=0.002)
    for positions in frames(count):
        writer.write(positions, box)
    writer.close()


@pytest.mark.parametrize("shape", BOXES)
def test_mdtraj_reads_it(tmp_path: Path, shape: str) -> None:
    from mdtraj import formats

    box = box_from_lengths_angles(*BOXES[shape])
    write(tmp_path / "x.dcd", 3, box)
    with formats.DCDTrajectoryFile(str(tmp_path / "x.dcd")) as file:
        positions, lengths, angles = file.read()
    np.testing.assert_allclose(positions, frames(3) * 10, rtol=1e-6)
    np.testing.assert_allclose(lengths[2], lengths_angles(box)[0] * 10, rtol=1e-6)
    np.testing.assert_allclose(angles[2], lengths_angles(box)[1], rtol=1e-6)


@pytest.mark.parametrize("shape", BOXES)
def test_mdanalysis_reads_it(tmp_path: Path, shape: str) -> None:
    import MDAnalysis

    box = box_from_lengths_angles(*BOXES[shape])
    write(tmp_path / "x.dcd", 4, box)
    read = MDAnalysis.Universe.empty(ATOMS, trajectory=True)
    read.load_new(str(tmp_path / "x.dcd"))
    assert len(read.trajectory) == 4
    assert read.trajectory.dt == pytest.approx(0.02, rel=1e-5)
    for step, positions in zip(read.trajectory, frames(4), strict=True):
        np.testing.assert_allclose(step.positions, positions * 10, rtol=1e-6)
        expected = np.concatenate([lengths_angles(box)[0] * 10, lengths_angles(box)[1]])
        np.testing.assert_allclose(step.dimensions, expected, rtol=1e-5)


def test_going_on_gives_the_same_file(tmp_path: Path) -> None:
    box = np.eye(3) * 3
    write(tmp_path / "whole.dcd", 6, box)
    write(tmp_path / "cut.dcd", 4, box)
    writer = DcdWriter(tmp_path / "cut.dcd", ATOMS, every=10, timestep=0.002, keep=2)
    for positions in frames(6)[2:]:
        writer.write(positions, box)
    writer.close()
    assert (tmp_path / "cut.dcd").read_bytes() == (tmp_path / "whole.dcd").read_bytes()


@pytest.mark.parametrize("extra", [1, 60, 170])
def test_a_kill_in_mid_frame_harms_no_frame_before(tmp_path: Path, extra: int) -> None:
    from mdtraj import formats

    box = np.eye(3) * 3
    path = tmp_path / "x.dcd"
    write(path, 3, box)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[-300:][:extra])
    with formats.DCDTrajectoryFile(str(path)) as file:
        assert len(file.read()[0]) == 3
    DcdWriter(path, ATOMS, every=10, timestep=0.002, keep=3).close()
    assert path.read_bytes() == whole


def test_lost_frames_are_noticed(tmp_path: Path) -> None:
    write(tmp_path / "x.dcd", 2, np.eye(3))
    with pytest.raises(QuiltError, match="bytes where the checkpoint expects"):
        DcdWriter(tmp_path / "x.dcd", ATOMS, every=10, timestep=0.002, keep=3)
    with pytest.raises(QuiltError, match="another number of atoms"):
        DcdWriter(tmp_path / "x.dcd", ATOMS + 1, every=10, timestep=0.002, keep=1)


def test_molecules_stay_whole_with_centres_in_the_cell(alanine: tuple[Path, Path]) -> None:
    system, state = load(*alanine, constraints="h-bonds")
    rng = np.random.default_rng(0)
    cells = rng.integers(-3, 4, size=(system.molecules.max() + 1, 3))[system.molecules]
    away = State(state.positions + cells @ state.box, state.velocities, state.box)
    wrapped = MoleculeWrapper(system.molecules).wrap(away.positions, away.box)
    i, j = system.links.T
    np.testing.assert_allclose(
        wrapped[i] - wrapped[j], state.positions[i] - state.positions[j], atol=1e-12
    )
    for molecule in range(0, system.molecules.max() + 1, 50):
        centre = wrapped[system.molecules == molecule].mean(axis=0)
        fraction = centre @ np.linalg.inv(state.box)
        assert (fraction >= 0).all()
        assert (fraction < 1).all()
