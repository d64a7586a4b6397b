# SPDX-License-Identifier: Apache-2.0
"""System of an Amber topology file (prmtop, parm7; also the layout before Amber 7).

Lennard-Jones coefficients are kept as the file's table of pairs, so modified
pairs (NBFIX) survive. Files with CHARMM's force field (CHAMBER) have a second
table for 1-4 pairs.

Electrostatics. The file has charges multiplied by 18.2223, the square root of
Amber's Coulomb constant, 332.0522173 kcal A/mol/e^2. Divided by it they are
in e, and the program's constant is CODATA's, 138.935458 kJ nm/mol/e^2, that is
332.0637133 kcal A/mol/e^2. Electrostatic energies are thus 1.0000346 times
those that Amber prints from the same file, as OpenMM's are. This holds for files
of CHAMBER too, whose charges are those of CHARMM times 18.22283; as in OpenMM they
are divided by 18.2223, and are thus 1.000029 times CHARMM's.

Source of the format: ambermd.org/prmtop.pdf ("Amber file formats").
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..description.elements import elements_of
from ..description.parameters import HIGHEST_PERIODICITY
from ..description.sigma_epsilon import sigma_epsilon
from ..description.system import System
from ..description.topology import Topology
from ..reading.units import ANGSTROM, KCAL
from .bonded import further_terms
from .extra_points import place_extra_points
from .prmtop_file import PrmtopFile
from .unsupported import refuse_unsupported

AMBER_CHARGE = 18.2223  # Amber's charge unit: sqrt(kcal A/mol) per e
DEFAULT_SCEE, DEFAULT_SCNB = 1.2, 2.0  # where a file predates scale factors per torsion
LENNARD_JONES, LENNARD_JONES_14 = "LENNARD_JONES", "LENNARD_JONES_14"

_Fields = dict[str, Any]


def system_from_prmtop(prmtop: PrmtopFile) -> System:
    """The System of an Amber topology, every bond a term and nothing constrained.

    Torsions whose force constant is zero are left out; extra points of water are virtual sites. For
    constraints see `constrain`.

    Raises
    ------
    InputError
        With file, line and section: truncated or inconsistent files, and terms
        that are not supported.
    """
    refuse_unsupported(prmtop)
    masses = prmtop.reals("MASS", prmtop.counts["NATOM"])
    bonds = _harmonic(prmtop, "bond", 2, KCAL / ANGSTROM**2, ANGSTROM)
    topology = _topology(prmtop, masses, bonds["bonds"])
    _refuse_negative(prmtop, masses, topology)
    lennard_jones = _lennard_jones(prmtop, LENNARD_JONES)
    torsions = _torsions(prmtop)
    charges = prmtop.reals("CHARGE", prmtop.counts["NATOM"]) / AMBER_CHARGE
    pairs = _pairs14(prmtop, torsions, charges)
    strong = torsions["torsion_parameters"][:, 2] != 0
    fields: _Fields = {
        "masses": masses,
        "charges": charges,
        **lennard_jones,
        **bonds,
        **_harmonic(prmtop, "angle", 3, KCAL, 1.0),
        "torsions": torsions["torsions"][strong],
        "torsion_parameters": torsions["torsion_parameters"][strong],
        **pairs,
    }
    return System(
        **place_extra_points(prmtop, masses, topology, fields),
        **further_terms(prmtop),
        exclusions=_exclusions(prmtop, pairs["pairs14"]),
        born_radii=_of_atoms(prmtop, "RADII") * ANGSTROM,
        born_screening=_of_atoms(prmtop, "SCREEN"),
        constraints=np.empty((0, 2), dtype=np.int32),
        constraint_lengths=np.empty(0),
        topology=topology,
    )


def _of_atoms(prmtop: PrmtopFile, name: str) -> npt.NDArray[np.float64]:
    """A number for each atom; none where the file lacks the section."""
    if name not in prmtop.sections:
        return np.empty(0)
    return prmtop.reals(name, prmtop.counts["NATOM"])


def _refuse_negative(
    prmtop: PrmtopFile, masses: npt.NDArray[np.float64], topology: Topology
) -> None:
    if (masses < 0).any():
        atom = int(np.argmax(masses < 0))
        raise prmtop.error("MASS", atom, f"{topology.describe(atom)} has mass {masses[atom]:g}")


def _topology(
    prmtop: PrmtopFile, masses: npt.NDArray[np.float64], bonds: npt.NDArray[np.int32]
) -> Topology:
    atoms, residues = prmtop.counts["NATOM"], prmtop.counts["NRES"]
    names = prmtop.texts("ATOM_NAME", atoms)
    starts = prmtop.integers("RESIDUE_POINTER", residues) - 1
    if residues < 1 or starts[0] != 0 or (np.diff(starts) <= 0).any() or starts[-1] >= atoms:
        raise prmtop.error("RESIDUE_POINTER", 0, "residues do not follow one another")
    given = "ATOMIC_NUMBER" in prmtop.sections
    numbers = prmtop.integers("ATOMIC_NUMBER", atoms) if given else None
    return Topology(
        atom_names=names,
        elements=elements_of(masses, names, bonds, numbers),
        residue_of_atom=np.repeat(
            np.arange(residues, dtype=np.int32), np.diff(starts, append=atoms)
        ),
        residue_names=prmtop.texts("RESIDUE_LABEL", residues),
        residue_ids=np.arange(1, residues + 1, dtype=np.int32),
        chain_ids=np.full(residues, ""),
    )


def _lennard_jones(prmtop: PrmtopFile, section: str) -> _Fields:
    """Types and (T, T) tables; a negative index means a 10-12 pair with zero coefficients."""
    types = prmtop.counts["NTYPES"]
    pairs = types * (types + 1) // 2
    index = _in_range(prmtop, "NONBONDED_PARM_INDEX", types**2, -prmtop.counts["NPHB"], pairs)
    of_atom = _in_range(prmtop, "ATOM_TYPE_INDEX", prmtop.counts["NATOM"], 1, types)
    fields: _Fields = {"lj_types": (of_atom - 1).astype(np.int32)}
    for field, name, power in (
        ("lj_a", f"{section}_ACOEF", 12),
        ("lj_b", f"{section}_BCOEF", 6),
    ):
        values = prmtop.reals(name, pairs) * (KCAL * ANGSTROM**power)
        table = np.where(index > 0, values[np.maximum(index, 1) - 1], 0.0).reshape(types, types)
        if (table != table.T).any():
            first = int(np.argmax((table != table.T).ravel()))
            raise prmtop.error("NONBONDED_PARM_INDEX", first, "the table is not symmetric")
        fields[field] = table
    return fields


def _harmonic(prmtop: PrmtopFile, kind: str, arity: int, k_unit: float, unit: float) -> _Fields:
    """Bonds or angles. Amber's energy is k x^2, ours k/2 x^2."""
    upper = kind.upper()
    counts = {"bond": ("NBONH", "NBONA", "NUMBND"), "angle": ("NTHETH", "NTHETA", "NUMANG")}[kind]
    rest = prmtop.counts[counts[2]]
    terms, kinds, _ = _terms(prmtop, f"{upper}S", counts, arity)
    k = 2.0 * k_unit * prmtop.reals(f"{upper}_FORCE_CONSTANT", rest)
    x0 = unit * prmtop.reals(f"{upper}_EQUIL_VALUE", rest)
    return {
        f"{kind}s": terms.astype(np.int32),
        f"{kind}_parameters": np.column_stack([x0[kinds], k[kinds]]),
    }


