# SPDX-License-Identifier: Apache-2.0
"""Choices made at load, whatever the file format: rigid water, constrained bonds, HMR.

Readers build a flexible System; `constrain` replaces bonds and angles by
constraints. The alternative, each reader making its own choice,
would repeat these rules once per format.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from ..description.alchemy import with_kept_terms
from ..description.checks import any_case
from ..description.system import System
from ..description.terms import Terms
from ..errors import InputError, QuiltError

Constraints = Literal["none", "h-bonds", "all-bonds"]
_Fixed = tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]

_WATER = "WAT HOH H2O TP3 TP3M TIP3 TIP TIPS T3P T3H TIP3P SOL SPC SPCE SPC/E SPG OPC3 OP3 DOD"
WATER_NAMES = tuple(_WATER.split())
_HYDROGEN = (0.9, 1.1)  # amu; nothing but hydrogen has such a mass


def constrain(
    system: System,
    constraints: Constraints = "none",
    rigid_water: bool = True,
    hydrogen_mass: float | None = None,
) -> System:
    """The system with constraints in place of the terms that they fix.

    Parameters
    ----------
    system:
        A system whose bonds are all terms.
    constraints:
        "none"; "h-bonds": bonds to hydrogen are constrained to their length r0; "all-bonds": so are
        all bonds, for molecules of up to 64 atoms.
    rigid_water:
        Three-site waters are rigid: both O-H distances and H-H are constrained.
    hydrogen_mass:
        amu; each hydrogen gets this mass, taken from the heavy atom that it is
        bonded to, so that sums stay the same. Rigid waters are left alone.

    Raises
    ------
    QuiltError
        If a value is not one of these, a heavy atom would be left without mass, the shape of a
        water is unknown, or an atom with the mass of hydrogen keeps a flexible bond where bonds are
        constrained.
    """
    constraints = any_case(Constraints, constraints)
    if constraints not in get_args(Constraints):
        raise QuiltError(
            f"constraints must be 'none', 'h-bonds' or 'all-bonds', not '{constraints}'"
        )
    waters = find_waters(system) if rigid_water else np.empty((0, 3), dtype=np.int32)
    if hydrogen_mass is not None:
        system = _heavy_hydrogens(system, waters, hydrogen_mass)
    waters = _not_yet_rigid(system, waters)
    water_of_atom = _water_of_atom(system.atoms, waters)
    fixed = [_water_shape(system, waters, water_of_atom)]
    flexible, kept = [], {}
    for terms in system.terms.present():
        form = terms.form
        if not form.gives_shape:
            continue
        free = ~_same_water(water_of_atom, terms.atoms)
        if constraints != "none" and form.may_be_constrained:
            held = free.copy()
            if constraints == "h-bonds":
                held &= _has_hydrogen(system, terms.atoms)
            fixed.append(_at_rest(terms.chosen(held)))
            free &= ~held
        flexible.append(terms.chosen(free))
        kept[form.name] = free
    pairs, lengths = zip((system.constraints, system.constraint_lengths), *fixed, strict=True)
    constrained = replace(
        system,
        terms=system.terms.replaced(*flexible),
        constraints=np.concatenate(pairs),
        constraint_lengths=np.concatenate(lengths),
        alchemy=with_kept_terms(system, kept),
    )
    if constraints != "none":
        _refuse_unconstrained(constrained, constraints)
    return constrained


def _at_rest(terms: Terms) -> _Fixed:
    """Their atoms, and the lengths (nm) or angles (rad) at which their energy is least."""
    minimum = terms.form.minimum
    assert minimum is not None
    return terms.atoms, minimum.at(terms.parameters)


def _has_hydrogen(system: System, atoms: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """(n,) Whether one of the atoms of a term is a hydrogen."""
    found: npt.NDArray[np.bool_] = (system.topology.elements == 1)[atoms].any(axis=1)
    return found


def _refuse_unconstrained(system: System, constraints: Constraints) -> None:
    """Refuse bonds to atoms with the mass of hydrogen that are left: of other elements or forms."""
    light = (system.masses > _HYDROGEN[0]) & (system.masses < _HYDROGEN[1])
    light[system.constraints] = False
    for terms in system.terms.present():
        if not (terms.form.links_atoms and light[terms.atoms].any()):
            continue
        atom = int(terms.atoms[light[terms.atoms]][0])
        number, name = system.topology.elements[atom], system.topology.describe(atom)
        if number == 1:
            raise InputError(
                f"{name} has {terms.form.noun}, which '{constraints}' cannot constrain, as it has "
                "no fixed length: set constraints to 'none'"
            )
        raise InputError(
            f"{name} has the mass of hydrogen ({system.masses[atom]:g} amu), but the atomic number "
            f"{number}, so that '{constraints}' does not constrain its bonds: correct the number "
            "in the topology, or set constraints to 'none'"
        )


def _not_yet_rigid(system: System, waters: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Waters that the input does not constrain itself, as GROMACS' settles do."""
    fixed = np.zeros(system.atoms, dtype=bool)
    fixed[system.constraints] = True
    loose: npt.NDArray[np.int32] = waters[~fixed[waters].any(axis=1)]
    return loose


