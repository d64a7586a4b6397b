# SPDX-License-Identifier: Apache-2.0
"""Periods of vibrations, which limit time steps and the impulses of r-RESPA."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .custom_forces import CustomBond
from .custom_minima import minima
from .system import System


@dataclass(frozen=True)
class Vibration:
    """The vibration of two atoms that a spring holds together, as if they were alone.

    Attributes
    ----------
    period:
        ps, in the harmonic limit; infinite where nothing vibrates.
    term, atoms:
        The term in words, with an article, and its atoms; "" where nothing vibrates.
    """

    period: float = float("inf")
    term: str = ""
    atoms: tuple[int, ...] = ()


def fastest_vibration(system: System) -> Vibration:
    """The vibration with the shortest period, over all forms that hold two atoms together."""
    fastest = Vibration()
    for term, atoms, stiffness in _springs(system):
        masses = system.masses[atoms]
        product = masses.prod(axis=1)
        real = product > 0  # a bond to a virtual site has no period
        squared = np.where(real, stiffness, 0) / np.where(real, product, 1) * masses.sum(axis=1)
        row = int(squared.argmax())  # 1/ps^2
        if squared[row] > 0 and 2 * np.pi / np.sqrt(squared[row]) < fastest.period:
            period = float(2 * np.pi / np.sqrt(squared[row]))
            fastest = Vibration(period, term, tuple(atoms[row].tolist()))
    return fastest


def _springs(system: System) -> Iterator[tuple[str, NDArray[np.int32], NDArray[np.float64]]]:
    """Terms that hold two atoms together: in words, their atoms and force constants."""
    for terms in system.terms.present():
        if terms.form.holds_atoms and terms.form.minimum is not None:
            yield terms.form.the, terms.atoms, terms.form.minimum.stiffness(terms.parameters)
    for force in () if system.custom is None else system.custom.terms:
        if isinstance(force, CustomBond) and len(force):
            yield f"the bond of {force}", np.asarray(force.atoms), np.nan_to_num(minima(force)[1])
