# SPDX-License-Identifier: Apache-2.0
"""Systems with a three-body potential alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import InputError
from .elements import MASSES, SYMBOLS
from .system import System
from .three_body import ThreeBodyPotential


def three_body_system(
    potential: ThreeBodyPotential,
    elements: Sequence[str],
    masses: Mapping[str, float] | None = None,
) -> System:
    """A System of such atoms: `three_body_system(read_tersoff("Si.tersoff"), ["Si"] * 8)`.

    The nonbonded settings of the System have the cutoff of the potential.

    Parameters
    ----------
    potential:
        The potential, from `quiltmd.read_stillinger_weber` or `quiltmd.read_tersoff`.
    elements:
        Element of each atom, by its name in the potential.
    masses:
        amu, by element; by default those of the chemical elements.

    Raises
    ------
    InputError
        If the potential does not have an element, or an element has no mass.
    """
    part = potential.of(elements)
    known = dict(zip(SYMBOLS, MASSES.tolist(), strict=True)) | dict(masses or {})
    for name in part.potential.elements:
        if name not in known:
            raise InputError(f"{name} is no chemical element: give its mass in `masses`")
    return System.of(
        [known[name] for name in elements], three_body=part, nonbonded=part.potential.nonbonded
    )
