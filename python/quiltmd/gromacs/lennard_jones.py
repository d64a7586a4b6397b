# SPDX-License-Identifier: Apache-2.0
"""Lennard-Jones parameters of pairs of atom types, of ordinary and of 1-4 pairs.

Two parameters stand for C6 and C12 with combination rule 1, else for sigma and epsilon, where a
negative sigma says that there is no attraction, also after it has been combined.

Source: GROMACS Reference Manual, "Non-bonded interactions" and "Topology file"; what it leaves open
is as grompp 2022.5 does it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..description.sigma_epsilon import sigma_epsilon
from .parameters import Types, either_way, missing, replaced
from .preprocess import Line
from .sections import AtomType, TopologyFile, reals

_Two = tuple[float, float]


class LennardJones:
    """Parameters by the combination rule, [ nonbond_params ] and [ pairtypes ].

    Parameters
    ----------
    topology:
        The file that they are read from.
    notes:
        Warnings are appended here.
    """

    def __init__(self, topology: TopologyFile, notes: list[str]) -> None:
        self._topology = topology
        self._pairs14 = Types(topology, "pairtypes", notes)
        self._given: dict[tuple[str, ...], _Two] = {}
        for line in topology.types["nonbond_params"]:
            if len(line.words) != 5 or line.words[2] != "1":
                raise line.error("expected two atom types, function type 1 and two parameters")
            topology.check_types("nonbond_params", tuple(line.words[:2]), line)
            first, second = reals(line.words[3:], line)
            types = either_way(tuple(line.words[:2]))
            if self._given.get(types, (first, second)) != (first, second):
                notes.append(replaced(line, "nonbond_params", types))
            self._given[types] = first, second

    def tables(self, used: list[str]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Coefficients a of the repulsion and b of the attraction, (T, T), of these types."""
        values = [[self._a_b(*self._of_pair(s, t)) for t in used] for s in used]
        a, b = np.moveaxis(np.array(values).reshape(len(used), len(used), 2), 2, 0)
        lone = (a == 0) & (b > 0)
        if lone.any():
            i, j = np.argwhere(lone)[0]
            line = self._topology.atom_types[used[i]].line
            raise line.error(
                f"types {used[i]} and {used[j]} attract each other without a repulsion"
            )
        return a, b

    def is_inert(self, name: str) -> bool:
        """Whether a type has no interactions with any of the topology's types."""
        others = self._topology.atom_types
        return not any(any(self._a_b(*self._of_pair(name, other))) for other in others)

    def pair14(self, line: Line, first: str, second: str) -> _Two:
        """Parameters of a 1-4 pair, of [ pairtypes ] or scaled ones of an ordinary pair."""
        values = self._pairs14.get((first, second))
        if values is not None:
            return values[0], values[1]
        if not self._topology.generates_pairs:
            raise missing(line, "pairtypes", (first, second), 1)
        one, two = self._of_pair(first, second)
        scale = self._topology.fudge_lj
        return (scale * one if self._topology.rule == 1 else one), scale * two

    def sigma_epsilon(self, line: Line, first: float, second: float) -> _Two:
        """Sigma and epsilon of the two parameters of a 1-4 pair."""
        if self._topology.rule != 1 and min(first, second) >= 0:
            return first, second
        a, b = self._a_b(first, second)
        if min(a, b) < 0:
            raise line.error(
                f"a 1-4 pair with C6 = {b:g} and C12 = {a:g}: negative ones are not supported"
            )
        sigma, epsilon = sigma_epsilon(a, b)
        return float(sigma), float(epsilon)

    def _of_pair(self, first: str, second: str) -> _Two:
        """The two parameters of an ordinary pair."""
        given = self._given.get(either_way((first, second)))
        if given is not None:
            return given
        one, two = self._topology.atom_types[first], self._topology.atom_types[second]
        if self._topology.rule == 1:
            return _root(one.first * two.first, one, two), _root(one.second * two.second, one, two)
        sigma = (abs(one.first) + abs(two.first)) / 2
        if self._topology.rule == 3:
            sigma = abs(one.first * two.first) ** 0.5
        repels = one.first < 0 or two.first < 0
        return (-sigma if repels else sigma), _root(one.second * two.second, one, two)

    def _a_b(self, first: float, second: float) -> _Two:
        """Coefficients a and b of a/r^12 - b/r^6."""
        if self._topology.rule == 1:
            return second, first
        b = 4 * second * first**6
        return 4 * second * first**12, b if first >= 0 else 0.0


def _root(product: float, one: AtomType, two: AtomType) -> float:
    """The geometric mean of two parameters of types."""
    if product < 0:
        raise two.line.error(
            f"types {one.name} and {two.name} have parameters of different signs, which no "
            "combination rule can combine: give those of the pair in [ nonbond_params ]"
        )
    return float(product**0.5)
