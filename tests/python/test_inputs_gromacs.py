# SPDX-License-Identifier: Apache-2.0
"""GROMACS topologies and coordinates, against OpenMM's own reader of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import pytest
from boxes import relative_rms
from hypothesis import given, settings
from hypothesis import strategies as st
from openmm import app, unit

import quiltmd
from quiltmd import InputError, Nonbonded, QuiltWarning, State, System
from quiltmd.gromacs.parameters import COUNTS, FUNCTIONS
from quiltmd.inputs import describe, included_files
from quiltmd.running import runner
from quiltmd.running.config import build_config

CUTOFF, BOX = 0.9, 3.0
ATOMS = 8  # of the chain
# Function types without terms here.
BOND, ANGLE, DIHEDRAL = (
    next(function for function in FUNCTIONS[types] if function not in COUNTS[types])
    for types in ("bondtypes", "angletypes", "dihedraltypes")
)

TYPES = """
[ defaults ]
1 {rule} {generates} {fudge} 0.8333

#define _FF_INVENTED
; name bonded number mass charge kind and two parameters
[ atomtypes ]
 opls_C1  CT 6 12.011 0.1  A {c1}
 opls_C2  CM 6 12.011 -0.1 A {c2}
 opls_H   HC   1.008  0.05 A {h}
 OW          8 15.9994 -0.8 A {o}
 HW          1 1.008    0.4 A 0 0

