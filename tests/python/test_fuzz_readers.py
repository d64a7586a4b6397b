# SPDX-License-Identifier: Apache-2.0
"""Whatever stands in a file, a reader gives what it read or an error made for the user.

Files of small systems are damaged at random (damage.py), those of every format that is read.  What
is read nevertheless must be something that the engine takes or refuses, too.  Some seconds by
default; for a long search, with other damage each time:

    QUILTMD_FUZZ=100000 pytest tests/python/test_fuzz_readers.py --timeout 0
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import pytest
from boxes import water_box
from control_examples import with_line
from damage import fuzz
from invented_parameters import Parameters
from scipy.io import netcdf_file
from test_formats import layout, snapshots
from test_formats import write as write_frames
from test_inputs_charmm import with_lone_pairs
from test_inputs_gromacs import write as write_gromacs

import quiltmd
from quiltmd.amber.write import write_rst7
from quiltmd.gromacs.write import write_gro
from quiltmd.inputs import describe, read_coordinates
from quiltmd.inputs.control_files import read_control
from quiltmd.inputs.frames import read_frames
from quiltmd.namd.write import write_namd
from quiltmd.openmm.write import write_openmm, write_openmm_state
from quiltmd.outputs.formats import SUFFIXES, open_trajectory
from quiltmd.outputs.structures import write_cif, write_pdb
from quiltmd.reading.formats import Expected
from quiltmd.running.config import build_config, read_config


def simulated(loaded: tuple[quiltmd.System, quiltmd.State]) -> object:
    return quiltmd.Simulation(*loaded, device="cpu", threads=1).energies()


@pytest.fixture(scope="module")
def peptide(openmmtools_data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A molecule of 22 atoms, put into a box: prmtop and inpcrd."""
    folder = openmmtools_data / "alanine-dipeptide-gbsa"
    coordinates = tmp_path_factory.mktemp("peptide") / "peptide.inpcrd"
    lines = (folder / "alanine-dipeptide.crd").read_text().rstrip("\n").split("\n")
    box = "".join(f"{value:12.7f}" for value in (25.0, 26.0, 27.0, 90.0, 90.0, 90.0))
    coordinates.write_text("\n".join([*lines[:13], box]) + "\n")
    return folder / "alanine-dipeptide.prmtop", coordinates


def test_amber_topology(peptide: tuple[Path, Path], tmp_path: Path) -> None:
    topology, coordinates = peptide
    read = lambda path: simulated(quiltmd.load(path, coordinates, constraints="h-bonds"))  # noqa: E731
    fuzz(read, tmp_path / "bad.prmtop", topology.read_bytes())


def test_amber_text_coordinates(peptide: tuple[Path, Path], tmp_path: Path) -> None:
    topology, coordinates = peptide
    read = lambda path: simulated(quiltmd.load(topology, path))  # noqa: E731
    fuzz(read, tmp_path / "bad.inpcrd", coordinates.read_bytes())


def test_amber_netcdf_coordinates(peptide: tuple[Path, Path], tmp_path: Path) -> None:
    topology, coordinates = peptide
    state = quiltmd.load(topology, coordinates)[1]
    path = tmp_path / "bad.nc"
    with netcdf_file(path, "w") as file:
        for name, size in (("frame", 2), ("atom", 22), ("spatial", 3)):
            file.createDimension(name, size)
        file.createVariable("coordinates", "f8", ("frame", "atom", "spatial"))[:] = (
            10 * state.positions
        )
        file.createVariable("cell_lengths", "f8", ("frame", "spatial"))[:] = 10 * np.diag(state.box)
        file.createVariable("cell_angles", "f8", ("frame", "spatial"))[:] = 90.0
    fuzz(lambda path: simulated(quiltmd.load(topology, path, frame=1)), path, path.read_bytes())


def test_checkpoint(tmp_path: Path) -> None:
    state = water_box((6, 6, 6))[1]
    path = tmp_path / "bad.qmd"
    quiltmd.write_checkpoint(path, quiltmd.Checkpoint(state))
    fuzz(quiltmd.read_checkpoint, path, path.read_bytes())


