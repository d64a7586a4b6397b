# SPDX-License-Identifier: Apache-2.0
"""Systems of embedded atoms alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .embedded import EmbeddedFunctions
from .system import System


def embedded_system(potential: EmbeddedFunctions, elements: Sequence[str]) -> System:
    """A System of embedded atoms: `embedded_system(read_eam("Cu_u3.eam"), ["Cu"] * 4)`.

    Masses are those of the potential, and the nonbonded settings of the System have its cutoff.

    Parameters
    ----------
    potential:
        The potential, from `quiltmd.read_eam`.
    elements:
        Element of each atom, by its name in the potential.

    Raises
    ------
    InputError
        If the potential does not have an element.
    """
    part = potential.of(elements)
    masses = np.asarray(part.functions.masses)[np.asarray(part.types)]
    return System.of(masses, embedded=part, nonbonded=part.functions.nonbonded)
