# SPDX-License-Identifier: Apache-2.0
"""A run that goes on from the files that another one left, as control files ask for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import MDAnalysis
import numpy as np
import pytest
from boxes import water_box
from command import quiltmd as command

import quiltmd
from quiltmd import Nonbonded
from quiltmd.errors import InputError, QuiltError
from quiltmd.inputs import read_velocities
from quiltmd.outputs.checkpoint import read_latest
from quiltmd.running.config import build_config
from quiltmd.running.records import read_log
from quiltmd.running.stages import stages_of

NAMD = """amber on
parmfile {topology}
ambercoor {coordinates}
1-4scaling 0.833333
exclude scaled1-4
cutoff 9
switching off
PME on
PMEGridSpacing 1.0
timestep 2
rigidBonds all
outputEnergies 10
cellBasisVector1 32.852863 0 0
cellBasisVector2 0 32.861648 0
cellBasisVector3 0 0 31.855098
seed 5
"""
# With the end of a run of 20 steps; those of the whole are 40.
NAMD_END = """bincoordinates first/final.coor
binvelocities first/final.vel
extendedSystem first/final.xsc
firsttimestep 20
run 20
"""
MDIN = """a title
 &cntrl
  irest={irest}, ntx={ntx}, tempi=300.0, ig=5, nstlim={steps}, dt=0.002,
  ntc=2, ntf=2, ntt=0, cut=9.0, ntb=1, ntpr=10,
 /
