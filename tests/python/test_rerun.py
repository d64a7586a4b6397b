# SPDX-License-Identifier: Apache-2.0
"""`quiltmd energy --trajectory`: frames of a run have the energies that its log has."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.io import netcdf_file
from typer.testing import CliRunner

import quiltmd
from quiltmd import LangevinMiddle, LogReporter, QuiltError, Simulation, TrajectoryReporter
from quiltmd.commands.cli import app
from quiltmd.outputs.formats import open_trajectory
from quiltmd.outputs.trajectory import Layout, Snapshot

Files = tuple[Path, Path]


@pytest.fixture
def ran(alanine: Files, tmp_path: Path) -> Path:
    """A short run with a row of the log for each frame."""
    system, state = quiltmd.load(*alanine, constraints="none")
    bath = LangevinMiddle(timestep=0.001, seed=0)
    simulation = Simulation(system, state, integrator=bath, device="cpu")
    simulation.draw_velocities(300, 1)
    log = LogReporter(tmp_path / "log.csv", 5, terms=simulation.terms())
    frames = TrajectoryReporter(tmp_path / "x.nc", 5, simulation, forces=True)
    simulation.run(15, [log, frames])
    frames.close()
    return tmp_path


def test_energies_are_those_of_the_log(alanine: Files, ran: Path) -> None:
    command = ["energy", *map(str, alanine), "--trajectory", str(ran / "x.nc")]
    result = CliRunner().invoke(
        app,
        [*command, "--forces", str(ran / "forces.npy")],
        catch_exceptions=False,
    )
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    with open(ran / "log.csv", newline="") as file:
        logged = list(csv.DictReader(file))
    assert [float(row["time"]) for row in rows] == pytest.approx([0.005, 0.01, 0.015])
    for row, expected in zip(rows, logged, strict=True):
        for name in ("bond", "angle", "torsion", "lj", "coulomb", "pme", "potential"):
            # Positions have single precision, of which bonds make the most.
            assert float(row[name]) == pytest.approx(float(expected[name]), abs=0.05), name
    forces = np.load(ran / "forces.npy")
    assert forces.shape == (3, 2269, 3)
    with netcdf_file(str(ran / "x.nc"), mmap=False) as file:
        written = file.variables["forces"].data * 41.84
    assert np.sqrt(((forces - written) ** 2).mean() / (written**2).mean()) < 1e-4


def test_energies_in_implicit_solvent(openmmtools_data: Path, tmp_path: Path) -> None:
    folder = openmmtools_data / "alanine-dipeptide-gbsa"
    files = [folder / f"alanine-dipeptide.{suffix}" for suffix in ("prmtop", "crd")]
    solvent = quiltmd.ImplicitSolvent("obc2", salt_concentration=0.1)
    system, state = quiltmd.load(*files, solvent=solvent)
    simulation = Simulation(system, state, integrator=LangevinMiddle(seed=0), device="cpu")
    log = LogReporter(tmp_path / "log.csv", 5)
    frames = TrajectoryReporter(tmp_path / "x.h5md", 5, simulation)
    simulation.run(10, [log, frames])
    frames.close()
    command = ["energy", *map(str, files), "--trajectory", str(tmp_path / "x.h5md")]
    asked = ["--solvent", "obc2", "--salt-concentration", "0.1"]
    result = CliRunner().invoke(app, [*command, *asked], catch_exceptions=False)
    found = [float(row["potential"]) for row in csv.DictReader(io.StringIO(result.stdout))]
    with open(tmp_path / "log.csv", newline="") as file:
        logged = [float(row["potential"]) for row in csv.DictReader(file)]
    assert found == pytest.approx(logged, abs=1e-3)


def test_each_frame_has_its_own_box(alanine: Files, tmp_path: Path) -> None:
    system, state = quiltmd.load(*alanine, constraints="none")
    layout = Layout(system.atoms, 10, 0.002)
    writer = open_trajectory(tmp_path / "x.dcd", layout)
    boxes = [state.box, state.box * 1.02]
    for number, box in enumerate(boxes, 1):
        writer.write(Snapshot(10 * number, 0.02 * number, box, state.positions))
    writer.close()
    command = ["energy", *map(str, alanine), "--json"]
    result = CliRunner().invoke(app, [*command, "--trajectory", str(tmp_path / "x.dcd")])
    found = json.loads(result.stdout)
    potentials = [one["energy"]["potential"] for one in found]
    singles = [
        Simulation(
            system, quiltmd.State(state.positions, state.velocities, box), device="cpu"
        ).energies()["potential"]
        for box in boxes
    ]
    assert abs(singles[1] - singles[0]) > 20
    np.testing.assert_allclose(potentials, singles, atol=2)


def test_mistakes(alanine: Files, ran: Path) -> None:
    command = ["energy", *map(str, alanine)]

    def run(*options: str) -> None:
        CliRunner().invoke(app, [*command, *options], catch_exceptions=False)

    with pytest.raises(QuiltError, match="give one of --frame, --all-frames and --trajectory"):
        run("--frame", "0", "--trajectory", str(ran / "x.nc"))
    with pytest.raises(QuiltError, match=r"no\.dcd: no such file"):
        run("--trajectory", str(ran / "no.dcd"))
    (ran / "bad.xtc").write_bytes(b"not a trajectory at all")
    with pytest.raises(QuiltError, match=r"bad\.xtc: not a trajectory of 2269 atoms"):
        run("--trajectory", str(ran / "bad.xtc"))
