# SPDX-License-Identifier: Apache-2.0
"""GROMACS topologies by grompp's own rules: energies as GROMACS gives them, and what is refused."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from gromacs_rules import (
    BOX,
    C6,
    CUTOFF,
    ENERGIES,
    PLACES,
    RULES,
    SHIFT,
    SIGMA,
    topology,
    torsion_map,
)

import quiltmd
from quiltmd import InputError, Nonbonded, QuiltWarning, State
from quiltmd.description.sigma_epsilon import sigma_epsilon
from quiltmd.inputs import describe, topology_format

ARGON = """[ defaults ]
1 2 yes 0.5 0.8333
[ atomtypes ]
AR 18 39.948 0.0 A 0.34 0.99
[ moleculetype ]
AR 1
[ atoms ]
1 AR 1 AR AR 1 0.0 39.948
[ system ]
x
[ molecules ]
AR 1
"""
BANNERS = {
    "stars": "*******************\n* The original ports were written by ...\n*******************\n",
    "prose": "This force field was made\nfor argon, in 1964.\n",
    "prose that continues": "  Written by hand, \\\n and by others. \\\n\n",
    "after a macro": "#define _FF_ARGON\n* argon *\n",
}


@pytest.mark.parametrize("banner", BANNERS)
@pytest.mark.parametrize("included", [True, False])
def test_text_before_the_first_directive_is_a_comment(
    banner: str, included: bool, tmp_path: Path
) -> None:
    path = tmp_path / "argon.top"
    path.write_text(BANNERS[banner] + ARGON)
    if included:
        path = tmp_path / "topol.top"
        path.write_text('#include "argon.top"\n')
    reader = topology_format(path)
    assert reader is not None
    assert "GROMACS" in reader.name
    system = describe(path).system
    assert system.lj_a[0, 0] == pytest.approx(4 * 0.99 * 0.34**12)


def energy(text: str, folder: Path) -> tuple[float, bool]:
    """Of the chains of a topology, by the reference, and whether there are charges."""
    path = folder / "chain.top"
    path.write_text(text)
    system = describe(path).system
    molecules = int(text.split("[ molecules ]")[1].split()[1])
    length = system.atoms // molecules
    places = np.concatenate([PLACES[:length] + k * SHIFT for k in range(molecules)])
    state = State.start(system, places, BOX * np.eye(3))
    chosen = Nonbonded(cutoff=CUTOFF, dispersion_correction=False, pme_tolerance=1e-6)
    return quiltmd.reference(system, state, chosen)[0]["potential"], bool(system.charges.any())


@pytest.mark.parametrize("name", RULES)
@pytest.mark.filterwarnings("ignore::quiltmd.QuiltWarning")
def test_energies_are_those_of_gromacs(name: str, tmp_path: Path) -> None:
    found, charged = energy(RULES[name], tmp_path)  # with charges PME has an error
    assert found == pytest.approx(ENERGIES[name], rel=1e-7, abs=1e-4 if charged else 1e-8)


TOLD = {
    "bonds, reversed": r"line 8: .*replaces .* of BB-AA",
    "angles, reversed": r"line 8: .*replaces .* of BB-AA-AA",
    "pairs, reversed": r"line 8: .*replaces .* of BB-AA",
    "nonbonded": r"line 8: .*replaces .* of AA-BB",
    "atom types": r"line 6: .*replaces .* AA",
    "words after an atom type": r"line 4: '1 2 3' after the two parameters is ignored",
    "function 1": r"line 8: .*replaces .* of AA-AA-BB-BB",
    "function 9, the same again": r"line 8: .*left out, as by GROMACS before 2025\.2",
    "maps": r"line 56: a second torsion map of AA-AA-BB-BB-AA is not used",
}


@pytest.mark.parametrize("name", TOLD)
def test_a_type_given_twice_is_told(name: str, tmp_path: Path) -> None:
    path = tmp_path / "chain.top"
    path.write_text(RULES[name])
    with pytest.warns(QuiltWarning, match=TOLD[name]):
        describe(path)


def test_a_type_given_twice_alike_is_not_told(tmp_path: Path) -> None:
    path = tmp_path / "chain.top"
    path.write_text(topology("[ bondtypes ]\nAA BB 1 0.2 1000\nBB AA 1 0.2 1e3", bonds="2 3 1"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        describe(path)


BLOCKS = "[ dihedraltypes ]\nAA AA BB BB 9 0 1 1\n{}BB BB AA AA 9 0 2 1"
PAIRS = "[ pairs ]\n1 4 "
DIHEDRAL = "[ dihedrals ]\n1 2 3 4 1 "
REFUSED = {
    # by grompp, too
    "another block": (topology(BLOCKS.format("AA AA AA BB 9 0 1 1\n")), "line 9: .* in a row"),
    "a block reversed": (topology(BLOCKS.format("")), "line 8: .* in a row"),
    "wild cards of function 5": (
        topology("[ dihedraltypes ]\nX AA BB X 5 1 2 3 4", "[ dihedrals ]\n1 2 3 4 5"),
        r"line 20: no parameters in \[ dihedraltypes \]",
    ),
    "two outer names of function 4": (
        topology(
            "[ dihedraltypes ]\nAA BB 4 0 1 1", "[ dihedrals ]\n1 2 3 4 4", kinds="AA AA AA BB"
        ),
        r"line 20: no parameters in \[ dihedraltypes \]",
    ),
    "a map reversed": (
        topology(
            "[ cmaptypes ]\n" + torsion_map("AA BB BB AA AA", 1),
            "[ cmap ]\n1 2 3 4 5 1",
            kinds="AA AA BB BB AA",
        ),
        r"no parameters in \[ cmaptypes \]",
    ),
    "multiplicity": (topology(terms=f"{DIHEDRAL}0 1 2.1"), "line 19: the multiplicity 2.1 is not"),
    "connection": (topology(bonds="1 2 5 0.1 100"), "line 15: expected 0 parameters, found 2"),
    "an atom twice": (topology(bonds="1 1 5"), "line 15: an atom is named twice"),
    "defaults twice": (topology(defaults="1 2\n1 3"), r"line 3: \[ defaults \] must have one line"),
    "defaults": (topology(defaults="1 2 no 1 1 12 1"), "line 2: expected nbfunc"),
    "power": (topology(defaults="1 2 no 1 1 10"), "line 2: repulsion with the power 10"),
    "types after molecules": (
        topology(terms="[ bondtypes ]\nAA AA 1 0.1 100"),
        r"line 18: \[ bondtypes \] must come before the first \[ moleculetype \]",
    ),
    "unknown bonded type": (
        topology("[ bondtypes ]\nAA CC 1 0.1 100"),
        r"line 7: \[ bondtypes \]: there is no atom type CC",
    ),
    "unknown type of a dihedral": (
        topology("[ dihedraltypes ]\nX CC AA X 9 0 1 1"),
        r"line 7: \[ dihedraltypes \]: there is no atom type CC",
    ),
    "unknown atom type": (
        topology("[ nonbond_params ]\nAA CC 1 0.1 100"),
        r"line 7: \[ nonbond_params \]: there is no atom type CC",
    ),
    "unknown function type": (
        topology("[ bondtypes ]\nAA AA 11 0.1 100"),
        r"line 7: \[ bondtypes \] of function type 11 are not known",
    ),
    "shells": (
        topology(atom_types=SIGMA.replace("A 0.2 ", "S 0.2 ")),
        "line 10: atoms of the type AA are shells",
    ),
    "particles": (
        topology(atom_types=SIGMA.replace("A 0.2 ", "Q 0.2 ")),
        "line 4: the particle type Q is not known",
    ),
    "massive site": (
        topology(atom_types=SIGMA.replace("A 0.2 ", "V 0.2 ")),
        r"line 10: a virtual site \(type AA\) has a mass, 12.011",
    ),
    "charge group": (
        topology(atoms={2: "2 AA 1 M B x 0 12"}),
        "line 11: 'x' is not the number of a charge group",
    ),
    "words of an atom": (
        topology(atoms={2: "2 AA 1 M B 1 0 12 AA 0 12 1"}),
        "line 11: expected at most eleven",
    ),
    "charged pair": (topology(terms=f"{PAIRS}2 0.7"), "line 19: pairs of function type 2 need"),
    "weights of a site": (
        topology(terms="[ virtual_sitesn ]\n4 3 1 0.3 2 -0.1", atoms={4: "4 AA 1 M D 1 0 0"}),
        "line 19: a virtual site needs atoms with weights that are not negative",
    ),
    "macros in a circle": (
        topology(before="#define bb 0\n#define aa bb 1 1\n", terms=f"{DIHEDRAL}aa"),
        "line 21: 'bb' is not a finite number",
    ),
    "a number with an underscore": (
        topology(terms=f"{DIHEDRAL}3_0 1 1"),
        "line 19: '3_0' is not a finite number",
    ),
    "else": (topology(terms="#else\n"), "line 18: #else without #ifdef or #ifndef before it"),
    # by Quilt alone: GROMACS leaves something out in silence, or has energies that make no sense
    "signs of epsilon": (
        topology(atom_types=SIGMA.replace(" 0.5", " -0.5")),
        "line 5: types AA and BB have parameters of different signs",
    ),
    "signs of C6": (
        topology(atom_types=C6.replace("1e-3", "-1e-3"), defaults="1 1"),
        "line 5: types AA and BB have parameters of different signs",
    ),
    "C6 < 0": (
        topology(terms=f"{PAIRS}1 -1e-3 1e-6", defaults="1 1"),
        r"line 19: a 1-4 pair with C6 = -0\.001 and C12 = 1e-06: negative ones",
    ),
    "C12 < 0 by types": (
        topology("[ pairtypes ]\nAA BB 1 1e-3 -1e-6", f"{PAIRS}1", defaults="1 1"),
        "line 20: a 1-4 pair with C6 = 0.001 and C12 = -1e-06",
    ),
    "epsilon < 0": (
        topology(terms=f"{PAIRS}1 0.2 -0.5"),
        "line 19: a 1-4 pair with C6 = .* negative ones are not supported",
    ),
    "k < 0 along an axis": (
        topology(terms="[ position_restraints ]\n1 1 -10 0 0"),
        "line 19: a position restraint needs force constants that are not negative",
    ),
    "k < 0 of a flat bottom": (
        topology(terms="[ position_restraints ]\n1 2 1 0.1 -10"),
        "line 19: a flat bottom of shape 1, radius 0.1 and k -10: supported",
    ),
    "dphi < 0": (
        topology(terms="[ dihedral_restraints ]\n1 2 3 4 1 30 -5 10"),
        "line 19: a dihedral restraint needs dphi and k that are not negative",
    ),
    "low > up1": (
        topology(bonds="1 2 10 0.3 0.2 0.4 100"),
        r"line 15: a restraint \(function type 10\) needs 0 <= low <= up1 <= up2",
    ),
    "behind a section": (
        topology(terms="[ angles ] 1 2 3 1 100 200"),
        r"line 18: '1 2 3 1 100 200' must be on a line of its own after \[ angles \]",
    ),
    "a condition with a comment": (
        topology(before="#define ZZ\n#ifdef ZZ ; c\n#endif\n"),
        "line 2: grompp reads this comment as part of the name",
    ),
    "a name with a comment": (
        topology(before="#define ZZ\n#undef ZZ ; c\n"),
        "line 2: grompp reads this comment as part of the name",
    ),
    "macros of other characters": (
        topology(before="#define A-B 1\n"),
        "line 1: the macro A-B is no word",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, tmp_path: Path) -> None:
    text, words = REFUSED[name]
    path = tmp_path / "chain.top"
    path.write_text(text)
    with pytest.raises(InputError, match=words) as caught:
        describe(path)
    assert str(caught.value).startswith(str(path))


def test_types_without_atoms_need_no_parameters_with_others(tmp_path: Path) -> None:
    path = tmp_path / "chain.top"
    path.write_text(topology(atom_types=f"{SIGMA}\nCC 12 12.011 0.0 A 0.3 -0.5"))
    assert len(describe(path).system.lj_a) == 2


def test_the_last_quote_of_an_include_may_be_missing(tmp_path: Path) -> None:
    """As for grompp; the topologies of martini_openmm have such a line."""
    (tmp_path / "argon.top").write_text(ARGON)
    path = tmp_path / "topol.top"
    path.write_text('#include "argon.top\n')
    assert len(describe(path).system.lj_a) == 1


def test_conditions_end_with_their_file(tmp_path: Path) -> None:
    (tmp_path / "half.itp").write_text("#ifdef FLEXIBLE\n")
    path = tmp_path / "chain.top"
    path.write_text(topology(before='#include "half.itp"\n#endif\n'))
    with pytest.raises(InputError, match=r"half\.itp, line 1: this condition has no #endif"):
        describe(path)
    (tmp_path / "half.itp").write_text("#endif\n")
    path.write_text(topology(before='#ifndef FLEXIBLE\n#include "half.itp"\n'))
    with pytest.raises(InputError, match=r"half\.itp, line 1: #endif without #ifdef"):
        describe(path)


def test_maps_by_residues(tmp_path: Path) -> None:
    """As in GROMACS since 2025: C-* N-ALA CT-ALA C-ALA N-*; or by number."""
    path = tmp_path / "chain.top"
    kinds = ("AA-* AA-GLY BB-GLY BB-GLY AA-*", "AA-* AA-M BB-M BB-M AA-*", "AA AA BB BB AA")
    types = "".join(torsion_map(names, seed) for seed, names in enumerate(kinds))
    text = topology(f"[ cmaptypes ]\n{types}", "[ cmap ]\n1 2 3 4 5 1{}", kinds="AA AA BB BB AA")
    found = []
    for number in ("", " 1", " 2", " 3"):
        path.write_text(text.format(number))
        found.append(describe(path).system.cmap_maps[0])
    np.testing.assert_array_equal(found[0], found[2])
    assert not np.array_equal(found[1], found[2])
    assert not np.array_equal(found[2], found[3])
    path.write_text(text.format(" 4"))
    with pytest.raises(InputError, match="there is no torsion map 4 of 3"):
        describe(path)


def test_harmonic_potentials_are_no_bonds(tmp_path: Path) -> None:
    """Function type 6 is never constrained, whatever atoms it joins."""
    path, conf = tmp_path / "chain.top", tmp_path / "chain.gro"
    hydrogen = {4: "4 HC 1 M H 1 0.0 1.008"}
    types = f"{SIGMA}\nHC 1 1.008 0.0 A 0.1 0.1"
    terms = "1 2 1 0.15 1000\n2 3 1 0.15 1000\n3 4 {} 0.15 1000"
    conf.write_text(
        "x\n4\n"
        + "".join(
            f"    1M    {name:>5s}{k:5d}" + "".join(f"{x:8.3f}" for x in place) + "\n"
            for k, (name, place) in enumerate(zip("ABCH", PLACES, strict=False), start=1)
        )
        + "3 3 3\n"
    )
    for function, constrained in (("1", 1), ("6", 0)):
        path.write_text(topology(atom_types=types, bonds=terms.format(function), atoms=hydrogen))
        system = quiltmd.load(path, conf, constraints="h-bonds")[0]
        assert len(system.constraints) == constrained
        assert [2, 3] not in system.bonds.tolist()


def test_leap_order_is_told(tmp_path: Path) -> None:
    path = tmp_path / "chain.top"
    path.write_text(topology(before="#define _FF_AMBER_LEAP_ATOM_REORDERING\n"))
    with pytest.warns(QuiltWarning, match="order the atoms of dihedrals as LEaP does"):
        describe(path)


def test_sigma_and_epsilon() -> None:
    a = np.array([1e-6, 1e-6, 0.0, 0.0])
    b = np.array([1e-3, 0.0, 1e-3, 0.0])
    sigma, epsilon = sigma_epsilon(a, b)
    for r in (0.1, 0.3, 1.0):
        found = 4 * epsilon * ((sigma / r) ** 12 - (sigma / r) ** 6)
        np.testing.assert_allclose(found, a / r**12 - b / r**6, rtol=1e-11)