"""
MDP = """integrator = md-vv
dt = 0.002
nsteps = {steps}
init-step = {first}
continuation = {goes_on}
gen-vel = {drawn}
gen-temp = 300
gen-seed = 5
nstenergy = 10
coulombtype = PME
rcoulomb = 0.9
rvdw = 0.9
constraints = h-bonds
"""


def run(folder: Path, out: str, control: str, text: str, *more: Any) -> str:
    (folder / control).write_text(text)
    done = command(
        *("run", folder / control, "--out", folder / out, "--device", "cpu", *more), cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return str(done.stderr)


def of_namd(files: tuple[Path, Path], folder: Path) -> str:
    start = NAMD.format(topology=files[0], coordinates=files[1])
    run(folder, "whole", "whole.namd", f"{start}temperature 300\nrun 40\n")
    run(folder, "first", "first.namd", f"{start}temperature 300\nrun 20\n", "--final", "namd")
    return run(folder, "second", "second.namd", start + NAMD_END)


def of_amber(files: tuple[Path, Path], folder: Path) -> str:
    start = ("-p", files[0], "-c", files[1])
    for out, steps in (("whole", 40), ("first", 20)):
        run(folder, out, "mdin", MDIN.format(irest=0, ntx=1, steps=steps), *start)
    end = folder / "first" / "final.ncrst"
    return run(
        folder, "second", "mdin", MDIN.format(irest=1, ntx=5, steps=20), "-p", files[0], "-c", end
    )


def of_gromacs(files: tuple[Path, Path], folder: Path) -> str:
    start = ("-p", files[0], "-c", files[1], "--final", "gro", "--rigid-water")
    for out, steps in (("whole", 40), ("first", 20)):
        text = MDP.format(steps=steps, first=0, goes_on="no", drawn="yes")
        run(folder, out, "first.mdp", text, *start)
    text = MDP.format(steps=20, first=20, goes_on="yes", drawn="no")
    end = folder / "first" / "final.gro"
    return run(folder, "second", "second.mdp", text, "-p", files[0], "-c", end, "--rigid-water")


@pytest.mark.parametrize(
    ("program", "first", "near"),
    # Lists are built at other steps, so forces are rounded otherwise; gro files have 3 decimals.
    [(of_namd, 20, 1e-6), (of_amber, 0, 1e-6), (of_gromacs, 20, 1e-2)],
    ids=["namd", "amber", "gromacs"],
)
def test_a_run_goes_on_from_files(
    program: Any, first: int, near: float, alanine: tuple[Path, Path], tmp_path: Path
) -> None:
    """In two parts it is the run that it is in one, as velocities are not drawn anew."""
    said = program(alanine, tmp_path)
    assert "velocities taken as they are" in said
    whole, second = (read_log(tmp_path / name / "log.csv") for name in ("whole", "second"))
    assert second["step"].tolist() == [first, first + 10, first + 20]
    np.testing.assert_allclose(second["time"], 0.002 * second["step"])
    for term in ("potential", "kinetic"):
        np.testing.assert_allclose(second[term], whole[term][2:], rtol=max(near, 1e-6))
    ends = [read_latest(tmp_path / name / "checkpoint.qmd")[0] for name in ("whole", "second")]
    a, b = (end.state for end in ends)
    shift = (a.positions - b.positions) @ np.linalg.inv(a.box)
    assert np.abs((shift - np.round(shift)) @ a.box).max() < near
    assert np.abs(a.velocities - b.velocities).max() < 50 * near


def test_velocities_of_namd(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    """Its binary files, and PDB files in angstrom/ps; a file of coordinates that has some."""
    system, state = quiltmd.load(*alanine)
    simulation = quiltmd.Simulation(system, state, device="cpu")
    simulation.draw_velocities(300, 1)
    expected = simulation.state().velocities
    quiltmd.write_namd(tmp_path / "x.coor", simulation)
    universe = MDAnalysis.Universe(alanine[0], expected * 10, format="MEMORY")
    universe.atoms.write(tmp_path / "vel.pdb")
    quiltmd.write_restart(tmp_path / "x.ncrst", simulation)
    for name, error in (("x.vel", 1e-12), ("vel.pdb", 1e-4), ("x.ncrst", 1e-12)):
        _, loaded = quiltmd.load(*alanine, velocities=tmp_path / name)
        np.testing.assert_allclose(loaded.velocities, expected, atol=error)
        np.testing.assert_array_equal(loaded.positions, state.positions)
    # In its unit of velocity they give the kinetic energy in kcal/mol.
    raw = np.frombuffer((tmp_path / "x.vel").read_bytes()[4:]).reshape(-1, 3)
    energy = 0.5 * (system.masses * (raw**2).sum(axis=1)).sum() * 4.184
    assert energy == pytest.approx(simulation.energies()["kinetic"], rel=1e-6)


def test_what_has_no_velocities_is_refused(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    system, state = water_box((3, 3, 3))
    simulation = quiltmd.Simulation(system, state, Nonbonded(cutoff=0.4), device="cpu")
    quiltmd.write_namd(tmp_path / "x.coor", simulation)
    with pytest.raises(InputError, match="81 atoms, but the topology has 2269"):
        quiltmd.load(*alanine, velocities=tmp_path / "x.vel")
    quiltmd.write_gro(tmp_path / "x.gro", simulation)
    lines = (tmp_path / "x.gro").read_text().splitlines()
    still = [lines[0], lines[1], *(line[:44] for line in lines[2:-1]), lines[-1]]
    (tmp_path / "still.gro").write_text("\n".join(still) + "\n")
    with pytest.raises(InputError, match=r"still.gro: GROMACS gro without velocities"):
        read_velocities(tmp_path / "still.gro", 81)
    (tmp_path / "two.gro").write_text("\n".join([*lines, *lines]) + "\n")
    with pytest.raises(InputError, match="from a single frame, this has 2"):
        read_velocities(tmp_path / "two.gro", 81)


SYSTEM = {"topology": "x.prmtop", "coordinates": "x.crd", "velocities": "x.vel"}


@pytest.mark.parametrize(
    "drawn", [{"minimize": True}, {"draw_velocities": True}, {"start_temperature": 300.0}]
)
def test_velocities_that_have_no_use_are_refused(drawn: dict[str, Any]) -> None:
    settings = {"system": SYSTEM, "run": {"steps": 10, **drawn}, "output": {"dir": "out"}}
    with pytest.raises(QuiltError, match=r"velocities are drawn .* leave out velocities of"):
        build_config(settings)


def test_velocities_are_of_the_first_stage() -> None:
    stages = [{"name": "a", "run": {"steps": 5}}, {"name": "b", "run": {"steps": 5}}]
    settings = {"system": SYSTEM, "run": {"steps": 0}, "output": {"dir": "out"}, "stage": stages}
    found = [stage.config.system.velocities for stage in stages_of(settings)]
    assert found == [Path("x.vel").absolute(), None]
    stages[0]["run"] = {"steps": 5, "minimize": True}
    with pytest.raises(QuiltError, match="no stage uses velocities of"):
        stages_of(settings)


def test_steps_count_from_the_first_step(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    """In the log and on a resume; random numbers are those of these steps."""
    places = ("--topology", alanine[0], "--coordinates", alanine[1], "--device", "cpu")
    more = ("--seed", 3, "--log-every", 5, "--trajectory-every", 0, "--out")
    for out, options in (("a", ("--steps", 15)), ("b", ("--steps", 10, "--first-step", 1000))):
        done = command("run", *places, *options, *more, tmp_path / out)
        assert done.returncode == 0, done.stderr
    assert read_log(tmp_path / "b" / "log.csv")["step"].tolist() == [1000, 1005, 1010]
    done = command("run", "--resume", tmp_path / "b", "--steps", 15)
    assert "resuming at step 1010 of 1015" in done.stderr
    logs = [read_log(tmp_path / name / "log.csv") for name in "ab"]
    assert logs[1]["step"].tolist() == [1000, 1005, 1010, 1015]
    assert logs[0]["potential"][0] == logs[1]["potential"][0]
    assert logs[0]["potential"][3] != logs[1]["potential"][3]
    done = command("run", "--resume", tmp_path / "b", "--steps", 5)
    assert "already at step 1015, beyond step 1005" in done.stderr
    assert "step 1015 of 1015 (100.0%), done" in command("watch", tmp_path / "b", "--once").stdout
