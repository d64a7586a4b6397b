# SPDX-License-Identifier: Apache-2.0
"""Custom forces added to a System."""

from __future__ import annotations

from dataclasses import replace

from .custom_forces import CustomForce, CustomForces
from .system import System


def add_forces(system: System, *forces: CustomForce) -> System:
    """A system with further custom forces.

    Parameters
    ----------
    system:
        Any system.
    forces:
        The forces, whose atoms are those of the system.

    Raises
    ------
    InputError
        If an atom does not exist.
    """
    before = () if system.custom is None else tuple(system.custom.forces)
    return replace(system, custom=CustomForces((*before, *forces)))