def test_configuration(tmp_path: Path) -> None:
    text = (
        '[system]\ntopology = "a.prmtop"\ncoordinates = "a.rst7"\nhmr = true\n\n'
        "[nonbonded]\ncutoff = 0.9\npme_alpha = 3.0\npme_grid = [32, 32, 32]\n\n"
        '[integrator]\nensemble = "nvt"\ntemperature = 300.0\nseed = 7\n\n'
        '[run]\nsteps = 1000\nranks = 2\ndevice = "cpu"\n\n[output]\ndir = "out"\nlog_every = 10\n'
    )
    fuzz(lambda path: build_config(read_config(path)), tmp_path / "bad.toml", text.encode())


FEW = 60  # damaged files of a format, where QUILTMD_FUZZ is not given


@pytest.fixture(scope="module")
def simulation(peptide: tuple[Path, Path]) -> quiltmd.Simulation:
    system, state = quiltmd.load(*peptide)
    return quiltmd.Simulation(system, state, device="cpu", threads=1)


def write_state_xml(path: Path, simulation: quiltmd.Simulation) -> None:
    write_openmm_state(path, simulation.system, simulation.state())


def write_g96(path: Path, simulation: quiltmd.Simulation) -> None:
    rows = [
        f"    1 ALA   C    {k:7d}" + "".join(f"{x:15.9f}" for x in place)
        for k, place in enumerate(simulation.positions(), start=1)
    ]
    blocks = {"TITLE": ["made up"], "POSITION": rows, "BOX": ["2.5 2.6 2.7"]}
    path.write_text("".join("\n".join([name, *lines, "END", ""]) for name, lines in blocks.items()))


