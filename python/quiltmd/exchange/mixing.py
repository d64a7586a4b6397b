# SPDX-License-Identifier: Apache-2.0
"""Which replicas swap: a function of energies, seed and iteration, and of nothing else.

Neighbours are tried in turn, pairs (0, 1), (2, 3), ... in even iterations and (1, 2), (3, 4), ...
in odd ones, which takes replicas faster through the states than pairs at random do.  Random numbers
are counter-based (Philox), so it does not matter who decides, on how many devices replicas run, or
whether a run was stopped in between.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .states import ReplicaState

Energies = NDArray[np.float64]  # (states, replicas): of each Hamiltonian; nan where not known


def uniform(seed: int, iteration: int, pair: int) -> float:
    """The random number of a pair in an iteration, from 0 to below 1."""
    generator = np.random.Philox(key=seed, counter=[0, pair, iteration, 0])
    return (int(generator.random_raw()) >> 11) * 2.0**-53


def pairs_of(iteration: int, count: int) -> list[tuple[int, int]]:
    """The pairs of states that are tried."""
    return [(k, k + 1) for k in range(iteration % 2, count - 1, 2)]


def log_ratio(states: Sequence[ReplicaState], energies: Energies, pair: tuple[int, int]) -> float:
    """Logarithm of the probability of the swapped pair over that of the pair as it is.

    `energies[k, n]` is the potential energy, kJ/mol, of the Hamiltonian of state k at the positions
    of the replica that is now in state n.
    """
    i, j = pair
    now = states[i].beta * energies[i, i] + states[j].beta * energies[j, j]
    swapped = states[i].beta * energies[i, j] + states[j].beta * energies[j, i]
    return float(now - swapped)


def accepts(
    states: Sequence[ReplicaState],
    energies: Energies,
    seed: int,
    iteration: int,
    pair: tuple[int, int],
) -> bool:
    """Whether a pair swaps, by Metropolis' rule."""
    ratio = log_ratio(states, energies, pair)
    return ratio >= 0 or uniform(seed, iteration, pair[0]) < math.exp(ratio)


def swaps(
    states: Sequence[ReplicaState], energies: Energies, seed: int, iteration: int
) -> list[tuple[int, int]]:
    """The pairs that swap."""
    pairs = pairs_of(iteration, len(states))
    return [pair for pair in pairs if accepts(states, energies, seed, iteration, pair)]
