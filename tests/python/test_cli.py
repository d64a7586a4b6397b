# SPDX-License-Identifier: Apache-2.0
"""The command from outside: its JSON, its files, its exit codes; on the real core."""

from __future__ import annotations

import hashlib
import json
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from command import quiltmd

import quiltmd as library

Files = tuple[Path, Path]
COLUMNS = "step,time,potential,kinetic,total,conserved,temperature,pressure,density,ns/day"
TERMS = {"bond", "angle", "torsion", "nonbonded", "potential"}


def run_flags(files: Files, out: Path, steps: int, *more: Any) -> list[Any]:
    return [
        "run", "--topology", files[0], "--coordinates", files[1], "--minimize", "--ensemble", "nvt",
        "--temperature", 300, "--friction", 1, "--timestep", 0.002, "--steps", steps,
        "--cutoff", 0.9, "--seed", 5, "--device", "cpu", "--out", out, "--log-every", 5,
        "--trajectory-every", 10, "--checkpoint-every", 10, *more,
    ]  # fmt: skip


def digest(folder: Path) -> str:
    done = quiltmd("digest", folder / "checkpoint.qmd")
    assert done.returncode == 0, done.stderr
    return str(done.stdout.strip())


@pytest.fixture(scope="module")
def finished(
    openmmtools_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Files, Path]:
    folder = openmmtools_data / "alanine-dipeptide-explicit"
    files = folder / "alanine-dipeptide.prmtop", folder / "alanine-dipeptide.crd"
    out = tmp_path_factory.mktemp("cli") / "out"
    done = quiltmd(*run_flags(files, out, 40))
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    return files, out


def test_energy_prints_json_and_saves_forces(alanine: Files, tmp_path: Path) -> None:
    forces = tmp_path / "forces.npy"
    done = quiltmd("energy", *alanine, "--json", "--forces", forces)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["atoms"] == 2269
    energy = result["energy"]
    assert energy.keys() >= TERMS
    assert energy["potential"] == pytest.approx(
        energy["bond"] + energy["angle"] + energy["torsion"] + energy["nonbonded"], abs=1e-3
    )
    assert np.shape(result["virial"]) == (3, 3)
    saved = np.load(forces)
    assert saved.shape == (2269, 3)
    assert saved.dtype == np.float64


def test_energy_of_frames(octahedron: Files, tmp_path: Path) -> None:
    """The first frame of a trajectory is taken with a word; others when asked for."""
    plain = quiltmd("energy", *octahedron, "--json")
    assert "has 10 frames; these are the energies of frame 0" in plain.stderr
    last = quiltmd("energy", *octahedron, "--json", "--frame", 9)
    assert "the energies of frame 0" not in last.stderr
    forces = tmp_path / "forces.npy"
    every = quiltmd("energy", *octahedron, "--json", "--all-frames", "--forces", forces)
    results = json.loads(every.stdout)
    assert [results[0], results[9]] == [json.loads(plain.stdout), json.loads(last.stdout)]
    assert len({result["energy"]["potential"] for result in results}) == 10
    assert np.load(forces).shape == (10, results[0]["atoms"], 3)
    assert quiltmd("energy", *octahedron, "--frame", 10).returncode == 1


@pytest.mark.parametrize(("frame", "index"), [(None, 0), (-1, 9), (3, 3), (10, None)])
def test_a_run_begins_from_a_frame(
    octahedron: Files, tmp_path: Path, frame: int | None, index: int | None
) -> None:
    flags = [] if frame is None else ["--frame", frame]
    files = ["--topology", octahedron[0], "--coordinates", octahedron[1]]
    where = ["--device", "cpu", "--out", tmp_path / "out"]
    done = quiltmd("run", *files, *where, "--steps", 0, *flags)
    assert ("begins from the first (--frame chooses another)" in done.stderr) == (frame is None)
    if index is None:
        assert done.returncode == 1
        assert "no frame 10" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    begun = library.read_checkpoint(tmp_path / "out" / "checkpoint.qmd").state
    wanted = library.load(*octahedron, frame=index)[1]
    assert (begun.positions == wanted.positions).all()


def test_energy_without_json_is_a_table(alanine: Files) -> None:
    done = quiltmd("energy", *alanine, "--pme-alpha", 3, "--pme-grid", "40,40,40")
    assert done.returncode == 0, done.stderr
    assert "potential" in done.stdout


def test_energy_does_not_depend_on_ranks(alanine: Files) -> None:
    results = [quiltmd("energy", *alanine, "--json", "--ranks", n).stdout for n in (1, 3)]
    assert json.loads(results[0]) == json.loads(results[1])


def test_a_run_leaves_its_files(finished: tuple[Files, Path]) -> None:
    files, out = finished
    rows = (out / "log.csv").read_text().splitlines()
    assert rows[0] == COLUMNS
    assert [int(row.split(",")[0]) for row in rows[1:]] == list(range(0, 41, 5))
    assert all(np.isfinite(float(value)) for row in rows[1:] for value in row.split(","))
    import mdtraj

    trajectory = mdtraj.load_dcd(str(out / "trajectory.dcd"), top=str(out / "final.pdb"))
    assert trajectory.n_frames == 4
    _, last = library.load(files[0], out / "final.ncrst")
    state = library.read_checkpoint(out / "checkpoint.qmd").state
    np.testing.assert_allclose(last.positions, state.positions, atol=1e-9)


