# SPDX-License-Identifier: Apache-2.0
"""Topologies that try one rule of grompp each, with the potential energy that GROMACS gives."""

from __future__ import annotations

import numpy as np

CUTOFF, BOX = 0.9, 3.0
PLACES = np.array(
    [
        [1.00, 1.00, 1.00],
        [1.15, 1.00, 1.00],
        [1.15, 1.15, 1.00],
        [1.25, 1.15, 1.12],
        [1.35, 1.05, 1.11],
        [1.39, 1.15, 1.22],
    ]
)
SHIFT = np.array([0.3, 0.5, 0.4])  # of the second molecule from the first

NO_VAN_DER_WAALS = "AA 6 12.011 0.0 A 0.0 0.0\nBB 6 12.011 0.0 A 0.0 0.0"
SIGMA = "AA 6 12.011 0.0 A 0.2 0.5\nBB 6 12.011 0.0 A 0.25 0.7"
C6 = "AA 6 12.011 0.0 A 1e-3 1e-6\nBB 6 12.011 0.0 A 2e-3 3e-6"
WITH_SITE = f"{SIGMA}\nVV 0 0 0 V 0 0"
CHAIN = "1 2 5\n2 3 5\n3 4 5"
LINES = "{0} {1} 1 M {2} 1 0.0 12.011"


def topology(
    types: str = "",
    terms: str = "",
    *,
    defaults: str = "1 2 no 0.5 0.5",
    atom_types: str = NO_VAN_DER_WAALS,
    kinds: str = "AA AA BB BB",
    bonds: str = CHAIN,
    molecule: str = "M 3",
    molecules: str = "M 1",
    atoms: dict[int, str] | None = None,
    before: str = "",
) -> str:
    """A chain of atoms of these kinds; `atoms`: lines of some of them, by number."""
    lines = [
        (atoms or {}).get(k, LINES.format(k, kind, "ABCDEF"[k - 1]))
        for k, kind in enumerate(kinds.split(), start=1)
    ]
    sections = {
        "defaults": defaults,
        "atomtypes": f"{atom_types}\n{types}",
        "moleculetype": molecule,
        "atoms": "\n".join(lines),
        "bonds": f"{bonds}\n{terms}",
        "system": "chain",
        "molecules": molecules,
    }
    return before + "".join(f"[ {name} ]\n{text}\n" for name, text in sections.items())


def coordinates(atoms: int, molecules: int = 1) -> str:
    """The gro file of chains of so many atoms."""
    places = [x + k * SHIFT for k in range(molecules) for x in PLACES[:atoms]]
    lines = [
        f"{1 + k // atoms:5d}M    {'ABCDEF'[k % atoms]:>5s}{k + 1:5d}"
        + "".join(f"{x:8.3f}" for x in place)
        for k, place in enumerate(places)
    ]
    return "\n".join(["chains", str(len(places)), *lines, f"{BOX:10.5f}" * 3, ""])


def torsion_map(kinds: str, seed: int, size: int = 24) -> str:
    """A line of [ cmaptypes ] with random energies."""
    energies = np.random.default_rng(seed).normal(0, 3, (size, size))
    rows = [" ".join(f"{value:.3f}" for value in row) for row in energies]
    return "\\\n".join([f"{kinds} 1 {size} {size}", *rows]) + "\n"


def _dihedral(types: str, function: str, kinds: str = "AA AA BB BB") -> str:
    return topology(
        f"[ dihedraltypes ]\n{types}", f"[ dihedrals ]\n1 2 3 4 {function}", kinds=kinds
    )


def _pair(types: str = "", pair: str = "1 4 1", generates: str = "no", rule: int = 2) -> str:
    return topology(
        types,
        f"[ pairs ]\n{pair}",
        atom_types=C6 if rule == 1 else SIGMA,
        defaults=f"1 {rule} {generates} 0.5 0.8",
    )


