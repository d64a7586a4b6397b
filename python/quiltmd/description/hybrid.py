# SPDX-License-Identifier: Apache-2.0
"""Makes of two Systems one that turns from the first into the second: `hybrid`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .alchemy import NO_TYPE, Alchemy, Intramolecular, warn_of_charge
from .co_ion import REMEDY, refuse_molecule, with_co_ion
from .decoupling import Atoms, chosen_atoms, with_inner_pairs
from .hybrid_mapping import HybridMap, map_atoms
from .hybrid_pairs import HybridTypes, hybrid_types
from .hybrid_terms import hybrid_terms
from .parts import refuse_other_parts
from .soft_cores import SoftCoreName, SoftCores, soft_core_named
from .state import State
from .system import System
from .topology import Topology

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]

LAMBDAS = tuple(k / 10 for k in range(11))  # of all interactions together, by default
_BEUTLER = SoftCores()
_SAME_LENGTH = 1e-6  # relative, of constraints


def hybrid(
    first: tuple[System, State],
    last: tuple[System, State],
    mapping: Mapping[Any, Any] | Sequence[Sequence[int]] | str | os.PathLike[str],
    coulomb: Sequence[float] = LAMBDAS,
    vdw: Sequence[float] = LAMBDAS,
    bonded: Sequence[float] = LAMBDAS,
    *,
    state: int = 0,
    soft_core: SoftCoreName = "beutler",
    alpha: float | None = None,
    least_sigma: float = 0.3,
    alpha_coulomb: float | None = None,
    co_ion: Atoms | None = None,
) -> tuple[System, State]:
    """Makes a system in which lambda changes one molecule into another, for relative free energies.

    The charges, Lennard-Jones parameters and bonded terms of mapped atoms change from those of the
    first molecule (lambda 0) to those of the second (lambda 1).  The other atoms of the first
    molecule vanish, and the other atoms of the second molecule appear; they keep their bonded terms
    in all states.  Mapped atoms keep the masses of the first molecule.

    Parameters
    ----------
    first:
        System and state as `load` returns them: the first molecule and its surroundings (water,
        ions, ...).
    last:
        System and state of the second molecule alone, with the same force field; its position has
        no effect.
    mapping:
        Indices, from 0, of atoms of the first system and of the corresponding atoms of the second:
        a dict, pairs, or a JSON file with either, or with an object that has such a dict as
        "componentA_to_componentB" (as OpenFE writes it).
    coulomb, vdw, bonded:
        Lambda of charges, van der Waals interactions and bonded terms in each state, from 0 (the
        first molecule) to 1 (the second).  By default 11 states in which all three are equal.
    state:
        The initial state of a simulation, counted from 0.
    soft_core, alpha, least_sigma, alpha_coulomb:
        Form and parameters of the soft cores of atoms that vanish or appear: see `Alchemy`.  By
        default charges have one as well, with the usual parameter (0.5 with "beutler").
    co_ion:
        If the molecules have different net charges: a selection (see `select`), or indices, of ions
        of the first system: ions of one atom, or all atoms of one molecule.  Their charges change
        so that the net charge of the system stays the same, by the same amount if there are
        several; a change of sign is told by a warning.  Without such ions a warning says that the
        free energy depends on the size of the box.

    Returns
    -------
    The system with its `alchemy`, and a state without velocities.  Atoms that appear come after all
    other atoms, at positions from a superposition of the mapped atoms.

    Raises
    ------
    InputError
        If the mapping names an atom that does not exist, or names it twice.  If properties differ
        that cannot change: constraints, bonds or exclusions between mapped atoms, torsion maps,
        virtual sites, or pair interactions without a combination rule.  If `co_ion` selects no
        atoms, or atoms of the molecule, or parts of others, or both molecules have the same net
        charge.
    """
    (a, place), (b, place_b) = first, last
    schedule = {"coulomb": coulomb, "vdw": vdw, "bonded": bonded}
    if len({len(column) for column in schedule.values()}) > 1:
        raise InputError("coulomb, vdw and bonded: each state has one lambda of each")
    if not 0 <= state < len(vdw):
        raise InputError(f"there is no state {state}, only 0 to {len(vdw) - 1}")
    soft = SoftCores(soft_core, alpha, least_sigma, alpha_coulomb)
    made = _made(a, SecondMolecule(b, place_b, mapping, co_ion), schedule, state, soft)
    return made.system, State.start(made.system, made.place(place.positions), place.box)


@dataclass(frozen=True)
class SecondMolecule:
    """What a system turns into: the arguments `last`, `mapping` and `co_ion` of `hybrid`."""

    system: System
    state: State
    mapping: Mapping[Any, Any] | Sequence[Sequence[int]] | str | os.PathLike[str]
    co_ion: Atoms | None = None

    def joined_to(self, system: System) -> Hybrid:
        """The system that turns into it, with the default schedule; InputError as for `hybrid`."""
        schedule = dict.fromkeys(("coulomb", "vdw", "bonded"), LAMBDAS)
        return _made(system, self, schedule, 0, SoftCores())


@dataclass(frozen=True)
class Hybrid:
    """A system that turns into another molecule, and where the atoms that appear are put."""

    system: System
    first: System
    _second: SecondMolecule
    _atoms: HybridMap

    def place(self, positions: F64) -> F64:
        """Positions (atoms of the hybrid, 3), nm, from those of the first system."""
        return _positions(positions, self._second.state.positions, self._atoms)


def _made(
    a: System,
    second: SecondMolecule,
    schedule: Mapping[str, Sequence[float]],
    state: int,
    soft: SoftCores,
) -> Hybrid:
    b = second.system
    for system in (a, b):
        refuse_other_parts(system, "made into a hybrid")
    atoms = map_atoms(a, b, read_mapping(second.mapping))
    made = merged(a, b, atoms, hybrid_types(a, b), "scale", schedule, state, soft)
    if second.co_ion is not None:
        ions = chosen_atoms(a, second.co_ion, "co_ion", "ions")
        refuse_molecule(a, ions, np.flatnonzero(atoms.is_mapped | atoms.is_unique))
        made = with_co_ion(made, ions)
    warn_of_charge(made, REMEDY)
    return Hybrid(made, a, second, atoms)


def with_second_states(a: System, b: System, where: npt.NDArray[np.integer[Any]]) -> System:
    """The system with an `alchemy` that turns molecules into their second states.

    Parameters
    ----------
    a:
        The system in its first state.
    b:
        The molecules alone that have second states, in these, with the same Lennard-Jones types.
    where:
        For each atom of `b`, the atom of `a`.

    Raises
    ------
    InputError
        As for `hybrid`.
    """
    atoms = map_atoms(a, b, [(int(atom), k) for k, atom in enumerate(where)])
    types = HybridTypes(a.lj_a, a.lj_b, a.lj_types, b.lj_types, NO_TYPE)
    return merged(a, b, atoms, types, "scale")


def inner_pairs_kept(a: System, b: System, atoms: HybridMap) -> tuple[System, System]:
    """Both systems with pairs of atoms that vanish, or appear, as terms in full."""
    return with_inner_pairs(a, atoms.vanishing), with_inner_pairs(b, atoms.appearing)


def merged(
    a: System,
    b: System,
    atoms: HybridMap,
    types: HybridTypes,
    inner: Intramolecular,
    schedule: Mapping[str, Sequence[float]] | None = None,
    state: int = 0,
    soft: SoftCores = _BEUTLER,
) -> System:
    """The first system with what turns it into the second.

    With `inner` "keep", terms of pairs of atoms that vanish, or appear, stay as they are.
    """
    constraints, lengths = _constraints(a, b, atoms)
    terms, changed_terms = hybrid_terms(a, b, atoms, inner)
    ends = _ends(a, b, atoms, types)
    chosen: npt.NDArray[Any] = np.flatnonzero(ends.changes | atoms.is_unique)
    if len(chosen) == 0 and not changed_terms:
        raise InputError("nothing changes between both molecules")
    if len(chosen) == 0:
        chosen = atoms.mapped_first[:1]  # an atom that stays as it is
    usual = soft_core_named(soft.form).alpha_coulomb
    names = ("coulomb", "vdw", "bonded") if changed_terms else ("coulomb", "vdw")
    given = schedule or dict.fromkeys(names, LAMBDAS)
    states = np.column_stack([np.asarray(given[name], dtype=np.float64) for name in names])
    alchemy = Alchemy(
        chosen.astype(np.int32),
        states,
        states[state],
        soft.alpha,
        soft.least_sigma,
        last_charges=ends.last_charges[chosen],
        last_types=ends.last_types[chosen],
        changed_terms=changed_terms,
        alpha_coulomb=usual if soft.alpha_coulomb is None else soft.alpha_coulomb,
        soft_core=soft.form,
    )
    return replace(
        a,
        masses=np.concatenate([a.masses, b.masses[atoms.appearing]]),
        charges=ends.first_charges,
        lj_types=ends.first_types,
        lj_a=types.lj_a,
        lj_b=types.lj_b,
        terms=terms,
        exclusions=_exclusions(a, b, atoms),
        constraints=constraints,
        constraint_lengths=lengths,
        topology=_topology(a, b, atoms) if len(atoms.appearing) else a.topology,
        born_radii=np.empty(0),
        born_screening=np.empty(0),
        alchemy=alchemy,
    )


def read_mapping(
    mapping: Mapping[Any, Any] | Sequence[Sequence[int]] | str | os.PathLike[str],
) -> list[tuple[int, int]]:
    """Pairs of atoms from a dict, pairs, or a JSON file; InputError if it is neither."""
    given: Any = mapping
    where = "the mapping"
    if isinstance(mapping, str | os.PathLike):
        where = os.fspath(mapping)
        try:
            given = json.loads(Path(mapping).read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"{where}: {error.strerror}") from None
        except ValueError as error:
            raise InputError(f"{where} is not a JSON file: {error}") from None
        if isinstance(given, dict):
            given = given.get("componentA_to_componentB", given)
    rows = given.items() if isinstance(given, Mapping) else given
    try:
        return [(_number(one), _number(other)) for one, other in rows]
    except (TypeError, ValueError):
        raise InputError(
            f"{where} must have pairs of atoms, counted from 0: {{first: second, ...}}"
        ) from None


def _number(value: Any) -> int:
    number = int(value)
    if number != float(value):
        raise ValueError
    return number


class _Ends:
    """Charges and types of all atoms at both ends, and which change."""

    def __init__(
        self, charges: tuple[F64, F64], types: tuple[I32, I32], changes: npt.NDArray[np.bool_]
    ) -> None:
        self.first_charges, self.last_charges = charges
        self.first_types, self.last_types = types
        self.changes = changes


def _ends(a: System, b: System, atoms: HybridMap, types: HybridTypes) -> _Ends:
    first = np.concatenate([a.charges, np.zeros(len(atoms.appearing))])
    last = first.copy()
    last[atoms.vanishing] = 0
    last[atoms.of_last] = b.charges
    first_types = np.concatenate([types.of_first, np.full(len(atoms.appearing), types.none)])
    last_types = first_types.copy()
    last_types[atoms.vanishing] = types.none
    last_types[atoms.of_last] = types.of_last
    return _Ends(
        (first, last),
        (first_types.astype(np.int32), last_types.astype(np.int32)),
        (first != last) | types.differ(first_types, last_types),
    )


def _constraints(a: System, b: System, atoms: HybridMap) -> tuple[I32, F64]:
    """Constraints of the first system, then of atoms that appear; others are in both systems."""
    mapped = atoms.is_mapped
    inside = mapped[a.constraints].all(axis=1)
    ours = {
        _pair(row): length
        for row, length in zip(a.constraints[inside], a.constraint_lengths[inside], strict=True)
    }
    added = []
    for row, length in zip(atoms.of_last[b.constraints], b.constraint_lengths, strict=True):
        if not mapped[row].all():
            added.append((*row, length))
            continue
        other = ours.pop(_pair(row), None)
        if other is None or abs(other - length) > _SAME_LENGTH * length:
            raise InputError(
                f"the constraint between {_named(a, row)} has the length {length:g} nm in the "
                f"second molecule and {'none' if other is None else f'{other:g}'} in the first: "
                "constraints cannot change; load both without constraints of this bond, or do not "
                "map one of the atoms"
            )
    if ours:
        raise InputError(
            f"the constraint between {_named(a, next(iter(ours)))} is in the first molecule alone: "
            "constraints cannot change; load both without constraints of this bond, or do not map "
            "one of the atoms"
        )
    rows = np.array([row[:2] for row in added], dtype=np.int32).reshape(-1, 2)
    lengths = np.array([row[2] for row in added])
    return (
        np.concatenate([a.constraints, rows]),
        np.concatenate([a.constraint_lengths, lengths]),
    )


def _pair(row: npt.ArrayLike) -> tuple[int, int]:
    one, other = sorted(int(atom) for atom in np.asarray(row))
    return one, other


def _named(a: System, row: npt.ArrayLike) -> str:
    return " and ".join(a.topology.describe(atom) for atom in _pair(row))


def _exclusions(a: System, b: System, atoms: HybridMap) -> I32:
    """Exclusions of both systems; atoms that vanish and atoms that appear do not interact."""
    mapped = atoms.is_mapped
    ours = {_pair(row) for row in a.exclusions[mapped[a.exclusions].all(axis=1)]}
    theirs = {_pair(row) for row in atoms.of_last[b.exclusions]}
    core = {row for row in theirs if mapped[list(row)].all()}
    if ours != core:
        odd = min(ours ^ core)
        raise InputError(
            f"{_named(a, odd)} do not interact in one molecule, and do in the other: rings cannot "
            "open or close; do not map one of the atoms"
        )
    apart = {
        (int(one), int(other))
        for one in atoms.vanishing
        for other in atoms.of_last[atoms.appearing]
    }
    added = np.array(sorted((theirs - core) | apart), dtype=np.int32).reshape(-1, 2)
    return np.concatenate([a.exclusions, added])


def _topology(a: System, b: System, atoms: HybridMap) -> Topology:
    """Atoms that appear are in residues of their own, behind all others."""
    of, others = a.topology, b.topology
    residues, numbers = np.unique(others.residue_of_atom[atoms.appearing], return_inverse=True)
    start = len(of.residue_names)
    return Topology(
        atom_names=np.concatenate([of.atom_names, others.atom_names[atoms.appearing]]),
        elements=np.concatenate([of.elements, others.elements[atoms.appearing]]),
        residue_of_atom=np.concatenate([of.residue_of_atom, (start + numbers).astype(np.int32)]),
        residue_names=np.concatenate([of.residue_names, others.residue_names[residues]]),
        residue_ids=np.concatenate([of.residue_ids, others.residue_ids[residues]]),
        chain_ids=np.concatenate([of.chain_ids, others.chain_ids[residues]]),
        molecule_types=np.concatenate([of.molecule_types, others.molecule_types[residues]]),
    )


def _positions(first: F64, last: F64, atoms: HybridMap) -> F64:
    """Positions of the first system; atoms that appear are placed by superposing mapped atoms."""
    here, there = first[atoms.mapped_first], last[atoms.mapped_last]
    middle, other = here.mean(axis=0), there.mean(axis=0)
    u, _, v = np.linalg.svd((there - other).T @ (here - middle))
    mirror = np.diag([1.0, 1.0, np.sign(np.linalg.det(u @ v))])
    placed = (last[atoms.appearing] - other) @ (u @ mirror @ v) + middle
    return np.concatenate([first, placed])