def test_digest_is_documented_bytes(finished: tuple[Files, Path]) -> None:
    state = library.read_checkpoint(finished[1] / "checkpoint.qmd").state
    sha = hashlib.sha256(struct.pack("<q", state.step))
    for array in (state.box, state.positions, state.velocities):
        sha.update(np.ascontiguousarray(array, "<f8").tobytes())
    assert digest(finished[1]) == sha.hexdigest()


def test_toml_gives_the_same_as_flags(finished: tuple[Files, Path], tmp_path: Path) -> None:
    files, out = finished
    (tmp_path / "run.toml").write_text(
        f"""
        [system]
        topology = "{files[0]}"
        coordinates = "{files[1]}"
        [integrator]
        ensemble = "nvt"
        seed = 5
        [run]
        steps = 40
        minimize = true
        device = "cpu"
        [output]
        dir = "here"
        """
    )
    done = quiltmd("run", tmp_path / "run.toml")
    assert done.returncode == 0, done.stderr
    assert digest(tmp_path / "here") == digest(out)


def test_resume_gives_the_same_bits(finished: tuple[Files, Path], tmp_path: Path) -> None:
    files, out = finished
    assert quiltmd(*run_flags(files, tmp_path, 17)).returncode == 0
    done = quiltmd("run", "--resume", tmp_path, "--steps", 40, "--ranks", 2)
    assert done.returncode == 0, done.stderr
    assert digest(tmp_path) == digest(out)
    assert (tmp_path / "trajectory.dcd").read_bytes() == (out / "trajectory.dcd").read_bytes()
    logs = [
        [row.split(",")[:5] for row in (folder / "log.csv").read_text().splitlines()]
        for folder in (tmp_path, out)
    ]
    assert logs[0] == logs[1]


def test_resume_between_impulses_gives_the_same_bits(
    finished: tuple[Files, Path], tmp_path: Path
) -> None:
    files, out = finished
    impulses = ("--long-range-every", 3)
    assert quiltmd(*run_flags(files, tmp_path / "whole", 40, *impulses)).returncode == 0
    assert quiltmd(*run_flags(files, tmp_path / "parts", 17, *impulses)).returncode == 0
    done = quiltmd("run", "--resume", tmp_path / "parts", "--steps", 40, "--ranks", 2)
    assert done.returncode == 0, done.stderr
    assert digest(tmp_path / "parts") == digest(tmp_path / "whole") != digest(out)


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_process_can_be_resumed(
    finished: tuple[Files, Path], tmp_path: Path, kind: signal.Signals
) -> None:
    files, _ = finished
    flags = map(str, run_flags(files, tmp_path, 100_000))
    process = subprocess.Popen(
        [sys.executable, "-m", "quiltmd", *flags], stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 120
    while not (tmp_path / "checkpoint.prev.qmd").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(kind)
    _, messages = process.communicate(timeout=120)
    if kind == signal.SIGINT:
        assert process.returncode == 130
        assert "quiltmd run --resume" in messages
    step = library.read_checkpoint(tmp_path / "checkpoint.qmd").state.step
    done = quiltmd("run", "--resume", tmp_path, "--steps", step + 10)
    assert done.returncode == 0, done.stderr
    rows = (tmp_path / "log.csv").read_text().splitlines()[1:]
    assert [int(row.split(",")[0]) for row in rows] == list(range(0, step + 11, 5))


def test_nve_with_heavy_hydrogens(alanine: Files, tmp_path: Path) -> None:
    done = quiltmd(
        "run", "--topology", alanine[0], "--coordinates", alanine[1], "--minimize", "--hmr",
        "--ensemble", "nve", "--timestep", 0.004, "--steps", 10, "--out", tmp_path / "out",
        "--device", "cpu", "--log-every", 10,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = [row.split(",") for row in (tmp_path / "out" / "log.csv").read_text().splitlines()]
    assert rows[-1][4] == rows[-1][5]


def test_info_and_devices() -> None:
    facts = json.loads(quiltmd("info", "--json").stdout)
    assert facts["version"]
    assert "problem" not in facts
    devices = json.loads(quiltmd("devices", "--json").stdout)
    assert any(device["kind"] == "cpu" for device in devices)
    assert quiltmd("info").returncode == quiltmd("devices").returncode == 0


@pytest.mark.parametrize(("system", "atoms"), [("alanine", 2269), ("demo", 2889)])
def test_bench(openmmtools_data: Path, system: str, atoms: int) -> None:
    done = quiltmd("bench", "--system", system, "--steps", 5, "--device", "cpu", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["atoms"] == atoms
    assert result["ns_per_day"] > 0
    assert result["tasks"]


def test_demo_needs_no_other_package_and_draws_a_picture(tmp_path: Path) -> None:
    """A protein that comes with quiltmd, from its files to a picture that a browser shows."""
    hidden = "import sys; sys.modules.update(openmmtools=None, openmm=None, matplotlib=None); "
    code = f"{hidden}from quiltmd.commands.start import main; main()"
    options = ("demo", "--out", tmp_path / "demo", "--seconds", 0.1, "--device", "cpu")
    command = [sys.executable, "-c", code, *map(str, options)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "energies.svg" in done.stderr
    picture = ElementTree.parse(tmp_path / "demo" / "energies.svg").getroot()
    assert picture.tag == "{http://www.w3.org/2000/svg}svg"
    lines = picture.findall(".//{*}polyline")
    rows = len((tmp_path / "demo" / "log.csv").read_text().splitlines()) - 1
    assert [len(line.attrib["points"].split()) for line in lines] == [rows] * 3