def _nonbonded(types: str = "", atom_types: str = SIGMA, rule: int = 2) -> str:
    """All pairs but the bonded ones interact."""
    return topology(
        types,
        atom_types=atom_types,
        defaults=f"1 {rule} yes 0.5 0.5",
        bonds="1 2 5",
        molecule="M 1",
    )


def _macro(before: str, terms: str) -> str:
    return topology(before=before, terms=terms)


def _map(types: str, term: str = "1 2 3 4 5 1") -> str:
    return topology(
        f"[ cmaptypes ]\n{types}",
        f"[ cmap ]\n{term}",
        kinds="AA AA BB BB AA AA",
        bonds=f"{CHAIN}\n4 5 5\n5 6 5",
    )


def _site(section: str, line: str, second_mass: float = 12.011) -> str:
    """Two chains of five atoms and a charged site."""
    return topology(
        "",
        f"[ {section} ]\n{line}\n[ exclusions ]\n6 1 2 3 4 5",
        atom_types=WITH_SITE,
        kinds="AA AA AA AA AA VV",
        bonds=f"{CHAIN}\n4 5 5",
        molecule="M 5",
        molecules="M 2",
        atoms={
            1: "1 AA 1 M A 1 0.5 12.011",
            2: f"2 AA 1 M B 1 0.0 {second_mass}",
            6: "6 VV 1 M F 1 -0.5 0.0",
        },
    )


_PERIODIC = "[ dihedrals ]\n1 2 3 4 1 "
_BLOCK = "AA AA BB BB 9 0 1 1\nAA AA BB BB 9 0 1 2"
_MAP = torsion_map("AA AA BB BB AA", 1)
_FOUR = {1: "1 AA 1 M A 1 0.3 12.011", 2: "2 AA 1 M B 1 -0.3 12.011"}

