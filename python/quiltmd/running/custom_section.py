# SPDX-License-Identifier: Apache-2.0
"""Forces given by an expression: [[custom]] of a configuration."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from ..description.added_forces import add_forces
from ..description.custom_forces import (
    CustomAngle,
    CustomBond,
    CustomCompound,
    CustomExternal,
    CustomForce,
    CustomTerms,
    CustomTorsion,
)
from ..description.custom_pairs import CustomPairs
from ..description.selection import select
from ..description.system import System
from ..description.tabulated import Tabulated
from ..description.units import Nanometres
from ..errors import QuiltError
from .section import Section

_Values = float | tuple[float, ...] | dict[str, float]
_TERMS: dict[str, type[CustomTerms]] = {
    "bond": CustomBond,
    "angle": CustomAngle,
    "torsion": CustomTorsion,
    "compound": CustomCompound,
    "external": CustomExternal,
}


class FunctionTable(Section):
    """[custom.functions.NAME]: values of a tabulated function, as of `Tabulated`."""

    values: tuple[Any, ...] = Field(description="Values on a grid: numbers, or lists of them.")
    ranges: tuple[tuple[float, float], ...] = Field(
        default=(), description="First and last value of each argument; none: whole numbers."
    )
    periodic: bool = Field(default=False, description="Continue it periodically.")

    def build(self, name: str) -> Tabulated:
        """The function; QuiltError, which names it, if it makes no sense."""
        try:
            values = np.array(self.values, np.float64)
            return Tabulated(values, self.ranges or None, self.periodic)
        except (ValueError, TypeError, QuiltError) as error:
            raise QuiltError(f"the function {name!r}: {error}") from None


class CustomSection(Section):
    """[[custom]]: a force whose energy is an expression."""

    kind: Literal["bond", "angle", "torsion", "compound", "external", "pairs"] = Field(
        description="Kind: bond, angle, torsion, compound (groups of atoms), external (single "
        "atoms) or pairs (all within a cutoff)."
    )
    energy: str = Field(description="The energy, kJ/mol, in the language of OpenMM.")
    name: str = Field(default="", description="Name of the energy in the log.")
    atoms: tuple[tuple[str, ...], ...] = Field(
        default=(), description="Terms: for each a selection of one atom for each of its places."
    )
    select: str | None = Field(default=None, description="external: the atoms.")
    parameters: dict[str, _Values] = Field(
        default_factory=dict,
        description="By name: a number for all, a list with one for each term, or for atoms a "
        "table with numbers by selections, of which the last that has an atom counts.",
    )
    functions: dict[str, FunctionTable] = Field(
        default_factory=dict, description="Tabulated functions by name."
    )
    cutoff: Nanometres | None = Field(
        default=None, gt=0, description="pairs: nm; none: all pairs, without a periodic box."
    )
    switch_distance: Nanometres | None = Field(
        default=None, gt=0, description="pairs: distance from which the energy is switched off, nm."
    )
    groups: tuple[tuple[str, str], ...] = Field(
        default=(), description="pairs: pairs of selections between which the force acts."
    )

    @model_validator(mode="after")
    def _has_its_atoms(self) -> CustomSection:
        of_pairs = {"cutoff", "switch_distance", "groups"}
        own = {"external": {"select"}, "pairs": of_pairs}.get(self.kind, {"atoms"})
        fields = {"atoms", "select", *of_pairs}
        defaults = {name: type(self).model_fields[name].default for name in fields}
        given = {name for name, value in defaults.items() if getattr(self, name) != value}
        if stray := sorted(given - own):
            raise ValueError(f"kind = '{self.kind}' has no {', '.join(stray)}: leave it out")
        if self.kind != "pairs" and not getattr(self, *own):
            raise ValueError(f"kind = '{self.kind}' needs {', '.join(own)}")
        return self

    def apply(self, system: System) -> System:
        """The system with this force; QuiltError, which names it, if it does not suit."""
        try:
            return add_forces(system, self._force(system))
        except QuiltError as error:
            raise QuiltError(f"[[custom]] {self.name or self.kind}: {error}") from None

    def _force(self, system: System) -> CustomForce:
        functions = {name: one.build(name) for name, one in self.functions.items()}
        if self.kind == "pairs":
            return CustomPairs(
                self.energy,
                self.cutoff,
                self._by_atom(system, np.arange(system.atoms)),
                self.switch_distance,
                [(select(system, one), select(system, other)) for one, other in self.groups],
                name=self.name or CustomPairs.__name__,
                functions=functions,
            )
        if self.select is not None:
            chosen = select(system, self.select)
            values = self._by_atom(system, chosen)
            return CustomExternal(self.energy, chosen, values, self.name, functions)
        if any(isinstance(value, dict) for value in self.parameters.values()):
            raise QuiltError(f"parameters by selections are not for kind = '{self.kind}'")
        if len({len(term) for term in self.atoms}) > 1:
            raise QuiltError("terms need the same number of atoms")
        rows = np.array([[_one_atom(system, one) for one in term] for term in self.atoms])
        parameters: dict[str, Any] = dict(self.parameters)
        made = _TERMS[self.kind](self.energy, rows, parameters, self.name, functions)
        assert isinstance(made, CustomForce)
        return made

    def _by_atom(self, system: System, atoms: NDArray[np.int64]) -> dict[str, Any]:
        """Parameters of these atoms."""
        return {
            name: _values(system, atoms, name, value) if isinstance(value, dict) else value
            for name, value in self.parameters.items()
        }


def _one_atom(system: System, text: str) -> int:
    found = select(system, text)
    if len(found) > 1:
        raise QuiltError(f"{text!r} selects {len(found)} atoms: select one")
    return int(found[0])


def _values(
    system: System, atoms: NDArray[np.int64], name: str, given: dict[str, float]
) -> NDArray[np.float64]:
    """(n,) Values of atoms from those of selections."""
    values = np.full(system.atoms, np.nan)
    for text, value in given.items():
        values[select(system, text)] = value
    without = atoms[np.isnan(values[atoms])]
    if len(without):
        raise QuiltError(
            f"{system.topology.describe(int(without[0]))} has no value of the parameter {name!r}: "
            "select it, or give a value to 'all' first"
        )
    return values[atoms]
