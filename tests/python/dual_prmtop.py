# SPDX-License-Identifier: Apache-2.0
"""Ethane and methanol in one Amber topology, as for thermodynamic integration, in water."""

from __future__ import annotations

from typing import Any

import numpy as np
from hybrid_molecules import ETHANE, MAPPING, METHANOL, molecule
from numpy.typing import NDArray

import quiltmd
from quiltmd.amber.prmtop_file import POINTERS
from quiltmd.description.hybrid_pairs import hybrid_types

KCAL, PER_CHARGE = 4.184, 18.2223


def section(name: str, values: Any, kind: str) -> str:
    per_line, shape = {"I": (10, "{:8d}"), "E": (5, "{:16.8E}"), "a": (20, "{:<4}")}[kind]
    form = {"I": "10I8", "E": "5E16.8", "a": "20a4"}[kind]
    words = [shape.format(value) for value in values]
    lines = ["".join(words[k : k + per_line]) for k in range(0, len(words), per_line)] or [""]
    return f"%FLAG {name}\n%FORMAT({form})\n" + "\n".join(lines) + "\n"


def dual(waters: int = 6) -> tuple[quiltmd.System, NDArray[np.float64], NDArray[np.float64]]:
    """Ethane, methanol on top of it, and water; positions; box vectors."""
    (ethane, state), (methanol, _) = molecule(ETHANE, waters), molecule(METHANOL)
    first, last = len(ETHANE), len(METHANOL)
    here = np.array(state.positions[:first])
    there = np.array([here[{v: k for k, v in MAPPING.items()}[atom]] for atom in range(last)])

    def moved(rows: Any) -> Any:
        """Atoms of the first system behind those of the second molecule."""
        return np.where(np.asarray(rows) < first, rows, np.asarray(rows) + last)

    terms = {}
    for own in ethane.terms.present():
        other = methanol.terms[own.name]
        terms[own.name] = (
            np.concatenate([moved(own.atoms), other.atoms + first]),
            np.concatenate([own.parameters, other.parameters]),
        )
    types = hybrid_types(ethane, methanol)

    def joined(one: Any, two: Any) -> Any:
        return np.concatenate([one[:first], two, one[first:]])

    system = quiltmd.System.of(
        joined(ethane.masses, methanol.masses),
        joined(ethane.charges, methanol.charges),
        joined(types.of_first, types.of_last),
        types.lj_a,
        types.lj_b,
        terms=terms,
        exclusions=np.concatenate([moved(ethane.exclusions), methanol.exclusions + first]),
        constraints=moved(ethane.constraints),
        constraint_lengths=ethane.constraint_lengths,
    )
    return system, joined(state.positions, there), np.asarray(state.box)


