# SPDX-License-Identifier: Apache-2.0
"""Numbers at and beyond what a format has room for: right, or refused, or told."""

from __future__ import annotations

import struct
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gemmi
import MDAnalysis
import numpy as np
import pytest
from boxes import water_box
from fake_engine import FakeEngine
from MDAnalysis.lib.formats.libmdaxdr import XTCFile

import quiltmd
from quiltmd import LangevinMiddle, QuiltError, Simulation, State, TrajectoryReporter
from quiltmd.errors import QuiltWarning
from quiltmd.outputs.dcd import DcdFormat, DcdWriter
from quiltmd.outputs.formats import SUFFIXES, open_trajectory
from quiltmd.outputs.h5md import H5mdFormat
from quiltmd.outputs.netcdf import NetcdfFormat
from quiltmd.outputs.structures import pdb_limit
from quiltmd.outputs.trajectory import Layout, Snapshot
from quiltmd.outputs.xtc import XtcFormat
from quiltmd.running import final

pytestmark = [
    pytest.mark.filterwarnings("ignore:a cutoff of:quiltmd.QuiltWarning"),
    pytest.mark.filterwarnings("ignore:there is no periodic box:quiltmd.QuiltWarning"),
    pytest.mark.filterwarnings("ignore:DCDReader currently makes:DeprecationWarning"),
]

ATOMS, TIMESTEP, EVERY = 12, 0.004, 50_000  # frames are 200 ps apart
AROUND = [2**31, 2**32, 2**33 + 12_345, 2**36]  # steps; the last takes 0.3 ms


