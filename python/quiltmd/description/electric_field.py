# SPDX-License-Identifier: Apache-2.0
"""A uniform electric field: a constant force on every charge."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError, QuiltWarning
from .checks import in_unit, numbers
from .constant_forces import force_fields
from .system import System

F64 = npt.NDArray[np.float64]

ELECTRONVOLT = 96.48533212331001  # kJ/mol, CODATA 2018: a field of 1 V/nm pulls a charge of 1 e so
_STRONG = 10.0  # V/nm; molecules are ionised by a few tens


def apply_electric_field(system: System, field: Sequence[float]) -> System:
    """Adds a uniform electric field to a system.

    Parameters
    ----------
    system:
        The system, with its final charges and constraints.
    field:
        (3,) V/nm.

    Raises
    ------
    InputError
        If the field is not three finite numbers.

    Warns of fields beyond 10 V/nm, which were probably meant in V/m.
    """
    given: object = field
    if isinstance(given, str):  # which is a sequence, too
        raise InputError(f"field must be three numbers, V/nm, not {given!r}")
    vector = numbers("field", in_unit("field", field, "V/nm"), "three numbers, V/nm")
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise InputError(f"field must be three finite numbers, V/nm, not {field}")
    strongest = float(np.abs(vector).max())
    if strongest > _STRONG:
        warnings.warn(
            f"an electric field of {strongest:g} V/nm tears molecules apart: fields are in V/nm, "
            f"and {strongest:g} V/m are {strongest * 1e-9:g} V/nm",
            QuiltWarning,
            stacklevel=2,
        )
    found = force_fields(system.links, ELECTRONVOLT * system.charges[:, None] * vector)
    changed: dict[str, Any] = {
        name: np.concatenate([getattr(system, name), rows]) for name, rows in found.items()
    }
    return replace(system, **changed)


def forces_of(system: System) -> F64:
    """(N, 3) kJ/mol/nm: the sum of the constant forces on each atom."""
    forces = np.zeros((system.atoms, 3))
    np.add.at(forces, system.constant_forces[:, 0], system.constant_force_parameters[:, 6:])
    np.add.at(forces, system.opposite_forces[:, 1], system.opposite_force_parameters)
    np.subtract.at(forces, system.opposite_forces[:, 0], system.opposite_force_parameters)
    return forces
