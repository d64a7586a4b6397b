# SPDX-License-Identifier: Apache-2.0
"""Units of LAMMPS: metal, real, and lj as those of argon.

Source: https://docs.lammps.org/units.html.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..reading.units import ANGSTROM, KCAL

EV = 96.48533212331002  # kJ/mol
BOLTZMANN = 0.00831446261815324  # kJ/mol/K
_BAR = 16.6053906717  # of kJ/mol/nm^3
_ATMOSPHERE = 1.01325  # bar
_COULOMB = 138.93545764438198  # kJ/mol nm/e^2
_SIGMA, _EPSILON, _ARGON = 0.34, 0.996, 39.948  # nm, kJ/mol, amu


@dataclass(frozen=True)
class Units:
    """Units of a script in those of Quilt: nm, kJ/mol, amu, ps, K, bar, e."""

    length: float
    energy: float
    mass: float
    time: float
    temperature: float
    pressure: float
    timestep: float  # the default one, ps
    charge: float = 1.0  # e

    @property
    def velocity(self) -> float:
        """nm/ps."""
        return self.length / self.time

    @property
    def stiffness(self) -> float:
        """kJ/mol/nm^2."""
        return self.energy / self.length**2


_LJ_TIME = _SIGMA * math.sqrt(_ARGON / _EPSILON)
UNITS = {
    "metal": Units(ANGSTROM, EV, 1.0, 1.0, 1.0, 1.0, 0.001),
    "real": Units(ANGSTROM, KCAL, 1.0, 0.001, 1.0, _ATMOSPHERE, 0.001),
    "lj": Units(
        _SIGMA,
        _EPSILON,
        _ARGON,
        _LJ_TIME,
        _EPSILON / BOLTZMANN,
        _EPSILON / _SIGMA**3 * _BAR,
        0.005 * _LJ_TIME,
        math.sqrt(_EPSILON * _SIGMA / _COULOMB),
    ),
}
