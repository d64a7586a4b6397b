# SPDX-License-Identifier: Apache-2.0
"""Extra points of water in Amber topologies, against OpenMM."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boxes import relative_rms
from model_waters import model_water
from openmm import app

import quiltmd
from quiltmd import InputError, Nonbonded, State, System
from quiltmd.amber.prmtop_file import POINTERS
from quiltmd.inputs import describe, load
from quiltmd.inputs.constrain import constrain

O_H, H_H = 0.9572, 1.5139  # angstrom
MODELS = {"tip4pew": (1, 0.125, 0.52422), "tip5p": (2, 0.70, 0.241)}


def section(name: str, values: Any, kind: str) -> str:
    per_line, shape = {"I": (10, "{:8d}"), "E": (5, "{:16.8E}"), "a": (20, "{:<4}")}[kind]
    form = {"I": "10I8", "E": "5E16.8", "a": "20a4"}[kind]
    words = [shape.format(value) for value in values]
    lines = ["".join(words[k : k + per_line]) for k in range(0, len(words), per_line)] or [""]
    return f"%FLAG {name}\n%FORMAT({form})\n" + "\n".join(lines) + "\n"


def prmtop(waters: int, points: int, arm: float, charge: float, third: bool = True) -> str:
    """Waters as LEaP writes them; `third`: with a bond between the hydrogens, else an angle."""
    size = 3 + points
    first = size * np.arange(waters)
    names = ["O", "H1", "H2", "EPW"] if points == 1 else ["O", "H1", "H2", "EP1", "EP2"]
    with_h = [(0, 1, 1), (0, 2, 1), *([(1, 2, 2)] if third else [])]
    other = [(0, 3 + k, 3) for k in range(points)]
    angles = [] if third else [(1, 0, 2, 1)]
    counts = dict.fromkeys(POINTERS, 0)
    excluded = [[a + 1 for a in range(k + 1, size)] or [0] for k in range(size)]
    counts |= {
        "NATOM": size * waters,
        "NTYPES": 2,
        "NBONH": len(with_h) * waters,
        "NBONA": len(other) * waters,
        "MBONA": len(other) * waters,
        "NTHETH": len(angles) * waters,
        "NNB": sum(map(len, excluded)) * waters,
        "NRES": waters,
        "NUMBND": 3,
        "NUMANG": len(angles),
        "NATYP": 2,
        "IFBOX": 1,
        "NMXRS": size,
        "NUMEXTRA": points * waters,
    }

    def terms(rows: list[tuple[int, ...]]) -> list[int]:
        return [
            v
            for o in first
            for row in rows
            for v in (*(3 * (int(o) + a) for a in row[:-1]), row[-1])
        ]

    q = np.array([0, charge, charge] + [-2 * charge / points] * points)
    listed = [(int(o) + a if a else 0) for o in first for atoms in excluded for a in atoms]
    sigma, epsilon = 3.16435, 0.16275
    a, b = 4 * epsilon * sigma**12, 4 * epsilon * sigma**6
    angle = 2 * np.arcsin(H_H / 2 / O_H)
    text = "%VERSION  VERSION_STAMP = V0001.000  DATE = 01/01/01  00:00:00\n"
    text += "%FLAG TITLE\n%FORMAT(20a4)\nwater\n"
    text += section("POINTERS", counts.values(), "I")
    text += section("ATOM_NAME", names * waters, "a")
    text += section("CHARGE", np.tile(18.2223 * q, waters), "E")
    numbers = [8, 1, 1] + [0] * points
    text += section("ATOMIC_NUMBER", numbers * waters, "I")
    text += section("MASS", np.tile([16.0, 1.008, 1.008] + [0.0] * points, waters), "E")
    text += section("ATOM_TYPE_INDEX", ([1, 2, 2] + [2] * points) * waters, "I")
    text += section("NUMBER_EXCLUDED_ATOMS", [len(x) for x in excluded] * waters, "I")
    text += section("NONBONDED_PARM_INDEX", [1, 2, 2, 3], "I")
    text += section("RESIDUE_LABEL", ["WAT"] * waters, "a")
    text += section("RESIDUE_POINTER", (first + 1).tolist(), "I")
    text += section("BOND_FORCE_CONSTANT", [553.0, 553.0, 600.0], "E")
    text += section("BOND_EQUIL_VALUE", [O_H, H_H, arm], "E")
    text += section("ANGLE_FORCE_CONSTANT", [100.0] * len(angles), "E")
    text += section("ANGLE_EQUIL_VALUE", [angle] * len(angles), "E")
    for name in ("FORCE_CONSTANT", "PERIODICITY", "PHASE"):
        text += section(f"DIHEDRAL_{name}", [], "E")
    text += section("SOLTY", [0.0, 0.0], "E")
    text += section("LENNARD_JONES_ACOEF", [a, 0.0, 0.0], "E")
    text += section("LENNARD_JONES_BCOEF", [b, 0.0, 0.0], "E")
    text += section("BONDS_INC_HYDROGEN", terms(with_h), "I")
    text += section("BONDS_WITHOUT_HYDROGEN", terms(other), "I")
    text += section("ANGLES_INC_HYDROGEN", terms(angles), "I")
    text += section("ANGLES_WITHOUT_HYDROGEN", [], "I")
    text += section("DIHEDRALS_INC_HYDROGEN", [], "I")
    text += section("DIHEDRALS_WITHOUT_HYDROGEN", [], "I")
    text += section("EXCLUDED_ATOMS_LIST", listed, "I")
    text += section("HBOND_ACOEF", [], "E") + section("HBOND_BCOEF", [], "E")
    text += section("AMBER_ATOM_TYPE", (["OW", "HW", "HW"] + ["EP"] * points) * waters, "a")
    text += section("TREE_CHAIN_CLASSIFICATION", ["BLA"] * size * waters, "a")
    text += section("SOLVENT_POINTERS", [0, waters, 1], "I")
    text += section("ATOMS_PER_MOLECULE", [size] * waters, "I")
    return text + section("BOX_DIMENSIONS", [90.0, 20.0, 20.0, 20.0], "E")


@pytest.mark.parametrize("third", [True, False])
@pytest.mark.parametrize("model", MODELS)
def test_water(model: str, third: bool, tmp_path: Path) -> None:
    """The geometry that the model's own paper gives; with one point OpenMM's reader agrees."""
    made, state = model_water(model, (6, 6, 6))
    path = tmp_path / "water.prmtop"
    path.write_text(prmtop(216, *MODELS[model], third=third))
    system = constrain(describe(path).system)
    expected = System.from_openmm(made)
    np.testing.assert_array_equal(system.sites[:, :2], expected.sites[:, :2])
    assert len(system.bonds) == len(system.angles) == 0
    assert system.degrees_of_freedom == 6 * 216
    settings = Nonbonded(cutoff=0.8)
    ours = quiltmd.Simulation(system, state, settings, device="cpu").state().positions
    theirs = quiltmd.Simulation(expected, state, settings, device="cpu").state().positions
    found, other = ours.reshape(216, -1, 3)[:, 3:], theirs.reshape(216, -1, 3)[:, 3:]
    swapped = np.abs(found - other).max() > np.abs(found - other[:, ::-1]).max()
    np.testing.assert_allclose(found, other[:, ::-1] if swapped else other, atol=2e-6)
    if model == "tip4pew" and third:
        check_against_openmm(path, system, state)


def check_against_openmm(path: Path, system: System, state: State) -> None:
    amber = app.AmberPrmtopFile(str(path))
    read = System.from_openmm(amber.createSystem(nonbondedMethod=app.PME, nonbondedCutoff=0.8))
    np.testing.assert_array_equal(system.sites, read.sites)
    np.testing.assert_allclose(system.site_weights, read.site_weights, atol=1e-9)
    settings = Nonbonded(cutoff=0.8)
    one = quiltmd.reference(system, state, settings)
    two = quiltmd.reference(replace(read, nonbonded=None), state, settings)
    assert one[0]["potential"] == pytest.approx(two[0]["potential"], rel=1e-7)
    assert relative_rms(one[1], two[1]) < 1e-6


def test_loaded_with_heavy_hydrogens(tmp_path: Path) -> None:
    _, state = model_water("tip4pew", (6, 6, 6))
    path, crd = tmp_path / "water.prmtop", tmp_path / "water.rst7"
    path.write_text(prmtop(216, *MODELS["tip4pew"]))
    numbers = (10 * state.positions).ravel()
    lines = ["".join(f"{v:12.7f}" for v in numbers[k : k + 6]) for k in range(0, len(numbers), 6)]
    sides = 10 * np.diag(state.box)
    box = "".join(f"{v:12.7f}" for v in (*sides, 90, 90, 90))
    crd.write_text("\n".join(["water", f"{len(state.positions):5d}", *lines, box]) + "\n")
    system, there = load(path, crd, constraints="h-bonds", hydrogen_mass=3.0)
    assert len(system.sites) == 216
    assert len(system.constraints) == 3 * 216
    np.testing.assert_allclose(there.positions, state.positions, atol=1e-7)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("NUMEXTRA", 2, "2 extra points, but 1 massless"),
        ("EPW", None, "has no mass and 0 bonds; extra points have one"),
        ("ATOMIC_NUMBER", None, "is not a water"),
    ],
)
def test_others_are_refused(old: str, new: int | None, words: str, tmp_path: Path) -> None:
    text = prmtop(1, *MODELS["tip4pew"])
    if old == "NUMEXTRA":
        start = text.index("%FLAG POINTERS")
        head = text[start:].split("\n")
        head[5] = f"{new:8d}" + head[5][8:]
        text = text[:start] + "\n".join(head)
    elif old == "EPW":
        text = text.replace(f"{0:8d}{9:8d}{3:8d}", f"{0:8d}{3:8d}{3:8d}")
    else:
        text = text.replace(f"{8:8d}{1:8d}{1:8d}{0:8d}", f"{16:8d}{1:8d}{1:8d}{0:8d}")
    path = tmp_path / "water.prmtop"
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        describe(path)
