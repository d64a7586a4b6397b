# SPDX-License-Identifier: Apache-2.0
"""JAX: functions that give an energy as external forces; their gradients are the forces.

It needs `jax` 0.10 or later: `pip install jax`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from .description.external_force import ExternalForce
from .external.model_units import sizes_of


class JaxForce(ExternalForce):
    """A force of which a function in JAX gives the energy, such as a machine-learned potential.

    The function is compiled, and computes in double precision.  It runs on the device of JAX, with
    positions copied there from the CPU.

    Parameters
    ----------
    energy:
        Pure function of the positions (n, 3), an array of JAX, that returns the energy, a scalar.
    atoms:
        As of `ExternalForce`.
    length, unit:
        Units of positions, "nm" or "angstrom", and of the energy, "kJ/mol", "kcal/mol" or "eV".
    name:
        Name of its energy.
    outside:
        As of `ExternalForce`.

    Raises
    ------
    QuiltError
        If a unit is not known.
    """

    def __init__(
        self,
        energy: Callable[[Any], Any],
        atoms: str | Sequence[int] | None = None,
        *,
        length: str = "nm",
        unit: str = "kJ/mol",
        name: str = "jax",
        outside: bool = False,
    ) -> None:
        self.atoms, self.name, self.outside = atoms, name, outside
        self.uses_gpu = jax.default_backend() != "cpu"
        self._length, self._energy = sizes_of(length, unit, "JaxForce")
        self._function = jax.jit(jax.value_and_grad(energy))

    def compute(self, step: int, positions: Any, box: Any) -> tuple[Any, ...]:
        """Energy and forces."""
        with jax.enable_x64(True):
            energy, gradient = self._function(jax.numpy.asarray(positions / self._length))
        return float(energy) * self._energy, -np.asarray(gradient) * (self._energy / self._length)