def write_crd(path: Path, simulation: quiltmd.Simulation) -> None:
    rows = [
        f"{k:5d}{1:5d} ALA  C   "
        + "".join(f"{10 * x:10.5f}" for x in place)
        + " A    1      0.00000"
        for k, place in enumerate(simulation.positions(), start=1)
    ]
    path.write_text("\n".join(["* made up", "*", f"{len(rows):5d}", *rows, ""]))


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("bad.gro", write_gro),
        ("bad.g96", write_g96),
        ("bad.pdb", write_pdb),
        ("bad.cif", write_cif),
        ("bad.rst7", write_rst7),
        ("bad.crd", write_crd),
        ("bad.coor", write_namd),
        ("bad.xml", write_state_xml),
    ],
)
def test_coordinates(
    name: str, write: Callable[[Path, Any], None], simulation: quiltmd.Simulation, tmp_path: Path
) -> None:
    path = tmp_path / name
    write(path, simulation)
    expected = Expected(simulation.system.atoms)
    fuzz(lambda file: read_coordinates(file, expected), path, path.read_bytes(), FEW)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_frames_of_a_trajectory(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"bad{suffix}"
    write_frames(open_trajectory(path, layout()), snapshots(3))
    fuzz(lambda file: list(read_frames(file, 12)), path, path.read_bytes(), 30)  # each in a process


def test_a_trajectory_that_crashes_its_library(tmp_path: Path) -> None:
    """The number of bytes of a frame of XTC, which libmdaxdr believes."""
    path = tmp_path / "bad.xtc"
    write_frames(open_trajectory(path, layout()), snapshots(3))
    data = path.read_bytes()
    path.write_bytes(data[:84] + b"\x7f\xff\xff\xff" + data[88:])
    with pytest.raises(quiltmd.InputError, match=r"bad\.xtc: the reader .* the file is damaged"):
        list(read_frames(path, 12))


def test_gromacs_topology(tmp_path: Path) -> None:
    path = write_gromacs(tmp_path)
    fuzz(describe, path, path.read_bytes(), FEW)


def test_names_of_other_letters(simulation: quiltmd.Simulation, tmp_path: Path) -> None:
    for name, write in (("a.gro", write_gro), ("a.pdb", write_pdb), ("a.crd", write_crd)):
        path = tmp_path / name
        write(path, simulation)
        path.write_bytes(path.read_bytes().replace(b" C  ", b" \xc5  "))
        names = read_coordinates(path, Expected(simulation.system.atoms)).names
        assert names is not None
        assert "\xc5" in names


def test_blank_lines_before_the_number_of_atoms(
    simulation: quiltmd.Simulation, tmp_path: Path
) -> None:
    write_crd(tmp_path / "a.crd", simulation)
    text = (tmp_path / "a.crd").read_text().replace("*\n", "*\n\n \n", 1)
    (tmp_path / "a.crd").write_text(text)
    found = read_coordinates(tmp_path / "a.crd", Expected(simulation.system.atoms))
    assert len(found.positions) == simulation.system.atoms


def test_a_line_of_types_that_ends_too_soon(tmp_path: Path) -> None:
    path = write_gromacs(tmp_path)
    path.write_text(path.read_text().replace("HC CT 1 0.109 284512", "HC CT"))
    with pytest.raises(quiltmd.InputError, match="expected types of atoms and a function type"):
        describe(path)


def test_a_psf_without_sections(tmp_path: Path) -> None:
    (tmp_path / "a.psf").write_text("PSF\n\n")
    (tmp_path / "a.prm").write_text("BONDS\n")
    with pytest.raises(quiltmd.InputError, match=r"a\.psf.*NATOM"):
        describe(tmp_path / "a.psf", (tmp_path / "a.prm",))


@pytest.mark.parametrize("force", ["HarmonicBond", "HarmonicAngle", "PeriodicTorsion", "bonds"])
def test_terms_of_atoms_that_are_not_there(force: str) -> None:
    system = openmm.System()
    for _ in range(4):
        system.addParticle(12.0)
    nonbonded = openmm.NonbondedForce()
    nonbonded.setNonbondedMethod(nonbonded.PME)
    for _ in range(4):
        nonbonded.addParticle(0.0, 0.3, 0.5)
    system.addForce(nonbonded)
    if force == "bonds":
        bonds = openmm.CustomBondForce("0.5*k*(r-r0)^2")
        bonds.addPerBondParameter("k")
        bonds.addPerBondParameter("r0")
        bonds.addBond(0, 4, [1000.0, 0.1])
        system.addForce(bonds)
    elif force == "HarmonicBond":
        system.addForce(openmm.HarmonicBondForce())
        system.getForce(1).addBond(0, 4, 0.1, 1000.0)
    elif force == "HarmonicAngle":
        system.addForce(openmm.HarmonicAngleForce())
        system.getForce(1).addAngle(0, 1, 4, 2.0, 100.0)
    else:
        system.addForce(openmm.PeriodicTorsionForce())
        system.getForce(1).addTorsion(0, 1, 2, 4, 1, 0.0, 1.0)
    with pytest.raises(quiltmd.InputError, match="names an atom that does not exist"):
        quiltmd.System.from_openmm(system)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_charmm_topology(which: int, mdanalysis_files: Path, tmp_path: Path) -> None:
    """PSF with lone pairs, topology file, parameter file."""
    psf = with_lone_pairs(mdanalysis_files / "parmed_ala3.psf", tmp_path)
    made = Parameters(psf)
    texts = (psf.read_text(), made.rtf(), made.prm())
    files = [tmp_path / name for name in ("bad.psf", "bad.rtf", "bad.prm")]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    fuzz(lambda _: describe(files[0], files[1:]), files[which], texts[which].encode(), FEW // 2)


def test_openmm_system(peptide: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "bad.xml"
    write_openmm(path, quiltmd.load(*peptide)[0])
    fuzz(describe, path, path.read_bytes(), FEW // 2)


@pytest.mark.parametrize("kind", ["namd", "mdin", "mdp"])
def test_control_files(kind: str, tmp_path: Path) -> None:
    fuzz(read_control, tmp_path / "control", with_line(kind).encode(), FEW)
