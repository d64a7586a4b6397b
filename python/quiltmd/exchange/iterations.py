# SPDX-License-Identifier: Apache-2.0
"""Iterations of a replica exchange: what became of one, and those that are being done."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .mixing import Energies

Fields = dict[str, Any]  # of a State, as an engine gives them


@dataclass(frozen=True)
class Iteration:
    """The outcome of an iteration.

    Attributes
    ----------
    number:
        Counted from 0.
    step:
        Step at which swaps were attempted.
    energies:
        (K, K) kJ/mol: energy with the Hamiltonian of state k (row) at the positions of state n
        (column) before the swaps; nan if it was not calculated.
    walkers:
        (K,) the replica in each state after the swaps, numbered by its initial state.
    """

    number: int
    step: int
    energies: Energies
    walkers: NDArray[np.int32]


@dataclass
class UnderWay:
    """An iteration that is being done.

    Attributes
    ----------
    number, step:
        As of `Iteration`.
    own:
        Energies of each replica before swaps.
    energies:
        As of `Iteration`, as far as they are known.
    fields:
        Fields of the requested States of simulations, before swaps.
    swapped:
        The pairs that swap.
    """

    number: int
    step: int
    own: list[dict[str, float]]
    energies: Energies
    fields: dict[int, Fields] = field(default_factory=dict)
    swapped: list[tuple[int, int]] = field(default_factory=list)

    def swap(self, walkers: NDArray[np.int32]) -> None:
        """Swaps walkers as the replicas were swapped."""
        for i, j in self.swapped:
            walkers[[i, j]] = walkers[[j, i]]


class Iterations:
    """The iterations that are being done, by number; for several threads.

    The first one begins at `step`, and each has `every` steps.
    """

    def __init__(self, count: int, first: int, step: int, every: int) -> None:
        self._count, self._first, self._step, self._every = count, first, step, every
        self._under_way: dict[int, UnderWay] = {}
        self._lock = threading.Lock()

    def __getitem__(self, number: int) -> UnderWay:
        with self._lock:
            if number not in self._under_way:
                self._under_way[number] = self._begin(number)
            return self._under_way[number]

    def end(self, number: int, walkers: NDArray[np.int32]) -> Iteration:
        """The outcome of an iteration that is done, whose swaps are applied to `walkers`."""
        with self._lock:
            now = self._under_way.pop(number)
        now.swap(walkers)
        return Iteration(number, now.step, now.energies, walkers.copy())

    def give_up(self, walkers: NDArray[np.int32]) -> None:
        """Applies the swaps of iterations that were not finished to `walkers`."""
        for number in sorted(self._under_way):
            self._under_way.pop(number).swap(walkers)

    def _begin(self, number: int) -> UnderWay:
        count = self._count
        step = self._step + (number + 1 - self._first) * self._every
        return UnderWay(number, step, [{}] * count, np.full((count, count), np.nan))
