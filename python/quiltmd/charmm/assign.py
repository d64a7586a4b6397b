# SPDX-License-Identifier: Apache-2.0
"""From the atom types of a PSF to a System: each term is given the parameters of its types.

There are millions of terms but few kinds of them, so a term is looked up once for each kind: the
types of its atoms.  Pairs joined by one or two bonds are excluded, pairs joined by three interact
by the parameters of 1-4 pairs (NBXMOD 5), whatever angles and torsions the file lists.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from ..description.parameters import HIGHEST_PERIODICITY
from ..description.sites import Site, site_fields
from ..description.system import System
from ..description.terms import TermTable
from ..errors import InputError
from ..reading.bond_paths import adjacency, merged, pair_keys, pairs_of, reached, within
from .lone_pairs import sites_of
from .parameters import Parameters, Types
from .psf import PsfFile

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
_Fields = dict[str, Any]


def assemble(psf: PsfFile, parameters: Parameters) -> System:
    """The System of a PSF and its parameters, nothing constrained.

    Raises
    ------
    InputError
        Names the atoms and types of a term that has no parameters, and what is not supported.
    """
    kinds = _Kinds(psf, parameters)
    sites = sites_of(psf)
    bonds, bond_parameters = kinds.table("NBOND", "bond", kinds.bond, _without(sites))
    angles, angle_values = kinds.table("NTHETA", "angle", kinds.angle)
    torsions = _torsions(kinds)
    impropers, improper_values = kinds.table("NIMPHI", "improper", parameters.improper_of)
    periodic = improper_values[:, 0] > 0
    exclusions, pairs14 = _neighbours(psf, bonds, sites)
    bent = angle_values[:, 3] != 0
    fields: _Fields = {
        **site_fields(sites),
        "torsions": np.concatenate([torsions[0], impropers[periodic]]),
        "torsion_parameters": np.concatenate([torsions[1], improper_values[periodic]]),
        **_pairs(kinds, pairs14),
        **_maps(kinds),
    }
    _refuse_periodicities(psf, fields)
    return System(
        masses=psf.masses,
        charges=psf.charges,
        terms=TermTable.of(
            {
                "bond": (bonds, bond_parameters),
                "angle": (angles, angle_values[:, :2]),
                "urey_bradley": (angles[bent][:, [0, 2]], angle_values[bent, 2:]),
                "improper": (impropers[~periodic], improper_values[~periodic, 1:]),
            }
        ),
        exclusions=exclusions,
        constraints=np.empty((0, 2), dtype=np.int32),
        constraint_lengths=np.empty(0),
        topology=psf.topology,
        **fields,
    )


class _Kinds:
    """Atom types by number, and parameters by these numbers."""

    def __init__(self, psf: PsfFile, parameters: Parameters) -> None:
        self.psf, self.parameters = psf, parameters
        names, self.of_atom = [name.upper() for name in psf.type_names], psf.type_of_atom
        by_number = all(name.isdecimal() for name in names)
        missing = [name for name in names if by_number and name not in parameters.names]
        if missing:
            raise InputError(
                f"atom types are numbers, and no MASS statement says which is {missing[0]}: name "
                "the topology file (rtf) among the parameters, or write the PSF in X-PLOR form",
                file=psf.file,
            )
        self.names = [parameters.names[name] if by_number else name for name in names]

    def bond(self, types: Types) -> tuple[float, ...] | None:
        return self.parameters.bonds.get(min(types, types[::-1]))

    def angle(self, types: Types) -> tuple[float, ...] | None:
        return self.parameters.angles.get(min(types, types[::-1]))

    def table(
        self,
        section: str,
        noun: str,
        look_up: Callable[[Types], Sequence[float] | None],
        chosen: Callable[[I32], I32] = lambda terms: terms,
    ) -> tuple[I32, F64]:
        """Terms of a section of the PSF (n, atoms), those chosen, and the parameters of each."""
        terms = chosen(self.psf.terms(section))
        found, inverse = self.looked_up(terms, noun, look_up)
        width = len(found[0]) if found else {"bond": 2, "angle": 4, "improper": 3}[noun]
        return terms, np.array(found, dtype=np.float64).reshape(-1, width)[inverse]

    def looked_up(
        self, terms: I32, noun: str, look_up: Callable[[Types], Any]
    ) -> tuple[list[Any], I64]:
        """The parameters of each kind of term, and the kind of each term."""
        key = np.zeros(len(terms), dtype=np.int64)
        folded = 0  # types in the key; more than four would not fit into 64 bits
        for column in self.of_atom[terms].T:
            if folded == 4:
                key = np.unique(key, return_inverse=True)[1].reshape(-1).astype(np.int64)
                folded = 1
            key = key * len(self.names) + column
            folded += 1
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        return [self._one(terms[row], noun, look_up) for row in first], inverse.reshape(-1)

    def _one(self, term: I32, noun: str, look_up: Callable[[Types], Any]) -> Any:
        types = tuple(self.names[self.of_atom[atom]] for atom in term)
        found = look_up(types)
        if found is None:
            topology = self.psf.topology
            atoms = ", ".join(topology.describe(int(atom)) for atom in term)
            files = ", ".join(self.parameters.files)
            raise InputError(
                f"no parameters for the {noun} of types {'-'.join(types)} ({atoms}) in {files}",
                file=self.psf.file,
            )
        return found


def _without(sites: list[Site]) -> Callable[[I32], I32]:
    """Terms without those of lone pairs, which are bonded to atoms in the PSF alone."""
    atoms = [site.atom for site in sites]
    return lambda terms: terms[~np.isin(terms, atoms).any(axis=1)] if atoms else terms


def _torsions(kinds: _Kinds) -> tuple[I32, F64]:
    """Torsions, each once however often the PSF lists it, with a row for each of their terms.

    X-PLOR lists a torsion once for each of its terms; where it is listed less often than it has
    terms, the first ones count, as in NAMD.
    """
    listed = kinds.psf.terms("NPHI")
    turned = listed[:, 0] > listed[:, 3]
    listed = np.where(turned[:, None], listed[:, ::-1], listed)
    order = np.lexsort(listed.T[::-1])
    new = np.ones(len(listed), dtype=bool)
    new[1:] = (np.diff(listed[order], axis=0) != 0).any(axis=1)
    terms = listed[order][new]
    times = np.diff(np.flatnonzero(new), append=len(listed))
    found, kind = kinds.looked_up(terms, "torsion", kinds.parameters.torsion_of)
    rows = [[(n, *values) for n, values in one.items()] for one in found]
    counts = np.array([len(one) for one in rows], dtype=np.int64)[kind]
    if kinds.parameters.counted:
        counts = np.minimum(counts, times)
    starts = np.cumsum([0, *(len(one) for one in rows)])[:-1][kind] if rows else kind
    table = np.array([row for one in rows for row in one], dtype=np.float64).reshape(-1, 3)
    number = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    chosen = table[np.repeat(starts, counts) + number]
    strong = chosen[:, 2] != 0
    return np.repeat(terms, counts, axis=0)[strong].astype(np.int32), chosen[strong]


def _refuse_periodicities(psf: PsfFile, fields: _Fields) -> None:
    periodicity = fields["torsion_parameters"][:, 0]
    wrong = (periodicity < 1) | (periodicity > HIGHEST_PERIODICITY)
    if wrong.any():
        row = int(np.argmax(wrong))
        atoms = ", ".join(psf.topology.describe(int(atom)) for atom in fields["torsions"][row])
        raise InputError(
            f"the torsion of {atoms} has the periodicity {periodicity[row]:g}; harmonic torsions "
            "are supported as impropers alone",
            file=psf.file,
        )


def _maps(kinds: _Kinds) -> _Fields:
    """Torsion maps; a PSF lists both torsions of each, which share three atoms."""
    terms = kinds.psf.terms("NCRTERM")
    if len(terms) == 0:
        return {}
    apart = (terms[:, 1:4] != terms[:, 4:7]).any(axis=1)
    if apart.any():
        atom = kinds.psf.topology.describe(int(terms[np.argmax(apart), 0]))
        message = f"the torsion map at {atom} is not of five consecutive atoms: not supported"
        raise InputError(message, file=kinds.psf.file)
    found, kind = kinds.looked_up(terms, "torsion map", kinds.parameters.maps.get)
    sizes = {len(one) for one in found}
    if len(sizes) > 1 or min(sizes) < 4 or min(sizes) % 2:
        message = f"torsion maps of {sorted(sizes)} energies a side: all must have one even number"
        raise InputError(message, file=kinds.psf.file)
    half = min(sizes) // 2
    return {
        "cmaps": terms[:, [0, 1, 2, 3, 7]],
        "cmap_parameters": kind[:, None].astype(np.float64),
        "cmap_maps": np.roll(np.array(found), (half, half), axis=(1, 2)),
    }


def _neighbours(psf: PsfFile, bonds: I32, sites: list[Site]) -> tuple[I32, I32]:
    """Excluded pairs (1-4 pairs and those that the file lists among them), and 1-4 pairs.

    A lone pair is excluded from what its first host is, and from that, but has no 1-4 pairs.
    """
    atoms = psf.atoms
    bonded = adjacency(atoms, bonds)
    second = reached(bonded @ bonded)
    listed = np.sort(psf.exclusions, axis=1)
    joined = (
        bonded + second + scipy.sparse.identity(atoms, dtype=np.int8, format="csr")
        if sites
        else None
    )
    of_sites = [] if joined is None else [pair_keys(_as_their_hosts(joined, sites))]
    of_file = listed[:, 0] * atoms + listed[:, 1]
    near = merged(pair_keys(bonded), pair_keys(second), *of_sites, of_file)
    third = pair_keys(reached(second @ bonded))
    third = third[~within(third, near)]
    return pairs_of(merged(near, third), atoms), pairs_of(third, atoms)


def _as_their_hosts(joined: scipy.sparse.csr_matrix, sites: list[Site]) -> scipy.sparse.csr_matrix:
    """Which atoms are joined where lone pairs count as their first hosts."""
    host = np.arange(joined.shape[0])
    host[[site.atom for site in sites]] = [site.parents[0] for site in sites]
    return reached(joined[host][:, host])


def _pairs(kinds: _Kinds, pairs14: I32) -> _Fields:
    """Lennard-Jones tables, and 1-4 pairs with their parameters."""
    table, table14 = _lennard_jones(kinds)
    epsilon, distance = table
    lj_a = epsilon * distance**12
    first, second = kinds.of_atom[pairs14].T
    charges = kinds.psf.charges
    return {
        "lj_types": kinds.of_atom.astype(np.int32),
        "lj_a": lj_a,
        "lj_b": 2 * epsilon * distance**6,
        "pairs14": pairs14,
        "pair14_parameters": np.column_stack(
            [
                kinds.parameters.scale14 * charges[pairs14[:, 0]] * charges[pairs14[:, 1]],
                table14[1][first, second] / 2 ** (1 / 6),
                table14[0][first, second],
            ]
        ),
    }


def _lennard_jones(kinds: _Kinds) -> tuple[F64, F64]:
    """Epsilon and distance of the minimum by pair of types, (2, T, T): of pairs, of 1-4 pairs."""
    given, names = kinds.parameters, kinds.names
    types = given.lennard_jones.items()
    found = {k: row for name, row in types for k in given.matching(name, names)}
    for number in range(len(names)):
        if number not in found:
            atom = int(np.argmax(kinds.of_atom == number))
            kinds._one(
                np.array([atom], dtype=np.int32), "Lennard-Jones interaction", lambda _: None
            )
    values = np.array([found[number] for number in range(len(names))], dtype=np.float64)
    both = []
    for offset in (0, 2):
        epsilon, half = values[:, offset], values[:, offset + 1]
        table = np.array([np.sqrt(epsilon[:, None] * epsilon[None]), half[:, None] + half[None]])
        for pair, parameters in given.pairs.items():
            first, second = (given.matching(name, names) for name in pair)
            for i, j in itertools.product(first, second):
                table[:, i, j] = table[:, j, i] = parameters[offset : offset + 2]
        both.append(table)
    return both[0], both[1]
