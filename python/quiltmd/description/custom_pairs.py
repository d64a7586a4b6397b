# SPDX-License-Identifier: Apache-2.0
"""Pair energies that are expressions, of all pairs of atoms within a cutoff."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .checks import frozen, numbers, real_number
from .custom_names import check_energy_name, place_of_energy
from .expression_programs import compiled
from .expressions import Expression, ExpressionError, Node
from .tabulated import Tabulated, rules_of

_MOST_WITHOUT_CUTOFF = 5000  # atoms
_MOST_GROUPS = 64  # bits of an integer
# OpenMM User Guide, "NonbondedForce": 1 at the switching distance, 0 at the cutoff.
_SWITCH = "select(step(r-{0}),1-x^3*(10-x*(15-6*x)),1); x=(r-{0})/({1}-{0})"
_Groups = Sequence[tuple[npt.ArrayLike, npt.ArrayLike]]


@dataclass(frozen=True, eq=False)
class CustomPairs:
    """An energy of pairs that is an expression, in addition to all other pair interactions.

    Pairs that the system excludes do not have it.

    Attributes
    ----------
    energy:
        The energy in kJ/mol of the distance r, in nm, the same for both orders of the atoms.  A
        parameter `sigma` that atoms have is `sigma1` of one atom and `sigma2` of the other:
        "4*eps*((s/r)^12-(s/r)^6); s=0.5*(sigma1+sigma2)".
    cutoff:
        nm, at most that of the simulation.  None: all pairs interact, each at its distance, which
        needs a system without a periodic box.
    parameters:
        By name, (N,) values of the atoms, or one number for all pairs.
    switch_distance:
        nm: from there to the cutoff, the energy is multiplied by a function that falls from 1 to 0.
    groups:
        Pairs of sets of atoms: an atom of the first interacts with one of the second.  Without
        groups all pairs interact.
    tail:
        Energy and virial of pairs beyond the cutoff, times the volume of the box, kJ/mol nm^3.
    name:
        As for other custom forces.
    functions:
        Tabulated functions by the names under which the expression calls them.

    Raises
    ------
    InputError
        As for other custom forces.
    """

    energy: str
    cutoff: float | None
    parameters: Mapping[str, npt.ArrayLike] = field(default_factory=dict)
    switch_distance: float | None = None
    groups: _Groups = ()
    tail: tuple[float, float] = (0.0, 0.0)
    name: str = "CustomPairs"
    functions: Mapping[str, Tabulated] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_energy_name(self)
        for distance in ("cutoff", "switch_distance"):
            if (given := getattr(self, distance)) is not None:
                length = real_number(f"{self}: {distance}", given, "nm")
                object.__setattr__(self, distance, length)
        values = {
            name: frozen(numbers(f"{self}: {name}", one, "a number or numbers").astype(np.float64))
            for name, one in self.parameters.items()
        }
        for name, value in values.items():
            if not np.isfinite(value).all() or value.ndim > 1:
                raise InputError(f"{self}: the parameter {name!r} needs finite values, one for all")
        object.__setattr__(self, "parameters", values)
        groups = tuple(
            (frozen(np.asarray(one, np.int32)), frozen(np.asarray(other, np.int32)))
            for one, other in self.groups
        )
        object.__setattr__(self, "groups", groups)
        cutoff = np.inf if self.cutoff is None else self.cutoff
        if cutoff <= 0:
            raise InputError(f"{self}: the cutoff must be positive, not {cutoff:g} nm")
        if self.switch_distance is not None and not 0 < self.switch_distance < cutoff < np.inf:
            raise InputError(f"{self}: the switching distance must be between 0 and the cutoff")
        if len(self.groups) > _MOST_GROUPS:
            raise InputError(f"{self}: {len(self.groups)} groups; {_MOST_GROUPS} are possible")
        both = [f"{name}{k}" for k in (1, 2) for name in self.by_atom]
        try:
            expression = Expression(self.energy)
            if self.switch_distance is not None:
                switch = Expression(_SWITCH.format(float(self.switch_distance), float(cutoff)))
                expression.root = Node("*", (expression.root, switch.root))
            made = compiled(
                expression, (list(self.shared), ["r"], both), rules_of(self.functions), {}
            )
        except ExpressionError as error:
            raise InputError(f"{self}: {error}") from None
        object.__setattr__(self, "_compiled", made)

    def __str__(self) -> str:
        return f"the custom force {self.name!r} with the energy '{self.energy}'"

    @property
    def shared(self) -> dict[str, float]:
        """Parameters that all pairs share."""
        values = {name: np.asarray(value) for name, value in self.parameters.items()}
        return {name: float(value) for name, value in values.items() if value.ndim == 0}

    @property
    def by_atom(self) -> dict[str, npt.NDArray[np.float64]]:
        """(N,) parameters of the atoms."""
        values = {name: np.asarray(value) for name, value in self.parameters.items()}
        return {name: value for name, value in values.items() if value.ndim == 1}

    def rows(self, atoms: int) -> npt.NDArray[np.float64]:
        """(N, parameters of an atom)."""
        columns = list(self.by_atom.values())
        return np.column_stack(columns) if columns else np.empty((atoms, 0))

    def check(self, atoms: int) -> None:
        """InputError if there are not as many values as atoms, or groups name others."""
        for name, value in self.by_atom.items():
            if len(value) != atoms:
                raise InputError(
                    f"{self}: the parameter {name!r} has {len(value)} values for {atoms} atoms"
                )
        for both in self.groups:
            for members in map(np.asarray, both):
                if members.size and not 0 <= members.min() <= members.max() < atoms:
                    raise InputError(f"{self}: a group names an atom that does not exist")

    def members(
        self, atoms: int, exclusions: npt.NDArray[np.int32]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """(n,) first and second atoms of all pairs; InputError if there are too many."""
        if atoms > _MOST_WITHOUT_CUTOFF:
            raise InputError(
                f"{self}: {atoms} atoms are too many for all pairs, at most "
                f"{_MOST_WITHOUT_CUTOFF}: give a cutoff"
            )
        acts = np.full((atoms, atoms), not len(self.groups))
        for one, other in self.groups:
            acts[np.ix_(np.asarray(one), np.asarray(other))] = True
        acts |= acts.T
        acts[tuple(exclusions.T)] = acts[tuple(exclusions.T[::-1])] = False
        first, second = np.nonzero(np.triu(acts, 1))
        return first, second

    def arrays(self, atoms: int, energies: Sequence[str] = ()) -> dict[str, Any]:
        """Arrays for the core; `energies` are names of energies of their own."""
        if self.cutoff is None:
            raise ValueError("pairs without a cutoff are terms of the core")
        made = self._compiled  # type: ignore[attr-defined]
        sets = np.zeros((2, atoms if len(self.groups) else 0), np.uint64)
        for bit, both in enumerate(self.groups):
            for row, members in zip(sets, both, strict=True):
                row[np.asarray(members, np.int64)] |= np.uint64(1 << bit)
        return {
            "description": str(self),
            "energy": place_of_energy(self, energies),
            "parameters_of_all": list(self.shared),
            "parameters_per_atom": len(self.by_atom),
            "constants": np.array([*self.shared.values(), *made.numbers], np.float64),
            "parameters": np.ascontiguousarray(self.rows(atoms), np.float64),
            "cutoff": float(self.cutoff),
            "first": sets[0].copy(),
            "second": sets[1].copy(),
            "tail_energy": float(self.tail[0]),
            "tail_virial": float(self.tail[1]),
            "program": made.program,
        }