def _torsions(prmtop: PrmtopFile) -> _Fields:
    """Torsions, their parameters, and the torsion type of those that end in a 1-4 pair.

    If the third atom is negative, the ends are not a 1-4 pair (a ring, or a further
    term of the same torsion); if the fourth is, the torsion is an improper.
    """
    count = prmtop.counts["NPTRA"]
    terms, kinds, signs = _terms(prmtop, "DIHEDRALS", ("NPHIH", "NPHIA", "NPTRA"), 4)
    periodicity = np.abs(prmtop.reals("DIHEDRAL_PERIODICITY", count))
    phase = prmtop.reals("DIHEDRAL_PHASE", count)
    k = KCAL * prmtop.reals("DIHEDRAL_FORCE_CONSTANT", count)
    wrong = (k != 0) & ~np.isin(periodicity, np.arange(1, HIGHEST_PERIODICITY + 1))
    if wrong.any():
        index = int(np.argmax(wrong))
        message = f"{periodicity[index]:g} is not a whole number from 1 to {HIGHEST_PERIODICITY}"
        raise prmtop.error("DIHEDRAL_PERIODICITY", index, message)
    return {
        "torsions": terms.astype(np.int32),
        "torsion_parameters": np.column_stack([periodicity[kinds], phase[kinds], k[kinds]]),
        "kinds": kinds,
        "ends14": (signs[:, 2] > 0) & (signs[:, 3] > 0),
    }


