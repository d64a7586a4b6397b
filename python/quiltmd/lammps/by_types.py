# SPDX-License-Identifier: Apache-2.0
"""Pair styles of LAMMPS that have coefficients by types: Lennard-Jones, Morse and Buckingham.

Sources: https://docs.lammps.org/pair_lj_cut_coul.html, pair_charmm.html, pair_morse.html,
pair_buck.html, pair_modify.html.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..description.embedded import EmbeddedAtoms
from ..description.nonbonded import Nonbonded
from ..description.three_body import ThreeBodyAtoms
from .data import DataFile
from .script import Command
from .units import Units

F64 = npt.NDArray[np.float64]

_DIGITS = 12  # of a cutoff in nm: 2.5 * 0.34 is 0.85
_LENNARD_JONES = "lennard-jones"


@dataclass(frozen=True)
class Forces:
    """Forces between pairs, in our units.

    Attributes
    ----------
    nonbonded:
        Settings.
    a, b:
        Lennard-Jones coefficients by types; empty with another form.
    pair_form, pair_tables:
        As of a System.
    sizes:
        Sigma and epsilon by types, for pairs that `special_bonds` scales; None: no such pairs.
    sizes14:
        Likewise for 1-4 pairs at the ends of dihedrals.
    embedded:
        Embedded atoms, or None.
    three_body:
        Atoms of a three-body potential, or None.
    masses:
        By type, from 1, where the potential has them.
    """

    nonbonded: Nonbonded
    a: F64
    b: F64
    pair_form: str = _LENNARD_JONES
    pair_tables: tuple[F64, ...] = ()
    sizes: tuple[F64, F64] | None = None
    sizes14: tuple[F64, F64] | None = None
    embedded: EmbeddedAtoms | None = None
    three_body: ThreeBodyAtoms | None = None
    masses: dict[int, float] = field(default_factory=dict)

    @property
    def elements(self) -> list[str] | None:
        """Of each atom, where the potential names them."""
        names: tuple[str, ...]
        if self.embedded is not None:
            names, types = self.embedded.functions.elements, self.embedded.types
        elif self.three_body is not None:
            names, types = self.three_body.potential.elements, self.three_body.types
        else:
            return None
        return [names[kind] for kind in np.asarray(types)]


@dataclass(frozen=True)
class Chosen:
    """pair_style, kspace_style, and what pair_modify says; `mix` is "" by default."""

    style: Command
    mesh: Command | None
    mix: str
    shift: bool
    tail: bool


@dataclass(frozen=True)
class _Style:
    """A style.

    Attributes
    ----------
    values:
        Names of its coefficients.
    form:
        `System.pair_form`.
    charged:
        Whether it has Coulomb interactions, by kspace_style.
    switching:
        `Nonbonded.switching`: then the style has an inner and an outer cutoff.
    mix:
        The rule for pairs of types without coefficients; "" where there is none.
    tables:
        From the coefficients and the units, the parameters of the form, except of Lennard-Jones.
    """

    values: str
    form: str = _LENNARD_JONES
    charged: bool = False
    switching: str = "none"
    mix: str = ""
    tables: Callable[[F64, Units], tuple[F64, ...]] | None = None


def _morse(values: F64, units: Units) -> tuple[F64, ...]:
    depth, alpha, rest = values
    return depth * units.energy, alpha / units.length, rest * units.length


def _buckingham(values: F64, units: Units) -> tuple[F64, ...]:
    a, rho, c = values
    return a * units.energy, 1 / (rho * units.length), c * units.energy * units.length**6


_PLAIN, _WITH_14 = "epsilon sigma", "epsilon sigma epsilon14 sigma14"
BY_TYPES = {
    "lj/cut": _Style(_PLAIN, mix="geometric"),
    "lj/cut/coul/long": _Style(_PLAIN, charged=True, mix="geometric"),
    "lj/charmm/coul/long": _Style(_WITH_14, charged=True, switching="charmm", mix="arithmetic"),
    "morse": _Style("D alpha r0", "morse", tables=_morse),
    "buck": _Style("A rho C", "buckingham", tables=_buckingham),
}
_OPTIONAL = {_WITH_14: _PLAIN}  # of these the rest is that of the first two


def by_types(
    chosen: Chosen,
    coefficients: list[tuple[Command, list[int], list[int]]],
    atoms: DataFile,
    units: Units,
) -> Forces:
    """The forces of such a style.

    Raises
    ------
    InputError
        Where types of atoms have no coefficients, or where commands do not go together.
    """
    style = BY_TYPES[chosen.style.words[0]]
    nonbonded = _settings(chosen, atoms, units)
    values = _table(style, nonbonded, coefficients, atoms, units)
    _check_used(chosen, style, values, atoms)
    if style.tables is not None:
        tables = style.tables(np.nan_to_num(values, nan=1.0), units)
        none = np.zeros((0, 0))
        return Forces(nonbonded, none, none, style.form, tables)
    sizes = []
    for epsilon, sigma in zip(values[::2], values[1::2], strict=True):
        _mix(chosen.mix or style.mix, epsilon, sigma)
        sizes.append((np.nan_to_num(sigma) * units.length, np.nan_to_num(epsilon) * units.energy))
    sigma, epsilon = sizes[0]
    a, b = 4 * epsilon * sigma**12, 4 * epsilon * sigma**6
    return Forces(nonbonded, a, b, sizes=sizes[0], sizes14=sizes[1] if sizes[1:] else None)


def _table(
    style: _Style,
    nonbonded: Nonbonded,
    coefficients: list[tuple[Command, list[int], list[int]]],
    atoms: DataFile,
    units: Units,
) -> F64:
    """(values, types, types) the coefficients, nan where there are none."""
    names = style.values.split()
    fewer = len(_OPTIONAL.get(style.values, style.values).split())
    table = np.full((len(names), atoms.type_count, atoms.type_count), np.nan)
    for command, first, second in coefficients:
        words = range(2, len(command.words))
        values = [command.number(place) for place in words]
        if len(values) in (fewer + 1, len(names) + 1) and style.switching == "none":
            cutoff = values.pop()
            if round(cutoff * units.length, _DIGITS) != nonbonded.cutoff:
                raise command.error("only the cutoff of pair_style, for all types")
        if len(values) not in (fewer, len(names)):
            raise command.error(f"the coefficients of this pair_style are {style.values}")
        if min(values) < 0:
            raise command.error("coefficients must not be negative")
        values += values[: len(names) - len(values)]
        for i in first:
            for j in (j for j in second if j >= i):
                table[:, i - 1, j - 1] = table[:, j - 1, i - 1] = values
    return table


def _check_used(chosen: Chosen, style: _Style, values: F64, atoms: DataFile) -> None:
    """InputError where types of atoms have no coefficients."""
    used = np.unique(atoms.types) - 1
    missing = np.isnan(values[0])[np.ix_(used, used)]
    if style.mix:
        missing &= np.eye(len(used), dtype=bool)
    if missing.any():
        i, j = (used[place] + 1 for place in np.argwhere(missing)[0])
        which = f"type {i} has" if i == j else f"types {i} and {j} have"
        raise chosen.style.error(f"{which} no pair_coeff")


def _mix(rule: str, epsilon: F64, sigma: F64) -> None:
    """Fills in pairs of types that no command names."""
    own, size = np.diag(epsilon).copy(), np.diag(sigma).copy()
    mean = (size[:, None] + size) / 2
    if rule == "geometric":
        mean = np.sqrt(size[:, None] * size)
    missing = np.isnan(epsilon)
    epsilon[missing] = np.sqrt(own[:, None] * own)[missing]
    sigma[missing] = mean[missing]


def _settings(chosen: Chosen, atoms: DataFile, units: Units) -> Nonbonded:
    command = chosen.style
    style = BY_TYPES[command.words[0]]
    cutoffs = [
        round(command.number(place) * units.length, _DIGITS)
        for place in range(1, len(command.words))
    ]
    inner = cutoffs.pop(0) if style.switching != "none" and cutoffs else 0.0
    if len(set(cutoffs)) != 1 or cutoffs[0] <= inner or len(cutoffs) > 1 + style.charged:
        raise command.error("only one cutoff, for all interactions, above the inner one")
    others: dict[str, Any] = {"cutoff": cutoffs[0], "dispersion_correction": chosen.tail}
    if style.switching != "none":
        others |= {"switching": style.switching, "switch_distance": inner}
    if not style.charged:
        if chosen.mesh is not None:
            raise chosen.mesh.error(f"not with pair_style {command.words[0]}")
        if atoms.charges.any():
            raise command.error(f"atoms have charges, which {command.words[0]} does not use")
        return Nonbonded(method="cutoff", potential_shift=chosen.shift, **others)
    if chosen.mesh is None:
        raise command.error("needs kspace_style pppm")
    if chosen.shift:
        raise command.error("pair_modify shift yes is not supported with this style")
    return Nonbonded(method="pme", **others)
