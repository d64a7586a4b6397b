# SPDX-License-Identifier: Apache-2.0
"""Analysis of a replica exchange: acceptance, round trips, energies.

Reads the tables of a folder only, so it can be used while the exchange goes on.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import QuiltError
from ..running.config import build_config_of, read_resolved
from .config import ExchangeConfig
from .mixing import pairs_of
from .record import ENERGIES, WALKERS, read_table
from .states import ReplicaState, describe_state

Array = NDArray[np.float64]
_MOST_NAMED = 12  # replicas and states in legends, for which there is room
_BESIDE: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5)}  # the axes


@dataclass(frozen=True)
class History:
    """A replica exchange so far; I iterations, K states.

    Attributes
    ----------
    states:
        The K states.
    times:
        (I,) ps, of the swaps.
    walkers:
        (I, K) the replica in each state after the swaps of an iteration.
    energies:
        (I, K, K) kJ/mol, before swaps: of the Hamiltonian of state k (row) at the positions that
        state n (column) had; nan where it was not evaluated.
    """

    states: tuple[ReplicaState, ...]
    times: Array
    walkers: NDArray[np.int64]
    energies: Array

    def before(self) -> NDArray[np.int64]:
        """(I, K) walkers before the swaps."""
        start = np.arange(len(self.states))[None]
        return np.concatenate([start, self.walkers[:-1]])

    def acceptance(self) -> Array:
        """(K - 1,) share of the swaps between neighbours that were accepted; nan if never tried."""
        count = len(self.states)
        tried, accepted = np.zeros(count - 1), np.zeros(count - 1)
        before = self.before()
        for row in range(len(self.walkers)):
            for i, j in pairs_of(row, count):
                tried[i] += 1
                accepted[i] += self.walkers[row, i] == before[row, j]
        with np.errstate(invalid="ignore"):
            return np.asarray(accepted / tried)

    def round_trips(self) -> NDArray[np.int64]:
        """(K,) of each replica: how often it came from the first state to the last and back."""
        count = len(self.states)
        trips = np.zeros(count, np.int64)
        if count == 1:
            return trips
        direction = np.zeros(count, np.int64)  # 1 after the first state, -1 after the last
        for walkers in [np.arange(count), *self.walkers]:
            bottom, top = walkers[0], walkers[-1]
            trips[bottom] += direction[bottom] == -1
            direction[bottom] = 1
            if direction[top] == 1:
                direction[top] = -1
        return trips

    def transitions(self) -> Array:
        """(K, K) share of iterations after which a replica of state k is in state n."""
        count = len(self.states)
        moves = np.zeros((count, count))
        for old, new in zip(self.before(), self.walkers, strict=True):
            place = np.empty(count, np.int64)
            place[new] = np.arange(count)
            moves[np.arange(count), place[old]] += 1
        return np.asarray(moves / max(1, len(self.walkers)))

    def relaxation(self) -> float:
        """Iterations in which the memory of the first state falls to 1/e; inf if it does not.

        From the second eigenvalue of the transitions, made symmetric as they are in the long run.
        """
        moves = self.transitions()
        values = np.sort(np.linalg.eigvalsh((moves + moves.T) / 2))[::-1]
        if len(values) < 2 or values[1] >= 1 - 1e-12:
            return float("inf")
        return float(-1 / np.log(max(values[1], 1e-12)))

    def u_kn(self) -> tuple[Array, NDArray[np.int64]]:
        """Reduced potentials and numbers of samples, as pymbar.MBAR takes them.

        Returns
        -------
        u_kn (K, K I), without unit, samples of state 0 first; N_k (K,).

        Raises
        ------
        QuiltError
            If energies were not evaluated with every Hamiltonian (`all_energies`).
        """
        if np.isnan(self.energies).any():
            raise QuiltError(
                "energies of each replica are known for some Hamiltonians only: u_kn needs an "
                "exchange with all_energies = true in [exchange]"
            )
        betas = np.array([state.beta for state in self.states])
        count, rows = len(self.states), len(self.energies)
        reduced = betas[:, None, None] * self.energies.transpose(1, 2, 0)  # states, states, rows
        return reduced.reshape(count, count * rows), np.full(count, rows)

    def u_nk(self, state: int) -> Array:
        """(I, K) reduced potentials of the samples of a state, the rows of alchemlyb's tables."""
        reduced, numbers = self.u_kn()
        begin = state * int(numbers[state])
        return np.asarray(reduced[:, begin : begin + int(numbers[state])].T)

    def summary(self) -> dict[str, Any]:
        """The output of `quiltmd exchange --analyse`."""
        relaxation = self.relaxation()
        return {
            "iterations": len(self.walkers),
            "states": [describe_state(state) for state in self.states],
            "acceptance": [None if np.isnan(x) else float(x) for x in self.acceptance()],
            "round_trips": self.round_trips().tolist(),
            "relaxation": relaxation if np.isfinite(relaxation) else None,
            "mean_energy": [float(x) for x in _means(self.energies)],
        }

    def plot(self, path: str | os.PathLike[str]) -> None:
        """A picture: replicas on their way through the states, acceptance, energies."""
        try:
            import matplotlib
            from matplotlib.figure import Figure
            from matplotlib.ticker import MaxNLocator
        except ImportError:
            raise QuiltError("plots need matplotlib: pip install 'quiltmd[plot]'") from None
        figure = Figure(figsize=(9, 9), layout="constrained")
        ways, rates, histogram = figure.subplots(3, 1)
        count = len(self.states)
        few = count <= _MOST_NAMED
        colours = matplotlib.colormaps["viridis"](np.linspace(0, 0.92, count))
        dashes = ("-", "--", ":", "-.")  # replicas are told apart without colour, too
        place = np.argsort(self.walkers, axis=1)
        for replica in range(count):
            style = {"color": colours[replica], "linestyle": dashes[replica % len(dashes)]}
            ways.step(self.times, place[:, replica], where="post", linewidth=0.9, **style)
        ways.set(xlabel="time (ps)", ylabel="state", title="replicas")
        _name_states(ways.yaxis, count)
        rates.bar(np.arange(count - 1) + 0.5, np.nan_to_num(self.acceptance()), width=0.8)
        rates.set(xlabel="state; bars are between two", ylabel="acceptance", ylim=(0, 1))
        rates.set_xlim(-0.5, count - 0.5)
        _name_states(rates.xaxis, count)
        for k, state in enumerate(self.states):
            style = {"color": colours[k], "linestyle": dashes[k % len(dashes)]}
            values = self.energies[:, k, k]
            label = f"state {k}: {describe_state(state)}"
            histogram.hist(values, bins=30, histtype="step", label=label, **style)
        histogram.set(xlabel="potential energy (kJ/mol)", ylabel="iterations")
        histogram.yaxis.set_major_locator(MaxNLocator(integer=True))
        if few:
            ways.legend([f"replica {k}" for k in range(count)], fontsize="small", **_BESIDE)
            histogram.legend(fontsize="small", **_BESIDE)
        figure.savefig(path, dpi=120)


