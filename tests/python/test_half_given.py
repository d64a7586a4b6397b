# SPDX-License-Identifier: Apache-2.0
"""Velocities and boxes that a file gives for a part are refused, in every format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import openmm
import pytest
from openmm import unit
from scipy.io import netcdf_file

from quiltmd import InputError
from quiltmd.inputs import count_frames, read_coordinates
from quiltmd.reading.formats import Expected

ATOMS = 4
PLACES = np.arange(12).reshape(ATOMS, 3) / 8 + 0.125  # nm; exact in all formats
SPEEDS = (PLACES - 0.5) / 4


def gro(moving: tuple[int, ...] = (1, 1, 1, 1), behind: str = "", end: str = "") -> str:
    lines = ["made up", f"{ATOMS}"]
    for k, (place, speed) in enumerate(zip(PLACES, SPEEDS, strict=True)):
        line = f"    1SOL  {'A':>5s}{k + 1:5d}" + "".join(f"{x:8.3f}" for x in place)
        line += "".join(f"{v:8.4f}" for v in speed) * moving[k]
        lines.append(line + behind * (k == 2))
    return "\n".join([*lines, "   2.0   2.0   2.0", end])


def g96(*blocks: str) -> str:
    rows = {
        "POSITIONRED": [" ".join(f"{x:.9f}" for x in place) for place in PLACES],
        "VELOCITYRED": [" ".join(f"{x:.9f}" for x in speed) for speed in SPEEDS],
        "BOX": ["2.0 2.0 2.0"],
    }
    rows["POSITION 2"] = [" ".join(f"{x + 0.125:.9f}" for x in place) for place in PLACES]
    rows["VELOCITY 3"] = rows["VELOCITYRED"][:3]
    names = {"POSITION 2": "POSITIONRED", "VELOCITY 3": "VELOCITYRED"}
    return "".join(
        "\n".join([names.get(block, block), *rows[block], "END", ""]) for block in blocks
    )


def crd(behind: str = "") -> str:
    lines = ["* made up", "*", f"{ATOMS:5d}"]
    for k, place in enumerate(10 * PLACES, start=1):
        lines.append(
            f"{k:5d}{1:5d} SOL  A   " + "".join(f"{x:10.5f}" for x in place) + " W    1     0.0"
        )
    return "\n".join([*lines, behind])


def rst7(speeds: int) -> str:
    """Positions, so many lines of velocities, and a box."""
    lines = ["made up", f"{ATOMS}"]
    for values in (10 * PLACES, SPEEDS):
        rows = ["".join(f"{x:12.7f}" for x in row) for row in values.reshape(-1, 6)]
        lines += rows if values is not SPEEDS else rows[:speeds]
    return "\n".join([*lines, "".join(f"{x:12.7f}" for x in (20, 20, 20, 90, 90, 90)), ""])


CELL = "CRYST1   20.000   20.000   20.000  90.00  90.00  90.00 P 1           1"


def pdb(*parts: str) -> str:
    """Of "cell", "large" (a cell of 3 nm) and "model"."""
    model = [
        f"ATOM  {k:5d}  A   SOL     1    " + "".join(f"{x:8.3f}" for x in place)
        for k, place in enumerate(10 * PLACES, start=1)
    ]
    lines = []
    for part in parts:
        if part == "model":
            lines += ["MODEL        1", *model, "ENDMDL"]
        else:
            lines.append(CELL if part == "cell" else CELL.replace("20.000", "30.000"))
    return "\n".join([*lines, "END", ""])


def cif(*missing: str) -> str:
    cell = {"length_a": 20, "length_b": 20, "length_c": 20}
    cell |= {"angle_alpha": 90, "angle_beta": 90, "angle_gamma": 90}
    lines = ["data_x", *(f"_cell.{k} {v}" for k, v in cell.items() if k not in missing), "loop_"]
    lines += [f"_atom_site.{name}" for name in ("label_atom_id", "Cartn_x", "Cartn_y", "Cartn_z")]
    lines += ["A " + " ".join(f"{x:.3f}" for x in place) for place in 10 * PLACES]
    return "\n".join([*lines, ""])


def state(positions: int = ATOMS, velocities: int = ATOMS) -> str:
    """An OpenMM State of which vectors were taken away."""
    system = openmm.System()
    for _ in range(ATOMS):
        system.addParticle(12.0)
    platform = openmm.Platform.getPlatformByName("Reference")
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), platform)
    context.setPositions(PLACES * unit.nanometer)
    context.setVelocities(SPEEDS)
    text = openmm.XmlSerializer.serialize(context.getState(positions=True, velocities=True))
    for name, kept in (("Position", positions), ("Velocity", velocities)):
        for _ in range(ATOMS - kept):
            start = text.rindex(f"<{name} ")
            text = text[:start] + text[text.index("/>", start) + 2 :]
    return text


TEXTS: dict[str, tuple[str, str]] = {  # a file and what is said of it
    "gro, not the first": (gro((0, 1, 1, 1)), "line 4, atom 2: has a velocity, unlike atom 1"),
    "gro, only the first": (gro((1, 0, 0, 0)), "line 4, atom 2: has no velocity, unlike atom 1"),
    "gro, not the last": (gro((1, 1, 1, 0)), "line 6, atom 4: has no velocity, unlike atom 1"),
    "gro, text behind": (gro(behind="  1.0"), "line 5, atom 3: text behind position and velocity"),
    "gro, broken frame": (gro(end="made up\nfour\n"), "line 8: text that is no frame"),
    "gro, half a box": (
        gro()[:-7],
        "line 7: the box must",
    ),
    "g96, three velocities": (
        g96("POSITIONRED", "VELOCITY 3", "BOX"),
        "line 7: 3 velocities of 4 atoms",
    ),
    "crd, more atoms": (crd("    5    1 SOL  A      1.0"), "line 8: text after the last of 4"),
    "rst7, half the velocities": (rst7(1), "line 6: this line of velocities is a box"),
    "pdb, cell behind": (pdb("model", "cell"), "line 7: CRYST1 stands after the atoms"),
    "cif, two lengths": (cif("length_b"), r"incomplete box: _cell\.length_b is missing"),
    "cif, lengths alone": (
        cif("angle_alpha", "angle_beta", "angle_gamma"),
        r"incomplete box: _cell\.angle_alpha is missing",
    ),
    "State, three velocities": (state(velocities=3), "OpenMM cannot read it: .* Size Mismatch"),
    "State, three positions": (state(positions=3), "OpenMM cannot read it: .* Size Mismatch"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text(name: str, tmp_path: Path) -> None:
    text, words = TEXTS[name]
    path = tmp_path / "coordinates"
    path.write_text(text)
    with pytest.raises(InputError, match=words) as caught:
        read_coordinates(path, Expected(ATOMS))
    assert str(caught.value).startswith(str(path))


WHOLE = {"gro": gro(), "g96": g96("POSITIONRED", "VELOCITYRED", "BOX"), "State": state()}


@pytest.mark.parametrize("name", WHOLE)
def test_whole(name: str, tmp_path: Path) -> None:
    path = tmp_path / "coordinates"
    path.write_text(WHOLE[name])
    found = read_coordinates(path, Expected(ATOMS))
    np.testing.assert_allclose(found.positions, PLACES, atol=1e-9)
    np.testing.assert_allclose(found.velocities, SPEEDS, atol=1e-4 if name == "gro" else 1e-9)
    assert found.box is not None


def test_frames_of_g96(tmp_path: Path) -> None:
    """Velocities and box of another frame are not those of this one."""
    path = tmp_path / "two.g96"
    path.write_text(g96("POSITIONRED", "POSITION 2", "VELOCITYRED", "BOX"))
    assert count_frames(path) == 2
    first, last = (read_coordinates(path, Expected(ATOMS, frame)) for frame in (0, -1))
    np.testing.assert_allclose(first.positions, PLACES, atol=1e-9)
    np.testing.assert_allclose(last.positions, PLACES + 0.125, atol=1e-9)
    assert first.velocities is None
    assert first.box is None
    np.testing.assert_allclose(last.velocities, SPEEDS, atol=1e-9)


def test_cells_of_pdb_models(tmp_path: Path) -> None:
    path = tmp_path / "models.pdb"
    path.write_text(pdb("cell", "model", "large", "model"))
    boxes = [read_coordinates(path, Expected(ATOMS, frame)).box for frame in (0, 1, -1)]
    assert [box[0, 0] for box in boxes if box is not None] == pytest.approx([2.0, 3.0, 3.0])


def netcdf(path: Path, change: Callable[[dict[str, np.ndarray]], None]) -> Path:
    values = {
        "coordinates": 10 * PLACES,
        "velocities": 10 * SPEEDS,
        "cell_lengths": np.full(3, 20.0),
        "cell_angles": np.full(3, 90.0),
    }
    change(values)
    with netcdf_file(path, "w") as content:
        for name, value in values.items():
            sizes = [f"{name}_{k}" for k in range(value.ndim)]
            for size, length in zip(sizes, value.shape, strict=True):
                content.createDimension(size, length)
            content.createVariable(name, "d", tuple(sizes))[:] = value
    return path


def _without(name: str) -> Callable[[dict[str, np.ndarray]], None]:
    return lambda values: values.pop(name) is None


def _never_written(name: str) -> Callable[[dict[str, np.ndarray]], None]:
    return lambda values: values[name].flat.__setitem__(slice(-2, None), 9.96920996838687e36)


NETCDF = {
    "no angles": (_without("cell_angles"), "incomplete box: the file has cell_lengths but"),
    "no lengths": (_without("cell_lengths"), "incomplete box: the file has cell_angles but"),
    "three velocities": (
        lambda values: values.__setitem__("velocities", 10 * SPEEDS[:3]),
        "3 velocities of 4 atoms",
    ),
    "velocities not written": (_never_written("velocities"), "atom 4: velocities are not finite"),
    "positions not written": (_never_written("coordinates"), "atom 4: coordinates are not finite"),
    "lengths not written": (_never_written("cell_lengths"), "cell_lengths are not finite numbers"),
}


@pytest.mark.parametrize("name", NETCDF)
def test_netcdf(name: str, tmp_path: Path) -> None:
    change, words = NETCDF[name]
    with pytest.raises(InputError, match=words):
        read_coordinates(netcdf(tmp_path / "half.nc", change), Expected(ATOMS))


def test_velocities_of_trr(tmp_path: Path) -> None:
    """They are read where a frame has them; a frame of velocities alone is refused."""
    trr = pytest.importorskip("MDAnalysis.lib.formats.libmdaxdr").TRRFile
    path, box = tmp_path / "three.trr", 2 * np.eye(3, dtype=np.float32)
    places, speeds = PLACES.astype(np.float32), SPEEDS.astype(np.float32)
    with trr(str(path), "w") as stream:
        for step, (x, v) in enumerate(((places, speeds), (places, None), (None, speeds))):
            stream.write(x, v, None, box, step, float(step), 0.0, ATOMS)
    found = read_coordinates(path, Expected(ATOMS, 0))
    np.testing.assert_allclose(found.velocities, SPEEDS, atol=1e-7)
    assert read_coordinates(path, Expected(ATOMS, 1)).velocities is None
    with pytest.raises(InputError, match=r"frame 2 \(from 0\) has no positions"):
        read_coordinates(path, Expected(ATOMS, 2))
