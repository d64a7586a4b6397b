# SPDX-License-Identifier: Apache-2.0
"""Virtual sites: massless atoms whose places follow from those of their parents.

One equation has all the kinds that OpenMM and GROMACS know (docs/theory/sites.md):

    r = O + l_x e_x + l_y e_y + l_z e_z + c X x Y

with the weighted sums of the parents' places O, X and Y, and unit vectors e_x along X, e_z along
X x Y, and e_y = e_z x e_x. A `Site` is one of them; the functions below make the kinds by their
usual names. Equations: OpenMM User Guide, "Virtual Sites"; GROMACS reference manual, "Virtual
interaction sites".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import cos, sin
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError

MOST_PARENTS = 7
_DEEPEST = 8  # sites of sites of sites ...
_TOLERANCE = 1e-5  # of sums of weights, which files give with some six digits

Weights = Sequence[float]


@dataclass(frozen=True)
class Site:
    """One virtual site.

    Attributes
    ----------
    atom:
        Index of the site, from 0.
    parents:
        Indices of one to seven atoms with mass.
    origin, x, y:
        A weight for each parent: those of `origin` add up to 1, those of `x` and `y` to 0.
    local:
        nm, along e_x, e_y, e_z.
    cross:
        1/nm, times X x Y.
    """

    atom: int
    parents: tuple[int, ...]
    origin: Weights
    x: Weights = ()
    y: Weights = ()
    local: Weights = (0.0, 0.0, 0.0)
    cross: float = 0.0


def resolved(sites: Sequence[Site]) -> list[Site]:
    """The same sites; where averages are among their parents, the parents of those instead.

    Sites of sites of other kinds, and sites that are made of themselves, stay what they are.
    """
    averages = {site.atom: site for site in sites if not (any(site.local) or site.cross)}
    found = list(sites)
    for _ in range(_DEEPEST):
        if not any(parent in averages for site in found for parent in site.parents):
            break
        found = [_with_parents_of(averages, site) for site in found]
    return found


def _with_parents_of(averages: Mapping[int, Site], site: Site) -> Site:
    nothing = [0.0] * len(site.parents)
    weights: dict[int, npt.NDArray[np.float64]] = {}
    for parent, *own in zip(
        site.parents, site.origin, site.x or nothing, site.y or nothing, strict=True
    ):
        of = averages.get(parent, Site(parent, (parent,), (1.0,)))
        for atom, part in zip(of.parents, of.origin, strict=True):
            weights[atom] = weights.get(atom, np.zeros(3)) + part * np.array(own)
    origin, x, y = np.transpose(list(weights.values())).tolist()
    return replace(site, parents=tuple(weights), origin=origin, x=x, y=y)


def average(atom: int, parents: Sequence[int], weights: Weights) -> Site:
    """The weighted mean of its parents: OpenMM's averages, GROMACS' types 2, 3 and n."""
    return Site(atom, tuple(parents), weights)


def out_of_plane(atom: int, parents: Sequence[int], a: float, b: float, c: float) -> Site:
    """r1 + a r12 + b r13 + c r12 x r13: OpenMM's OutOfPlaneSite, GROMACS' type 3out; c in 1/nm."""
    return Site(atom, tuple(parents), (1 - a - b, a, b), (-1, 1, 0), (-1, 0, 1), cross=c)


def at_distance(atom: int, parents: Sequence[int], direction: Weights, distance: float) -> Site:
    """At this distance (nm) from the first parent along a weighted sum: GROMACS' 2fd and 3fd."""
    first = (1.0,) + (0.0,) * (len(parents) - 1)
    return Site(atom, tuple(parents), first, direction, local=(distance, 0, 0))


def at_angle(atom: int, parents: Sequence[int], distance: float, angle: float) -> Site:
    """At a distance (nm) and an angle (rad) with the first two parents: GROMACS' 3fad."""
    local = (distance * cos(angle), distance * sin(angle), 0.0)
    return Site(atom, tuple(parents), (1, 0, 0), (-1, 1, 0), (0, -1, 1), local)


def above_plane(atom: int, parents: Sequence[int], a: float, b: float, c: float) -> Site:
    """A site of GROMACS' type 4fdn: at c (nm) along (a r13 - r12) x (b r14 - r12)."""
    return Site(atom, tuple(parents), (1, 0, 0, 0), (1 - a, -1, a, 0), (1 - b, -1, 0, b), (0, 0, c))


