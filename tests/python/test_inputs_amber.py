# SPDX-License-Identifier: Apache-2.0
"""Amber files: layouts, frames, choices at load, and one clear line for each bad input."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import netcdf_file

import quiltmd
from quiltmd.amber.coordinates import read_coordinates
from quiltmd.amber.prmtop import system_from_prmtop
from quiltmd.amber.prmtop_file import PrmtopFile
from quiltmd.errors import InputError, QuiltError
from quiltmd.inputs import load
from quiltmd.inputs.constrain import constrain, find_waters
from quiltmd.reading.formats import Expected


def old_layout(path: Path) -> str:
    """A prmtop in the layout before Amber 7: the same sections without names, narrower integers."""
    lines = []
    for section in path.read_text().split("%FLAG ")[1:]:
        name, layout, *content = section.splitlines()
        if "I8" not in layout:
            lines += content[:1] if name.startswith("TITLE") else content or [""]
            continue
        numbers = [int(word) for line in content for word in line.split()]
        numbers = numbers[:30] if name.startswith("POINTERS") else numbers
        rows = [numbers[i : i + 12] for i in range(0, len(numbers), 12)] or [[]]
        lines += ["".join(f"{number:6d}" for number in row) for row in rows]
    return "\n".join(lines) + "\n"


def test_layout_before_amber_7_holds_the_same_system(
    jac: tuple[Path, Path], tmp_path: Path
) -> None:
    before = tmp_path / "before7.prmtop"
    before.write_text(old_layout(jac[0]))
    old, state = load(before, jac[1])
    new, same_state = load(*jac)
    for name, array in new.arrays().items():
        np.testing.assert_allclose(old.arrays()[name], array, rtol=1e-7, err_msg=name)
    assert (old.topology.residue_names == new.topology.residue_names).all()
    assert (state.positions == same_state.positions).all()


def test_old_layout_alone(trpzip2: tuple[Path, Path]) -> None:
    system, state = load(*trpzip2)
    assert system.atoms == 11034
    assert len(system.constraints) == 3 * 3605
    assert abs(system.charges.sum() - round(system.charges.sum())) < 1e-4
    assert np.abs(state.velocities).max() > 0


def test_jac(jac: tuple[Path, Path]) -> None:
    system, state = load(*jac, constraints="h-bonds")
    assert system.atoms == len(state.positions) == 23558
    assert system.molecules.max() + 1 == 7024
    assert system.topology.describe(0) == "atom 1 (N of MET 1)"


def test_frames_of_a_trajectory(octahedron: tuple[Path, Path]) -> None:
    with netcdf_file(str(octahedron[1]), mmap=False) as content:
        raw = content.variables["coordinates"][:].astype(float) / 10
    for frame in (0, 9, -1):
        _, state = load(*octahedron, frame=frame)
        images = (state.positions - raw[frame]) @ np.linalg.inv(state.box)
        np.testing.assert_allclose(images, np.round(images), atol=1e-6)
    with pytest.raises(InputError, match="has 10 frames, so there is no frame 10"):
        load(*octahedron, frame=10)


def test_netcdf_restart(openmmtools_data: Path) -> None:
    folder = openmmtools_data / "dhfr"
    _, state = load(folder / "JAC.prmtop", folder / "JAC.inpcrd")
    np.testing.assert_allclose(np.diag(state.box), 6.223, atol=0.1)
    speed = np.sqrt((state.velocities**2).sum(axis=1).mean())
    assert 0.5 < speed < 3.0  # nm/ps, thermal


def test_netcdf_velocities_are_scaled(tmp_path: Path) -> None:
    path = tmp_path / "restart.nc"
    with netcdf_file(str(path), "w", version=2) as content:
        content.Conventions = "AMBERRESTART"
        for name, size in (("atom", 2), ("spatial", 3)):
            content.createDimension(name, size)
        for name in ("coordinates", "velocities"):
            content.createVariable(name, "f8", ("atom", "spatial"))[:] = 1.0
        content.variables["velocities"].scale_factor = 20.455
        for name, value in (("cell_lengths", 30.0), ("cell_angles", 90.0)):
            content.createVariable(name, "f8", ("spatial",))[:] = value
    found = read_coordinates(path, Expected(2))
    assert found.velocities is not None
    np.testing.assert_allclose(found.positions, 0.1)
    np.testing.assert_allclose(found.velocities, 2.0455)
    np.testing.assert_allclose(found.box, 3.0 * np.eye(3))
    path.write_bytes(path.read_bytes()[:-60])
    with pytest.raises(InputError, match="truncated"):
        read_coordinates(path, Expected(2))


def test_rigid_water_and_h_bonds(alanine: tuple[Path, Path]) -> None:
    loose, _ = load(*alanine, rigid_water=False)
    system, _ = load(*alanine, constraints="h-bonds")
    waters = find_waters(loose)
    assert len(waters) == 749
    assert (loose.topology.elements[waters] == [8, 1, 1]).all()
    assert len(system.constraints) == 3 * 749 + 12  # twelve hydrogens in the peptide
    assert len(system.bonds) == len(loose.bonds) - len(system.constraints)
    hydrogen = system.topology.elements == 1
    assert not hydrogen[system.bonds].any()
    assert system.degrees_of_freedom == 3 * system.atoms - len(system.constraints)
    assert (system.molecules == loose.molecules).all()


def test_water_without_h_h_bond_takes_it_from_the_angle(alanine: tuple[Path, Path]) -> None:
    loose = system_from_prmtop(PrmtopFile(alanine[0]))
    waters = find_waters(loose)
    h_h = (loose.topology.elements[loose.bonds] == 1).all(axis=1)
    bonds, parameters = loose.bonds[~h_h], loose.bond_parameters[~h_h]
    bent = dataclasses.replace(loose, bonds=bonds, bond_parameters=parameters)
    with pytest.raises(InputError, match="do not fix its shape"):
        constrain(bent)
    angle = [np.radians(104.52), 400.0]
    angles = np.concatenate([loose.angles, waters[:, [1, 0, 2]]])
    parameters = np.concatenate([loose.angle_parameters, [angle] * len(waters)])
    bent = dataclasses.replace(bent, angles=angles, angle_parameters=parameters)
    rigid, expected = constrain(bent), constrain(loose)
    assert len(rigid.angles) == len(expected.angles)
    np.testing.assert_array_equal(rigid.constraints, expected.constraints)
    np.testing.assert_allclose(rigid.constraint_lengths, expected.constraint_lengths, atol=1e-4)


def test_hydrogen_mass_keeps_the_total(alanine: tuple[Path, Path]) -> None:
    light, _ = load(*alanine)
    heavy, _ = load(*alanine, hydrogen_mass=3.0)
    assert heavy.masses.sum() == pytest.approx(light.masses.sum(), rel=1e-13)
    changed = heavy.masses != light.masses
    assert (heavy.topology.residue_of_atom[changed] < 3).all()
    with pytest.raises(QuiltError, match="leaves no mass for atom"):
        load(*alanine, hydrogen_mass=8.0)
    with pytest.raises(QuiltError, match="constraints must be"):
        load(*alanine, constraints="all")  # type: ignore[arg-type]


def test_1_4_pairs_that_only_repel(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    """Without attraction each has A/r^12, divided by SCNB."""
    topology, coordinates = alanine
    header, numbers = r"%FLAG LENNARD_JONES_BCOEF\s*\n%FORMAT\S+\s*\n", r"[^%]*"
    found = re.search(f"({header})({numbers})", topology.read_text())
    assert found is not None
    zeros = re.sub(r"[1-9]", "0", found[2])
    path = tmp_path / "repelling.prmtop"
    path.write_text(topology.read_text().replace(found[2], zeros))
    system, state = load(path, coordinates)
    i, j = system.pairs14.T
    a = system.lj_a[system.lj_types[i], system.lj_types[j]]
    apart = np.linalg.norm(state.positions[i] - state.positions[j], axis=1)
    expected = float((a / 2 / apart**12).sum())
    assert expected > 1
    found_energy = quiltmd.reference(system, state, quiltmd.Nonbonded(cutoff=0.9))[0]["lj14"]
    assert found_energy == pytest.approx(expected, rel=1e-9)


# Bad input: each spoils the files of alanine dipeptide, and words of the message follow.


def replace(old: str, new: str) -> Callable[[str], str]:
    def spoil(text: str) -> str:
        assert old in text
        return text.replace(old, new, 1)

    return spoil


def value(section: str, index: int, new: str) -> Callable[[str], str]:
    """Overwrite a value of a section, keeping its width."""

    def spoil(text: str) -> str:
        pattern = rf"%FLAG {section}\s*\n%FORMAT\((\d+)\w(\d+)[.\d]*\)\s*\n"
        found = re.search(pattern, text)
        assert found is not None
        per_line, width = int(found[1]), int(found[2])
        start = found.end() + index // per_line * (per_line * width + 1) + index % per_line * width
        return text[:start] + new.rjust(width) + text[start + width :]

    return spoil


def add(section: str, line: str = "1.0") -> Callable[[str], str]:
    return lambda text: f"{text}%FLAG {section}\n%FORMAT(5E16.8)\n{line:>16}\n"


BAD_TOPOLOGIES = {
    "empty": (lambda text: "", "empty"),
    "some text": (lambda text: "hello\nworld\n", "not recognised as a topology"),
    "half": (lambda text: text[: len(text) // 2], "truncated"),
    "cut in a section": (lambda text: text[: text.index("%FLAG MASS") + 500], "truncated"),
    "no charges": (replace("%FLAG CHARGE", "%FLAG CHARGX"), "CHARGX: this section is not known"),
    "letters": (value("CHARGE", 7, "abc"), "CHARGE: 'abc' is not a finite number"),
    "nan": (value("MASS", 3, "nan"), "MASS: 'nan' is not a finite number"),
    "stars": (value("BONDS_INC_HYDROGEN", 2, "*****"), "BONDS_INC_HYDROGEN: '*****'"),
    "no such atom": (value("BONDS_INC_HYDROGEN", 0, "99999"), "99999 is not an atom"),
    "no such type": (value("ANGLES_INC_HYDROGEN", 3, "999"), "999 is not an atom or parameter"),
    "no LJ type": (value("ATOM_TYPE_INDEX", 3, "99"), "99 does not lie between"),
    "exclusions": (value("NUMBER_EXCLUDED_ATOMS", 3, "99"), "the counts add up"),
    "massless": (value("MASS", 9, "0.0"), "extra points"),
    "perturbed": (value("POINTERS", 20, "1"), "perturbation"),
    "cap": (value("POINTERS", 29, "1"), "solvent cap"),
    "extra points": (value("POINTERS", 30, "4"), "extra points"),
    "negative count": (value("POINTERS", 0, "-1"), "not an Amber topology"),
    "too many atoms": (value("POINTERS", 0, "2270"), "should have 2270 values, but has 2269"),
    "12-6-4": (add("LENNARD_JONES_CCOEF"), "12-6-4"),
    "CMAP": (add("CMAP_COUNT", "1"), "CMAP_COUNT should have 2 values"),
    "CHARMM": (add("CHARMM_UREY_BRADLEY"), "terms of CHARMM's force field"),
    "chamber": (add("CTITLE"), "LENNARD_JONES_14_ACOEF is missing"),
    "polarizable": (add("POLARIZABILITY"), "polarizable"),
    "AMOEBA": (add("AMOEBA_MULTIPOLE_NUM_LIST"), "AMOEBA"),
    "unknown": (add("NEW_PHYSICS"), "NEW_PHYSICS: this section is not known"),
    "IPOL": (lambda text: text + "%FLAG IPOL\n%FORMAT(1I8)\n       1\n", "polarizable"),
    "again": (add("CHARGE"), "section CHARGE occurs a second time"),
    "format": (
        lambda text: re.sub(r"(%FLAG CHARGE\s*\n%FORMAT)\S+", r"\1(what)", text),
        "the %FORMAT of section CHARGE is not understood",
    ),
}

BAD_COORDINATES = {
    "empty": (lambda text: "", "empty"),
    "some text": (lambda text: "hello\nworld\n", "not an Amber coordinate file"),
    "title only": (lambda text: "title\n", "not an Amber coordinate file"),
    "digits": (replace("2269", "9" * 5000), "the second line does not begin with the number"),
    "other system": (replace("2269", "2268"), "line 2: 2268 atoms, but the topology has 2269"),
    "cut in half": (lambda text: text[: len(text) // 2], "positions should have 6807 values"),
    "no box": (lambda text: text[: text.rstrip().rindex("\n")], "no periodic box"),
    "nan": (
        lambda text: "\n".join(
            line if i != 9 else "NaN".rjust(12) + line[12:]
            for i, line in enumerate(text.split("\n"))
        ),
        "line 10, atom 15: positions: 'NaN' is not a finite number",
    ),
    "overflow": (
        lambda text: "\n".join(
            line if i != 9 else line[:36] + "*" * 12 + line[48:]
            for i, line in enumerate(text.split("\n"))
        ),
        "line 10, atom 16: positions",
    ),
    "text after": (lambda text: text + "  1.0000000\n" * 1200, "velocities"),
    "flat box": (
        lambda text: (
            text[: text.rstrip().rindex("\n") + 1]
            + "".join(f"{x:12.7f}" for x in (30, 30, 30, 90, 30, 150))
        ),
        "enclose no volume",
    ),
    "negative box": (
        lambda text: (
            text[: text.rstrip().rindex("\n") + 1] + "".join(f"{x:12.7f}" for x in (30, -30, 30))
        ),
        "lengths must be positive",
    ),
}


def assert_one_line(error: InputError, path: Path, words: str) -> None:
    message = str(error)
    assert "\n" not in message
    assert words in message
    assert str(path) in message


@pytest.mark.parametrize("name", BAD_TOPOLOGIES)
def test_bad_topology(name: str, alanine: tuple[Path, Path], tmp_path: Path) -> None:
    spoil, words = BAD_TOPOLOGIES[name]
    path = tmp_path / "bad.prmtop"
    path.write_text(spoil(alanine[0].read_text()))
    with pytest.raises(InputError) as caught:
        load(path, alanine[1])
    assert_one_line(caught.value, path, words)


@pytest.mark.parametrize("name", BAD_COORDINATES)
def test_bad_coordinates(name: str, alanine: tuple[Path, Path], tmp_path: Path) -> None:
    spoil, words = BAD_COORDINATES[name]
    path = tmp_path / "bad.inpcrd"
    path.write_text(spoil(alanine[1].read_text()))
    with pytest.raises(InputError) as caught:
        load(alanine[0], path)
    assert_one_line(caught.value, path, words)


def test_missing_files(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    for files in ((tmp_path / "no", alanine[1]), (alanine[0], tmp_path / "no")):
        with pytest.raises(InputError, match="no: cannot be read: No such file"):
            load(*files)
    with pytest.raises(InputError, match="Is a directory"):
        load(tmp_path, alanine[1])


def test_line_of_an_error(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "bad.prmtop"
    path.write_text(value("CHARGE", 7, "abc")(alanine[0].read_text()))
    with pytest.raises(InputError) as caught:
        load(path, alanine[1])
    assert caught.value.line is not None
    assert "abc" in path.read_text().split("\n")[caught.value.line - 1]


# The text format of coordinates.

reals = st.floats(-900, 900).map(lambda x: round(x, 7))


@st.composite
def text_files(draw: st.DrawFn) -> tuple[str, np.ndarray, np.ndarray | None, list[float]]:
    atoms = draw(st.integers(1, 9))
    vectors = st.lists(reals, min_size=3 * atoms, max_size=3 * atoms).map(np.array)
    positions = draw(vectors)
    velocities = draw(st.none() | vectors)
    box = draw(st.lists(st.floats(5, 500).map(lambda x: round(x, 7)), min_size=3, max_size=3))
    angles = draw(st.sampled_from([[], [90.0] * 3, [109.471219] * 3, [60.0] * 3]))
    lines = ["a title", f"{atoms:6d}" + draw(st.sampled_from(["", "  0.6000000E+01"]))]
    for block in (positions, velocities, np.array([*box, *angles])):
        if block is not None:
            texts = [f"{x:12.7f}" for x in block]
            lines += ["".join(texts[i : i + 6]) for i in range(0, len(texts), 6)]
    end = draw(st.sampled_from(["", "\n", "\n\n", "\r\n"]))
    newline = "\r\n" if end == "\r\n" else "\n"
    return newline.join(lines) + end, positions, velocities, [*box, *angles]


@given(text_files())
@settings(max_examples=200, deadline=None)
def test_text_coordinates_round_trip(
    tmp_path_factory: pytest.TempPathFactory,
    file: tuple[str, np.ndarray, np.ndarray | None, list[float]],
) -> None:
    text, positions, velocities, box = file
    path = tmp_path_factory.mktemp("text") / "x.rst7"
    path.write_bytes(text.encode())
    found = read_coordinates(path, Expected(len(positions) // 3))
    np.testing.assert_allclose(found.positions.ravel(), positions / 10, atol=1e-12)
    if velocities is None:
        assert found.velocities is None
    else:
        assert found.velocities is not None
        np.testing.assert_allclose(found.velocities.ravel(), velocities * 2.0455, atol=1e-12)
    volume = np.prod(box[:3]) / 1000
    if len(box) == 6:
        c = np.cos(np.radians(box[3]))
        volume *= np.sqrt(1 - 3 * c**2 + 2 * c**3)
    assert np.linalg.det(found.box) == pytest.approx(volume, rel=1e-6)


@given(cut=st.floats(0, 1), junk=st.binary(max_size=4), keep=st.booleans())
@settings(max_examples=300, deadline=None)
def test_damage_never_escapes_as_another_error(
    amber_test_files: Path,
    tmp_path_factory: pytest.TempPathFactory,
    cut: float,
    junk: bytes,
    keep: bool,
) -> None:
    """Wherever bytes are cut or overwritten: a System, or an InputError of one line."""
    data = (amber_test_files / "ace_mbondi3.parm7").read_bytes()
    at = int(cut * len(data))
    path = tmp_path_factory.mktemp("damage") / "x.parm7"
    path.write_bytes(data[:at] + junk + (data[at + len(junk) :] if keep else b""))
    message = ""
    try:
        system_from_prmtop(PrmtopFile(path))
    except InputError as error:
        message = str(error)
    assert "\n" not in message
