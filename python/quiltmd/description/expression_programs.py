# SPDX-License-Identifier: Apache-2.0
"""Programs for the core from graphs of expressions: operations on registers, without branches.

The first registers have the constants, the variables and the parameters of a term, in this order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .expression_graph import Graph, Rule, part_of
from .expressions import Expression, Node


@dataclass(frozen=True)
class Compiled:
    """An energy and its derivatives as a program.

    Attributes
    ----------
    numbers:
        The constants of the expression; the shared parameters come before them.
    program:
        Arrays of the program, whose results are the energy, its derivative by each variable, and
        six numbers for each distance between periodic images: the shift to the image, and the
        derivative by the vector.
    """

    numbers: tuple[float, ...]
    program: dict[str, Any]


def compiled(
    expression: Expression,
    names: tuple[Sequence[str], Sequence[str], Sequence[str]],
    functions: Mapping[str, tuple[int, Rule]],
    internal: Mapping[Node, str],
) -> Compiled:
    """The program of an expression.

    Parameters
    ----------
    expression:
        The energy.
    names:
        Of parameters that all terms share, of variables, and of parameters of each term.
    functions:
        Functions besides those of the language.
    internal:
        Names of variables by the parts of the expression that they replace.

    Raises
    ------
    ExpressionError
        If a name or function is not known.
    """
    shared, variables, parameters = names
    graph = Graph()
    parts = {name: graph.name(name) for name in (*shared, *variables, *parameters)}
    known = {name: parts[name] for name in parts if name not in internal.values()}
    replaced = {node: parts[name] for node, name in internal.items()}
    energy = part_of(graph, expression.root, known, functions, replaced)
    results = [energy, *(graph.derivative(energy, parts[name]) for name in variables)]
    for image in dict.fromkeys(graph.images):
        vector = graph.parts[image[0]].arguments
        results += [graph.apply("-", *both) for both in zip(vector, image, strict=True)]
        results += [graph.derivative(energy, one) for one in image]
    numbers = [p for p in graph.reached(results) if graph.value(p) is not None]
    given = [
        *(parts[name] for name in shared),
        *numbers,
        *(parts[name] for name in (*variables, *parameters)),
    ]
    return Compiled(
        tuple(graph.value(part) or 0.0 for part in numbers),
        _program(graph, results, given),
    )


def _program(graph: Graph, results: Sequence[int], given: Sequence[int]) -> dict[str, Any]:
    """Arrays of a program; registers are used again when nothing needs what they hold."""
    place = {part: k for k, part in enumerate(given)}
    steps = [part for part in graph.reached(results) if part not in place]
    last = _last_uses(graph, steps, results)
    free: list[int] = []
    count = len(place)
    registers = np.zeros((len(steps), 4), np.int32)
    for step, part in enumerate(steps):
        arguments = graph.parts[part].arguments
        registers[step, 1 : 1 + len(arguments)] = [place[one] for one in arguments]
        free += [place[one] for one in set(arguments) if last.get(one) == step]
        if not free:
            free.append(count)
            count += 1
        place[part] = registers[step, 0] = free.pop()
    return {
        "tables": np.concatenate([np.empty(0), *graph.tables]),
        "operations": [graph.parts[part].name for part in steps],
        "registers": registers,
        "outputs": np.array([place[part] for part in results], np.int32),
        "count": count,
    }


def _last_uses(graph: Graph, steps: Iterable[int], results: Sequence[int]) -> dict[int, int]:
    """The last step that reads each part that a step makes and no result is."""
    made = set(steps) - set(results)
    last: dict[int, int] = {}
    for step, part in enumerate(steps):
        last |= {one: step for one in graph.parts[part].arguments if one in made}
    return last