def site_fields(sites: Sequence[Site]) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a System: `sites`, `site_weights`, `site_offsets`."""
    atoms = np.full((len(sites), 1 + MOST_PARENTS), -1, np.int32)
    weights = np.zeros((len(sites), 3, MOST_PARENTS))
    offsets = np.zeros((len(sites), 4))
    for row, site in enumerate(sites):
        parents = len(site.parents)
        if parents > MOST_PARENTS:
            raise InputError(
                f"a virtual site has {parents} parents; at most {MOST_PARENTS} are possible",
                atom=site.atom,
            )
        atoms[row, 0], atoms[row, 1 : 1 + parents] = site.atom, site.parents
        for k, values in enumerate((site.origin, site.x, site.y)):
            weights[row, k, : len(values)] = values
        offsets[row] = (*site.local, site.cross)
    return {"sites": atoms, "site_weights": weights, "site_offsets": offsets}


def site_links(sites: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """(n, 2) int32: sites and each of their parents."""
    row, column = np.nonzero(sites[:, 1:] >= 0)
    return np.column_stack([sites[row, 0], sites[row, 1 + column]]).astype(np.int32)


def check_sites(system: Any) -> None:
    """Refuse virtual sites of a System that cannot be: masses, parents, weights, directions."""
    describe = system.topology.describe
    sites, weights, offsets = system.sites, system.site_weights, system.site_offsets
    if not len(sites) == len(weights) == len(offsets):
        raise InputError("system.sites, site_weights and site_offsets differ in length")
    is_site = np.zeros(system.atoms, dtype=bool)
    if len(sites):
        _refuse_strange_atoms(system)
        is_site[sites[:, 0]] = True
    massless = (system.masses < 0) | ((system.masses == 0) & ~is_site)
    if massless.any():
        atom = int(np.argmax(massless))
        raise InputError(
            f"{describe(atom)} has mass {system.masses[atom]:g} and is no virtual site; other "
            "massless atoms (fixed atoms) are not supported"
        )
    if not len(sites):
        return
    parents = site_links(sites)
    for wrong, words in (
        (system.masses[sites[:, 0]] != 0, "has a mass, {}, and so cannot be a virtual site"),
        (np.bincount(sites[:, 0], minlength=system.atoms)[sites[:, 0]] > 1, "is placed twice"),
    ):
        if wrong.any():
            atom = int(sites[np.argmax(wrong), 0])
            raise InputError(f"{describe(atom)} " + words.format(system.masses[atom]))
    if is_site[parents[:, 1]].any():
        atom, parent = (int(one) for one in parents[np.argmax(is_site[parents[:, 1]])])
        raise InputError(
            f"a parent of the virtual site {describe(atom)} is a virtual site itself: "
            f"{describe(parent)}; sites of sites are not supported"
        )
    held = is_site[system.constraints].any(axis=1)
    if held.any():
        atoms = system.constraints[np.argmax(held)]
        names = " and ".join(describe(int(atom)) for atom in atoms)
        raise InputError(f"a constraint acts on a virtual site: {names}")
    _refuse_strange_weights(system)


def _refuse_strange_atoms(system: Any) -> None:
    atoms = system.sites
    given = atoms[:, 1:] >= 0
    gap = (given[:, 1:] & ~given[:, :-1]).any(axis=1) | ~given[:, 0]
    wrong = gap | (atoms >= system.atoms).any(axis=1) | (atoms[:, 0] < 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"system.sites[{row}] is not an atom and one to {MOST_PARENTS} parents, then -1"
        )
    ordered = np.sort(atoms, axis=1)
    repeated = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1)
    if repeated.any():
        raise InputError(f"system.sites[{int(np.argmax(repeated))}] names an atom twice")


def _refuse_strange_weights(system: Any) -> None:
    describe = system.topology.describe
    sites, weights, offsets = system.sites, system.site_weights, system.site_offsets
    beyond = (weights * (sites[:, None, 1:] < 0) != 0).any(axis=(1, 2))
    off = (np.abs(weights.sum(axis=2) - [1, 0, 0]) > _TOLERANCE).any(axis=1)
    in_space = (offsets[:, 1:] != 0).any(axis=1)
    no_x = ((offsets != 0).any(axis=1)) & (weights[:, 1] == 0).all(axis=1)
    no_y = in_space & (weights[:, 2] == 0).all(axis=1)
    for wrong, words in (
        (beyond, "has weights of parents that it has not"),
        (off, "has weights whose sum is not 1 (of the origin) or 0 (of the directions)"),
        (no_x | no_y, "is off its origin in a direction that no weights give"),
    ):
        if wrong.any():
            raise InputError(f"virtual site {describe(int(sites[np.argmax(wrong), 0]))} {words}")