def frames(around: int, count: int = 5, every: int = EVERY) -> list[Snapshot]:
    """Frames of which the third is the first beyond a step."""
    first = (around // every - 1) * every
    places = np.random.default_rng(1).normal(scale=2.0, size=(count, ATOMS, 3))
    steps = [first + every * number for number in range(count)]
    box = 3.0 * np.eye(3)
    return [Snapshot(step, step * TIMESTEP, box, x) for step, x in zip(steps, places, strict=True)]


def written(path: Path, some: list[Snapshot], every: int = EVERY, **resumed: Any) -> Path:
    writer = open_trajectory(path, Layout(ATOMS, every, TIMESTEP), **resumed)
    for one in some:
        writer.write(one)
    writer.close()
    return path


def times(path: Path) -> Any:
    universe = MDAnalysis.Universe.empty(ATOMS, trajectory=True)
    universe.load_new(str(path))
    return np.array([step.time for step in universe.trajectory])


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("around", AROUND)
def test_times_are_right_whatever_the_step(tmp_path: Path, suffix: str, around: int) -> None:
    some = frames(around)
    path = written(tmp_path / f"t{suffix}", some)
    expected = [one.time for one in some]
    np.testing.assert_allclose(times(path), expected, rtol=2e-7)
    assert (np.diff(times(path)) > 0.5 * EVERY * TIMESTEP).all()


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("kept", [1, 2, 3])
def test_a_file_is_carried_on_on_both_sides(
    tmp_path: Path, suffix: str, around: int, kept: int
) -> None:
    """From a step alone, without the mark of a checkpoint."""
    some = frames(around)
    whole = written(tmp_path / f"whole{suffix}", some).read_bytes()
    path = written(tmp_path / f"t{suffix}", some[: kept + 1])
    written(path, some[kept:], after=some[kept - 1].step)
    assert path.read_bytes() == whole


def test_a_dcd_of_another_interval_is_refused_beyond_the_limit(tmp_path: Path) -> None:
    path = written(tmp_path / "t.dcd", frames(2**33))
    with pytest.raises(QuiltError, match=r"every 50000 steps, not every 25000"):
        written(path, [], every=EVERY // 2, after=2**33)


def test_steps_of_xtc_are_the_lower_bits_as_in_gromacs(tmp_path: Path) -> None:
    some = frames(2**33 + 2**31)
    with XTCFile(str(written(tmp_path / "t.xtc", some))) as file:
        found = [frame.step for frame in file]
    assert found == [np.array(one.step).astype(np.int32) for one in some]


@pytest.mark.parametrize("suffix", [".xtc", ".nc"])
def test_times_that_single_precision_cannot_tell_are_told(tmp_path: Path, suffix: str) -> None:
    with pytest.warns(QuiltWarning, match=r"times in single precision.*0\.04 ps") as caught:
        path = written(tmp_path / f"t{suffix}", frames(2**40, every=10), every=10)
    assert len(caught) == 1
    if suffix == ".nc":
        with pytest.raises(QuiltError, match="do not tell of which steps"):
            written(path, [], every=10, after=2**40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        written(tmp_path / f"fine{suffix}", frames(2**24, every=10), every=10)


@pytest.mark.parametrize("suffix", [".dcd", ".h5md"])
def test_doubles_and_headers_tell_all_times(tmp_path: Path, suffix: str) -> None:
    some = frames(2**33, every=10)
    path = written(tmp_path / f"t{suffix}", some, every=10)
    if suffix == ".h5md":
        np.testing.assert_allclose(times(path), [one.time for one in some], rtol=1e-15)
    else:
        head = struct.unpack_from("<9if", path.read_bytes(), 8)
        assert head[1] * 10 == some[0].step
        assert head[9] * 0.04888821 == pytest.approx(10 * TIMESTEP)


@pytest.mark.parametrize(
    ("form", "most"),
    [(DcdFormat, 536_870_911), (XtcFormat, 298_261_617), (NetcdfFormat, 178_956_970)],
)
def test_too_many_atoms_are_refused_before_anything_is_written(form: Any, most: int) -> None:
    with pytest.raises(QuiltError, match=rf"room for {most:,} atoms, not for {most + 1:,}.*h5md"):
        form(Layout(most + 1, 10, TIMESTEP))
    if form is not NetcdfFormat:  # which makes room for a frame
        form(Layout(most, 10, TIMESTEP))


@pytest.mark.parametrize("form", [DcdFormat, NetcdfFormat])
def test_too_many_frames_are_refused(form: Any) -> None:
    made = form(Layout(ATOMS, 10, TIMESTEP))
    made.count(2**31 - 1)
    with pytest.raises(QuiltError, match=r"room for.*2,147,483,648"):
        made.count(2**31)


def test_steps_that_no_unit_makes_small_enough_are_refused(tmp_path: Path) -> None:
    writer = DcdWriter(tmp_path / "t.dcd", ATOMS, 10, TIMESTEP, first=2**31 + 1)
    with pytest.raises(QuiltError, match=r"numbers up to 2,147,483,647, not 2,147,483,649"):
        writer.write(np.zeros((ATOMS, 3)), None)


def test_steps_that_no_double_holds_are_refused() -> None:
    form = H5mdFormat(Layout(ATOMS, 1, TIMESTEP))
    one = replace(frames(2**40)[0], step=2**53)
    form.encode(one)
    with pytest.raises(QuiltError, match="H5MD has steps up to 9,007,199,254,740,992"):
        form.encode(replace(one, step=2**53 + 1))


def test_a_run_crosses_the_limit(tmp_path: Path) -> None:
    """Log, trajectories and checkpoint of a simulation on both sides of 2^31 steps."""
    system = quiltmd.System.of([40.0] * 8, lj_a=[[9e-6]], lj_b=[[6e-3]])
    places = np.indices((2, 2, 2)).reshape(3, -1).T * 0.6
    state = State(places, 0 * places, 2.0 * np.eye(3), step=2**31 - 20)
    simulation = Simulation(
        system,
        state,
        quiltmd.Nonbonded(cutoff=0.9, method="cutoff"),
        LangevinMiddle(300.0, 1.0, timestep=TIMESTEP, seed=1),
        device="cpu",
    )
    paths = [tmp_path / f"t{suffix}" for suffix in (".dcd", ".h5md")]
    reporters = [TrajectoryReporter(path, 8, simulation) for path in paths]
    simulation.run(40, reporters)
    for one in reporters:
        one.close()
    expected = TIMESTEP * np.arange(2**31 - 16, 2**31 + 21, 8)
    for path, error in zip(paths, (2e-7, 1e-15), strict=True):
        universe = MDAnalysis.Universe.empty(8, trajectory=True)
        universe.load_new(str(path))
        found = [step.time for step in universe.trajectory]
        np.testing.assert_allclose(found, expected, rtol=error)
    simulation.save_checkpoint(tmp_path / "c.qmd")
    assert quiltmd.read_checkpoint(tmp_path / "c.qmd").state.step == 2**31 + 20


def waters(**changes: Any) -> Simulation:
    """Two waters, where they are told to be, in residues of these numbers."""
    system, state = water_box((2, 1, 1))
    if numbers := changes.get("numbers"):
        topology = replace(
            system.topology,
            residue_of_atom=np.array([0, 0, 0, 1, 1, 1], np.int32),
            residue_names=np.array(["HOH", "HOH"]),
            residue_ids=np.array(numbers, np.int32),
            chain_ids=np.array(["", ""]),
        )
        system = replace(system, topology=topology)
    places = np.array(state.positions)
    places[3:] += changes.get("moved", 0.0)
    speeds = np.zeros_like(places)
    speeds[4, 1] = changes.get("speed", 0.0)
    return Simulation(
        system,
        State(places, speeds, changes.get("box")),
        quiltmd.Nonbonded(method="no-cutoff"),
        LangevinMiddle(seed=0),
        device="cpu",
        engine=FakeEngine,
    )


@pytest.mark.parametrize("numbers", [(-5, -999), (-1, 0), (1, 9_999)])
@pytest.mark.parametrize("suffix", ["pdb", "cif", "gro"])
def test_residue_numbers_that_fit_are_kept(
    tmp_path: Path, numbers: tuple[int, int], suffix: str
) -> None:
    simulation, path = waters(numbers=numbers), tmp_path / f"x.{suffix}"
    {"pdb": quiltmd.write_pdb, "cif": quiltmd.write_cif, "gro": quiltmd.write_gro}[suffix](
        path, simulation
    )
    if suffix == "gro":
        found = [int(line[:5]) for line in path.read_text().splitlines()[2:8:3]]
    else:
        found = [residue.seqid.num for residue in gemmi.read_structure(str(path))[0][0]]
    assert tuple(found) == numbers


def test_residue_numbers_that_do_not_fit_start_again(tmp_path: Path) -> None:
    simulation = waters(numbers=(10_000, 123_456))
    assert pdb_limit(simulation) == "PDB files number no more than 9999 residues"
    quiltmd.write_pdb(tmp_path / "x.pdb", simulation)
    lines = (tmp_path / "x.pdb").read_text().splitlines()
    assert [line[22:26] for line in lines[1:7:3]] == ["   0", "3456"]
    quiltmd.write_gro(tmp_path / "x.gro", simulation)
    lines = (tmp_path / "x.gro").read_text().splitlines()
    assert [line[:5] for line in lines[2:8:3]] == ["10000", "23456"]
    assert "below -999" in str(pdb_limit(waters(numbers=(-1_000, 1))))


_TEXTS: dict[str, Callable[[Path, Any], None]] = {
    "pdb": quiltmd.write_pdb,
    "gro": quiltmd.write_gro,
    "rst7": quiltmd.write_rst7,
}
# The largest and the lowest coordinate that fits, nm.
_FITS = {"pdb": (990.0, -99.0), "gro": (9_990.0, -990.0), "rst7": (990.0, -99.0)}


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("kind", _TEXTS)
def test_coordinates_wider_than_their_columns_are_refused(
    tmp_path: Path, kind: str, side: int
) -> None:
    path = tmp_path / f"x.{kind}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits, beyond = (waters(moved=factor * _FITS[kind][side]) for factor in (1.0, 1.1))
    _TEXTS[kind](path, fits)
    before = path.read_bytes()
    with pytest.raises(QuiltError, match=r"columns, which .* does not fit: choose a format"):
        _TEXTS[kind](path, beyond)
    assert path.read_bytes() == before
    if kind == "pdb":
        assert pdb_limit(fits) is None
        assert "no room for coordinates" in str(pdb_limit(beyond))


def test_velocities_wider_than_their_columns_are_refused(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        hot = waters(speed=1_000.0)
    with pytest.raises(QuiltError, match="velocities in a GRO file"):
        quiltmd.write_gro(tmp_path / "x.gro", hot)
    quiltmd.write_restart(tmp_path / "x.ncrst", hot)


def test_what_does_not_fit_is_left_out_at_the_end_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(final, "say", said.append)
    folder: Any = SimpleNamespace(final=lambda kind: tmp_path / f"final.{kind}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        final.write_final(("rst7", "pdb", "gro", "cif"), folder, waters(moved=-200.0))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["final.cif", "final.gro"]
    assert [line.split(":")[0] for line in said] == ["no final.rst7", "no final.pdb"]


def test_restarts_of_too_many_atoms_are_refused(tmp_path: Path) -> None:
    many = quiltmd.Simulation.__new__(quiltmd.Simulation)  # of which only this is looked at
    vars(many)["system"] = SimpleNamespace(atoms=89_478_486)
    with pytest.raises(QuiltError, match=r"room for 89,478,485 atoms, not for 89,478,486.*namd"):
        quiltmd.write_restart(tmp_path / "x.ncrst", many)
