# SPDX-License-Identifier: Apache-2.0
"""The PME grid of NAMD and Amber, whose Ewald coefficient follows from a tolerance.

Grid and coefficient are taken over together or not at all: without a grid both follow the
tolerance of this program, which is another measure, and whatever was said of them is noted.
"""

from __future__ import annotations

from dataclasses import dataclass

import scipy

from ..errors import InputError
from .entries import Entries
from .units import ANGSTROM

_CUBIC = 4  # the order, of both by default


@dataclass(frozen=True)
class MeshWords:
    """Keywords of a format, and its default of the tolerance."""

    sizes: tuple[str, str, str]
    order: str
    tolerance: str
    default_tolerance: float
    coefficient: str | None = None  # in place of the tolerance
    spacing: str | None = None


def take_mesh(entries: Entries, words: MeshWords, cutoff: float) -> None:
    """PME, which needs a periodic box: grid, order and Ewald coefficient; the cutoff is in A."""
    control = entries.control
    control.set("nonbonded", "method", "pme")
    of_order, order = entries.peek(words.order), entries.whole(words.order)
    given = [name for name in words.sizes if entries.has(name)]
    if order not in (None, 4, 5):
        if given:
            entries.reject(of_order[-1], "only the orders 4 and 5")
        else:
            entries.note("without a grid the order follows from pme_tolerance too", of_order[-1])
        order = None
    if given and len(given) < len(words.sizes):
        for name in given:
            for entry in entries.take_all(name):
                entries.reject(entry, f"{', '.join(words.sizes)} belong together: give all or none")
    elif given:
        control.set("nonbonded", "pme_grid", [entries.whole(name) for name in words.sizes])
        control.set("nonbonded", "pme_alpha", round(_coefficient(entries, words, cutoff), 9))
        control.set("nonbonded", "pme_order", order or _CUBIC)
    else:
        control.set("nonbonded", "pme_order", order)
    others = [name for name in (words.coefficient, words.tolerance, words.spacing) if name]
    why = "replaced by the grid and what was said of it"
    if not given:
        sizes = f"{words.sizes[0]} and so on"
        why = f"without {sizes} the grid and the (prolate) split follow from pme_tolerance"
    entries.tell(why, *others)


def _coefficient(entries: Entries, words: MeshWords, cutoff: float) -> float:
    """The Ewald coefficient, 1/nm, where there is a grid."""
    stated = None if words.coefficient is None else entries.number(words.coefficient)
    if stated:
        return stated / ANGSTROM
    tolerance = entries.number(words.tolerance, words.default_tolerance)
    assert tolerance is not None
    return _ewald_alpha(cutoff, tolerance, entries.control.file) / ANGSTROM


def _ewald_alpha(cutoff: float, tolerance: float, file: str) -> float:
    """Alpha such that erfc(alpha cutoff) / cutoff is the tolerance; InputError if none is."""

    def excess(alpha: float) -> float:
        return float(scipy.special.erfc(alpha * cutoff)) / cutoff - tolerance

    if not (cutoff > 0 and 0 < tolerance < excess(1e-3) + tolerance):
        raise InputError(
            f"a cutoff of {cutoff:g} and a PME tolerance of {tolerance:g} make no sense", file=file
        )
    return float(scipy.optimize.brentq(excess, 1e-3, 30 / cutoff))
