# SPDX-License-Identifier: Apache-2.0
"""A System some of whose molecules get their inner forces from a model: mechanical embedding.

Without bonds nothing would say that the atoms are one molecule, nor how far apart they may be, on
which the width of patches depends.  So bonds and constraints become bonds without noticeable energy
that are as long as they may stretch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .checks import numbers, real_number
from .collective import Collective
from .parts import refuse_other_parts
from .selection import select
from .system import System
from .terms import Terms

F64 = npt.NDArray[np.float64]
_STRETCH = 1.2  # of bonds
_UNKNOWN = 0.2  # nm, of bonds whose form has no length
_WEAK = 1e-9  # kJ/mol/nm^2
_INNER = ("bond", "angle", "dihedral", "pair")


def model_region(
    system: System,
    atoms: str | Sequence[int] | npt.NDArray[np.integer[Any]],
    extent: float | None = None,
) -> System:
    """A system without forces between some atoms, which a model then provides.

    Bonded terms, constraints, 1-4 pairs and nonbonded interactions between these atoms are left
    out, with what the reciprocal sum has of them; interactions with all other atoms, and
    restraints, stay.  An external force, such as `AseForce`, adds the forces of the model.  Bonds
    must not break: the correction of the reciprocal sum counts on lengths that are at most a fifth
    more than those of the force field.

    Parameters
    ----------
    system:
        The system.
    atoms:
        A selection (see `select`), or indices from 0: whole molecules, without virtual sites.
    extent:
        Largest distance of the first atoms of other molecules from that of the first, nm, if the
        region has several.

    Raises
    ------
    InputError
        If a bond leads out of the region, there are several molecules and no `extent`, or the
        system has parts, such as implicit solvent, that cannot be divided.
    """
    refuse_other_parts(system, "given a region of a model", Collective)
    chosen = select(system, atoms) if isinstance(atoms, str) else _indices(system, atoms)
    inside = np.zeros(system.atoms, dtype=bool)
    inside[chosen] = True
    _refuse_cut(system, inside)
    region = np.flatnonzero(inside)
    kept = [_without(terms, inside) for terms in system.terms.present()]
    first, second = np.triu_indices(len(region), 1)
    pairs = np.column_stack([region[first], region[second]])
    exclusions = np.unique(np.concatenate([system.exclusions, pairs]), axis=0)
    free = ~inside[system.constraints].all(axis=1)
    links, lengths = _links(system, inside, extent)
    parameters = np.column_stack([lengths, np.tile((_WEAK, 0, 0), (len(lengths), 1))])
    return replace(
        system,
        terms=system.terms.replaced(*kept).replaced(
            _without(system.terms["fene"], inside).joined(links, parameters)
        ),
        exclusions=exclusions.astype(np.int32),
        constraints=system.constraints[free],
        constraint_lengths=system.constraint_lengths[free],
    )


def _indices(system: System, atoms: Any) -> npt.NDArray[np.int64]:
    found: npt.NDArray[Any] = numbers("atoms", atoms, "indices of atoms")
    is_whole = found.ndim == 1 and len(found) > 0 and (found == found.astype(np.int64)).all()
    if not is_whole or found.min() < 0 or found.max() >= system.atoms:
        raise InputError(f"atoms must be a selection, or indices from 0 to {system.atoms - 1}")
    return found.astype(np.int64)


def _refuse_cut(system: System, inside: npt.NDArray[np.bool_]) -> None:
    """InputError if a term or constraint joins the region to other atoms, or it has a site."""
    joined = [(one.form.noun, one.atoms) for one in system.terms.present() if _is_inner(one)]
    for noun, atoms in (*joined, ("a constraint", system.constraints)):
        some = inside[atoms].any(axis=1) & ~inside[atoms].all(axis=1)
        if some.any():
            names = " and ".join(system.topology.describe(int(k)) for k in atoms[some.argmax()])
            raise InputError(
                f"{noun} leads out of the region ({names}): a region must consist of whole "
                "molecules, as there are no link atoms"
            )
    sites = [row[0] for row in system.sites if inside[row[0]]]
    if sites:
        raise InputError(
            f"{system.topology.describe(int(sites[0]))} is a virtual site: models have none, so "
            "leave its molecule out of the region"
        )


def _is_inner(terms: Terms) -> bool:
    return terms.form.part in _INNER


def _without(terms: Terms, inside: npt.NDArray[np.bool_]) -> Terms:
    """The terms but those of the region."""
    if not _is_inner(terms):
        return terms
    stay = ~inside[terms.atoms].all(axis=1)
    return terms.chosen(np.asarray(stay))


def _links(
    system: System, inside: npt.NDArray[np.bool_], extent: float | None
) -> tuple[npt.NDArray[np.int32], F64]:
    """Pairs of atoms that bonds and constraints of the region join, and their largest distances."""
    rows = [(system.constraints, system.constraint_lengths)]
    rows += [(one.atoms, _bond_lengths(one)) for one in system.terms.present() if _joins(one)]
    owned = [(atoms, lengths, inside[atoms[:, 0]]) for atoms, lengths in rows]
    pairs = np.concatenate([atoms[own] for atoms, _, own in owned])
    longest = _STRETCH * np.concatenate([lengths[own] for _, lengths, own in owned])
    firsts = np.unique(system.molecules[inside], return_index=True)[1]
    heads = np.flatnonzero(inside)[firsts]
    if len(heads) == 1:
        return pairs, longest
    if extent is None:
        raise InputError(
            "the region has several molecules: give `extent`, the largest distance of their first "
            "atoms, nm"
        )
    length = real_number("extent", extent, "nm")
    if not length > 0:
        raise InputError(f"extent must be positive, and is {extent!r}")
    others = heads[1:]
    between = np.column_stack([np.full(len(others), heads[0]), others]).astype(np.int32)
    return np.concatenate([pairs, between]), np.append(longest, np.full(len(others), length))


def _joins(terms: Terms) -> bool:
    return terms.form.part == "bond"


def _bond_lengths(terms: Terms) -> F64:
    minimum = terms.form.minimum
    if minimum is None or not minimum.is_length:
        return np.full(len(terms), _UNKNOWN)
    return np.asarray(minimum.at(terms.parameters), dtype=np.float64)