def find_waters(system: System) -> npt.NDArray[np.int32]:
    """(n, 3) int32: oxygen and both hydrogens of each water.

    A water is an oxygen bonded to two hydrogens, which are bonded to nothing else but each other.
    Virtual sites do not count, nor do residues: files have waters whose numbers are all the same.

    Raises
    ------
    InputError
        If a residue has a water's name, and its oxygen lacks bonds to its hydrogens.
    """
    links = _links(system)
    ends = np.concatenate([links, links[:, ::-1]])
    hydrogen = system.topology.elements == 1
    bonded, hydrogens = (
        np.bincount(ends[chosen, 0], minlength=system.atoms)
        for chosen in (slice(None), hydrogen[ends[:, 1]])
    )
    oxygen = (system.topology.elements == 8) & (system.masses > 0)
    possible = oxygen & (bonded == 2) & (hydrogens == 2)
    legs = ends[possible[ends[:, 0]]]
    legs = legs[np.lexsort(legs.T[::-1])]
    waters = np.column_stack([legs[0::2, 0], legs[0::2, 1], legs[1::2, 1]]).astype(np.int32)
    water_of_atom = _water_of_atom(system.atoms, waters)
    inside = np.bincount(ends[_same_water(water_of_atom, ends), 0], minlength=system.atoms)
    _refuse_loose_waters(system, oxygen & (bonded < 2) & (bonded == hydrogens))
    alone: npt.NDArray[np.bool_] = (inside == bonded)[waters].all(axis=1)
    return waters[alone]


def _links(system: System) -> npt.NDArray[np.int32]:
    """(n, 2) bonds and constraints between atoms that are no virtual sites, each once."""
    joined = np.concatenate([*system.terms.links(), system.constraints])
    links = np.sort(joined, axis=1).astype(np.int64)
    real = links[(system.masses[links] > 0).all(axis=1)]
    keys = np.unique(real[:, 0] * system.atoms + real[:, 1])
    return np.column_stack(np.divmod(keys, system.atoms)).astype(np.int32)


def _water_of_atom(atoms: int, waters: npt.NDArray[np.int32]) -> npt.NDArray[np.int_]:
    """(N,) Which of the waters an atom is of; -1 for others."""
    water_of_atom = np.full(atoms, -1)
    water_of_atom[waters] = np.arange(len(waters))[:, None]
    return water_of_atom


def _refuse_loose_waters(system: System, loose: npt.NDArray[np.bool_]) -> None:
    """Refuse oxygens of which `loose` says that they lack hydrogens, if they are called water."""
    topology = system.topology
    watery = np.isin(np.char.upper(topology.residue_names), WATER_NAMES)
    broken = loose & watery[topology.residue_of_atom]
    if broken.any():
        raise InputError(
            f"{topology.describe(int(np.argmax(broken)))} is the oxygen of a water that lacks "
            "bonds to two hydrogens; load it with rigid_water=False or correct the topology"
        )