def _name_states(axis: Any, count: int) -> None:
    """Has an axis of a picture show states by their whole numbers."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=min(count, 12), integer=True, min_n_ticks=1))


def read_history(folder: str | os.PathLike[str]) -> History:
    """History in the folder of a replica exchange; QuiltError for other folders."""
    path = Path(folder)
    if not (path / WALKERS).exists():
        raise QuiltError(f"{path}: not the folder of a replica exchange: {WALKERS} is missing")
    config = build_config_of(ExchangeConfig, read_resolved(path / "config.toml"), str(path))
    states = config.states()
    count = len(states)
    walkers = read_table(path / WALKERS, 1 + count)
    energies = read_table(path / ENERGIES, count * count)
    rows = min(len(walkers), len(energies))
    if rows == 0:
        raise QuiltError(f"{path}: no iteration is done yet")
    odd = np.flatnonzero((np.sort(walkers[:, 2:], axis=1) != np.arange(count)).any(axis=1))
    if len(odd):
        raise QuiltError(
            f"{path / WALKERS}, line {odd[0] + 2}: each of {count} replicas must be in one state"
        )
    return History(
        states,
        walkers[:rows, 1] * config.integrator.timestep,
        walkers[:rows, 2:].astype(np.int64),
        energies[:rows, 1:].reshape(rows, count, count),
    )


def _means(energies: Array) -> Sequence[float]:
    means: list[float] = np.einsum("ikk->ik", energies).mean(axis=0).tolist()
    return means