def prmtop(system: quiltmd.System, box: NDArray[np.float64]) -> str:
    """The topology as LEaP writes it, with rigid waters at its end."""
    first, both = len(ETHANE), len(ETHANE) + len(METHANOL)
    waters = (system.atoms - both) // 3
    names = [row[0] for row in (*ETHANE, *METHANOL)] + ["O", "H1", "H2"] * waters
    oxygens = both + 3 * np.arange(waters)
    rows = [(o, o + a, 1) for o in oxygens for a in (1, 2)] + [(o + 1, o + 2, 2) for o in oxygens]
    bonds, angles, torsions = (system.terms[name] for name in ("bond", "angle", "torsion"))
    bond_rows = [(*map(int, row), 3 + k) for k, row in enumerate(bonds.atoms)] + rows
    partners: list[list[int]] = [[] for _ in range(system.atoms)]
    for i, j in system.exclusions:
        partners[min(i, j)].append(int(max(i, j)) + 1)
    excluded = [sorted(of) or [0] for of in partners]
    types = len(system.lj_a)
    upper = [(k, m) for k in range(types) for m in range(k + 1)]
    index = {pair: n + 1 for n, pair in enumerate(upper)}
    torsion_rows = [(*map(int, row), k + 1) for k, row in enumerate(torsions.atoms)]
    counts = dict.fromkeys(POINTERS, 0) | {
        "NATOM": system.atoms,
        "NTYPES": types,
        "MBONA": len(bond_rows),
        "NBONA": len(bond_rows),
        "MTHETA": len(angles),
        "NTHETA": len(angles),
        "MPHIA": len(torsion_rows),
        "NPHIA": len(torsion_rows),
        "NNB": sum(map(len, excluded)),
        "NRES": 2 + waters,
        "NUMBND": 2 + len(bonds),
        "NUMANG": len(angles),
        "NPTRA": len(torsions),
        "NATYP": types,
        "IFBOX": 1,
        "NMXRS": first,
    }

    def listed(found: list[tuple[int, ...]]) -> list[int]:
        return [v for row in found for v in (*(3 * int(atom) for atom in row[:-1]), row[-1])]

    k_bond, k_angle = 2 * KCAL * 100, 2 * KCAL
    text = "%VERSION  VERSION_STAMP = V0001.000  DATE = 01/01/01  00:00:00\n"
    text += "%FLAG TITLE\n%FORMAT(20a4)\ndual\n"
    text += section("POINTERS", counts.values(), "I")
    text += section("ATOM_NAME", names, "a")
    text += section("CHARGE", PER_CHARGE * system.charges, "E")
    numbers = [{"C": 6, "H": 1, "O": 8}[name[0]] for name in names]
    text += section("ATOMIC_NUMBER", numbers, "I")
    text += section("MASS", system.masses, "E")
    text += section("ATOM_TYPE_INDEX", system.lj_types + 1, "I")
    text += section("NUMBER_EXCLUDED_ATOMS", [len(of) for of in excluded], "I")
    square = [index[max(k, m), min(k, m)] for k in range(types) for m in range(types)]
    text += section("NONBONDED_PARM_INDEX", square, "I")
    text += section("RESIDUE_LABEL", ["ETA", "MOH"] + ["WAT"] * waters, "a")
    text += section("RESIDUE_POINTER", [1, first + 1, *(oxygens + 1)], "I")
    lengths = [0.9572, 1.5139, *(10 * bonds.parameters[:, 0])]
    text += section("BOND_FORCE_CONSTANT", [553.0, 553.0, *bonds.parameters[:, 1] / k_bond], "E")
    text += section("BOND_EQUIL_VALUE", lengths, "E")
    text += section("ANGLE_FORCE_CONSTANT", angles.parameters[:, 1] / k_angle, "E")
    text += section("ANGLE_EQUIL_VALUE", angles.parameters[:, 0], "E")
    text += section("DIHEDRAL_FORCE_CONSTANT", torsions.parameters[:, 2] / KCAL, "E")
    text += section("DIHEDRAL_PERIODICITY", torsions.parameters[:, 0], "E")
    text += section("DIHEDRAL_PHASE", torsions.parameters[:, 1], "E")
    text += section("SCEE_SCALE_FACTOR", [2.0] * len(torsions), "E")
    text += section("SCNB_SCALE_FACTOR", [2.0] * len(torsions), "E")
    text += section("SOLTY", [0.0] * types, "E")
    for name, table, power in (("A", system.lj_a, 12), ("B", system.lj_b, 6)):
        values = [table[pair] / KCAL * 10.0**power for pair in upper]
        text += section(f"LENNARD_JONES_{name}COEF", values, "E")
    text += section("BONDS_INC_HYDROGEN", [], "I")
    text += section("BONDS_WITHOUT_HYDROGEN", listed(bond_rows), "I")
    text += section("ANGLES_INC_HYDROGEN", [], "I")
    angle_rows = [(*map(int, row), k + 1) for k, row in enumerate(angles.atoms)]
    text += section("ANGLES_WITHOUT_HYDROGEN", listed(angle_rows), "I")
    text += section("DIHEDRALS_INC_HYDROGEN", [], "I")
    text += section("DIHEDRALS_WITHOUT_HYDROGEN", listed(torsion_rows), "I")
    text += section("EXCLUDED_ATOMS_LIST", [a for of in excluded for a in of], "I")
    text += section("HBOND_ACOEF", [], "E") + section("HBOND_BCOEF", [], "E")
    text += section("AMBER_ATOM_TYPE", [f"T{k}" for k in system.lj_types], "a")
    text += section("TREE_CHAIN_CLASSIFICATION", ["BLA"] * system.atoms, "a")
    text += section("SOLVENT_POINTERS", [2, 2 + waters, 3], "I")
    text += section("ATOMS_PER_MOLECULE", [first, len(METHANOL)] + [3] * waters, "I")
    return text + section("BOX_DIMENSIONS", [90.0, *(10 * box.diagonal())], "E")


def rst7(positions: NDArray[np.float64], box: NDArray[np.float64]) -> str:
    """Coordinates."""
    numbers = 10 * positions.ravel()
    lines = ["".join(f"{v:12.7f}" for v in numbers[k : k + 6]) for k in range(0, len(numbers), 6)]
    edges = "".join(f"{10 * v:12.7f}" for v in box.diagonal()) + f"{90.0:12.7f}" * 3
    return f"dual\n{len(positions):5d}\n" + "\n".join([*lines, edges]) + "\n"
