# SPDX-License-Identifier: Apache-2.0
"""Along which axes an energy that is an expression conserves the total momentum.

It does along x if it stays the same when all atoms of a term move along x: if the sum of its
derivatives by their x coordinates is zero.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from .expression_graph import Graph, Rule, part_of
from .expressions import Expression, Node


def held_axes(
    expression: Expression,
    coordinates: Mapping[str, str],
    zero: Collection[str] = (),
    functions: Mapping[str, tuple[int, Rule]] | None = None,
    internal: Collection[Node] = (),
) -> tuple[bool, bool, bool]:
    """For x, y and z: whether the forces on the atoms of a term may not add up to zero.

    The sum of derivatives is found as an expression: where it is zero only for some values of
    parameters, or after rearrangement, it counts as not zero.

    Parameters
    ----------
    expression:
        The energy of a term.
    coordinates:
        The names of variables that are coordinates, with their axes: "x", "y" or "z".
    zero:
        Names of parameters that are zero in all terms.
    functions:
        Functions besides those of the language, for `part_of`.
    internal:
        Parts of the expression that are internal coordinates of the atoms.

    Raises
    ------
    ExpressionError
        If a function is not known.
    """
    graph = Graph()
    known = {
        name: graph.number(0) if name in zero else graph.name(name) for name in expression.names()
    }
    replaced = {node: graph.name(f"internal {k}") for k, node in enumerate(internal)}
    energy = part_of(graph, expression.root, known, functions or {}, replaced)

    def holds(axis: str) -> bool:
        along = [known[name] for name, of in coordinates.items() if of == axis and name in known]
        return bool(along) and graph.value(graph.derivative(energy, *along)) != 0

    return holds("x"), holds("y"), holds("z")
