# SPDX-License-Identifier: Apache-2.0
"""Custom forces of OpenMM that are energies of a few atoms, as compounds of these atoms.

A CustomCentroidBondForce between groups of one atom is one. So is a CustomCVForce if each of its
collective variables is the energy of one term of a custom force, or of another such CustomCVForce.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..description.custom_forces import CustomCompound, CustomTerms
from ..description.expressions import Expression, Node
from ..description.tabulated import Tabulated
from . import custom
from .centroids import CENTROID, VARIABLES, is_spring
from .tabulated import functions_of

# Variables of other classes in a CustomCompoundBondForce.
AS_COMPOUND = {
    custom.BOND: "r=distance(p1,p2)",
    custom.ANGLE: "theta=angle(p1,p2,p3)",
    custom.TORSION: "theta=dihedral(p1,p2,p3,p4)",
    custom.EXTERNAL: "x=x1; y=y1; z=z1",
}
_OPERATORS = frozenset("+-*/^")
_OF_ATOMS = ("distance", "angle", "dihedral")  # functions whose arguments are atoms
_TermsOf = Callable[[Any], CustomTerms]


def is_compound(force: Any) -> bool:
    """Whether a force is an energy of single atoms: no collective restraint."""
    if type(force).__name__ == CENTROID:
        groups = [force.getGroupParameters(k)[0] for k in range(force.getNumGroups())]
        return all(len(atoms) == 1 for atoms in groups) and not is_spring(force)
    if type(force).__name__ != VARIABLES:
        return False
    inner = _inner(force)
    of_places = [one for one in inner if type(one).__name__ != custom.EXTERNAL]
    periodic = {one.usesPeriodicBoundaryConditions() for one in of_places}
    return (
        bool(inner)
        and periodic <= {force.usesPeriodicBoundaryConditions()}
        and all(_is_term(one) for one in inner)
    )


def of_centroids(force: Any, name: str) -> CustomCompound:
    """The compound of a CustomCentroidBondForce between groups of one atom."""
    names = [force.getPerBondParameterName(k) for k in range(force.getNumPerBondParameters())]
    bonds = [force.getBondParameters(k) for k in range(force.getNumBonds())]
    atoms = [[force.getGroupParameters(group)[0][0] for group in groups] for groups, _ in bonds]
    values = np.array([row for _, row in bonds], np.float64).reshape(len(bonds), len(names))
    places = {f"g{k + 1}": f"p{k + 1}" for k in range(force.getNumGroupsPerBond())}
    return CustomCompound(
        _text(_put_in(Expression(force.getEnergyFunction()).root, {}, places)),
        np.array(atoms, np.int32).reshape(len(bonds), len(places)),
        {**custom.globals_of(force), **dict(zip(names, values.T, strict=True))},
        name,
        functions_of(force),
    )


def of_variables(force: Any, name: str, terms_of: _TermsOf) -> CustomCompound:
    """The compound of a CustomCVForce whose variables are terms."""
    whole = _value_of(force, terms_of)
    return CustomCompound(
        _text(whole.root),
        np.array([whole.atoms], np.int32),
        whole.parameters,
        name,
        whole.functions,
    )


@dataclass(frozen=True)
class _Value:
    """An energy of atoms that it calls p1, p2, ..."""

    root: Node
    atoms: tuple[int, ...]
    parameters: dict[str, float]
    functions: dict[str, Tabulated]


def _inner(force: Any) -> list[Any]:
    return [force.getCollectiveVariable(k) for k in range(force.getNumCollectiveVariables())]


def _is_term(force: Any) -> bool:
    kind = type(force).__name__
    if kind in (CENTROID, VARIABLES):
        return is_compound(force) and (kind == VARIABLES or force.getNumBonds() == 1)
    return kind in (*AS_COMPOUND, custom.COMPOUND) and len(custom.read_terms(force)[1]) == 1


def _value_of(force: Any, terms_of: _TermsOf) -> _Value:
    if type(force).__name__ != VARIABLES:
        return _value_of_term(terms_of(force), type(force).__name__)
    atoms: list[int] = []
    parameters: dict[str, float] = {}
    functions: dict[str, Tabulated] = functions_of(force)
    variables: dict[str, Node] = {}
    for k, one in enumerate(_inner(force)):
        found = _value_of(one, terms_of)
        atoms += [atom for atom in found.atoms if atom not in atoms]
        numbers = {f"{j + 1}": f"{atoms.index(atom) + 1}" for j, atom in enumerate(found.atoms)}
        own = {name: f"{name}_of_{k + 1}" for name in found.functions}
        names = {c + old: Node(c + new) for old, new in numbers.items() for c in "xyz"}
        places = {f"p{old}": f"p{new}" for old, new in numbers.items()}
        variables[force.getCollectiveVariableName(k)] = _put_in(found.root, names, places, own)
        parameters |= found.parameters
        functions |= {own[name]: table for name, table in found.functions.items()}
    root = _put_in(Expression(force.getEnergyFunction()).root, variables, {})
    # Its own values hold in its variables, too.
    return _Value(root, tuple(atoms), parameters | custom.globals_of(force), functions)


def _value_of_term(terms: CustomTerms, kind: str) -> _Value:
    values = {name: Node(float(value[0])) for name, value in terms.by_term.items()}
    root = Expression(f"{terms.energy}; {AS_COMPOUND.get(kind, '')}").root
    return _Value(
        _put_in(root, values, {}),
        tuple(np.asarray(terms.atoms)[0].tolist()),
        dict(terms.shared),
        dict(terms.functions),
    )


def _put_in(
    node: Node,
    names: Mapping[str, Node],
    places: Mapping[str, str],
    functions: Mapping[str, str] | None = None,
) -> Node:
    """The expression with other parts for names, and other names of atoms and of functions."""
    value = str(node.value)
    if node.arguments is None:
        return node if isinstance(node.value, float) else names.get(value, node)
    if value in _OF_ATOMS:
        atoms = [str(one.value) for one in node.arguments]
        return Node(value, tuple(Node(places.get(one, one)) for one in atoms))
    arguments = tuple(_put_in(one, names, places, functions) for one in node.arguments)
    return Node((functions or {}).get(value, value), arguments)


def _text(node: Node) -> str:
    """The text of an expression."""
    if node.arguments is None:
        return f"({node.value!r})" if isinstance(node.value, float) else str(node.value)
    parts = [_text(one) for one in node.arguments]
    if node.value in _OPERATORS:
        return f"({parts[0]}{node.value}{parts[1]})"
    if node.value == "negate":
        return f"(-{parts[0]})"
    return f"{node.value}({','.join(parts)})"
