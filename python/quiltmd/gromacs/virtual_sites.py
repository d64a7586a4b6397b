# SPDX-License-Identifier: Apache-2.0
"""Virtual sites of a GROMACS molecule type.

Source: GROMACS Reference Manual, "Topology file" (table of function types) and "Virtual interaction
sites". Distances are in nm and angles in degrees; c of 3out is in 1/nm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import radians

from ..description.sites import Site, above_plane, at_angle, at_distance, average, out_of_plane
from .preprocess import Line
from .sections import reals

_Atoms = tuple[int, ...]
# Section and function type -> how many parameters; the site of atoms (its own first) and these.
_KINDS: dict[tuple[str, int], tuple[int, Callable[..., Site]]] = {
    ("virtual_sites1", 1): (0, lambda s, i: average(s, (i,), (1.0,))),
    ("virtual_sites2", 1): (1, lambda s, i, j, a: average(s, (i, j), (1 - a, a))),
    ("virtual_sites2", 2): (1, lambda s, i, j, a: at_distance(s, (i, j), (-1, 1), a)),
    ("virtual_sites3", 1): (
        2,
        lambda s, i, j, k, a, b: average(s, (i, j, k), (1 - a - b, a, b)),
    ),
    ("virtual_sites3", 2): (
        2,
        lambda s, i, j, k, a, d: at_distance(s, (i, j, k), (-1, 1 - a, a), d),
    ),
    ("virtual_sites3", 3): (
        2,
        lambda s, i, j, k, theta, d: at_angle(s, (i, j, k), d, radians(theta)),
    ),
    ("virtual_sites3", 4): (3, lambda s, i, j, k, a, b, c: out_of_plane(s, (i, j, k), a, b, c)),
    ("virtual_sites4", 2): (
        3,
        lambda s, i, j, k, m, a, b, c: above_plane(s, (i, j, k, m), a, b, c),
    ),
}


def site_of(line: Line, section: str, parts: tuple[_Atoms, int, list[float]]) -> Site:
    """The site of a line; `parts`: atoms (the site first), function type, parameters."""
    atoms, function, given = parts
    count, make = _KINDS.get((section, function), (-1, None))
    if make is None:
        raise line.error(f"[ {section} ] of function type {function} are not supported")
    if count and not given:
        raise line.error(
            f"expected {count} parameters of a virtual site, found 0: grompp would calculate them "
            "from bonds and angles, which is not supported; write them on the line"
        )
    if len(given) != count:
        raise line.error(f"expected {count} parameters of a virtual site, found {len(given)}")
    return make(*atoms, *given)


def site_of_many(line: Line, atoms: _Atoms, function: int, masses: Sequence[float]) -> Site:
    """The centre of any number of atoms (after the site), by masses with function type 2."""
    site, *parents = atoms
    weights = [masses[atom] if function == 2 else 1.0 for atom in parents]
    return _weighted(line, site, parents, weights)


def site_of_weights(line: Line, site: int, parents: Sequence[int], words: list[str]) -> Site:
    """The centre of atoms by weights that the line has (function type 3)."""
    return _weighted(line, site, list(parents), reals(words, line))


def _weighted(line: Line, site: int, parents: list[int], weights: list[float]) -> Site:
    if not parents or min(weights) < 0 or not sum(weights) > 0:
        raise line.error("a virtual site needs atoms with weights that are not negative, nor all 0")
    return average(site, parents, [weight / sum(weights) for weight in weights])