[ nonbond_params ]
opls_C1 OW 1 {o}
[ bondtypes ]
CT CM 1 0.153 224262.4
CT CT 1 0.1529 200000 ; a comment
HC CT 1 0.109 284512
[ constrainttypes ]
CT CM 1 0.153
[ angletypes ]
CT CM CT 1 112.7 488.3
CM CT HC 5 110.7 313.8 0.22 1200.0
[ dihedraltypes ]
CT CM CT HC 3 0.6 1.7 -0.3 -2.1 0.25 0.1
X CM CT X 9 0.0 5.2 1
X CM CT X 9 180.0 1.2 2
CT CM CT CM 9 60.0 2.2 3
CT X X HC 2 35.0 160.0
[ cmaptypes ]
{map}
"""
MOLECULE = """
#include "water.itp"
[ moleculetype ]
Chain 3
[ atoms ]
1 opls_C1 1 ALA CA 1
2 opls_C2 1 ALA CB 1 -0.25
3 opls_C1 1 ALA CC 1 0.15 13.0
4 opls_H  1 ALA H1 1
5 opls_C1 2 GLY CA 2
6 opls_C2 2 GLY CB 2
7 opls_C1 2 GLY CC 2
8 opls_H  2 GLY H1 2
[ bonds ]
1 2 1
2 3 1 0.16 210000
3 4 1
{dash}5 3 1
5 6 1
6 7 1
7 8 1 gb_77
[ pairs ]
1 4 1
{pairs}
3 7 1
5 8 1
[ angles ]
1 2 3 1
2 3 4 5
3 5 6 1 111.0 400.0
5 6 7 1
6 7 8 5 108.0 300.0 0.21 900.0
[ dihedrals ]
1 2 3 4 3
2 3 5 6 9 20.0 3.0 2
3 5 6 7 9
5 6 7 8 3 1.0 2.0 3.0 4.0 5.0 6.0
4 3 2 1 5 1.5 -2.5 3.5 0.5
8 7 6 5 4 180 4.6 2
[ dihedrals ]
2 3 5 4 2 10.0 200.0
1 2 3 4 2
#ifdef CMAP
[ cmap ]
1 2 3 5 6 1
#endif
[ system ]
made up
[ molecules ]
SOL 3
Chain 2
SOL 2
"""
WATER = """
[ moleculetype ]
SOL 2
[ atoms ]
1 OW 1 SOL OW 1 -0.8 15.9994
2 HW 1 SOL HW1 1 0.4 1.008
3 HW 1 SOL HW2 1 0.4 1.008
#ifndef FLEXIBLE
[ settles ]
1 1 0.1 0.16330
#else
[ bonds ]
1 2 1 0.1 345000
1 3 1 0.1 345000
[ angles ]
2 1 3 1 109.47 383
#endif
[ exclusions ]
1 2 3
2 1 3
3 1 2
"""
LENNARD_JONES = {  # by combination rule
    1: {"c1": "2e-3 3e-6", "c2": "3e-3 4e-6", "h": "1e-4 5e-8", "o": "2.6e-3 2.6e-6"},
    2: {"c1": "0.35 0.276", "c2": "0.34 0.4", "h": "0.25 0.125", "o": "0.315 0.65"},
    3: {"c1": "0.35 0.276", "c2": "0.34 0.4", "h": "0.25 0.125", "o": "0.315 0.65"},
}


def cmap(size: int = 24) -> str:
    """A map as in CHARMM's force field for GROMACS: lines that end in a backslash."""
    energies = np.random.default_rng(2).normal(0, 3, (size**2 // 8, 8))
    lines = [" ".join(f"{value:.4f}" for value in row) for row in energies]
    return "\\\n".join([f"CT CM CT CT CM 1 {size} {size}", *lines])


def write(
    folder: Path, rule: int = 3, pairs: str = "2 6 1 0.3 0.2", generates: str = "yes"
) -> Path:
    # OpenMM leaves C6 of generated pairs as it is, where GROMACS scales it like C12.
    fudge = 1.0 if rule == 1 else 0.5
    lines = {"rule": rule, "generates": generates, "fudge": fudge, "map": cmap()}
    lines |= LENNARD_JONES[rule]
    text = "#define gb_77 0.11 2.9e5\n" + TYPES.format(**lines)
    text += MOLECULE.format(pairs=pairs, dash="")
    (folder / "water.itp").write_text(WATER)
    path = folder / "topol.top"
    path.write_text("; made up\n" + text)
    return path


def positions() -> np.ndarray:
    """Chains as zigzags, waters on a lattice."""
    rng = np.random.default_rng(5)
    water = np.array([[0, 0, 0], [0.1, 0, 0], [-0.0333, 0.0943, 0]])
    zigzag = np.array([[0.12 * i, 0.09 * (i % 2), 0.05 * (i % 3)] for i in range(ATOMS)])
    zigzag += rng.normal(0, 0.012, zigzag.shape)
    waters = [water + np.array([0.7 * i + 0.2, 2.2, 0.4 * i + 0.5]) for i in range(5)]
    chains = [zigzag + np.array(place) for place in ([0.3, 0.6, 0.8], [1.2, 1.3, 1.9])]
    return np.concatenate([*waters[:3], *chains, *waters[3:]])


def by_openmm(path: Path, flexible: bool, cmaps: bool) -> tuple[dict[str, float], Any, Any]:
    """Energies by force, forces, and the System of OpenMM's reader."""
    defines = {"FLEXIBLE": ""} if flexible else {}
    defines |= {"CMAP": ""} if cmaps else {}
    top = app.GromacsTopFile(
        str(path), unitCellDimensions=[BOX] * 3 * unit.nanometer, defines=defines
    )
    original = top.createSystem(
        nonbondedMethod=app.PME, nonbondedCutoff=CUTOFF, constraints=None, rigidWater=not flexible
    )
    alpha, grid = quiltmd.pme_parameters(BOX * np.eye(3), CUTOFF, 1e-4)
    for index, force in enumerate(original.getForces()):
        force.setForceGroup(index)
        if isinstance(force, openmm.NonbondedForce):
            force.setPMEParameters(alpha, *grid)
            force.setUseDispersionCorrection(False)
        if isinstance(force, openmm.CustomNonbondedForce):
            force.setUseLongRangeCorrection(False)
    platform = openmm.Platform.getPlatformByName("Reference")
    context = openmm.Context(original, openmm.VerletIntegrator(0.001), platform)
    context.setPositions(positions())
    energies: dict[str, float] = {}
    for index, force in enumerate(original.getForces()):
        energy = context.getState(getEnergy=True, groups=1 << index).getPotentialEnergy()
        name = type(force).__name__
        energies[name] = energies.get(name, 0) + energy.value_in_unit(unit.kilojoule_per_mole)
    forces = context.getState(getForces=True).getForces(asNumpy=True)
    return energies, forces.value_in_unit(unit.kilojoule_per_mole / unit.nanometer), original


OURS = {
    "HarmonicBondForce": ("bond", "urey_bradley"),
    "HarmonicAngleForce": ("angle",),
    "PeriodicTorsionForce": ("torsion",),
    "RBTorsionForce": ("ryckaert_bellemans",),
    "CustomTorsionForce": ("improper",),
    "CMAPTorsionForce": ("cmap",),
}


def assert_agrees(system: System, expected: tuple[dict[str, float], Any, Any]) -> None:
    state = State.start(system, positions(), BOX * np.eye(3))
    alpha, grid = quiltmd.pme_parameters(state.box, CUTOFF, 1e-4)
    chosen = Nonbonded(
        cutoff=CUTOFF, pme_alpha=alpha, pme_grid=grid, pme_order=5, dispersion_correction=False
    )
    found, forces = quiltmd.reference(system, state, chosen)
    pairs = sum(found[name] for name in ("lj", "lj14", "coulomb", "coulomb14", "pme"))
    others = dict(expected[0])
    for kind, names in OURS.items():
        value = others.pop(kind, 0.0)
        assert sum(found[name] for name in names) == pytest.approx(value, rel=1e-6), kind
    assert pairs == pytest.approx(sum(others.values()), rel=1e-6)
    assert relative_rms(forces, expected[1]) < 1e-6


@pytest.mark.parametrize("flexible", [False, True])
@pytest.mark.parametrize("rule", [1, 2, 3])
def test_every_term(rule: int, flexible: bool, tmp_path: Path) -> None:
    # Of pairs without parameters OpenMM reads those alone that are ends of a dihedral.
    values = "1e-4 1e-8" if rule == 1 else "0.3 0.2"
    pairs = "\n".join(f"{pair} 1 {values}" for pair in ("2 6", "1 5", "4 6"))
    path = write(tmp_path, rule, pairs)
    defines = ["CMAP", *(["FLEXIBLE"] if flexible else [])]
    described = describe(path, defines=defines)
    system = described.system
    assert included_files(path, defines) == (str(tmp_path / "water.itp"),)
    assert system.atoms == 31
    expected = by_openmm(path, flexible, cmaps=True)
    assert min(abs(value) for kind, value in expected[0].items() if kind in OURS) > 0.1
    assert_agrees(system, expected)
    assert len(system.constraints) == (0 if flexible else 15) == expected[2].getNumConstraints()


def test_names(tmp_path: Path) -> None:
    topology = describe(write(tmp_path)).system.topology
    assert topology.atom_names[:5].tolist() == ["OW", "HW1", "HW2", "OW", "HW1"]
    assert topology.residue_names.tolist() == ["SOL"] * 3 + ["ALA", "GLY"] * 2 + ["SOL"] * 2
    assert topology.elements[[0, 1, 9, 12]].tolist() == [8, 1, 6, 1]


def test_constraints_and_connections(tmp_path: Path) -> None:
    path = write(tmp_path)
    text = path.read_text().replace(
        "[ pairs ]", "2 8 5\n[ constraints ]\n1 2 1\n3 5 2 0.2\n[ pairs ]"
    )
    path.write_text(text)
    system = describe(path).system
    pairs = map(tuple, system.constraints.tolist())
    lengths = dict(zip(pairs, system.constraint_lengths, strict=True))
    assert lengths[(9, 10)] == 0.153
    assert lengths[(11, 13)] == 0.2
    assert [10, 16] in system.exclusions.tolist()  # connected, without a bond
    assert [10, 16] not in system.bonds.tolist()


def test_neighbours_are_excluded_whether_they_are_pairs_or_not(tmp_path: Path) -> None:
    path = write(tmp_path)
    path.write_text(path.read_text().replace("3 7 1\n", "").replace("Chain 3", "Chain 4"))
    system = describe(path).system
    excluded = set(map(tuple, system.exclusions.tolist()))
    assert (9, 13) in excluded  # three bonds apart
    assert (9, 14) in excluded  # four
    assert (9, 15) not in excluded
    assert len(system.pairs14) == 2 * 3


def test_generated_pairs(tmp_path: Path) -> None:
    path = write(tmp_path, generates="no")
    with pytest.raises(InputError, match=r"top, line \d+: no parameters in \[ pairtypes \] for"):
        describe(path)
    types = "[ pairtypes ]\nopls_H opls_C1 1 0.3 0.4\nopls_C1 opls_C1 1 0.2 0.7\n[ bondtypes ]"
    path.write_text(path.read_text().replace("[ bondtypes ]", types))
    system = describe(path).system
    found = system.pair14_parameters[: len(system.pairs14) // 2, 1:].tolist()
    assert found == [[0.3, 0.4], [0.3, 0.2], [0.2, 0.7], [0.3, 0.4]]


def test_dihedral_types_by_two_names(tmp_path: Path) -> None:
    path = write(tmp_path)
    plain = path.read_text()
    path.write_text(
        plain.replace(
            "[ cmaptypes ]", "CT CT 1 180 4 2\nCT CM 4 180 7 2\n[ cmaptypes ]", 1
        ).replace("1 2 3 4 2\n", "1 2 3 4 2\n2 3 5 6 1\n5 6 7 8 4\n", 1)
    )
    ks = describe(path).system.torsion_parameters[:, 2].tolist()
    assert ks.count(4.0) == ks.count(7.0) == 2


def test_includes_and_conditions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "water.itp").rename(tmp_path / "elsewhere" / "water.itp")
    with pytest.raises(
        InputError, match=r"top, line \d+: the include file water\.itp is not beside"
    ):
        describe(path)
    monkeypatch.setenv("GMXLIB", str(tmp_path / "elsewhere"))
    assert describe(path).system.atoms == 31
    with pytest.warns(QuiltWarning, match="the macro POSERS has no effect"):
        describe(path, defines=["POSERS"])
    for text, words in (
        ("#ifdef A\n", "this condition has no #endif"),
        ("#endif\n", "#endif without #ifdef or #ifndef before it"),
        ("#if A\n", "'#if A' is not understood"),
        ('#include "other.top"\n', "does a file include itself"),
    ):
        other = tmp_path / "other.top"
        other.write_text("[ system ]\n" + text)
        with pytest.raises(InputError, match=words):
            describe(other)


LONG = "9" * 5000  # digits, which Python itself would refuse to read

BAD = {
    "section": ("[ pairs ]", "[ pears ]", r"\[ pears \] is not known"),
    "restraints": ("[ pairs ]", "[ angle_restraints ]", "angle restraints are not supported"),
    "held": ("[ pairs ]", "[ position_restraints ]", "expected an atom, 1 and three force const"),
    "bottom": (
        "[ pairs ]",
        "[ position_restraints ]\n1 2 9 0.1 5\n[ pairs ]",
        "shapes from 1 to 8",
    ),
    "average": ("[ pairs ]", "[ distance_restraints ]", "use bonds of type 10"),
    "twist": ("[ pairs ]", "[ dihedral_restraints ]\n1 2 3 4 1\n[ pairs ]", "phi, dphi and"),
    "sites": (
        "[ pairs ]",
        "[ virtual_sites3 ]\n1 2 3 4 5 0.1\n[ pairs ]",
        r"\[ virtual_sites3 \] of function type 5 are not supported",
    ),
    "numbers of sites": (
        "[ pairs ]",
        "[ virtual_sites4 ]\n1 2 3 4 5 2 0.1\n[ pairs ]",
        "expected 3 parameters of a virtual site, found 1",
    ),
    "site of bonds": (
        "[ pairs ]",
        "[ virtual_sites3 ]\n1 2 3 4 1\n[ pairs ]",
        "expected 2 parameters of a virtual site, found 0: grompp would calculate them from bonds",
    ),
    "many": (
        "[ pairs ]",
        "[ virtual_sitesn ]\n1 4 2 3\n[ pairs ]",
        "expected a virtual site, 1 or 2 and atoms",
    ),
    "massive": ("[ pairs ]", "[ dummies2 ]\n1 2 3 1 0.5\n[ pairs ]", "cannot be a virtual site"),
    "buckingham": ("1 3 yes", "2 3 yes", r"nbfunc 2 \(Buckingham\) is not supported"),
    "rule": ("1 3 yes", "1 4 yes", "combination rule 4 is not known, only 1, 2 and 3"),
    "bond": ("1 2 1\n", f"1 2 {BOND}\n", rf"line \d+: bonds of function type {BOND} are not supp"),
    "angle": (
        "1 2 3 1\n",
        f"1 2 3 {ANGLE}\n",
        f"angles of function type {ANGLE} are not supported",
    ),
    "dihedral": (
        "1 2 3 4 3\n",
        f"1 2 3 4 {DIHEDRAL}\n",
        f"dihedrals of function type {DIHEDRAL} are not supported",
    ),
    "types": (
        "CT CM CT 1 112",
        "CT CM CM 1 112",
        r"no parameters in \[ angletypes \] for CT-CM-CT",
    ),
    "atom": ("1 2 1\n", "1 9 1\n", "'9' is not an atom of the molecule type Chain"),
    "number": ("0.16 210000", "0.16 21x", "'21x' is not a finite number"),
    "macro": ("#define gb_77 0.11 2.9e5\n", "", "'gb_77' is not a finite number"),
    "count": ("0.16 210000", "0.16 2 3", "expected 2 parameters, found 3"),
    "atom type": (
        "1 opls_C1 1",
        "1 opls_C9 1",
        "there is no atom type opls_C9: is its force field included",
    ),
    "order": ("2 opls_C2 1", "3 opls_C2 1", "expected the line of atom 2 of Chain"),
    "state": (
        "0.15 13.0",
        "0.15 13.0 opls_C2 0.1 12",
        r"no parameters in \[ bondtypes \] for CM-HC",
    ),
    "molecule": ("SOL 3", "SUL 3", "there is no molecule type SUL: is its file included"),
    "molecules": ("[ molecules ]\nSOL 3\nChain 2\nSOL 2\n", "", r"no \[ molecules \]"),
    "pair": ("1 4 1\n", "1 7 1\n", "a pair that is not excluded"),
    "map": (" 24 24\\", " 24 22\\", "a torsion map needs an even number"),
    "too many": ("SOL 3", "SOL 999999999999", "molecules of SOL make more than 2147483647 atoms"),
    "long count": ("SOL 3", f"SOL {LONG}", "expected the name of a molecule type and a number"),
    "long atom": ("1 2 1\n", f"1 {LONG} 1\n", "is not an atom of the molecule type Chain"),
    "long function": ("1 2 1\n", f"1 2 {LONG}\n", "expected 2 atoms and a function type"),
    "long distance": ("Chain 3\n", f"Chain {LONG}\n", "name of a molecule type and nrexcl"),
    "triangle": (
        "[ pairs ]",
        "[ constraints ]\n1 2 1 0.1\n2 3 1 0.1\n3 1 1 0.3\n[ pairs ]",
        r"between atom .* is 0\.3 nm long, more than the other two of its triangle \(0\.1 and 0\.1",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_topologies(name: str, tmp_path: Path) -> None:
    old, new, words = BAD[name]
    path = write(tmp_path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match=words) as caught:
        describe(path, defines=["CMAP"])
    assert str(caught.value).startswith(str(path))


@settings(max_examples=25, deadline=None)
@given(
    word=st.from_regex(r"[a-z]{3,12}_q", fullmatch=True),
    where=st.integers(0, 100),
)
def test_unknown_sections_are_named(
    word: str, where: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = write(tmp_path_factory.mktemp("fuzz"))
    parts = re.split(r"(?m)^(?=\[)", path.read_text())
    at = 1 + where % (len(parts) - 1)
    path.write_text("".join([*parts[:at], f"[ {word} ]\n1 2 3\n", *parts[at:]]))
    with pytest.raises(InputError, match=rf"\[ {word} \] is not known"):
        describe(path, defines=["CMAP"])


# Coordinates


def gro(places: np.ndarray, names: Any, decimals: int = 3, velocities: bool = False) -> str:
    width = decimals + 5
    lines = ["Made up, t= 0.0", f"{len(places)}"]
    for k, (place, name) in enumerate(zip(places, names, strict=True), start=1):
        line = f"{k % 100000:5d}{'SOL':5s}{name:>5s}{k % 100000:5d}"
        line += "".join(f"{x:{width}.{decimals}f}" for x in place)
        line += "".join(f"{x:{width}.{decimals + 1}f}" for x in -place) * velocities
        lines.append(line)
    return "\n".join([*lines, f"{BOX:10.5f}{BOX:10.5f}{BOX:10.5f}", ""])


@pytest.mark.parametrize("decimals", [3, 6])
@pytest.mark.parametrize("velocities", [False, True])
def test_gro(decimals: int, velocities: bool, tmp_path: Path) -> None:
    path = write(tmp_path)
    names = describe(path).system.topology.atom_names
    text = gro(positions(), names, decimals, velocities)
    (tmp_path / "conf.gro").write_text(text)
    _, state = quiltmd.load(path, tmp_path / "conf.gro")
    np.testing.assert_allclose(state.positions, positions(), atol=0.6 * 10.0**-decimals)
    if velocities:
        np.testing.assert_allclose(state.velocities, -positions(), atol=0.06 * 10.0**-decimals)
    assert state.box.tolist() == (BOX * np.eye(3)).tolist()
    (tmp_path / "conf.gro").write_text(text + gro(positions() + 0.1, names, decimals, velocities))
    _, second = quiltmd.load(path, tmp_path / "conf.gro", frame=1)
    np.testing.assert_allclose(second.positions, state.positions + 0.1, atol=1.1e-3)


def test_neighbours_are_counted_to_the_ends_of_a_molecule(tmp_path: Path) -> None:
    """Also where nrexcl is a number of bonds that no molecule has."""
    path = write(tmp_path)
    before, after = path.read_text().split("[ moleculetype ]\nChain 3\n")
    path.write_text(f"{before}[ moleculetype ]\nChain 999999999999\n{after}")
    system = describe(path).system
    chain = np.flatnonzero(system.molecules == system.molecules[system.exclusions.max()])
    pairs = {(int(i), int(j)) for i in chain for j in chain if i < j}
    assert pairs <= set(map(tuple, system.exclusions.tolist()))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("   0.", "  nan", r"line \d+, atom \d+: coordinates: '.*nan.*' is not a finite number"),
        ("   0.", "*****", r"line \d+, atom \d+: coordinates: '.*\*.*' is not a finite number"),
        (f"{BOX:10.5f}\n", f"{-BOX:10.5f}\n", "the box must have positive numbers"),
        ("Made up, t= 0.0\n", f"title\n{LONG}\n", "the second line does not begin with the number"),
    ],
)
def test_bad_gro(old: str, new: str, words: str, tmp_path: Path) -> None:
    path = write(tmp_path)
    text = gro(abs(positions()), describe(path).system.topology.atom_names)
    assert old in text
    (tmp_path / "conf.gro").write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match=rf"conf\.gro, .*{words}"):
        quiltmd.load(path, tmp_path / "conf.gro")


def test_triclinic_gro(tmp_path: Path) -> None:
    path = write(tmp_path)
    names = describe(path).system.topology.atom_names
    text = gro(positions(), names).rsplit("\n", 2)[0]
    (tmp_path / "conf.gro").write_text(text + "\n3.0 2.9 2.1 0 0 0.5 0 1.2 -0.7\n")
    _, state = quiltmd.load(path, tmp_path / "conf.gro")
    np.testing.assert_allclose(state.box, [[3, 0, 0], [0.5, 2.9, 0], [1.2, -0.7, 2.1]])
    (tmp_path / "conf.gro").write_text(text + "\n3.0 2.9\n")
    with pytest.raises(InputError, match=r"conf\.gro, line 34: the box must be three or nine"):
        quiltmd.load(path, tmp_path / "conf.gro")


def test_g96(tmp_path: Path) -> None:
    path = write(tmp_path)
    names = describe(path).system.topology.atom_names
    rows = [
        f"{1:5d} {'SOL':5s} {name:5s}{k:7d}" + "".join(f"{x:15.9f}" for x in place)
        for k, (name, place) in enumerate(zip(names, positions(), strict=True), start=1)
    ]
    speeds = [row[:24] + "".join(f"{x:15.9f}" for x in [0.1, 0.2, 0.3]) for row in rows]
    blocks = {"TITLE": ["made up"], "POSITION": rows, "VELOCITY": speeds, "BOX": ["3.0 3.0 3.0"]}
    text = "".join("\n".join([name, *lines, "END", ""]) for name, lines in blocks.items())
    (tmp_path / "conf.g96").write_text(text)
    _, state = quiltmd.load(path, tmp_path / "conf.g96")
    np.testing.assert_allclose(state.positions, positions(), atol=1e-9)
    np.testing.assert_allclose(state.velocities, np.tile([0.1, 0.2, 0.3], (31, 1)))
    (tmp_path / "conf.g96").write_text(text.replace("VELOCITY", "FORCES"))
    with pytest.raises(InputError, match="block FORCES is not known"):
        quiltmd.load(path, tmp_path / "conf.g96")
    (tmp_path / "conf.g96").write_text(text.replace("0.300000000\nEND", "0.3x\nEND"))
    with pytest.raises(InputError, match=r"line \d+, atom 31: VELOCITY: .* three numbers"):
        quiltmd.load(path, tmp_path / "conf.g96")


POSRE = """
[ position_restraints ]
2 1 1000 500 0
#ifdef FLAT
5 2 8 0.1 300
#endif
[ dihedral_restraints ]
1 2 3 5 1 60.0 10.0 25.0
[ bonds ]
1 8 10 0.1 0.2 0.4 800
"""


def restrained(folder: Path) -> Path:
    """The invented topology with restraints in a file that its chain includes."""
    path = write(folder)
    (folder / "posre.itp").write_text(POSRE)
    text = path.read_text().replace(
        "[ system ]", '#ifdef POSRES\n#include "posre.itp"\n#endif\n[ system ]'
    )
    path.write_text(text)
    return path


def test_restraints(tmp_path: Path) -> None:
    path, conf, held = restrained(tmp_path), tmp_path / "conf.gro", tmp_path / "held.gro"
    names = describe(path).system.topology.atom_names
    conf.write_text(gro(positions(), names))
    held.write_text(gro(positions() + 0.05, names))
    assert len(quiltmd.load(path, conf)[0].position_restraints) == 0
    system, state = quiltmd.load(path, conf, defines=["POSRES", "FLAT"], reference=held)
    chains = [9, 9 + ATOMS]  # their first atoms
    expected = [atom for first in chains for atom in (first + 1, first + 4)]
    assert system.position_restraints[:, 0].tolist() == expected
    assert system.torsion_restraints.tolist() == [[c, c + 1, c + 2, c + 4] for c in chains]
    assert system.distance_restraints.tolist() == [[c, c + 7] for c in chains]
    np.testing.assert_allclose(system.distance_restraint_parameters, [[0.1, 0.2, 0.4, 800]] * 2)
    energy = quiltmd.reference(system, state, Nonbonded(cutoff=CUTOFF))[0]["restraint"]
    x = state.positions
    by_hand = 0.0
    for c in chains:
        by_hand += 0.5 * (1000 + 500) * 0.05**2 + 0.5 * 300 * max(0, 0.05 * 2**0.5 - 0.1) ** 2
        by_hand += 12.5 * max(0.0, off_from(x[[c, c + 1, c + 2, c + 4]]) - np.radians(10)) ** 2
        r = np.linalg.norm(x[c] - x[c + 7])
        by_hand += 400 * (min(r, 0.1) - 0.1) ** 2
        by_hand += 400 * max(0, min(r, 0.4) - 0.2) ** 2 + 160 * max(0, r - 0.4)
    assert energy == pytest.approx(by_hand, rel=1e-4)


def off_from(r: np.ndarray) -> float:
    """How far the torsion of four atoms is from 60 degrees, rad."""
    b = np.diff(r, axis=0)
    m, n = np.cross(b[0], b[1]), np.cross(b[1], b[2])
    phi = np.arctan2(np.linalg.norm(b[1]) * b[0] @ n, m @ n)
    return float(abs((phi - np.radians(60) + np.pi) % (2 * np.pi) - np.pi))


def test_included_files_are_part_of_a_run(tmp_path: Path) -> None:
    """A run is not resumed with another include file; copies of the inputs have them all."""
    path, conf = restrained(tmp_path), tmp_path / "conf.gro"
    conf.write_text(gro(positions(), describe(path).system.topology.atom_names))

    def settings_of(out: str, copy: bool) -> dict[str, Any]:
        return {
            "system": {
                "topology": path,
                "coordinates": conf,
                "defines": ["POSRES"],
                "constraints": "none",
            },
            "nonbonded": {"cutoff": CUTOFF},
            "run": {"steps": 2, "device": "cpu"},
            "integrator": {"timestep": 0.0001},
            "output": {"dir": tmp_path / out, "copy_inputs": copy},
        }

    for out, copy in (("plain", False), ("copied", True)):
        runner.start(build_config(settings_of(out, copy)))
    (tmp_path / "posre.itp").write_text(POSRE + ";\n")
    with pytest.raises(quiltmd.QuiltError, match="changed a file that the topology includes"):
        runner.resume(tmp_path / "plain", {("run", "steps"): 4})
    assert runner.resume(tmp_path / "copied", {("run", "steps"): 4}).step == 4
