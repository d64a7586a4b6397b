# SPDX-License-Identifier: Apache-2.0
"""Defaults for Systems that are made on the spot, without a file: see `System.of`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .checks import numbers
from .sites import MOST_PARENTS, site_links
from .terms import VIEWS, TermTable, table_of
from .topology import Topology

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]


def system_fields(
    masses: npt.ArrayLike, charges: npt.ArrayLike, pairs: dict[str, Any], others: dict[str, Any]
) -> dict[str, Any]:
    """The arguments of `System`: those that are given, and defaults for the rest.

    Parameters
    ----------
    masses, charges, pairs, others:
        As of `System.of`; `pairs` has `lj_types`, `lj_a`, `lj_b`, `sigma` and `epsilon`.

    Raises
    ------
    InputError
        If terms or Lennard-Jones parameters are given in two ways, or sigma without epsilon;
        where masses, charges, sigma or epsilon are not numbers, or not one for each atom.
    """
    each = np.atleast_1d(numbers("masses", masses, "numbers, amu", "amu").astype(np.float64))
    if each.ndim != 1:
        raise InputError(f"masses has shape {each.shape}, not (n,)")
    fields = {name: value for name, value in others.items() if name not in VIEWS}
    views = {name: value for name, value in others.items() if name in VIEWS}
    terms = table_of(fields.get("terms", {}), {})
    _refuse_two_ways(terms, views)
    terms = table_of(terms, views)
    constraints = _rows("constraints", fields, 2)
    sites = _rows("sites", fields, 1 + MOST_PARENTS)
    links = np.concatenate([*terms.links(), constraints, site_links(sites)])
    defaults: dict[str, Any] = {
        "exclusions": _joined_pairs(links, terms),
        "constraints": (),
        "constraint_lengths": (),
        "topology": _topology(each, links),
    }
    return {
        **defaults,
        **_lennard_jones(len(each), pairs, with_form="pair_form" in fields),
        **fields,
        "terms": terms,
        "masses": each,
        "charges": _of_atoms("charges", charges, len(each), "e"),
    }


def _rows(name: str, fields: dict[str, Any], width: int) -> I32:
    """(n, width) atoms as they are given; none where `System` refuses them."""
    given = numbers(f"system.{name}", fields.get(name, ()), "an array of numbers")
    good = given.ndim == 2 and given.shape[1] == width
    return given.astype(np.int32) if good else np.empty((0, width), dtype=np.int32)


def _of_atoms(name: str, value: npt.ArrayLike, atoms: int, unit: str) -> F64:
    """(atoms,) the number of each atom; one number is that of all."""
    given = numbers(name, value, "one number for all atoms, or one for each", unit)
    if given.shape not in ((), (atoms,)):
        raise InputError(
            f"{name} has shape {given.shape}: give one number for all atoms, or {atoms}, one for "
            "each"
        )
    return np.broadcast_to(given.astype(np.float64), (atoms,))


def _refuse_two_ways(terms: TermTable, views: dict[str, Any]) -> None:
    """InputError if terms of a form are given in the table and by the name of a view."""
    for name in views:
        if len(terms[VIEWS[name].form]):
            raise InputError(
                f"give either {name} or terms[{VIEWS[name].form!r}], not both: add them up"
            )


def _joined_pairs(links: I32, terms: TermTable) -> I32:
    """(n, 2) each pair that is linked, or has a nonbonded interaction of its own, once."""
    special = [one.atoms for one in terms.present() if one.form.part == "pair"]
    joined: I32 = np.unique(np.sort(np.concatenate([links, *special]), axis=1), axis=0)
    return joined


def _topology(masses: F64, links: I32) -> Topology:
    """Atoms A0, A1, ... of one residue, elements by their masses."""
    names = np.array([f"A{atom}" for atom in range(len(masses))])
    inside = links[((links >= 0) & (links < len(masses))).all(axis=1)]
    return replace(Topology.unnamed(masses, inside), atom_names=names)


def _lennard_jones(atoms: int, given: dict[str, Any], with_form: bool) -> dict[str, Any]:
    """Types of atoms and tables: as given, by sigma and epsilon of atoms, or no interaction."""
    sigma, epsilon = given["sigma"], given["epsilon"]
    types, a, b = given["lj_types"], given["lj_a"], given["lj_b"]
    if (sigma is None) != (epsilon is None):
        raise InputError("sigma and epsilon must be given together")
    if sigma is None:
        none: Any = () if with_form else np.zeros((1, 1))
        return {
            "lj_types": np.zeros(atoms, dtype=np.int32) if types is None else types,
            "lj_a": none if a is None else a,
            "lj_b": none if b is None else b,
        }
    if types is not None or a is not None or b is not None:
        raise InputError("give either sigma and epsilon or lj_types, lj_a and lj_b, not both")
    assert sigma is not None
    assert epsilon is not None
    both = np.stack(
        [
            _of_atoms("sigma", sigma, atoms, "nm"),
            _of_atoms("epsilon", epsilon, atoms, "kJ/mol"),
        ],
        axis=1,
    )
    for name, values in zip(("sigma", "epsilon"), both.T, strict=True):
        if not (values >= 0).all() or np.isinf(values).any():
            atom = int(np.argmin((values >= 0) & np.isfinite(values)))
            raise InputError(f"{name} is {values[atom]:g}, not 0 or more", atom=atom)
    kinds, of_atom = np.unique(both, axis=0, return_inverse=True)
    mean = (kinds[:, None, 0] + kinds[:, 0]) / 2
    depth = np.sqrt(kinds[:, None, 1] * kinds[:, 1])
    return {
        "lj_types": of_atom.reshape(-1).astype(np.int32),
        "lj_a": 4 * depth * mean**12,
        "lj_b": 4 * depth * mean**6,
    }