def _same_water(
    water_of_atom: npt.NDArray[np.int_], terms: npt.NDArray[np.int32]
) -> npt.NDArray[np.bool_]:
    water = water_of_atom[terms]
    same: npt.NDArray[np.bool_] = (water[:, 0] >= 0) & (water == water[:, :1]).all(axis=1)
    return same


def _water_shape(
    system: System, waters: npt.NDArray[np.int32], water_of_atom: npt.NDArray[np.int_]
) -> _Fixed:
    """Pairs (3 n, 2) and lengths (3 n,) that fix each water: O-H, O-H, H-H.

    H-H comes from its bond where the force field has one, else from the angle.
    """
    lengths = np.full((len(waters), 3), np.nan)
    corner = np.zeros(system.atoms, dtype=np.int_)  # 0 oxygen, 1 and 2 the hydrogens
    corner[waters[:, 1]], corner[waters[:, 2]] = 1, 2
    inside = [
        terms.chosen(_same_water(water_of_atom, terms.atoms))
        for terms in system.terms.present()
        if terms.form.may_be_constrained or terms.form.bends
    ]
    for bonds in (terms for terms in inside if terms.form.may_be_constrained):
        ends, rest = _at_rest(bonds)
        side = corner[ends].sum(axis=1) - 1  # O-H1 -> 0, O-H2 -> 1, H1-H2 -> 2
        lengths[water_of_atom[ends[:, 0]], side] = rest
    for angles in (terms for terms in inside if terms.form.bends):
        atoms, theta = _at_rest(angles.chosen(corner[angles.atoms[:, 1]] == 0))
        water = water_of_atom[atoms[:, 1]]
        first, second = lengths[water, 0], lengths[water, 1]
        opposite = np.sqrt(first**2 + second**2 - 2 * first * second * np.cos(theta))
        lengths[water, 2] = np.where(np.isnan(lengths[water, 2]), opposite, lengths[water, 2])
    if np.isnan(lengths).any():
        atom = int(waters[np.argmax(np.isnan(lengths).any(axis=1)), 0])
        raise InputError(
            f"{system.topology.describe(atom)} is a water whose bonds and angle do not fix its "
            "shape; load it with rigid_water=False or correct the topology"
        )
    pairs = waters[:, [0, 1, 0, 2, 1, 2]].reshape(-1, 2)
    return pairs, lengths.reshape(-1)


def _heavy_hydrogens(system: System, waters: npt.NDArray[np.int32], mass: float) -> System:
    if not 0 < mass < 12:
        raise QuiltError(f"hydrogen_mass must lie between 0 and 12 amu, not {mass:g}")
    hydrogen = system.topology.elements == 1
    hydrogen[waters[:, 1:]] = False
    bonds = np.concatenate(system.terms.links())
    pairs = np.concatenate([bonds, bonds[:, ::-1]])
    pairs = pairs[hydrogen[pairs[:, 0]] & (system.topology.elements[pairs[:, 1]] != 1)]
    light, first = np.unique(pairs[:, 0], return_index=True)  # one heavy atom for each hydrogen
    heavy = pairs[first, 1]
    masses = system.masses.copy()
    np.subtract.at(masses, heavy, mass - masses[light])
    masses[light] = mass
    none_left = (masses <= 0) & (system.masses > 0)
    if none_left.any():
        atom = system.topology.describe(int(np.argmax(none_left)))
        raise QuiltError(f"hydrogen_mass {mass:g} amu leaves no mass for {atom}")
    return replace(system, masses=masses)


def loose_hydrogens(system: System) -> int:
    """Bonds to hydrogen that are terms, not constraints."""
    custom = [] if system.custom is None else [system.custom.links]
    bonds = np.concatenate([*system.terms.links(), *custom])
    return int(_has_hydrogen(system, bonds).sum())