def _pairs14(prmtop: PrmtopFile, torsions: _Fields, charges: npt.NDArray[np.float64]) -> _Fields:
    """1-4 pairs, each once, with interactions divided by their torsion's scale factors."""
    section = LENNARD_JONES_14 if prmtop.chamber else LENNARD_JONES
    lj = _lennard_jones(prmtop, section)
    chosen = torsions["ends14"]
    ends = np.sort(torsions["torsions"][chosen][:, [0, 3]], axis=1)
    ends, first = np.unique(ends, axis=0, return_index=True)
    kinds = torsions["kinds"][chosen][first]
    types = lj["lj_types"][ends]
    a, b = lj["lj_a"][types[:, 0], types[:, 1]], lj["lj_b"][types[:, 0], types[:, 1]]
    for name, values in (("ACOEF", a), ("BCOEF", b)):
        if (values < 0).any():
            i, j = ends[np.argmax(values < 0)] + 1
            message = f"the coefficient of the 1-4 pair {i}-{j} is negative"
            raise prmtop.error(f"{section}_{name}", 0, message)
    sigma, epsilon = sigma_epsilon(a, b)
    defaults = (1.0, 1.0) if prmtop.chamber else (DEFAULT_SCEE, DEFAULT_SCNB)
    scee = _one_over(prmtop, "SCEE_SCALE_FACTOR", defaults[0])[kinds]
    scnb = _one_over(prmtop, "SCNB_SCALE_FACTOR", defaults[1])[kinds]
    products = charges[ends[:, 0]] * charges[ends[:, 1]]
    return {
        "pairs14": ends.astype(np.int32),
        "pair14_parameters": np.column_stack([products * scee, sigma, epsilon * scnb]),
    }


def _one_over(prmtop: PrmtopFile, name: str, default: float) -> npt.NDArray[np.float64]:
    """1/scale factor of each torsion type; a factor of 0 means no interaction, as in Amber."""
    count = prmtop.counts["NPTRA"]
    scale = prmtop.reals(name, count) if name in prmtop.sections else np.full(count, default)
    return np.divide(1.0, scale, out=np.zeros(count), where=scale != 0)


def _exclusions(prmtop: PrmtopFile, pairs14: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """(n, 2) sorted pairs. Amber lists them by lower atom; a 0 stands for "none"."""
    atoms, total = prmtop.counts["NATOM"], prmtop.counts["NNB"]
    each = _in_range(prmtop, "NUMBER_EXCLUDED_ATOMS", atoms, 0, total)
    if each.sum() != total:
        message = f"the counts add up to {each.sum()}, not to the {total} in POINTERS"
        raise prmtop.error("NUMBER_EXCLUDED_ATOMS", 0, message)
    other = _in_range(prmtop, "EXCLUDED_ATOMS_LIST", total, 0, atoms) - 1
    pairs = np.column_stack([np.repeat(np.arange(atoms), each), other])[other >= 0]
    listed = np.concatenate([np.sort(pairs, axis=1), pairs14])
    key = np.unique(listed[:, 0].astype(np.int64) * atoms + listed[:, 1])
    return np.column_stack(np.divmod(key, atoms)).astype(np.int32)


def _terms(
    prmtop: PrmtopFile, kind: str, counts: tuple[str, str, str], arity: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Atoms (n, arity), parameter index (n,) and signed file entries of bonds, angles or torsions.

    Atoms are listed as 3 times their index, the sign carrying a meaning of its own.
    """
    tables = []
    for name, count in (
        (f"{kind}_INC_HYDROGEN", counts[0]),
        (f"{kind}_WITHOUT_HYDROGEN", counts[1]),
    ):
        rows = prmtop.counts[count]
        values = prmtop.integers(name, rows * (arity + 1)).reshape(rows, arity + 1)
        atoms = np.abs(values[:, :arity])
        bad = (atoms % 3 != 0) | (atoms >= 3 * prmtop.counts["NATOM"])
        bad[:, : min(arity, 2)] |= values[:, : min(arity, 2)] < 0
        kinds = values[:, arity]
        wrong = np.column_stack([bad, (kinds < 1) | (kinds > prmtop.counts[counts[2]])])
        if wrong.any():
            index = int(np.argmax(wrong.ravel()))
            message = f"{values.ravel()[index]} is not an atom or parameter of this file"
            raise prmtop.error(name, index, message)
        tables.append(values)
    table = np.concatenate(tables)
    return np.abs(table[:, :arity]) // 3, table[:, arity] - 1, table[:, :arity]


def _in_range(
    prmtop: PrmtopFile, name: str, count: int, low: int, high: int
) -> npt.NDArray[np.int64]:
    values = prmtop.integers(name, count)
    wrong = (values < low) | (values > high)
    if wrong.any():
        index = int(np.argmax(wrong))
        raise prmtop.error(name, index, f"{values[index]} does not lie between {low} and {high}")
    return values