RULES: dict[str, str] = {
    # A type that is given twice.
    "bonds": topology("[ bondtypes ]\nAA BB 1 0.2 1000\nAA BB 1 0.2 2000", bonds="2 3 1"),
    "bonds, reversed": topology("[ bondtypes ]\nAA BB 1 0.2 1000\nBB AA 1 0.2 2000", bonds="2 3 1"),
    "bonds, two functions": topology(
        "[ bondtypes ]\nAA BB 1 0.2 1000\nAA BB 6 0.2 9", bonds="2 3 1"
    ),
    "angles, reversed": topology(
        "[ angletypes ]\nAA AA BB 1 100 100\nBB AA AA 1 100 200", "[ angles ]\n1 2 3 1"
    ),
    "Urey-Bradley": topology(
        "[ angletypes ]\nAA AA BB 5 100 100 0.2 900\nBB AA AA 5 100 200 0.25 800",
        "[ angles ]\n1 2 3 5",
    ),
    "pairs, reversed": _pair("[ pairtypes ]\nAA BB 1 0.2 0.5\nBB AA 1 0.3 1.0"),
    "generated pairs": _pair("[ pairtypes ]\nAA BB 1 0.2 0.5\nBB AA 1 0.3 1.0", generates="yes"),
    "atom types": topology(
        terms="[ pairs ]\n1 4 1",
        atom_types=f"{SIGMA}\nAA 6 12.011 0.0 A 0.3 0.9",
        defaults="1 2 yes 0.5 0.5",
    ),
    "bonded types": topology(
        "[ dihedraltypes ]\nCX CX BB BB 1 0 1 1\nCY CY BB BB 1 0 2 1",
        "[ dihedrals ]\n1 2 3 4 1",
        atom_types="AA CX 6 12.0 0 A 0 0\nBB 6 12.0 0 A 0 0\nAA CY 6 12.0 0 A 0 0",
    ),
    "nonbonded": _nonbonded("[ nonbond_params ]\nBB AA 1 0.2 0.5\nAA BB 1 0.3 0.6"),
    "function 1": _dihedral("AA AA BB BB 1 0 1 1\nAA AA BB BB 1 0 2 1", "1"),
    "function 1, apart": _dihedral(
        "AA AA BB BB 1 0 1 1\nAA X X AA 1 0 9 1\nBB BB AA AA 1 0 2 1", "1"
    ),
    "function 2": _dihedral("AA AA BB BB 2 30 10\nBB BB AA AA 2 30 20", "2"),
    "function 3": _dihedral("AA AA BB BB 3 1 2 3 4 5 6\nBB BB AA AA 3 2 0 0 0 0 0", "3"),
    "function 4": _dihedral("AA AA BB BB 4 180 1 2\nAA AA BB BB 4 180 2 2", "4"),
    "function 5": _dihedral("AA AA BB BB 5 1 2 3 4\nBB BB AA AA 5 2 2 3 4", "5"),
    "function 9, the same again": _dihedral(f"{_BLOCK.splitlines()[0]}\n" * 2, "9"),
    "function 9, the same elsewhere": _dihedral(
        "AA AA BB BB 9 0 1 1\nAA AA AA BB 9 0 7 1\nAA AA BB BB 9 0 1 1", "9"
    ),
    "maps": _map(_MAP + torsion_map("AA AA BB BB AA", 2)),
    # Of GROMOS, Martini and polymers.
    "quartic bond": topology(
        "[ bondtypes ]\nAA BB 2 0.2 1e6", bonds="1 2 5\n2 3 2\n3 4 5", atom_types=SIGMA
    ),
    "FENE bond": topology(
        "[ bondtypes ]\nBB AA 7 0.3 1000", bonds="1 2 5\n2 3 7\n3 4 5", atom_types=SIGMA
    ),
    "angles by cosines": topology(
        "[ angletypes ]\nAA AA BB 2 120 300", "[ angles ]\n1 2 3 2\n1 3 4 2 100 50"
    ),
    "restricted angles": topology(
        "[ angletypes ]\nBB AA AA 10 120 300", "[ angles ]\n1 2 3 10\n1 3 4 10 100 50"
    ),
    "bending and torsion": topology(terms="[ dihedrals ]\n1 2 3 4 11 2 1 -2 3 4 5"),
    # Function types 1 and 9 share one list; 5 knows no wild cards; two names.
    "9 of 1": _dihedral("AA AA BB BB 1 0 1 1", "9"),
    "1 of 9": _dihedral(_BLOCK, "1"),
    "1 and 9": _dihedral("AA AA BB BB 1 0 1 1\nAA AA BB BB 9 0 1 2", "9"),
    "1 after 9": _dihedral(f"{_BLOCK}\nAA AA BB BB 1 0 5 3", "9"),
    "9 in a row": _dihedral(f"{_BLOCK}\nX AA BB X 9 0 9 3", "9"),
    "fewest wild cards, first": _dihedral("X AA BB X 1 0 1 1\nAA X X BB 1 0 5 1", "1"),
    "fewest wild cards, last": _dihedral("X AA BB X 1 0 1 1\nAA AA X BB 1 0 5 1", "1"),
    "middle names": _dihedral("AA BB 1 0 3 1", "1"),
    "middle names, improper": _dihedral("AA BB 4 0 3 1", "4"),
    "outer names": _dihedral("AA BB 2 0 3", "2", "AA BB AA BB"),
    # Values.
    "multiplicity 0": topology(terms=f"{_PERIODIC}30 2 0"),
    "multiplicity -2": topology(terms=f"{_PERIODIC}30 2 -2"),
    "multiplicity -3 of impropers": topology(terms="[ dihedrals ]\n1 2 3 4 4 30 2 -3"),
    "multiplicity 2.004": topology(terms=f"{_PERIODIC}30 2 2.004"),
    "negative force constant": topology(terms=f"{_PERIODIC}30 -2 2"),
    "C6 = 0": _pair(pair="1 4 1 0 1e-6", rule=1),
    "C12 = 0": _pair(pair="1 4 1 1e-3 0", rule=1),
    "C6 = 0 by types": _pair("[ pairtypes ]\nAA BB 1 0 1e-6", rule=1),
    "C6 = 0 of ordinary pairs": _nonbonded("[ nonbond_params ]\nAA BB 1 0 1e-6", C6, 1),
    "sigma < 0": _pair(pair="1 4 1 -0.2 0.5"),
    "sigma < 0, function 2": _pair(pair="1 4 2 0.7 0.4 -0.6 -0.2 0.5"),
    "sigma < 0 by types": _pair("[ pairtypes ]\nBB AA 1 -0.2 0.5"),
    "sigma < 0 of ordinary pairs": _nonbonded("[ nonbond_params ]\nBB AA 1 -0.2 0.5"),
    "sigma < 0 combined": _nonbonded(atom_types=SIGMA.replace("0.2 ", "-0.2 ")),
    "sigma < 0 combined by rule 3": _nonbonded("", SIGMA.replace("0.2 ", "-0.2 "), 3),
    "sigma < 0 generated": topology(
        terms="[ pairs ]\n1 4 1",
        atom_types=SIGMA.replace("0.2 ", "-0.2 "),
        defaults="1 2 yes 0.5 0.5",
    ),
    "epsilon < 0 of all": _nonbonded(
        atom_types=SIGMA.replace(" 0.5", " -0.5").replace(" 0.7", " -0.7")
    ),
    "generated of nonbond_params": _pair("[ nonbond_params ]\nAA BB 1 0.3 0.9", generates="yes"),
    "generated of C6 and C12": _pair(
        "[ nonbond_params ]\nAA BB 1 5e-3 4e-6", generates="y", rule=1
    ),
    "pairtypes of function 2": _pair("[ pairtypes ]\nBB AA 2 0.2 0.5"),
    "a pair twice": _pair(pair="1 4 1\n1 4 1", generates="yes"),
    "a bond twice": topology(bonds="1 2 1 0.1 1000\n1 2 1 0.1 1000"),
    "no repulsion by names": topology(
        terms="[ pairs ]\n1 4 1 1e-3 1e-6", defaults="LJ Geometric", atom_types=C6
    ),
    "words after an atom type": topology(
        "[ pairtypes ]\nAA BB 1 0.2 1.0",
        "[ pairs ]\n1 4",
        atom_types=SIGMA.replace("\n", " 1 2 3\n"),
    ),
    # What may be left out, and second states that are the same.
    "no function types": topology(
        "[ bondtypes ]\nAA AA 1 0.2 1000\n[ angletypes ]\nAA AA BB 1 100 200\n"
        "[ dihedraltypes ]\nX AA BB X 1 0 1 1",
        "[ angles ]\n1 2 3\n[ dihedrals ]\n1 2 3 4",
        bonds="1 2\n2 3 5\n3 4 5",
    ),
    "second states": topology(
        "[ bondtypes ]\nAA AA 1 0.2 900 0.2 900",
        "[ dihedral_restraints ]\n1 2 3 4 1 30 5 10 30 5 10\n[ pairs ]\n1 4 1 0.2 0.5 0.2 0.5",
        bonds="1 2 1\n2 3 5\n3 4 5",
        atoms={1: "1 AA 1 M A 1 0.0 12.011 AA", 2: "2 AA 1 M B 1 0.0 12.011 AA 0.0 12.011"},
    ),
    "restraints by types": topology("[ bondtypes ]\nAA AA 10 0.05 0.1 0.12 100", bonds="1 2 10"),
    "sections in other spellings": topology(terms="[ Dihedral-Restraints ]\n1 2 3 4 1 30 5 10"),
    "molecules in capitals": topology(
        terms=f"{_PERIODIC}0 1 1", molecule="Mol 3", molecules="MOL 1"
    ),
    "map without a function": _map(_MAP, "1 2 3 4 5"),
    # Exclusions.
    "harmonic potential": topology(bonds="1 2 5\n2 3 5\n3 4 6 0.1 1000", atom_types=SIGMA),
    "restraint": topology(bonds="1 2 5\n2 3 5\n3 4 10 0.1 0.2 0.3 10", atom_types=SIGMA),
    "constraint": topology(
        terms="[ constraints ]\n3 4 1 0.15", bonds="1 2 5\n2 3 5", atom_types=SIGMA
    ),
    "constraint 2": topology(
        terms="[ constraints ]\n3 4 2 0.15", bonds="1 2 5\n2 3 5", atom_types=SIGMA
    ),
    "settles": topology(
        terms="[ settles ]\n1 1 0.15 0.2", bonds="3 4 5", atom_types=SIGMA, atoms=_FOUR
    ),
    "exclusions": topology(
        terms="[ exclusions ]\n1 1 4 4", molecule="M 2", atom_types=SIGMA, atoms=_FOUR
    ),
    "no exclusions": topology(molecule="M 0", atom_types=SIGMA, atoms=_FOUR),
    # Macros.
    "macro": _macro("#define kk 0 1 1\n", f"{_PERIODIC}kk"),
    "macro with a comment": _macro("#define kk 0 1 1 ; c\n", f"{_PERIODIC}kk"),
    "macro within a word": _macro("#define ZZ 9\n", f"{_PERIODIC}0 1.ZZ 1"),
    "macro of a later macro": _macro("#define aa bb 1 1\n#define bb 0\n", f"{_PERIODIC}aa"),
    "macro that keeps its place": _macro(
        "#define aa 5\n#define bb 0\n#define aa bb 1 1\n", f"{_PERIODIC}aa"
    ),
    "a comment that goes on": _macro("", f"{_PERIODIC}0 1 1 ; c \\\n1 2 3 4 1 0 1 2"),
    "a condition that is not met": _macro(
        "", f"#ifdef ZZ ; c\n#error\n#else ; c\n{_PERIODIC}0 1 1\n#endif ; c"
    ),
    # Virtual sites.
    "site 1": _site("virtual_sites1", "6 2 1"),
    "site 2": _site("virtual_sites2", "6 1 2 1 0.3"),
    "site 2fd": _site("virtual_sites2", "6 1 2 2 0.05"),
    "site 3": _site("virtual_sites3", "6 1 2 3 1 0.3 0.4"),
    "site 3fd": _site("virtual_sites3", "6 1 2 3 2 0.3 0.1"),
    "site 3fad": _site("virtual_sites3", "6 1 2 3 3 110 0.1"),
    "site 3out": _site("dummies3", "6 1 2 3 4 0.3 0.2 3"),
    "site 4fdn": _site("virtual_sites4", "6 1 2 3 4 2 0.3 0.2 0.1"),
    "site n": _site("virtual_sitesn", "6 1 1 2 3"),
    "site n, of mass": _site("virtual_sitesn", "6 2 1 2 3", 20.0),
    "site n, weights": _site("virtual_sitesn", "6 3 1 0.3 2 0 3 0.2"),
    "site of sites": topology(
        "",
        "[ virtual_sites3 ]\n6 5 4 1 1 0.3 0.2\n[ virtual_sitesn ]\n5 1 2 3\n"
        "[ exclusions ]\n5 1 2 3 4 6\n6 1 2 3 4",
        atom_types=WITH_SITE,
        kinds="AA AA AA AA VV VV",
        molecule="M 5",
        molecules="M 2",
        atoms={
            1: "1 AA 1 M A 1 0.5 12.011",
            5: "5 VV 1 M E 1 0.2 0.0",
            6: "6 VV 1 M F 1 -0.7 0.0",
        },
    ),
}

