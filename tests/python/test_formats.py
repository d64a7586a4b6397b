# SPDX-License-Identifier: Apache-2.0
"""Every format of trajectories: what other programs read, going on after a mark or a step."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import MDAnalysis
import numpy as np
import pytest
from boxes import water_box
from fake_engine import FakeEngine
from scipy.io import netcdf_file

import quiltmd
from quiltmd import LangevinMiddle, QuiltError, Simulation, TrajectoryReporter
from quiltmd.description.box import box_from_lengths_angles, lengths_angles
from quiltmd.errors import InputError, QuiltWarning
from quiltmd.inputs import count_frames, read_coordinates
from quiltmd.inputs.frames import read_frames
from quiltmd.outputs.formats import SUFFIXES, open_trajectory
from quiltmd.outputs.trajectory import Layout, Snapshot, TrajectoryWriter
from quiltmd.outputs.wrapping import MoleculeWrapper
from quiltmd.reading.formats import Expected

pytestmark = [
    pytest.mark.filterwarnings("ignore:a cutoff of:quiltmd.QuiltWarning"),
    pytest.mark.filterwarnings("ignore:DCDReader currently makes:DeprecationWarning"),
]

ATOMS, EVERY, TIMESTEP = 12, 10, 0.002
BOX = box_from_lengths_angles([3.0, 4.0, 5.0], [80.0, 75.0, 70.0])
OF_VELOCITIES = (".nc", ".h5md")


def snapshots(count: int, first: int = EVERY, extras: bool = False) -> list[Snapshot]:
    values = np.random.default_rng(1).normal(scale=2.0, size=(count, 3, ATOMS, 3))
    steps = [first + EVERY * number for number in range(count)]
    return [
        Snapshot(step, step * TIMESTEP, BOX, x, v if extras else None, f if extras else None)
        for step, (x, v, f) in zip(steps, values, strict=True)
    ]


def layout(extras: bool = False, **changes: Any) -> Layout:
    settings = {"atoms": ATOMS, "every": EVERY, "velocities": extras, "forces": extras} | changes
    return Layout(timestep=TIMESTEP, **settings)


def write(writer: TrajectoryWriter, frames: list[Snapshot]) -> None:
    for frame in frames:
        writer.write(frame)
    writer.close()


def write_trr(path: Path, count: int) -> None:
    with MDAnalysis.Writer(str(path), ATOMS) as writer:
        universe = MDAnalysis.Universe.empty(ATOMS, trajectory=True)
        for frame in snapshots(count):
            universe.atoms.positions = frame.positions * 10
            universe.dimensions = [*lengths_angles(BOX)[0] * 10, *lengths_angles(BOX)[1]]
            writer.write(universe)


def read(path: Path) -> Any:
    """Times, positions (nm) and cells of all frames, by MDAnalysis."""
    universe = MDAnalysis.Universe.empty(ATOMS, trajectory=True, velocities=True, forces=True)
    universe.load_new(str(path))
    found = [
        (step.time, step.positions / 10, step.dimensions.copy()) for step in universe.trajectory
    ]
    return [np.array(values) for values in zip(*found, strict=True)]


def same(path: Path, expected: list[Snapshot], positions: float = 1e-5) -> None:
    times, places, cells = read(path)
    np.testing.assert_allclose(times, [one.time for one in expected], rtol=1e-5)
    np.testing.assert_allclose(places, [one.positions for one in expected], atol=positions)
    lengths, angles = lengths_angles(BOX)
    np.testing.assert_allclose(cells, [[*lengths * 10, *angles]] * len(expected), rtol=1e-5)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_mdanalysis_reads_it(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    write(open_trajectory(path, layout()), snapshots(4))
    same(path, snapshots(4), 6e-4 if suffix == ".xtc" else 1e-5)


@pytest.mark.parametrize("suffix", [".dcd", ".xtc", ".nc"])
def test_mdtraj_reads_it(tmp_path: Path, suffix: str) -> None:
    import mdtraj

    path = tmp_path / f"x{suffix}"
    write(open_trajectory(path, layout()), snapshots(3))
    topology = mdtraj.Topology()
    residue = topology.add_residue("X", topology.add_chain())
    for _ in range(ATOMS):
        topology.add_atom("X", mdtraj.element.carbon, residue)
    found = mdtraj.load(str(path), top=topology)
    expected = [one.positions for one in snapshots(3)]
    np.testing.assert_allclose(found.xyz, expected, atol=6e-4)
    np.testing.assert_allclose(found.unitcell_lengths[2], lengths_angles(BOX)[0], rtol=1e-5)
    np.testing.assert_allclose(found.unitcell_angles[2], lengths_angles(BOX)[1], rtol=1e-5)


@pytest.mark.parametrize("suffix", OF_VELOCITIES)
def test_velocities_and_forces(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    frames = snapshots(3, extras=True)
    write(open_trajectory(path, layout(extras=True)), frames)
    universe = MDAnalysis.Universe.empty(ATOMS, trajectory=True, velocities=True, forces=True)
    universe.load_new(str(path))
    for step, frame in zip(universe.trajectory, frames, strict=True):
        np.testing.assert_allclose(step.velocities / 10, frame.velocities, atol=1e-5)
        np.testing.assert_allclose(step.forces * 10, frame.forces, rtol=1e-5)


@pytest.mark.parametrize("suffix", [".xtc", ".dcd", ".h5md"])
def test_a_simulation_starts_from_a_frame(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"run{suffix}"
    frames = snapshots(3)
    write(open_trajectory(path, layout()), frames)
    for number in (1, -1):
        found = read_coordinates(path, Expected(ATOMS, number))
        np.testing.assert_allclose(found.positions, frames[number].positions, atol=6e-4)
        np.testing.assert_allclose(found.box, BOX, atol=2e-4)
    with pytest.raises(InputError, match="has 3 frames, so there is no frame 3"):
        read_coordinates(path, Expected(ATOMS, 3))
    path.write_bytes(path.read_bytes()[: 8000 if suffix == ".h5md" else 60])
    with pytest.raises(InputError):
        count_frames(path)


@pytest.mark.parametrize("suffix", [".pdb", ".cif", ".gro"])
def test_the_frames_of_a_structure(tmp_path: Path, suffix: str) -> None:
    """Models of a PDB or mmCIF file and frames of a gro file, which are counted from 0."""
    one = {
        ".pdb": "MODEL        {k}\n"
        + f"ATOM  {'O':>8}{'HOH A   1':>12}    "
        + "{k:8.3f}" * 3
        + "\n",
        ".cif": "ATOM {k} O {k}.0 0.0 0.0\n",
        ".gro": "title\n    1\n    1HOH      O    1   0.{k}00   0.000   0.000\n 3.0 3.0 3.0\n",
    }[suffix]
    columns = ("group_PDB", "pdbx_PDB_model_num", "label_atom_id", "Cartn_x", "Cartn_y", "Cartn_z")
    head = "data_x\nloop_\n" + "".join(f"_atom_site.{name}\n" for name in columns)
    path = tmp_path / f"two{suffix}"
    path.write_text(head * (suffix == ".cif") + one.format(k=1) + one.format(k=2))
    for frame, x in ((0, 0.1), (1, 0.2), (-1, 0.2), (-2, 0.1)):
        assert read_coordinates(path, Expected(1, frame)).positions[0, 0] == pytest.approx(x)
    for frame in (2, -3):
        with pytest.raises(InputError, match=f"has 2 frames, so there is no frame {frame}"):
            read_coordinates(path, Expected(1, frame))


@pytest.mark.parametrize("suffix", [".dcd", ".xtc", ".trr"])
def test_a_frame_that_is_cut_off_is_named(tmp_path: Path, suffix: str) -> None:
    """Wherever it ends; the frames before serve."""
    path = tmp_path / f"run{suffix}"
    if suffix == ".trr":
        write_trr(path, 3)
    else:
        write(open_trajectory(path, layout()), snapshots(3))
    whole = path.read_bytes()
    head = whole[196:252] if suffix == ".dcd" else whole[:8]  # the same in every frame
    frame = len(whole) - whole.rindex(head)
    named = rf"run\{suffix}: frame 2 \(from 0\), the last, is incomplete and left out"
    path.write_bytes(whole[:-1])
    with pytest.warns(QuiltWarning, match=named):
        assert len(list(read_frames(path, ATOMS))) == 2
    path.write_bytes(whole[: 2 - frame])  # two bytes of it, of its head
    with pytest.warns(QuiltWarning, match=named):
        last = read_coordinates(path, Expected(ATOMS, -1))
    np.testing.assert_allclose(last.positions, snapshots(2)[1].positions, atol=6e-4)


def damaged_boxes(folder: Path) -> list[Path]:
    """A file of each format, of ATOMS atoms in a box that cannot be."""
    for suffix in (".nc", ".dcd"):
        write(open_trajectory(folder / f"x{suffix}", layout()), snapshots(1))
    with netcdf_file(folder / "x.nc", "a") as content:
        content.variables["cell_angles"][0] = np.full(3, 170.0)
    whole = (folder / "x.dcd").read_bytes()
    (folder / "x.dcd").write_bytes(
        whole[:200] + struct.pack("<6d", *(30.0, 170.0, 30.0, 170.0, 170.0, 30.0)) + whole[248:]
    )
    line, box = f"{1:12.7f}" * 6, f"{3:12.7f}" * 2 + f"{'NaN':>12}"
    (folder / "x.inpcrd").write_text("\n".join(["x", str(ATOMS), *[line] * (ATOMS // 2), box]))
    atom = "ATOM      1  O   HOH A   1       1.000   1.000   1.000\n"
    (folder / "x.pdb").write_text(
        "CRYST1   30.000   30.000   30.000 170.00 170.00 170.00 P 1\n" + atom * ATOMS
    )
    names = ("group_PDB", "label_atom_id", "Cartn_x", "Cartn_y", "Cartn_z")
    cell = [f"_cell.{name} -1\n" for name in ("length_a", "length_b", "length_c")]
    cell += [f"_cell.angle_{name} 90\n" for name in ("alpha", "beta", "gamma")]
    columns = "".join(f"_atom_site.{name}\n" for name in names)
    (folder / "x.cif").write_text(
        "data_x\n" + "".join(cell) + "loop_\n" + columns + "ATOM O 1.0 1.0 1.0\n" * ATOMS
    )
    (folder / "x.gro").write_text(
        f"x\n{ATOMS}\n" + "    1HOH      O    1   0.100   0.100   0.100\n" * ATOMS + "3.0 3.0\n"
    )
    (folder / "x.g96").write_text(
        "TITLE\nx\nEND\nPOSITIONRED\n" + "0.1 0.1 0.1\n" * ATOMS + "END\nBOX\n3 3 what\nEND\n"
    )
    return sorted(folder.glob("x.*"))


def test_a_damaged_box_is_refused_only_where_it_is_asked_for(tmp_path: Path) -> None:
    files = damaged_boxes(tmp_path)
    assert len(files) == 7
    for path in files:
        with pytest.raises(InputError, match=r"box|angles|lengths|numbers"):
            read_coordinates(path, Expected(ATOMS))
        assert read_coordinates(path, Expected(ATOMS, box=False)).box is None


def test_damage_before_the_last_frame_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "run.xtc"
    write(open_trajectory(path, layout()), snapshots(3))
    whole = path.read_bytes()
    second = whole.index(whole[:8], 8)  # the same magic number and number of atoms
    path.write_bytes(whole[:second] + b"\xff" * 4 + whole[second + 4 :])
    with pytest.raises(InputError, match=r"run\.xtc: frame 1 \(from 0\) cannot be read"):
        list(read_frames(path, ATOMS))


def test_netcdf_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.nc"
    write(open_trajectory(path, layout()), snapshots(3))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match=r"run\.nc: not a trajectory"):
        list(read_frames(path, ATOMS))
    with pytest.raises(InputError, match=r"run\.nc: damaged or truncated"):
        count_frames(path)


def test_netcdf_follows_the_convention(tmp_path: Path) -> None:
    path = tmp_path / "x.nc"
    write(open_trajectory(path, layout(extras=True)), snapshots(3, extras=True))
    with netcdf_file(str(path), mmap=False) as file:
        assert (file.Conventions, file.ConventionVersion) == (b"AMBER", b"1.0")
        assert file.version_byte == 2
        assert file.variables["time"].data.tolist() == pytest.approx([0.02, 0.04, 0.06])
        assert file.variables["time"].units == b"picosecond"
        assert file.variables["spatial"].data.tobytes() == b"xyz"
        assert file.variables["cell_angular"].data.tobytes() == b"alphabeta gamma"
        assert file.variables["velocities"].scale_factor == np.float32(20.455)


def test_h5md_follows_the_specification(tmp_path: Path) -> None:
    path = tmp_path / "x.h5md"
    frames = snapshots(3, first=2**40, extras=True)
    write(open_trajectory(path, layout(extras=True)), frames)
    with h5py.File(path) as file:
        assert file["h5md"].attrs["version"].tolist() == [1, 1]
        assert file["h5md/creator"].attrs["name"] == "quiltmd"
        assert "name" in file["h5md/author"].attrs
        atoms = file["particles/all"]
        assert atoms["box"].attrs["dimension"] == 3
        assert atoms["box"].attrs["boundary"].tolist() == [b"periodic"] * 3
        assert np.array_equal(atoms["box/edges/value"], [BOX] * 3)
        for name, unit, values in (
            ("position", "nm", [one.positions for one in frames]),
            ("velocity", "nm ps-1", [one.velocities for one in frames]),
            ("force", "kJ mol-1 nm-1", [one.forces for one in frames]),
        ):
            assert np.array_equal(atoms[f"{name}/value"], values)  # in double precision
            assert atoms[f"{name}/value"].attrs["unit"] == unit
            assert atoms[f"{name}/step"] == atoms["box/edges/step"]  # links to one dataset
        assert atoms["position/step"][:].tolist() == [one.step for one in frames]
        assert atoms["position/time"][:].tolist() == [one.time for one in frames]
        assert atoms["position/time"].attrs["unit"] == "ps"


def test_h5md_without_a_box(tmp_path: Path) -> None:
    path = tmp_path / "x.h5md"
    frames = [replace(one, box=None) for one in snapshots(4)]
    write(open_trajectory(path, layout()), frames[:2])
    write(open_trajectory(path, layout(), after=frames[1].step), frames[2:])
    with h5py.File(path) as file:
        assert file["particles/all/box"].attrs["boundary"].tolist() == [b"none"] * 3
        assert "edges" not in file["particles/all/box"]
        assert len(file["particles/all/position/value"]) == 4
    assert [frame.box for frame in read_frames(path, ATOMS)] == [None] * 4


def test_h5md_opens_whenever_it_is_looked_at(tmp_path: Path) -> None:
    """As after a kill, in the middle of a frame too."""
    path = tmp_path / "x.h5md"
    writer = open_trajectory(path, layout())
    for number, frame in enumerate(snapshots(3), 1):
        writer.write(frame)
        copy = tmp_path / f"{number}.h5md"
        copy.write_bytes(path.read_bytes() + bytes(100))
        same(copy, snapshots(number))
    writer.close()


def test_precision_of_xtc(tmp_path: Path) -> None:
    path = tmp_path / "x.xtc"
    write(open_trajectory(path, layout(precision=0.01)), snapshots(3))
    same(path, snapshots(3), 6e-3)
    with pytest.raises(AssertionError):
        same(path, snapshots(3), 6e-4)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("by", ["mark", "step"])
@pytest.mark.parametrize("after", [70, 73])
def test_going_on_gives_the_same_frames(tmp_path: Path, suffix: str, by: str, after: int) -> None:
    """Frames after a checkpoint, the last cut short, are removed and written again.

    The checkpoint is at the step of the last frame that stays, or between two.
    """
    whole, cut = tmp_path / f"whole{suffix}", tmp_path / f"cut{suffix}"
    frames = snapshots(7, first=50)
    write(open_trajectory(whole, layout()), frames)
    writer = open_trajectory(cut, layout())
    for frame in frames[:3]:
        writer.write(frame)
    writer.sync()
    mark = writer.mark() if by == "mark" else None
    write(writer, frames[3:5])
    cut.write_bytes(cut.read_bytes()[:-7])
    write(open_trajectory(cut, layout(), after=after, mark=mark), frames[3:])
    assert cut.read_bytes() == whole.read_bytes()
    same(cut, frames, 6e-4)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files_that_are_not_the_run_s(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    write(open_trajectory(path, layout()), snapshots(3))
    whole = path.read_bytes()
    with pytest.raises(QuiltError, match=f"x{suffix}: the frame of step 50 is missing"):
        open_trajectory(path, layout(), after=55)
    with pytest.raises(QuiltError, match=f"x{suffix}: .*(another number|not a trajectory)"):
        open_trajectory(path, layout(atoms=ATOMS + 1), after=25)
    assert path.read_bytes() == whole
    path.write_bytes(b"no trajectory")
    with pytest.raises(QuiltError, match="not a trajectory that this run wrote"):
        open_trajectory(path, layout(), after=25)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_resume_before_the_first_frame(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    write(open_trajectory(path, layout(), after=5), snapshots(2))
    same(path, snapshots(2), 6e-4)


def test_what_a_format_lacks_is_refused(tmp_path: Path) -> None:
    for suffix in (".dcd", ".xtc"):
        with pytest.raises(QuiltError, match=r"has no velocities and forces: choose one of \.nc"):
            open_trajectory(tmp_path / f"x{suffix}", layout(extras=True))
    with pytest.raises(QuiltError, match=r"only \.xtc takes a precision"):
        open_trajectory(tmp_path / "x.nc", layout(precision=0.1))
    with pytest.raises(QuiltError, match=r"the suffix of a trajectory names its format: \.dcd"):
        TrajectoryReporter(tmp_path / "x.trr", 10)


def simulate() -> Simulation:
    system, state = water_box((3, 3, 3))
    settings = quiltmd.Nonbonded(cutoff=0.4)
    bath = LangevinMiddle(seed=0)
    return Simulation(system, state, settings, bath, device="cpu", engine=FakeEngine)


def test_a_reporter_writes_a_selection_with_velocities_and_forces(tmp_path: Path) -> None:
    simulation = simulate()
    atoms = quiltmd.select(simulation.system, "index 1 4 7")
    seen = []

    def note(frame: Any) -> None:
        seen.append(
            (frame.positions()[atoms], frame.state().velocities[atoms], frame.forces()[atoms])
        )

    reporter = TrajectoryReporter(
        tmp_path / "x.nc",
        5,
        simulation,
        select="index 1 4 7",
        wrap=False,
        velocities=True,
        forces=True,
    )
    needs = ("energies", "state", "forces")
    simulation.run(10, [reporter, quiltmd.FunctionReporter(note, 5, needs)])
    reporter.close()
    with netcdf_file(str(tmp_path / "x.nc"), mmap=False) as file:
        for number, (positions, velocities, forces) in enumerate(seen):
            found = {
                name: file.variables[name].data[number] for name in file.variables if name[0] != "s"
            }
            np.testing.assert_allclose(found["coordinates"], positions * 10, rtol=1e-6)
            np.testing.assert_allclose(found["velocities"] * 20.455, velocities * 10, rtol=1e-6)
            np.testing.assert_allclose(found["forces"], forces / 41.84, rtol=1e-5, atol=1e-6)


def test_writing_forces_changes_no_bit(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    digests = []
    for forces in (False, True):
        system, state = quiltmd.load(*alanine, constraints="h-bonds")
        bath = LangevinMiddle(seed=0)
        simulation = Simulation(system, state, integrator=bath, device="cpu")
        reporter = TrajectoryReporter(tmp_path / f"{forces}.nc", 3, simulation, forces=forces)
        simulation.run(12, [reporter])
        reporter.close()
        digests.append(quiltmd.digest(simulation.state()))
    assert digests[0] == digests[1]


def test_a_centred_complex_is_whole_in_the_middle(tmp_path: Path) -> None:
    """Two molecules that have drifted into different cells."""
    simulation = simulate()
    system, state = simulation.system, simulation.state()
    moved = state.positions.copy()
    moved[3:6] += 2 * state.box[0] - state.box[2]
    simulation.set_state(quiltmd.State(moved, state.velocities, state.box))
    wrapper = MoleculeWrapper(system.molecules, quiltmd.select(system, "index 1-6"))
    placed = wrapper.wrap(simulation.positions(), state.box)
    middle = placed[:6].mean(axis=0)
    np.testing.assert_allclose(middle, state.box.sum(axis=0) / 2, atol=1e-9)
    between = state.positions[0] - state.positions[3]
    expected = between - np.round(between @ np.linalg.inv(state.box)) @ state.box
    np.testing.assert_allclose(placed[0] - placed[3], expected, atol=1e-9)
