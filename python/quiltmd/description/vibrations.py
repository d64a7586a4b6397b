# SPDX-License-Identifier: Apache-2.0
"""Periods of vibrations, which limit time steps and the impulses of r-RESPA."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .system import System
from .term_forms import TermForm


@dataclass(frozen=True)
class Vibration:
    """The vibration of two atoms that a spring holds together, as if they were alone.

    Attributes
    ----------
    period:
        ps, in the harmonic limit; infinite where nothing vibrates.
    form, atoms:
        Form and atoms of the term.
    """

    period: float = float("inf")
    form: TermForm | None = None
    atoms: tuple[int, ...] = ()


def fastest_vibration(system: System) -> Vibration:
    """The vibration with the shortest period, over all forms that hold two atoms together."""
    fastest = Vibration()
    for terms in system.terms.present():
        if not terms.form.holds_atoms or terms.form.minimum is None:
            continue
        masses = system.masses[terms.atoms]
        product = masses.prod(axis=1)
        real = product > 0  # a bond to a virtual site has no period
        stiffness = np.where(real, terms.form.minimum.stiffness(terms.parameters), 0)
        squared = stiffness / np.where(real, product, 1) * masses.sum(axis=1)  # 1/ps^2
        row = int(squared.argmax())
        if squared[row] > 0 and 2 * np.pi / np.sqrt(squared[row]) < fastest.period:
            period = float(2 * np.pi / np.sqrt(squared[row]))
            fastest = Vibration(period, terms.form, tuple(terms.atoms[row].tolist()))
    return fastest