# kJ/mol, by gmx_d 2022.5 (mdrun -nsteps 0, PME); test_gromacs_programs.py repeats them.
ENERGIES = {
    "bonds": 2.5,
    "bonds, reversed": 2.5,
    "bonds, two functions": 1.25,
    "angles, reversed": 3.0461742,
    "Urey-Bradley": 3.61976733,
    "pairs, reversed": -0.765199567,
    "generated pairs": -0.765199567,
    "atom types": -0.391221841,
    "bonded types": 0.719631201,
    "nonbonded": 10657.4304,
    "function 1": 0.719631201,
    "function 1, apart": 0.719631201,
    "function 2": 30.3434043,
    "function 3": 2,
    "function 4": 2.36065574,
    "function 5": 8.21667677,
    "function 9, the same again": 0.3598156,
    "function 9, the same elsewhere": 0.3598156,
    "maps": -1.72767495,
    "9 of 1": 0.3598156,
    "1 of 9": 1.17948773,
    "1 and 9": 1.17948773,
    "1 after 9": 18.7107058,
    "9 in a row": 1.17948773,
    "fewest wild cards, first": 0.3598156,
    "fewest wild cards, last": 1.799078,
    "middle names": 1.0794468,
    "middle names, improper": 1.0794468,
    "outer names": 7.69897056,
    "multiplicity 0": 3.73205081,
    "multiplicity -2": 2.67126953,
    "multiplicity -3 of impropers": 3.01758063,
    "multiplicity 2.004": 0.704056412,
    "negative force constant": -0.704056412,
    "C6 = 0": 1.03676826,
    "C12 = 0": -1.01821818,
    "C6 = 0 by types": 1.03676826,
    "C6 = 0 of ordinary pairs": 22001.2581,
    "sigma < 0": 0.00849320559,
    "sigma < 0, function 2": -74.0251609,
    "sigma < 0 by types": 0.00849320559,
    "sigma < 0 of ordinary pairs": 808.705111,
    "sigma < 0 combined": 1059.41959,
    "sigma < 0 combined by rule 3": 1036.75029,
    "sigma < 0 generated": 0.0206507547,
    "epsilon < 0 of all": 1025.80617,
    "generated of nonbond_params": -0.344339805,
    "generated of C6 and C12": -0.472008927,
    "pairtypes of function 2": -0.121838721,
    "a pair twice": -0.271328,
    "a bond twice": 2.5,
    "no repulsion by names": 0.0185500812,
    "words after an atom type": -0.243677443,
    "no function types": 4.6559898,
    "second states": 14.6928148,
    "restraints by types": 0.08,
    "sections in other spellings": 13.6896535,
    "molecules in capitals": 0.3598156,
    "map without a function": -1.72767495,
    "harmonic potential": 745.876888,
    "restraint": 744.297388,
    "constraint": 0,
    "constraint 2": 744.297388,
    "settles": 250.522521,
    "exclusions": -0.0219055262,
    "no exclusions": 994.324259,
    "macro": 0.3598156,
    "macro with a comment": 0.3598156,
    "macro within a word": 0.683649641,
    "macro of a later macro": 0.3598156,
    "macro that keeps its place": 0.3598156,
    "a comment that goes on": 0.3598156,
    "a condition that is not met": 0.3598156,
    "site 1": 0.759296359,
    "site 2": 0.0151397973,
    "site 2fd": 0.0318904653,
    "site 3": -0.959171918,
    "site 3fd": -0.251434073,
    "site 3fad": 0.0261052626,
    "site 3out": -1.5236094,
    "site 4fdn": -2.05183407,
    "site n": -0.708464698,
    "site n, of mass": -0.493015117,
    "site n, weights": -0.774256497,
    "site of sites": -3.97149932,
    "quartic bond": 76.5625,
    "FENE bond": 12.9456933,
    "angles by cosines": 39.4464512,
    "restricted angles": 39.9481139,
    "bending and torsion": 6.60044475,
}
