# SPDX-License-Identifier: Apache-2.0
"""Forces whose energy is an expression: bonds, angles, torsions, single atoms and small groups.

The language is that of OpenMM's custom forces (docs/user/custom-forces.md).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .checks import frozen, numbers, real_number
from .custom_names import check_energy_name, has_own_energy, place_of_energy
from .custom_pairs import CustomPairs
from .expression_graph import PERIODIC_DISTANCE, Rule
from .expression_programs import compiled
from .expressions import Expression, ExpressionError, Node
from .net_forces import held_axes
from .parts import Part
from .tabulated import Tabulated, rules_of

_NAME = re.compile(r"[A-Za-z_]\w*")
_MOST_ATOMS = 8  # kMaxExpressionAtoms
_Variable = tuple[str, tuple[int, ...]]  # kind of the core, and atoms of the term


@dataclass(frozen=True, eq=False)
class CustomTerms:
    """Terms whose energy is an expression.

    Use one of the classes derived from it.

    Attributes
    ----------
    energy:
        The energy in kJ/mol, in the language of OpenMM's custom forces, of lengths in nm and angles
        in radians: "0.5*k*(r-r0)^2; r0=1.1*length".
    atoms:
        (n, atoms of a term) int32.
    parameters:
        By name, (n,) values for each term, or one number for all terms, which
        `Simulation.set_conditions` changes.
    name:
        Name of the energy in `Simulation.energies` and logs, of letters, digits and _; forces of
        one name have one energy.  By default the class: the energy is part of `custom`.
    functions:
        Tabulated functions by the names under which the expression calls them.

    Raises
    ------
    InputError
        If the expression has an error, a name or function that is not known, or arrays of the wrong
        shape.
    """

    size: ClassVar[int]
    noun: ClassVar[str]  # of a term
    names: ClassVar[Mapping[str, _Variable]]
    known: ClassVar[Mapping[str, tuple[int, Rule]]] = {}  # functions besides those of the language

    energy: str
    atoms: npt.ArrayLike
    parameters: Mapping[str, npt.ArrayLike] = field(default_factory=dict)
    name: str = ""
    functions: Mapping[str, Tabulated] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or type(self).__name__)
        check_energy_name(self)
        object.__setattr__(self, "atoms", self._checked_atoms())
        object.__setattr__(self, "parameters", self._checked_parameters())
        try:
            expression = Expression(self.energy)
            variables, internal = self.variables(expression)
            names = (list(self.shared), list(variables), list(self.by_term))
            made = compiled(expression, names, {**self.known, **rules_of(self.functions)}, internal)
        except ExpressionError as error:
            raise InputError(f"{self}: {error}") from None
        except RecursionError:
            raise InputError(f"{self}: the expression is too deep") from None
        object.__setattr__(self, "_compiled", (list(variables.values()), made))

    def __str__(self) -> str:
        return f"the custom force {self.name!r} with the energy '{self.energy}'"

    def __len__(self) -> int:
        return len(np.asarray(self.atoms))

    def variables(self, _: Expression) -> tuple[dict[str, _Variable], dict[Node, str]]:
        """Variables by name, and names of those that parts of the expression stand for."""
        return dict(self.names), {}

    @property
    def shared(self) -> dict[str, float]:
        """Parameters that all terms share."""
        values = {name: np.asarray(value) for name, value in self.parameters.items()}
        return {name: float(value) for name, value in values.items() if value.ndim == 0}

    @cached_property
    def held_axes(self) -> tuple[bool, bool, bool]:
        """For x, y and z: whether the forces on the atoms of a term may not add up to zero."""
        expression = Expression(self.energy)
        variables, internal = self.variables(expression)
        zero = {name for name, values in self.by_term.items() if not values.any()}
        return held_axes(
            expression,
            {name: kind for name, (kind, _) in variables.items() if name not in internal.values()},
            zero,
            {**self.known, **rules_of(self.functions)},
            list(internal),
        )

    @property
    def by_term(self) -> dict[str, npt.NDArray[np.float64]]:
        """(n,) parameters of each term."""
        values = {name: np.asarray(value) for name, value in self.parameters.items()}
        return {name: value for name, value in values.items() if value.ndim == 1}

    def arrays(self, energies: Sequence[str] = ()) -> dict[str, Any]:
        """Arrays for the core; `energies` are names of energies of their own."""
        variables, made = self._compiled  # type: ignore[attr-defined]
        columns = [np.asarray(value) for value in self.by_term.values()]
        rows = np.column_stack(columns) if columns else np.empty((len(self), 0))
        members = [(*atoms, *(0,) * (4 - len(atoms))) for _, atoms in variables]
        return {
            "description": str(self),
            "energy": place_of_energy(self, energies),
            "parameters_of_all": list(self.shared),
            "atoms_per_term": np.asarray(self.atoms).shape[1],
            "parameters_per_term": len(columns),
            "constants": np.array([*self.shared.values(), *made.numbers], np.float64),
            "kinds": [kind for kind, _ in variables],
            "members": np.array(members, np.int32).reshape(-1, 4),
            "atoms": np.array(self.atoms),
            "parameters": np.ascontiguousarray(rows, np.float64),
            "program": made.program,
        }

    def _checked_atoms(self) -> npt.NDArray[np.int32]:
        given = np.asarray(self.atoms)
        own = getattr(self, "size", None)
        size = own or (given.shape[-1] if given.ndim == 2 else 0)
        if given.dtype.kind not in "iu" and given.size:
            raise InputError(f"{self}: atoms must be whole numbers")
        atoms = given.astype(np.int32).reshape(-1, 1) if size == 1 else given.astype(np.int32)
        if atoms.ndim != 2 or atoms.shape[1] != size or not 1 <= size <= _MOST_ATOMS:
            raise InputError(
                f"{self}: atoms must have the shape (n, {own or f'1 to {_MOST_ATOMS}'}), not "
                f"{given.shape}"
            )
        twice = (np.diff(np.sort(atoms, axis=1)) == 0).any(axis=1)
        if twice.any():
            raise InputError(f"{self}: term {int(np.argmax(twice))} names an atom twice")
        return frozen(atoms)

    def _checked_parameters(self) -> dict[str, Any]:
        checked: dict[str, Any] = {}
        for name, given in self.parameters.items():
            values = numbers(f"{self}: {name}", given, "a number or numbers").astype(np.float64)
            if not _NAME.fullmatch(name) or name in getattr(self, "names", {}):
                raise InputError(f"{self}: {name!r} cannot be the name of a parameter")
            if values.ndim > 1 or (values.ndim == 1 and len(values) != len(self)):
                raise InputError(
                    f"{self}: the parameter {name!r} needs one value, or {len(self)}, one for each "
                    f"term, not an array of the shape {values.shape}"
                )
            if not np.isfinite(values).all():
                raise InputError(f"{self}: a value of the parameter {name!r} is not finite")
            checked[name] = frozen(values)
        return checked


@dataclass(frozen=True, eq=False)
class CustomBond(CustomTerms):
    """Bonds with an energy of the distance r, in nm, between two atoms.

    Distances are those of nearest images.  Atoms of a bond belong to one molecule.
    """

    size: ClassVar[int] = 2
    noun: ClassVar[str] = "Bond"
    names: ClassVar[Mapping[str, _Variable]] = {"r": ("distance", (0, 1))}


@dataclass(frozen=True, eq=False)
class CustomAngle(CustomTerms):
    """Angles with an energy of theta, 0 to pi, at the second of three atoms."""

    size: ClassVar[int] = 3
    noun: ClassVar[str] = "Angle"
    names: ClassVar[Mapping[str, _Variable]] = {"theta": ("angle", (0, 1, 2))}


@dataclass(frozen=True, eq=False)
class CustomTorsion(CustomTerms):
    """Torsions with an energy of theta, -pi to pi, of four atoms; 0 is cis."""

    size: ClassVar[int] = 4
    noun: ClassVar[str] = "Torsion"
    names: ClassVar[Mapping[str, _Variable]] = {"theta": ("torsion", (0, 1, 2, 3))}


@dataclass(frozen=True, eq=False)
class CustomExternal(CustomTerms):
    """Single atoms with an energy of their coordinates x, y, z, in nm.

    The coordinates are those of a State, not wrapped into the box; periodicdistance(x, y, z, x0,
    y0, z0) is a distance between nearest images.  Along the axes on which the force acts, the
    motion of the centre of mass is not removed.
    """

    size: ClassVar[int] = 1
    noun: ClassVar[str] = "Particle"
    names: ClassVar[Mapping[str, _Variable]] = {axis: (axis, (0,)) for axis in "xyz"}
    known: ClassVar[Mapping[str, tuple[int, Rule]]] = PERIODIC_DISTANCE


_INTERNAL = {"distance": ("distance", 2), "angle": ("angle", 3), "dihedral": ("torsion", 4)}


@dataclass(frozen=True, eq=False)
class CustomCompound(CustomTerms):
    """Groups of one to eight atoms p1, p2, ... with an energy of several variables.

    These are distance(p1, p2), angle(p1, p2, p3) and dihedral(p1, p2, p3, p4), between nearest
    images, and the coordinates x1, y1, z1, x2, ... as in a State.  Along axes on which the energy
    changes when all atoms move together, the motion of the centre of mass is not removed.
    """

    noun: ClassVar[str] = "Bond"

    def variables(self, expression: Expression) -> tuple[dict[str, _Variable], dict[Node, str]]:
        """Variables by name, and names of those that parts of the expression stand for."""
        count = np.asarray(self.atoms).shape[1]
        atoms = {f"p{k + 1}": k for k in range(count)}
        found: dict[str, _Variable] = {}
        internal: dict[Node, str] = {}
        for node in expression.root.walk():
            if node.value not in _INTERNAL or node.arguments is None:
                continue
            kind, size = _INTERNAL[str(node.value)]
            members = [atoms.get(str(one.value), -1) for one in node.arguments]
            if len(members) != size or min(members) < 0 or len(set(members)) < size:
                raise ExpressionError(
                    f"'{node.value}' needs {size} different atoms among {', '.join(atoms)}"
                )
            name = f"{node.value} {members}"
            found[name], internal[node] = (kind, tuple(members)), name
        used = expression.names()
        for axis in "xyz":
            for k in range(count):
                if f"{axis}{k + 1}" in used:
                    found[f"{axis}{k + 1}"] = (axis, (k,))
        return found, internal


_CONDITION = "parameter "  # before the name of a condition; kCustomParameter of the core


def changed_parameters(values: Mapping[str, float]) -> dict[str, float]:
    """Conditions of the core for new values of parameters that all terms of custom forces share."""
    return {
        _CONDITION + name: real_number(f"the parameter {name!r}", value)
        for name, value in values.items()
    }


# Any of them.
CustomForce = (
    CustomBond | CustomAngle | CustomTorsion | CustomExternal | CustomCompound | CustomPairs
)


@dataclass(frozen=True, eq=False)
class CustomForces(Part):
    """The custom forces of a System.

    Attributes
    ----------
    forces:
        In any order.
    """

    called: ClassVar[str] = "custom forces"

    forces: Sequence[CustomForce]

    def __post_init__(self) -> None:
        object.__setattr__(self, "forces", tuple(self.forces))

    @property
    def terms(self) -> tuple[CustomTerms, ...]:
        """Those of terms."""
        return tuple(one for one in self.forces if isinstance(one, CustomTerms))

    @property
    def pairs(self) -> tuple[CustomPairs, ...]:
        """Those of all pairs of atoms."""
        return tuple(one for one in self.forces if isinstance(one, CustomPairs))

    def check(self, system: Any) -> None:
        """InputError if an atom does not exist."""
        for pair in self.pairs:
            pair.check(system.atoms)
        for force in self.terms:
            atoms = np.asarray(force.atoms)
            missing = (atoms < 0) | (atoms >= system.atoms)
            if missing.any():
                raise InputError(
                    f"{force}: atom {int(atoms[missing][0])} does not exist; the {system.atoms} "
                    "atoms are counted from 0"
                )

    @property
    def links(self) -> npt.NDArray[np.int32]:
        """(n, 2) pairs of atoms that bonds join."""
        bonds = [np.asarray(f.atoms) for f in self.terms if isinstance(f, CustomBond)]
        return np.concatenate([np.empty((0, 2), np.int32), *bonds])

    @property
    def energies(self) -> list[str]:
        """Names of the energies that are not part of `custom`."""
        return list(dict.fromkeys(one.name for one in self.forces if has_own_energy(one)))

    def arrays(self, system: Any) -> dict[str, Any]:
        """Arrays for the core, for which pairs without a cutoff are bonds."""
        energies = self.energies
        every = [_all_pairs(pair, system) for pair in self.pairs if pair.cutoff is None]
        terms = [force for force in (*self.terms, *every) if len(force)]
        pairs = [pair for pair in self.pairs if pair.cutoff is not None]
        return {
            "energies": energies,
            "forces": [force.arrays(energies) for force in terms],
            "pairs": [pair.arrays(system.atoms, energies) for pair in pairs],
        }


def _all_pairs(pair: CustomPairs, system: Any) -> CustomBond:
    """Pairs without a cutoff as terms of two atoms."""
    first, second = pair.members(system.atoms, system.exclusions)
    rows = {
        f"{name}{k}": values[atoms]
        for name, values in pair.by_atom.items()
        for k, atoms in ((1, first), (2, second))
    }
    name = pair.name if has_own_energy(pair) else ""
    atoms = np.column_stack([first, second])
    return CustomBond(pair.energy, atoms, {**pair.shared, **rows}, name, pair.functions)
